// Calls that the simulator answers: dispatched by name to the object, in the caller's own registry.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// simSession is the simulator's side of the session; callers who are not logged in share one.
func (c *call) simSession() *simulator.Session {
	if c.sess != nil {
		return c.sess.sim
	}
	return c.s.anon
}

// object finds a managed object: session-scoped ones first.
func (s *Server) object(sess *simulator.Session, ref types.ManagedObjectReference) mo.Reference {
	ref.ServerGUID = ""
	if obj := sess.Get(ref); !isNil(obj) {
		return obj
	}
	return nil
}

func (s *Server) simContext(sess *simulator.Session) *simulator.Context {
	ctx := *s.ctx
	ctx.Context = context.Background()
	ctx.Session = sess
	return &ctx
}

// simulate runs a request on the simulator and returns its response value.
func (s *Server) simulate(sess *simulator.Session, req *wire.Request) (res any, err error) {
	obj := s.object(sess, req.This)
	if obj == nil {
		return nil, notFound(req.This)
	}
	name := strings.ToUpper(req.Op[:1]) + req.Op[1:]
	if base, ok := strings.CutSuffix(name, "_Task"); ok {
		name = base + "Task"
	}
	m := reflect.ValueOf(obj).MethodByName(name)
	if !m.IsValid() {
		return nil, wire.Faultf(&types.MethodNotFound{Receiver: req.This, Method: req.Op},
			"%s does not implement %s", req.This.Type, req.Op)
	}
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, fmt.Errorf("%s: %v", req.Op, p)
		}
	}()
	ctx := s.simContext(sess)
	this := req.This
	ctx.Caller = &this
	args := []reflect.Value{reflect.ValueOf(req.Body)}
	if m.Type().NumIn() == 2 {
		args = append([]reflect.Value{reflect.ValueOf(ctx)}, args...)
	}
	var out []reflect.Value
	ctx.Map.WithLock(ctx, obj, func() { out = m.Call(args) })
	return unwrap(out[0].Interface().(soap.HasFault))
}

// unwrap takes the answer or the fault out of one of govmomi's method bodies.
func unwrap(b soap.HasFault) (any, error) {
	if f := b.Fault(); f != nil {
		return nil, wire.FromSoap(f)
	}
	return reflect.ValueOf(b).Elem().FieldByName("Res").Interface(), nil
}

// update changes properties of a simulator object so that waiting collectors hear of it.
func (s *Server) update(obj mo.Reference, changes ...types.PropertyChange) {
	ctx := s.simContext(s.anon)
	ctx.WithLock(obj, func() { ctx.Update(obj, changes) })
}
