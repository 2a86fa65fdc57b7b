// Fetch: an operation outside the published WSDL by which pyVmomi reads single properties.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

type fetchResponse struct {
	Returnval types.AnyType `xml:"returnval,omitempty,typeattr"`
}

func fetch(c *call) (any, error) {
	path := reflect.ValueOf(c.req.Body).Elem().FieldByName("Prop").String()
	req := *c.req
	inner := *c
	inner.req = &req
	req.This = c.s.content().PropertyCollector
	objects, err := inner.collectProperties([]types.PropertyFilterSpec{{
		PropSet:   []types.PropertySpec{{Type: c.req.This.Type, PathSet: []string{path}}},
		ObjectSet: []types.ObjectSpec{{Obj: c.req.This}},
	}})
	if err != nil {
		return nil, err
	}
	res := &fetchResponse{}
	for _, o := range objects {
		for _, p := range o.PropSet {
			res.Returnval = p.Val
		}
		for _, m := range o.MissingSet {
			return nil, wire.Faultf(m.Fault.Fault, "%s", m.Fault.LocalizedMessage)
		}
	}
	return res, nil
}
