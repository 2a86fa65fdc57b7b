-- Signed-in sessions with the principal as it was proved. No tokens: only their jti.
CREATE TABLE sessions (
    sid CHAR(36) NOT NULL,
    principal_id VARCHAR(400) NOT NULL,
    principal_name VARCHAR(400) NOT NULL,
    full_name VARCHAR(400),
    role VARCHAR(20) NOT NULL,
    source VARCHAR(20) NOT NULL,
    vcenter_id CHAR(36),
    vc_user VARCHAR(400),
    vc_session_key VARCHAR(100),
    jti CHAR(36) NOT NULL,
    old_jti VARCHAR(36) NOT NULL DEFAULT '',
    rotated_at_ms BIGINT NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    ends_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (sid),
    KEY sessions_principal (principal_id),
    KEY sessions_vcenter (vcenter_id),
    KEY sessions_end (ends_at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
