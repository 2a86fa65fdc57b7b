// ReconfigVM_Task: what a specification may not say, and the simulator's way to carry it out made safe.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
	"kaas.test/vcenter/internal/world"
)

func reconfigVM(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	s, sess, spec := c.s, c.sess.sim, body[types.ReconfigVM_Task](c).Spec
	needs := s.specNeeds(&spec, vm.Self)
	if len(needs) == 0 {
		needs = []need{{vmConfig + "Settings", vm.Self}}
	}
	needs = append(needs, s.deviceNeeds(spec.DeviceChange, s.devicesOf(vm), vm.Self)...)
	if err := c.requireAll(needs); err != nil {
		return nil, err
	}
	ref, err := c.startTask(work{
		op: opReconfig, id: "VirtualMachine.reconfigure", entity: vm.Self, changes: []moRef{vm.Self},
		check: func() error { return s.checkReconfig(vm, &spec) },
		finish: func(x extent) (any, error) {
			now := spec
			if x == half { // the hardware is what it should be, the rest is not
				now.ExtraConfig, now.Annotation, now.ManagedBy = nil, "", nil
			}
			return nil, s.reconfigure(sess, vm, now)
		},
	})
	return &types.ReconfigVM_TaskResponse{Returnval: ref}, err
}

// devicesOf are copies of a machine's devices.
func (s *Server) devicesOf(vm *simulator.VirtualMachine) (out []types.BaseVirtualDevice) {
	s.withMachine(vm, func() {
		out = copied(reflect.ValueOf(vm.Config.Hardware.Device)).Interface().([]types.BaseVirtualDevice)
	})
	return out
}

// checkReconfig refuses what cannot be done to a machine as it is.
func (s *Server) checkReconfig(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) error {
	if err := s.usable(vm); err != nil {
		return err
	}
	var now types.VirtualMachineConfigInfo
	var power types.VirtualMachinePowerState
	var parent moRef
	s.withMachine(vm, func() { now, power, parent = *vm.Config, vm.Runtime.PowerState, *vm.Parent })
	if spec.ChangeVersion != "" && spec.ChangeVersion != now.ChangeVersion {
		return wire.Faultf(&types.ConcurrentAccess{}, "The machine was changed by somebody else meanwhile.")
	}
	if now.Template && !reflect.DeepEqual(*spec, types.VirtualMachineConfigSpec{Name: spec.Name, Annotation: spec.Annotation}) {
		return wire.Faultf(&types.NotSupported{}, "The operation is not supported on the object.")
	}
	if spec.Name != "" {
		if err := s.freeName(parent, spec.Name, vm.Self); err != nil {
			return err
		}
	}
	if power == powerOn {
		if err := hotPlug(&now, spec); err != nil {
			return err
		}
	}
	return s.checkSpec(vm, spec)
}

// checkSpec refuses what no machine can be given, or this one in particular.
func (s *Server) checkSpec(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) error {
	if err := s.checkInstanceUUID(spec, vm.Self); err != nil {
		return err
	}
	if err := checkOptions(spec.ExtraConfig); err != nil {
		return err
	}
	return s.checkDevices(vm, spec.DeviceChange)
}

// freeName refuses a name that is none, or that another child of the folder has.
func (s *Server) freeName(folder moRef, name string, but moRef) error {
	if err := checkName(name, folder); err != nil {
		return err
	}
	for _, child := range s.children(folder) {
		if child != but && s.nameOf(child) == name {
			return wire.Faultf(&types.DuplicateName{Name: name, Object: child}, "The name '%s' already exists.", name)
		}
	}
	return nil
}

// hotPlug refuses to change CPUs and memory of a machine that runs and is not made for it.
func hotPlug(now *types.VirtualMachineConfigInfo, spec *types.VirtualMachineConfigSpec) error {
	may := func(b *bool) bool { return b != nil && *b }
	if n := spec.NumCPUs; n != 0 && n != now.Hardware.NumCPU && !may(now.CpuHotAddEnabled) {
		return wire.Faultf(&types.CpuHotPlugNotSupported{}, "CPU hot plug is not supported for this virtual machine.")
	}
	if n := spec.MemoryMB; n != 0 && n != int64(now.Hardware.MemoryMB) && !may(now.MemoryHotAddEnabled) {
		return wire.Faultf(&types.MemoryHotPlugNotSupported{}, "Memory hot plug is not supported for this virtual machine.")
	}
	return nil
}

