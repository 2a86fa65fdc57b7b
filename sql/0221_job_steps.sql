-- The steps of a job. item: what a step that there is once for each of several things works on (a machine, a vCenter). after_no: the step that must be done
-- before; -1: none. data: what was decided before something was asked for outside, by which it is found again (JSON).
CREATE TABLE job_steps (
    job_id CHAR(36) NOT NULL,
    no INT NOT NULL,
    name VARCHAR(40) NOT NULL,
    item VARCHAR(128),
    title VARCHAR(300) NOT NULL,
    after_no INT NOT NULL,
    state VARCHAR(10) NOT NULL CHECK (state IN ('pending', 'running', 'waiting', 'done', 'failed', 'undone')),
    started_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT NOT NULL,
    tries INT NOT NULL,
    percent INT NOT NULL DEFAULT -1,
    reason VARCHAR(600),
    remedy VARCHAR(300),
    data TEXT,
    PRIMARY KEY (job_id, no),
    CONSTRAINT job_steps_job FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
