// Maintenance mode of hosts: a task that lasts as long as a machine runs on the host, and the events of it. As the API reference has
// it (HostSystem.EnterMaintenanceMode_Task, EnteringMaintenanceModeEvent and those beside it) the task moves no machine: DRS does, or
// a person; here it is whoever uses the control port.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// maintenance holds the hosts that are about to be in maintenance mode.
type maintenance struct {
	mu   sync.Mutex
	list map[moRef]*entering
}

type entering struct {
	s     *Server
	host  *simulator.HostSystem
	task  *simulator.Task
	user  string
	news  chan struct{} // something has changed in the inventory
	until <-chan time.Time
}

// begin keeps a host; false if it is about to be in maintenance mode already.
func (m *maintenance) begin(e *entering) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.list[e.host.Self] != nil {
		return false
	}
	if m.list == nil {
		m.list = map[moRef]*entering{}
	}
	m.list[e.host.Self] = e
	return true
}

func (m *maintenance) end(host moRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.list, host)
}

func (m *maintenance) holds(host moRef) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list[host] != nil
}

// poke lets all look again. It is called while objects are locked.
func (m *maintenance) poke() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.list {
		select {
		case e.news <- struct{}{}:
		default:
		}
	}
}

// locked runs f while the object is locked, on behalf of nobody else.
func (s *Server) locked(obj interface{ Reference() moRef }, f func(*simulator.Context)) {
	ctx := s.simContext(s.anon)
	ctx.WithLock(obj, func() { f(ctx) })
}

func (s *Server) isInMaintenance(host *simulator.HostSystem) (is bool) {
	s.locked(host, func(*simulator.Context) { is = host.Runtime.InMaintenanceMode })
	return is
}

func (c *call) host() (*simulator.HostSystem, error) {
	host, ok := c.s.ctx.Map.Get(c.req.This).(*simulator.HostSystem)
	if !ok {
		return nil, wire.Faultf(&types.MethodNotFound{Receiver: c.req.This, Method: c.req.Op},
			"%s has no method %s", c.req.This.Type, c.req.Op)
	}
	return host, nil
}

func wrongState() error {
	return wire.Faultf(&types.InvalidState{}, "The operation is not allowed in the current state.")
}

func enterMaintenanceMode(c *call) (any, error) {
	host, err := c.host()
	if err != nil {
		return nil, err
	}
	e := &entering{s: c.s, host: host, user: c.sess.UserName, news: make(chan struct{}, 1)}
	if c.s.isInMaintenance(host) || !c.s.maintenance.begin(e) {
		return nil, wrongState()
	}
	if timeout := body[types.EnterMaintenanceMode_Task](c).Timeout; timeout > 0 {
		e.until = time.After(time.Duration(timeout) * time.Second)
	}
	e.task = c.s.startTask(host, "enterMaintenanceMode", e.user)
	c.s.postEvent(e.user, &types.EnteringMaintenanceModeEvent{HostEvent: c.s.hostEvent(host.Self)})
	go e.run()
	return &types.EnterMaintenanceMode_TaskResponse{Returnval: e.task.Self}, nil
}

func exitMaintenanceMode(c *call) (any, error) {
	host, err := c.host()
	if err != nil {
		return nil, err
	}
	if !c.s.isInMaintenance(host) {
		return nil, wrongState()
	}
	task := c.s.startTask(host, "exitMaintenanceMode", c.sess.UserName)
	c.s.setMaintenance(host, false)
	c.s.postEvent(c.sess.UserName, &types.ExitMaintenanceModeEvent{HostEvent: c.s.hostEvent(host.Self)})
	c.s.endTask(task, nil)
	return &types.ExitMaintenanceMode_TaskResponse{Returnval: task.Self}, nil
}

