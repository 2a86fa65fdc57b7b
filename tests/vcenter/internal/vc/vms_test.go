// Tests of operations on machines: what each part of a specification asks for and does, what is refused, and
// what guests say.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// cards is a change that takes a machine's network card away and gives it another one.
func (p *site) cards(network string) []types.BaseVirtualDeviceConfigSpec {
	p.Helper()
	var vm mo.VirtualMachine
	p.get(p.template, &vm, "config.hardware.device")
	old := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualVmxnet3)(nil))[0]
	card := &types.VirtualVmxnet3{}
	card.Key = -1
	card.Backing = &types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: network}}
	return []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: old},
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card},
	}
}

func TestAClone(t *testing.T) {
	p := startSite(t)
	p.control("POST", "/objects", `{"action": "create", "id": "datacenter-2", "network": "nodes"}`, nil)
	before := p.free()
	spec := p.spec()
	spec.Location.DeviceChange = p.cards("nodes")
	spec.Config = &types.VirtualMachineConfigSpec{
		NumCPUs: 4, MemoryMB: 8192, Annotation: "made by us", ManagedBy: &types.ManagedByInfo{ExtensionKey: "test.kaas", Type: "node"},
		InstanceUuid: "50bbbbbb-0000-4000-8000-000000000001", Flags: &types.VirtualMachineFlagInfo{DiskUuidEnabled: types.NewBool(true)},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.userdata", Value: "abc"},
			&types.OptionValue{Key: "guestinfo.old", Value: ""}, &types.OptionValue{Key: "guestinfo.never", Value: ""}},
	}
	ref := p.mustClone("n1", spec)
	var vm, source mo.VirtualMachine
	p.get(ref, &vm, "config", "summary", "runtime", "network", "parent", "resourcePool", "guest")
	p.get(p.template, &source, "config")
	c := vm.Config
	if c.Hardware.NumCPU != 4 || c.Hardware.MemoryMB != 8192 || c.Annotation != "made by us" || c.ManagedBy == nil ||
		c.ManagedBy.ExtensionKey != "test.kaas" || c.InstanceUuid != spec.Config.InstanceUuid || c.Template ||
		c.Uuid == source.Config.Uuid || !*c.Flags.DiskUuidEnabled || vm.Runtime.PowerState != powerOff ||
		*vm.Parent != p.folder || *vm.ResourcePool != p.pool || len(vm.Guest.Net) != 0 {
		t.Fatalf("%+v", vm)
	}
	if option(&vm, "guestinfo.userdata") != "abc" || option(&vm, "guestinfo.old") != "" || option(&vm, "guestinfo.never") != "" {
		t.Fatalf("%+v", c.ExtraConfig)
	}
	cards := object.VirtualDeviceList(c.Hardware.Device).SelectByType((*types.VirtualVmxnet3)(nil))
	if len(cards) != 1 {
		t.Fatalf("%d cards", len(cards))
	}
	card := cards[0].(*types.VirtualVmxnet3)
	if !strings.HasPrefix(card.MacAddress, "00:50:56:8") || card.Backing.(*types.VirtualEthernetCardNetworkBackingInfo).DeviceName != "nodes" {
		t.Fatalf("%+v", card)
	}
	if before-p.free() != 20<<30 {
		t.Fatalf("%d bytes", before-p.free())
	}
	plain := p.mustClone("n2", p.spec())
	var like mo.VirtualMachine
	p.get(plain, &like, "config", "network")
	other := object.VirtualDeviceList(like.Config.Hardware.Device).SelectByType((*types.VirtualVmxnet3)(nil))[0].(*types.VirtualVmxnet3)
	its := object.VirtualDeviceList(source.Config.Hardware.Device).SelectByType((*types.VirtualVmxnet3)(nil))[0].(*types.VirtualVmxnet3)
	if other.MacAddress == its.MacAddress || like.Config.Annotation != "node image" || option(&like, "guestinfo.old") != "of the template" ||
		like.Config.InstanceUuid == source.Config.InstanceUuid {
		t.Fatalf("%+v", like.Config)
	}
	p.result(p.vm(ref).Destroy(context.Background()))
	p.result(p.vm(plain).Destroy(context.Background()))
	if p.free() != before {
		t.Fatalf("%d bytes are lost", before-p.free())
	}
}

