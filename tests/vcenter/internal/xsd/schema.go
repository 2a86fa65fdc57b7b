// Package xsd holds the project's hand-written schema against govmomi's types. This file: reading the
// schema, only the constructs that it uses; others are errors, so that nothing escapes the check.
// SPDX-License-Identifier: GPL-3.0-or-later
package xsd

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// Schema is what a schema file declares.
type Schema struct {
	Types    map[string]*Type // named complex types
	Simple   map[string]bool  // named simple types: open enumerations
	Elements map[string]*Type // top-level elements with their anonymous type
	Aliases  map[string]string
}

// Type is a complex type; Base names what it extends.
type Type struct {
	Name    string
	Base    string
	Members []Member
}

// Member is one element of a sequence.
type Member struct {
	Name     string
	Type     string // xsd:string, or the bare name of a type of ours
	Optional bool
	Array    bool
}

type xmlSchema struct {
	Complex  []xmlComplex `xml:"http://www.w3.org/2001/XMLSchema complexType"`
	Simple   []xmlNamed   `xml:"http://www.w3.org/2001/XMLSchema simpleType"`
	Elements []struct {
		xmlElement
		Complex *xmlComplex `xml:"http://www.w3.org/2001/XMLSchema complexType"`
	} `xml:"http://www.w3.org/2001/XMLSchema element"`
}

type xmlNamed struct {
	Name  string     `xml:"name,attr"`
	Enums []struct{} `xml:"restriction>enumeration"`
}

type xmlElement struct {
	Name string `xml:"name,attr"`
	Type string `xml:"type,attr"`
	Min  string `xml:"minOccurs,attr"`
	Max  string `xml:"maxOccurs,attr"`
}

type xmlComplex struct {
	Name     string       `xml:"name,attr"`
	Sequence *xmlSequence `xml:"sequence"`
	Derived  *struct {
		Extension struct {
			Base     string       `xml:"base,attr"`
			Sequence *xmlSequence `xml:"sequence"`
		} `xml:"extension"`
	} `xml:"complexContent"`
	SimpleContent *struct{}  `xml:"simpleContent"`
	Choice        []struct{} `xml:"choice"`
	All           []struct{} `xml:"all"`
}

type xmlSequence struct {
	Elements []xmlElement `xml:"element"`
	Inner    []struct {
		Max      string       `xml:"maxOccurs,attr"`
		Elements []xmlElement `xml:"element"`
	} `xml:"sequence"` // repeated, of one element: gSOAP's array of items that differ in type
	Any    []struct{} `xml:"any"`
	Choice []struct{} `xml:"choice"`
}

// Read loads a schema file.
func Read(path string) (*Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc xmlSchema
	if err := xml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Schema{Types: map[string]*Type{}, Simple: map[string]bool{}, Elements: map[string]*Type{}, Aliases: map[string]string{}}
	for _, c := range doc.Complex {
		t, err := convert(c.Name, c)
		if err != nil {
			return nil, err
		}
		if t != nil {
			s.Types[c.Name] = t
		}
	}
	for _, n := range doc.Simple {
		if s.Simple[n.Name] = true; len(n.Enums) > 0 {
			return nil, fmt.Errorf("simpleType %s lists values: it must stay open", n.Name)
		}
	}
	for _, e := range doc.Elements {
		if e.Complex == nil {
			s.Aliases[e.Name] = local(e.Type)
			continue
		}
		t, err := convert(e.Name, *e.Complex)
		if err != nil {
			return nil, err
		}
		s.Elements[e.Name] = t
	}
	return s, nil
}

// convert returns nil for types with simple content (references), which have no members.
func convert(name string, c xmlComplex) (*Type, error) {
	if c.SimpleContent != nil {
		return nil, nil
	}
	t := &Type{Name: name}
	seq := c.Sequence
	if c.Derived != nil {
		t.Base, seq = local(c.Derived.Extension.Base), c.Derived.Extension.Sequence
	}
	if len(c.Choice)+len(c.All) > 0 || seq != nil && len(seq.Any)+len(seq.Choice) > 0 {
		return nil, fmt.Errorf("type %s uses choice, all or any, which this check does not know", name)
	}
	if seq == nil {
		return t, nil
	}
	elements := seq.Elements
	for _, inner := range seq.Inner {
		if inner.Max != "unbounded" || len(inner.Elements) != 1 || len(elements) > 0 {
			return nil, fmt.Errorf("type %s: a sequence inside another one is a repeated one of one element, and all there is", name)
		}
		elements = inner.Elements
		elements[0].Max = inner.Max
	}
	for _, e := range elements {
		m := Member{Name: e.Name, Type: local(e.Type), Optional: e.Min == "0", Array: e.Max == "unbounded"}
		if e.Name == "" || e.Type == "" {
			return nil, fmt.Errorf("type %s: every element needs name and type", name)
		}
		t.Members = append(t.Members, m)
	}
	return t, nil
}

// local strips the prefix of our own namespace and keeps that of XML Schema.
func local(name string) string {
	if rest, ok := strings.CutPrefix(name, "xsd:"); ok {
		return "xsd:" + rest
	}
	if i := strings.IndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}
