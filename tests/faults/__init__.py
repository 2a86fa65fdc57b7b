"""Long runs of random faults against several strict vCenters, or while clusters are made, and what must hold after them."""
