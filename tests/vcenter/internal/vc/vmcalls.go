// Operations on machines and folders that exist: power, guest, snapshot, template, destruction. Cloning and
// reconfiguring are in vmclone.go and vmreconfig.go.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const (
	opClone    = "CloneVM_Task"
	opReconfig = "ReconfigVM_Task"
	opDestroy  = "Destroy_Task"
	opPowerOn  = "PowerOnVM_Task"
	opPowerOff = "PowerOffVM_Task"
	maxName    = 80 // characters of an object's name
)

// returned is the reference that an operation's answer holds; false if it holds none.
func returned(res any) (moRef, bool) {
	v := settled(reflect.ValueOf(res))
	if v.Kind() != reflect.Struct {
		return moRef{}, false
	}
	f := v.FieldByName("Returnval")
	if !f.IsValid() {
		return moRef{}, false
	}
	ref, ok := f.Interface().(moRef)
	return ref, ok
}

// inner lets the simulator do a part of a task of ours: its own task is waited for, and nobody sees it.
func (s *Server) inner(sess *simulator.Session, op string, this moRef, request any) (any, error) {
	res, err := s.simulate(sess, &wire.Request{Op: op, This: this, Body: request})
	if err != nil {
		return nil, err
	}
	ref, _ := returned(res)
	t, ok := s.ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return nil, fmt.Errorf("%s gave no task", op)
	}
	t.Wait()
	s.ctx.Map.Remove(s.simContext(s.anon), ref)
	if e := t.Info.Error; e != nil {
		name := reflect.TypeOf(e.Fault).Elem().Name()
		return nil, &wire.Fault{Code: wire.ServerFault, Text: "The operation failed: " + name, Detail: e.Fault}
	}
	return t.Info.Result, nil
}

// vm is the machine that a call is for.
func (c *call) vm() (*simulator.VirtualMachine, error) {
	if vm := c.s.machine(c.req.This); vm != nil {
		return vm, nil
	}
	return nil, wire.Faultf(&types.MethodNotFound{Receiver: c.req.This, Method: c.req.Op},
		"%s has no method %s", c.req.This.Type, c.req.Op)
}

// usable refuses work on a machine whose host or files are out of reach.
func (s *Server) usable(vm *simulator.VirtualMachine) error {
	var state types.VirtualMachineConnectionState
	s.withMachine(vm, func() { state = vm.Runtime.ConnectionState })
	switch state {
	case types.VirtualMachineConnectionStateConnected:
		return nil
	case types.VirtualMachineConnectionStateDisconnected:
		return wire.Faultf(&types.HostNotConnected{}, "Unable to communicate with the remote host, since it is disconnected.")
	}
	return wire.Faultf(&types.InvalidState{}, "The operation is not allowed in the current connection state (%s) of the host or machine.", state)
}

// powered refuses work on a machine that is not in the wanted state of power.
func (s *Server) powered(vm *simulator.VirtualMachine, want types.VirtualMachinePowerState) error {
	if err := s.usable(vm); err != nil {
		return err
	}
	var now types.VirtualMachinePowerState
	s.withMachine(vm, func() { now = vm.Runtime.PowerState })
	if now == want {
		return nil
	}
	return wire.Faultf(&types.InvalidPowerState{RequestedState: want, ExistingState: now},
		"The attempted operation cannot be performed in the current state (%s).",
		map[types.VirtualMachinePowerState]string{powerOn: "Powered on", powerOff: "Powered off"}[now])
}

func (s *Server) isTemplate(vm *simulator.VirtualMachine) (is bool) {
	s.withMachine(vm, func() { is = vm.Config.Template })
	return is
}

func templateRefused() error {
	return wire.Faultf(&types.InvalidState{}, "The operation is not allowed in the current state: the machine is a template.")
}

func powerOnVM(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	s, sess := c.s, c.sess.sim
	ref, err := c.startTask(work{
		op: opPowerOn, id: "VirtualMachine.powerOn", entity: vm.Self, changes: []moRef{vm.Self},
		check: func() error {
			if s.isTemplate(vm) {
				return templateRefused()
			}
			err := s.powered(vm, powerOff)
			if f, ok := err.(*wire.Fault); ok {
				if p, ok := f.Detail.(*types.InvalidPowerState); ok {
					p.RequestedState = powerOn
				}
			}
			if err != nil {
				return err
			}
			return s.admits(s.hostOf(vm))
		},
		finish: func(extent) (any, error) { return nil, s.switchOn(sess, vm) },
	})
	return &types.PowerOnVM_TaskResponse{Returnval: ref}, err
}

