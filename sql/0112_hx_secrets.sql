-- What is kept to log in to an HX cluster: its password, and the token that it gave. Encrypted with the master key.
CREATE TABLE hx_secrets (
    hx_cluster_id CHAR(36) NOT NULL,
    kind VARCHAR(10) NOT NULL CHECK (kind IN ('password', 'token')),
    sealed VARBINARY(16384) NOT NULL,
    PRIMARY KEY (hx_cluster_id, kind),
    CONSTRAINT hx_secrets_connection FOREIGN KEY (hx_cluster_id) REFERENCES hx_connections (hx_cluster_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
