"""A long run of random faults against several strict vCenters, and what must hold after it."""
