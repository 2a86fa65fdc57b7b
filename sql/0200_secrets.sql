-- What is kept sealed, whoever owns it: encrypted with a master key, whose id is in the value, and bound to the text PURPOSE:OWNER_ID.
CREATE TABLE secrets (
    owner_kind VARCHAR(20) NOT NULL,
    owner_id VARCHAR(100) NOT NULL,
    purpose VARCHAR(40) NOT NULL,
    sealed VARBINARY(16384) NOT NULL,
    PRIMARY KEY (owner_kind, owner_id, purpose)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
