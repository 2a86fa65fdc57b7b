-- What the vCenters show of nodes. bound_uuid is a node's identity since its first match. No foreign key to nodes: a program of the
-- version before replaces their rows; what has no node any more is removed at the next saving.
CREATE TABLE node_observations (
    node_id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    bound_uuid CHAR(36),
    bound_by VARCHAR(20),
    vm_match VARCHAR(20) NOT NULL,
    vm_moref VARCHAR(80),
    vm_name VARCHAR(255),
    vm_power VARCHAR(20) NOT NULL,
    vm_connection VARCHAR(20) NOT NULL,
    host_moref VARCHAR(80),
    host_name VARCHAR(255),
    host_connection VARCHAR(20) NOT NULL,
    cluster_moref VARCHAR(80),
    instance_uuid CHAR(36),
    bios_uuid CHAR(36),
    observed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (node_id),
    UNIQUE KEY node_observations_vm (vcenter_id, bound_uuid),
    KEY node_observations_order (vcenter_id, node_id),
    CONSTRAINT node_observations_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
