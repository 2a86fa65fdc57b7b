// Reading properties: the simulator collects, we judge. What a caller may not read becomes missingSet,
// what he may not see is left out.
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

// propertyPrivileges holds the properties that need something else than System.Read; from VMware's
// published type information.
var propertyPrivileges = map[string]string{
	"name": privView, "parent": privView, "customValue": privView, "effectiveRole": privView,
	"declaredAlarmState": privView, "triggeredAlarmState": privView, "tag": privView,
	"Folder.childType": privView, "Folder.childEntity": privView, "Folder.namespace": privView,
	"Datacenter.vmFolder": privView, "Datacenter.hostFolder": privView, "Datacenter.configuration": privView,
	"Datacenter.datastoreFolder": privView, "Datacenter.networkFolder": privView,
	"ComputeResource.resourcePool": privView, "ComputeResource.host": privView,
	"ComputeResource.datastore": privView, "ComputeResource.network": privView,
	"ClusterComputeResource.resourcePool": privView, "ClusterComputeResource.host": privView,
	"ClusterComputeResource.datastore": privView, "ClusterComputeResource.network": privView,
	"ResourcePool.owner": privView, "ResourcePool.resourcePool": privView, "ResourcePool.vm": privView,
	"HostSystem.datastore": privView, "HostSystem.network": privView,
	"VirtualMachine.datastore": privView, "VirtualMachine.network": privView,
	"SessionManager.sessionList": "Sessions.TerminateSession", "SessionManager.currentSession": privAnon,
	"SessionManager.message": privView, "SessionManager.messageLocaleList": privAnon,
	"SessionManager.supportedLocaleList": privAnon, "SessionManager.defaultLocale": privAnon,
	"ServiceInstance.content": privAnon, "ServiceInstance.serverClock": privView,
	"ServiceInstance.capability": privView,
}

// readPrivilege is what reading a property of an object asks for.
func (s *Server) readPrivilege(obj moRef, path string) string {
	head := path[:len(path)-len(strings.TrimLeft(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))]
	if p, ok := propertyPrivileges[obj.Type+"."+head]; ok {
		return p
	}
	if !s.isEntity(obj) && obj.Type != "Task" {
		return privView
	}
	if p, ok := propertyPrivileges[head]; ok {
		return p
	}
	return privRead
}

// seat is where rights on an object are looked up: tasks at the entity they work on.
func (s *Server) seat(obj moRef) moRef {
	if t, ok := s.ctx.Map.Get(obj).(interface{ Reference() moRef }); ok && obj.Type == "Task" {
		if e := reflect.ValueOf(t).Elem().FieldByName("Info").FieldByName("Entity"); e.IsValid() && !e.IsNil() {
			return e.Elem().Interface().(moRef)
		}
	}
	return obj
}

// denial tells why a property may not be read; nil if it may.
func (c *call) denial(obj moRef, path string) types.BaseMethodFault {
	privilege := c.s.readPrivilege(obj, path)
	if privilege == privAnon {
		return nil
	}
	on := c.s.seat(obj)
	judged := on
	if !c.s.isEntity(on) {
		judged = c.s.root
	}
	np := types.NoPermission{Object: &judged, PrivilegeId: privilege}
	if c.sess == nil {
		return &types.NotAuthenticated{NoPermission: np}
	}
	if c.s.has(c.sess.who, on, privilege) || c.startedTask(obj) {
		return nil
	}
	return &np
}

// startedTask tells whether a task is the caller's own, who may follow it whatever becomes of its object.
func (c *call) startedTask(ref moRef) bool {
	if ref.Type != "Task" {
		return false
	}
	t := c.s.tasks.find(ref)
	return t != nil && t.user == c.sess.UserName
}

// visible tells whether an object may show up at all in views and references.
func (c *call) visible(ref moRef) bool {
	if ref.Type == "Task" {
		if c.sess == nil || c.startedTask(ref) {
			return c.sess != nil
		}
		ref = c.s.seat(ref)
	}
	if !c.s.isEntity(ref) {
		return true
	}
	return c.sess != nil && c.s.has(c.sess.who, ref, privView)
}

