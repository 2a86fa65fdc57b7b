// The privilege that each part of a machine's specification asks for, and the object on which. The privileges of
// members are those that VMware's reference names at VirtualMachineConfigSpec, those of a clone those at CloneVM_Task.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// need is a privilege on an object.
type need struct {
	privilege string
	on        moRef
}

const vmConfig = "VirtualMachine.Config."

// memberPrivileges are those of the members of a VirtualMachineConfigSpec; "" for none, Settings for what is not here.
var memberPrivileges = map[string]string{
	"ChangeVersion": "", "DeviceChange": "",
	"Name": "Rename", "Annotation": "Annotation",
	"NumCPUs": "CPUCount", "NumCoresPerSocket": "CPUCount", "VcpuConfig": "CPUCount",
	"CpuHotAddEnabled": "CPUCount", "CpuHotRemoveEnabled": "CPUCount",
	"MemoryMB": "Memory", "MemoryHotAddEnabled": "Memory",
	"ExtraConfig": "AdvancedConfig", "ManagedBy": "ManagedBy",
	"CpuAllocation": "Resource", "MemoryAllocation": "Resource", "LatencySensitivity": "Resource", "CpuAffinity": "Resource",
	"MemoryAffinity": "Resource", "NetworkShaper": "Resource", "MemoryReservationLockedToMax": "Resource",
	"SwapPlacement": "SwapPlacement", "ChangeTrackingEnabled": "ChangeTracking",
	"MaxMksConnections": "MksControl", "GuestAutoLockEnabled": "MksControl",
	"ScheduledHardwareUpgradeInfo": "UpgradeVirtualHardware",
}

// specNeeds lists what a specification asks for: on the machine, or for a clone on the folder that it comes into.
func (s *Server) specNeeds(spec *types.VirtualMachineConfigSpec, on moRef) []need {
	var out []need
	if spec == nil {
		return nil
	}
	v := reflect.ValueOf(spec).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if v.Field(i).IsZero() {
			continue
		}
		privilege, known := memberPrivileges[name]
		switch {
		case name == "VAppConfig" || name == "VAppConfigRemoved":
			out = append(out, need{"VApp.ApplicationConfig", on})
		case !known:
			out = append(out, need{vmConfig + "Settings", on})
		case privilege != "":
			out = append(out, need{vmConfig + privilege, on})
		}
	}
	return append(out, s.deviceNeeds(spec.DeviceChange, nil, on)...)
}

// deviceNeeds lists what changes of devices ask for; old are the devices that the machine has, if there is one.
func (s *Server) deviceNeeds(changes []types.BaseVirtualDeviceConfigSpec, old []types.BaseVirtualDevice, on moRef) []need {
	var out []need
	for _, x := range changes {
		change := x.GetVirtualDeviceConfigSpec()
		switch device := change.Device.(type) {
		case *types.VirtualDisk:
			out = append(out, s.diskNeeds(change, device, old, on)...)
		case types.BaseVirtualEthernetCard:
			out = append(out, s.cardNeeds(change, device.GetVirtualEthernetCard(), on)...)
		case *types.VirtualCdrom, *types.VirtualFloppy:
			out = append(out, mediaNeed(change, on))
		default:
			privilege := "AddRemoveDevice"
			if change.Operation == types.VirtualDeviceConfigSpecOperationEdit {
				privilege = "EditDevice"
			}
			out = append(out, need{vmConfig + privilege, on})
		}
	}
	return out
}

func mediaNeed(change *types.VirtualDeviceConfigSpec, on moRef) need {
	if change.Operation != types.VirtualDeviceConfigSpecOperationEdit {
		return need{vmConfig + "AddRemoveDevice", on}
	}
	if _, floppy := change.Device.(*types.VirtualFloppy); floppy {
		return need{"VirtualMachine.Interact.SetFloppyMedia", on}
	}
	return need{"VirtualMachine.Interact.SetCDMedia", on}
}

func (s *Server) diskNeeds(change *types.VirtualDeviceConfigSpec, disk *types.VirtualDisk, old []types.BaseVirtualDevice, on moRef) []need {
	switch change.Operation {
	case types.VirtualDeviceConfigSpecOperationRemove:
		return []need{{vmConfig + "RemoveDisk", on}}
	case types.VirtualDeviceConfigSpecOperationEdit:
		out := []need{{vmConfig + "EditDevice", on}}
		if was, ok := deviceByKey(old, disk.Key).(*types.VirtualDisk); ok && grows(was, disk) {
			out = append(out, need{vmConfig + "DiskExtend", on})
		}
		return out
	}
	if change.FileOperation == "" {
		return []need{{vmConfig + "AddExistingDisk", on}}
	}
	out := []need{{vmConfig + "AddNewDisk", on}}
	if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && b.GetVirtualDeviceFileBackingInfo().Datastore != nil {
		out = append(out, need{"Datastore.AllocateSpace", *b.GetVirtualDeviceFileBackingInfo().Datastore})
	}
	return out
}

func (s *Server) cardNeeds(change *types.VirtualDeviceConfigSpec, card *types.VirtualEthernetCard, on moRef) []need {
	var out []need
	if change.Operation == types.VirtualDeviceConfigSpecOperationEdit {
		out = append(out, need{vmConfig + "EditDevice", on})
		if card.Connectable != nil {
			out = append(out, need{"VirtualMachine.Interact.DeviceConnection", on})
		}
	} else {
		out = append(out, need{vmConfig + "AddRemoveDevice", on})
	}
	if change.Operation == types.VirtualDeviceConfigSpecOperationRemove {
		return out
	}
	if network := s.networkOf(card, on); network != nil {
		out = append(out, need{"Network.Assign", *network})
	}
	return out
}

// networkOf finds the network behind a card's backing; nil if it has none or there is no such network near an object.
func (s *Server) networkOf(card *types.VirtualEthernetCard, near moRef) *moRef {
	switch b := card.Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if dc, ok := s.ctx.Map.Get(s.datacenterOf(near)).(*simulator.Datacenter); ok {
			for _, ref := range dc.Network {
				if b.Network != nil && ref == *b.Network || b.Network == nil && s.nameOf(ref) == b.DeviceName {
					return &ref
				}
			}
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		ref := moRef{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
		if s.isEntity(ref) {
			return &ref
		}
	}
	return nil
}

// requireAll asks for privileges one after the other.
func (c *call) requireAll(list []need) error {
	for _, n := range list {
		if err := c.require(n.privilege, n.on); err != nil {
			return err
		}
	}
	return nil
}

func deviceByKey(list []types.BaseVirtualDevice, key int32) types.BaseVirtualDevice {
	for _, d := range list {
		if d.GetVirtualDevice().Key == key {
			return d
		}
	}
	return nil
}

func diskSize(d *types.VirtualDisk) int64 { return max(d.CapacityInBytes, d.CapacityInKB<<10) }

func grows(was, now *types.VirtualDisk) bool { return diskSize(now) > diskSize(was) }

// refuseDevice is the fault about one of the changes of devices.
func refuseDevice(i int, property string) *wire.Fault {
	f := &types.InvalidDeviceSpec{DeviceIndex: int32(i)}
	f.Property = "virtualDeviceSpec." + property
	return wire.Faultf(f, "Invalid configuration for device '%d'.", i)
}

// present refuses references to objects that are not there.
func (s *Server) present(refs ...*moRef) error {
	for _, ref := range refs {
		if ref == nil {
			continue
		}
		if _, ok := s.ctx.Map.Get(*ref).(mo.Reference); !ok {
			return notFound(*ref)
		}
	}
	return nil
}
