-- An HX cluster that kaasd is connected to stays when its vCenter is removed: it may turn up in another one.
ALTER TABLE hx_clusters DROP FOREIGN KEY hx_clusters_vcenter;
