-- Which transaction wrote the last row of a change: so that one whose COMMIT had no answer can be found out.
ALTER TABLE change_log ADD COLUMN tx_id CHAR(36);
