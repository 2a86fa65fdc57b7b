// Building: the world file's inventory inside govmomi's simulator, with the morefs it asks for.
// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Builder creates inventory objects through the simulator's in-process client.
type Builder struct {
	Model  *simulator.Model
	client *vim25.Client
	dir    string
	dcs    map[string]*datacenter
}

type datacenter struct {
	self      types.ManagedObjectReference
	folders   *object.DatacenterFolders
	datastore string
	dir       string
}

// New makes an empty vCenter whose files live below dir.
func New(dir string) (*Builder, error) {
	m := simulator.VPX()
	m.Datacenter, m.Host, m.Cluster, m.Machine, m.Datastore, m.Portgroup = 0, 0, 0, 0, 0, 0
	if err := m.Create(); err != nil {
		return nil, err
	}
	m.Map().ExtensionManager().ExtensionList = nil
	if err := reserve(m); err != nil {
		return nil, err
	}
	c, err := vim25.NewClient(context.Background(), m.Service)
	if err != nil {
		return nil, err
	}
	return &Builder{Model: m, client: c, dir: dir, dcs: map[string]*datacenter{}}, nil
}

// reserve lets the simulator number its own objects from 100001 on, so that no generated moref takes
// one that the world file gives to another object.
func reserve(m *simulator.Model) error {
	mark := &simulator.Folder{}
	mark.Self = types.ManagedObjectReference{Type: "Folder", Value: "group-100000"}
	m.Map().Put(mark)
	defer m.Map().Remove(m.Service.Context, mark.Self)
	return m.Map().AlignCounter()
}

// Inventory creates all folders, datacenters, clusters, hosts and machines of a world.
func (b *Builder) Inventory(w *World) error {
	ctx := context.Background()
	root := object.NewRootFolder(b.client)
	for _, f := range w.Folders {
		made, err := root.CreateFolder(ctx, f.Name)
		if err != nil {
			return fmt.Errorf("folder %s: %w", f.Name, err)
		}
		if _, err := b.rename(made.Reference(), f.Moref); err != nil {
			return err
		}
	}
	for _, dc := range w.Datacenters {
		if err := b.datacenter(ctx, root, dc); err != nil {
			return fmt.Errorf("datacenter %s: %w", dc.Name, err)
		}
	}
	return nil
}

func (b *Builder) datacenter(ctx context.Context, root *object.Folder, spec Datacenter) error {
	made, err := root.CreateDatacenter(ctx, spec.Name)
	if err != nil {
		return err
	}
	ref, err := b.rename(made.Reference(), spec.Moref)
	if err != nil {
		return err
	}
	folders, err := object.NewDatacenter(b.client, ref).Folders(ctx)
	if err != nil {
		return err
	}
	dc := &datacenter{self: ref, folders: folders, datastore: spec.Datastore}
	if dc.datastore == "" {
		dc.datastore = spec.Name + "-DS"
	}
	dc.dir = filepath.Join(b.dir, "ds-"+ref.Value)
	if err := os.Mkdir(dc.dir, 0o700); err != nil {
		return err
	}
	b.dcs[spec.Name] = dc
	for _, name := range spec.Networks {
		if _, err := b.AddNetwork(ref, name); err != nil {
			return fmt.Errorf("network %s: %w", name, err)
		}
	}
	for _, c := range spec.Clusters {
		if _, err := b.Cluster(spec.Name, c); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
	}
	return nil
}

// AddNetwork makes a port group of a datacenter.
func (b *Builder) AddNetwork(dc ref, name string) (ref, error) {
	folders, err := object.NewDatacenter(b.client, dc).Folders(context.Background())
	if err != nil {
		return ref{}, err
	}
	folder := folders.NetworkFolder.Reference()
	made := &mo.Network{}
	made.Self = ref{Type: "Network"}
	made.Name, made.Entity().Name = name, name
	b.Model.Map().PutEntity(b.Model.Map().Get(folder).(mo.Entity), made)
	made.Summary = &types.NetworkSummary{Network: &made.Self, Name: name, Accessible: true}
	b.extend(folder, "childEntity", []ref{made.Self})
	b.extend(dc, "network", []ref{made.Self})
	return made.Self, nil
}

// Cluster adds a cluster with its hosts and machines to a datacenter of this world.
func (b *Builder) Cluster(dcName string, spec Cluster) (types.ManagedObjectReference, error) {
	ctx := context.Background()
	none := types.ManagedObjectReference{}
	dc, ok := b.dcs[dcName]
	if !ok {
		return none, fmt.Errorf("no datacenter %q", dcName)
	}
	made, err := dc.folders.HostFolder.CreateCluster(ctx, spec.Name, types.ClusterConfigSpecEx{})
	if err != nil {
		return none, err
	}
	ref, err := b.rename(made.Reference(), spec.Moref)
	if err != nil {
		return none, err
	}
	at := &site{cluster: object.NewClusterComputeResource(b.client, ref), dc: dc, hosts: map[string]*object.HostSystem{}}
	for _, h := range spec.Hosts {
		host, err := b.host(ctx, at.cluster, dc, h)
		if err != nil {
			return none, fmt.Errorf("host %s: %w", h.Name, err)
		}
		at.hosts[h.Name], at.order = host, append(at.order, h.Name)
	}
	for _, vm := range spec.VMs {
		if _, err := b.machines(ctx, at, vm); err != nil {
			return none, err
		}
	}
	return ref, nil
}

