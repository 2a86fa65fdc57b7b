// The control port's calls about sessions, extensions, certificates and restarts.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"kaas.test/vcenter/internal/world"
)

type sessionRow struct {
	Key        string    `json:"key"`
	User       string    `json:"user_name"`
	Extension  bool      `json:"extension_session"`
	UserAgent  string    `json:"user_agent"`
	Login      time.Time `json:"login_time"`
	LastActive time.Time `json:"last_active_time"`
	CallCount  int64     `json:"call_count"`
	Pages      int       `json:"open_pages"`
}

func (s *Server) ctlSessions(*http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	list := []sessionRow{}
	for _, x := range s.sessions {
		list = append(list, sessionRow{x.Key, x.UserName, x.ExtensionSession, x.UserAgent,
			x.LoginTime.UTC(), x.LastActiveTime.UTC(), x.CallCount, len(x.pages)})
	}
	slices.SortFunc(list, func(a, b sessionRow) int { return a.Login.Compare(b.Login) })
	return list, nil
}

// ctlLogin starts a session without a password: for a user, or as an extension's standing session.
func (s *Server) ctlLogin(r *http.Request) (any, error) {
	var a struct {
		User      string `json:"user"`
		Extension string `json:"extension"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who, full := &principal{name: a.Extension, ext: a.Extension}, a.Extension
	if a.Extension == "" {
		u := s.findUser(a.User)
		if u == nil {
			return nil, fmt.Errorf("no user %q", a.User)
		}
		who, full = u.principal(), u.FullName
	} else if s.exts[a.Extension] == nil {
		return nil, fmt.Errorf("no extension %q", a.Extension)
	}
	x := s.beginSession(newCookie(), who, full, "", nil)
	return map[string]string{"cookie": x.cookie, "key": x.Key, "user_name": x.UserName}, nil
}

// ctlExpire ends sessions as if they had been idle for too long: by key, by user, or all.
func (s *Server) ctlExpire(r *http.Request) (any, error) {
	var a struct {
		Key  string `json:"key"`
		User string `json:"user"`
		All  bool   `json:"all"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, x := range s.sessions {
		if a.All || a.Key != "" && x.Key == a.Key || a.User != "" && x.UserName == s.storedName(a.User) {
			s.counters.Expired++
			s.endSession(x)
			n++
		}
	}
	return map[string]int{"ended": n}, nil
}

// ctlPluginToken plays the vSphere Client: a user signs in there and the plug-in gets a token.
func (s *Server) ctlPluginToken(r *http.Request) (any, error) {
	var a struct {
		User  string `json:"user"`
		Key   string `json:"session_key"`
		Token string `json:"token"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.findByKey(a.Key)
	if x == nil {
		u := s.findUser(a.User)
		if u == nil {
			return nil, fmt.Errorf("no session %q and no user %q", a.Key, a.User)
		}
		x = s.beginSession(newCookie(), u.principal(), u.FullName, "", nil)
	}
	token := a.Token // of another vCenter of the linked group
	if token == "" {
		token = randomHex(16)
	}
	s.plugins[token] = x
	return map[string]string{"token": token, "session_key": x.Key, "user_name": x.UserName}, nil
}

// extensionRow shows what is stored, the parts that the API does not show included.
type extensionRow struct {
	Key            string   `json:"key"`
	Version        string   `json:"version"`
	Label          string   `json:"label"`
	SubjectName    string   `json:"subject_name,omitempty"`
	Servers        []string `json:"servers"`
	Privileges     []string `json:"privileges"`
	CertificatePEM string   `json:"certificate_pem,omitempty"`
	Thumbprint     string   `json:"thumbprint_sha256,omitempty"`
	PublicKey      string   `json:"public_key,omitempty"`
	ServiceAccount string   `json:"service_account,omitempty"`
	Heartbeat      string   `json:"last_heartbeat_time"`
	Plugin         *plugin  `json:"plugin,omitempty"`
}

func (s *Server) ctlExtensions(*http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []extensionRow{}
	for _, x := range s.exts {
		row := extensionRow{Key: x.record.Key, Version: x.record.Version, SubjectName: x.record.SubjectName,
			CertificatePEM: x.certificatePEM, PublicKey: x.publicKey, ServiceAccount: x.serviceAccount,
			Heartbeat: x.record.LastHeartbeatTime.UTC().Format(time.RFC3339Nano), Servers: []string{}, Privileges: []string{}}
		if x.plugin != nil {
			now := *x.plugin
			row.Plugin = &now
		}
		if d := x.record.Description; d != nil {
			row.Label = d.GetDescription().Label
		}
		if x.sha256 != nil {
			row.Thumbprint = colons(x.sha256)
		}
		for _, srv := range x.record.Server {
			row.Servers = append(row.Servers, srv.Type+" "+srv.Url)
		}
		for _, p := range x.record.PrivilegeList {
			row.Privileges = append(row.Privileges, p.PrivID)
		}
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b extensionRow) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}

func (s *Server) ctlPutExtension(r *http.Request) (any, error) {
	var a world.Extension
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if a.Key == "" && a.XML == "" {
		return nil, errors.New("key or xml must be given")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, s.putExtension(a)
}

func (s *Server) ctlDropExtension(r *http.Request) (any, error) {
	key := r.URL.Query().Get("key")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exts[key] == nil {
		return nil, fmt.Errorf("no extension %q", key)
	}
	s.dropExtension(key)
	return nil, nil
}

// ctlCertificate exchanges the server certificate; existing connections keep the old one.
func (s *Server) ctlCertificate(r *http.Request) (any, error) {
	var a struct {
		Mode string `json:"mode"`
		Cert string `json:"cert_file"`
		Key  string `json:"key_file"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	err := errors.New("mode, or cert_file and key_file, must be given")
	switch {
	case a.Cert != "":
		err = s.tls.load(a.Cert, a.Key)
	case a.Mode != "":
		err = s.tls.swap(a.Mode)
	}
	if err != nil {
		return nil, err
	}
	t := thumbprints(s.tls.leaf())
	return map[string]string{"thumbprint_sha1": t[0], "thumbprint_sha256": t[1]}, nil
}

// ctlRestart is a restart of the vCenter service: sessions, views, pages, tickets, tasks and connections are
// gone; how much of running tasks' work is done then is said by tasks; inventory, users, permissions and extensions stay. down_ms refuses connections for a while.
func (s *Server) ctlRestart(r *http.Request) (any, error) {
	a := struct {
		DownMs int    `json:"down_ms"`
		Tasks  extent `json:"tasks"`
	}{Tasks: undone}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if err := a.Tasks.check(); err != nil {
		return nil, err
	}
	s.loseTasks(a.Tasks)
	s.mu.Lock()
	s.counters.Restarts++
	for _, x := range s.sessions {
		s.endSession(x)
	}
	s.wires = map[string]struct{}{}
	s.mu.Unlock()
	s.nets.drop(time.Duration(a.DownMs) * time.Millisecond)
	return nil, nil
}

// ctlDisconnect closes all connections and keeps the sessions.
func (s *Server) ctlDisconnect(*http.Request) (any, error) {
	s.nets.drop(0)
	return nil, nil
}
