-- Addresses that were given out, one row for each that ever was. Addresses are told apart by the network that they are in. owner: what has it (a machine, a
-- cluster whose API it leads to); NULL: nobody, and nobody gets it before quiet_until_ms, since neighbours may still know the one before.
CREATE TABLE address_leases (
    vcenter_id CHAR(36) NOT NULL,
    network VARCHAR(80) NOT NULL,
    address VARCHAR(15) NOT NULL,
    owner CHAR(36),
    quiet_until_ms BIGINT NOT NULL,
    PRIMARY KEY (vcenter_id, network, address),
    KEY address_leases_owner (owner)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
