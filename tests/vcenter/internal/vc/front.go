// The SOAP endpoint: cookie, strict request, rights, dispatch, answer.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const maxRequestBytes = 16 << 20

// call is one SOAP call on its way through the server.
type call struct {
	s      *Server
	r      *http.Request
	conn   *connInfo
	req    *wire.Request
	cookie string   // cookie of this exchange, known to the server
	sess   *session // nil while not logged in
}

type handler func(*call) (any, error)

func (s *Server) serveSDK(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	doc, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		http.Error(w, "request too large or broken", http.StatusRequestEntityTooLarge)
		return
	}
	op, opID := wire.PeekOp(doc)
	entry := s.log.begin(s, r, op, opID, started)
	s.log.work(entry, started)
	defer func() { s.log.end(entry, started) }()

	peeked := s.peek(r)
	entry.session(peeked)
	rule := s.rules.take(op, peeked)
	if rule.before(w, r, s, entry) {
		return
	}
	c := &call{s: s, r: r, conn: connOf(r)}
	status, answer := c.run(w, doc, rule, entry)
	rule.deliver(w, r, s, status, "text/xml; charset=utf-8", answer)
}

// run performs the call and returns what goes back on the wire.
func (c *call) run(w http.ResponseWriter, doc []byte, rule *rule, entry *callEntry) (int, []byte) {
	c.attach(w)
	entry.session(c.sess)
	version := wire.FromSOAPAction(c.r.Header.Get("SOAPAction"))
	req, err := wire.ReadRequest(doc, version, c.s.supports)
	var res any
	if err == nil {
		c.req = req
		entry.receiver(req.This.String())
		if err = rule.fault(); err == nil {
			res, err = c.dispatch()
		}
		entry.session(c.sess)
	}
	if errors.Is(err, errBusy) {
		entry.note("503")
		return http.StatusServiceUnavailable, []byte("<html><body>Service Unavailable</body></html>")
	}
	if err != nil {
		fault := asFault(err)
		entry.outcome(fault)
		return http.StatusInternalServerError, wire.WriteFault(fault, encodingVersion(c.s, version))
	}
	return http.StatusOK, wire.WriteAnswer(req.Op, res, encodingVersion(c.s, version))
}

// encodingVersion is the version that answers are converted down to; unknown ones get the newest.
func encodingVersion(s *Server, version string) string {
	if s.supports(version) && version != s.cfg.DevVersion {
		return version
	}
	return s.cfg.APIVersion
}

func asFault(err error) *wire.Fault {
	var f *wire.Fault
	if errors.As(err, &f) {
		return f
	}
	return wire.Faultf(&types.SystemError{Reason: err.Error()}, "A general system error occurred: %v", err)
}

// attach finds the session behind the cookie, or hands out a new cookie with this very answer, be
// it a fault or not.
func (c *call) attach(w http.ResponseWriter) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := cookieOf(c.r)
	if c.sess = s.findByCookie(sent); c.sess != nil {
		c.cookie = sent
		c.sess.touch(s.now(), c.r)
		return
	}
	if _, known := s.wires[sent]; known && sent != "" {
		c.cookie = sent
		return
	}
	c.cookie = newCookie()
	s.wires[c.cookie] = struct{}{}
	w.Header().Set("Set-Cookie", cookieName+`="`+c.cookie+`"; Path=/; HttpOnly; Secure;`)
}

// dispatch checks rights and runs our own handler or the simulator's method.
func (c *call) dispatch() (any, error) {
	rule := operationRule(c.req.Op)
	if c.sess == nil && !rule.anonymous {
		return nil, c.notAuthenticated()
	}
	if err := c.receiver(); err != nil {
		return nil, err
	}
	if c.sess != nil && rule.privilege != "" {
		if err := c.require(rule.privilege, c.judgedOn(rule)); err != nil {
			return nil, err
		}
	}
	if h, ok := handlers[c.req.Op]; ok {
		if h.manager != "" && h.manager != c.req.This.Type {
			return nil, wire.Faultf(&types.MethodNotFound{Receiver: c.req.This, Method: c.req.Op},
				"%s has no method %s", c.req.This.Type, c.req.Op)
		}
		return h.run(c)
	}
	res, err := c.s.simulate(c.simSession(), c.req)
	c.listAnswer(res)
	return res, err
}

// receiver checks that the object of the call exists for this session.
func (c *call) receiver() error {
	if c.s.object(c.simSession(), c.req.This) != nil {
		return nil
	}
	return c.missing()
}

// missing says why the object of the call is not there: objects of a session go with it.
func (c *call) missing() error {
	if c.sess != nil {
		select {
		case <-c.sess.dead:
			return c.notAuthenticated()
		default:
		}
	}
	return notFound(c.req.This)
}

func notFound(ref types.ManagedObjectReference) *wire.Fault {
	return wire.Faultf(&types.ManagedObjectNotFound{Obj: ref},
		"The object '%s' has already been deleted or has not been completely created", ref)
}

// judgedOn is the object on which an operation's privilege is asked.
func (c *call) judgedOn(rule opRule) types.ManagedObjectReference {
	if rule.onRoot || !c.s.isEntity(c.req.This) {
		return c.s.root
	}
	return c.req.This
}

func (c *call) require(privilege string, on types.ManagedObjectReference) error {
	if c.s.has(c.sess.who, on, privilege) {
		return nil
	}
	return noPermission(on, privilege)
}

func noPermission(on types.ManagedObjectReference, privilege string) *wire.Fault {
	return wire.Faultf(&types.NoPermission{
		Object: &on, PrivilegeId: privilege,
		MissingPrivileges: []types.NoPermissionEntityPrivileges{{Entity: on, PrivilegeIds: []string{privilege}}},
	}, "Permission to perform this operation was denied.")
}

func (c *call) notAuthenticated() *wire.Fault { return notAuthenticated(c.s.root) }

func notAuthenticated(root types.ManagedObjectReference) *wire.Fault {
	return wire.Faultf(&types.NotAuthenticated{
		NoPermission: types.NoPermission{Object: &root, PrivilegeId: "System.View"},
	}, "The session is not authenticated.")
}

// body returns the typed request.
func body[T any](c *call) *T { return c.req.Body.(*T) }

// isNil tells whether an interface holds nothing or a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
