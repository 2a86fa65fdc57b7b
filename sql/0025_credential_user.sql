-- The account's name, where kaasd logs in by an account instead of a certificate.
ALTER TABLE vcenter_credentials ADD COLUMN user_name VARCHAR(255);
