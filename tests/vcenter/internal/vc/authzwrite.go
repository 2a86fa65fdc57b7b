// The calls of the AuthorizationManager that change roles and permissions.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// checkRole refuses bad names, taken names and unknown privileges. The caller holds the lock.
func (s *Server) checkRole(id int32, name string, privileges []string) error {
	if name == "" || len(name) > 80 {
		return wire.Faultf(&types.InvalidName{Name: name}, "The role name %q is invalid", name)
	}
	if r := s.roleByName(name); r != nil && r.RoleId != id {
		return wire.Faultf(&types.AlreadyExists{Name: name}, "The role %s exists already", name)
	}
	for _, p := range privileges {
		if !s.knownPrivilege(p) {
			return badArgument("privIds", "%q is not a privilege", p)
		}
	}
	return nil
}

func addAuthorizationRole(c *call) (any, error) {
	req := body[types.AddAuthorizationRole](c)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkRole(0, req.Name, req.PrivIds); err != nil {
		return nil, err
	}
	id := s.addRole(c.sess.UserName, req.Name, req.PrivIds)
	return &types.AddAuthorizationRoleResponse{Returnval: id}, nil
}

// addRole makes a role and tells so. The caller holds the lock, here and in the functions that follow.
func (s *Server) addRole(who, name string, privileges []string) int32 {
	id := int32(firstOwnRole)
	for _, r := range s.roles {
		id = max(id, r.RoleId+1)
	}
	s.roles = append(s.roles, newRole(id, name, privileges))
	s.publishRoles()
	go s.postEvent(who, &types.RoleAddedEvent{RoleEvent: roleEvent(id, name), PrivilegeList: privileges})
	return id
}

func (s *Server) changeRole(who string, id int32, name string, privileges []string) error {
	r, err := s.ownRole(id)
	if err != nil {
		return err
	}
	old := *r
	*r = newRole(id, name, privileges)
	s.publishRoles()
	event := &types.RoleUpdatedEvent{RoleEvent: roleEvent(id, name), PrivilegeList: r.Privilege, PrevRoleName: old.Name}
	event.PrivilegesAdded = without(r.Privilege, old.Privilege)
	event.PrivilegesRemoved = without(old.Privilege, r.Privilege)
	go s.postEvent(who, event)
	return nil
}

func without(list, these []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return slices.Contains(these, x) })
}

func (s *Server) removeRole(who string, id int32, failIfUsed bool) error {
	r, err := s.ownRole(id)
	if err != nil {
		return err
	}
	event := &types.RoleRemovedEvent{RoleEvent: roleEvent(id, r.Name)}
	for ref, list := range s.perms {
		for _, p := range list {
			if p.RoleId != id {
				continue
			}
			if failIfUsed {
				return wire.Faultf(&types.RemoveFailed{}, "The role is in use on %s", ref)
			}
			s.revoke(who, ref, p.Principal, p.Group)
		}
	}
	s.roles = slices.DeleteFunc(s.roles, func(r types.AuthorizationRole) bool { return r.RoleId == id })
	s.publishRoles()
	go s.postEvent(who, event)
	return nil
}

func roleEvent(id int32, name string) types.RoleEvent {
	return types.RoleEvent{Role: types.RoleEventArgument{RoleId: id, Name: name}}
}

// grant stores a permission and tells so: it is new, or it replaces the principal's old one.
func (s *Server) grant(who string, on moRef, p types.Permission) {
	var old *types.Permission
	for _, q := range s.perms[on] {
		if q.Group == p.Group && strings.EqualFold(q.Principal, p.Principal) {
			old = &q
		}
	}
	s.storePermission(on, p)
	s.feed.rights()
	about := s.permissionEvent(on, p.Principal, p.Group)
	if old == nil {
		go s.postEvent(who, &types.PermissionAddedEvent{PermissionEvent: about, Role: s.roleArgument(p.RoleId), Propagate: p.Propagate})
		return
	}
	prev := s.roleArgument(old.RoleId)
	go s.postEvent(who, &types.PermissionUpdatedEvent{PermissionEvent: about, Role: s.roleArgument(p.RoleId),
		Propagate: p.Propagate, PrevRole: &prev, PrevPropagate: &old.Propagate})
}

// revoke takes a permission away and tells so; false if there was none.
func (s *Server) revoke(who string, on moRef, principal string, group bool) bool {
	if !s.dropPermission(on, principal, group) {
		return false
	}
	s.feed.rights()
	go s.postEvent(who, &types.PermissionRemovedEvent{PermissionEvent: s.permissionEvent(on, principal, group)})
	return true
}

func (s *Server) roleArgument(id int32) types.RoleEventArgument {
	out := types.RoleEventArgument{RoleId: id}
	if r := s.roleByID(id); r != nil {
		out.Name = r.Name
	}
	return out
}

