// Alarms: definitions that wait for events of extensions, and how the alarm of an object turns. The simulator's own handling is left out: it
// fails on an EventEx about no object, and takes any definition.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const alarmNameMax = 80

// alarmList gives the definitions in the order of their ids.
func (s *Server) alarmList() []*simulator.Alarm {
	var out []*simulator.Alarm
	for _, obj := range s.ctx.Map.AllReference("Alarm") {
		out = append(out, obj.(*simulator.Alarm))
	}
	slices.SortFunc(out, func(a, b *simulator.Alarm) int { return strings.Compare(a.Self.Value, b.Self.Value) })
	return out
}

func (s *Server) alarm(ref moRef) (*simulator.Alarm, error) {
	if a, ok := s.ctx.Map.Get(ref).(*simulator.Alarm); ok {
		return a, nil
	}
	return nil, notFound(ref)
}

// checkAlarm applies what the API reference says of AlarmSpec; `self` is the alarm that gets it, empty for a new one.
func (c *call) checkAlarm(spec *types.AlarmSpec, self moRef) error {
	if spec.Name == "" || len(spec.Name) > alarmNameMax {
		return wire.Faultf(&types.InvalidName{Name: spec.Name}, "The alarm name %q is invalid", spec.Name)
	}
	for _, a := range c.s.alarmList() {
		if a.Self != self && strings.EqualFold(a.Info.Name, spec.Name) {
			return wire.Faultf(&types.DuplicateName{Name: spec.Name, Object: a.Self}, "The name %q already exists", spec.Name)
		}
	}
	if spec.SystemName != "" {
		return badArgument("spec.systemName", "it is vCenter's own to give")
	}
	return c.checkAlarmExpression(spec.Expression)
}

func (c *call) checkAlarmExpression(expression types.BaseAlarmExpression) error {
	switch x := expression.(type) {
	case *types.OrAlarmExpression:
		return c.checkAlarmExpressions(x.Expression)
	case *types.AndAlarmExpression:
		return c.checkAlarmExpressions(x.Expression)
	case *types.EventAlarmExpression:
		return c.checkEventExpression(x)
	case *types.StateAlarmExpression, *types.MetricAlarmExpression:
		return nil
	}
	return badArgument("spec.expression", "%T is no expression of an alarm", expression)
}

func (c *call) checkAlarmExpressions(list []types.BaseAlarmExpression) error {
	for _, part := range list {
		if err := c.checkAlarmExpression(part); err != nil {
			return err
		}
	}
	return nil
}

// checkEventExpression wants a type of event that there is: of vim25, and for an EventEx one that an extension has registered.
func (c *call) checkEventExpression(x *types.EventAlarmExpression) error {
	kind, ok := wire.Lookup(x.EventType)
	if !ok || !reflect.PointerTo(kind).Implements(reflect.TypeOf((*types.BaseEvent)(nil)).Elem()) {
		return badArgument("spec.expression.eventType", "%q is no type of event", x.EventType)
	}
	if _, ok := c.eventType(x.EventTypeId); !ok && x.EventType == "EventEx" {
		return badArgument("spec.expression.eventTypeId", "no extension has registered %q", x.EventTypeId)
	}
	if t, ok := managedTypes[x.ObjectType]; x.ObjectType != "" && (!ok || !isEntityType(t)) {
		return badArgument("spec.expression.objectType", "%q is no type of the inventory", x.ObjectType)
	}
	if !slices.Contains([]types.ManagedEntityStatus{"", "red", "yellow", "green", "gray"}, x.Status) {
		return badArgument("spec.expression.status", "%q", x.Status)
	}
	return nil
}

func isEntityType(t reflect.Type) bool {
	return t == reflect.TypeOf(mo.ManagedEntity{}) || reflect.PointerTo(t).Implements(reflect.TypeOf((*mo.Entity)(nil)).Elem())
}

