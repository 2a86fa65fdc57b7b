// Rights: roles, permissions on entities, what follows from them, and what each operation needs.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/world"
)

const (
	adminRole    = -1
	privAnon     = "System.Anonymous"
	privView     = "System.View"
	privRead     = "System.Read"
	firstOwnRole = 1000
)

func (s *Server) initRoles(own []world.Role) {
	s.roles = append(s.roles, esx.RoleList...)
	for i, r := range own {
		s.roles = append(s.roles, newRole(int32(firstOwnRole+i), r.Name, r.Privileges))
	}
	s.publishRoles()
}

// newRole makes a role; the server adds the System privileges by itself.
func newRole(id int32, name string, privileges []string) types.AuthorizationRole {
	list := append([]string{privAnon, privRead, privView}, privileges...)
	slices.Sort(list)
	return types.AuthorizationRole{
		RoleId: id, Name: name, Privilege: slices.Compact(list),
		Info: &types.Description{Label: name, Summary: name},
	}
}

func (s *Server) roleByID(id int32) *types.AuthorizationRole {
	for i := range s.roles {
		if s.roles[i].RoleId == id {
			return &s.roles[i]
		}
	}
	return nil
}

func (s *Server) roleByName(name string) *types.AuthorizationRole {
	for i := range s.roles {
		if s.roles[i].Name == name {
			return &s.roles[i]
		}
	}
	return nil
}

// grants tells whether a role holds a privilege; Admin holds every one that is registered.
func (s *Server) grants(roleID int32, privilege string) bool {
	if roleID == adminRole {
		return s.knownPrivilege(privilege)
	}
	r := s.roleByID(roleID)
	return r != nil && slices.Contains(r.Privilege, privilege)
}

func (s *Server) isEntity(ref types.ManagedObjectReference) bool {
	_, ok := s.ctx.Map.Get(ref).(mo.Entity)
	return ok
}

// chains are the ways from an entity to the root: by folders, and for machines also by host and
// resource pool, from which they inherit as well.
func (s *Server) chains(ref types.ManagedObjectReference) [][]types.ManagedObjectReference {
	out := [][]types.ManagedObjectReference{s.ancestors(ref)}
	vm, ok := s.ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return out
	}
	if h := vm.Runtime.Host; h != nil {
		out = append(out, append([]types.ManagedObjectReference{ref}, s.ancestors(*h)...))
	}
	if p := vm.ResourcePool; p != nil {
		out = append(out, append([]types.ManagedObjectReference{ref}, s.ancestors(*p)...))
	}
	return out
}

// ancestors lists an entity and all its parents.
func (s *Server) ancestors(ref types.ManagedObjectReference) []types.ManagedObjectReference {
	var out []types.ManagedObjectReference
	for at := &ref; at != nil; {
		e, ok := s.ctx.Map.Get(*at).(mo.Entity)
		if !ok {
			break
		}
		out = append(out, *at)
		at = e.Entity().Parent
	}
	return out
}

// applies tells whether a permission is about this principal, as a person or through a group.
func (who *principal) applies(p types.Permission) bool {
	if !p.Group {
		return strings.EqualFold(p.Principal, who.name)
	}
	return slices.ContainsFunc(who.groups, func(g string) bool { return strings.EqualFold(g, p.Principal) })
}

// rolesOn returns the roles that count on an entity along one chain: the nearest level that says
// anything wins, and there a permission for the person beats those for groups.
func (s *Server) rolesOn(who *principal, chain []types.ManagedObjectReference) []int32 {
	for level, at := range chain {
		var own, group []int32
		for _, p := range s.perms[at] {
			if (level > 0 && !p.Propagate) || !who.applies(p) {
				continue
			}
			if p.Group {
				group = append(group, p.RoleId)
			} else {
				own = append(own, p.RoleId)
			}
		}
		if len(own) > 0 {
			return own
		}
		if len(group) > 0 {
			return group
		}
	}
	return nil
}

// has tells whether a principal holds a privilege on an object. It takes the lock.
func (s *Server) has(who *principal, on types.ManagedObjectReference, privilege string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasLocked(who, on, privilege)
}

func (s *Server) hasLocked(who *principal, on types.ManagedObjectReference, privilege string) bool {
	if privilege == privAnon {
		return true
	}
	if !s.isEntity(on) {
		if privilege == privView { // managers and the session's own objects
			return true
		}
		on = s.root
	}
	if who.ext != "" {
		return privilege == privView || privilege == privRead ||
			(on == s.root || privilege == "Global.LogEvent") && slices.Contains(s.settings.ExtPrivs, privilege)
	}
	for _, chain := range s.chains(on) {
		for _, role := range s.rolesOn(who, chain) {
			if s.grants(role, privilege) {
				return true
			}
		}
	}
	return privilege == privView && s.leadsToVisible(who, on)
}

// leadsToVisible: whoever may view an object also sees the way to it.
func (s *Server) leadsToVisible(who *principal, on types.ManagedObjectReference) bool {
	for entity, list := range s.perms {
		for _, p := range list {
			if who.applies(p) && s.grants(p.RoleId, privView) && slices.Contains(s.ancestors(entity), on) {
				return true
			}
		}
	}
	return false
}

// anyPermission tells whether a principal holds a permission anywhere.
func (s *Server) anyPermission(who *principal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.perms {
		if slices.ContainsFunc(list, who.applies) {
			return true
		}
	}
	return false
}

// effectiveRoles are the ids that the property effectiveRole shows.
func (s *Server) effectiveRoles(who *principal, on types.ManagedObjectReference) []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int32
	for _, chain := range s.chains(on) {
		out = append(out, s.rolesOn(who, chain)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// entityByID finds the inventory object with a moref's value.
func (s *Server) entityByID(value string) (types.ManagedObjectReference, error) {
	for _, e := range s.ctx.Map.All("") {
		if ref := e.Reference(); ref.Value == value {
			return ref, nil
		}
	}
	return types.ManagedObjectReference{}, fmt.Errorf("no inventory object %q", value)
}

// setPermission stores a permission as the world file or the control port gives it.
func (s *Server) setPermission(p world.Permission) error {
	ref, err := s.entityByID(p.Entity)
	if err != nil {
		return err
	}
	role := s.roleByName(p.Role)
	if role == nil {
		return fmt.Errorf("no role %q", p.Role)
	}
	principal := p.Principal
	if !p.Group {
		principal = s.storedName(principal)
	}
	propagate := p.Propagate == nil || *p.Propagate
	s.storePermission(ref, types.Permission{
		Principal: principal, Group: p.Group, RoleId: role.RoleId, Propagate: propagate})
	return nil
}

// storePermission replaces the principal's permission on an entity.
func (s *Server) storePermission(ref types.ManagedObjectReference, p types.Permission) {
	s.dropPermission(ref, p.Principal, p.Group)
	p.Entity = &ref
	s.perms[ref] = append(s.perms[ref], p)
}

// dropPermission takes a principal's permission on an entity away; false if there was none.
func (s *Server) dropPermission(ref types.ManagedObjectReference, principal string, group bool) bool {
	before := len(s.perms[ref])
	s.perms[ref] = slices.DeleteFunc(slices.Clone(s.perms[ref]), func(p types.Permission) bool {
		return p.Group == group && strings.EqualFold(p.Principal, principal)
	})
	return len(s.perms[ref]) != before
}
