-- Ids that HX clusters had before they turned out to be one that was known: who still has such an id gets that one.
CREATE TABLE hx_aliases (
    id CHAR(36) NOT NULL,
    hx_cluster_id CHAR(36) NOT NULL,
    PRIMARY KEY (id),
    KEY hx_aliases_of (hx_cluster_id),
    CONSTRAINT hx_aliases_cluster FOREIGN KEY (hx_cluster_id) REFERENCES hx_clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
