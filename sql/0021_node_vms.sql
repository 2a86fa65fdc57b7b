-- More of what may be declared of a node's virtual machine.
ALTER TABLE nodes
    ADD COLUMN vm_bios_uuid CHAR(36),
    ADD COLUMN vm_name VARCHAR(255);
