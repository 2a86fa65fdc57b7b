-- The newest signed release file that was accepted, as it was read (docs/admin/upgrade.md), and what came of the last look at its source; one row.
-- Each replica checks the signature again. problem '': the last look ended well.
CREATE TABLE release_file (
    id TINYINT NOT NULL,
    content MEDIUMBLOB,
    signature VARBINARY(64),
    next_at_ms BIGINT NOT NULL,
    problem VARCHAR(600) NOT NULL,
    remedy VARCHAR(300) NOT NULL,
    problem_since_ms BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
