-- When the newest backup that was written to its end began, whichever host made it: 0, none was.
ALTER TABLE installation ADD COLUMN backup_at_ms BIGINT NOT NULL DEFAULT 0;
