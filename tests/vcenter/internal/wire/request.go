// Requests: the envelope, the operation, and the typed value that the strict decoder made of it.
// SPDX-License-Identifier: GPL-3.0-or-later
package wire

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Request is one decoded call.
type Request struct {
	Op          string
	This        types.ManagedObjectReference
	Body        any // pointer to govmomi's request type
	OperationID string
	Version     string
}

// PeekOp names the operation and operationID of a document without judging it; "" when unreadable.
func PeekOp(doc []byte) (op, operationID string) {
	env, err := ReadTree(doc)
	if err != nil {
		return "", ""
	}
	if h := env.Child(NsSoap, "Header"); h != nil {
		for _, c := range h.Children {
			if c.Name.Local == "operationID" {
				operationID = strings.TrimSpace(c.Text)
			}
		}
	}
	if b := env.Child(NsSoap, "Body"); b != nil && len(b.Children) > 0 {
		op = b.Children[0].Name.Local
	}
	return op, operationID
}

// ReadRequest decodes a call as strictly as vpxd does: names, namespaces, order, occurrence, types
// and age of every element. supported tells whether the server speaks a version. The error is a *Fault.
func ReadRequest(doc []byte, version string, supported func(string) bool) (*Request, error) {
	if !supported(version) {
		return nil, &Fault{Code: VersionMismatch,
			Text: `Unsupported version URI "urn:vim25/` + version + `" while parsing SOAP body`}
	}
	env, err := ReadTree(doc)
	if err != nil {
		return nil, &Fault{Code: ClientFault, Text: "Unable to parse the request: " + err.Error()}
	}
	call, err := bodyOf(env)
	if err != nil {
		return nil, err
	}
	t, ok := RequestType(call.Name.Local)
	if since := OperationSince(call.Name.Local); !ok || Less(version, since) {
		return nil, Invalid("Unable to resolve WSDL method name %s under version %s", call.Name.Local, version)
	}
	if len(call.Children) == 0 || call.Children[0].Name.Local != "_this" {
		return nil, Invalid("%s: missing the mandatory first element <_this>", call.Name.Local)
	}
	v := reflect.New(t)
	d := decoder{version: version}
	if err := d.structure(call, v.Elem(), call.Name.Local); err != nil {
		return nil, err
	}
	_, opID := PeekOp(doc)
	return &Request{
		Op: call.Name.Local, Body: v.Interface(), Version: version, OperationID: opID,
		This: v.Elem().FieldByName("This").Interface().(types.ManagedObjectReference),
	}, nil
}

func bodyOf(env *Node) (*Node, error) {
	if env.Name.Space != NsSoap || env.Name.Local != "Envelope" {
		return nil, &Fault{Code: ClientFault, Text: "The document is not a SOAP 1.1 envelope"}
	}
	for i, c := range env.Children {
		last := i == len(env.Children)-1
		known := c.Name.Local == "Body" && last || c.Name.Local == "Header" && i == 0
		if c.Name.Space != NsSoap || !known {
			return nil, &Fault{Code: ClientFault, Text: "Unexpected <" + c.Name.Local + "> in the envelope"}
		}
	}
	body := env.Child(NsSoap, "Body")
	if body == nil || len(body.Children) != 1 {
		return nil, &Fault{Code: ClientFault, Text: "The SOAP body must hold exactly one call"}
	}
	if call := body.Children[0]; call.Name.Space == NsVim {
		return call, nil
	}
	return nil, Invalid("<%s> is in namespace %q instead of %q",
		body.Children[0].Name.Local, body.Children[0].Name.Space, NsVim)
}

// ReadFragment decodes one element as the named data type; for records given as XML.
func ReadFragment(doc []byte, into any, version string) error {
	n, err := ReadTree(doc)
	if err != nil {
		return err
	}
	d := decoder{version: version}
	return d.structure(n, reflect.ValueOf(into).Elem(), n.Name.Local)
}
