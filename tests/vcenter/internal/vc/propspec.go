// Checking property specifications by reflection on govmomi's managed-object types: an unknown type
// or path faults the whole call, as it does on a real server.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// managedTypes are the managed-object types that specs may name, base types included.
var managedTypes = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, v := range []any{
		mo.ManagedEntity{}, mo.Folder{}, mo.StoragePod{}, mo.Datacenter{}, mo.ComputeResource{},
		mo.ClusterComputeResource{}, mo.HostSystem{}, mo.ResourcePool{}, mo.VirtualApp{}, mo.VirtualMachine{},
		mo.Datastore{}, mo.Network{}, mo.OpaqueNetwork{}, mo.DistributedVirtualPortgroup{},
		mo.DistributedVirtualSwitch{}, mo.VmwareDistributedVirtualSwitch{}, mo.Task{}, mo.TaskManager{},
		mo.EventManager{}, mo.EventHistoryCollector{}, mo.TaskHistoryCollector{}, mo.SessionManager{},
		mo.AuthorizationManager{}, mo.ExtensionManager{}, mo.ServiceInstance{}, mo.ViewManager{}, mo.View{},
		mo.ManagedObjectView{}, mo.ContainerView{}, mo.ListView{}, mo.InventoryView{}, mo.PropertyCollector{},
		mo.PropertyFilter{}, mo.OptionManager{}, mo.SearchIndex{}, mo.UserDirectory{}, mo.AlarmManager{}, mo.Alarm{},
		mo.CustomFieldsManager{}, mo.LicenseManager{}, mo.PerformanceManager{}, mo.HostDatastoreSystem{},
		mo.HostNetworkSystem{}, mo.HostStorageSystem{}, mo.EnvironmentBrowser{}, mo.OvfManager{}, mo.HttpNfcLease{},
		mo.ScheduledTaskManager{}, mo.CustomizationSpecManager{}, mo.GuestOperationsManager{},
	} {
		t := reflect.TypeOf(v)
		out[t.Name()] = t
	}
	return out
}()

func checkFilters(specs []types.PropertyFilterSpec) error {
	for _, f := range specs {
		for _, p := range f.PropSet {
			if err := checkProperties(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkProperties(p types.PropertySpec) error {
	t, ok := managedTypes[p.Type]
	if !ok {
		return wire.Faultf(&types.InvalidType{Argument: p.Type}, "%q is not a managed object type", p.Type)
	}
	for _, path := range p.PathSet {
		if !validPath(t, path) {
			return wire.Faultf(&types.InvalidProperty{Name: path}, "%s has no property %q", p.Type, path)
		}
	}
	return nil
}

// validPath follows a dotted path, with an optional [key] after an array.
func validPath(t reflect.Type, path string) bool {
	candidates := []reflect.Type{t}
	for path != "" {
		name, rest := path, ""
		if i := strings.IndexAny(path, ".["); i >= 0 {
			name, rest = path[:i], path[i:]
		}
		keyed := false
		if strings.HasPrefix(rest, "[") {
			i := strings.IndexByte(rest, ']')
			if i < 2 {
				return false
			}
			keyed, rest = true, rest[i+1:]
		}
		if candidates = stepInto(candidates, name, keyed); len(candidates) == 0 {
			return false
		}
		path = strings.TrimPrefix(rest, ".")
		if rest == "." || rest != "" && !strings.HasPrefix(rest, ".") {
			return false
		}
	}
	return true
}

// stepInto finds a member in any of the candidate types and returns what it can lead to.
func stepInto(from []reflect.Type, name string, keyed bool) []reflect.Type {
	var out []reflect.Type
	for _, t := range from {
		for _, s := range structsBehind(t) {
			f, ok := s.FieldByName(strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):])
			if !ok || name == "" || f.Anonymous || name == "self" || wireName(f) != name {
				continue
			}
			ft := f.Type
			if keyed {
				if ft.Kind() != reflect.Slice {
					continue
				}
				ft = ft.Elem()
			}
			out = append(out, ft)
		}
	}
	return out
}

func wireName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("xml"), ","); name != "" {
		return name
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// structsBehind lists the struct types that a value of type t may be; arrays lead nowhere.
func structsBehind(t reflect.Type) []reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return []reflect.Type{t}
	case reflect.Interface:
		base, ok := wire.Lookup(wire.BaseName(t))
		if !ok {
			return nil
		}
		return append(subtypes[base], base)
	}
	return nil
}

// subtypes holds the derived types that paths through polymorphic members commonly mean.
var subtypes = func() map[reflect.Type][]reflect.Type {
	out := map[reflect.Type][]reflect.Type{}
	add := func(base any, derived ...any) {
		for _, d := range derived {
			out[reflect.TypeOf(base)] = append(out[reflect.TypeOf(base)], reflect.TypeOf(d))
		}
	}
	add(types.ComputeResourceSummary{}, types.ClusterComputeResourceSummary{})
	add(types.ComputeResourceConfigInfo{}, types.ClusterConfigInfoEx{})
	add(types.NetworkSummary{}, types.OpaqueNetworkSummary{})
	add(types.DatastoreInfo{}, types.VmfsDatastoreInfo{}, types.NasDatastoreInfo{}, types.LocalDatastoreInfo{})
	add(types.ResourcePoolSummary{}, types.VirtualAppSummary{})
	return out
}()
