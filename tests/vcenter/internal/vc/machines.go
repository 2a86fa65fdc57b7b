// The book of machines: what has changed, which are not ready yet, what their guests were asked and say. The
// control port's calls about them are in controlvms.go.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	powerOn  = types.VirtualMachinePowerStatePoweredOn
	powerOff = types.VirtualMachinePowerStatePoweredOff
)

// machineBook hears of every change of a machine.
type machineBook struct {
	mu       sync.Mutex
	seq      int64
	pages    map[moRef]*vmPage
	requests int           // the last request's id
	wake     chan struct{} // closed at the next change

	making sync.Mutex // one clone at a time is being made
	clones bool       // a clone is being made; machines that come up are unborn
	fresh  []moRef    // those that came up meanwhile
}

// vmPage is what the book knows of a machine beside the inventory.
type vmPage struct {
	seq     int64
	name    string
	gone    bool
	unborn  bool // being cloned: it has no configuration yet
	on      bool
	boot    int      // which run of the guest this is, or was
	request *request // what the guest is asked for
}

// request is what the guest of a machine is asked to do.
type request struct {
	ID   int    `json:"id"`
	What string `json:"what"` // shutdown, reboot
}

var machineBookRef = moRef{Type: "MachineBook", Value: "machines"}

func (b *machineBook) init() {
	b.pages, b.wake = map[moRef]*vmPage{}, make(chan struct{})
}

func (b *machineBook) Reference() moRef { return machineBookRef }

func (b *machineBook) PutObject(_ *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok {
		b.change(vm.Self, func(p *vmPage) {
			if b.clones {
				p.unborn, b.fresh = true, append(b.fresh, vm.Self)
			}
			p.name = vm.Name
			p.on = vm.Runtime.PowerState == powerOn
			if p.on {
				p.boot++
			}
		})
	}
}

// UpdateObject is called while the object is locked.
func (b *machineBook) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	ref := obj.Reference()
	if ref.Type != "VirtualMachine" || len(changes) == 1 && changes[0].Name == "recentTask" {
		return
	}
	b.change(ref, func(p *vmPage) {
		for _, c := range changes {
			switch c.Name {
			case "runtime.powerState":
				p.power(c.Val.(types.VirtualMachinePowerState) == powerOn)
			case "name":
				p.name, _ = c.Val.(string)
			}
		}
	})
}

// RemoveObject is called before the object is gone.
func (b *machineBook) RemoveObject(_ *simulator.Context, ref moRef) {
	if ref.Type == "VirtualMachine" {
		b.change(ref, func(p *vmPage) { p.gone, p.unborn = true, false })
	}
}

// power counts the runs of the guest.
func (p *vmPage) power(on bool) {
	if on && !p.on {
		p.boot++
	}
	if on != p.on {
		p.request = nil
	}
	p.on = on
}

// change notes that a machine is not what it was.
func (b *machineBook) change(ref moRef, f func(*vmPage)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pages[ref]
	if p == nil {
		p = &vmPage{}
		b.pages[ref] = p
	}
	f(p)
	b.seq++
	p.seq = b.seq
	close(b.wake)
	b.wake = make(chan struct{})
}

// next is closed at the next change of any machine.
func (b *machineBook) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wake
}

// page is a copy of what the book knows of a machine.
func (b *machineBook) page(ref moRef) vmPage {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.pages[ref]; p != nil {
		return *p
	}
	return vmPage{}
}

// clone runs f, which makes one machine; that and only that is unborn afterwards.
func (b *machineBook) clone(f func() (moRef, error)) (moRef, error) {
	b.making.Lock()
	defer b.making.Unlock()
	b.mu.Lock()
	b.clones, b.fresh = true, nil
	b.mu.Unlock()
	made, err := f()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clones = false
	for _, ref := range b.fresh {
		b.pages[ref].unborn = ref == made
	}
	return made, err
}

// born makes a clone a machine like others.
func (s *Server) born(ref moRef) {
	s.vms.change(ref, func(p *vmPage) { p.unborn = false })
	s.feed.object(ref)
}

// asRead is a machine as clients read it: one that is being cloned has no configuration.
func (s *Server) asRead(vm *simulator.VirtualMachine) mo.Reference {
	if !s.vms.page(vm.Self).unborn {
		return vm
	}
	now := &mo.VirtualMachine{}
	ctx := s.simContext(s.anon)
	ctx.WithLock(vm, func() { *now = copied(reflect.ValueOf(vm.VirtualMachine)).Interface().(mo.VirtualMachine) })
	now.Config, now.Guest, now.Layout, now.LayoutEx, now.Storage, now.ResourceConfig = nil, nil, nil, nil, nil, nil
	now.Summary.Config = types.VirtualMachineConfigSummary{Name: now.Name}
	now.Summary.Guest, now.Summary.Storage = nil, nil
	return now
}

// machine finds a machine, nil if there is none of that reference.
func (s *Server) machine(ref moRef) *simulator.VirtualMachine {
	vm, _ := s.ctx.Map.Get(ref).(*simulator.VirtualMachine)
	return vm
}

// withMachine runs f while nobody else changes the machine.
func (s *Server) withMachine(vm *simulator.VirtualMachine, f func()) {
	ctx := s.simContext(s.anon)
	ctx.WithLock(vm, f)
}

// forgetGuest is what a vCenter knows of a guest that does not run: nothing.
func (s *Server) forgetGuest(vm *simulator.VirtualMachine) {
	s.update(vm,
		types.PropertyChange{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		types.PropertyChange{Name: "guest.guestState", Val: string(types.VirtualMachineGuestStateNotRunning)},
		types.PropertyChange{Name: "guest.hostName", Val: ""},
		types.PropertyChange{Name: "guest.ipAddress", Val: ""},
		types.PropertyChange{Name: "guest.net", Val: nil},
		types.PropertyChange{Name: "summary.guest.toolsRunningStatus",
			Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		types.PropertyChange{Name: "summary.guest.hostName", Val: ""},
		types.PropertyChange{Name: "summary.guest.ipAddress", Val: ""})
}
