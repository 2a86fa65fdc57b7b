-- When a vCenter last fetched the manifest of our plug-in: the proof that it can reach us. One row for each vCenter.
CREATE TABLE manifest_fetches (
    vcenter_id CHAR(36) NOT NULL,
    address VARCHAR(64) NOT NULL,
    version VARCHAR(32) NOT NULL,
    fetched_at_ms BIGINT NOT NULL,
    PRIMARY KEY (vcenter_id),
    CONSTRAINT manifest_fetches_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
