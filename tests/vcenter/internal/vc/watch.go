// Property filters: what a client has been told of each object, and what is new to tell.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// collector is our side of one property collector of one session.
type collector struct {
	mu      sync.Mutex // held while updates are worked out; guards all but wake and cancel
	version int        // last version handed out
	filters []*filter
	wake    chan struct{} // something may have changed

	cancelMu sync.Mutex
	cancel   chan struct{} // closed to end the pending wait
	gone     chan struct{} // closed when the collector is destroyed
}

func newCollector() *collector {
	return &collector{wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

func (k *collector) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// begin makes a new wait the collector's only one: an older one is cancelled.
func (k *collector) begin() chan struct{} {
	k.cancelMu.Lock()
	defer k.cancelMu.Unlock()
	if k.cancel != nil {
		close(k.cancel)
	}
	k.cancel = make(chan struct{})
	return k.cancel
}

func (k *collector) finish(mine chan struct{}) {
	k.cancelMu.Lock()
	defer k.cancelMu.Unlock()
	if k.cancel == mine {
		k.cancel = nil
	}
}

func (k *collector) cancelWait() {
	k.cancelMu.Lock()
	defer k.cancelMu.Unlock()
	if k.cancel != nil {
		close(k.cancel)
		k.cancel = nil
	}
}

// propertyFilter is the managed object that clients name.
type propertyFilter struct {
	mo.PropertyFilter
	filter *filter
}

type filter struct {
	ref     moRef
	spec    types.PropertyFilterSpec
	partial bool
	owner   *collector
	marks   marks // guarded by the feed

	members map[moRef]bool // selected objects; true for those named directly
	told    map[moRef]*told
	queue   []moRef             // objects to look at
	ahead   *types.ObjectUpdate // worked out to know whether there is more, told next
	queued  map[moRef]bool
}

// told is what the client knows of an object.
type told struct {
	props   map[string]any
	missing map[string]string // path -> fault type
}

// restart forgets what the client was told and looks at everything.
func (x *filter) restart(c *call) error {
	c.s.feed.take(x)
	x.told, x.queue, x.queued, x.ahead = map[moRef]*told{}, nil, map[moRef]bool{}, nil
	x.members = map[moRef]bool{}
	return x.reselect(c)
}

// reselect finds the objects of the filter anew and queues what came and what went.
func (x *filter) reselect(c *call) error {
	sel, err := c.s.selectObjects(c.sess.sim, x.spec, true)
	if err != nil {
		return err
	}
	for ref := range x.told {
		if _, still := sel.found[ref]; !still {
			x.look(ref)
		}
	}
	for _, ref := range sel.order {
		if _, known := x.told[ref]; !known {
			x.look(ref)
		}
	}
	x.members = sel.found
	return nil
}

func (x *filter) look(ref moRef) {
	if !x.queued[ref] {
		x.queued[ref] = true
		x.queue = append(x.queue, ref)
	}
}

// refresh queues what has changed since the last time.
func (x *filter) refresh(c *call) error {
	m := c.s.feed.take(x)
	if m.reselect || m.recheck {
		if err := x.reselect(c); err != nil {
			return err
		}
	}
	if m.recheck {
		for ref := range x.told {
			x.look(ref)
		}
		for ref := range x.members {
			x.look(ref)
		}
	}
	for ref := range m.objects {
		if _, selected := x.members[ref]; selected || x.told[ref] != nil {
			x.look(ref)
		}
	}
	return nil
}

// drain hands out up to limit updates, and tells whether there are more.
func (x *filter) drain(c *call, limit int) (out []types.ObjectUpdate, more bool) {
	for {
		if x.ahead == nil {
			x.ahead = x.next(c)
		}
		if x.ahead == nil || len(out) == limit {
			return out, x.ahead != nil
		}
		out = append(out, *x.ahead)
		x.ahead = nil
	}
}

// next looks at queued objects until one has something new; nil when the queue is empty.
func (x *filter) next(c *call) *types.ObjectUpdate {
	for len(x.queue) > 0 {
		ref := x.queue[0]
		x.queue = x.queue[1:]
		delete(x.queued, ref)
		if u := x.update(c, ref); u != nil {
			return u
		}
	}
	return nil
}

// update compares an object with what the client was told of it; nil if nothing is new.
func (x *filter) update(c *call, ref moRef) *types.ObjectUpdate {
	old := x.told[ref]
	direct, selected := x.members[ref]
	paths, match := pathsFor(ref, x.spec.PropSet)
	now, there := types.ObjectContent{}, false
	if selected && match && (direct || c.visible(ref)) {
		now, there = c.objectContent(ref, paths)
	}
	switch {
	case !there && old == nil:
		return nil
	case !there:
		delete(x.told, ref)
		return &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref}
	}
	u := &types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: ref}
	if old == nil {
		u.Kind, old = types.ObjectUpdateKindEnter, &told{}
	}
	x.told[ref] = x.compare(u, old, now)
	if u.Kind == types.ObjectUpdateKindModify && len(u.ChangeSet) == 0 && len(u.MissingSet) == 0 {
		return nil
	}
	return u
}

