-- Where the name of an HX cluster comes from: HX itself (is_name_read), an administrator (is_name_set alone), or else the vSphere cluster. Both are set
-- for a name that HX told, since a kaasd of the release before leaves a name alone that is set.
ALTER TABLE hx_clusters ADD COLUMN is_name_read TINYINT NOT NULL DEFAULT 0;
