-- When the vCenter refused this event for the first time; 0: never. It is tried again for a while, behind the others.
ALTER TABLE vcenter_events ADD COLUMN refused_at_ms BIGINT NOT NULL DEFAULT 0;
