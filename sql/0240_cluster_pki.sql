-- The three certificate authorities of a cluster that was made here, and the public key of its accounts' tokens. Private keys are sealed (table secrets, owner
-- cluster_pki). not_after_ms is the end of the CA that ends first. A cluster with keys is not removed: they go by themselves, as the last but one step of its end.
CREATE TABLE cluster_pki (
    cluster_id CHAR(36) NOT NULL,
    ca_pem TEXT NOT NULL,
    etcd_ca_pem TEXT NOT NULL,
    front_proxy_ca_pem TEXT NOT NULL,
    accounts_public_pem TEXT NOT NULL,
    not_after_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (cluster_id),
    CONSTRAINT cluster_pki_cluster FOREIGN KEY (cluster_id) REFERENCES clusters (id) ON DELETE RESTRICT
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
