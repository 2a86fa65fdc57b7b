-- Which version a replica runs, and the heartbeat that said so: one that came later without it is of a program that does not tell.
ALTER TABLE replicas
    ADD COLUMN version VARCHAR(64) NOT NULL DEFAULT '',
    ADD COLUMN version_at_ms BIGINT NOT NULL DEFAULT 0;
