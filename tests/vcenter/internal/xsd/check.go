// The comparison. Types that we send must be those of govmomi exactly; types that we only receive may
// leave members out and call them optional.
// SPDX-License-Identifier: GPL-3.0-or-later
package xsd

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kaas.test/vcenter/internal/wire"
)

// Ceiling is the newest version that the project speaks: younger members may be missing.
const Ceiling = "8.0.3.0"

// ours are types of the schema that govmomi does not know: one is never on the wire, the other reads any class of event by
// its members.
var ours = []string{"PrimitiveHolder", "AnyEvent"}

// unsent are members that the project never sends, of types that it sends.
var unsent = map[string][]string{"request PostEvent": {"taskInfo"}, "type EventEx": {"fault"}, "type AlarmSpec": {"action"}}

// partly are types of which the project sends a few members, never what it has read before: the others stay as the server has
// them. So are all devices.
var partly = []string{"VirtualMachineCloneSpec", "VirtualMachineRelocateSpec", "VirtualMachineConfigSpec", "VirtualDeviceConfigSpec"}

func isPartly(name string, real reflect.Type) bool {
	_, isDevice := reflect.PointerTo(real).MethodByName("GetVirtualDevice")
	return slices.Contains(partly, name) || isDevice
}

// posted are the events that the project sends; the others it reads.
var posted = []string{"EventEx"}

type checker struct {
	s    *Schema
	sent map[string]bool
	out  []string
}

// Check compares a schema with govmomi's types and returns every difference.
func Check(s *Schema) []string {
	c := &checker{s: s, sent: map[string]bool{}}
	c.findSent()
	for name, t := range s.Types {
		if slices.Contains(ours, name) {
			continue
		}
		if real, ok := wire.Lookup(name); !ok {
			c.report("type %s: govmomi knows no such type", name)
		} else {
			c.compare("type "+name, c.flat(t), real, c.sent[name], isPartly(name, real))
		}
	}
	for name, t := range s.Elements {
		c.element(name, t)
	}
	for name, kind := range s.Aliases {
		if fault, ok := strings.CutSuffix(name, "Fault"); !ok || fault != kind {
			c.report("element %s: a fault's element is its type's name followed by Fault, not of type %s", name, kind)
		}
	}
	for name := range s.Simple {
		if t, ok := wire.Lookup(name); !ok || t.Kind() != reflect.String {
			c.report("simpleType %s: govmomi knows no such enumeration", name)
		}
	}
	slices.Sort(c.out)
	return c.out
}

// Sent lists the types that requests reach; for the tool's summary.
func Sent(s *Schema) []string {
	c := &checker{s: s, sent: map[string]bool{}}
	c.findSent()
	var out []string
	for name := range c.sent {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (c *checker) report(format string, args ...any) {
	c.out = append(c.out, fmt.Sprintf(format, args...))
}

func (c *checker) element(name string, t *Type) {
	if real, ok := wire.RequestType(name); ok {
		c.compare("request "+name, t.Members, real, true, false)
		return
	}
	op, isAnswer := strings.CutSuffix(name, "Response")
	if real, ok := answers[name]; isAnswer && ok {
		c.compare("answer "+name, t.Members, reflect.TypeOf(real), false, false)
		return
	}
	if _, ok := wire.RequestType(op); isAnswer && ok {
		c.report("answer %s: not in xsdcheck's table of answers, add it there", name)
		return
	}
	c.report("element %s: govmomi knows no such operation", name)
}

// findSent follows the requests to every type that can be sent, subtypes of polymorphic members included.
func (c *checker) findSent() {
	for name, t := range c.s.Elements {
		if real, ok := wire.RequestType(name); ok {
			c.reach(t.Members, real)
		}
	}
}

func (c *checker) reach(members []Member, real reflect.Type) {
	byName := map[string]wire.Member{}
	for _, m := range wire.Members(real) {
		byName[m.Name] = m
	}
	for _, m := range members {
		if g, ok := byName[m.Name]; ok && g.Poly && wire.BaseName(g.Type) != "" {
			for name := range c.s.Types {
				if wire.BaseName(g.Type) == "Event" && !slices.Contains(posted, name) {
					continue
				}
				if t, ok := wire.Lookup(name); ok && reflect.PointerTo(t).Implements(g.Type) {
					c.visit(name)
				}
			}
		}
		c.visit(m.Type)
	}
}

func (c *checker) visit(name string) {
	t, ok := c.s.Types[name]
	real, known := wire.Lookup(name)
	if !ok || !known || c.sent[name] {
		return
	}
	c.sent[name] = true
	c.reach(c.flat(t), real)
}

// flat lists inherited members first.
func (c *checker) flat(t *Type) []Member {
	if t.Base == "" {
		return t.Members
	}
	base, ok := c.s.Types[t.Base]
	if !ok {
		c.report("type %s: its base %s is not declared", t.Name, t.Base)
		return t.Members
	}
	return append(slices.Clone(c.flat(base)), t.Members...)
}

// compare walks both lists side by side.
func (c *checker) compare(where string, have []Member, real reflect.Type, sent, partly bool) {
	if real.Kind() != reflect.Struct {
		c.report("%s: govmomi's type is no structure", where)
		return
	}
	want := wire.Members(real)
	at := 0
	for _, m := range have {
		i := slices.IndexFunc(want, func(w wire.Member) bool { return w.Name == m.Name })
		switch {
		case i < 0:
			c.report("%s: element %s does not exist in govmomi", where, m.Name)
			continue
		case i < at:
			c.report("%s: element %s must come before %s", where, m.Name, want[at-1].Name)
			continue
		}
		c.skipped(where, want[at:i], sent && !partly)
		c.member(where+"."+m.Name, m, want[i], sent)
		at = i + 1
	}
	c.skipped(where, want[at:], sent && !partly)
}

// skipped members are errors in types that we send, unless they are younger than what we speak.
func (c *checker) skipped(where string, list []wire.Member, sent bool) {
	for _, m := range list {
		if sent && !wire.Less(Ceiling, m.Since) && !slices.Contains(unsent[where], m.Name) {
			c.report("%s: element %s is missing, and this type is sent", where, m.Name)
		}
	}
}

func (c *checker) member(where string, have Member, want wire.Member, sent bool) {
	// gSOAP cannot have arrays of anyType: one item of a polymorphic array is the project's rule.
	single := want.Poly && have.Type == "xsd:anyType" && !have.Array
	if have.Array != want.Array && !single {
		c.report("%s: array here %v, in govmomi %v", where, have.Array, want.Array)
	}
	if sent && have.Optional != want.Optional {
		c.report("%s: optional here %v, in govmomi %v, and this type is sent", where, have.Optional, want.Optional)
	}
	if !sent && want.Optional && !have.Optional {
		c.report("%s: mandatory here, optional in govmomi", where)
	}
	if !c.sameType(have.Type, want) {
		c.report("%s: type %s here, %s in govmomi", where, have.Type, wire.XSDName(want.Type))
	}
}

func (c *checker) sameType(have string, want wire.Member) bool {
	if want.Poly {
		base := wire.BaseName(want.Type)
		return have == "xsd:anyType" || base != "" && have == base || base == "Event" && have == "AnyEvent"
	}
	name := wire.XSDName(want.Type)
	if want.Type.Kind() == reflect.String && !strings.HasPrefix(name, "xsd:") {
		return have == "xsd:string" || have == name // an open enumeration
	}
	return have == name
}
