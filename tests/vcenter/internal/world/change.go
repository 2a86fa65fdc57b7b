// Changing a running world: what happens to objects, told to everybody who watches them.
// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

type change = types.PropertyChange

// update sets properties of an object so that waiting collectors hear of it.
func (b *Builder) update(of ref, changes ...change) error {
	ctx := *b.Model.Service.Context
	obj := ctx.Map.Get(of)
	if obj == nil {
		return fmt.Errorf("no object %s", of)
	}
	ctx.WithLock(obj, func() { ctx.Update(obj, changes) })
	return nil
}

// lists finds a property that holds references.
func lists(obj mo.Reference, name string) []ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Vm
	case *simulator.ResourcePool:
		if name == "resourcePool" {
			return o.ResourcePool.ResourcePool
		}
		return o.Vm
	case *simulator.Datastore:
		return o.Vm
	case *simulator.Folder:
		return o.ChildEntity
	case *simulator.ClusterComputeResource:
		return o.Host
	case *simulator.Datacenter:
		return o.Network
	}
	return nil
}

// relist changes a property that holds references.
func (b *Builder) relist(of ref, name string, f func([]ref) []ref) {
	ctx := *b.Model.Service.Context
	obj := ctx.Map.Get(of)
	if obj == nil {
		return
	}
	ctx.WithLock(obj, func() {
		ctx.Update(obj, []change{{Name: name, Val: f(slices.Clone(lists(obj, name)))}})
	})
}

func (b *Builder) extend(of ref, name string, by []ref) {
	b.relist(of, name, func(old []ref) []ref { return append(old, by...) })
}

func (b *Builder) shrink(of ref, name string, by ref) {
	b.relist(of, name, func(old []ref) []ref {
		return slices.DeleteFunc(old, func(r ref) bool { return r == by })
	})
}

// Rename changes the name of any inventory object.
func (b *Builder) Rename(of ref, name string) error {
	changes := []change{{Name: "name", Val: name}}
	switch of.Type {
	case "VirtualMachine":
		changes = append(changes, change{Name: "config.name", Val: name}, change{Name: "summary.config.name", Val: name})
	case "HostSystem":
		changes = append(changes, change{Name: "summary.config.name", Val: name})
	}
	return b.update(of, changes...)
}

// Remove takes an object out of the inventory with everything below it.
func (b *Builder) Remove(of ref) error {
	switch obj := b.Model.Map().Get(of).(type) {
	case *simulator.VirtualMachine:
		b.removeMachine(obj)
		return nil
	case *simulator.HostSystem:
		for _, vm := range slices.Clone(obj.Vm) {
			if err := b.Remove(vm); err != nil {
				return err
			}
		}
		b.detach(of, *obj.Parent, "host")
		return nil
	case *simulator.ClusterComputeResource:
		for _, host := range slices.Clone(obj.Host) {
			if err := b.Remove(host); err != nil {
				return err
			}
		}
		if obj.ResourcePool != nil {
			b.drop(*obj.ResourcePool)
		}
		b.detach(of, *obj.Parent, "childEntity")
		return nil
	case nil:
		return fmt.Errorf("no object %s", of)
	}
	return b.destroy(of)
}

func (b *Builder) drop(of ref) { b.Model.Map().Remove(b.Model.Service.Context, of) }

// detach takes an object away from its parent and out of the inventory.
func (b *Builder) detach(of, parent ref, list string) {
	b.shrink(parent, list, of)
	b.drop(of)
}

func (b *Builder) removeMachine(vm *simulator.VirtualMachine) {
	if vm.Runtime.Host != nil {
		b.shrink(*vm.Runtime.Host, "vm", vm.Self)
	}
	if vm.ResourcePool != nil {
		b.shrink(*vm.ResourcePool, "vm", vm.Self)
	}
	for _, ds := range slices.Clone(vm.Datastore) {
		b.shrink(ds, "vm", vm.Self)
	}
	b.detach(vm.Self, *vm.Parent, "childEntity")
}

