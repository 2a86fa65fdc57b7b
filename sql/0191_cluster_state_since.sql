-- Since when a cluster's state is said to be what it is, and who said so, as the audit log calls them. 0 and NULL: not known, as of what a version before wrote.
ALTER TABLE clusters ADD COLUMN state_since_ms BIGINT NOT NULL DEFAULT 0, ADD COLUMN state_by VARCHAR(255);
