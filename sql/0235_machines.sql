-- Machines that are nodes of clusters that were made here. instance_uuid: drawn before anything is asked of the vCenter, and what makes the machine ours there.
-- moref: NULL until it is known. No foreign keys: what is at a vCenter is removed by a job, whatever the records of its cluster and provider are by then.
CREATE TABLE machines (
    id CHAR(36) NOT NULL,
    cluster_id CHAR(36) NOT NULL,
    provider_id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    network VARCHAR(80) NOT NULL,
    name VARCHAR(63) NOT NULL,
    role VARCHAR(20) NOT NULL CHECK (role IN ('control-plane', 'worker')),
    instance_uuid CHAR(36) NOT NULL,
    address VARCHAR(15) NOT NULL,
    moref VARCHAR(80),
    state VARCHAR(10) NOT NULL CHECK (state IN ('drawn', 'cloned', 'seeded', 'ready', 'sick')),
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY machines_uuid (instance_uuid),
    UNIQUE KEY machines_name (vcenter_id, name),
    KEY machines_cluster (cluster_id),
    KEY machines_provider (provider_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
