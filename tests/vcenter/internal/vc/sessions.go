// Sessions: the secret cookie, the public key, idle time-out, and the calls that begin and end them.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const cookieName = "vmware_soap_session"

type session struct {
	types.UserSession
	cookie string
	who    *principal
	sim    *simulator.Session
	pages  map[string]*page
	token  int           // number of the next page token
	dead   chan struct{} // closed when the session ends
}

func randomHex(n int) string {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err)
	}
	return hex.EncodeToString(b)
}

// newCookie makes a cookie value: 40 hex digits, unlike any session key.
func newCookie() string { return randomHex(20) }

// newKey makes a session key in the shape of the real ones: a UUID that starts with 52.
func newKey() string {
	h := "52" + randomHex(15)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:32]}, "-")
}

// cookieOf reads the session cookie, with or without quotes; other cookies and attributes may stand
// beside it. From 8.0.3 on the header of the REST API carries the same secret.
func cookieOf(r *http.Request) string {
	for _, line := range r.Header.Values("Cookie") {
		for _, part := range strings.Split(line, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if name == cookieName {
				return strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	return ""
}

func (x *session) touch(now time.Time, r *http.Request) {
	x.LastActiveTime = now
	x.CallCount++
	x.sim.UserSession = x.UserSession
}

// findByCookie returns the live session of a cookie; idle ones end here.
func (s *Server) findByCookie(cookie string) *session {
	s.sweep()
	if cookie == "" {
		return nil
	}
	return s.sessions[cookie]
}

// peek is the session of a request, without counting as a use of it.
func (s *Server) peek(r *http.Request) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[cookieOf(r)]
}

// full refuses one session more than the server keeps.
func (s *Server) full() error {
	s.sweep()
	if s.settings.MaxSessions == 0 || len(s.sessions) < s.settings.MaxSessions {
		return nil
	}
	if s.settings.FullAnswer == "503" {
		return errBusy
	}
	t, _ := wire.Lookup(s.settings.FullAnswer)
	return &wire.Fault{Code: wire.ServerFault, Text: "The maximum number of sessions has been reached.", Detail: reflect.New(t).Interface()}
}

// errBusy becomes status 503.
var errBusy = errors.New("the server is busy")

// findByKey returns the live session with a key.
func (s *Server) findByKey(key string) *session {
	s.sweep()
	for _, x := range s.sessions {
		if x.Key == key {
			return x
		}
	}
	return nil
}

// sweep ends the sessions that were idle for too long.
func (s *Server) sweep() {
	limit := s.now().Add(-s.settings.Idle)
	for _, x := range s.sessions {
		if x.LastActiveTime.Before(limit) {
			s.counters.Expired++
			s.endSession(x)
		}
	}
}

// beginSession logs a principal in on a cookie. The caller holds the lock.
func (s *Server) beginSession(cookie string, who *principal, fullName, locale string, r *http.Request) *session {
	if locale == "" {
		locale = "en"
	}
	now := s.now()
	x := &session{cookie: cookie, who: who, pages: map[string]*page{}, dead: make(chan struct{})}
	x.UserSession = types.UserSession{
		Key: newKey(), UserName: who.name, FullName: fullName, LoginTime: now, LastActiveTime: now,
		Locale: locale, MessageLocale: locale, ExtensionSession: who.ext != "", CallCount: 0,
		IpAddress: "127.0.0.1", UserAgent: "vSphere Client",
	}
	if r != nil {
		x.UserAgent = r.UserAgent()
		x.IpAddress, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	x.sim = &simulator.Session{UserSession: x.UserSession, Registry: simulator.NewRegistry(), Map: s.ctx.Map}
	delete(s.wires, cookie)
	s.sessions[cookie] = x
	s.counters.Logins++
	s.feed.object(s.ctx.Map.SessionManager().Self)
	return x
}

// endSession forgets a session with its views, filters, pages and tickets. The caller holds the lock.
func (s *Server) endSession(x *session) {
	if s.sessions[x.cookie] != x {
		return
	}
	delete(s.sessions, x.cookie)
	close(x.dead)
	s.counters.AbandonedPages += len(x.pages)
	for t, owner := range s.tickets {
		if owner == x {
			delete(s.tickets, t)
		}
	}
	for t, owner := range s.plugins {
		if owner == x {
			delete(s.plugins, t)
		}
	}
	var gone []*collector
	for ref, k := range s.collect {
		if ref.ServerGUID == x.Key {
			delete(s.collect, ref)
			gone = append(gone, k)
		}
	}
	s.feed.object(s.ctx.Map.SessionManager().Self)
	go s.release(x, gone)
}

// release ends the session's collectors and takes its objects away.
func (s *Server) release(x *session, collectors []*collector) {
	for _, k := range collectors {
		s.dropCollector(x, k)
	}
	ctx := s.simContext(x.sim)
	for _, obj := range x.sim.Registry.AllReference("") {
		if p, ok := obj.(*eventPages); ok {
			s.history.forget(p)
		}
		x.sim.Registry.Remove(ctx, obj.Reference())
		if h, ok := obj.(simulator.RegisterObject); ok {
			ctx.Map.RemoveHandler(h)
		}
	}
}

// reported is a session as callers see it: by the server's own idea of the time.
func (s *Server) reported(x *session) types.UserSession {
	out := x.UserSession
	wrong := time.Duration(s.skew.Load())
	out.LoginTime, out.LastActiveTime = out.LoginTime.Add(wrong), out.LastActiveTime.Add(wrong)
	return out
}

// sessionList is the list that administrators see.
func (s *Server) sessionList() []types.UserSession {
	s.sweep()
	var out []types.UserSession
	for _, x := range s.sessions {
		out = append(out, s.reported(x))
	}
	slices.SortFunc(out, func(a, b types.UserSession) int { return strings.Compare(a.Key, b.Key) })
	return out
}