var uuidForm = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// checkInstanceUUID refuses one that another machine has, or gives another instead, as settings say.
func (s *Server) checkInstanceUUID(spec *types.VirtualMachineConfigSpec, own moRef) error {
	if spec.InstanceUuid == "" {
		return nil
	}
	if !uuidForm.MatchString(spec.InstanceUuid) {
		return badArgument("configSpec.instanceUuid", "A specified parameter was not correct: configSpec.instanceUuid")
	}
	others := slices.DeleteFunc(s.byUuid(spec.InstanceUuid, true), func(r moRef) bool { return r == own })
	if len(others) == 0 {
		return nil
	}
	s.mu.Lock()
	change := s.settings.SameUUID == "change"
	s.mu.Unlock()
	if change {
		spec.InstanceUuid = newUUID()
		return nil
	}
	return badArgument("configSpec.instanceUuid", "A specified parameter was not correct: configSpec.instanceUuid is in use by %s", others[0].Value)
}

// newUUID makes a UUID in the shape of those that vCenter gives to machines.
func newUUID() string {
	h := "50" + randomHex(15)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:32]}, "-")
}

// checkOptions refuses values that are no text, and guestinfo that no guest could read.
func checkOptions(list []types.BaseOptionValue) error {
	for _, o := range list {
		v := o.GetOptionValue()
		text, ok := v.Value.(string)
		if !ok {
			return badArgument("configSpec.extraConfig", "The value of %s is no string", v.Key)
		}
		if strings.HasPrefix(v.Key, guestInfo) && len(text) > maxGuestInfo {
			return badArgument("configSpec.extraConfig", "The value of %s has %d bytes, more than %d", v.Key, len(text), maxGuestInfo)
		}
	}
	return nil
}

