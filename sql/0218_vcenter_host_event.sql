-- The last event about a host entering maintenance mode that became one of ours: vCenter's key and time of it. Of several replicas that hear of it one makes the
-- event. Keys grow, but begin again where a vCenter was restored from a backup; so either may have grown.
ALTER TABLE vcenters ADD COLUMN host_event_key BIGINT NOT NULL DEFAULT 0, ADD COLUMN host_event_at_ms BIGINT NOT NULL DEFAULT 0;
