-- Where the chain of a replica's audit lines ends and where it begins since the oldest were removed: number, hash and signature (NULL: nowhere).
ALTER TABLE replicas
    ADD COLUMN audit_head VARBINARY(72),
    ADD COLUMN audit_anchor VARBINARY(72);
