-- The folder of virtual machines that was made, or found, for a cluster at its vCenter.
CREATE TABLE machine_folders (
    cluster_id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    PRIMARY KEY (cluster_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