// Migrate moves a machine to a host, of its own cluster or of another one.
func (b *Builder) Migrate(of, to ref) error {
	vm, isVM := b.Model.Map().Get(of).(*simulator.VirtualMachine)
	host, isHost := b.Model.Map().Get(to).(*simulator.HostSystem)
	if !isVM || !isHost {
		return fmt.Errorf("migrate takes a machine and a host, not %s and %s", of, to)
	}
	pool := vm.ResourcePool
	cluster, ok := b.Model.Map().Get(*host.Parent).(*simulator.ClusterComputeResource)
	if old := b.clusterOf(vm); ok && old != cluster.Self {
		pool = cluster.ResourcePool
	}
	b.shrink(*vm.Runtime.Host, "vm", of)
	b.extend(to, "vm", []ref{of})
	if pool != nil && *pool != *vm.ResourcePool {
		b.shrink(*vm.ResourcePool, "vm", of)
		b.extend(*pool, "vm", []ref{of})
	}
	return b.update(of, change{Name: "runtime.host", Val: to}, change{Name: "summary.runtime.host", Val: to},
		change{Name: "resourcePool", Val: *pool})
}

func (b *Builder) clusterOf(vm *simulator.VirtualMachine) ref {
	if host, ok := b.Model.Map().Get(*vm.Runtime.Host).(*simulator.HostSystem); ok && host.Parent != nil {
		return *host.Parent
	}
	return ref{}
}

// Power sets the power state of a machine or a host.
func (b *Builder) Power(of ref, state string) error {
	var val any
	switch of.Type {
	case "VirtualMachine":
		val = types.VirtualMachinePowerState(state)
		if !slices.Contains(types.VirtualMachinePowerState("").Values(), val.(types.VirtualMachinePowerState)) {
			return fmt.Errorf("%q is no power state of a machine", state)
		}
	case "HostSystem":
		val = types.HostSystemPowerState(state)
		if !slices.Contains(types.HostSystemPowerState("").Values(), val.(types.HostSystemPowerState)) {
			return fmt.Errorf("%q is no power state of a host", state)
		}
	default:
		return fmt.Errorf("a %s has no power state", of.Type)
	}
	return b.update(of, change{Name: "runtime.powerState", Val: val}, change{Name: "summary.runtime.powerState", Val: val})
}

// MarkTemplate makes a machine a template, which is in no resource pool.
func (b *Builder) MarkTemplate(of ref) error {
	vm, ok := b.Model.Map().Get(of).(*simulator.VirtualMachine)
	if !ok {
		return fmt.Errorf("%s is no machine", of)
	}
	if vm.ResourcePool != nil {
		b.shrink(*vm.ResourcePool, "vm", of)
	}
	return b.update(of, change{Name: "config.template", Val: true}, change{Name: "summary.config.template", Val: true},
		change{Name: "resourcePool", Val: nil})
}

// MarkMachine makes a template a machine in a resource pool.
func (b *Builder) MarkMachine(of, pool ref) error {
	b.extend(pool, "vm", []ref{of})
	return b.update(of, change{Name: "config.template", Val: false}, change{Name: "summary.config.template", Val: false},
		change{Name: "resourcePool", Val: pool})
}

