-- Directories that people sign in by. `sealed` is the password that kaasd binds with, encrypted with the master key.
CREATE TABLE ldap_sources (
    name VARCHAR(30) NOT NULL,
    kind VARCHAR(10) NOT NULL CHECK (kind IN ('ad', 'openldap')),
    urls TEXT NOT NULL,
    ca_file VARCHAR(1000),
    ca_pem MEDIUMTEXT,
    search_base VARCHAR(1000) NOT NULL,
    user_filter VARCHAR(1000),
    group_base VARCHAR(1000),
    group_filter VARCHAR(1000),
    bind_kind VARCHAR(10) NOT NULL CHECK (bind_kind IN ('password', 'keytab')),
    bind_dn VARCHAR(1000),
    keytab VARCHAR(1000),
    principal VARCHAR(1000),
    realms TEXT,
    is_disabled TINYINT NOT NULL,
    sealed VARBINARY(4096),
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
