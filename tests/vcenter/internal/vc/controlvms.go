// The control port's calls about machines: what each is like, as whoever plays the hypervisor must know it, and
// what VMware Tools in its guest say.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	guestInfo     = "guestinfo."
	maxGuestInfo  = 64 << 10 // bytes of one value (the limit of guest messages in open-vm-tools)
	maxMachineSec = 300
)

// vmRow is a machine as it is now.
type vmRow struct {
	ID           string            `json:"moid"`
	Seq          int64             `json:"seq"`
	Name         string            `json:"name"`
	Power        string            `json:"power"`
	Boot         int               `json:"boot"`
	InstanceUUID string            `json:"instance_uuid"`
	UUID         string            `json:"uuid"`
	Template     bool              `json:"template"`
	Host         string            `json:"host"`
	Folder       string            `json:"folder"`
	NumCPU       int32             `json:"num_cpu"`
	MemoryMB     int32             `json:"memory_mb"`
	Annotation   string            `json:"annotation"`
	ManagedBy    *managedBy        `json:"managed_by"`
	NICs         []nicRow          `json:"nics"`
	Disks        []diskRow         `json:"disks"`
	GuestInfo    map[string]string `json:"guestinfo"`
	Request      *request          `json:"request"`
	Guest        guestRow          `json:"guest"`
}

// goneRow is all that is left of a machine that was removed.
type goneRow struct {
	ID   string `json:"moid"`
	Seq  int64  `json:"seq"`
	Name string `json:"name"`
	Gone bool   `json:"gone"`
}

type managedBy struct {
	Key  string `json:"extension_key"`
	Type string `json:"type"`
}

type nicRow struct {
	Key       int32  `json:"key"`
	MAC       string `json:"mac"`
	Network   string `json:"network"`
	Connected bool   `json:"connected"`
}

type diskRow struct {
	Key      int32  `json:"key"`
	Capacity int64  `json:"capacity_bytes"`
	File     string `json:"file"`
	Parent   string `json:"parent"`
}

type guestRow struct {
	Tools string `json:"tools_running_status"`
	Host  string `json:"host_name"`
	IP    string `json:"ip_address"`
}

