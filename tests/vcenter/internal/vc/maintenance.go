// Maintenance mode of hosts: a task that lasts as long as a machine runs on the host, and the events of it. As the API reference has
// it (HostSystem.EnterMaintenanceMode_Task, EnteringMaintenanceModeEvent and those beside it) the task moves no machine: DRS does, or
// a person; here it is whoever uses the control port.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const (
	opEnter = "EnterMaintenanceMode_Task"
	opExit  = "ExitMaintenanceMode_Task"
)

// entering is one host that is about to be in maintenance mode. Until its task ends, it has the host.
type entering struct {
	s     *Server
	host  *simulator.HostSystem
	user  string
	limit time.Duration    // 0 for none
	until <-chan time.Time // nil for never
}

// locked runs f while the object is locked, on behalf of nobody else.
func (s *Server) locked(obj interface{ Reference() moRef }, f func()) {
	s.simContext(s.anon).WithLock(obj, f)
}

func (s *Server) isInMaintenance(host *simulator.HostSystem) (is bool) {
	s.locked(host, func() { is = host.Runtime.InMaintenanceMode })
	return is
}

// admits refuses to power machines on, or to make them, on a host that is in maintenance mode or about to be.
func (s *Server) admits(at moRef) error {
	host, ok := s.ctx.Map.Get(at).(*simulator.HostSystem)
	if ok && (s.tasks.holds(at, opEnter) || s.isInMaintenance(host)) {
		return wrongState()
	}
	return nil
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
	s := c.s
	if err := s.admits(host.Self); err != nil {
		return nil, err
	}
	e := &entering{s: s, host: host, user: c.sess.UserName}
	e.limit = time.Duration(max(body[types.EnterMaintenanceMode_Task](c).Timeout, 0)) * time.Second
	ref, err := c.startTask(work{
		op: opEnter, id: "HostSystem.enterMaintenanceMode", entity: host.Self, changes: []moRef{host.Self}, cancelable: true,
		check: func() error {
			if s.isInMaintenance(host) {
				return wrongState()
			}
			return nil
		},
		begin: e.begin, wait: e.wait, finish: e.finish, undo: e.undo,
	})
	return &types.EnterMaintenanceMode_TaskResponse{Returnval: ref}, err
}

func exitMaintenanceMode(c *call) (any, error) {
	host, err := c.host()
	if err != nil {
		return nil, err
	}
	s, user := c.s, c.sess.UserName
	check := func() error {
		if s.isInMaintenance(host) {
			return nil
		}
		return wrongState()
	}
	if err := check(); err != nil {
		return nil, err
	}
	ref, err := c.startTask(work{
		op: opExit, id: "HostSystem.exitMaintenanceMode", entity: host.Self, changes: []moRef{host.Self}, cancelable: true,
		check: check,
		begin: func(t *task) error {
			s.tellTask(t)
			return nil
		},
		finish: func(extent) (any, error) {
			s.setMaintenance(host, false)
			s.postEvent(user, &types.ExitMaintenanceModeEvent{HostEvent: s.hostEvent(host.Self)})
			return nil, nil
		},
	})
	return &types.ExitMaintenanceMode_TaskResponse{Returnval: ref}, err
}

func (e *entering) begin(t *task) error {
	if e.limit > 0 {
		e.until = time.After(e.limit)
	}
	e.s.tellTask(t)
	e.s.postEvent(e.user, &types.EnteringMaintenanceModeEvent{HostEvent: e.s.hostEvent(e.host.Self)})
	return nil
}

// wait waits until no machine runs there any more, unless the task's time is over, or it is canceled or lost before.
func (e *entering) wait(t *task) (ending, extent) {
	for {
		news := e.s.vms.next()
		if e.turn() {
			return isDone, done
		}
		select {
		case <-news:
		case <-e.until:
			t.plan.fault = timedOut
			return fails, undone
		case <-t.cancel:
			return isCancelled, undone
		case left := <-t.lost:
			return isLost, left
		}
	}
}

func timedOut() error { return wire.Faultf(&types.Timedout{}, "Operation timed out.") }

// turn puts the host into maintenance mode, if it is free; tells whether it is in it.
func (e *entering) turn() bool {
	if e.s.isInMaintenance(e.host) {
		return true
	}
	if e.isInUse() {
		return false
	}
	e.s.setMaintenance(e.host, true)
	e.s.postEvent(e.user, &types.EnteredMaintenanceModeEvent{HostEvent: e.s.hostEvent(e.host.Self)})
	return true
}

// finish has something to do only for a task that comes to its end before it has waited; a host that is in use stays as it was.
func (e *entering) finish(extent) (any, error) {
	e.turn()
	return nil, nil
}

func (e *entering) undo(end ending) {
	if end == isCancelled {
		e.s.postEvent(e.user, &types.CanceledHostOperationEvent{HostEvent: e.s.hostEvent(e.host.Self)})
	}
}

// isInUse tells whether a machine on the host runs or is being made.
func (e *entering) isInUse() bool {
	var on []moRef
	e.s.locked(e.host, func() { on = slices.Clone(e.host.Vm) })
	return slices.ContainsFunc(on, func(ref moRef) bool {
		vm, p := e.s.machine(ref), e.s.vms.page(ref)
		return vm != nil && !p.gone && (p.on || p.unborn) && e.s.hostOf(vm) == e.host.Self
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

// tellTask tells in an event of a host that a task of it runs.
func (s *Server) tellTask(t *task) {
	var info types.TaskInfo
	s.locked(t.obj, func() { info = t.obj.Info })
	s.postEvent(t.user, &types.TaskEvent{Event: s.hostEvent(t.entity).Event, Info: info})
}
