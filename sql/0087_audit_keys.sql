-- The key under which audit lines are hashed, sealed by the master key.
CREATE TABLE audit_keys (
    id VARCHAR(20) NOT NULL,
    sealed VARBINARY(255) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
