-- The vSphere clusters at which a job about a Kubernetes cluster is told of: where that was when the job began, and where it is when it ends. Kept, since a job may remove the cluster.
CREATE TABLE job_places (
    job_id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    PRIMARY KEY (job_id, vcenter_id, moref),
    CONSTRAINT job_places_job FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
