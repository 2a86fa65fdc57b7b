-- Running daemons. `seq` numbers a replica's changes, `audit_seq` its audit lines: the row lock makes their order the order of commits.
CREATE TABLE replicas (
    id SMALLINT UNSIGNED NOT NULL,
    name VARCHAR(100) NOT NULL,
    seq BIGINT UNSIGNED NOT NULL DEFAULT 0,
    audit_seq BIGINT UNSIGNED NOT NULL DEFAULT 0,
    heartbeat_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY replicas_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
