-- Nodes of Kubernetes clusters. Once known, a VM belongs to one node only.
CREATE TABLE nodes (
    id CHAR(36) NOT NULL,
    cluster_id CHAR(36) NOT NULL,
    name VARCHAR(253) NOT NULL,
    role VARCHAR(20) NOT NULL,
    vcenter_id CHAR(36),
    vm_instance_uuid CHAR(36),
    kubernetes_version VARCHAR(64),
    address VARCHAR(64),
    PRIMARY KEY (id),
    UNIQUE KEY nodes_name (cluster_id, name),
    UNIQUE KEY nodes_vm (vcenter_id, vm_instance_uuid),
    CONSTRAINT nodes_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
