-- How many virtual machines of the Kubernetes cluster were seen not to work at the last look: one that goes after that is told of, too, while the state
-- stays as bad. -1: not known, as of places that a version before wrote.
ALTER TABLE cluster_places ADD COLUMN down INT NOT NULL DEFAULT -1;
