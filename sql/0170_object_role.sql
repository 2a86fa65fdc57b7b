-- The role that registering made for the objects that were named; 0: none.
ALTER TABLE vcenter_registrations ADD COLUMN object_role_id INT NOT NULL DEFAULT 0;
