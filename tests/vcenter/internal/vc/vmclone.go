// CloneVM_Task. The clone is in the inventory from the beginning and has a name and a parent; what it is made of
// comes at the end.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
	"kaas.test/vcenter/internal/world"
)

const (
	linkedMove = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	sharedMove = string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndAllowSharing)
	childMove  = string(types.VirtualMachineRelocateDiskMoveOptionsMoveChildMostDiskBacking)
)

// cloning is one clone that is being made.
type cloning struct {
	s        *Server
	sess     *simulator.Session
	source   *simulator.VirtualMachine
	from     mo.VirtualMachine // the source as it was when the call came
	folder   moRef
	name     string
	spec     types.VirtualMachineCloneSpec
	pool     *moRef
	host     moRef
	store    moRef
	snapshot *simulator.VirtualMachineSnapshot

	made  moRef
	ready bool // a machine like others: what goes wrong now does not take it away
}

func cloneVM(c *call) (any, error) {
	source, err := c.vm()
	if err != nil {
		return nil, err
	}
	req := body[types.CloneVM_Task](c)
	k := &cloning{s: c.s, sess: c.sess.sim, source: source, folder: req.Folder, name: req.Name, spec: req.Spec}
	c.s.withMachine(source, func() {
		k.from = copied(reflect.ValueOf(source.VirtualMachine)).Interface().(mo.VirtualMachine)
	})
	if err := k.resolve(); err != nil {
		return nil, err
	}
	if err := c.requireAll(k.needs()); err != nil {
		return nil, err
	}
	if err := k.place(); err != nil {
		return nil, err
	}
	ref, err := c.startTask(work{
		op: opClone, id: "VirtualMachine.clone", entity: source.Self, shares: []moRef{source.Self}, cancelable: true,
		check: k.check, begin: k.begin, finish: k.finish, undo: k.undo,
	})
	return &types.CloneVM_TaskResponse{Returnval: ref}, err
}

// resolve finds the objects that the call names, and those that it leaves open where only one can be meant.
func (k *cloning) resolve() error {
	at := k.spec.Location
	if err := k.s.present(&k.folder, at.Pool, at.Host, at.Datastore, k.spec.Snapshot); err != nil {
		return err
	}
	if k.pool = at.Pool; k.pool == nil && !k.from.Config.Template {
		k.pool = k.from.ResourcePool
	}
	if at.Datastore != nil {
		k.store = *at.Datastore
	} else if len(k.from.Datastore) > 0 {
		k.store = k.from.Datastore[0]
	}
	return nil
}

// needs is what the clone asks for, and where.
func (k *cloning) needs() []need {
	at := k.spec.Location
	provisioning := "Clone"
	switch {
	case k.from.Config.Template && k.spec.Template:
		provisioning = "CloneTemplate"
	case k.from.Config.Template:
		provisioning = "DeployTemplate"
	case k.spec.Template:
		provisioning = "CreateTemplateFromVM"
	}
	out := []need{
		{"VirtualMachine.Provisioning." + provisioning, k.source.Self},
		{"VirtualMachine.Inventory.CreateFromExisting", k.folder},
		{"Datastore.AllocateSpace", k.store},
	}
	for _, disk := range at.Disk {
		out = append(out, need{"Datastore.AllocateSpace", disk.Datastore})
	}
	if k.spec.Customization != nil {
		out = append(out, need{"VirtualMachine.Provisioning.Customize", k.source.Self})
	}
	if k.pool != nil && !k.spec.Template {
		out = append(out, need{"Resource.AssignVMToPool", *k.pool})
	}
	if k.spec.PowerOn {
		out = append(out, need{"VirtualMachine.Interact.PowerOn", k.folder})
	}
	out = append(out, k.s.specNeeds(k.spec.Config, k.folder)...)
	return append(out, k.s.deviceNeeds(at.DeviceChange, k.from.Config.Hardware.Device, k.folder)...)
}

// place refuses a specification that contradicts itself or the inventory, and chooses the host.
func (k *cloning) place() error {
	at := k.spec.Location
	folder, ok := k.s.ctx.Map.Get(k.folder).(*simulator.Folder)
	if !ok || !slices.Contains(folder.ChildType, "VirtualMachine") {
		return badArgument("folder", "A specified parameter was not correct: folder")
	}
	if k.pool == nil && !k.spec.Template {
		return badArgument("spec.location.pool", "A specified parameter was not correct: spec.location.pool")
	}
	if k.spec.Template && k.spec.PowerOn {
		return badArgument("spec.powerOn", "A template cannot be powered on")
	}
	if err := k.placeSnapshot(); err != nil {
		return err
	}
	if k.pool == nil { // a template is in no pool, but comes up beside its source
		host, _ := k.s.ctx.Map.Get(*k.from.Runtime.Host).(*simulator.HostSystem)
		k.pool = k.rootPool(host)
	}
	if k.s.datacenterOf(*k.pool) != k.s.datacenterOf(k.folder) {
		return badArgument("spec.location.pool", "The resource pool is in another datacenter than the folder")
	}
	hosts := k.hosts()
	if at.Host != nil {
		if !slices.Contains(hosts, *at.Host) {
			return badArgument("spec.location.host", "A specified parameter was not correct: spec.location.host")
		}
		hosts = []moRef{*at.Host}
	}
	return k.chooseHost(hosts)
}

