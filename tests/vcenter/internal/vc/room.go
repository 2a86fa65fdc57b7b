// Room on datastores: what the disks of machines take, what is left, and who is refused.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// linkedBytes is what a child disk takes that nothing has been written to.
const linkedBytes = 16 << 20

// roomBook holds what the inventory does not say of datastores.
type roomBook struct {
	mu   sync.Mutex
	left map[moRef]int64 // bytes of files whose machine is gone
}

// diskBytes is what a disk takes: all of it, as if it were thick, unless it has a parent.
func diskBytes(d *types.VirtualDisk) int64 {
	if _, parent := diskFiles(d); parent != "" {
		return linkedBytes
	}
	return max(d.CapacityInBytes, d.CapacityInKB<<10)
}

// disksOn adds up what a machine takes on each datastore.
func (s *Server) disksOn(vm *simulator.VirtualMachine, sum map[moRef]int64) {
	s.withMachine(vm, func() {
		for _, d := range vm.Config.Hardware.Device {
			disk, ok := d.(*types.VirtualDisk)
			if !ok {
				continue
			}
			if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && b.GetVirtualDeviceFileBackingInfo().Datastore != nil {
				sum[*b.GetVirtualDeviceFileBackingInfo().Datastore] += diskBytes(disk)
			}
		}
	})
}

// leaveFiles keeps the room of a machine that leaves the inventory without its files.
func (s *Server) leaveFiles(vm *simulator.VirtualMachine) {
	s.rooms.mu.Lock()
	defer s.rooms.mu.Unlock()
	if s.rooms.left == nil {
		s.rooms.left = map[moRef]int64{}
	}
	s.disksOn(vm, s.rooms.left)
}

// used is what the files on each datastore take.
func (s *Server) used() map[moRef]int64 {
	sum := map[moRef]int64{}
	for _, e := range s.ctx.Map.All("VirtualMachine") {
		s.disksOn(e.(*simulator.VirtualMachine), sum)
	}
	s.rooms.mu.Lock()
	defer s.rooms.mu.Unlock()
	for ds, n := range s.rooms.left {
		sum[ds] += n
	}
	return sum
}

// refreshRooms tells what is free now.
func (s *Server) refreshRooms() {
	used := s.used()
	for _, e := range s.ctx.Map.All("Datastore") {
		ds := e.(*simulator.Datastore)
		ctx := s.simContext(s.anon)
		ctx.WithLock(ds, func() { setRoom(ctx, ds, ds.Summary.Capacity, ds.Summary.Capacity-used[ds.Self]) })
	}
}

// setRoom publishes a datastore's capacity and free space; the caller holds it.
func setRoom(ctx *simulator.Context, ds *simulator.Datastore, capacity, free int64) {
	ds.Info.GetDatastoreInfo().FreeSpace = free
	ctx.Update(ds, []types.PropertyChange{{Name: "summary.capacity", Val: capacity}, {Name: "summary.freeSpace", Val: free}})
}

// orderRoom sets how large a datastore is, or how much of it is free now.
func (s *Server) orderRoom(ref moRef, capacity, free *int64) error {
	ds, ok := s.ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok || (capacity == nil) == (free == nil) {
		return fmt.Errorf("room takes the id of a datastore, and capacity_bytes or free_bytes")
	}
	used := s.used()[ref]
	if free != nil {
		all := used + *free
		capacity = &all
	}
	ctx := s.simContext(s.anon)
	ctx.WithLock(ds, func() { setRoom(ctx, ds, *capacity, *capacity-used) })
	return nil
}

// hasRoom refuses what does not fit.
func (s *Server) hasRoom(ref moRef, bytes int64, file string) error {
	ds, ok := s.ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok || bytes <= 0 {
		return nil
	}
	used := s.used()[ref]
	var name string
	var capacity int64
	ctx := s.simContext(s.anon)
	ctx.WithLock(ds, func() { name, capacity = ds.Name, ds.Summary.Capacity })
	if capacity-used >= bytes {
		return nil
	}
	f := &types.NoDiskSpace{Datastore: name}
	f.File = fmt.Sprintf("[%s] %s", name, file)
	return wire.Faultf(f, "Insufficient disk space on datastore '%s'.", name)
}

// refreshDatastore keeps what the simulator would set back to an empty datastore.
func refreshDatastore(c *call) (any, error) {
	c.s.refreshRooms()
	return &types.RefreshDatastoreResponse{}, nil
}
