// The calls of the AuthorizationManager that ask: who has which privilege, who holds which permission.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

type moRef = types.ManagedObjectReference

// readable refuses unknown entities for the whole call and entities the caller may not look at.
func (c *call) readable(privilege string, entities ...moRef) error {
	for _, e := range entities {
		if c.s.object(c.simSession(), e) == nil {
			return notFound(e)
		}
	}
	for _, e := range entities {
		if err := c.require(privilege, e); err != nil {
			return err
		}
	}
	return nil
}

// judge answers for every entity and privilege; who == nil (unknown session) holds nothing.
func (s *Server) judge(who *principal, entities []moRef, privileges []string) []types.EntityPrivilege {
	var out []types.EntityPrivilege
	for _, e := range entities {
		row := types.EntityPrivilege{Entity: e}
		for _, p := range privileges {
			row.PrivAvailability = append(row.PrivAvailability, types.PrivilegeAvailability{
				PrivId: p, IsGranted: who != nil && s.has(who, e, p)})
		}
		out = append(out, row)
	}
	return out
}

// sessionPrincipal is the user behind a session key, nil if there is no such session.
func (s *Server) sessionPrincipal(key string) *principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.findByKey(key); x != nil {
		return x.who
	}
	return nil
}

func hasPrivilegeOnEntities(c *call) (any, error) {
	req := body[types.HasPrivilegeOnEntities](c)
	if err := c.readable(privRead, req.Entity...); err != nil {
		return nil, err
	}
	rows := c.s.judge(c.s.sessionPrincipal(req.SessionId), req.Entity, req.PrivId)
	// The order of the answer is not promised; another one than asked keeps clients honest.
	slices.Reverse(rows)
	return &types.HasPrivilegeOnEntitiesResponse{Returnval: rows}, nil
}

func hasPrivilegeOnEntity(c *call) (any, error) {
	req := body[types.HasPrivilegeOnEntity](c)
	if err := c.readable(privRead, req.Entity); err != nil {
		return nil, err
	}
	res := &types.HasPrivilegeOnEntityResponse{}
	row := c.s.judge(c.s.sessionPrincipal(req.SessionId), []moRef{req.Entity}, req.PrivId)[0]
	for _, p := range row.PrivAvailability {
		res.Returnval = append(res.Returnval, p.IsGranted)
	}
	return res, nil
}

// namedPrincipal finds a user by name; what happens to unknown names is a setting, because the real
// server's answer is not documented.
func (c *call) namedPrincipal(name string) (*principal, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if u := c.s.findUser(name); u != nil {
		return u.principal(), nil
	}
	if c.s.settings.UnknownUser == "false" {
		return nil, nil
	}
	return nil, wire.Faultf(&types.UserNotFound{Principal: name}, "The user %s does not exist", name)
}

func hasUserPrivilegeOnEntities(c *call) (any, error) {
	req := body[types.HasUserPrivilegeOnEntities](c)
	if err := c.readable(privView, req.Entities...); err != nil {
		return nil, err
	}
	who, err := c.namedPrincipal(req.UserName)
	if err != nil {
		return nil, err
	}
	rows := c.s.judge(who, req.Entities, req.PrivId)
	slices.Reverse(rows)
	return &types.HasUserPrivilegeOnEntitiesResponse{Returnval: rows}, nil
}

func fetchUserPrivilegeOnEntities(c *call) (any, error) {
	req := body[types.FetchUserPrivilegeOnEntities](c)
	if err := c.readable(privView, req.Entities...); err != nil {
		return nil, err
	}
	who, err := c.namedPrincipal(req.UserName)
	if err != nil {
		return nil, err
	}
	res := &types.FetchUserPrivilegeOnEntitiesResponse{}
	for _, e := range req.Entities {
		row := types.UserPrivilegeResult{Entity: e}
		for _, p := range c.s.privilegeList() {
			if who != nil && c.s.has(who, e, p.PrivId) {
				row.Privileges = append(row.Privileges, p.PrivId)
			}
		}
		res.Returnval = append(res.Returnval, row)
	}
	return res, nil
}

