-- What each vCenter has been told of: the Kubernetes clusters on its vSphere clusters, with the state that was told last ('added': none yet). Compared with
-- what there is, so that an event is made once, whichever replica does it. No reference to clusters: one that is gone is told of, too.
CREATE TABLE cluster_places (
    cluster_id CHAR(36) NOT NULL,
    vcenter_id CHAR(36) NOT NULL,
    moref VARCHAR(80) NOT NULL,
    name VARCHAR(50) NOT NULL,
    told VARCHAR(20) NOT NULL,
    PRIMARY KEY (cluster_id, vcenter_id, moref),
    CONSTRAINT cluster_places_vcenter FOREIGN KEY (vcenter_id) REFERENCES vcenters (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