// switchOn looks at the host again, which may have begun to enter maintenance mode.
func (s *Server) switchOn(sess *simulator.Session, vm *simulator.VirtualMachine) error {
	if err := s.admits(s.hostOf(vm)); err != nil {
		return err
	}
	_, err := s.inner(sess, opPowerOn, vm.Self, &types.PowerOnVM_Task{This: vm.Self})
	return err
}

func (s *Server) hostOf(vm *simulator.VirtualMachine) (host moRef) {
	s.withMachine(vm, func() {
		if vm.Runtime.Host != nil {
			host = *vm.Runtime.Host
		}
	})
	return host
}

func powerOffVM(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	s, sess := c.s, c.sess.sim
	ref, err := c.startTask(work{
		op: opPowerOff, id: "VirtualMachine.powerOff", entity: vm.Self, changes: []moRef{vm.Self},
		check:  func() error { return s.running(vm, powerOff) },
		finish: func(extent) (any, error) { return nil, s.switchOff(sess, vm) },
	})
	return &types.PowerOffVM_TaskResponse{Returnval: ref}, err
}

// running refuses work that leads a machine to a state of power if it does not run.
func (s *Server) running(vm *simulator.VirtualMachine, to types.VirtualMachinePowerState) error {
	err := s.powered(vm, powerOn)
	if f, ok := err.(*wire.Fault); ok {
		if p, ok := f.Detail.(*types.InvalidPowerState); ok {
			p.RequestedState = to
		}
	}
	return err
}

func (s *Server) switchOff(sess *simulator.Session, vm *simulator.VirtualMachine) error {
	if _, err := s.inner(sess, opPowerOff, vm.Self, &types.PowerOffVM_Task{This: vm.Self}); err != nil {
		return err
	}
	s.forgetGuest(vm)
	return nil
}

// guestEnds is the guest's own way to power off.
func (s *Server) guestEnds(vm *simulator.VirtualMachine) error { return s.switchOff(s.anon, vm) }

// reboot begins another run of the guest.
func (s *Server) reboot(vm *simulator.VirtualMachine) {
	s.forgetGuest(vm)
	s.vms.change(vm.Self, func(p *vmPage) { p.boot, p.request = p.boot+1, nil })
}

func resetVM(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	s := c.s
	ref, err := c.startTask(work{
		op: "ResetVM_Task", id: "VirtualMachine.reset", entity: vm.Self, changes: []moRef{vm.Self},
		check: func() error { return s.running(vm, powerOn) },
		finish: func(extent) (any, error) {
			s.reboot(vm)
			return nil, nil
		},
	})
	return &types.ResetVM_TaskResponse{Returnval: ref}, err
}

// ask hands a wish to VMware Tools in the guest, which are asked by the control port's channel.
func (c *call) ask(what string, event types.BaseEvent) error {
	vm, err := c.vm()
	if err != nil {
		return err
	}
	if err := c.s.tasks.busy(vm.Self); err != nil {
		return err
	}
	if err := c.s.running(vm, powerOff); err != nil {
		return err
	}
	var tools string
	c.s.withMachine(vm, func() { tools = vm.Guest.ToolsRunningStatus })
	if tools != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return wire.Faultf(&types.ToolsUnavailable{}, "Cannot complete operation because VMware Tools is not running in this virtual machine.")
	}
	c.s.vms.change(vm.Self, func(p *vmPage) {
		c.s.vms.requests++
		p.request = &request{c.s.vms.requests, what}
	})
	c.s.attachEntity(event.GetEvent(), vm.Self)
	c.s.postEvent(c.sess.UserName, event)
	return nil
}

func shutdownGuest(c *call) (any, error) {
	return &types.ShutdownGuestResponse{}, c.ask("shutdown", &types.VmGuestShutdownEvent{})
}

func rebootGuest(c *call) (any, error) {
	return &types.RebootGuestResponse{}, c.ask("reboot", &types.VmGuestRebootEvent{})
}

