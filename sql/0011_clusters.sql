-- Kubernetes clusters. Counts of -1 are unknown, times of 0 never.
CREATE TABLE clusters (
    id CHAR(36) NOT NULL,
    name VARCHAR(50) NOT NULL,
    description VARCHAR(1000),
    state VARCHAR(20) NOT NULL,
    state_reason VARCHAR(1000),
    state_source VARCHAR(20),
    kubernetes_version VARCHAR(64),
    api_endpoint VARCHAR(2048),
    dashboard_url VARCHAR(2048),
    control_plane_ready INT NOT NULL DEFAULT -1,
    control_plane_desired INT NOT NULL DEFAULT -1,
    workers_ready INT NOT NULL DEFAULT -1,
    workers_desired INT NOT NULL DEFAULT -1,
    placement_source VARCHAR(20),
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    observed_at_ms BIGINT NOT NULL DEFAULT 0,
    version_no BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY clusters_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
