-- Who did what to what, with what result. Numbered per replica.
CREATE TABLE audit (
    replica_id SMALLINT UNSIGNED NOT NULL,
    seq BIGINT UNSIGNED NOT NULL,
    at_ms BIGINT NOT NULL,
    action VARCHAR(60) NOT NULL,
    principal_id VARCHAR(400),
    principal_name VARCHAR(400),
    source VARCHAR(20),
    object_kind VARCHAR(40),
    object_id VARCHAR(128),
    object_name VARCHAR(255),
    address VARCHAR(64),
    request_id VARCHAR(64),
    result VARCHAR(40),
    reason VARCHAR(500),
    PRIMARY KEY (replica_id, seq),
    KEY audit_time (at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
