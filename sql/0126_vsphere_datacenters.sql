-- The managed object that is the datacenter of a vSphere cluster: its name may repeat. NULL until kaasd has seen it.
ALTER TABLE vsphere_clusters ADD COLUMN datacenter_moref VARCHAR(80);
