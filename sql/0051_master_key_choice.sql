-- Which master key seals, by its id; NULL: the first one of the key file.
ALTER TABLE installation ADD COLUMN master_key_id VARCHAR(8);
