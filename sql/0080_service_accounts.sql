-- Programs that may sign in, and how far. The principal is "svc:<id>". kerberos and subject are compared whole.
CREATE TABLE service_accounts (
    id CHAR(36) NOT NULL,
    name VARCHAR(50) NOT NULL,
    description VARCHAR(1000),
    kerberos VARCHAR(400),
    subject VARCHAR(500),
    may_delegate TINYINT NOT NULL,
    is_disabled TINYINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY service_accounts_name (name),
    UNIQUE KEY service_accounts_kerberos (kerberos),
    UNIQUE KEY service_accounts_subject (subject)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
