-- Signed by the key: each row of `replicas` has had its first head, so one without is a chain that was taken away (NULL: not yet looked at).
ALTER TABLE audit_keys ADD COLUMN rows_signed VARBINARY(32);