func (s *Server) permissionEvent(on moRef, principal string, group bool) types.PermissionEvent {
	return types.PermissionEvent{Principal: principal, Group: group,
		Entity: types.ManagedEntityEventArgument{Entity: on, EntityEventArgument: s.argument(on)}}
}

// ownRole finds a role that may be changed. The caller holds the lock.
func (s *Server) ownRole(id int32) (*types.AuthorizationRole, error) {
	r := s.roleByID(id)
	if r == nil {
		return nil, noRole(id)
	}
	if id < 0 {
		return nil, badArgument("roleId", "System roles cannot be changed")
	}
	return r, nil
}

func updateAuthorizationRole(c *call) (any, error) {
	req := body[types.UpdateAuthorizationRole](c)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.ownRole(req.RoleId); err != nil {
		return nil, err
	}
	if err := s.checkRole(req.RoleId, req.NewName, req.PrivIds); err != nil {
		return nil, err
	}
	return &types.UpdateAuthorizationRoleResponse{}, s.changeRole(c.sess.UserName, req.RoleId, req.NewName, req.PrivIds)
}

func removeAuthorizationRole(c *call) (any, error) {
	req := body[types.RemoveAuthorizationRole](c)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return &types.RemoveAuthorizationRoleResponse{}, s.removeRole(c.sess.UserName, req.RoleId, req.FailIfUsed)
}

func mergePermissions(c *call) (any, error) {
	req := body[types.MergePermissions](c)
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range []int32{req.SrcRoleId, req.DstRoleId} {
		if s.roleByID(id) == nil {
			return nil, noRole(id)
		}
	}
	for ref, list := range s.perms {
		list = slices.Clone(list)
		for i := range list {
			if list[i].RoleId == req.SrcRoleId {
				list[i].RoleId = req.DstRoleId
			}
		}
		s.perms[ref] = list
	}
	s.feed.rights()
	return &types.MergePermissionsResponse{}, nil
}

// mayCarry refuses entities that cannot have permissions of their own.
func (c *call) mayCarry(entity moRef) error {
	if err := c.readable("Authorization.ModifyPermissions", entity); err != nil {
		return err
	}
	parents := c.s.ancestors(entity)
	inside := len(parents) > 1 && (entity.Type == "Folder" && parents[1].Type == "Datacenter" ||
		entity.Type == "ResourcePool" && parents[1].Type != "ResourcePool")
	if !c.s.isEntity(entity) || inside || entity.Type == "ComputeResource" {
		return badArgument("entity", "%s cannot carry permissions of its own", entity)
	}
	return nil
}

// checkPermissions looks every role and user up. The caller holds the lock.
func (s *Server) checkPermissions(list []types.Permission) error {
	for _, p := range list {
		if s.roleByID(p.RoleId) == nil {
			return noRole(p.RoleId)
		}
		if !p.Group && s.findUser(p.Principal) == nil {
			return wire.Faultf(&types.UserNotFound{Principal: p.Principal}, "The user %s does not exist", p.Principal)
		}
	}
	return nil
}

func setEntityPermissions(c *call) (any, error) {
	req := body[types.SetEntityPermissions](c)
	return &types.SetEntityPermissionsResponse{}, c.writePermissions(req.Entity, req.Permission, false)
}

func resetEntityPermissions(c *call) (any, error) {
	req := body[types.ResetEntityPermissions](c)
	return &types.ResetEntityPermissionsResponse{}, c.writePermissions(req.Entity, req.Permission, true)
}

func (c *call) writePermissions(entity moRef, list []types.Permission, reset bool) error {
	if err := c.mayCarry(entity); err != nil {
		return err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkPermissions(list); err != nil {
		return err
	}
	if reset {
		for _, p := range slices.Clone(s.perms[entity]) {
			if !slices.ContainsFunc(list, func(q types.Permission) bool {
				return q.Group == p.Group && strings.EqualFold(s.storedName(q.Principal), p.Principal)
			}) {
				s.revoke(c.sess.UserName, entity, p.Principal, p.Group)
			}
		}
	}
	for _, p := range list {
		if !p.Group {
			p.Principal = s.storedName(p.Principal)
		}
		s.grant(c.sess.UserName, entity, p)
	}
	return nil
}

func removeEntityPermission(c *call) (any, error) {
	req := body[types.RemoveEntityPermission](c)
	if err := c.readable("Authorization.ModifyPermissions", req.Entity); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	name := req.User
	if !req.IsGroup {
		name = s.storedName(name)
	}
	if !s.revoke(c.sess.UserName, req.Entity, name, req.IsGroup) {
		return nil, wire.Faultf(&types.NotFound{}, "%s has no permission on %s", name, req.Entity)
	}
	return &types.RemoveEntityPermissionResponse{}, nil
}
