// The few REST calls: sign-in, and the clone ticket for plug-in servers.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"encoding/json"
	"net/http"

	"kaas.test/vcenter/internal/wire"
)

const restHeader = "vmware-api-session-id"

func restAnswer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func restError(w http.ResponseWriter, status int, kind, text string) {
	restAnswer(w, status, map[string]any{"error_type": kind, "messages": []any{
		map[string]any{"args": []any{}, "default_message": text, "id": "test." + kind}}})
}

// restSession is the session of a REST call; its id is the cookie value.
func (s *Server) restSession(r *http.Request) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.findByCookie(r.Header.Get(restHeader))
	if x != nil {
		x.touch(s.now(), r)
	}
	return x
}

// restLogin makes a session from a user name and password. From 8.0.3 on its id is good as a SOAP
// cookie as well; before, REST sessions are a world of their own, which this server does not have.
func (s *Server) restLogin(w http.ResponseWriter, r *http.Request) {
	entry := s.log.http(s, r, "rest.login")
	if rule := s.rules.take("rest.login", nil); rule.before(w, r, s, entry) {
		return
	}
	name, password, ok := r.BasicAuth()
	s.mu.Lock()
	u := s.checkPassword(name, password)
	s.mu.Unlock()
	if !ok || u == nil || !s.anyPermission(u.principal()) {
		entry.note("UNAUTHENTICATED")
		restError(w, http.StatusUnauthorized, "UNAUTHENTICATED", "Authentication required.")
		return
	}
	if wire.Less(s.cfg.APIVersion, "8.0.3.0") {
		restError(w, http.StatusNotImplemented, "UNSUPPORTED", "REST sessions are served from 8.0.3.0 on.")
		return
	}
	s.mu.Lock()
	if s.full() != nil {
		s.mu.Unlock()
		entry.note("503")
		restError(w, http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "Too many sessions.")
		return
	}
	x := s.beginSession(randomHex(16), u.principal(), u.FullName, "", r)
	s.mu.Unlock()
	entry.session(x)
	w.Header().Set(restHeader, x.cookie)
	restAnswer(w, http.StatusCreated, x.cookie)
}

func (s *Server) restShow(w http.ResponseWriter, r *http.Request) {
	entry := s.log.http(s, r, "rest.session")
	x := s.restSession(r)
	if x == nil {
		entry.note("UNAUTHENTICATED")
		restError(w, http.StatusUnauthorized, "UNAUTHENTICATED", "Authentication required.")
		return
	}
	entry.session(x)
	restAnswer(w, http.StatusOK, map[string]any{
		"user": x.UserName, "created_time": x.LoginTime.UTC(), "last_accessed_time": x.LastActiveTime.UTC()})
}

func (s *Server) restLogout(w http.ResponseWriter, r *http.Request) {
	entry := s.log.http(s, r, "rest.logout")
	x := s.restSession(r)
	if x == nil {
		entry.note("UNAUTHENTICATED")
		restError(w, http.StatusUnauthorized, "UNAUTHENTICATED", "Authentication required.")
		return
	}
	entry.session(x)
	s.mu.Lock()
	s.counters.Logouts++
	s.endSession(x)
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// restCloneTicket gives a plug-in server a clone ticket for the user whose plug-in token it sends.
func (s *Server) restCloneTicket(w http.ResponseWriter, r *http.Request) {
	entry := s.log.http(s, r, "rest.clone-ticket")
	rule := s.rules.take("rest.clone-ticket", nil)
	if rule.before(w, r, s, entry) {
		return
	}
	var req map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&req); err != nil || len(req) != 1 {
		entry.note("INVALID_ARGUMENT")
		restError(w, http.StatusBadRequest, "INVALID_ARGUMENT", "The body must hold vc_guid and nothing else.")
		return
	}
	s.mu.Lock()
	s.sweep()
	x := s.plugins[r.Header.Get(restHeader)]
	s.mu.Unlock()
	switch {
	case x == nil:
		entry.note("UNAUTHENTICATED")
		restError(w, http.StatusUnauthorized, "UNAUTHENTICATED", "The session token is not valid.")
	case req["vc_guid"] != s.InstanceUUID():
		entry.note("NOT_FOUND")
		restError(w, http.StatusNotFound, "NOT_FOUND", "No vCenter with that vc_guid is known here.")
	default:
		entry.session(x)
		s.mu.Lock()
		ticket := s.newTicket(x)
		s.mu.Unlock()
		answer, _ := json.Marshal(map[string]string{"session_clone_ticket": ticket})
		rule.deliver(w, r, s, http.StatusOK, "application/json", answer)
	}
}
