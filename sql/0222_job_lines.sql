-- What a job tells while it works: numbered from 1, without gaps.
CREATE TABLE job_lines (
    job_id CHAR(36) NOT NULL,
    seq INT NOT NULL,
    at_ms BIGINT NOT NULL,
    step_no INT NOT NULL,
    text VARCHAR(600) NOT NULL,
    PRIMARY KEY (job_id, seq),
    CONSTRAINT job_lines_job FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
