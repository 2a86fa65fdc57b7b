// Machines: the first of a row is made by the simulator, its brothers are copies put into the registry
// at once, because the simulator takes a second for fifty and worlds may hold ten thousand.
// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

type ref = types.ManagedObjectReference

// site is where machines are made: a cluster of a datacenter with its hosts.
type site struct {
	cluster *object.ClusterComputeResource
	dc      *datacenter
	hosts   map[string]*object.HostSystem
	order   []string // names of the hosts
	made    int
}

// machines makes one machine or a whole row of them.
func (b *Builder) machines(ctx context.Context, s *site, spec VM) ([]ref, error) {
	first, err := b.place(ctx, s, spec, 0)
	if err != nil || spec.Count < 2 {
		return []ref{first}, err
	}
	pattern := b.Model.Map().Get(first).(*simulator.VirtualMachine)
	rows := map[ref][]ref{} // host -> its new machines
	all := []ref{}
	for i := 1; i < spec.Count; i++ {
		host := s.next(spec.Host)
		if host == nil {
			return nil, fmt.Errorf("no host %q", spec.Host)
		}
		vm := b.brother(pattern, fmt.Sprintf("%s-%04d", spec.Name, i), host.Reference())
		b.Model.Map().Put(vm)
		rows[host.Reference()] = append(rows[host.Reference()], vm.Self)
		all = append(all, vm.Self)
	}
	for host, list := range rows {
		b.extend(host, "vm", list)
	}
	b.extend(*pattern.ResourcePool, "vm", all)
	b.extend(pattern.Datastore[0], "vm", all)
	b.extend(*pattern.Parent, "childEntity", all)
	return append([]ref{first}, all...), nil
}

// place makes one machine the simulator's own way.
func (b *Builder) place(ctx context.Context, s *site, spec VM, i int) (ref, error) {
	host := s.next(spec.Host)
	if spec.Count > 1 {
		spec.Name = fmt.Sprintf("%s-%04d", spec.Name, i)
	}
	made, err := b.machine(ctx, s, host, spec)
	if err != nil {
		return made, fmt.Errorf("machine %s: %w", spec.Name, err)
	}
	return made, nil
}

// next is the named host, or the cluster's hosts in turn.
func (s *site) next(name string) *object.HostSystem {
	if name == "" && len(s.order) > 0 {
		name = s.order[s.made%len(s.order)]
		s.made++
	}
	return s.hosts[name]
}

// brother copies what differs from machine to machine; the rest is shared and never changed in place.
func (b *Builder) brother(pattern *simulator.VirtualMachine, name string, host ref) *simulator.VirtualMachine {
	vm := *pattern
	vm.Self = ref{}
	b.Model.Map().NewEntity(&vm)
	vm.Name = name
	vm.Runtime.Host = &host
	config := *pattern.Config
	config.Name, config.Uuid, config.InstanceUuid = name, uuidOf("bios", vm.Self), uuidOf("instance", vm.Self)
	config.ExtraConfig = slices.Clone(config.ExtraConfig)
	vm.Config = &config
	vm.Datastore, vm.Network = slices.Clone(vm.Datastore), slices.Clone(vm.Network)
	guest, summaryGuest := *pattern.Guest, *pattern.Summary.Guest
	vm.Guest, vm.Summary.Guest = &guest, &summaryGuest
	self := vm.Self
	vm.Summary.Vm, vm.Summary.Runtime.Host = &self, &host
	vm.Summary.Config.Name, vm.Summary.Config.Uuid = name, config.Uuid
	vm.Summary.Config.InstanceUuid = config.InstanceUuid
	return &vm
}

// uuidOf makes a stable UUID from an object's reference.
func uuidOf(kind string, of ref) string {
	h := sha256.Sum256([]byte(kind + of.String()))
	h[6], h[8] = h[6]&15|0x40, h[8]&63|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
