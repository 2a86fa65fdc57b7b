-- One-time codes: who holds one gets the session that was opened for it, once. Kept as digests, since a code is a secret.
CREATE TABLE login_codes (
    digest     BINARY(32)   NOT NULL, -- SHA-256 of the code
    sid        CHAR(36)     NOT NULL, -- the session; a row without one is good for nothing
    origin     VARCHAR(300) NOT NULL, -- of the page that may hand it over; '': our own page
    ends_at_ms BIGINT       NOT NULL,
    PRIMARY KEY (digest),
    KEY login_codes_end (ends_at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
