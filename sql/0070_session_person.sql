-- People whom a directory or Kerberos knows, and programs. `source` holds a word that the release before knows; how they really signed in stands in
-- `way`. `group_ids` is the packed set of the person's groups, `directory_mark` what the account was like when the directory was last asked.
ALTER TABLE sessions
    ADD COLUMN way VARCHAR(20),
    ADD COLUMN directory VARCHAR(64),
    ADD COLUMN directory_mark VARCHAR(200),
    ADD COLUMN acting_id VARCHAR(400),
    ADD COLUMN service_id CHAR(36),
    ADD COLUMN group_ids MEDIUMTEXT;
