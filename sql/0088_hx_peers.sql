-- Controllers of HX clusters that kaasd signs in to by its own Kerberos account. The columns from `state` on tell what came of it the last time, at whichever replica.
CREATE TABLE hx_peers (
    hx_cluster_id CHAR(36) NOT NULL,
    url VARCHAR(2048) NOT NULL,
    spn VARCHAR(400),
    principal VARCHAR(400),
    ca_pem MEDIUMTEXT,
    sha256 CHAR(64),
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    state VARCHAR(10) NOT NULL CHECK (state IN ('unknown', 'ok', 'failing')),
    since_ms BIGINT NOT NULL,
    reason VARCHAR(30),
    detail VARCHAR(600),
    remedy VARCHAR(300),
    signed_in_as VARCHAR(400),
    checked_at_ms BIGINT NOT NULL DEFAULT 0,
    duration_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (hx_cluster_id),
    CONSTRAINT hx_peers_cluster FOREIGN KEY (hx_cluster_id) REFERENCES hx_clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
