// The strict decoder: XML to govmomi values, refusing whatever a real server refuses.
// SPDX-License-Identifier: GPL-3.0-or-later
package wire

import (
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

type decoder struct{ version string }

// structure fills a struct from an element's children, which must come in wire order.
func (d *decoder) structure(n *Node, v reflect.Value, path string) error {
	if v.Type() == moRefType {
		return d.reference(n, v, path)
	}
	if strings.TrimSpace(n.Text) != "" {
		return Invalid("unexpected text in <%s>", path)
	}
	members := Members(v.Type())
	at, seen := 0, make([]int, len(members))
	for _, c := range n.Children {
		i, err := d.place(c, members, at, path)
		if err != nil {
			return err
		}
		for ; at < i; at++ {
			if err := d.leave(members[at], seen[at], path); err != nil {
				return err
			}
		}
		if seen[i]++; seen[i] > 1 && !members[i].Array {
			return Invalid("element <%s> occurs more than once in %s", c.Name.Local, path)
		}
		if err := d.member(c, members[i], v.FieldByIndex(members[i].Index), path+"."+c.Name.Local); err != nil {
			return err
		}
	}
	for ; at < len(members); at++ {
		if err := d.leave(members[at], seen[at], path); err != nil {
			return err
		}
	}
	return nil
}

// place finds which member a child is and refuses unknown, too new and misplaced ones.
func (d *decoder) place(c *Node, members []Member, at int, path string) (int, error) {
	if c.Name.Space != NsVim {
		return 0, Invalid("element <%s> in %s is in namespace %q instead of %q", c.Name.Local, path, c.Name.Space, NsVim)
	}
	for i, m := range members {
		if m.Name != c.Name.Local {
			continue
		}
		if Less(d.version, m.Since) {
			return 0, Invalid("Unexpected element tag \"%s\" seen while parsing %s: it came with %s, the call is made under %s",
				m.Name, path, m.Since, d.version)
		}
		if i < at {
			return 0, Invalid("Unexpected element tag \"%s\" seen while parsing %s: it must come before <%s>",
				m.Name, path, members[at].Name)
		}
		return i, nil
	}
	return 0, Invalid("Unexpected element tag \"%s\" seen while parsing %s: no such member", c.Name.Local, path)
}

// leave is asked when the cursor passes a member: mandatory ones must have been there.
func (d *decoder) leave(m Member, seen int, path string) error {
	if seen == 0 && !m.Optional && !Less(d.version, m.Since) {
		return Invalid("missing mandatory element <%s> in %s", m.Name, path)
	}
	return nil
}

func (d *decoder) member(n *Node, m Member, field reflect.Value, path string) error {
	item := reflect.New(m.Type).Elem()
	if err := d.value(n, item, path); err != nil {
		return err
	}
	switch {
	case m.Array:
		field.Set(reflect.Append(field, fit(item, field.Type().Elem())))
	default:
		field.Set(fit(item, field.Type()))
	}
	return nil
}

// fit turns a value into the pointer that a member may want.
func fit(v reflect.Value, want reflect.Type) reflect.Value {
	if want.Kind() != reflect.Pointer || v.Kind() == reflect.Pointer {
		return v
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

func (d *decoder) value(n *Node, v reflect.Value, path string) error {
	if v.Kind() == reflect.Interface {
		return d.polymorphic(n, v, path)
	}
	if err := d.statedType(n, v.Type(), path); err != nil {
		return err
	}
	if v.Kind() == reflect.Struct && v.Type() != timeType {
		return d.structure(n, v, path)
	}
	if len(n.Children) > 0 {
		return Invalid("Unexpected element tag \"%s\" seen while parsing %s: a plain value is expected", n.Children[0].Name.Local, path)
	}
	return scalar(strings.TrimSpace(n.Text), n.Text, v, path)
}

// statedType checks an xsi:type on a member that is not polymorphic: it may only repeat the truth.
func (d *decoder) statedType(n *Node, t reflect.Type, path string) error {
	stated, ok := n.Attr(NsXSI, "type")
	if !ok {
		return nil
	}
	got, err := d.resolve(n, stated, path)
	if err != nil {
		return err
	}
	if got.Kind() != t.Kind() || got.Kind() == reflect.Struct && got != t {
		return Invalid("xsi:type %q does not fit <%s>", stated, path)
	}
	return nil
}

// resolve finds the Go type behind an xsi:type, by namespace and not by spelling of the prefix.
func (d *decoder) resolve(n *Node, stated, path string) (reflect.Type, error) {
	q, err := n.QName(stated)
	if err != nil {
		return nil, Invalid("xsi:type %q of <%s>: %v", stated, path, err)
	}
	if q.Space == NsXSD {
		if t, ok := xsdTypes[q.Local]; ok {
			return t, nil
		}
	}
	if q.Space == NsVim {
		if t, ok := typeByName(q.Local); ok && !strings.HasPrefix(q.Local, "Base") {
			return t, nil
		}
	}
	return nil, Invalid("xsi:type %q of <%s> names no known type ({%s}%s)", stated, path, q.Space, q.Local)
}

func (d *decoder) polymorphic(n *Node, v reflect.Value, path string) error {
	stated, has := n.Attr(NsXSI, "type")
	base := BaseName(v.Type())
	var t reflect.Type
	switch {
	case has:
		var err error
		if t, err = d.resolve(n, stated, path); err != nil {
			return err
		}
	case base == "":
		return Invalid("<%s> is of anyType and must state its xsi:type", path)
	default:
		t, _ = typeByName(base)
	}
	if t == nil {
		return Invalid("<%s> must state its xsi:type", path)
	}
	item := reflect.New(t)
	if !item.Type().Implements(v.Type()) {
		return Invalid("xsi:type %q of <%s> is not a %s", stated, path, base)
	}
	if err := d.inner(n, item.Elem(), path); err != nil {
		return err
	}
	if base == "" {
		item = item.Elem()
	}
	v.Set(item)
	return nil
}

// inner decodes the content of a polymorphic element whose type is settled.
func (d *decoder) inner(n *Node, v reflect.Value, path string) error {
	if v.Kind() == reflect.Struct && v.Type() != timeType {
		return d.structure(n, v, path)
	}
	if len(n.Children) > 0 {
		return Invalid("Unexpected element tag \"%s\" seen while parsing %s", n.Children[0].Name.Local, path)
	}
	return scalar(strings.TrimSpace(n.Text), n.Text, v, path)
}

func (d *decoder) reference(n *Node, v reflect.Value, path string) error {
	kind, ok := n.Attr("", "type")
	value := strings.TrimSpace(n.Text)
	if !ok || kind == "" || value == "" || len(n.Children) > 0 {
		return Invalid("<%s> is no managed object reference: it needs a type attribute and an id", path)
	}
	guid, _ := n.Attr("", "serverGuid")
	v.Set(reflect.ValueOf(types.ManagedObjectReference{Type: kind, Value: value, ServerGUID: guid}))
	return nil
}

// enumValue tells whether a string is among the values of an enumeration type.
func enumValue(v reflect.Value, text string) bool {
	e, ok := v.Interface().(interface{ Strings() []string })
	return !ok || slices.Contains(e.Strings(), text)
}
