// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func TestDefaultWorldHasItsMorefs(t *testing.T) {
	w, err := Read("../../worlds/default.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	b, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Model.Remove()
	if err := b.Inventory(w); err != nil {
		t.Fatal(err)
	}
	reg := b.Model.Map()
	c7 := reg.Get(types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c7"})
	if c7 == nil {
		t.Fatal("domain-c7 missing")
	}
	cluster := c7.(*simulator.ClusterComputeResource)
	if cluster.Name != "HX-East" || len(cluster.Host) != 2 || cluster.Host[0].Value != "host-11" {
		t.Fatalf("cluster: %s %v", cluster.Name, cluster.Host)
	}
	host := reg.Get(cluster.Host[0]).(*simulator.HostSystem)
	if host.Parent.Value != "domain-c7" || len(host.Vm) != 2 {
		t.Fatalf("host: parent %v, machines %v", host.Parent, host.Vm)
	}
	vm := reg.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-103"}).(*simulator.VirtualMachine)
	if vm.Config.InstanceUuid != "50010000-0000-4000-8000-000000000103" ||
		vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff || vm.Runtime.Host.Value != "host-12" {
		t.Fatalf("machine: %+v %+v", vm.Config.InstanceUuid, vm.Runtime)
	}
	if err := b.Remove(c7.Reference()); err != nil {
		t.Fatal(err)
	}
	if reg.Get(vm.Self) != nil || reg.Get(cluster.Self) != nil {
		t.Fatal("the cluster is still there")
	}
}