func TestALinkedClone(t *testing.T) {
	p := startSite(t)
	before := p.free()
	spec := p.spec()
	spec.Location.DiskMoveType = linkedMove
	clone, err := p.clone("n1", spec)
	if f := want[*types.InvalidArgument](p, clone, err); f.InvalidProperty != "spec.snapshot" {
		t.Fatalf("%+v", f)
	}
	var source mo.VirtualMachine
	p.get(p.template, &source, "snapshot", "config")
	spec.Snapshot = source.Snapshot.CurrentSnapshot
	ref := p.mustClone("n1", spec)
	var vm mo.VirtualMachine
	p.get(ref, &vm, "config")
	disk := diskOf(&vm)
	if b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); b.Parent == nil || b.Parent.FileName != fileOf(diskOf(&source)) ||
		b.FileName == b.Parent.FileName {
		t.Fatalf("%+v", disk.Backing)
	}
	if before-p.free() != linkedBytes {
		t.Fatalf("%d bytes", before-p.free())
	}
	grown := *disk
	grown.CapacityInBytes, grown.CapacityInKB = 40<<30, 40<<20
	edit, err := p.vm(ref).Reconfigure(context.Background(), types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &grown}}})
	want[*types.InvalidDeviceOperation](p, edit, err)

	// What is said of one disk wins over what is said of all.
	spec.Location.Disk = []types.VirtualMachineRelocateSpecDiskLocator{{DiskId: disk.Key, Datastore: p.store,
		DiskMoveType: string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate)}}
	full := p.mustClone("n2", spec)
	if p.get(full, &vm, "config"); diskOf(&vm).Backing.(*types.VirtualDiskFlatVer2BackingInfo).Parent != nil {
		t.Fatal("n2 is linked")
	}
	spec = p.spec()
	spec.Location.DiskMoveType = sharedMove
	if p.get(p.mustClone("n4", spec), &vm, "config"); diskOf(&vm).Backing.(*types.VirtualDiskFlatVer2BackingInfo).Parent == nil {
		t.Fatal("n4 shares nothing")
	}
	plain := p.create(`"disks_gb": [1], "power_off": true`, "plain")
	ref = p.result(p.vm(plain).Clone(context.Background(), object.NewFolder(p.c.Client, p.folder), "n5", spec))
	if p.get(ref, &vm, "config"); diskOf(&vm).Backing.(*types.VirtualDiskFlatVer2BackingInfo).Parent != nil {
		t.Fatal("n5 shares what can be written")
	}
	other := p.create(`"disks_gb": [1], "snapshot": "s", "power_off": true`, "other")
	var strange mo.VirtualMachine
	p.get(other, &strange, "snapshot")
	spec = p.spec()
	spec.Location.DiskMoveType, spec.Snapshot = linkedMove, strange.Snapshot.CurrentSnapshot
	clone, err = p.clone("n3", spec)
	want[*types.InvalidArgument](p, clone, err)
}

func diskOf(vm *mo.VirtualMachine) *types.VirtualDisk {
	return object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
}

func fileOf(d *types.VirtualDisk) string {
	file, _ := diskFiles(d)
	return file
}

