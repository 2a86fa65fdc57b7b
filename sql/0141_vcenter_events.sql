-- Events that are to be posted in a vCenter, each to one vSphere cluster; a row goes when its event is there. claimed_at_ms: somebody began to post
-- it, so it may be there already. `folded`: of a summary, how many events it stands for; else 1.
CREATE TABLE vcenter_events (
    id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    name VARCHAR(255),
    object_id VARCHAR(128),
    principal VARCHAR(400),
    role VARCHAR(20),
    reason VARCHAR(1000),
    folded BIGINT NOT NULL,
    made_at_ms BIGINT NOT NULL,
    claimed_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (vcenter_id, id, moref),
    KEY vcenter_events_age (made_at_ms),
    CONSTRAINT vcenter_events_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
