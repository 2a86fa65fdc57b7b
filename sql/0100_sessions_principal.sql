-- Live sessions of one principal are looked for at each sign-on, among as many that have ended as one person can leave behind.
ALTER TABLE sessions
    DROP KEY sessions_principal,
    ADD KEY sessions_principal (principal_id, revoked_at_ms, ends_at_ms);