func TestCloneIsRefused(t *testing.T) {
	p := startSite(t)
	for name, x := range map[string]struct {
		change func(*types.VirtualMachineCloneSpec)
		judge  func(*object.Task, error)
	}{
		"no pool": {func(s *types.VirtualMachineCloneSpec) { s.Location.Pool = nil }, func(t *object.Task, err error) {
			if f := want[*types.InvalidArgument](p, t, err); f.InvalidProperty != "spec.location.pool" {
				p.Fatalf("%+v", f)
			}
		}},
		"host of another cluster": {func(s *types.VirtualMachineCloneSpec) { s.Location.Host = &moRef{Type: "HostSystem", Value: "host-71"} },
			func(t *object.Task, err error) { want[*types.InvalidArgument](p, t, err) }},
		"unknown datastore": {func(s *types.VirtualMachineCloneSpec) {
			s.Location.Datastore = &moRef{Type: "Datastore", Value: "datastore-9"}
		},
			func(t *object.Task, err error) { want[*types.ManagedObjectNotFound](p, t, err) }},
		"a template that runs": {func(s *types.VirtualMachineCloneSpec) { s.Template, s.PowerOn = true, true },
			func(t *object.Task, err error) { want[*types.InvalidArgument](p, t, err) }},
		"unknown network": {func(s *types.VirtualMachineCloneSpec) { s.Location.DeviceChange = p.cards("none such") },
			func(t *object.Task, err error) { want[*types.InvalidDeviceBacking](p, t, err) }},
		"instance UUID of another": {func(s *types.VirtualMachineCloneSpec) {
			s.Config = &types.VirtualMachineConfigSpec{InstanceUuid: "50010000-0000-4000-8000-000000000101"}
		}, func(t *object.Task, err error) { want[*types.InvalidArgument](p, t, err) }},
		"no UUID": {func(s *types.VirtualMachineCloneSpec) { s.Config = &types.VirtualMachineConfigSpec{InstanceUuid: "n1"} },
			func(t *object.Task, err error) { want[*types.InvalidArgument](p, t, err) }},
		"too much guestinfo": {func(s *types.VirtualMachineCloneSpec) { s.Config = guestInfoOf(64<<10 + 1) },
			func(t *object.Task, err error) { want[*types.InvalidArgument](p, t, err) }},
	} {
		spec := p.spec()
		x.change(&spec)
		clone, err := p.clone("n1", spec)
		x.judge(clone, err)
		if _, there := p.named("n1"); there {
			t.Fatalf("%s: n1 is there", name)
		}
	}
	spec := p.spec()
	spec.Config = guestInfoOf(64 << 10)
	p.mustClone("n1", spec)
	clone, err := p.clone("n1", p.spec())
	want[*types.DuplicateName](p, clone, err)
	clone, err = p.clone(strings.Repeat("x", 81), p.spec())
	want[*types.InvalidName](p, clone, err)
	p.control("POST", "/objects", `{"action": "connection", "id": "host-11", "state": "disconnected"}`, nil)
	p.control("POST", "/objects", `{"action": "connection", "id": "host-12", "state": "disconnected"}`, nil)
	clone, err = p.clone("n2", p.spec())
	want[*types.NoCompatibleHost](p, clone, err)
}

func guestInfoOf(bytes int) *types.VirtualMachineConfigSpec {
	return &types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.userdata", Value: strings.Repeat("x", bytes)}}}
}

func TestADuplicateInstanceUUIDIsChangedIfSaid(t *testing.T) {
	p := startSite(t)
	p.control("POST", "/settings", `{"duplicate_instance_uuid": "change"}`, nil)
	spec := p.spec()
	spec.Config = &types.VirtualMachineConfigSpec{InstanceUuid: "50010000-0000-4000-8000-000000000101"}
	var vm mo.VirtualMachine
	p.get(p.mustClone("n1", spec), &vm, "config")
	if vm.Config.InstanceUuid == "50010000-0000-4000-8000-000000000101" || vm.Config.InstanceUuid == "" {
		t.Fatal(vm.Config.InstanceUuid)
	}
}

func TestADatastoreIsFull(t *testing.T) {
	p := startSite(t)
	p.control("POST", "/objects", fmt.Sprintf(`{"action": "room", "id": %q, "free_bytes": %d}`, p.store.Value, 45<<30), nil)
	p.mustClone("n1", p.spec())
	p.mustClone("n2", p.spec())
	clone, err := p.clone("n3", p.spec())
	if f := want[*types.NoDiskSpace](p, clone, err); f.Datastore != "DC0-DS" {
		t.Fatalf("%+v", f)
	}
	if p.free() != 5<<30 {
		t.Fatal(p.free())
	}
	ref, _ := p.named("n2")
	var vm mo.VirtualMachine
	p.get(ref, &vm, "config")
	disk := *diskOf(&vm)
	grow := func(gb int64) (*object.Task, error) {
		disk.CapacityInBytes, disk.CapacityInKB = gb<<30, gb<<20
		return p.vm(ref).Reconfigure(context.Background(), types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk}}})
	}
	edit, err := grow(26)
	want[*types.NoDiskSpace](p, edit, err)
	edit, err = grow(19)
	want[*types.InvalidDeviceOperation](p, edit, err)
	p.result(grow(24))
	if p.free() != 1<<30 {
		t.Fatal(p.free())
	}
}

