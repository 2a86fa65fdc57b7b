-- Since when events are made for a vCenter; 0: not yet. What was there before is told of by none.
ALTER TABLE vcenters ADD COLUMN events_since_ms BIGINT NOT NULL DEFAULT 0;
