-- The HX clusters that a service account is limited to. No reference to hx_clusters: one that is gone gives no right to anything, and its id never
-- comes again.
CREATE TABLE service_hx_clusters (
    service_id CHAR(36) NOT NULL,
    hx_cluster_id CHAR(36) NOT NULL,
    PRIMARY KEY (service_id, hx_cluster_id),
    CONSTRAINT service_hx_clusters_service FOREIGN KEY (service_id) REFERENCES service_accounts (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