func TestReconfigure(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	ref := p.mustClone("n1", p.spec())
	p.mustClone("n2", p.spec())
	change := func(spec types.VirtualMachineConfigSpec) (*object.Task, error) {
		return p.vm(ref).Reconfigure(ctx, spec)
	}
	var vm mo.VirtualMachine
	p.get(ref, &vm, "config")
	p.result(change(types.VirtualMachineConfigSpec{ChangeVersion: vm.Config.ChangeVersion, NumCPUs: 3, Annotation: "a",
		ManagedBy: &types.ManagedByInfo{ExtensionKey: "k", Type: "node"}}))
	edit, err := change(types.VirtualMachineConfigSpec{ChangeVersion: vm.Config.ChangeVersion, NumCPUs: 4})
	want[*types.ConcurrentAccess](p, edit, err)
	if p.get(ref, &vm, "config", "summary"); vm.Config.Hardware.NumCPU != 3 || vm.Config.Annotation != "a" || vm.Config.ManagedBy.Type != "node" ||
		vm.Summary.Config.ManagedBy == nil {
		t.Fatalf("%+v", vm.Config)
	}
	edit, err = change(types.VirtualMachineConfigSpec{Name: "n2"})
	want[*types.DuplicateName](p, edit, err)
	edit, err = change(*guestInfoOf(64<<10 + 1))
	want[*types.InvalidArgument](p, edit, err)
	edit, err = change(types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: int32(1)}}})
	want[*types.InvalidArgument](p, edit, err)
	edit, err = p.vm(p.template).Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 4})
	want[*types.NotSupported](p, edit, err)
	p.result(p.vm(ref).PowerOn(ctx))
	edit, err = change(types.VirtualMachineConfigSpec{NumCPUs: 8})
	want[*types.CpuHotPlugNotSupported](p, edit, err)
	edit, err = change(types.VirtualMachineConfigSpec{MemoryMB: 512})
	want[*types.MemoryHotPlugNotSupported](p, edit, err)
	p.result(change(types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.old", Value: ""}}}))
	if p.get(ref, &vm, "config"); option(&vm, "guestinfo.old") != "" {
		t.Fatalf("%+v", vm.Config.ExtraConfig)
	}
}

func TestStatesOfPowerAndTemplates(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	ref := p.mustClone("n1", p.spec())
	vm := p.vm(ref)
	off, err := vm.PowerOff(ctx)
	if f := want[*types.InvalidPowerState](p, off, err); f.RequestedState != powerOff || f.ExistingState != powerOff {
		t.Fatalf("%+v", f)
	}
	p.result(vm.PowerOn(ctx))
	on, err := vm.PowerOn(ctx)
	if f := want[*types.InvalidPowerState](p, on, err); f.RequestedState != powerOn || f.ExistingState != powerOn {
		t.Fatalf("%+v", f)
	}
	destroy, err := vm.Destroy(ctx)
	want[*types.InvalidPowerState](p, destroy, err)
	want[*types.InvalidPowerState](p, nil, vm.MarkAsTemplate(ctx))
	p.control("POST", "/objects", fmt.Sprintf(`{"action": "connection", "id": %q, "state": "disconnected"}`, ref.Value), nil)
	off, err = vm.PowerOff(ctx)
	want[*types.HostNotConnected](p, off, err)
	p.control("POST", "/objects", fmt.Sprintf(`{"action": "connection", "id": %q, "state": "connected"}`, ref.Value), nil)
	p.result(vm.PowerOff(ctx))
	p.result(vm.CreateSnapshot(ctx, "one", "", false, false))
	if err := vm.MarkAsTemplate(ctx); err != nil {
		t.Fatal(err)
	}
	var seen mo.VirtualMachine
	p.get(ref, &seen, "config.template", "resourcePool", "snapshot")
	if !seen.Config.Template || seen.ResourcePool != nil || seen.Snapshot.RootSnapshotList[0].Name != "one" {
		t.Fatalf("%+v", seen)
	}
	on, err = vm.PowerOn(ctx)
	want[*types.InvalidState](p, on, err)
	again, err := vm.CreateSnapshot(ctx, "two", "", false, false)
	want[*types.InvalidState](p, again, err)
	if err := vm.MarkAsVirtualMachine(ctx, *object.NewResourcePool(p.c.Client, p.pool), nil); err != nil {
		t.Fatal(err)
	}
	p.result(vm.PowerOn(ctx))
}

func TestFolders(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	folder, err := object.NewFolder(p.c.Client, p.folder).CreateFolder(ctx, "prod")
	if err != nil {
		t.Fatal(err)
	}
	_, err = object.NewFolder(p.c.Client, p.folder).CreateFolder(ctx, "prod")
	if f := want[*types.DuplicateName](p, nil, err); f.Object != folder.Reference() {
		t.Fatalf("%+v", f)
	}
	_, err = object.NewFolder(p.c.Client, p.folder).CreateFolder(ctx, "")
	want[*types.InvalidName](p, nil, err)
	vm := p.vm(p.template)
	ref := p.result(vm.Clone(ctx, folder, "n1", p.spec()))
	p.mustClone("n1", p.spec()) // in another folder
	p.result(p.vm(ref).PowerOn(ctx))
	destroy, err := folder.Destroy(ctx)
	want[*types.InvalidPowerState](p, destroy, err)
	p.result(p.vm(ref).PowerOff(ctx))
	p.result(folder.Destroy(ctx))
	if _, there := p.named("prod"); there {
		t.Fatal("prod is there")
	}
}

// provisioner is a user with a role of its own on the whole inventory.
func (p *site) provisioner(privileges ...string) *govmomi.Client {
	p.Helper()
	list := `"` + strings.Join(privileges, `", "`) + `"`
	p.control("POST", "/roles", `{"name": "Provisioner", "privileges": [`+list+`]}`, nil)
	p.control("POST", "/users", `{"name": "prov", "password": "prov-Pass1"}`, nil)
	p.control("POST", "/permissions", `{"entity": "group-d1", "principal": "prov@vsphere.local", "role": "Provisioner"}`, nil)
	return p.client("prov@vsphere.local", "prov-Pass1")
}

// drops tries an operation with each of its privileges taken away in turn: it must be refused with that privilege
// and object, and be done with all of them.
func (p *site) drops(needs map[string]moRef, try func(*govmomi.Client) (*object.Task, error)) {
	p.Helper()
	var all []string
	for privilege := range needs {
		if !slices.Contains(builtin, privilege) {
			p.Fatalf("no vCenter has the privilege %s", privilege)
		}
		all = append(all, privilege)
	}
	c := p.provisioner(all...)
	for _, privilege := range all {
		rest := slices.DeleteFunc(slices.Clone(all), func(x string) bool { return x == privilege })
		p.control("POST", "/roles", `{"name": "Provisioner", "privileges": ["`+strings.Join(append(rest, privView), `", "`)+`"]}`, nil)
		t, err := try(c)
		f := want[*types.NoPermission](p, t, err)
		if f.PrivilegeId != privilege || f.Object == nil || *f.Object != needs[privilege] || len(f.MissingPrivileges) != 1 {
			p.Fatalf("without %s on %v: %+v %v", privilege, needs[privilege], f, f.Object)
		}
		if t != nil {
			p.Fatalf("%s: refused by a task", privilege)
		}
	}
	p.control("POST", "/roles", `{"name": "Provisioner", "privileges": ["`+strings.Join(all, `", "`)+`"]}`, nil)
	t, err := try(c)
	if err == nil && t != nil {
		_, err = t.WaitForResult(context.Background())
	}
	if err != nil {
		p.Fatalf("with all of %v: %v", all, err)
	}
}

const cfg = "VirtualMachine.Config."

// parts is a specification that asks for much, and what it asks for on the machine or the folder.
func (p *site) parts(on moRef) (types.VirtualMachineConfigSpec, map[string]moRef) {
	spec := types.VirtualMachineConfigSpec{
		NumCPUs: 4, MemoryMB: 4096, Annotation: "a", ManagedBy: &types.ManagedByInfo{ExtensionKey: "k", Type: "node"},
		ExtraConfig:   []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.x", Value: "y"}},
		Flags:         &types.VirtualMachineFlagInfo{DiskUuidEnabled: types.NewBool(true)},
		CpuAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(100)}, VAppConfigRemoved: types.NewBool(true),
	}
	needs := map[string]moRef{}
	for _, privilege := range []string{cfg + "CPUCount", cfg + "Memory", cfg + "Annotation", cfg + "ManagedBy", cfg + "AdvancedConfig",
		cfg + "Settings", cfg + "Resource", "VApp.ApplicationConfig"} {
		needs[privilege] = on
	}
	return spec, needs
}

