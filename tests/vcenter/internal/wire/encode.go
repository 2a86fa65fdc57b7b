// Answers: govmomi values to XML in the manner of a real server, converted down to the version of
// the call (members that came later are left out).
// SPDX-License-Identifier: GPL-3.0-or-later
package wire

import (
	"bytes"
	"encoding/xml"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

const (
	envelopeHead = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<soapenv:Envelope xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" xmlns:soapenv="` + NsSoap +
		`" xmlns:xsd="` + NsXSD + `" xmlns:xsi="` + NsXSI + `">` + "\n<soapenv:Body>\n"
	envelopeTail = "\n</soapenv:Body>\n</soapenv:Envelope>"
)

type encoder struct {
	out     bytes.Buffer
	version string
}

// WriteAnswer encodes the answer of an operation; res is a pointer to govmomi's response type.
func WriteAnswer(op string, res any, version string) []byte {
	e := &encoder{version: version}
	e.out.WriteString(envelopeHead)
	e.element(op+"Response", ` xmlns="`+NsVim+`"`, reflect.ValueOf(res), false)
	e.out.WriteString(envelopeTail)
	return e.out.Bytes()
}

// WriteFault encodes a fault.
func WriteFault(f *Fault, version string) []byte {
	e := &encoder{version: version}
	e.out.WriteString(envelopeHead + "<soapenv:Fault><faultcode>" + f.Code + "</faultcode><faultstring>")
	e.text(f.Text)
	e.out.WriteString("</faultstring>")
	if f.Detail != nil {
		name := f.Name()
		e.out.WriteString("<detail>")
		e.element(name+"Fault", ` xmlns="`+NsVim+`" xsi:type="`+name+`"`, reflect.ValueOf(f.Detail), false)
		e.out.WriteString("</detail>")
	}
	e.out.WriteString("</soapenv:Fault>" + envelopeTail)
	return e.out.Bytes()
}

func (e *encoder) text(s string) {
	// Characters that XML 1.0 cannot carry become U+FFFD here, as in the real serializer.
	_ = xml.EscapeText(&e.out, []byte(s))
}

// element writes one element; typed asks for xsi:type on array items, which values inside anyType have.
func (e *encoder) element(name, attrs string, v reflect.Value, typed bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	e.out.WriteString("<" + name)
	if ref, ok := v.Interface().(types.ManagedObjectReference); ok {
		e.out.WriteString(` type="` + ref.Type + `"` + attrs + ">")
		e.text(ref.Value)
	} else if s, ok := scalarText(v); ok {
		e.out.WriteString(attrs + ">")
		e.text(s)
	} else {
		e.out.WriteString(attrs + ">")
		e.members(v, typed)
	}
	e.out.WriteString("</" + name + ">")
}

func (e *encoder) members(v reflect.Value, typed bool) {
	for _, m := range Members(v.Type()) {
		if Less(e.version, m.Since) {
			continue
		}
		f := v.FieldByIndex(m.Index)
		if m.Array {
			for i := 0; i < f.Len(); i++ {
				e.item(m, f.Index(i), typed)
			}
			continue
		}
		if f.IsZero() && (m.Optional || isEnum(m.Type)) {
			continue // the simulator leaves some mandatory enumerations empty, which no server sends
		}
		e.item(m, f, false)
	}
}

// item writes one member or array item and states its type where the declaration does not tell it.
func (e *encoder) item(m Member, v reflect.Value, typed bool) {
	if v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		real := indirect(v.Interface())
		attrs := ""
		if typed || TypeName(real) != BaseName(m.Type) {
			attrs = ` xsi:type="` + XSDName(real) + `"`
		}
		e.element(m.Name, attrs, v, BaseName(m.Type) == "" && strings.HasPrefix(real.Name(), "ArrayOf"))
		return
	}
	attrs := ""
	if typed {
		attrs = ` xsi:type="` + XSDName(m.Type) + `"`
	}
	e.element(m.Name, attrs, v, false)
}

func isEnum(t reflect.Type) bool {
	_, ok := reflect.Zero(t).Interface().(interface{ Strings() []string })
	return ok && t.Kind() == reflect.String
}

func indirect(v any) reflect.Type {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
