-- Passwords and tokens of HX clusters. No released version has written them anywhere: they move in one step.
INSERT INTO secrets (owner_kind, owner_id, purpose, sealed)
SELECT 'hx_connection', hx_cluster_id, CONCAT('hx-', kind), sealed FROM hx_secrets
UNION ALL
SELECT 'hx_credential', vcenter_id, 'hx-credential', sealed FROM hx_credentials;