func TestEachPartOfACloneNeedsItsPrivilege(t *testing.T) {
	p := startSite(t)
	p.control("POST", "/objects", `{"action": "create", "id": "datacenter-2", "network": "nodes"}`, nil)
	config, needs := p.parts(p.folder)
	needs["VirtualMachine.Provisioning.DeployTemplate"] = p.template
	needs["VirtualMachine.Inventory.CreateFromExisting"] = p.folder
	needs["Datastore.AllocateSpace"] = p.store
	needs["Resource.AssignVMToPool"] = p.pool
	needs["VirtualMachine.Interact.PowerOn"] = p.folder
	needs[cfg+"AddRemoveDevice"] = p.folder
	needs["Network.Assign"] = p.networks()[1]
	spec := p.spec()
	spec.Config, spec.PowerOn, spec.Location.DeviceChange = &config, true, p.cards("nodes")
	p.drops(needs, func(c *govmomi.Client) (*object.Task, error) { return p.cloneBy(c, "n1", spec) })
}

func TestEachKindOfCloneNeedsItsPrivilege(t *testing.T) {
	p := startSite(t)
	machine := p.create(`"disks_gb": [1], "power_off": true`, "plain")
	n := 0
	for privilege, x := range map[string]struct {
		source   moRef
		template bool
	}{"Clone": {machine, false}, "CreateTemplateFromVM": {machine, true}, "CloneTemplate": {p.template, true}} {
		n++
		needs := map[string]moRef{"VirtualMachine.Provisioning." + privilege: x.source,
			"VirtualMachine.Inventory.CreateFromExisting": p.folder, "Datastore.AllocateSpace": p.store}
		if !x.template {
			needs["Resource.AssignVMToPool"] = p.pool
		}
		spec := p.spec()
		spec.Template = x.template
		p.drops(needs, func(c *govmomi.Client) (*object.Task, error) {
			return object.NewVirtualMachine(c.Client, x.source).Clone(context.Background(), object.NewFolder(c.Client, p.folder), fmt.Sprint("n", n), spec)
		})
	}
}

