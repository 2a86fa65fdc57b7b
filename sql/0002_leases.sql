-- Who does a singleton job, migrations first of all; so this too is run before the lease is taken. Database time.
CREATE TABLE IF NOT EXISTS leases (
    name VARCHAR(100) NOT NULL,
    holder VARCHAR(100) NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
