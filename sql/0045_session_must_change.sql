-- A session by a password that its owner must replace: it may do nothing else. Ends with the change of the password.
ALTER TABLE sessions ADD COLUMN must_change_password TINYINT NOT NULL DEFAULT 0;
