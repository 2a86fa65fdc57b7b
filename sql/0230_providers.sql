-- Where clusters may be built: the document that an administrator wrote, as JSON, and what the things it names are at the vCenter, as JSON. A vCenter with
-- providers is not removed.
CREATE TABLE providers (
    id CHAR(36) NOT NULL,
    name VARCHAR(63) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    document MEDIUMTEXT NOT NULL,
    places MEDIUMTEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY providers_name (name),
    CONSTRAINT providers_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE RESTRICT
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