func (k *cloning) rootPool(host *simulator.HostSystem) *moRef {
	if host == nil || host.Parent == nil {
		return nil
	}
	for _, ref := range k.s.references(k.s.anon, k.s.ctx.Map.Get(*host.Parent), "resourcePool") {
		return &ref
	}
	return nil
}

// placeSnapshot finds the snapshot of a linked clone, which must be one of the source's.
func (k *cloning) placeSnapshot() error {
	linked := k.spec.Location.DiskMoveType == linkedMove
	for _, disk := range k.spec.Location.Disk {
		linked = linked || disk.DiskMoveType == linkedMove
	}
	if k.spec.Snapshot == nil {
		if linked {
			return badArgument("spec.snapshot", "A linked clone needs a snapshot of its source")
		}
		if k.from.Snapshot != nil && k.from.Snapshot.CurrentSnapshot != nil { // whose disks can be shared
			k.snapshot, _ = k.s.ctx.Map.Get(*k.from.Snapshot.CurrentSnapshot).(*simulator.VirtualMachineSnapshot)
		}
		return nil
	}
	snapshot, ok := k.s.ctx.Map.Get(*k.spec.Snapshot).(*simulator.VirtualMachineSnapshot)
	if !ok || snapshot.Vm != k.source.Self {
		return badArgument("spec.snapshot", "The snapshot is none of the source")
	}
	k.snapshot = snapshot
	return nil
}

// hosts are those of the compute resource that the pool belongs to.
func (k *cloning) hosts() []moRef {
	for _, up := range k.s.ancestors(*k.pool) {
		if up.Type == "ClusterComputeResource" || up.Type == "ComputeResource" {
			return k.s.references(k.s.anon, k.s.ctx.Map.Get(up), "host")
		}
	}
	return nil
}

// chooseHost takes the host with the fewest machines of those that can run one with this datastore.
func (k *cloning) chooseHost(hosts []moRef) error {
	best := -1
	reached := false
	for _, ref := range hosts {
		host, ok := k.s.ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok || !slices.Contains(k.s.references(k.s.anon, host, "datastore"), k.store) {
			continue
		}
		reached = true
		var fit bool
		var load int
		ctx := k.s.simContext(k.s.anon)
		ctx.WithLock(host, func() {
			fit = host.Runtime.ConnectionState == types.HostSystemConnectionStateConnected
			load = len(host.Vm)
		})
		if fit && k.s.admits(ref) == nil && (best < 0 || load < best) {
			best, k.host = load, ref
		}
	}
	switch {
	case best >= 0:
		return nil
	case len(hosts) > 0 && !reached:
		return wire.Faultf(&types.InvalidDatastore{Datastore: &k.store, Name: k.s.nameOf(k.store)},
			"No host of the resource pool can access the datastore '%s'.", k.s.nameOf(k.store))
	}
	return wire.Faultf(&types.NoCompatibleHost{}, "No host is compatible with the virtual machine.")
}

// check refuses what is in the way now.
func (k *cloning) check() error {
	if err := k.s.usable(k.source); err != nil {
		return err
	}
	if err := k.s.admits(k.host); err != nil {
		return err
	}
	if err := k.s.freeName(k.folder, k.name, moRef{}); err != nil {
		return err
	}
	if config := k.spec.Config; config != nil {
		if err := k.s.checkInstanceUUID(config, moRef{}); err != nil {
			return err
		}
		if err := checkOptions(config.ExtraConfig); err != nil {
			return err
		}
	}
	return k.checkRoom()
}

// checkRoom refuses a clone whose disks do not fit.
func (k *cloning) checkRoom() error {
	need := map[moRef]int64{}
	for _, d := range k.from.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			if k.linked(disk.Key) {
				need[k.store] += linkedBytes
			} else {
				need[k.store] += diskSize(disk)
			}
		}
	}
	for ds, bytes := range need {
		if err := k.s.hasRoom(ds, bytes, k.name+"/"+k.name+".vmdk"); err != nil {
			return err
		}
	}
	return nil
}

// linked tells whether a disk becomes a child of the source's; what is said of one disk wins over what is said of all.
// Backings can be shared where a snapshot has made them read-only; without one they are copied.
func (k *cloning) linked(disk int32) bool {
	move := k.spec.Location.DiskMoveType
	for _, d := range k.spec.Location.Disk {
		if d.DiskId == disk && d.DiskMoveType != "" {
			move = d.DiskMoveType
		}
	}
	return k.snapshot != nil && (move == linkedMove || move == sharedMove || move == childMove)
}

