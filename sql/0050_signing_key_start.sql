-- When a signing key begins, or began, to sign: until then it is published only, so that whoever keeps a copy of the published keys knows it.
-- 0: from its making.
ALTER TABLE signing_keys ADD COLUMN signs_from_ms BIGINT NOT NULL DEFAULT 0;
