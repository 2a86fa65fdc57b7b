-- Grants on one of three types of objects. `object_id` is the text form for uniqueness and look-up; the columns of the type are set
-- beside it, so that a grant goes with its object and never outlives it.
CREATE TABLE grants (
    id CHAR(36) NOT NULL,
    principal_id VARCHAR(400) NOT NULL,
    role VARCHAR(20) NOT NULL,
    object_kind VARCHAR(20) NOT NULL,
    object_id VARCHAR(128) NOT NULL,
    cluster_id CHAR(36),
    vcenter_id CHAR(36),
    moref VARCHAR(80),
    hx_cluster_id CHAR(36),
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY grants_once (principal_id, object_kind, object_id),
    KEY grants_object (object_kind, object_id),
    CONSTRAINT grants_type CHECK (
        (object_kind = 'cluster' AND cluster_id IS NOT NULL AND vcenter_id IS NULL AND moref IS NULL AND hx_cluster_id IS NULL)
        OR (object_kind = 'vsphere_cluster' AND cluster_id IS NULL AND vcenter_id IS NOT NULL AND moref IS NOT NULL AND hx_cluster_id IS NULL)
        OR (object_kind = 'hx_cluster' AND cluster_id IS NULL AND vcenter_id IS NULL AND moref IS NULL AND hx_cluster_id IS NOT NULL)),
    CONSTRAINT grants_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE CASCADE,
    CONSTRAINT grants_vsphere FOREIGN KEY (vcenter_id, moref) REFERENCES vsphere_clusters (vcenter_id, moref) ON DELETE CASCADE,
    CONSTRAINT grants_hx FOREIGN KEY (hx_cluster_id) REFERENCES hx_clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
