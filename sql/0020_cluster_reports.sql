-- What the provisioner said last. It counts while state_source is 'reported'; the state column holds the same word for older programs.
ALTER TABLE clusters
    ADD COLUMN reported_state VARCHAR(20),
    ADD COLUMN reported_reason VARCHAR(1000),
    ADD COLUMN reported_by VARCHAR(400),
    ADD COLUMN reported_at_ms BIGINT NOT NULL DEFAULT 0;
