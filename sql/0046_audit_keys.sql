-- Ways into the audit trail beside the time: who, what, and the request that a log line or an answer names.
ALTER TABLE audit
    ADD KEY audit_principal (principal_id, at_ms),
    ADD KEY audit_object (object_id, at_ms),
    ADD KEY audit_request (request_id);
