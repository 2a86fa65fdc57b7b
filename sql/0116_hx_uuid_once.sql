-- A uuid of HX is that of one HX cluster.
ALTER TABLE hx_clusters ADD UNIQUE KEY hx_clusters_uuid (hx_uuid);
