// Which objects a property filter is about: starting objects, what their traversals lead to, and the
// content of views. Rights are judged afterwards.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// selection collects the objects of one filter in the order they were found; true for those that the
// filter names itself.
type selection struct {
	s     *Server
	sess  *simulator.Session
	named map[string]*types.TraversalSpec
	found map[moRef]bool
	order []moRef
	seen  map[step]bool
}

// step remembers where a traversal has been, which ends loops.
type step struct {
	at   moRef
	spec *types.TraversalSpec
}

// selectObjects finds the objects of a filter; one that does not exist is a fault, unless the filter
// wants such objects reported or is already made.
func (s *Server) selectObjects(sess *simulator.Session, spec types.PropertyFilterSpec, lenient bool) (*selection, error) {
	sel := &selection{s: s, sess: sess, named: map[string]*types.TraversalSpec{}, found: map[moRef]bool{}, seen: map[step]bool{}}
	for _, o := range spec.ObjectSet {
		obj := s.object(sess, o.Obj)
		if obj == nil {
			if lenient || spec.ReportMissingObjectsInResults != nil && *spec.ReportMissingObjectsInResults {
				continue
			}
			return nil, notFound(o.Obj)
		}
		if o.Skip == nil || !*o.Skip {
			sel.add(o.Obj, true)
		}
		if err := sel.follow(obj, o.SelectSet); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

func (sel *selection) add(ref moRef, direct bool) {
	ref.ServerGUID = ""
	if _, known := sel.found[ref]; !known {
		sel.order = append(sel.order, ref)
	}
	sel.found[ref] = sel.found[ref] || direct
}

func (sel *selection) follow(from mo.Reference, set []types.BaseSelectionSpec) error {
	for _, x := range set {
		if t, ok := x.(*types.TraversalSpec); ok && t.Name != "" {
			sel.named[t.Name] = t
		}
	}
	for _, x := range set {
		t, ok := x.(*types.TraversalSpec)
		if !ok {
			if t = sel.named[x.GetSelectionSpec().Name]; t == nil {
				return badArgument("selectSet", "no traversal is named %q", x.GetSelectionSpec().Name)
			}
		}
		if err := sel.traverse(from, t); err != nil {
			return err
		}
	}
	return nil
}

func (sel *selection) traverse(from mo.Reference, t *types.TraversalSpec) error {
	at := step{from.Reference(), t}
	if sel.seen[at] || !isA(at.at.Type, t.Type) {
		return nil
	}
	sel.seen[at] = true
	for _, ref := range sel.s.references(sel.sess, from, t.Path) {
		obj := sel.s.object(sel.sess, ref)
		if obj == nil {
			continue
		}
		if t.Skip == nil || !*t.Skip {
			sel.add(ref, false)
		}
		if err := sel.follow(obj, t.SelectSet); err != nil {
			return err
		}
	}
	return nil
}

// references reads a property that holds references.
func (s *Server) references(sess *simulator.Session, from mo.Reference, path string) []moRef {
	if v, ok := from.(*containerView); ok && path == "view" {
		return s.viewed(v)
	}
	for _, p := range s.readAll(sess, from, []string{path}) {
		switch v := p.Val.(type) {
		case moRef:
			return []moRef{v}
		case *types.ArrayOfManagedObjectReference:
			return v.ManagedObjectReference
		}
	}
	return nil
}

// isA tells whether a managed-object type is another one or derived from it.
func isA(name, base string) bool {
	if name == base {
		return true
	}
	t, ok := managedTypes[name]
	if !ok {
		return false
	}
	f, ok := t.FieldByName(base)
	return ok && f.Anonymous
}

// pathsFor are the properties that a filter wants of an object; false if it is not about that type.
func pathsFor(ref moRef, set []types.PropertySpec) ([]string, bool) {
	var out []string
	match := false
	seen := map[string]bool{}
	for _, p := range set {
		if !isA(ref.Type, p.Type) {
			continue
		}
		match = true
		paths := p.PathSet
		if p.All != nil && *p.All {
			paths = allPaths(managedTypes[ref.Type])
		}
		for _, name := range paths {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out, match
}

// containerView is our own view: what it shows follows the inventory at every look.
type containerView struct {
	mo.ContainerView
}

// viewable are the types that views may ask for, and whether they can be a view's container.
var viewable = map[string]bool{
	"ManagedEntity": true, "Folder": true, "StoragePod": true, "Datacenter": true, "ComputeResource": true,
	"ClusterComputeResource": true, "HostSystem": true, "ResourcePool": true, "VirtualApp": true,
	"VirtualMachine": false, "Datastore": false, "Network": false, "OpaqueNetwork": false,
	"DistributedVirtualPortgroup": false, "DistributedVirtualSwitch": false, "VmwareDistributedVirtualSwitch": false,
}

// createContainerView asks for the right to see the container.
func createContainerView(c *call) (any, error) {
	req := body[types.CreateContainerView](c)
	if c.s.object(c.simSession(), req.Container) == nil {
		return nil, notFound(req.Container)
	}
	if err := c.require(privView, req.Container); err != nil {
		return nil, err
	}
	if !viewable[req.Container.Type] {
		return nil, badArgument("container", "A %s cannot contain anything", req.Container.Type)
	}
	for _, t := range req.Type {
		if _, ok := viewable[t]; !ok {
			return nil, badArgument("type", "%q is no type of the inventory", t)
		}
	}
	v := &containerView{mo.ContainerView{Container: req.Container, Type: req.Type, Recursive: req.Recursive}}
	v.Self.Type = "ContainerView"
	return &types.CreateContainerViewResponse{Returnval: c.sess.sim.Put(v).Reference()}, nil
}

func destroyView(c *call) (any, error) {
	if _, ours := c.s.object(c.sess.sim, c.req.This).(*containerView); !ours {
		return c.s.simulate(c.sess.sim, c.req)
	}
	c.s.dropFromSession(c.sess, c.req.This)
	return &types.DestroyViewResponse{}, nil
}

// dropFromSession takes an object of a session away.
func (s *Server) dropFromSession(x *session, ref moRef) {
	x.sim.Registry.Remove(s.simContext(x.sim), ref)
	s.feed.object(ref)
}

// viewed lists what a view contains, without regard to rights.
func (s *Server) viewed(v *containerView) []moRef {
	var out []moRef
	seen := map[moRef]bool{}
	var walk func(at moRef)
	walk = func(at moRef) {
		for _, child := range s.children(at) {
			if seen[child] {
				continue
			}
			seen[child] = true
			if wanted(child.Type, v.Type) && s.ctx.Map.Get(child) != nil {
				out = append(out, child)
			}
			if v.Recursive && viewable[child.Type] {
				walk(child)
			}
		}
	}
	walk(v.Container)
	return out
}

func wanted(name string, list []string) bool {
	for _, base := range list {
		if base == "ManagedEntity" || isA(name, base) {
			return true
		}
	}
	return len(list) == 0
}

// children are the objects right below a container.
func (s *Server) children(of moRef) []moRef {
	obj := s.ctx.Map.Get(of)
	if obj == nil {
		return nil
	}
	var out []moRef
	ctx := s.simContext(s.anon)
	ctx.WithLock(obj, func() {
		v := managedObject(obj)
		for _, name := range childLists[of.Type] {
			f := v.FieldByName(name)
			if f.Kind() == reflect.Slice {
				out = append(out, f.Interface().([]moRef)...)
			} else if f = settled(f); f.IsValid() {
				out = append(out, f.Interface().(moRef))
			}
		}
	})
	return out
}

var childLists = map[string][]string{
	"Folder":                 {"ChildEntity"},
	"StoragePod":             {"ChildEntity"},
	"Datacenter":             {"VmFolder", "HostFolder", "DatastoreFolder", "NetworkFolder"},
	"ComputeResource":        {"Host", "ResourcePool"},
	"ClusterComputeResource": {"Host", "ResourcePool"},
	"ResourcePool":           {"ResourcePool", "Vm"},
	"VirtualApp":             {"Vm"},
	"HostSystem":             {"Vm"},
}
