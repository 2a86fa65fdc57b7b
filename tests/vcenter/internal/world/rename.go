// Giving a freshly made object the moref that the world file wants, wherever it is referred to.
// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

var refType = reflect.TypeOf(types.ManagedObjectReference{})

// visited remembers pointers with their type: a struct and its first member share an address.
type visited map[place]bool

type place struct {
	address uintptr
	kind    reflect.Type
}

// rename re-keys an object in the registry. It runs before any client has seen the object, so that
// only references inside the inventory have to follow.
func (b *Builder) rename(old types.ManagedObjectReference, value string) (types.ManagedObjectReference, error) {
	if value == "" || value == old.Value {
		return old, nil
	}
	next := types.ManagedObjectReference{Type: old.Type, Value: value}
	reg := b.Model.Map()
	if reg.Get(next) != nil {
		return old, fmt.Errorf("the moref %s is taken", value)
	}
	obj := reg.Get(old)
	reg.Remove(b.Model.Service.Context, old)
	seen := visited{}
	for _, o := range append(reg.AllReference(""), obj) {
		replace(reflect.ValueOf(o), old, next, seen)
	}
	reg.Put(obj.(mo.Reference))
	return next, nil
}

// replace walks exported fields and swaps every occurrence of one reference.
func replace(v reflect.Value, old, next types.ManagedObjectReference, seen visited) {
	switch v.Kind() {
	case reflect.Pointer:
		at := place{v.Pointer(), v.Type()}
		if v.IsNil() || seen[at] {
			return
		}
		seen[at] = true
		replace(v.Elem(), old, next, seen)
	case reflect.Interface:
		if !v.IsNil() {
			replaceBoxed(v, old, next, seen)
		}
	case reflect.Slice:
		for i := 0; i < v.Len(); i++ {
			replace(v.Index(i), old, next, seen)
		}
	case reflect.Struct:
		if v.Type() == refType {
			if v.CanSet() && v.Interface() == any(old) {
				v.Set(reflect.ValueOf(next))
			}
			return
		}
		for _, i := range fieldsToVisit(v.Type()) {
			replace(v.Field(i), old, next, seen)
		}
	}
}

var toVisit sync.Map // []int by reflect.Type

// fieldsToVisit are the exported fields of a struct that may hold a reference: few, since most are numbers and texts. Asked of each type
// once; the walk over the whole inventory, for each of its objects, was a third of the time that a vCenter took to start.
func fieldsToVisit(t reflect.Type) []int {
	if known, ok := toVisit.Load(t); ok {
		return known.([]int)
	}
	var found []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && mayRefer(f.Type) {
			found = append(found, i)
		}
	}
	toVisit.Store(t, found)
	return found
}

func mayRefer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return mayRefer(t.Elem())
	case reflect.Interface, reflect.Struct:
		return true
	}
	return false
}

// replaceBoxed handles values inside interfaces, which can only be exchanged as a whole.
func replaceBoxed(v reflect.Value, old, next types.ManagedObjectReference, seen visited) {
	inner := v.Elem()
	if inner.Type() == refType {
		if v.CanSet() && inner.Interface() == any(old) {
			v.Set(reflect.ValueOf(next))
		}
		return
	}
	replace(inner, old, next, seen)
}
