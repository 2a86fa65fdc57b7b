-- A user and password that HX clusters of a vCenter inherit when kaasd is connected to them. The password is encrypted with the master key.
CREATE TABLE hx_credentials (
    vcenter_id CHAR(36) NOT NULL,
    user_name VARCHAR(255) NOT NULL,
    sealed VARBINARY(16384) NOT NULL,
    refused_at_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (vcenter_id),
    CONSTRAINT hx_credentials_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
