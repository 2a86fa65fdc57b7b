// A small XML tree that keeps namespaces and prefixes, read with caps on size and depth.
// SPDX-License-Identifier: GPL-3.0-or-later
package wire

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Namespaces that requests use.
const (
	NsVim  = "urn:vim25"
	NsSoap = "http://schemas.xmlsoap.org/soap/envelope/"
	NsXSD  = "http://www.w3.org/2001/XMLSchema"
	NsXSI  = "http://www.w3.org/2001/XMLSchema-instance"

	maxDepth = 200
)

// Node is one element.
type Node struct {
	Name     xml.Name
	Attrs    []xml.Attr
	Children []*Node
	Text     string
	parent   *Node
}

// ReadTree parses a document; any syntax error, DTD or excessive depth is refused.
func ReadTree(doc []byte) (*Node, error) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	var root, at *Node
	for depth := 0; ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := tok.(type) {
		case xml.Directive:
			return nil, errors.New("document type declarations are not accepted")
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("more than %d nested elements", maxDepth)
			}
			n := &Node{Name: t.Name, Attrs: t.Copy().Attr, parent: at}
			if at != nil {
				at.Children = append(at.Children, n)
			} else if root == nil {
				root = n
			}
			at = n
		case xml.EndElement:
			depth--
			at = at.parent
		case xml.CharData:
			if at != nil {
				at.Text += string(t)
			}
		}
	}
	if root == nil {
		return nil, errors.New("no element")
	}
	return root, nil
}

// Attr returns an attribute's value.
func (n *Node) Attr(space, local string) (string, bool) {
	for _, a := range n.Attrs {
		if a.Name.Space == space && a.Name.Local == local {
			return a.Value, true
		}
	}
	return "", false
}

// Child finds the first child of that name.
func (n *Node) Child(space, local string) *Node {
	for _, c := range n.Children {
		if c.Name.Space == space && c.Name.Local == local {
			return c
		}
	}
	return nil
}

// QName resolves a prefixed name by the namespace declarations in force at this element.
func (n *Node) QName(value string) (xml.Name, error) {
	prefix, local, found := strings.Cut(strings.TrimSpace(value), ":")
	if !found {
		prefix, local = "", prefix
	}
	for at := n; at != nil; at = at.parent {
		for _, a := range at.Attrs {
			def := prefix == "" && a.Name.Space == "" && a.Name.Local == "xmlns"
			if def || prefix != "" && a.Name.Space == "xmlns" && a.Name.Local == prefix {
				return xml.Name{Space: a.Value, Local: local}, nil
			}
		}
	}
	if prefix == "" {
		return xml.Name{Local: local}, nil
	}
	if prefix == "xsd" { // govmomi declares it nowhere and a real vCenter takes its option values: govc vm.change -e, import.ova
		return xml.Name{Space: NsXSD, Local: local}, nil
	}
	return xml.Name{}, fmt.Errorf("prefix %q is not declared", prefix)
}
