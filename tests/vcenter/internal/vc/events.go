// Events: the vCenter's history, collectors that show the latest page of it, and who may see what.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const (
	keptEvents       = 5000
	defaultPage      = 10
	maxPage          = 1000
	maxEventCollects = 32 // per vCenter, the documented default
)

// history holds the events in the order they happened. The simulator posts events of its own; a
// collector of its that has no filter tells us of all of them.
type history struct {
	mu     sync.Mutex
	source moRef // the simulator's collector that we listen to
	list   []types.BaseEvent
	pages  map[*eventPages]struct{}
}

// eventPages is one EventHistoryCollector of a session.
type eventPages struct {
	mo.EventHistoryCollector
	spec types.EventFilterSpec
	size int
	read int32 // key of the last event that ReadNextEvents gave
}

func (s *Server) startHistory() {
	s.history.pages = map[*eventPages]struct{}{}
	m := s.ctx.Map.EventManager()
	ctx := s.simContext(s.anon)
	// The simulator's alarms fail on an EventEx about no object, and would stop the server in the middle of it.
	s.alarms, s.content().AlarmManager = s.content().AlarmManager, nil
	res := m.CreateCollectorForEvents(ctx, &types.CreateCollectorForEvents{
		This: m.Self, Filter: types.EventFilterSpec{MaxCount: 1}})
	made, err := unwrap(res)
	if err == nil {
		s.history.source = made.(*types.CreateCollectorForEventsResponse).Returnval
	}
}

// hear takes the newest event over. It is called in the middle of the simulator's PostEvent.
func (h *history) hear(s *Server, from *mo.EventHistoryCollector) {
	if len(from.LatestPage) == 0 {
		return
	}
	event := copied(reflect.ValueOf(from.LatestPage[0])).Interface().(types.BaseEvent)
	event.GetEvent().CreatedTime = s.wall().UTC()
	h.mu.Lock()
	h.list = append(h.list, event)
	if len(h.list) > keptEvents {
		h.list = h.list[1:]
	}
	var hit []moRef
	for p := range h.pages {
		if p.matches(event) {
			hit = append(hit, p.Self)
		}
	}
	h.mu.Unlock()
	for _, ref := range hit {
		s.feed.object(ref)
	}
	s.feed.object(s.ctx.Map.EventManager().Self)
}

