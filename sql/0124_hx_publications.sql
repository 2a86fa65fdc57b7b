-- What each HX cluster was told of where KaaS is (docs/hx-publish.md), and what came of it. Digests are SHA-256, hexadecimal; the nonce itself is not kept.
CREATE TABLE hx_publications (
    hx_cluster_id   CHAR(36)     NOT NULL,
    is_wanted       BOOLEAN      NOT NULL, -- false: an administrator has withdrawn it
    state           VARCHAR(15)  NOT NULL CHECK (state IN ('unknown', 'published', 'not_supported', 'refused', 'failing', 'withdrawn')),
    since_ms        BIGINT       NOT NULL,
    tried_at_ms     BIGINT       NOT NULL,
    published_at_ms BIGINT       NOT NULL,
    expires_at_ms   BIGINT       NOT NULL, -- the HX cluster may hold it until then; 0: it holds none
    next_at_ms      BIGINT       NOT NULL,
    failures        INT UNSIGNED NOT NULL,
    reason          VARCHAR(30),
    detail          VARCHAR(600),
    remedy          VARCHAR(300),
    digest          CHAR(64),              -- of what was sent, without nonce and end
    nonce_digest    CHAR(64),
    nonce_until_ms  BIGINT       NOT NULL,
    body_sha256     CHAR(64),              -- of the request that the nonce is of
    version_no      BIGINT       NOT NULL,
    PRIMARY KEY (hx_cluster_id),
    KEY hx_publications_nonce (nonce_digest),
    CONSTRAINT hx_publications_cluster FOREIGN KEY (hx_cluster_id) REFERENCES hx_clusters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
