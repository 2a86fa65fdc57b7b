-- The objects on which that role was granted, by type and managed object id; NULL: none.
ALTER TABLE vcenter_registrations ADD COLUMN role_objects VARCHAR(8192);
