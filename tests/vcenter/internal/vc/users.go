// Users: who may log in, under which spellings, and what the server calls them.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto/subtle"
	"strings"

	"kaas.test/vcenter/internal/world"
)

const ssoDomain = "vsphere.local"

type user struct {
	world.User
	stored string // DOMAIN\name with the letter case of the directory
}

// principal is who a session acts for.
type principal struct {
	name   string   // stored form; the extension's key for extension sessions
	groups []string // stored form
	ext    string   // extension key if this is an extension's own session
}

func newUser(u world.User) *user {
	if u.Domain == "" {
		u.Domain = ssoDomain
	}
	if u.DomainAlias == "" {
		u.DomainAlias = strings.ToUpper(u.Domain)
	}
	if u.FullName == "" {
		u.FullName = u.Name
	}
	return &user{User: u, stored: u.DomainAlias + `\` + u.Name}
}

func (u *user) principal() *principal { return &principal{name: u.stored, groups: u.Groups} }

// splitName takes a typed name apart: DOMAIN\name, name@domain, or a bare name of the SSO domain.
func splitName(typed string) (domain, name string) {
	if d, n, ok := strings.Cut(typed, `\`); ok {
		return d, n
	}
	if i := strings.LastIndexByte(typed, '@'); i >= 0 {
		return typed[i+1:], typed[:i]
	}
	return ssoDomain, typed
}

// findUser looks a typed name up without regard to letter case.
func (s *Server) findUser(typed string) *user {
	domain, name := splitName(typed)
	for _, u := range s.users {
		inDomain := strings.EqualFold(domain, u.Domain) || strings.EqualFold(domain, u.DomainAlias)
		if inDomain && strings.EqualFold(name, u.Name) {
			return u
		}
	}
	return nil
}

// checkPassword returns the user if the pair is right.
func (s *Server) checkPassword(typed, password string) *user {
	u := s.findUser(typed)
	if u == nil || subtle.ConstantTimeCompare([]byte(u.Password), []byte(password)) != 1 {
		return nil
	}
	return u
}

// putUser adds a user or replaces the one of the same name.
func (s *Server) putUser(spec world.User) *user {
	n := newUser(spec)
	for i, u := range s.users {
		if strings.EqualFold(u.stored, n.stored) {
			s.users[i] = n
			return n
		}
	}
	s.users = append(s.users, n)
	return n
}

// storedName turns a typed user name into the stored form; unknown names stay as they are.
func (s *Server) storedName(typed string) string {
	if u := s.findUser(typed); u != nil {
		return u.stored
	}
	return typed
}