// ctlVMs waits for machines that changed after a number, and lists them.
func (s *Server) ctlVMs(r *http.Request) (any, error) {
	q := r.URL.Query()
	after, _ := strconv.ParseInt(q.Get("after"), 10, 64)
	wait, _ := strconv.ParseFloat(q.Get("wait_s"), 64)
	limit := time.After(time.Duration(min(wait, maxMachineSec) * float64(time.Second)))
	for {
		rows, seq, wake := s.changedVMs(after, q.Get("id"))
		if len(rows) > 0 {
			return map[string]any{"seq": seq, "vms": rows}, nil
		}
		select {
		case <-wake:
		case <-limit:
			return map[string]any{"seq": seq, "vms": rows}, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// changedVMs lists the machines that changed, in the order of their changes, and what to wait for.
func (s *Server) changedVMs(after int64, id string) ([]any, int64, chan struct{}) {
	type changed struct {
		ref  moRef
		page vmPage
	}
	b := &s.vms
	b.mu.Lock()
	seq, wake := b.seq, b.wake
	list := []changed{}
	for ref, p := range b.pages {
		if p.seq > after && !p.unborn && (id == "" || id == ref.Value) {
			list = append(list, changed{ref, *p})
		}
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(x, y changed) int { return cmp.Compare(x.page.seq, y.page.seq) })
	rows := []any{}
	for _, c := range list {
		if vm := s.machine(c.ref); vm != nil && !c.page.gone {
			rows = append(rows, s.vmRow(vm, c.page))
		} else if after > 0 {
			rows = append(rows, goneRow{c.ref.Value, c.page.seq, c.page.name, true})
		}
	}
	return rows, seq, wake
}

func (s *Server) vmRow(vm *simulator.VirtualMachine, p vmPage) vmRow {
	row := vmRow{ID: vm.Self.Value, Seq: p.seq, Boot: p.boot, Request: p.request,
		NICs: []nicRow{}, Disks: []diskRow{}, GuestInfo: map[string]string{}}
	s.withMachine(vm, func() {
		row.Name, row.Power, row.Template = vm.Name, string(vm.Runtime.PowerState), vm.Config.Template
		row.InstanceUUID, row.UUID, row.Annotation = vm.Config.InstanceUuid, vm.Config.Uuid, vm.Config.Annotation
		row.NumCPU, row.MemoryMB = vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB
		if vm.Runtime.Host != nil {
			row.Host = vm.Runtime.Host.Value
		}
		if vm.Parent != nil {
			row.Folder = vm.Parent.Value
		}
		if m := vm.Config.ManagedBy; m != nil {
			row.ManagedBy = &managedBy{m.ExtensionKey, m.Type}
		}
		for _, d := range vm.Config.Hardware.Device {
			s.deviceRow(&row, d)
		}
		for _, o := range vm.Config.ExtraConfig {
			if v := o.GetOptionValue(); strings.HasPrefix(v.Key, guestInfo) {
				row.GuestInfo[v.Key], _ = v.Value.(string)
			}
		}
		row.Guest = guestRow{vm.Guest.ToolsRunningStatus, vm.Guest.HostName, vm.Guest.IpAddress}
	})
	return row
}

func (s *Server) deviceRow(row *vmRow, d types.BaseVirtualDevice) {
	switch x := d.(type) {
	case *types.VirtualDisk:
		file, parent := diskFiles(x)
		row.Disks = append(row.Disks, diskRow{x.Key, x.CapacityInBytes, file, parent})
	case types.BaseVirtualEthernetCard:
		card := x.GetVirtualEthernetCard()
		row.NICs = append(row.NICs, nicRow{card.Key, card.MacAddress, s.networkName(card),
			card.Connectable == nil || card.Connectable.StartConnected})
	}
}

// diskFiles are the file of a disk and that of its parent.
func diskFiles(d *types.VirtualDisk) (file, parent string) {
	b, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if !ok {
		return "", ""
	}
	if b.Parent != nil {
		parent = b.Parent.FileName
	}
	return b.FileName, parent
}

// networkName is the name of the port group that a card is in.
func (s *Server) networkName(card *types.VirtualEthernetCard) string {
	switch b := card.Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return s.nameOf(moRef{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey})
	}
	return ""
}

// guestReport is what VMware Tools say; members that are left out stay as they were.
type guestReport struct {
	Boot  *int    `json:"boot"`
	Tools *string `json:"tools_running_status"`
	Host  *string `json:"host_name"`
	IP    *string `json:"ip_address"`
	Net   *[]struct {
		MAC       string   `json:"mac"`
		Addresses []string `json:"addresses"`
	} `json:"net"`
	GuestInfo map[string]string `json:"guestinfo"`
	ShutDown  bool              `json:"shut_down"`
	Rebooted  bool              `json:"rebooted"`
}

// ctlGuest takes a report of a guest.
func (s *Server) ctlGuest(r *http.Request) (any, error) {
	var a guestReport
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	vm := s.machine(moRef{Type: "VirtualMachine", Value: r.PathValue("id")})
	if vm == nil {
		return nil, fmt.Errorf("there is no machine %s", r.PathValue("id"))
	}
	if err := s.mayReport(vm, a); err != nil {
		return nil, err
	}
	var changes []types.PropertyChange
	s.withMachine(vm, func() { changes = s.reportChanges(vm, a) })
	if len(changes) > 0 {
		s.update(vm, changes...)
	}
	switch {
	case a.ShutDown:
		return nil, s.guestEnds(vm)
	case a.Rebooted:
		s.reboot(vm)
	}
	return nil, nil
}

// mayReport refuses what a guest cannot say.
func (s *Server) mayReport(vm *simulator.VirtualMachine, a guestReport) error {
	p := s.vms.page(vm.Self)
	if !p.on {
		return fmt.Errorf("%s is not powered on", vm.Self.Value)
	}
	if a.Boot != nil && *a.Boot != p.boot {
		return fmt.Errorf("boot %d of %s is over, it is boot %d", *a.Boot, vm.Self.Value, p.boot)
	}
	if a.Tools != nil && !slices.Contains(types.VirtualMachineToolsRunningStatus("").Strings(), *a.Tools) {
		return fmt.Errorf("%q is no status of VMware Tools", *a.Tools)
	}
	for key, value := range a.GuestInfo {
		if !strings.HasPrefix(key, guestInfo) {
			return fmt.Errorf("%q does not begin with %s", key, guestInfo)
		}
		if len(value) > maxGuestInfo {
			return fmt.Errorf("the value of %s has %d bytes, more than %d", key, len(value), maxGuestInfo)
		}
	}
	if a.Net != nil {
		for _, n := range *a.Net {
			for _, text := range n.Addresses {
				if _, _, err := guestAddress(text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// reportChanges turns a report into changes of the machine, which the caller holds.
func (s *Server) reportChanges(vm *simulator.VirtualMachine, a guestReport) []types.PropertyChange {
	var out []types.PropertyChange
	set := func(value *string, names ...string) {
		for _, name := range names {
			if value != nil {
				out = append(out, types.PropertyChange{Name: name, Val: *value})
			}
		}
	}
	set(a.Tools, "guest.toolsRunningStatus", "summary.guest.toolsRunningStatus")
	if a.Tools != nil {
		status, state := types.VirtualMachineToolsStatusToolsNotRunning, types.VirtualMachineGuestStateNotRunning
		if *a.Tools != string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning) {
			status, state = types.VirtualMachineToolsStatusToolsOk, types.VirtualMachineGuestStateRunning
		}
		out = append(out, types.PropertyChange{Name: "guest.toolsStatus", Val: status},
			types.PropertyChange{Name: "summary.guest.toolsStatus", Val: status},
			types.PropertyChange{Name: "guest.guestState", Val: string(state)})
	}
	set(a.Host, "guest.hostName", "summary.guest.hostName")
	set(a.IP, "guest.ipAddress", "summary.guest.ipAddress")
	if a.Net != nil {
		list := []types.GuestNicInfo{}
		for _, n := range *a.Net {
			list = append(list, s.guestNIC(vm, n.MAC, n.Addresses))
		}
		out = append(out, types.PropertyChange{Name: "guest.net", Val: list})
	}
	if len(a.GuestInfo) > 0 {
		out = append(out, types.PropertyChange{Name: "config.extraConfig", Val: withOptions(vm.Config.ExtraConfig, a.GuestInfo)})
	}
	return out
}

// guestNIC is an interface of the guest; one that is no virtual card, as a bridge for containers, has no network.
func (s *Server) guestNIC(vm *simulator.VirtualMachine, mac string, addresses []string) types.GuestNicInfo {
	out := types.GuestNicInfo{MacAddress: mac, Connected: true, DeviceConfigId: -1, IpConfig: &types.NetIpConfigInfo{}}
	for _, d := range vm.Config.Hardware.Device {
		if x, ok := d.(types.BaseVirtualEthernetCard); ok && strings.EqualFold(x.GetVirtualEthernetCard().MacAddress, mac) {
			out.Network, out.DeviceConfigId = s.networkName(x.GetVirtualEthernetCard()), x.GetVirtualEthernetCard().Key
		}
	}
	for _, text := range addresses {
		ip, bits, _ := guestAddress(text)
		out.IpAddress = append(out.IpAddress, ip)
		out.IpConfig.IpAddress = append(out.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
			IpAddress: ip, PrefixLength: int32(bits), State: string(types.NetIpConfigInfoIpAddressStatusPreferred)})
	}
	return out
}

// guestAddress reads an address with its prefix length; without one it is 24, or 64 for IPv6.
func guestAddress(text string) (string, int, error) {
	if ip, network, err := net.ParseCIDR(text); err == nil {
		bits, _ := network.Mask.Size()
		return ip.String(), bits, nil
	}
	ip := net.ParseIP(text)
	switch {
	case ip == nil:
		return "", 0, fmt.Errorf("%q is no address", text)
	case ip.To4() != nil:
		return ip.String(), 24, nil
	}
	return ip.String(), 64, nil
}

// withOptions is a list of options with some set, and without those that are set to nothing.
func withOptions(list []types.BaseOptionValue, set map[string]string) []types.BaseOptionValue {
	out := slices.DeleteFunc(slices.Clone(list), func(o types.BaseOptionValue) bool {
		_, changed := set[o.GetOptionValue().Key]
		return changed
	})
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] != "" {
			out = append(out, &types.OptionValue{Key: key, Value: set[key]})
		}
	}
	return out
}
