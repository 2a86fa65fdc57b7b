-- What is being done outside, beginning with its line in the trail: the row goes with the line that tells how it ended. What a killed replica leaves is closed later.
CREATE TABLE audit_deeds (
    id CHAR(36) NOT NULL PRIMARY KEY,
    replica_id SMALLINT UNSIGNED NOT NULL,
    begun_at_ms BIGINT NOT NULL,
    action VARCHAR(60) NOT NULL,
    principal_id VARCHAR(400),
    principal_name VARCHAR(400),
    source VARCHAR(20),
    object_kind VARCHAR(40),
    object_id VARCHAR(128),
    object_name VARCHAR(255),
    address VARCHAR(64),
    request_id VARCHAR(64),
    acting_id VARCHAR(400),
    KEY audit_deeds_replica (replica_id, begun_at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
