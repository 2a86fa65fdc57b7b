-- The row under which command line tools number their changes.
INSERT INTO replicas (id, name) VALUES (0, 'tools');