func TestEachPartOfAReconfigurationNeedsItsPrivilege(t *testing.T) {
	p := startSite(t)
	ref := p.mustClone("n1", p.spec())
	var vm mo.VirtualMachine
	p.get(ref, &vm, "config.hardware.device")
	devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
	grown := *diskOf(&vm)
	grown.CapacityInBytes, grown.CapacityInKB = 21<<30, 21<<20
	card := devices.SelectByType((*types.VirtualVmxnet3)(nil))[0].(*types.VirtualVmxnet3)
	unit := int32(3)
	fresh := &types.VirtualDisk{CapacityInBytes: 1 << 30, CapacityInKB: 1 << 20, VirtualDevice: types.VirtualDevice{Key: -5, ControllerKey: grown.ControllerKey,
		UnitNumber: &unit, Backing: &types.VirtualDiskFlatVer2BackingInfo{DiskMode: "persistent",
			VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{Datastore: &p.store}}}}
	spec, needs := p.parts(ref)
	spec.Name = "n1-renamed"
	spec.DeviceChange = []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &grown},
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: card},
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: p.cards("VM Network")[1].GetVirtualDeviceConfigSpec().Device},
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: fresh},
	}
	for _, privilege := range []string{"Rename", "EditDevice", "DiskExtend", "AddRemoveDevice", "AddNewDisk"} {
		needs[cfg+privilege] = ref
	}
	needs["Network.Assign"] = p.network
	needs["Datastore.AllocateSpace"] = p.store
	p.drops(needs, func(c *govmomi.Client) (*object.Task, error) {
		return object.NewVirtualMachine(c.Client, ref).Reconfigure(context.Background(), spec)
	})
}

func TestOperationsOnMachinesNeedTheirPrivileges(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	ref := p.mustClone("n1", p.spec())
	vm := func(c *govmomi.Client) *object.VirtualMachine { return object.NewVirtualMachine(c.Client, ref) }
	p.drops(map[string]moRef{"VirtualMachine.State.CreateSnapshot": ref}, func(c *govmomi.Client) (*object.Task, error) {
		return vm(c).CreateSnapshot(ctx, "s", "", false, false)
	})
	p.drops(map[string]moRef{"VirtualMachine.Interact.PowerOn": ref}, func(c *govmomi.Client) (*object.Task, error) { return vm(c).PowerOn(ctx) })
	p.control("POST", "/vms/"+ref.Value+"/guest", `{"tools_running_status": "guestToolsRunning"}`, nil)
	p.drops(map[string]moRef{"VirtualMachine.Interact.Reset": ref}, func(c *govmomi.Client) (*object.Task, error) { return nil, vm(c).RebootGuest(ctx) })
	p.drops(map[string]moRef{"VirtualMachine.Interact.PowerOff": ref}, func(c *govmomi.Client) (*object.Task, error) { return nil, vm(c).ShutdownGuest(ctx) })
	p.drops(map[string]moRef{"VirtualMachine.Interact.PowerOff": ref}, func(c *govmomi.Client) (*object.Task, error) { return vm(c).PowerOff(ctx) })
	p.drops(map[string]moRef{"VirtualMachine.Provisioning.MarkAsTemplate": ref}, func(c *govmomi.Client) (*object.Task, error) {
		return nil, vm(c).MarkAsTemplate(ctx)
	})
	p.drops(map[string]moRef{"VirtualMachine.Provisioning.MarkAsVM": ref, "Resource.AssignVMToPool": p.pool}, func(c *govmomi.Client) (*object.Task, error) {
		return nil, vm(c).MarkAsVirtualMachine(ctx, *object.NewResourcePool(c.Client, p.pool), nil)
	})
	p.drops(map[string]moRef{"VirtualMachine.Inventory.Delete": ref}, func(c *govmomi.Client) (*object.Task, error) { return vm(c).Destroy(ctx) })
	p.drops(map[string]moRef{"Folder.Create": p.folder}, func(c *govmomi.Client) (*object.Task, error) {
		_, err := object.NewFolder(c.Client, p.folder).CreateFolder(ctx, "prod")
		return nil, err
	})
	folder, _ := p.named("prod")
	p.drops(map[string]moRef{"Folder.Delete": folder}, func(c *govmomi.Client) (*object.Task, error) {
		return object.NewFolder(c.Client, folder).Destroy(ctx)
	})
}