// createSnapshot serves both operations that take one.
func createSnapshot(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	s, sess, op, request := c.s, c.sess.sim, c.req.Op, c.req.Body
	if err := checkName(reflect.ValueOf(request).Elem().FieldByName("Name").String(), vm.Self); err != nil {
		return nil, err
	}
	ref, err := c.startTask(work{
		op: op, id: "VirtualMachine.createSnapshot", entity: vm.Self, changes: []moRef{vm.Self},
		check: func() error {
			if s.isTemplate(vm) {
				return templateRefused()
			}
			return s.usable(vm)
		},
		finish: func(extent) (any, error) { return s.inner(sess, op, vm.Self, request) },
	})
	if op == "CreateSnapshotEx_Task" {
		return &types.CreateSnapshotEx_TaskResponse{Returnval: ref}, err
	}
	return &types.CreateSnapshot_TaskResponse{Returnval: ref}, err
}

// removeSnapshot asks for the right on the machine; the rest is the simulator's.
func removeSnapshot(c *call) (any, error) {
	snapshot, ok := c.s.ctx.Map.Get(c.req.This).(*simulator.VirtualMachineSnapshot)
	if !ok {
		return nil, c.missing()
	}
	if err := c.require("VirtualMachine.State.RemoveSnapshot", snapshot.Vm); err != nil {
		return nil, err
	}
	if err := c.s.tasks.busy(snapshot.Vm); err != nil {
		return nil, err
	}
	res, err := c.s.simulate(c.sess.sim, c.req)
	c.listAnswer(res)
	return res, err
}

func markAsTemplate(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := c.s.tasks.busy(vm.Self); err != nil {
		return nil, err
	}
	if c.s.isTemplate(vm) {
		return nil, templateRefused()
	}
	if err := c.s.powered(vm, powerOff); err != nil {
		return nil, err
	}
	return &types.MarkAsTemplateResponse{}, c.s.build.MarkTemplate(vm.Self)
}

func markAsVirtualMachine(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	pool := body[types.MarkAsVirtualMachine](c).Pool
	if _, ok := c.s.ctx.Map.Get(pool).(*simulator.ResourcePool); !ok {
		return nil, notFound(pool)
	}
	if err := c.require("Resource.AssignVMToPool", pool); err != nil {
		return nil, err
	}
	if err := c.s.tasks.busy(vm.Self); err != nil {
		return nil, err
	}
	if !c.s.isTemplate(vm) {
		return nil, wire.Faultf(&types.InvalidState{}, "The machine is no template.")
	}
	return &types.MarkAsVirtualMachineResponse{}, c.s.build.MarkMachine(vm.Self, pool)
}

// checkName refuses a name that no object can have.
func checkName(name string, of moRef) error {
	if strings.TrimSpace(name) != "" && len([]rune(name)) <= maxName {
		return nil
	}
	return wire.Faultf(&types.InvalidName{Name: name, Entity: &of}, "The name '%s' is invalid.", name)
}

func createFolder(c *call) (any, error) {
	if err := checkName(body[types.CreateFolder](c).Name, c.req.This); err != nil {
		return nil, err
	}
	return c.s.simulate(c.sess.sim, c.req)
}

// deletion is what destroying an object asks for, on the object and, with parent, on what it is in.
var deletion = map[string]struct {
	privilege string
	parent    bool
}{
	"VirtualMachine":         {"VirtualMachine.Inventory.Delete", true},
	"Folder":                 {"Folder.Delete", true},
	"Datacenter":             {"Datacenter.Delete", true},
	"ResourcePool":           {"Resource.DeletePool", true},
	"ClusterComputeResource": {"Host.Inventory.DeleteCluster", false},
	"HostSystem":             {"Host.Inventory.RemoveHostFromCluster", false},
	"Datastore":              {"Datastore.Delete", false},
	"Network":                {"Network.Delete", false},
}

func destroy(c *call) (any, error) {
	entity, ok := c.s.ctx.Map.Get(c.req.This).(mo.Entity)
	if !ok {
		return nil, c.missing()
	}
	on := []moRef{c.req.This}
	rule, known := deletion[c.req.This.Type]
	if !known {
		rule.privilege = "Global.Settings"
	}
	if parent := entity.Entity().Parent; rule.parent && parent != nil {
		on = append(on, *parent)
	}
	for _, ref := range on {
		if err := c.require(rule.privilege, ref); err != nil {
			return nil, err
		}
	}
	switch c.req.This.Type {
	case "VirtualMachine", "Folder":
		return c.destroyTask()
	}
	res, err := c.s.simulate(c.sess.sim, c.req)
	c.listAnswer(res)
	return res, err
}