// begin brings the clone into the inventory and takes its room.
func (k *cloning) begin(t *task) error {
	made, err := k.s.vms.clone(func() (moRef, error) {
		if err := k.check(); err != nil { // again: nobody else can be making a clone now
			return moRef{}, err
		}
		res, err := k.s.inner(k.sess, opClone, k.source.Self, &types.CloneVM_Task{
			This: k.source.Self, Folder: k.folder, Name: k.name,
			Spec: types.VirtualMachineCloneSpec{
				Location:      types.VirtualMachineRelocateSpec{Pool: k.pool, Host: &k.host, Datastore: &k.store},
				Customization: k.spec.Customization,
			}})
		if err != nil {
			return moRef{}, err
		}
		k.identify(k.s.machine(res.(moRef)))
		return res.(moRef), nil
	})
	if err != nil {
		return err
	}
	k.made = made
	k.s.tasks.claim(t, made)
	k.s.refreshRooms()
	return nil
}

// identify gives the clone what makes it another machine than its source, and what it has of it.
func (k *cloning) identify(vm *simulator.VirtualMachine) {
	uuid, instance := newUUID(), newUUID()
	if c := k.spec.Config; c != nil && c.Uuid != "" {
		uuid = c.Uuid
	}
	if c := k.spec.Config; c != nil && c.InstanceUuid != "" {
		instance = c.InstanceUuid
	}
	k.s.update(vm,
		types.PropertyChange{Name: "config.uuid", Val: uuid}, types.PropertyChange{Name: "summary.config.uuid", Val: uuid},
		types.PropertyChange{Name: "config.instanceUuid", Val: instance},
		types.PropertyChange{Name: "summary.config.instanceUuid", Val: instance},
		types.PropertyChange{Name: "config.annotation", Val: k.from.Config.Annotation},
		types.PropertyChange{Name: "config.flags", Val: k.from.Config.Flags},
		types.PropertyChange{Name: "config.extraConfig", Val: k.from.Config.ExtraConfig},
		types.PropertyChange{Name: "config.hardware.device", Val: k.devices(k.s.devicesOf(vm))},
		types.PropertyChange{Name: "guest.net", Val: nil})
}

// devices gives the clone's network cards addresses of their own, and its disks their parents.
func (k *cloning) devices(list []types.BaseVirtualDevice) []types.BaseVirtualDevice {
	parents := k.from.Config.Hardware.Device
	if k.snapshot != nil {
		parents = k.snapshot.Config.Hardware.Device
	}
	for _, d := range list {
		switch x := d.(type) {
		case types.BaseVirtualEthernetCard:
			card := x.GetVirtualEthernetCard()
			if card.AddressType != string(types.VirtualEthernetCardMacTypeManual) {
				card.MacAddress, card.AddressType = world.NewMAC(), string(types.VirtualEthernetCardMacTypeAssigned)
			}
		case *types.VirtualDisk:
			old, ok := deviceByKey(parents, x.Key).(*types.VirtualDisk)
			if !ok || !k.linked(x.Key) {
				continue
			}
			if parent, ok := old.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				x.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Parent = parent
			}
		}
	}
	return list
}

// finish makes the clone a machine like others: as it was asked for, or, half done, like its source but for name
// and identity.
func (k *cloning) finish(x extent) (any, error) {
	vm := k.s.machine(k.made)
	if vm == nil {
		return nil, notFound(k.made)
	}
	if x == done {
		if err := k.configure(vm); err != nil {
			return nil, err
		}
		if k.spec.Template {
			if err := k.s.build.MarkTemplate(k.made); err != nil {
				return nil, err
			}
		}
	}
	k.ready = true
	k.s.born(k.made)
	if x == done && k.spec.PowerOn {
		if err := k.s.switchOn(k.sess, vm); err != nil {
			return nil, err
		}
	}
	return k.made, nil
}

// configure carries out what the specification changes against the source.
func (k *cloning) configure(vm *simulator.VirtualMachine) error {
	var spec types.VirtualMachineConfigSpec
	if k.spec.Config != nil {
		spec = *k.spec.Config
	}
	spec.Name, spec.Uuid, spec.InstanceUuid, spec.ChangeVersion, spec.Files = "", "", "", "", nil
	spec.DeviceChange = append(slices.Clone(k.spec.Location.DeviceChange), spec.DeviceChange...)
	if reflect.DeepEqual(spec, types.VirtualMachineConfigSpec{}) {
		return nil
	}
	if err := k.s.checkDevices(vm, spec.DeviceChange); err != nil {
		return err
	}
	return k.s.reconfigure(k.sess, vm, spec)
}

// undo takes the clone away again.
func (k *cloning) undo(ending) {
	if vm := k.s.machine(k.made); vm != nil && !k.ready {
		_ = k.s.removeMachine(k.s.anon, vm, false)
	}
}
