-- How the API server of a Kubernetes cluster is reached. cluster_uid is that of the namespace kube-system. A connected cluster is not removed: disconnecting
-- comes first, since it takes back what was made over there.
CREATE TABLE kube_connections (
    cluster_id CHAR(36) NOT NULL,
    address VARCHAR(2048) NOT NULL,
    tls_server_name VARCHAR(253),
    ca_pem MEDIUMTEXT,
    sha256 CHAR(64),
    cluster_uid VARCHAR(128) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (cluster_id),
    UNIQUE KEY kube_connections_uid (cluster_uid),
    CONSTRAINT kube_connections_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE RESTRICT
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
