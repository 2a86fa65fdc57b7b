-- Now in the table secrets.
ALTER TABLE hx_credentials DROP COLUMN IF EXISTS sealed;