func createAlarm(c *call) (any, error) {
	req := body[types.CreateAlarm](c)
	if !c.s.isEntity(req.Entity) {
		return nil, notFound(req.Entity)
	}
	if err := c.require("Alarm.Create", req.Entity); err != nil {
		return nil, err
	}
	spec := req.Spec.GetAlarmSpec()
	if err := c.checkAlarm(spec, moRef{}); err != nil {
		return nil, err
	}
	made := &simulator.Alarm{}
	made.Info = types.AlarmInfo{AlarmSpec: *spec, Entity: req.Entity, LastModifiedTime: c.s.wall().UTC(), LastModifiedUser: c.sess.UserName}
	ref := c.s.ctx.Map.Put(made).Reference()
	made.Info.Alarm, made.Info.Key = ref, ref.Value
	return &types.CreateAlarmResponse{Returnval: ref}, nil
}

// getAlarm lists the definitions on one object, or all; for those who may see the object.
func getAlarm(c *call) (any, error) {
	req := body[types.GetAlarm](c)
	out := &types.GetAlarmResponse{}
	for _, a := range c.s.alarmList() {
		if (req.Entity == nil || *req.Entity == a.Info.Entity) && c.s.has(c.sess.who, a.Info.Entity, privView) {
			out.Returnval = append(out.Returnval, a.Self)
		}
	}
	return out, nil
}

func reconfigureAlarm(c *call) (any, error) {
	req := body[types.ReconfigureAlarm](c)
	a, err := c.s.alarm(req.This)
	if err == nil {
		err = c.require("Alarm.Edit", a.Info.Entity)
	}
	if err == nil {
		err = c.checkAlarm(req.Spec.GetAlarmSpec(), req.This)
	}
	if err != nil {
		return nil, err
	}
	a.Info.AlarmSpec = *req.Spec.GetAlarmSpec()
	return &types.ReconfigureAlarmResponse{}, nil
}

func removeAlarm(c *call) (any, error) {
	a, err := c.s.alarm(c.req.This)
	if err == nil {
		err = c.require("Alarm.Delete", a.Info.Entity)
	}
	if err != nil {
		return nil, err
	}
	c.s.ctx.Map.Remove(c.s.simContext(c.sess.sim), a.Self)
	return &types.RemoveAlarmResponse{}, nil
}

// turnAlarms sets the alarm of the object that an event is about, where a definition of the object or of one above it waits for the event.
func (s *Server) turnAlarms(e *types.EventEx) {
	on := eventEntity(e)
	if on == nil {
		return
	}
	for _, a := range s.alarmList() {
		any, ok := a.Info.Expression.(*types.OrAlarmExpression)
		if !ok || !a.Info.Enabled || !slices.Contains(s.ancestors(*on), a.Info.Entity) {
			continue
		}
		for _, part := range any.Expression {
			x, ok := part.(*types.EventAlarmExpression)
			if ok && x.EventTypeId == e.EventTypeId && (x.ObjectType == "" || x.ObjectType == on.Type) {
				s.turnAlarm(a, *on, x.Status)
			}
		}
	}
}

// turnAlarm notes the state at the object; green is none.
func (s *Server) turnAlarm(a *simulator.Alarm, on moRef, status types.ManagedEntityStatus) {
	obj, ok := s.ctx.Map.Get(on).(mo.Entity)
	if !ok {
		return
	}
	states := slices.DeleteFunc(slices.Clone(obj.Entity().TriggeredAlarmState), func(x types.AlarmState) bool { return x.Alarm == a.Self })
	if status != types.ManagedEntityStatusGreen {
		no := false
		states = append(states, types.AlarmState{Key: a.Self.Value + "." + on.Value, Entity: on, Alarm: a.Self, OverallStatus: status,
			Time: s.wall().UTC(), Acknowledged: &no})
	}
	s.update(obj, types.PropertyChange{Name: "triggeredAlarmState", Val: states})
}