// checkDevices refuses changes of devices that cannot be made, those that the simulator would not survive included.
func (s *Server) checkDevices(vm *simulator.VirtualMachine, changes []types.BaseVirtualDeviceConfigSpec) error {
	old := s.devicesOf(vm)
	more := map[moRef]int64{}
	for i, x := range changes {
		change := x.GetVirtualDeviceConfigSpec()
		if isNil(change.Device) {
			return refuseDevice(i, "device")
		}
		was := deviceByKey(old, change.Device.GetVirtualDevice().Key)
		if change.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			if was == nil || reflect.TypeOf(was) != reflect.TypeOf(change.Device) {
				return refuseDevice(i, "device.key")
			}
		}
		if change.Operation == types.VirtualDeviceConfigSpecOperationRemove {
			continue
		}
		var err error
		switch device := change.Device.(type) {
		case types.BaseVirtualEthernetCard:
			err = s.checkCard(i, change, device.GetVirtualEthernetCard(), vm.Self)
		case *types.VirtualDisk:
			err = s.checkDisk(i, vm, was, device, more)
		}
		if err != nil {
			return err
		}
	}
	for ds, bytes := range more {
		if err := s.hasRoom(ds, bytes, s.nameOf(vm.Self)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) checkCard(i int, change *types.VirtualDeviceConfigSpec, card *types.VirtualEthernetCard, near moRef) error {
	if card.Backing == nil && change.Operation == types.VirtualDeviceConfigSpecOperationEdit {
		return nil
	}
	if s.networkOf(card, near) == nil {
		f := &types.InvalidDeviceBacking{}
		f.DeviceIndex, f.Property = int32(i), "virtualDeviceSpec.device.backing"
		return wire.Faultf(f, "Invalid backing for device '%d'.", i)
	}
	return nil
}

// checkDisk adds up what a disk takes more than now.
func (s *Server) checkDisk(i int, vm *simulator.VirtualMachine, was types.BaseVirtualDevice, disk *types.VirtualDisk, more map[moRef]int64) error {
	var home moRef
	s.withMachine(vm, func() {
		if len(vm.Datastore) > 0 {
			home = vm.Datastore[0]
		}
	})
	if old, edited := was.(*types.VirtualDisk); edited {
		_, parent := diskFiles(old)
		if diskSize(disk) != 0 && diskSize(disk) < diskSize(old) || parent != "" && grows(old, disk) {
			f := &types.InvalidDeviceOperation{BadOp: types.VirtualDeviceConfigSpecOperationEdit}
			f.DeviceIndex, f.Property = int32(i), "virtualDeviceSpec.device.capacityInKB"
			return wire.Faultf(f, "Invalid operation for device '%d'.", i)
		}
		if grows(old, disk) {
			more[home] += diskSize(disk) - diskSize(old)
		}
		return nil
	}
	b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if !ok {
		return refuseDevice(i, "device.backing")
	}
	var p object.DatastorePath
	if b.FileName != "" && (!p.FromString(b.FileName) || s.datastoreNamed(vm, p.Datastore) == nil) {
		return wire.Faultf(&types.InvalidDatastorePath{DatastorePath: b.FileName}, "Invalid datastore path '%s'.", b.FileName)
	}
	if b.Parent == nil {
		more[home] += diskSize(disk)
	}
	return nil
}

// datastoreNamed is the datastore of that name which the machine's host has.
func (s *Server) datastoreNamed(vm *simulator.VirtualMachine, name string) *moRef {
	var on moRef
	s.withMachine(vm, func() { on = *vm.Runtime.Host })
	host, ok := s.ctx.Map.Get(on).(*simulator.HostSystem)
	if !ok {
		return nil
	}
	for _, ref := range s.references(s.anon, host, "datastore") {
		if s.nameOf(ref) == name {
			return &ref
		}
	}
	return nil
}

// reconfigure lets the simulator carry a specification out.
func (s *Server) reconfigure(sess *simulator.Session, vm *simulator.VirtualMachine, spec types.VirtualMachineConfigSpec) error {
	var guest []types.GuestNicInfo
	var keys []string
	s.withMachine(vm, func() {
		guest = vm.Guest.Net
		for _, o := range vm.Config.ExtraConfig {
			keys = append(keys, o.GetOptionValue().Key)
		}
	})
	spec = copied(reflect.ValueOf(spec)).Interface().(types.VirtualMachineConfigSpec)
	spec.ExtraConfig = slices.DeleteFunc(spec.ExtraConfig, func(o types.BaseOptionValue) bool {
		v := o.GetOptionValue()
		return v.Value == "" && !slices.Contains(keys, v.Key) // taking away what is not there
	})
	completeDevices(spec.DeviceChange, s.devicesOf(vm))
	_, err := s.inner(sess, opReconfig, vm.Self, &types.ReconfigVM_Task{This: vm.Self, Spec: spec})
	// A network card is not in the guest until VMware Tools say so.
	s.update(vm, types.PropertyChange{Name: "guest.net", Val: guest})
	if len(spec.DeviceChange) > 0 {
		s.refreshRooms()
	}
	return err
}

// completeDevices fills in what a change of devices leaves as it is, which the simulator would take away.
func completeDevices(changes []types.BaseVirtualDeviceConfigSpec, old []types.BaseVirtualDevice) {
	for _, x := range changes {
		change := x.GetVirtualDeviceConfigSpec()
		was := deviceByKey(old, change.Device.GetVirtualDevice().Key)
		switch {
		case change.Operation == types.VirtualDeviceConfigSpecOperationRemove && was != nil:
			change.Device = was
		case change.Operation == types.VirtualDeviceConfigSpecOperationAdd:
			old = append(old, change.Device)
			completeNew(change.Device, old)
		case was != nil:
			keepOld(change.Device, was)
		}
	}
}

// completeNew gives a new device the key of its kind, and a network card its address.
func completeNew(device types.BaseVirtualDevice, all []types.BaseVirtualDevice) {
	first := int32(0)
	switch x := device.(type) {
	case *types.VirtualDisk:
		first = world.DiskKey
	case types.BaseVirtualEthernetCard:
		first = world.CardKey
		if card := x.GetVirtualEthernetCard(); card.MacAddress == "" {
			card.MacAddress, card.AddressType = world.NewMAC(), string(types.VirtualEthernetCardMacTypeAssigned)
		}
	}
	if first == 0 || device.GetVirtualDevice().Key > 0 {
		return
	}
	for deviceByKey(all, first) != nil {
		first++
	}
	device.GetVirtualDevice().Key = first
}

// keepOld gives a changed device the members of the old one that the change does not name.
func keepOld(device, was types.BaseVirtualDevice) {
	now, old := device.GetVirtualDevice(), was.GetVirtualDevice()
	if now.Backing == nil {
		now.Backing = old.Backing
	}
	if now.ControllerKey == 0 {
		now.ControllerKey = old.ControllerKey
	}
	if now.UnitNumber == nil {
		now.UnitNumber = old.UnitNumber
	}
	if now.Connectable == nil {
		now.Connectable = old.Connectable
	}
	if x, ok := device.(types.BaseVirtualEthernetCard); ok {
		card, before := x.GetVirtualEthernetCard(), was.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		if card.MacAddress == "" {
			card.MacAddress, card.AddressType = before.MacAddress, before.AddressType
		}
	}
	if disk, ok := device.(*types.VirtualDisk); ok && diskSize(disk) == 0 {
		before := was.(*types.VirtualDisk)
		disk.CapacityInBytes, disk.CapacityInKB = before.CapacityInBytes, before.CapacityInKB
	}
}