// collectProperties runs a retrieval: selects, reads and judges.
func (c *call) collectProperties(specs []types.PropertyFilterSpec) ([]types.ObjectContent, error) {
	if err := checkFilters(specs); err != nil {
		return nil, err
	}
	var out []types.ObjectContent
	at := map[moRef]int{}
	for _, f := range specs {
		sel, err := c.s.selectObjects(c.simSession(), f, false)
		if err != nil {
			return nil, err
		}
		for _, ref := range sel.order {
			paths, match := pathsFor(ref, f.PropSet)
			if _, known := at[ref]; known || !match || !sel.found[ref] && !c.visible(ref) {
				continue
			}
			if o, ok := c.objectContent(ref, paths); ok {
				at[ref] = len(out)
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// objectContent reads an object as the caller may see it; what he may not read is in missingSet.
// False if the object is gone.
func (c *call) objectContent(ref moRef, paths []string) (types.ObjectContent, bool) {
	out := types.ObjectContent{Obj: ref}
	obj := c.s.object(c.simSession(), ref)
	if obj == nil {
		return out, false
	}
	asked := map[string]types.BaseMethodFault{}
	var may []string
	for _, path := range paths {
		privilege := c.s.readPrivilege(ref, path)
		fault, known := asked[privilege]
		if !known {
			fault = c.denial(ref, path)
			asked[privilege] = fault
		}
		if fault == nil {
			may = append(may, path)
			continue
		}
		out.MissingSet = append(out.MissingSet, types.MissingProperty{
			Path: path, Fault: types.LocalizedMethodFault{Fault: fault,
				LocalizedMessage: "Permission to perform this operation was denied."}})
	}
	out.PropSet = c.truth(obj, may)
	for i, p := range out.PropSet {
		out.PropSet[i].Val = c.shown(ref, p.Name, p.Val)
	}
	return out, true
}

// truth reads properties: from our own books where they are kept there, else from the inventory.
func (c *call) truth(obj mo.Reference, paths []string) []types.DynamicProperty {
	switch v := obj.(type) {
	case *simulator.VirtualMachine:
		obj = c.s.asRead(v)
	case *containerView:
		now := *v
		now.View = c.s.viewed(v)
		obj = &now
	case *eventPages:
		return c.eventProps(v, paths)
	}
	switch ref := obj.Reference(); {
	case ref.Type == "SessionManager":
		return c.sessionManagerProps(paths)
	case ref.Type == "EventManager" && slices.Contains(paths, "latestEvent"):
		rest := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == "latestEvent" })
		return append(c.s.readAll(c.simSession(), obj, rest), c.latestEvent()...)
	}
	return c.s.readAll(c.simSession(), obj, paths)
}

// shown is the value as the caller may see it.
func (c *call) shown(obj moRef, path string, val any) any {
	switch {
	case path == "permission" && c.s.isEntity(obj):
		return &types.ArrayOfPermission{Permission: c.s.permissionsOn(obj, false)}
	case path == "effectiveRole" && c.s.isEntity(obj) && c.sess != nil:
		return &types.ArrayOfInt{Int: c.s.effectiveRoles(c.sess.who, obj)}
	}
	var refs []moRef
	switch v := val.(type) {
	case *types.ArrayOfManagedObjectReference:
		refs = v.ManagedObjectReference
	case types.ArrayOfManagedObjectReference:
		refs = v.ManagedObjectReference
	default:
		return val
	}
	refs = slices.DeleteFunc(slices.Clone(refs), func(r moRef) bool { return !c.visible(r) })
	return &types.ArrayOfManagedObjectReference{ManagedObjectReference: refs}
}

// sessionManagerProps answers the SessionManager's properties from our own sessions.
func (c *call) sessionManagerProps(paths []string) []types.DynamicProperty {
	locales := []string{"en", "de", "fr", "ja"}
	c.s.mu.Lock()
	truth := mo.SessionManager{
		SessionList: c.s.sessionList(), MessageLocaleList: locales, SupportedLocaleList: locales, DefaultLocale: "en"}
	if c.sess != nil {
		own := c.s.reported(c.sess)
		truth.CurrentSession = &own
	}
	c.s.mu.Unlock()
	var out []types.DynamicProperty
	for _, path := range paths {
		if val := readPath(reflect.ValueOf(truth), path); val != nil {
			out = append(out, types.DynamicProperty{Name: path, Val: val})
		}
	}
	return out
}

func badToken(token string) *wire.Fault {
	return wire.Faultf(&types.InvalidArgument{InvalidProperty: "token"}, "The token %q is not valid", token)
}
