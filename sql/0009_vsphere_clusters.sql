-- Cluster compute resources as last read. Datacenter and name may repeat; a vanished one stays, marked gone.
CREATE TABLE vsphere_clusters (
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    datacenter VARCHAR(255),
    name VARCHAR(255) NOT NULL,
    is_gone TINYINT NOT NULL DEFAULT 0,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (vcenter_id, moref),
    CONSTRAINT vsphere_clusters_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