// The right to delete is needed on the parent as well.
func TestDestroyNeedsThePrivilegeOnTheParent(t *testing.T) {
	p := startSite(t)
	ref := p.mustClone("n1", p.spec())
	c := p.provisioner("VirtualMachine.Inventory.Delete")
	p.control("POST", "/permissions", `{"entity": "group-d1", "principal": "prov@vsphere.local", "role": "ReadOnly"}`, nil)
	p.control("POST", "/permissions", fmt.Sprintf(`{"entity": %q, "principal": "prov@vsphere.local", "role": "Provisioner"}`, ref.Value), nil)
	destroy, err := object.NewVirtualMachine(c.Client, ref).Destroy(context.Background())
	if f := want[*types.NoPermission](p, destroy, err); *f.Object != p.folder {
		t.Fatalf("%+v", f.Object)
	}
	// Who started a task may follow it when its machine is gone.
	p.control("POST", "/permissions", fmt.Sprintf(`{"entity": %q, "principal": "prov@vsphere.local", "role": "Provisioner"}`, p.folder.Value), nil)
	p.control("POST", "/permissions", `{"entity": "group-d1", "principal": "prov@vsphere.local", "remove": true}`, nil)
	p.result(object.NewVirtualMachine(c.Client, ref).Destroy(context.Background()))
}

// vmsAfter asks the control port for machines that changed.
func (p *site) vmsAfter(seq int64, wait float64) (out struct {
	Seq int64
	VMs []struct {
		vmRow
		Gone bool `json:"gone"`
	}
}) {
	p.Helper()
	p.control("GET", fmt.Sprintf("/vms?after=%d&wait_s=%g", seq, wait), "", &out)
	return out
}

