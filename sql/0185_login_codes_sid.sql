-- The codes and cookies of one session: a new one takes their place, and they go when it ends.
ALTER TABLE login_codes ADD KEY login_codes_sid (sid);
