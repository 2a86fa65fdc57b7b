-- Which groups, people and privileges of vCenters give which role. `privilege` is empty for groups and people.
CREATE TABLE role_mappings (
    id CHAR(36) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    subject_id VARCHAR(400) NOT NULL,
    privilege VARCHAR(100) NOT NULL DEFAULT '',
    role VARCHAR(20) NOT NULL,
    note VARCHAR(800),
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY role_mappings_once (kind, subject_id, privilege)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
