-- Whether what that role was granted on was found by kaasd, which then tells of an HX cluster that comes later; 0: somebody named it.
ALTER TABLE vcenter_registrations ADD COLUMN role_on_used TINYINT NOT NULL DEFAULT 0;
