-- One row: the identity of this installation, the owner mark in vCenter.
CREATE TABLE installation (
    id TINYINT NOT NULL CHECK (id = 1),
    uuid CHAR(36) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
