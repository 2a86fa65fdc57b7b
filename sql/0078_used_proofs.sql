-- Proofs that work once (authenticators of Kerberos), by digest, until nobody would take them any more: for all replicas.
CREATE TABLE used_proofs (
    digest BINARY(32) NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (digest),
    KEY used_proofs_until (until_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
