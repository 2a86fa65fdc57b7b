-- The hash of each line over the line before and itself (NULL: written by a program without a chain), and the service that acted for a person.
ALTER TABLE audit
    ADD COLUMN acting_id VARCHAR(400),
    ADD COLUMN hash BINARY(32),
    ADD KEY audit_acting (acting_id, at_ms),
    ADD KEY audit_address (address, at_ms),
    ADD KEY audit_result (result, at_ms);
