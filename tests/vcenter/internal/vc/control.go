// The control port: plain HTTP and JSON on loopback, for tests that move the world. README.md has the
// reference of every call.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
	"kaas.test/vcenter/internal/world"
)

type controlCall func(r *http.Request) (any, error)

func (s *Server) startControl() (string, error) {
	l, err := net.Listen("tcp", s.cfg.ControlListen)
	if err != nil {
		return "", err
	}
	s.nets.mu.Lock()
	s.nets.listeners = append(s.nets.listeners, l)
	s.nets.mu.Unlock()
	mux := http.NewServeMux()
	for pattern, f := range map[string]controlCall{
		"GET /state":             s.ctlState,
		"GET /calls":             s.ctlCalls,
		"DELETE /calls":          s.ctlResetCalls,
		"GET /faults":            func(*http.Request) (any, error) { return s.rules.snapshot(), nil },
		"POST /faults":           s.ctlAddFault,
		"DELETE /faults":         s.ctlClearFaults,
		"POST /faults/wait":      s.ctlAwaitHeld,
		"POST /faults/release":   s.ctlRelease,
		"GET /tasks":             s.ctlTasks,
		"POST /tasks":            s.ctlAddTaskRule,
		"DELETE /tasks":          s.ctlDropTaskRule,
		"POST /tasks/wait":       s.ctlAwaitTasks,
		"POST /tasks/release":    s.ctlReleaseTasks,
		"GET /vms":               s.ctlVMs,
		"POST /vms/{id}/guest":   s.ctlGuest,
		"GET /calls/pending":     s.ctlPending,
		"GET /calls/summary":     s.ctlSummary,
		"POST /ports":            s.ctlPort,
		"POST /churn":            s.ctlChurn,
		"GET /churn":             s.ctlChurned,
		"DELETE /churn":          s.ctlStopChurn,
		"POST /permissions":      s.ctlPermission,
		"POST /roles":            s.ctlRole,
		"POST /users":            s.ctlUser,
		"GET /sessions":          s.ctlSessions,
		"POST /sessions":         s.ctlLogin,
		"POST /sessions/expire":  s.ctlExpire,
		"POST /clock":            s.ctlClock,
		"POST /settings":         s.ctlSettings,
		"GET /objects":           s.ctlObjects,
		"POST /objects":          s.ctlObject,
		"GET /extensions":        s.ctlExtensions,
		"POST /extensions":       s.ctlPutExtension,
		"DELETE /extensions":     s.ctlDropExtension,
		"POST /events":           s.ctlEvent,
		"POST /certificate":      s.ctlCertificate,
		"POST /restart":          s.ctlRestart,
		"POST /solution-install": s.ctlInstall,
		"POST /plugin-token":     s.ctlPluginToken,
		"POST /disconnect":       s.ctlDisconnect,
	} {
		mux.HandleFunc(pattern, controlHandler(f))
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

func controlHandler(f controlCall) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			restAnswer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		if v == nil {
			v = map[string]bool{"ok": true}
		}
		restAnswer(w, http.StatusOK, v)
	}
}

