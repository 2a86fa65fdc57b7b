// The control port's calls that change the inventory and post events.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
	"kaas.test/vcenter/internal/world"
)

func (s *Server) ctlObjects(*http.Request) (any, error) {
	type row struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Name   string `json:"name"`
		Parent string `json:"parent,omitempty"`
		Host   string `json:"host,omitempty"` // of a machine
	}
	list := []row{}
	for _, e := range s.ctx.Map.All("") {
		m := e.(mo.Entity).Entity()
		out := row{Type: m.Self.Type, ID: m.Self.Value, Name: m.Name}
		if m.Parent != nil {
			out.Parent = m.Parent.Value
		}
		if hosts := s.references(s.anon, e, "runtime.host"); m.Self.Type == "VirtualMachine" && len(hosts) > 0 {
			out.Host = hosts[0].Value
		}
		list = append(list, out)
	}
	return list, nil
}

// objectOrder is a change of one object; which members count depends on the action.
type objectOrder struct {
	Action       string         `json:"action"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	State        string         `json:"state"`
	To           string         `json:"to"` // moref of a host (migrate), cluster or folder (move)
	UUID         string         `json:"uuid"`
	InstanceUUID string         `json:"instance_uuid"`
	Datacenter   string         `json:"datacenter"`
	Cluster      *world.Cluster `json:"cluster"`
	Host         *world.Host    `json:"host"`
	VM           *world.VM      `json:"vm"`
	Network      string         `json:"network"`
	Capacity     *int64         `json:"capacity_bytes"`
	Free         *int64         `json:"free_bytes"`
}

// ctlObject creates, changes or removes inventory objects.
func (s *Server) ctlObject(r *http.Request) (any, error) {
	var a objectOrder
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if a.Action == "create" && a.Cluster != nil {
		ref, err := s.build.Cluster(a.Datacenter, *a.Cluster)
		return map[string]string{"type": ref.Type, "id": ref.Value}, err
	}
	ref, err := s.entityByID(a.ID)
	if err != nil {
		return nil, err
	}
	return s.changeObject(ref, a)
}

func (s *Server) changeObject(ref moRef, a objectOrder) (any, error) {
	b := s.build
	switch a.Action {
	case "rename":
		return nil, b.Rename(ref, a.Name)
	case "remove":
		return nil, s.removeObject(ref)
	case "power":
		return nil, s.orderPower(ref, a.State)
	case "room":
		return nil, s.orderRoom(ref, a.Capacity, a.Free)
	case "connection":
		return nil, b.Connect(ref, a.State)
	case "identify":
		return nil, b.Identify(ref, a.UUID, a.InstanceUUID)
	case "migrate", "move":
		to, err := s.entityByID(a.To)
		if err != nil {
			return nil, err
		}
		if a.Action == "migrate" {
			return nil, b.Migrate(ref, to)
		}
		return nil, b.Move(ref, to)
	case "create":
		return s.createBelow(ref, a)
	}
	return nil, fmt.Errorf("unknown action %q", a.Action)
}

// orderPower sets a state of power; a guest that does not run any more says nothing.
func (s *Server) orderPower(ref moRef, state string) error {
	spoke := false
	if vm := s.machine(ref); vm != nil && state != string(powerOn) {
		s.withMachine(vm, func() {
			spoke = vm.Guest.ToolsRunningStatus == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		})
	}
	if err := s.build.Power(ref, state); err != nil || !spoke {
		return err
	}
	s.forgetGuest(s.machine(ref))
	return nil
}

// createBelow makes a host or machines in a cluster that exists, or a port group in a datacenter.
func (s *Server) createBelow(cluster moRef, a objectOrder) (any, error) {
	if a.Host != nil {
		made, err := s.build.AddHost(cluster, *a.Host)
		return map[string]string{"type": made.Type, "id": made.Value}, err
	}
	if a.Network != "" {
		made, err := s.build.AddNetwork(cluster, a.Network)
		return map[string]string{"type": made.Type, "id": made.Value}, err
	}
	if a.VM == nil {
		return nil, fmt.Errorf("create needs cluster, host, vm or network")
	}
	s.vms.making.Lock() // a machine that comes up while a clone is made would be taken for the clone
	made, err := s.build.AddMachines(cluster, *a.VM)
	s.vms.making.Unlock()
	s.refreshRooms()
	ids := []string{}
	for _, ref := range made {
		ids = append(ids, ref.Value)
	}
	return map[string][]string{"ids": ids}, err
}

// removeObject takes an object and all below it away, powered on or not.
func (s *Server) removeObject(ref moRef) error {
	s.mu.Lock()
	delete(s.perms, ref)
	s.mu.Unlock()
	err := s.build.Remove(ref)
	s.refreshRooms()
	return err
}

// ctlEvent posts events.
func (s *Server) ctlEvent(r *http.Request) (any, error) {
	var a eventOrder
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	for range max(a.Count, 1) {
		e, err := s.event(a)
		if err != nil {
			return nil, err
		}
		s.postEvent(a.User, e)
	}
	return nil, nil
}

// eventOrder is an event: of a type by its name, or an EventEx by its id, about an object if one is named.
type eventOrder struct {
	Type    string `json:"type"`          // name of an event type, default EventEx
	ID      string `json:"event_type_id"` // of an EventEx
	Message string `json:"message"`
	Entity  string `json:"entity"`
	User    string `json:"user"`
	Count   int    `json:"count"`
}

func (s *Server) event(o eventOrder) (types.BaseEvent, error) {
	if o.Type == "" {
		o.Type = "EventEx"
	}
	t, ok := wire.Lookup(o.Type)
	if !ok {
		return nil, fmt.Errorf("unknown event type %q", o.Type)
	}
	e, ok := reflect.New(t).Interface().(types.BaseEvent)
	if !ok {
		return nil, fmt.Errorf("%q is no event type", o.Type)
	}
	if x, ok := e.(*types.EventEx); ok {
		x.EventTypeId, x.Message, x.Severity = o.ID, o.Message, string(types.EventEventSeverityInfo)
	}
	e.GetEvent().FullFormattedMessage = o.Message
	if o.Entity != "" {
		ref, err := s.entityByID(o.Entity)
		if err != nil {
			return nil, err
		}
		s.attachEntity(e.GetEvent(), ref)
	}
	return e, nil
}

func (s *Server) attachEntity(e *types.Event, ref moRef) {
	arg := s.argument(ref)
	switch ref.Type {
	case "VirtualMachine":
		e.Vm = &types.VmEventArgument{EntityEventArgument: arg, Vm: ref}
	case "HostSystem":
		e.Host = &types.HostEventArgument{EntityEventArgument: arg, Host: ref}
	case "ClusterComputeResource", "ComputeResource":
		e.ComputeResource = &types.ComputeResourceEventArgument{EntityEventArgument: arg, ComputeResource: ref}
	case "Datacenter":
		e.Datacenter = &types.DatacenterEventArgument{EntityEventArgument: arg, Datacenter: ref}
	}
}
