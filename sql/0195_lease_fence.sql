-- A number that rises with each holder of a lease: a write that names an older one changes nothing. Programs before take and give leases back without it.
ALTER TABLE leases ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
