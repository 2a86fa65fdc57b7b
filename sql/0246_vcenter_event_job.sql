-- The kind of the job that an event tells of.
ALTER TABLE vcenter_events ADD COLUMN job VARCHAR(40);
