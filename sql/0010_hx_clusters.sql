-- HyperFlex clusters found by extension key. No reference to vsphere_clusters: a key may outlive its cluster.
CREATE TABLE hx_clusters (
    id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    name VARCHAR(255) NOT NULL,
    is_name_set TINYINT NOT NULL DEFAULT 0,
    hx_uuid VARCHAR(60),
    address VARCHAR(253),
    extension_key VARCHAR(200),
    is_gone TINYINT NOT NULL DEFAULT 0,
    version_no BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY hx_clusters_place (vcenter_id, moref),
    CONSTRAINT hx_clusters_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