// compare writes the differences into an update and returns what the client knows then.
func (x *filter) compare(u *types.ObjectUpdate, old *told, now types.ObjectContent) *told {
	next := &told{props: map[string]any{}, missing: map[string]string{}}
	for _, p := range now.PropSet {
		next.props[p.Name] = p.Val
		was, had := old.props[p.Name]
		switch {
		case had && reflect.DeepEqual(was, p.Val):
		case had && x.partial && keyed(was) && keyed(p.Val):
			u.ChangeSet = append(u.ChangeSet, keyedChanges(p.Name, was, p.Val)...)
		default:
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
		}
	}
	for _, m := range now.MissingSet {
		next.missing[m.Path] = fmt.Sprintf("%T", m.Fault.Fault)
		if old.missing[m.Path] != next.missing[m.Path] {
			u.MissingSet = append(u.MissingSet, m)
		}
	}
	for name := range old.props {
		_, has := next.props[name]
		if _, denied := next.missing[name]; !has && !denied { // became unset: assigned nothing
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign})
		}
	}
	slices.SortFunc(u.ChangeSet, func(a, b types.PropertyChange) int {
		return slices.Index(propNames(now), a.Name) - slices.Index(propNames(now), b.Name)
	})
	return next
}

func propNames(o types.ObjectContent) []string {
	var out []string
	for _, p := range o.PropSet {
		out = append(out, p.Name)
	}
	return out
}

// items are the elements of an array wrapper; none for anything else.
func items(wrapper any) reflect.Value {
	v := settled(reflect.ValueOf(wrapper))
	if v.IsValid() && v.Kind() == reflect.Struct && v.NumField() == 1 && v.Field(0).Kind() == reflect.Slice {
		return v.Field(0)
	}
	return reflect.Value{}
}

// keyed tells whether a value is an array whose elements have keys, so that it can change in parts.
func keyed(wrapper any) bool {
	list := items(wrapper)
	if !list.IsValid() {
		return false
	}
	for i := range list.Len() {
		if keyText(list.Index(i)) == "" {
			return false
		}
	}
	return true
}

// keyText is an array element's key as it stands in a path.
func keyText(v reflect.Value) string {
	k := member(v, "key")
	if !k.IsValid() {
		return ""
	}
	return fmt.Sprint(k.Interface())
}

// keyedChanges tells the elements that were added, removed or changed.
func keyedChanges(name string, was, now any) []types.PropertyChange {
	var out []types.PropertyChange
	before, after := items(was), items(now)
	path := func(v reflect.Value) string {
		if member(v, "key").Kind() == reflect.String {
			return fmt.Sprintf(`%s["%s"]`, name, keyText(v))
		}
		return fmt.Sprintf("%s[%s]", name, keyText(v))
	}
	for i := range after.Len() {
		item := after.Index(i)
		old := keyedItem(before, keyText(item))
		change := types.PropertyChange{Name: path(item), Op: types.PropertyChangeOpAdd, Val: settled(item).Interface()}
		if old.IsValid() {
			if reflect.DeepEqual(old.Interface(), item.Interface()) {
				continue
			}
			change.Op = types.PropertyChangeOpAssign
		}
		out = append(out, change)
	}
	for i := range before.Len() {
		if item := before.Index(i); !keyedItem(after, keyText(item)).IsValid() {
			out = append(out, types.PropertyChange{Name: path(item), Op: types.PropertyChangeOpRemove})
		}
	}
	return out
}
