-- How the management of an HX cluster (HX Connect) is reached.
CREATE TABLE hx_connections (
    hx_cluster_id CHAR(36) NOT NULL,
    address VARCHAR(253) NOT NULL,
    port INT UNSIGNED NOT NULL,
    user_name VARCHAR(255) NOT NULL,
    ca_pem MEDIUMTEXT,
    sha256 CHAR(64),
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (hx_cluster_id),
    CONSTRAINT hx_connections_cluster FOREIGN KEY (hx_cluster_id) REFERENCES hx_clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
