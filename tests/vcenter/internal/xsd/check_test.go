// SPDX-License-Identifier: GPL-3.0-or-later
package xsd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `<schema xmlns="http://www.w3.org/2001/XMLSchema" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:vim25="urn:vim25">
<complexType name="ManagedObjectReference"><simpleContent><extension base="xsd:string"><attribute name="type" type="xsd:string"/></extension></simpleContent></complexType>
<simpleType name="ObjectUpdateKind"><restriction base="xsd:string"/></simpleType>
<complexType name="PropertySpec"><sequence>
<element name="type" type="xsd:string"/>
<element name="all" type="xsd:boolean" minOccurs="0"/>
<element name="pathSet" type="xsd:string" minOccurs="0" maxOccurs="unbounded"/>
</sequence></complexType>
<complexType name="ObjectSpec"><sequence>
<element name="obj" type="vim25:ManagedObjectReference"/>
<element name="skip" type="xsd:boolean" minOccurs="0"/>
<element name="selectSet" type="xsd:anyType" minOccurs="0"/>
</sequence></complexType>
<complexType name="SelectionSpec"><sequence><element name="name" type="xsd:string" minOccurs="0"/></sequence></complexType>
<complexType name="TraversalSpec"><complexContent><extension base="vim25:SelectionSpec"><sequence>
<element name="type" type="xsd:string"/>
<element name="path" type="xsd:string"/>
<element name="skip" type="xsd:boolean" minOccurs="0"/>
<element name="selectSet" type="xsd:anyType" minOccurs="0"/>
</sequence></extension></complexContent></complexType>
<complexType name="PropertyFilterSpec"><sequence>
<element name="propSet" type="vim25:PropertySpec" maxOccurs="unbounded"/>
<element name="objectSet" type="vim25:ObjectSpec" maxOccurs="unbounded"/>
<element name="reportMissingObjectsInResults" type="xsd:boolean" minOccurs="0"/>
</sequence></complexType>
<complexType name="RetrieveOptions"><sequence><element name="maxObjects" type="xsd:int" minOccurs="0"/></sequence></complexType>
<complexType name="AboutInfo"><sequence>
<element name="name" type="xsd:string" minOccurs="0"/>
<element name="apiVersion" type="xsd:string" minOccurs="0"/>
</sequence></complexType>
<complexType name="ObjectUpdate"><sequence><element name="kind" type="vim25:ObjectUpdateKind" minOccurs="0"/></sequence></complexType>
<complexType name="InvalidLogin"><sequence/></complexType>
<element name="InvalidLoginFault" type="vim25:InvalidLogin"/>
<element name="RetrievePropertiesEx"><complexType><sequence>
<element name="_this" type="vim25:ManagedObjectReference"/>
<element name="specSet" type="vim25:PropertyFilterSpec" maxOccurs="unbounded"/>
<element name="options" type="vim25:RetrieveOptions"/>
</sequence></complexType></element>
<element name="SessionIsActiveResponse"><complexType><sequence><element name="returnval" type="xsd:boolean"/></sequence></complexType></element>
</schema>`

func check(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.xsd")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path)
	if err != nil {
		return []string{err.Error()}
	}
	return Check(s)
}

func TestGoodSchemaPasses(t *testing.T) {
	if out := check(t, good); len(out) != 0 {
		t.Fatal(strings.Join(out, "\n"))
	}
}

func TestEverySpoiledLineIsFound(t *testing.T) {
	const traversal = `<element name="type" type="xsd:string"/>` + "\n" + `<element name="path" type="xsd:string"/>`
	for _, c := range []struct{ name, old, new, want string }{
		{"order in a subtype", traversal, strings.Join([]string{strings.Split(traversal, "\n")[1], strings.Split(traversal, "\n")[0]}, "\n"), "element type must come before path"},
		{"missing in a sent type", `<element name="all" type="xsd:boolean" minOccurs="0"/>`, "", "element all is missing"},
		{"name", `name="maxObjects"`, `name="maxObject"`, "element maxObject does not exist"},
		{"type", `name="maxObjects" type="xsd:int"`, `name="maxObjects" type="xsd:long"`, "type xsd:long here, xsd:int in govmomi"},
		{"optional", `name="options" type="vim25:RetrieveOptions"`, `name="options" type="vim25:RetrieveOptions" minOccurs="0"`, "optional here true"},
		{"mandatory", `name="reportMissingObjectsInResults" type="xsd:boolean" minOccurs="0"`, `name="reportMissingObjectsInResults" type="xsd:boolean"`, "optional here false"},
		{"array", `name="specSet" type="vim25:PropertyFilterSpec" maxOccurs="unbounded"`, `name="specSet" type="vim25:PropertyFilterSpec"`, "array here false"},
		{"operation", `name="RetrievePropertiesEx"`, `name="RetrievePropertyEx"`, "no such operation"},
		{"received order", `<element name="name" type="xsd:string" minOccurs="0"/>` + "\n" + `<element name="apiVersion" type="xsd:string" minOccurs="0"/>`,
			`<element name="apiVersion" type="xsd:string" minOccurs="0"/>` + "\n" + `<element name="name" type="xsd:string" minOccurs="0"/>`, "element name must come before apiVersion"},
		{"answer", `name="returnval" type="xsd:boolean"`, `name="returnval" type="xsd:int"`, "type xsd:int here"},
		{"unknown type", `name="AboutInfo"`, `name="AboutInfos"`, "no such type"},
		{"enumeration", `name="ObjectUpdateKind"`, `name="ObjectUpdateKinds"`, "no such enumeration"},
		{"closed enumeration", `<restriction base="xsd:string"/></simpleType>`, `<restriction base="xsd:string"><enumeration value="a"/></restriction></simpleType>`, "must stay open"},
		{"fault element", `"InvalidLoginFault"`, `"InvalidLogonFault"`, "a fault's element"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: the sample has no %q", c.name, c.old)
		}
		out := strings.Join(check(t, strings.Replace(good, c.old, c.new, 1)), "\n")
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: no %q in %q", c.name, c.want, out)
		}
	}
}
