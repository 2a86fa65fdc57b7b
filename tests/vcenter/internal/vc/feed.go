// The feed of changes: whatever changes in the inventory, in rights or in our own books is noted in
// every property filter, and waiting calls wake up. What a change means is found out by looking again.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// feed hears of every change of the simulator's inventory.
type feed struct {
	s       *Server
	mu      sync.Mutex // guards the marks of all filters too
	filters map[*filter]struct{}
}

// marks is what has changed for a filter since it was last looked at.
type marks struct {
	objects  map[moRef]struct{}
	reselect bool // objects came, went or moved: the selection must be made anew
	recheck  bool // rights changed: every object must be looked at
}

var feedRef = moRef{Type: "Feed", Value: "feed"}

func newFeed(s *Server) *feed {
	f := &feed{s: s, filters: map[*filter]struct{}{}}
	s.ctx.Map.AddHandler(f)
	return f
}

func (f *feed) Reference() moRef { return feedRef }

func (f *feed) PutObject(_ *simulator.Context, obj mo.Reference) {
	f.note(obj.Reference(), true, false)
}

// UpdateObject is called while the object is locked.
func (f *feed) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	ref := obj.Reference()
	if ref == f.s.history.source {
		f.s.history.hear(f.s, obj.(*mo.EventHistoryCollector))
		return
	}
	moved := false
	for _, c := range changes {
		moved = moved || c.Name == "parent"
	}
	f.note(ref, structural(changes), moved)
}

// RemoveObject is called before the object is gone.
func (f *feed) RemoveObject(_ *simulator.Context, ref moRef) {
	go func() {
		for range 2000 {
			if f.s.ctx.Map.Get(ref) == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		f.note(ref, true, false)
	}()
}

// structural tells whether changes can make other objects enter or leave a selection.
func structural(changes []types.PropertyChange) bool {
	for _, c := range changes {
		switch c.Name {
		case "parent", "childEntity", "host", "vm", "resourcePool", "datastore", "network", "view", "runtime.host":
			return true
		}
	}
	return false
}

// object notes that something about an object of our own books changed.
func (f *feed) object(ref moRef) { f.note(ref, false, false) }

// rights notes that anybody may see more or less than before.
func (f *feed) rights() { f.note(feedRef, false, true) }

func (f *feed) note(ref moRef, reselect, recheck bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for x := range f.filters {
		if x.marks.objects == nil {
			x.marks.objects = map[moRef]struct{}{}
		}
		x.marks.objects[ref] = struct{}{}
		x.marks.reselect = x.marks.reselect || reselect
		x.marks.recheck = x.marks.recheck || recheck
		x.owner.poke()
	}
}

func (f *feed) add(x *filter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filters[x] = struct{}{}
}

func (f *feed) remove(x *filter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.filters, x)
}

// take hands out what has changed for a filter and begins anew.
func (f *feed) take(x *filter) marks {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := x.marks
	x.marks = marks{}
	return m
}