func retrieveEntityPermissions(c *call) (any, error) {
	req := body[types.RetrieveEntityPermissions](c)
	if err := c.readable(privRead, req.Entity); err != nil {
		return nil, err
	}
	return &types.RetrieveEntityPermissionsResponse{Returnval: c.s.permissionsOn(req.Entity, req.Inherited)}, nil
}

// permissionsOn lists an entity's permissions, with those that reach it from above if wanted.
func (s *Server) permissionsOn(on moRef, inherited bool) []types.Permission {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []types.Permission
	for level, at := range s.ancestors(on) {
		for _, p := range s.perms[at] {
			if level == 0 || inherited && p.Propagate {
				out = append(out, p)
			}
		}
	}
	return out
}

func (s *Server) allPermissions(keep func(types.Permission) bool) []types.Permission {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []types.Permission
	for _, list := range s.perms {
		for _, p := range list {
			if keep(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func retrieveAllPermissions(c *call) (any, error) {
	all := c.s.allPermissions(func(types.Permission) bool { return true })
	return &types.RetrieveAllPermissionsResponse{Returnval: all}, nil
}

func retrieveRolePermissions(c *call) (any, error) {
	id := body[types.RetrieveRolePermissions](c).RoleId
	c.s.mu.Lock()
	known := c.s.roleByID(id) != nil
	c.s.mu.Unlock()
	if !known {
		return nil, noRole(id)
	}
	list := c.s.allPermissions(func(p types.Permission) bool { return p.RoleId == id })
	return &types.RetrieveRolePermissionsResponse{Returnval: list}, nil
}

func noRole(id int32) *wire.Fault { return wire.Faultf(&types.NotFound{}, "There is no role %d", id) }

// builtin are the privileges that every vCenter has: those of its Admin role.
var builtin = func() []string {
	for _, r := range esx.RoleList {
		if r.RoleId == adminRole {
			return r.Privilege
		}
	}
	return nil
}()

// knownPrivilege tells whether a privilege is built in or registered by an extension.
func (s *Server) knownPrivilege(id string) bool {
	if slices.Contains(builtin, id) {
		return true
	}
	for _, x := range s.exts {
		for _, p := range x.record.PrivilegeList {
			if p.PrivID == id {
				return true
			}
		}
	}
	return false
}

// privilegeList is the property of that name: built-in privileges and those of extensions.
func (s *Server) privilegeList() []types.AuthorizationPrivilege {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.privilegesLocked()
}

func (s *Server) privilegesLocked() []types.AuthorizationPrivilege {
	var out []types.AuthorizationPrivilege
	for _, id := range builtin {
		i := strings.LastIndexByte(id, '.')
		out = append(out, types.AuthorizationPrivilege{PrivId: id, Name: id[i+1:], PrivGroupName: id[:i]})
	}
	for _, x := range s.exts {
		for _, p := range x.record.PrivilegeList {
			out = append(out, types.AuthorizationPrivilege{
				PrivId: p.PrivID, Name: strings.TrimPrefix(p.PrivID, p.PrivGroupName+"."), PrivGroupName: p.PrivGroupName})
		}
	}
	return out
}

// publishRoles and publishPrivileges keep the readable properties true. The caller holds the lock or
// is alone.
func (s *Server) publishRoles() {
	list := slices.Clone(s.roles)
	for i := range list {
		if list[i].RoleId == adminRole {
			list[i].Privilege = nil
			for _, p := range s.privilegesLocked() {
				list[i].Privilege = append(list[i].Privilege, p.PrivId)
			}
		}
	}
	s.update(s.ctx.Map.Get(*s.content().AuthorizationManager), types.PropertyChange{Name: "roleList", Val: list})
	s.feed.rights()
}

func (s *Server) publishPrivileges() {
	m := s.ctx.Map.Get(*s.content().AuthorizationManager)
	s.update(m, types.PropertyChange{Name: "privilegeList", Val: s.privilegesLocked()})
	s.publishRoles()
}
