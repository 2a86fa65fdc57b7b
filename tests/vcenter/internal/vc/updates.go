// Waiting for updates: collectors and filters of a session, versions that count, and the ends that a
// wait can have.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const (
	maxObjectUpdates = 100                  // most updates in one answer, whatever the caller says
	gather           = 2 * time.Millisecond // changes that come together are told together
)

// collectorOf finds or begins the book of a collector; the root collector has one per session.
func (c *call) collectorOf(ref moRef) *collector {
	ref.ServerGUID = c.sess.Key
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.collect[ref] == nil {
		c.s.collect[ref] = newCollector()
	}
	return c.s.collect[ref]
}

func createPropertyCollector(c *call) (any, error) {
	ref := c.sess.sim.Put(&simulator.PropertyCollector{}).Reference()
	return &types.CreatePropertyCollectorResponse{Returnval: ref}, nil
}

func destroyPropertyCollector(c *call) (any, error) {
	if c.req.This == c.s.content().PropertyCollector {
		return nil, wire.Faultf(&types.NotSupported{}, "The session's own property collector cannot be destroyed")
	}
	key := c.req.This
	key.ServerGUID = c.sess.Key
	k := c.collectorOf(c.req.This)
	c.s.mu.Lock()
	delete(c.s.collect, key)
	c.s.mu.Unlock()
	c.s.dropCollector(c.sess, k)
	c.s.dropFromSession(c.sess, c.req.This)
	return &types.DestroyPropertyCollectorResponse{}, nil
}

// dropCollector ends a collector with its filters and its pending wait.
func (s *Server) dropCollector(x *session, k *collector) {
	close(k.gone)
	k.mu.Lock()
	list := k.filters
	k.filters = nil
	k.mu.Unlock()
	for _, f := range list {
		s.feed.remove(f)
		x.sim.Registry.Remove(s.simContext(x.sim), f.ref)
	}
}

func createFilter(c *call) (any, error) {
	req := body[types.CreateFilter](c)
	if err := checkFilters([]types.PropertyFilterSpec{req.Spec}); err != nil {
		return nil, err
	}
	k := c.collectorOf(c.req.This)
	x := &filter{spec: req.Spec, partial: req.PartialUpdates, owner: k}
	if _, err := c.s.selectObjects(c.sess.sim, req.Spec, false); err != nil {
		return nil, err
	}
	c.s.feed.add(x)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := x.restart(c); err != nil {
		c.s.feed.remove(x)
		return nil, err
	}
	obj := &propertyFilter{filter: x}
	obj.Self.Type, obj.Spec, obj.PartialUpdates = "PropertyFilter", req.Spec, req.PartialUpdates
	x.ref = c.sess.sim.Put(obj).Reference()
	k.filters = append(k.filters, x)
	k.poke()
	return &types.CreateFilterResponse{Returnval: x.ref}, nil
}

func destroyPropertyFilter(c *call) (any, error) {
	obj, ok := c.s.object(c.sess.sim, c.req.This).(*propertyFilter)
	if !ok {
		return nil, notFound(c.req.This)
	}
	x := obj.filter
	c.s.feed.remove(x)
	x.owner.mu.Lock()
	x.owner.filters = slices.DeleteFunc(slices.Clone(x.owner.filters), func(f *filter) bool { return f == x })
	x.owner.mu.Unlock()
	c.s.dropFromSession(c.sess, c.req.This)
	return &types.DestroyPropertyFilterResponse{}, nil
}

func cancelWaitForUpdates(c *call) (any, error) {
	c.collectorOf(c.req.This).cancelWait()
	return &types.CancelWaitForUpdatesResponse{}, nil
}

func canceled() error {
	return wire.Faultf(&types.RequestCanceled{}, "The wait was canceled")
}

func waitForUpdates(c *call) (any, error) {
	req := body[types.WaitForUpdatesEx](c)
	limit, wait, err := waitOptions(req.Options)
	if err != nil {
		return nil, err
	}
	set, err := c.nextUpdates(req.Version, limit, wait)
	return &types.WaitForUpdatesExResponse{Returnval: set}, err
}

// waitForUpdatesOld is the way before API 4.1, which waits without a limit; pyvmomi's helpers still go it.
func waitForUpdatesOld(c *call) (any, error) {
	set, err := c.nextUpdates(body[types.WaitForUpdates](c).Version, maxObjectUpdates, nil)
	if err != nil {
		return nil, err
	}
	return &types.WaitForUpdatesResponse{Returnval: *set}, nil
}

// nextUpdates waits for what is new; nil when the time is up.
func (c *call) nextUpdates(version string, limit int, wait <-chan time.Time) (*types.UpdateSet, error) {
	k := c.collectorOf(c.req.This)
	mine := k.begin()
	defer k.finish(mine)
	if err := k.resume(c, version); err != nil {
		return nil, err
	}
	for {
		set, err := k.updates(c, limit)
		if err != nil {
			return nil, err
		}
		if set != nil || version == "" {
			return k.seal(set), nil
		}
		if goOn, err := k.wait(c, mine, wait); !goOn || err != nil {
			return nil, err
		}
	}
}

// waitOptions reads how many updates and how long; no time means until something happens.
func waitOptions(o *types.WaitOptions) (int, <-chan time.Time, error) {
	if o == nil {
		return maxObjectUpdates, nil, nil
	}
	if o.MaxObjectUpdates < 0 || o.MaxWaitSeconds != nil && *o.MaxWaitSeconds < 0 {
		return 0, nil, badArgument("options", "the limits must not be negative")
	}
	limit := maxObjectUpdates
	if n := int(o.MaxObjectUpdates); n > 0 && n < limit {
		limit = n
	}
	if o.MaxWaitSeconds == nil {
		return limit, nil, nil
	}
	return limit, time.After(time.Duration(*o.MaxWaitSeconds) * time.Second), nil
}

// resume checks the version the client has; none begins anew.
func (k *collector) resume(c *call, version string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version != "" {
		if k.version == 0 || version != strconv.Itoa(k.version) {
			return wire.Faultf(&types.InvalidCollectorVersion{}, "The version %q is not valid here", version)
		}
		return nil
	}
	for _, x := range k.filters {
		if err := x.restart(c); err != nil {
			return err
		}
	}
	return nil
}

// updates works out what is new; nil if nothing is.
func (k *collector) updates(c *call, limit int) (*types.UpdateSet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	set := &types.UpdateSet{}
	for _, x := range k.filters {
		if err := x.refresh(c); err != nil {
			return nil, err
		}
		list, more := x.drain(c, limit)
		limit -= len(list)
		if len(list) > 0 {
			set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: x.ref, ObjectSet: list})
		}
		if more {
			set.Truncated = types.NewBool(true)
		}
	}
	if len(set.FilterSet) == 0 {
		return nil, nil
	}
	return set, nil
}

// seal numbers an answer.
func (k *collector) seal(set *types.UpdateSet) *types.UpdateSet {
	if set == nil {
		set = &types.UpdateSet{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version++
	set.Version = strconv.Itoa(k.version)
	return set
}

// wait sleeps until something changed; false when the time is up.
func (k *collector) wait(c *call, mine chan struct{}, limit <-chan time.Time) (bool, error) {
	select {
	case <-k.wake:
		time.Sleep(gather)
		return true, nil
	case <-limit:
		return false, nil
	case <-mine:
		return false, canceled()
	case <-k.gone:
		return false, c.missing()
	case <-c.sess.dead:
		return false, c.notAuthenticated()
	case <-c.r.Context().Done():
		return false, errors.New("the client went away")
	}
}
