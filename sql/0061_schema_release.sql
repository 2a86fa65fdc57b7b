-- The schema release of the program that applied a file: a program works beside the next release, not beside the one after.
ALTER TABLE schema_migrations ADD COLUMN schema_release INT UNSIGNED NOT NULL DEFAULT 1;
