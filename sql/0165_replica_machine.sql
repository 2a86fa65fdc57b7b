-- BIOS UUID of the virtual machine that the replica runs on, as its guest reads it; NULL: not known.
ALTER TABLE replicas ADD COLUMN machine_uuid CHAR(36);
