-- HX clusters that an administrator disconnected: kaasd does not connect to them by itself.
CREATE TABLE hx_left_alone (
    hx_cluster_id CHAR(36) NOT NULL,
    PRIMARY KEY (hx_cluster_id),
    CONSTRAINT hx_left_alone_cluster FOREIGN KEY (hx_cluster_id) REFERENCES hx_clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
