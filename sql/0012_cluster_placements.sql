-- The vSphere clusters a Kubernetes cluster runs on. They keep a vCenter from being removed under it.
CREATE TABLE cluster_placements (
    cluster_id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    PRIMARY KEY (cluster_id, vcenter_id, moref),
    KEY cluster_placements_place (vcenter_id, moref),
    CONSTRAINT cluster_placements_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE CASCADE,
    CONSTRAINT cluster_placements_vsphere FOREIGN KEY (vcenter_id, moref) REFERENCES vsphere_clusters (vcenter_id, moref)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