// destroyTask destroys a machine, or a folder with the machines in it.
func (c *call) destroyTask() (any, error) {
	s, sess, of := c.s, c.sess.sim, c.req.This
	machines := s.machinesBelow(of)
	w := work{op: opDestroy, id: of.Type + ".destroy", entity: of}
	if of.Type == "Folder" {
		w.changes = append(w.changes, of)
	}
	for _, vm := range machines {
		w.changes = append(w.changes, vm.Self)
	}
	w.check = func() error {
		for _, vm := range machines {
			if err := s.powered(vm, powerOff); err != nil {
				return err
			}
		}
		return nil
	}
	w.finish = func(x extent) (any, error) {
		for _, vm := range machines {
			if err := s.removeMachine(sess, vm, x == half); err != nil {
				return nil, err
			}
		}
		if of.Type == "Folder" && x == done {
			return s.inner(sess, opDestroy, of, &types.Destroy_Task{This: of})
		}
		return nil, nil
	}
	ref, err := c.startTask(w)
	return &types.Destroy_TaskResponse{Returnval: ref}, err
}

// machinesBelow are the machines in a folder, at any depth; of a machine, itself.
func (s *Server) machinesBelow(of moRef) []*simulator.VirtualMachine {
	if vm := s.machine(of); vm != nil {
		return []*simulator.VirtualMachine{vm}
	}
	var out []*simulator.VirtualMachine
	for _, child := range s.children(of) {
		if child.Type == "VirtualMachine" || child.Type == "Folder" {
			out = append(out, s.machinesBelow(child)...)
		}
	}
	return out
}

// removeMachine takes a machine out of the inventory, and its files from the datastore unless they are to stay.
func (s *Server) removeMachine(sess *simulator.Session, vm *simulator.VirtualMachine, filesStay bool) error {
	if filesStay {
		s.leaveFiles(vm)
		if _, err := s.simulate(sess, &wire.Request{Op: "UnregisterVM", This: vm.Self, Body: &types.UnregisterVM{This: vm.Self}}); err != nil {
			return err
		}
	} else if _, err := s.inner(sess, opDestroy, vm.Self, &types.Destroy_Task{This: vm.Self}); err != nil {
		return err
	}
	s.refreshRooms()
	return nil
}

// findByUuid finds what the caller may see. A machine that is being cloned, or whose files are out of reach,
// has no configuration that says its UUID.
func findByUuid(c *call) (any, error) {
	req := body[types.FindByUuid](c)
	if !req.VmSearch {
		return c.s.simulate(c.sess.sim, c.req)
	}
	res := &types.FindByUuidResponse{}
	for _, ref := range c.s.byUuid(req.Uuid, req.InstanceUuid != nil && *req.InstanceUuid) {
		if c.findable(ref, req.Datacenter) {
			res.Returnval = &ref
			break
		}
	}
	return res, nil
}

func findAllByUuid(c *call) (any, error) {
	req := body[types.FindAllByUuid](c)
	if !req.VmSearch {
		return c.s.simulate(c.sess.sim, c.req)
	}
	res := &types.FindAllByUuidResponse{}
	for _, ref := range c.s.byUuid(req.Uuid, req.InstanceUuid != nil && *req.InstanceUuid) {
		if c.findable(ref, req.Datacenter) {
			res.Returnval = append(res.Returnval, ref)
		}
	}
	return res, nil
}

// byUuid lists the machines with a UUID, those that are not to be found included.
func (s *Server) byUuid(uuid string, instance bool) []moRef {
	var out []moRef
	for _, e := range s.ctx.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		s.withMachine(vm, func() {
			own := vm.Config.Uuid
			if instance {
				own = vm.Config.InstanceUuid
			}
			if strings.EqualFold(own, uuid) {
				out = append(out, vm.Self)
			}
		})
	}
	return out
}

func (c *call) findable(ref moRef, datacenter *moRef) bool {
	vm := c.s.machine(ref)
	if vm == nil || c.s.vms.page(ref).unborn || !c.visible(ref) {
		return false
	}
	var state types.VirtualMachineConnectionState
	c.s.withMachine(vm, func() { state = vm.Runtime.ConnectionState })
	if state == types.VirtualMachineConnectionStateInaccessible || state == types.VirtualMachineConnectionStateInvalid {
		return false
	}
	return datacenter == nil || c.s.datacenterOf(ref) == *datacenter
}

// datacenterOf is the datacenter that an object is in.
func (s *Server) datacenterOf(ref moRef) moRef {
	for _, up := range s.ancestors(ref) {
		if up.Type == "Datacenter" {
			return up
		}
	}
	return moRef{}
}
