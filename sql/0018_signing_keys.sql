-- Keys that sign tokens. `sealed` is the private key, encrypted with the master key.
CREATE TABLE signing_keys (
    kid VARCHAR(100) NOT NULL,
    public_jwk VARCHAR(4000) NOT NULL,
    sealed VARBINARY(8192) NOT NULL,
    state VARCHAR(10) NOT NULL CHECK (state IN ('next', 'active', 'retired')),
    created_at_ms BIGINT NOT NULL,
    not_after_ms BIGINT NOT NULL,
    PRIMARY KEY (kid)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
