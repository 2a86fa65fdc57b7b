-- Whether user and password of a connection are those of its vCenter.
ALTER TABLE hx_connections
    ADD is_inherited BOOLEAN NOT NULL DEFAULT FALSE;
