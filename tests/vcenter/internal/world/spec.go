// The world file: what is in it. How it becomes an inventory is in build.go.
// SPDX-License-Identifier: GPL-3.0-or-later
package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// World describes one vCenter. Every moref may be left out; the simulator then chooses one.
type World struct {
	Name         string       `json:"name,omitempty"`
	InstanceUUID string       `json:"instance_uuid,omitempty"`
	Roles        []Role       `json:"roles,omitempty"`
	Users        []User       `json:"users,omitempty"`
	Permissions  []Permission `json:"permissions,omitempty"`
	Folders      []Folder     `json:"folders,omitempty"`
	Datacenters  []Datacenter `json:"datacenters,omitempty"`
	Extensions   []Extension  `json:"extensions,omitempty"`
}

// Role is a role beside the built-in ones; System.* privileges are added to it as the server does.
type Role struct {
	Name       string   `json:"name"`
	Privileges []string `json:"privileges"`
}

// User can log in as name@domain, DOMAIN\name or ALIAS\name, in any letter case.
type User struct {
	Name           string   `json:"name"`
	Domain         string   `json:"domain,omitempty"`       // default vsphere.local
	DomainAlias    string   `json:"domain_alias,omitempty"` // default: the domain in capitals
	Password       string   `json:"password"`
	FullName       string   `json:"full_name,omitempty"`
	Groups         []string `json:"groups,omitempty"` // in the form DOMAIN\group
	ServiceAccount bool     `json:"service_account,omitempty"`
	Locked         bool     `json:"locked,omitempty"`           // whatever the password
	Expired        bool     `json:"password_expired,omitempty"` // the password is right, but its time is over
}

// Permission grants a role to a user or group on an entity, given by moref.
type Permission struct {
	Entity    string `json:"entity"`
	Principal string `json:"principal"`
	Group     bool   `json:"group,omitempty"`
	Role      string `json:"role"`
	Propagate *bool  `json:"propagate,omitempty"` // default true
}

// Folder is a folder right below the root folder.
type Folder struct {
	Name  string `json:"name"`
	Moref string `json:"moref,omitempty"`
}

// Datacenter holds clusters; one local datastore is made for all its hosts.
type Datacenter struct {
	Name      string    `json:"name"`
	Moref     string    `json:"moref,omitempty"`
	Datastore string    `json:"datastore,omitempty"` // default <name>-DS
	Networks  []string  `json:"networks,omitempty"`  // port groups beside VM Network
	Clusters  []Cluster `json:"clusters,omitempty"`
}

// Cluster is a ClusterComputeResource.
type Cluster struct {
	Name  string `json:"name"`
	Moref string `json:"moref,omitempty"`
	Hosts []Host `json:"hosts,omitempty"`
	VMs   []VM   `json:"vms,omitempty"`
}

// Host is a connected, powered-on host.
type Host struct {
	Name  string `json:"name"`
	Moref string `json:"moref,omitempty"`
}

// VM is a virtual machine; count > 1 makes that many, named name-0000, name-0001, ...
type VM struct {
	Name         string            `json:"name"`
	Moref        string            `json:"moref,omitempty"`
	InstanceUUID string            `json:"instance_uuid,omitempty"`
	UUID         string            `json:"uuid,omitempty"`
	Host         string            `json:"host,omitempty"` // default: the cluster's hosts in turn
	PowerOff     bool              `json:"power_off,omitempty"`
	Count        int               `json:"count,omitempty"`
	ExtraConfig  map[string]string `json:"extra_config,omitempty"`
	ManagedBy    string            `json:"managed_by,omitempty"` // extension key
	Annotation   string            `json:"annotation,omitempty"`
	GuestNet     map[string]string `json:"guest_net,omitempty"` // port group: address that VMware Tools report there
	NumCPU       int32             `json:"num_cpu,omitempty"`   // default 2
	MemoryMB     int64             `json:"memory_mb,omitempty"` // default 4096
	DisksGB      []int64           `json:"disks_gb,omitempty"`
	NICs         []string          `json:"nics,omitempty"`     // names of the port groups that its vmxnet3 cards are in
	Snapshot     string            `json:"snapshot,omitempty"` // name of a snapshot, taken while it is off
	Hardware     string            `json:"hardware,omitempty"` // version of its virtual hardware, default vmx-17
	Template     bool              `json:"template,omitempty"` // made a template, after the snapshot
}

// Extension is a record of the ExtensionManager, either by members or as raw <extension> XML.
type Extension struct {
	Key         string            `json:"key"`
	Version     string            `json:"version,omitempty"`
	Company     string            `json:"company,omitempty"`
	Type        string            `json:"type,omitempty"`
	Label       string            `json:"label,omitempty"`
	Summary     string            `json:"summary,omitempty"`
	Servers     []ExtensionServer `json:"servers,omitempty"`
	Clients     []ExtensionClient `json:"clients,omitempty"`
	HealthURL   string            `json:"health_url,omitempty"`
	Certificate string            `json:"certificate_pem,omitempty"` // its login certificate
	XML         string            `json:"xml,omitempty"`
}

// ExtensionServer is one server entry of an extension record.
type ExtensionServer struct {
	URL         string   `json:"url"`
	Type        string   `json:"type"`
	Company     string   `json:"company,omitempty"`
	Label       string   `json:"label,omitempty"`
	AdminEmail  []string `json:"admin_email,omitempty"`
	Thumbprint  string   `json:"thumbprint,omitempty"`
	Certificate string   `json:"certificate_pem,omitempty"`
}

// ExtensionClient is one client entry of an extension record.
type ExtensionClient struct {
	URL     string `json:"url"`
	Type    string `json:"type"`
	Version string `json:"version,omitempty"`
	Company string `json:"company,omitempty"`
	Label   string `json:"label,omitempty"`
}

// Read loads a world file; unknown members are errors, so that a typing slip shows.
func Read(path string) (*World, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	w := new(World)
	if err := d.Decode(w); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}
