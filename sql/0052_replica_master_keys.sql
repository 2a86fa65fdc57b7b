-- Ids of the master keys that a running daemon holds, separated by blanks; NULL: it does not tell.
ALTER TABLE replicas ADD COLUMN master_key_ids VARCHAR(100);