// powerOn refuses machines of hosts that are in maintenance mode, or about to be.
func powerOn(c *call) (any, error) {
	vm, ok := c.s.ctx.Map.Get(c.req.This).(*simulator.VirtualMachine)
	if !ok {
		return c.s.simulate(c.simSession(), c.req)
	}
	var at moRef
	c.s.locked(vm, func(*simulator.Context) { at = *vm.Runtime.Host })
	host, ok := c.s.ctx.Map.Get(at).(*simulator.HostSystem)
	if ok && (c.s.maintenance.holds(at) || c.s.isInMaintenance(host)) {
		return nil, wrongState()
	}
	return c.s.simulate(c.simSession(), c.req)
}

// run waits until no machine runs there any more, the task is canceled, or its time is over.
func (e *entering) run() {
	defer e.s.maintenance.end(e.host.Self)
	for {
		switch {
		case e.isCanceled():
			e.s.postEvent(e.user, &types.CanceledHostOperationEvent{HostEvent: e.s.hostEvent(e.host.Self)})
			return
		case !e.hasRunning():
			e.s.setMaintenance(e.host, true)
			e.s.postEvent(e.user, &types.EnteredMaintenanceModeEvent{HostEvent: e.s.hostEvent(e.host.Self)})
			e.s.endTask(e.task, nil)
			return
		}
		select {
		case <-e.news:
		case <-e.until:
			e.s.endTask(e.task, &types.Timedout{})
			return
		}
	}
}

func (e *entering) isCanceled() (is bool) {
	e.s.locked(e.task, func(*simulator.Context) { is = e.task.Info.State == types.TaskInfoStateError })
	return is
}

func (e *entering) hasRunning() bool {
	var on []moRef
	e.s.locked(e.host, func(*simulator.Context) { on = slices.Clone(e.host.Vm) })
	return slices.ContainsFunc(on, func(ref moRef) (is bool) {
		vm, ok := e.s.ctx.Map.Get(ref).(*simulator.VirtualMachine)
		if ok {
			e.s.locked(vm, func(*simulator.Context) { is = vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn })
		}
		return is
	})
}

func (s *Server) setMaintenance(host *simulator.HostSystem, is bool) {
	s.update(host, types.PropertyChange{Name: "runtime.inMaintenanceMode", Val: is},
		types.PropertyChange{Name: "summary.runtime.inMaintenanceMode", Val: is})
}

// hostEvent is about a host, and names what lies above it, as vCenter does.
func (s *Server) hostEvent(host moRef) types.HostEvent {
	var e types.Event
	for _, ref := range s.ancestors(host) {
		s.attachEntity(&e, ref)
	}
	return types.HostEvent{Event: e}
}

// startTask makes a task that runs, and tells of it. The simulator's own tasks hold their object while they run.
func (s *Server) startTask(on *simulator.HostSystem, name, user string) *simulator.Task {
	task := simulator.CreateTask(on, name, nil)
	now := s.wall().UTC()
	task.Info.EntityName = s.argument(on.Self).Name
	task.Info.Reason = &types.TaskReasonUser{UserName: user}
	task.Info.State, task.Info.QueueTime, task.Info.StartTime, task.Info.Cancelable = types.TaskInfoStateRunning, now, &now, true
	s.locked(on, func(*simulator.Context) { s.ctx.Map.Put(task) })
	s.update(task, types.PropertyChange{Name: "info.key", Val: task.Self.Value}, types.PropertyChange{Name: "info.task", Val: task.Self})
	s.postEvent(user, &types.TaskEvent{Event: s.hostEvent(on.Self).Event, Info: task.Info})
	return task
}

// endTask ends a task that nobody has canceled meanwhile: well, or with a fault.
func (s *Server) endTask(task *simulator.Task, fault types.BaseMethodFault) {
	s.locked(task, func(ctx *simulator.Context) {
		if task.Info.State != types.TaskInfoStateRunning {
			return
		}
		changes := []types.PropertyChange{{Name: "info.completeTime", Val: s.wall().UTC()}}
		if fault == nil {
			changes = append(changes, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
		} else {
			changes = append(changes, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateError},
				types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: "Operation timed out."}})
		}
		ctx.Update(task, changes)
	})
}