func (b *Builder) host(ctx context.Context, c *object.ClusterComputeResource, dc *datacenter,
	spec Host) (*object.HostSystem, error) {
	task, err := c.AddHost(ctx, types.HostConnectSpec{HostName: spec.Name}, true, nil, nil)
	if err != nil {
		return nil, err
	}
	info, err := task.WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	ref, err := b.rename(info.Result.(types.ManagedObjectReference), spec.Moref)
	if err != nil {
		return nil, err
	}
	host := object.NewHostSystem(b.client, ref)
	system, err := host.ConfigManager().DatastoreSystem(ctx)
	if err != nil {
		return nil, err
	}
	_, err = system.CreateLocalDatastore(ctx, dc.datastore, dc.dir)
	return host, err
}

func (b *Builder) machine(ctx context.Context, at *site, host *object.HostSystem, spec VM) (ref, error) {
	none := ref{}
	if host == nil {
		return none, fmt.Errorf("no host %q", spec.Host)
	}
	pool, err := at.cluster.ResourcePool(ctx)
	if err != nil {
		return none, err
	}
	config := types.VirtualMachineConfigSpec{
		Name: spec.Name, Uuid: spec.UUID, InstanceUuid: spec.InstanceUUID, Annotation: spec.Annotation,
		GuestId: string(types.VirtualMachineGuestOsIdentifierOtherGuest), Version: cmp.Or(spec.Hardware, "vmx-17"),
		NumCPUs: cmp.Or(spec.NumCPU, 2), MemoryMB: cmp.Or(spec.MemoryMB, 4096),
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + at.dc.datastore + "]"},
	}
	for k, v := range spec.ExtraConfig {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: k, Value: v})
	}
	if spec.ManagedBy != "" {
		config.ManagedBy = &types.ManagedByInfo{ExtensionKey: spec.ManagedBy, Type: "node"}
	}
	if config.DeviceChange, err = devices(spec); err != nil {
		return none, err
	}
	task, err := at.dc.folders.VmFolder.CreateVM(ctx, config, pool, host)
	if err != nil {
		return none, err
	}
	info, err := task.WaitForResult(ctx, nil)
	if err != nil {
		return none, err
	}
	made, err := b.rename(info.Result.(ref), spec.Moref)
	if err != nil {
		return made, err
	}
	machine := b.Model.Map().Get(made).(*simulator.VirtualMachine)
	machine.Config.DatastoreUrl = []types.VirtualMachineConfigInfoDatastoreUrlPair{
		{Name: at.dc.datastore, Url: "ds:///vmfs/volumes/" + at.dc.datastore + "/"},
	}
	machine.Summary.Storage = &types.VirtualMachineStorageSummary{Committed: 14 << 30, Uncommitted: 26 << 30, Unshared: 14 << 30}
	machine.Guest.Net = nil // what there is in the guest is said by VMware Tools, not by the virtual hardware
	vm := object.NewVirtualMachine(b.client, made)
	if err := b.settle(ctx, vm, spec); err != nil || spec.PowerOff || spec.Template {
		return made, err
	}
	if task, err = vm.PowerOn(ctx); err != nil {
		return made, err
	}
	err = task.Wait(ctx)
	b.report(made, spec.GuestNet)
	machine.Summary.Runtime.MaxCpuUsage = 4800 // two cores of 2.4 GHz
	machine.Summary.QuickStats.OverallCpuUsage = 300
	machine.Summary.QuickStats.GuestMemoryUsage = 1024
	return made, err
}

// The keys of devices begin where they do in a vCenter.
const (
	controllerKey = 1000
	DiskKey       = 2000
	CardKey       = 4000
)

// devices are the disks and network cards of a new machine.
func devices(spec VM) ([]types.BaseVirtualDeviceConfigSpec, error) {
	if len(spec.DisksGB)+len(spec.NICs) == 0 {
		return nil, nil
	}
	scsi, err := object.SCSIControllerTypes().CreateSCSIController("pvscsi")
	if err != nil {
		return nil, err
	}
	scsi.GetVirtualDevice().Key = controllerKey
	list := object.VirtualDeviceList{scsi}
	for i, gb := range spec.DisksGB {
		unit := int32(i)
		disk := &types.VirtualDisk{CapacityInKB: gb << 20, CapacityInBytes: gb << 30, VirtualDevice: types.VirtualDevice{
			Key: DiskKey + unit, ControllerKey: controllerKey, UnitNumber: &unit,
			Backing: &types.VirtualDiskFlatVer2BackingInfo{
				DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: types.NewBool(true)}}}
		list = append(list, disk)
	}
	for i, name := range spec.NICs {
		card := &types.VirtualVmxnet3{}
		card.Key, card.AddressType, card.MacAddress = CardKey+int32(i), string(types.VirtualEthernetCardMacTypeAssigned), NewMAC()
		card.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: name}}
		list = append(list, card)
	}
	return list.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
}

var lastMAC atomic.Int64

// NewMAC makes an address as vCenter assigns them: of the range 00:50:56:80-bf, each once.
func NewMAC() string {
	n := lastMAC.Add(1)
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", 0x80|n>>16&0x3f, n>>8&0xff, n&0xff)
}

// settle takes a new machine's snapshot and makes it a template.
func (b *Builder) settle(ctx context.Context, vm *object.VirtualMachine, spec VM) error {
	if spec.Snapshot != "" {
		task, err := vm.CreateSnapshot(ctx, spec.Snapshot, "", false, false)
		if err != nil {
			return err
		}
		if err := task.Wait(ctx); err != nil {
			return err
		}
	}
	if spec.Template {
		return b.MarkTemplate(vm.Reference())
	}
	return nil
}

// report puts into a machine's guest what VMware Tools would say of its network.
func (b *Builder) report(vm ref, networks map[string]string) {
	guest := b.Model.Map().Get(vm).(*simulator.VirtualMachine).Guest
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		guest.Net = append(guest.Net, types.GuestNicInfo{
			Network: name, IpAddress: []string{networks[name]}, Connected: true, DeviceConfigId: 4000,
		})
	}
}
