// Building: the world file's inventory inside govmomi's simulator, with the morefs it asks for.
// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
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
	for _, c := range spec.Clusters {
		if _, err := b.Cluster(spec.Name, c); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
	}
	return nil
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
		GuestId: string(types.VirtualMachineGuestOsIdentifierOtherGuest), NumCPUs: 2, MemoryMB: 4096,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + at.dc.datastore + "]"},
	}
	for k, v := range spec.ExtraConfig {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: k, Value: v})
	}
	if spec.ManagedBy != "" {
		config.ManagedBy = &types.ManagedByInfo{ExtensionKey: spec.ManagedBy, Type: "node"}
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
	if spec.PowerOff {
		return made, nil
	}
	vm := object.NewVirtualMachine(b.client, made)
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

// report puts into a machine's guest what VMware Tools would say of its network.
func (b *Builder) report(vm ref, networks map[string]string) {
	guest := b.Model.Map().Get(vm).(*simulator.VirtualMachine).Guest
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		guest.Net = append(guest.Net, types.GuestNicInfo{
			Network: name, IpAddress: []string{networks[name]}, Connected: true, DeviceConfigId: 4000,
		})
	}
}
