-- What we know of our registration with a vCenter beside the vCenter's own row: how often it was made, its last repair, the role we made.
CREATE TABLE vcenter_registrations (
    vcenter_id CHAR(36) NOT NULL,
    registration_no INT UNSIGNED NOT NULL DEFAULT 0,
    certificate_due TINYINT NOT NULL DEFAULT 0,
    repaired_at_ms BIGINT NOT NULL DEFAULT 0,
    repaired VARCHAR(400),
    role_name VARCHAR(255),
    role_id INT NOT NULL DEFAULT 0,
    role_principal VARCHAR(400),
    PRIMARY KEY (vcenter_id),
    CONSTRAINT vcenter_registrations_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
