-- Which files of this folder were applied. Run before anything else, also when it exists.
CREATE TABLE IF NOT EXISTS schema_migrations (
    file VARCHAR(120) NOT NULL,
    sha256 CHAR(64) NOT NULL,
    state VARCHAR(8) NOT NULL CHECK (state IN ('started', 'done')),
    started_at_ms BIGINT NOT NULL,
    done_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (file)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
