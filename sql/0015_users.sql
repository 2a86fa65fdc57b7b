-- Local users. `name_key` is the name with ASCII letters in lower case: "Admin" and "admin" are one user.
CREATE TABLE users (
    id CHAR(36) NOT NULL,
    name VARCHAR(200) NOT NULL,
    name_key VARCHAR(200) NOT NULL,
    full_name VARCHAR(200),
    role VARCHAR(20) NOT NULL,
    password_hash VARCHAR(400),
    is_disabled TINYINT NOT NULL DEFAULT 0,
    must_change_password TINYINT NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY users_name (name_key)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
