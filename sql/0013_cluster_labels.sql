-- Labels of Kubernetes clusters.
CREATE TABLE cluster_labels (
    cluster_id CHAR(36) NOT NULL,
    label_key VARCHAR(317) NOT NULL,
    label_value VARCHAR(500) NOT NULL,
    PRIMARY KEY (cluster_id, label_key),
    CONSTRAINT cluster_labels_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