func TestTheGuest(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	spec := p.spec()
	spec.Config = guestInfoOf(5)
	first := p.vmsAfter(0, 0)
	ref := p.mustClone("n1", spec)
	now := p.vmsAfter(first.Seq, 10)
	if n := len(now.VMs); n != 1 || now.VMs[0].ID != ref.Value || now.VMs[0].Power != "poweredOff" || now.VMs[0].Boot != 0 ||
		now.VMs[0].GuestInfo["guestinfo.userdata"] != strings.Repeat("x", 5) || len(now.VMs[0].NICs) != 1 || now.VMs[0].Disks[0].Capacity != 20<<30 {
		t.Fatalf("%+v", now)
	}
	guest := "/vms/" + ref.Value + "/guest"
	if status := p.controlStatus(guest, `{"host_name": "n1"}`); status != http.StatusBadRequest {
		t.Fatalf("a guest that does not run speaks: %d", status)
	}
	waiting := make(chan string, 1)
	go func() {
		res, err := http.Get(fmt.Sprintf("http://%s/vms?after=%d&wait_s=20", p.at.Control, now.Seq))
		if err != nil {
			waiting <- err.Error()
			return
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		waiting <- string(text)
	}()
	p.result(p.vm(ref).PowerOn(ctx))
	p.expect(<-waiting, ref.Value, `"power":"poweredOn"`)
	on := p.vmsAfter(now.Seq, 0).VMs[0]
	if on.Power != "poweredOn" || on.Boot != 1 {
		t.Fatalf("%+v", on)
	}
	want[*types.ToolsUnavailable](p, nil, p.vm(ref).ShutdownGuest(ctx))
	p.control("POST", guest, fmt.Sprintf(`{"boot": 1, "tools_running_status": "guestToolsRunning", "host_name": "n1", "ip_address": "10.7.0.11",
		"net": [{"mac": %q, "addresses": ["10.7.0.11/24", "fe80::1"]}, {"mac": "02:00:00:00:00:01", "addresses": ["10.244.0.1/24"]}],
		"guestinfo": {"guestinfo.phase": "joined", "guestinfo.userdata": "---"}}`, on.NICs[0].MAC), nil)
	var vm mo.VirtualMachine
	p.get(ref, &vm, "guest", "summary.guest", "config")
	g := vm.Guest
	if g.HostName != "n1" || g.IpAddress != "10.7.0.11" || g.ToolsRunningStatus != "guestToolsRunning" || len(g.Net) != 2 ||
		g.Net[0].Network != "VM Network" || g.Net[0].DeviceConfigId != on.NICs[0].Key || g.Net[0].IpConfig.IpAddress[0].PrefixLength != 24 ||
		g.Net[1].DeviceConfigId != -1 || vm.Summary.Guest.IpAddress != "10.7.0.11" ||
		option(&vm, "guestinfo.phase") != "joined" || option(&vm, "guestinfo.userdata") != "---" {
		t.Fatalf("%+v %+v", g, vm.Config.ExtraConfig)
	}
	for name, body := range map[string]string{
		"a boot that is over": `{"boot": 2, "host_name": "x"}`, "no guestinfo": `{"guestinfo": {"x": "y"}}`,
		"too much":   `{"guestinfo": {"guestinfo.x": "` + strings.Repeat("x", 64<<10+1) + `"}}`,
		"no address": `{"net": [{"mac": "m", "addresses": ["here"]}]}`, "no status": `{"tools_running_status": "fine"}`,
	} {
		if status := p.controlStatus(guest, body); status != http.StatusBadRequest {
			t.Fatalf("%s: %d", name, status)
		}
	}
	if err := p.vm(ref).ShutdownGuest(ctx); err != nil {
		t.Fatal(err)
	}
	asked := p.vmsAfter(0, 0)
	i := slices.IndexFunc(asked.VMs, func(r struct {
		vmRow
		Gone bool `json:"gone"`
	}) bool {
		return r.ID == ref.Value
	})
	if r := asked.VMs[i].Request; r == nil || r.What != "shutdown" {
		t.Fatalf("%+v", asked.VMs[i])
	}
	p.control("POST", guest, `{"boot": 1, "shut_down": true}`, nil)
	p.get(ref, &vm, "guest", "runtime.powerState", "config")
	if vm.Runtime.PowerState != powerOff || vm.Guest.IpAddress != "" || len(vm.Guest.Net) != 0 || vm.Guest.ToolsRunningStatus != "guestToolsNotRunning" ||
		option(&vm, "guestinfo.phase") != "joined" {
		t.Fatalf("%+v", vm.Guest)
	}
	p.result(p.vm(ref).PowerOn(ctx))
	p.result(p.vm(ref).Reset(ctx))
	last := p.vmsAfter(asked.Seq, 0)
	if r := last.VMs[len(last.VMs)-1]; r.Boot != 3 || r.Request != nil || r.Guest.Tools != "guestToolsNotRunning" {
		t.Fatalf("%+v", r)
	}
	p.result(p.vm(ref).PowerOff(ctx))
	p.result(p.vm(ref).Destroy(ctx))
	deadline := time.Now().Add(10 * time.Second)
	for {
		rows := p.vmsAfter(last.Seq, 10).VMs
		if r := rows[len(rows)-1]; r.Gone && r.ID == ref.Value && r.Name == "n1" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", rows)
		}
	}
}

func (f *fixture) controlStatus(path, body string) int {
	f.Helper()
	res, err := http.Post("http://"+f.at.Control+path, "application/json", strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// What the tables name must be privileges that a vCenter has.
func TestPrivilegesOfPartsExist(t *testing.T) {
	for member, privilege := range memberPrivileges {
		if privilege != "" && !slices.Contains(builtin, vmConfig+privilege) {
			t.Errorf("%s: %s", member, privilege)
		}
	}
	for kind, x := range deletion {
		if !slices.Contains(builtin, x.privilege) {
			t.Errorf("%s: %s", kind, x.privilege)
		}
	}
	for op, x := range opRules {
		if x.privilege != "" && !slices.Contains(builtin, x.privilege) {
			t.Errorf("%s: %s", op, x.privilege)
		}
	}
}