// newest lists the events that pass, newest first.
func (h *history) newest(limit int, pass func(types.BaseEvent) bool) []types.BaseEvent {
	h.mu.Lock()
	list := slices.Clone(h.list)
	h.mu.Unlock()
	var out []types.BaseEvent
	for i := len(list) - 1; i >= 0 && len(out) < limit; i-- {
		if pass(list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// matches applies a collector's filter.
func (p *eventPages) matches(e types.BaseEvent) bool {
	ev := e.GetEvent()
	f := p.spec
	if len(f.EventTypeId) > 0 && !slices.ContainsFunc(f.EventTypeId, func(id string) bool { return named(e, id, false) }) {
		return false
	}
	if len(f.Type) > 0 && !slices.ContainsFunc(f.Type, func(id string) bool { return named(e, id, true) }) {
		return false
	}
	if u := f.UserName; u != nil {
		system := ev.UserName == ""
		if system != u.SystemUser || !system && len(u.UserList) > 0 && !slices.Contains(u.UserList, ev.UserName) {
			return false
		}
	}
	if t := f.Time; t != nil && (t.BeginTime != nil && ev.CreatedTime.Before(*t.BeginTime) ||
		t.EndTime != nil && ev.CreatedTime.After(*t.EndTime)) {
		return false
	}
	return f.EventChainId == 0 || f.EventChainId == ev.ChainId
}

// named tells whether an event is of a type: exactly, or (for the old filter member) derived from it.
func named(e types.BaseEvent, id string, derived bool) bool {
	id = strings.TrimPrefix(id, "vim.event.")
	if x, ok := e.(*types.EventEx); ok && x.EventTypeId == id {
		return true
	}
	t := reflect.TypeOf(e).Elem()
	if t.Name() == id {
		return true
	}
	f, ok := t.FieldByName(id)
	return derived && ok && f.Anonymous
}

// eventEntity is the object that an event is about; nil if it is about none.
func eventEntity(e types.BaseEvent) *moRef {
	if f := reflect.ValueOf(e).Elem().FieldByName("Entity"); f.IsValid() {
		if arg, ok := f.Interface().(types.ManagedEntityEventArgument); ok {
			return &arg.Entity
		}
	}
	ev := e.GetEvent()
	switch {
	case ev.Vm != nil:
		return &ev.Vm.Vm
	case ev.Host != nil:
		return &ev.Host.Host
	case ev.ComputeResource != nil:
		return &ev.ComputeResource.ComputeResource
	case ev.Datacenter != nil:
		return &ev.Datacenter.Datacenter
	}
	return nil
}

// maySee: events about an object are for those who may view it, others for those who may read the root.
func (c *call) maySee(e types.BaseEvent) bool {
	if c.sess == nil {
		return false
	}
	if on := eventEntity(e); on != nil && c.s.isEntity(*on) {
		return c.visible(*on)
	}
	return c.s.has(c.sess.who, c.s.root, privRead)
}

// concerns applies the filter's entity.
func (c *call) concerns(e types.BaseEvent, by *types.EventFilterSpecByEntity) bool {
	if by == nil {
		return true
	}
	on := eventEntity(e)
	if by.Entity == c.s.root && by.Recursion != types.EventFilterSpecRecursionOptionSelf {
		return true
	}
	if on == nil {
		return false
	}
	up := c.s.ancestors(*on)
	switch by.Recursion {
	case types.EventFilterSpecRecursionOptionSelf:
		return *on == by.Entity
	case types.EventFilterSpecRecursionOptionChildren:
		return len(up) > 1 && up[1] == by.Entity
	}
	return slices.Contains(up, by.Entity)
}

// page is what a collector shows: the documentation promises no order, so it comes in none.
func (c *call) page(p *eventPages) []types.BaseEvent {
	list := c.s.history.newest(p.size, func(e types.BaseEvent) bool {
		return p.matches(e) && c.concerns(e, p.spec.Entity) && c.maySee(e)
	})
	slices.SortFunc(list, func(a, b types.BaseEvent) int {
		x, y := a.GetEvent().Key, b.GetEvent().Key
		if x%3 != y%3 {
			return int(x%3 - y%3)
		}
		return int(x - y)
	})
	return c.localized(list, p.isFull())
}

func (p *eventPages) isFull() bool {
	return p.spec.DisableFullMessage == nil || !*p.spec.DisableFullMessage
}

func (c *call) eventProps(p *eventPages, paths []string) []types.DynamicProperty {
	now := mo.EventHistoryCollector{HistoryCollector: p.HistoryCollector}
	if slices.Contains(paths, "latestPage") {
		now.LatestPage = c.page(p)
	}
	var out []types.DynamicProperty
	for _, path := range paths {
		if val := readPath(reflect.ValueOf(now), path); val != nil {
			out = append(out, types.DynamicProperty{Name: path, Val: val})
		}
	}
	return out
}

func (c *call) latestEvent() []types.DynamicProperty {
	for _, e := range c.localized(c.s.history.newest(1, c.maySee), true) {
		return []types.DynamicProperty{{Name: "latestEvent", Val: handedOut(reflect.ValueOf(e))}}
	}
	return nil
}

func pageSize(n int32, property string) (int, error) {
	if n == 0 {
		return defaultPage, nil
	}
	if n < 0 || n > maxPage {
		return 0, badArgument(property, "%d is not between 1 and %d", n, maxPage)
	}
	return int(n), nil
}

func createCollectorForEvents(c *call) (any, error) {
	spec := body[types.CreateCollectorForEvents](c).Filter
	size, err := pageSize(spec.MaxCount, "filter.maxCount")
	if err != nil {
		return nil, err
	}
	if e := spec.Entity; e != nil {
		if err := c.readable(privView, e.Entity); err != nil {
			return nil, err
		}
	}
	p := &eventPages{spec: spec, size: size}
	p.Filter, p.Self.Type = spec, "EventHistoryCollector"
	h := &c.s.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pages) >= maxEventCollects {
		return nil, wire.Faultf(&types.InvalidState{}, "There are too many event collectors")
	}
	ref := c.sess.sim.Put(p).Reference()
	h.pages[p] = struct{}{}
	return &types.CreateCollectorForEventsResponse{Returnval: ref}, nil
}

func (c *call) eventPages() (*eventPages, error) {
	p, ok := c.s.object(c.sess.sim, c.req.This).(*eventPages)
	if !ok {
		return nil, wire.Faultf(&types.MethodNotFound{Receiver: c.req.This, Method: c.req.Op},
			"%s has no method %s", c.req.This.Type, c.req.Op)
	}
	return p, nil
}

func destroyCollector(c *call) (any, error) {
	p, err := c.eventPages()
	if err != nil {
		return nil, err
	}
	c.s.history.forget(p)
	c.s.dropFromSession(c.sess, p.Self)
	return &types.DestroyCollectorResponse{}, nil
}

func (h *history) forget(p *eventPages) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, p)
}

func setCollectorPageSize(c *call) (any, error) {
	p, err := c.eventPages()
	if err != nil {
		return nil, err
	}
	size, err := pageSize(body[types.SetCollectorPageSize](c).MaxCount, "maxCount")
	if err != nil {
		return nil, err
	}
	p.size = size
	c.s.feed.object(p.Self)
	return &types.SetCollectorPageSizeResponse{}, nil
}

func rewindCollector(c *call) (any, error) {
	p, err := c.eventPages()
	if err != nil {
		return nil, err
	}
	p.read = 0
	return &types.RewindCollectorResponse{}, nil
}

// readNextEvents gives events in the order they happened, from where the last call ended.
func readNextEvents(c *call) (any, error) {
	p, err := c.eventPages()
	if err != nil {
		return nil, err
	}
	count, err := pageSize(body[types.ReadNextEvents](c).MaxCount, "maxCount")
	if err != nil {
		return nil, err
	}
	list := c.s.history.newest(keptEvents, func(e types.BaseEvent) bool {
		return e.GetEvent().Key > p.read && p.matches(e) && c.concerns(e, p.spec.Entity) && c.maySee(e)
	})
	slices.Reverse(list)
	list = list[:min(count, len(list))]
	if len(list) > 0 {
		p.read = list[len(list)-1].GetEvent().Key
	}
	return &types.ReadNextEventsResponse{Returnval: c.localized(list, p.isFull())}, nil
}

// postEvent records an event.
func (s *Server) postEvent(who string, event types.BaseEvent) {
	m := s.ctx.Map.EventManager()
	sess := simulator.Session{Registry: s.anon.Registry, Map: s.anon.Map}
	sess.UserName = who
	ctx := s.simContext(&sess)
	ctx.WithLock(m, func() { m.PostEvent(ctx, &types.PostEvent{EventToPost: event}) })
}

// argument names an entity in an event.
func (s *Server) argument(ref moRef) types.EntityEventArgument {
	if e, ok := s.ctx.Map.Get(ref).(mo.Entity); ok {
		return types.EntityEventArgument{Name: e.Entity().Name}
	}
	return types.EntityEventArgument{Name: ref.Value}
}
