-- What Kubernetes tells of nodes. is_made: the row in `nodes` is there because Kubernetes has the node, nobody declared it. No foreign key to nodes: their
-- rows are replaced when they change; what has no node any more is removed at the next saving. pressure: words of conditions, between blanks.
CREATE TABLE kube_nodes (
    node_id CHAR(36) NOT NULL,
    cluster_id CHAR(36) NOT NULL,
    is_made BOOLEAN NOT NULL,
    uid VARCHAR(128) NOT NULL,
    provider_id VARCHAR(255),
    system_uuid VARCHAR(255),
    version VARCHAR(255),
    address VARCHAR(255),
    is_control_plane BOOLEAN NOT NULL,
    is_cordoned BOOLEAN NOT NULL,
    ready VARCHAR(10) NOT NULL,
    reason VARCHAR(255),
    ready_since_ms BIGINT NOT NULL,
    pressure VARCHAR(100),
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (node_id),
    CONSTRAINT kube_nodes_connection FOREIGN KEY (cluster_id) REFERENCES kube_connections (cluster_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
