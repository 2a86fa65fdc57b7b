// Reading one property of one object: found by reflection under the object's lock and copied, so that
// later changes of the inventory do not reach what a caller was given.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"path"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// managedObject digs the managed object of govmomi's mo package out of the simulator's wrapper.
func managedObject(obj mo.Reference) reflect.Value {
	if o, ok := obj.(interface{ Get() mo.Reference }); ok {
		obj = o.Get()
	}
	v := reflect.ValueOf(obj).Elem()
	for path.Base(v.Type().PkgPath()) != "mo" {
		if v = v.Field(0); v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
	}
	return v
}

// readAll reads properties of an object; those that are unset are left out.
func (s *Server) readAll(sess *simulator.Session, obj mo.Reference, paths []string) []types.DynamicProperty {
	var out []types.DynamicProperty
	ctx := s.simContext(sess)
	ctx.WithLock(obj, func() {
		v := managedObject(obj)
		for _, p := range paths {
			if val := readPath(v, p); val != nil {
				out = append(out, types.DynamicProperty{Name: p, Val: val})
			}
		}
	})
	return out
}

// readPath follows a dotted path, with an optional key after an array; nil where it leads to nothing.
func readPath(v reflect.Value, p string) any {
	for p != "" {
		var name, key string
		name, key, p = cutPath(p)
		if v = member(v, name); !v.IsValid() {
			return nil
		}
		if key != "" {
			if v = keyedItem(v, key); !v.IsValid() {
				return nil
			}
		}
	}
	return handedOut(v)
}

// cutPath takes the first step off a path: its name, the key in brackets, and the rest.
func cutPath(p string) (name, key, rest string) {
	i := strings.IndexAny(p, ".[")
	if i < 0 {
		return p, "", ""
	}
	name, rest = p[:i], p[i:]
	if rest[0] == '[' {
		j := strings.IndexByte(rest, ']')
		key, rest = strings.Trim(rest[1:j], `"`), rest[j+1:]
	}
	return name, key, strings.TrimPrefix(rest, ".")
}

func settled(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

func member(v reflect.Value, name string) reflect.Value {
	if v = settled(v); v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(strings.ToUpper(name[:1]) + name[1:])
}

func keyedItem(list reflect.Value, key string) reflect.Value {
	for i := 0; list.Kind() == reflect.Slice && i < list.Len(); i++ {
		if keyText(list.Index(i)) == key {
			return list.Index(i)
		}
	}
	return reflect.Value{}
}

// handedOut is a copy of a value in the form that travels: arrays in their wrappers.
func handedOut(v reflect.Value) any {
	if v = settled(v); !v.IsValid() || v.Kind() == reflect.String && v.Len() == 0 {
		return nil
	}
	if v.Kind() != reflect.Slice {
		return copied(v).Interface()
	}
	name := v.Type().Elem().Name()
	if v.Type().Elem().Kind() == reflect.Interface {
		name = wire.BaseName(v.Type().Elem())
	}
	wrapper, item := arrayNames(name)
	t, ok := wire.Lookup(wrapper)
	if !ok {
		return nil
	}
	out := reflect.New(t)
	out.Elem().FieldByName(item).Set(copied(v))
	return out.Interface()
}

// arrayNames are the names of an array's wrapper and of its member in govmomi's types.
func arrayNames(item string) (wrapper, field string) {
	switch item {
	case "uint8":
		item = "Byte"
	case "int16":
		item = "Short"
	case "int32":
		item = "Int"
	case "int64":
		item = "Long"
	case "string", "bool":
		item = map[string]string{"string": "String", "bool": "Boolean"}[item]
	}
	return "ArrayOf" + item, item
}

// copied is a copy that shares nothing with the original.
func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	copyInto(out, v)
	return out
}

func copyInto(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyInto(to.Elem(), from.Elem())
		}
	case reflect.Interface:
		if !from.IsNil() {
			to.Set(copied(from.Elem()))
		}
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			copyInto(to.Index(i), from.Index(i))
		}
	case reflect.Struct:
		to.Set(from)
		for i := range from.NumField() {
			if f := from.Type().Field(i); f.IsExported() && holdsPointers(f.Type) {
				to.Field(i).SetZero()
				copyInto(to.Field(i), from.Field(i))
			}
		}
	default:
		to.Set(from)
	}
}

func holdsPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Struct:
		return true
	}
	return false
}

// allPaths lists the properties that an object's type has, for specs that ask for all.
func allPaths(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous:
			out = append(out, allPaths(f.Type)...)
		case f.Name != "Self":
			out = append(out, wireName(f))
		}
	}
	return out
}
