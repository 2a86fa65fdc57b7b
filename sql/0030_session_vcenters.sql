-- Further vCenters that the bearer of a session has proved to be known to. The one of the sign-on itself is in sessions.
CREATE TABLE session_vcenters (
    sid CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    source VARCHAR(20) NOT NULL,
    vc_user VARCHAR(400) NOT NULL,
    vc_session_key VARCHAR(100),
    added_at_ms BIGINT NOT NULL,
    PRIMARY KEY (sid, vcenter_id),
    KEY session_vcenters_vcenter (vcenter_id),
    CONSTRAINT session_vcenters_session FOREIGN KEY (sid) REFERENCES sessions (sid) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
