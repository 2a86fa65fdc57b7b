// The calls of the SessionManager.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto/sha1"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

func invalidLogin(why string) *wire.Fault {
	return wire.Faultf(&types.InvalidLogin{}, "%s", why)
}

// fresh refuses a second login on a logged-in session.
func (c *call) fresh() error {
	if c.sess == nil {
		return nil
	}
	return invalidLogin("The current session is already logged in")
}

func checkLocale(locale string) error {
	if len(locale) <= 12 && !strings.ContainsAny(locale, " /\\<>") {
		return nil
	}
	return wire.Faultf(&types.InvalidLocale{}, "The locale %q is invalid or unknown to the server", locale)
}

func login(c *call) (any, error) {
	req := body[types.Login](c)
	if err := c.fresh(); err != nil {
		return nil, err
	}
	if err := checkLocale(req.Locale); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	u, err := s.checkLogin(req.UserName, req.Password)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := c.enter(u, req.Locale); err != nil {
		return nil, err
	}
	return &types.LoginResponse{Returnval: c.s.reported(c.sess)}, nil
}

// checkLogin returns the user who may log in with this password. A fault of its own is documented for an expired password
// (vim.fault.PasswordExpired, API 6.7.2) and none for a locked account, whose text is that of Single Sign-On (KB 326186).
func (s *Server) checkLogin(name, password string) (*user, error) {
	if u := s.findUser(name); u != nil && u.Locked {
		return nil, invalidLogin("User account is locked. Please contact your administrator.")
	}
	u := s.checkPassword(name, password)
	if u == nil {
		return nil, invalidLogin("Cannot complete login due to an incorrect user name or password.")
	}
	if u.Expired {
		return nil, wire.Faultf(&types.PasswordExpired{}, "The password of the user has expired.")
	}
	return u, nil
}

// enter starts the session of a user who proved who he is.
func (c *call) enter(u *user, locale string) error {
	s := c.s
	if !s.anyPermission(u.principal()) {
		return noPermission(s.root, "System.View")
	}
	s.mu.Lock()
	err := s.full()
	if err == nil {
		c.sess = s.beginSession(c.cookie, u.principal(), u.FullName, locale, c.r)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.postEvent(u.stored, &types.UserLoginSessionEvent{
		IpAddress: c.sess.IpAddress, UserAgent: c.sess.UserAgent, Locale: c.sess.Locale, SessionId: c.sess.Key})
	return nil
}

func loginExtensionByCertificate(c *call) (any, error) {
	req := body[types.LoginExtensionByCertificate](c)
	cert := c.conn.clientCertificate(c.r)
	if cert == nil {
		return nil, wire.Faultf(&types.NoClientCertificate{},
			"No client certificate arrived (%s port)", c.conn.kind)
	}
	if err := c.fresh(); err != nil {
		return nil, err
	}
	if err := checkLocale(req.Locale); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.exts[req.ExtensionKey]
	if x == nil || !x.holds(cert) {
		return nil, invalidLogin("Cannot complete login: the certificate is not that of the extension")
	}
	if err := s.full(); err != nil {
		return nil, err
	}
	c.sess = s.beginSession(c.cookie, &principal{name: req.ExtensionKey, ext: req.ExtensionKey},
		req.ExtensionKey, req.Locale, c.r)
	return &types.LoginExtensionByCertificateResponse{Returnval: c.s.reported(c.sess)}, nil
}

func loginByToken(c *call) (any, error) {
	return nil, invalidLogin("This server issues no tokens")
}

func logout(c *call) (any, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.Logouts++
	s.endSession(c.sess)
	return &types.LogoutResponse{}, nil
}

func sessionIsActive(c *call) (any, error) {
	req := body[types.SessionIsActive](c)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.findByKey(req.SessionID)
	return &types.SessionIsActiveResponse{Returnval: x != nil && x.UserName == req.UserName}, nil
}

func terminateSession(c *call) (any, error) {
	req := body[types.TerminateSession](c)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range req.SessionId {
		x := s.findByKey(key)
		if x == nil {
			return nil, wire.Faultf(&types.NotFound{}, "There is no session %s", key)
		}
		if x == c.sess {
			return nil, wire.Faultf(&types.InvalidArgument{InvalidProperty: "sessionId"},
				"A session cannot terminate itself")
		}
		s.endSession(x)
		go s.postEvent(c.sess.UserName, &types.SessionTerminatedEvent{SessionId: key, TerminatedUsername: x.UserName})
	}
	return &types.TerminateSessionResponse{}, nil
}

func acquireCloneTicket(c *call) (any, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return &types.AcquireCloneTicketResponse{Returnval: s.newTicket(c.sess)}, nil
}

// newTicket issues a clone ticket that dies with the session.
func (s *Server) newTicket(x *session) string {
	sum := sha1.Sum(s.tls.leaf().Raw)
	ticket := "cst-VCT-" + newKey() + "--tp-" + strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", "-")
	s.tickets[ticket] = x
	return ticket
}

func cloneSession(c *call) (any, error) {
	req := body[types.CloneSession](c)
	if err := c.fresh(); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	parent := s.tickets[req.CloneTicket]
	if parent == nil {
		return nil, invalidLogin("The clone ticket is unknown, used, or its session has ended")
	}
	if err := s.full(); err != nil {
		return nil, err
	}
	delete(s.tickets, req.CloneTicket)
	c.sess = s.beginSession(c.cookie, parent.who, parent.FullName, parent.Locale, c.r)
	return &types.CloneSessionResponse{Returnval: c.s.reported(c.sess)}, nil
}

// impersonateUser turns the current session into that of a user who is logged in, or of an extension.
func impersonateUser(c *call) (any, error) {
	req := body[types.ImpersonateUser](c)
	if err := checkLocale(req.Locale); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	stored := s.storedName(req.UserName)
	for _, x := range s.sessions {
		if x.UserName != stored || x == c.sess {
			continue
		}
		old := c.sess
		s.endSession(old)
		c.sess = s.beginSession(c.cookie, x.who, x.FullName, req.Locale, c.r)
		return &types.ImpersonateUserResponse{Returnval: c.s.reported(c.sess)}, nil
	}
	return nil, invalidLogin("The user has no session on this server")
}
