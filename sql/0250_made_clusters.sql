-- Clusters that kaasd makes, or has made: where, and what was asked for (JSON). Such a record is not removed by itself: deleting comes first, since it takes the machines away.
CREATE TABLE made_clusters (
    cluster_id CHAR(36) NOT NULL,
    provider_id CHAR(36) NOT NULL,
    spec TEXT NOT NULL,
    PRIMARY KEY (cluster_id),
    KEY made_clusters_provider (provider_id),
    CONSTRAINT made_clusters_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE RESTRICT
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
