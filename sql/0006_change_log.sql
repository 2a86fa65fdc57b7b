-- What the other replicas must read again. Pruned by age.
CREATE TABLE change_log (
    replica_id SMALLINT UNSIGNED NOT NULL,
    seq BIGINT UNSIGNED NOT NULL,
    kind VARCHAR(20) NOT NULL,
    object_id VARCHAR(128) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (replica_id, seq),
    KEY change_log_created (created_at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
