-- Now in the table secrets.
DROP TABLE IF EXISTS hx_secrets;
