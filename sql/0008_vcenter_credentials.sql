-- Generations of what kaasd logs in with. `sealed` is encrypted with the master key and NULL once retired.
CREATE TABLE vcenter_credentials (
    vcenter_id CHAR(36) NOT NULL,
    generation INT UNSIGNED NOT NULL,
    kind VARCHAR(20) NOT NULL,
    state VARCHAR(10) NOT NULL CHECK (state IN ('pending', 'active', 'retired')),
    cert_pem MEDIUMTEXT,
    sealed VARBINARY(16384),
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (vcenter_id, generation),
    CONSTRAINT vcenter_credentials_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
