-- vCenters. The id is about.instanceUuid; address, name and trust are attributes.
CREATE TABLE vcenters (
    id CHAR(36) NOT NULL,
    address VARCHAR(253) NOT NULL,
    port SMALLINT UNSIGNED NOT NULL,
    name VARCHAR(253) NOT NULL,
    ca_pem MEDIUMTEXT,
    pin_sha256 BINARY(32),
    version VARCHAR(40),
    build VARCHAR(40),
    api_version VARCHAR(40),
    extension_key VARCHAR(200),
    tunnel_port SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    direct_port SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    registered_at_ms BIGINT NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