// arguments decodes a JSON body; unknown members are errors, no body is an empty object.
func arguments(r *http.Request, into any) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (s *Server) ctlState(*http.Request) (any, error) {
	calls, counts := s.log.snapshot(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	open, views := 0, 0
	for _, x := range s.sessions {
		open += len(x.pages)
		for _, obj := range x.sim.Registry.AllReference("") {
			if t := obj.Reference().Type; t == "ContainerView" || t == "ListView" {
				views++
			}
		}
	}
	return map[string]any{
		"time": s.now().UTC(), "instance_uuid": s.InstanceUUID(), "api_version": s.cfg.APIVersion,
		"sessions": len(s.sessions), "clone_tickets": len(s.tickets), "plugin_tokens": len(s.plugins),
		"open_pages": open, "abandoned_pages": s.counters.AbandonedPages, "views": views,
		"counters": s.counters, "calls": len(calls), "calls_by_operation": counts,
		"connections_open": s.nets.open(), "connections_accepted": s.nets.accepted.Load(),
		"thumbprint_sha256": thumbprints(s.tls.leaf())[1], "extensions": len(s.exts),
	}, nil
}

func (s *Server) ctlPermission(r *http.Request) (any, error) {
	var a struct {
		world.Permission
		Remove bool `json:"remove"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ref, err := s.entityByID(a.Entity)
	if err != nil {
		return nil, err
	}
	principal := a.Principal
	if !a.Group {
		principal = s.storedName(principal)
	}
	if a.Remove {
		if !s.revoke("test", ref, principal, a.Group) {
			return nil, errors.New("there is no such permission")
		}
		return nil, nil
	}
	role := s.roleByName(a.Role)
	if role == nil {
		return nil, fmt.Errorf("no role %q", a.Role)
	}
	s.grant("test", ref, types.Permission{Principal: principal, Group: a.Group, RoleId: role.RoleId,
		Propagate: a.Propagate == nil || *a.Propagate})
	return nil, nil
}

func (s *Server) ctlRole(r *http.Request) (any, error) {
	var a struct {
		world.Role
		Remove bool `json:"remove"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.roleByName(a.Name)
	if a.Remove {
		if old == nil {
			return nil, fmt.Errorf("no role %q", a.Name)
		}
		return nil, s.removeRole("test", old.RoleId, false)
	}
	if old == nil {
		s.addRole("test", a.Name, a.Privileges)
		return nil, nil
	}
	return nil, s.changeRole("test", old.RoleId, a.Name, a.Privileges)
}

func (s *Server) ctlUser(r *http.Request) (any, error) {
	var a struct {
		world.User
		Remove bool `json:"remove"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !a.Remove {
		return map[string]string{"user_name": s.putUser(a.User).stored}, nil
	}
	stored := newUser(a.User).stored
	for i, u := range s.users {
		if u.stored == stored {
			s.users = append(s.users[:i:i], s.users[i+1:]...)
			return nil, nil
		}
	}
	return nil, errors.New("there is no such user")
}

func (s *Server) ctlSettings(r *http.Request) (any, error) {
	var a struct {
		Idle     *float64  `json:"idle_timeout_s"`
		Page     *int      `json:"page_size"`
		Unknown  *string   `json:"unknown_user"`
		ExtPrivs *[]string `json:"extension_privileges"`
		Max      *int      `json:"max_sessions"`
		Full     *string   `json:"max_sessions_answer"`
		SameUUID *string   `json:"duplicate_instance_uuid"`
		taskSettings
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if a.Unknown != nil && *a.Unknown != "fault" && *a.Unknown != "false" {
		return nil, errors.New("unknown_user is fault or false")
	}
	if a.Full != nil && *a.Full != "503" {
		if t, ok := wire.Lookup(*a.Full); !ok || !isFault(t) {
			return nil, fmt.Errorf("max_sessions_answer is 503 or a fault, not %q", *a.Full)
		}
	}
	if a.SameUUID != nil && *a.SameUUID != "refuse" && *a.SameUUID != "change" {
		return nil, errors.New("duplicate_instance_uuid is refuse or change")
	}
	usual, faults, atOnce, err := s.tasks.set(a.taskSettings)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.SameUUID != nil {
		s.settings.SameUUID = *a.SameUUID
	}
	if a.Max != nil {
		s.settings.MaxSessions = *a.Max
	}
	if a.Full != nil {
		s.settings.FullAnswer = *a.Full
	}
	if a.Idle != nil {
		s.settings.Idle = time.Duration(*a.Idle * float64(time.Second))
	}
	if a.Page != nil {
		s.settings.PageSize = *a.Page
	}
	if a.Unknown != nil {
		s.settings.UnknownUser = *a.Unknown
	}
	if a.ExtPrivs != nil {
		s.settings.ExtPrivs = *a.ExtPrivs
	}
	return map[string]any{"idle_timeout_s": s.settings.Idle.Seconds(), "page_size": s.settings.PageSize,
		"unknown_user": s.settings.UnknownUser, "extension_privileges": s.settings.ExtPrivs,
		"max_sessions": s.settings.MaxSessions, "max_sessions_answer": s.settings.FullAnswer,
		"duplicate_instance_uuid": s.settings.SameUUID, "task_ms": usual, "task_faults": faults, "clones_at_once": atOnce}, nil
}

func (s *Server) ctlClock(r *http.Request) (any, error) {
	var a struct {
		Advance float64  `json:"advance_s"`
		Skew    *float64 `json:"skew_s"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset.Add(int64(a.Advance * float64(time.Second)))
	if a.Skew != nil {
		s.skew.Store(int64(*a.Skew * float64(time.Second)))
	}
	s.sweep()
	go s.forgetTasks()
	return map[string]any{"time": s.now().UTC(), "skew_s": time.Duration(s.skew.Load()).Seconds()}, nil
}