// Connect sets the connection state of a machine or a host. The machines of a host that is lost are
// disconnected, and connected again with it.
func (b *Builder) Connect(of ref, state string) error {
	switch obj := b.Model.Map().Get(of).(type) {
	case *simulator.VirtualMachine:
		val := types.VirtualMachineConnectionState(state)
		if !slices.Contains(val.Values(), val) {
			return fmt.Errorf("%q is no connection state of a machine", state)
		}
		return b.update(of, change{Name: "runtime.connectionState", Val: val},
			change{Name: "summary.runtime.connectionState", Val: val})
	case *simulator.HostSystem:
		val := types.HostSystemConnectionState(state)
		if !slices.Contains(val.Values(), val) {
			return fmt.Errorf("%q is no connection state of a host", state)
		}
		if err := b.update(of, change{Name: "runtime.connectionState", Val: val},
			change{Name: "summary.runtime.connectionState", Val: val}); err != nil {
			return err
		}
		below := types.VirtualMachineConnectionStateDisconnected
		if val == types.HostSystemConnectionStateConnected {
			below = types.VirtualMachineConnectionStateConnected
		}
		for _, vm := range slices.Clone(obj.Vm) {
			if err := b.Connect(vm, string(below)); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s has no connection state", of)
}

// Identify changes the identifiers of a machine, as a restored or wrongly copied one shows them.
func (b *Builder) Identify(of ref, uuid, instanceUUID string) error {
	if of.Type != "VirtualMachine" {
		return fmt.Errorf("a %s has no UUIDs", of.Type)
	}
	var changes []change
	if uuid != "" {
		changes = append(changes, change{Name: "config.uuid", Val: uuid}, change{Name: "summary.config.uuid", Val: uuid})
	}
	if instanceUUID != "" {
		changes = append(changes, change{Name: "config.instanceUuid", Val: instanceUUID},
			change{Name: "summary.config.instanceUuid", Val: instanceUUID})
	}
	// The simulator's machines of one row share their config's parts; config itself is each one's own.
	return b.update(of, changes...)
}

// Move puts a host with its machines into another cluster, or an object of a folder into another folder.
func (b *Builder) Move(of, to ref) error {
	switch obj := b.Model.Map().Get(of).(type) {
	case *simulator.HostSystem:
		return b.moveHost(obj, to)
	case mo.Entity:
		if _, ok := b.Model.Map().Get(to).(*simulator.Folder); !ok || obj.Entity().Parent == nil {
			return fmt.Errorf("%s cannot be moved to %s", of, to)
		}
		old := *obj.Entity().Parent
		b.shrink(old, "childEntity", of)
		b.extend(to, "childEntity", []ref{of})
		return b.update(of, change{Name: "parent", Val: to})
	}
	return fmt.Errorf("no object %s", of)
}

func (b *Builder) moveHost(host *simulator.HostSystem, to ref) error {
	cluster, ok := b.Model.Map().Get(to).(*simulator.ClusterComputeResource)
	if !ok {
		return fmt.Errorf("%s is no cluster", to)
	}
	b.shrink(*host.Parent, "host", host.Self)
	b.extend(to, "host", []ref{host.Self})
	if err := b.update(host.Self, change{Name: "parent", Val: to}); err != nil {
		return err
	}
	for _, of := range slices.Clone(host.Vm) {
		vm := b.Model.Map().Get(of).(*simulator.VirtualMachine)
		b.shrink(*vm.ResourcePool, "vm", of)
		b.extend(*cluster.ResourcePool, "vm", []ref{of})
		if err := b.update(of, change{Name: "resourcePool", Val: *cluster.ResourcePool}); err != nil {
			return err
		}
	}
	return nil
}

// AddHost puts a new host into a cluster.
func (b *Builder) AddHost(cluster ref, spec Host) (ref, error) {
	at, err := b.siteOf(cluster)
	if err != nil {
		return ref{}, err
	}
	made, err := b.host(context.Background(), at.cluster, at.dc, spec)
	if err != nil {
		return ref{}, err
	}
	b.relist(cluster, "host", func(old []ref) []ref { return old })
	return made.Reference(), nil
}

// AddMachines makes machines in a cluster that exists.
func (b *Builder) AddMachines(cluster ref, spec VM) ([]ref, error) {
	at, err := b.siteOf(cluster)
	if err != nil {
		return nil, err
	}
	return b.machines(context.Background(), at, spec)
}

// siteOf finds what is needed to make hosts and machines in a cluster.
func (b *Builder) siteOf(cluster ref) (*site, error) {
	c, ok := b.Model.Map().Get(cluster).(*simulator.ClusterComputeResource)
	if !ok {
		return nil, fmt.Errorf("%s is no cluster", cluster)
	}
	at := &site{cluster: object.NewClusterComputeResource(b.client, cluster), hosts: map[string]*object.HostSystem{}}
	for up := c.Parent; up != nil; {
		e, ok := b.Model.Map().Get(*up).(mo.Entity)
		if !ok {
			break
		}
		for _, dc := range b.dcs {
			if dc.self == *up {
				at.dc = dc
			}
		}
		up = e.Entity().Parent
	}
	if at.dc == nil {
		return nil, fmt.Errorf("%s is in no datacenter of this world", cluster)
	}
	for _, h := range c.Host {
		name := b.Model.Map().Get(h).(*simulator.HostSystem).Name
		at.hosts[name], at.order = object.NewHostSystem(b.client, h), append(at.order, name)
	}
	return at, nil
}

func (b *Builder) destroy(of ref) error {
	ctx := context.Background()
	task, err := object.NewCommon(b.client, of).Destroy(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}
