// Rights: views, properties, privilege questions, roles and permissions.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func (f *fixture) clusters(user, password string) []string {
	f.Helper()
	c := f.client(user, password)
	ctx := context.Background()
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"ClusterComputeResource"}, true)
	if err != nil {
		f.Fatal(err)
	}
	var list []mo.ClusterComputeResource
	if err := v.Retrieve(ctx, []string{"ClusterComputeResource"}, []string{"name"}, &list); err != nil {
		f.Fatal(err)
	}
	out := []string{}
	for _, c := range list {
		out = append(out, c.Self.Value+"="+c.Name)
	}
	return out
}

func TestEverybodySeesHisClusters(t *testing.T) {
	f := start(t)
	for _, c := range []struct{ user, pass, want string }{
		{admin, adminPass, "domain-c26=HX-East domain-c40=C-Plain domain-c70=HX-West domain-c7=HX-East"},
		{"viewer-east@vsphere.local", "east-Pass1", "domain-c7=HX-East"},
		{"viewer-dc@vsphere.local", "dc-Pass1", "domain-c40=C-Plain domain-c70=HX-West domain-c7=HX-East"},
		{"no-rights@vsphere.local", "none-Pass1", ""},
		{"ada@corp.example.test", "ada-Pass1", "domain-c70=HX-West"},
	} {
		got := f.clusters(c.user, c.pass)
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s sees %v, not %s", c.user, got, c.want)
		}
	}
}

func TestUnreadableIsMissingAndUnseenIsLeftOut(t *testing.T) {
	f := start(t)
	r := f.as("viewer-east@vsphere.local", "east-Pass1")
	out := r.props("ClusterComputeResource", "domain-c70", "name", "overallStatus")
	f.expect(out, "<missingSet><path>name</path>", "System.View", "<path>overallStatus</path>", "System.Read", `xsi:type="NoPermission"`)
	f.refuse(out, "HX-West")
	out = r.props("Datacenter", "datacenter-2", "name", "hostFolder", "overallStatus") // on the way to his cluster
	f.expect(out, `>DC0</val>`, "<name>hostFolder</name>", "<missingSet><path>overallStatus</path>")
	out = r.props("Folder", "group-d1", "childEntity")
	f.expect(out, ">datacenter-2<")
	f.refuse(out, "datacenter-3", "group-d99")
	out = r.list(r.view("VirtualMachine"), "VirtualMachine", "<options/>", "name")
	f.expect(out, "k8s-prod-cp-0", "stCtlVM-east-1") // machines inherit from their host's cluster as well
	f.refuse(out, "west", "web-0")
	f.expect(r.call("CreateContainerView", "ViewManager",
		`<container type="ClusterComputeResource">domain-c70</container><recursive>true</recursive>`), "NoPermissionFault")
	f.expect(r.props("ClusterComputeResource", "domain-c70x", "name"), "ManagedObjectNotFoundFault")
}

func TestPermissionsComeAndGo(t *testing.T) {
	f := start(t)
	f.control("POST", "/permissions", `{"entity":"domain-c70","principal":"viewer-east@vsphere.local","role":"ReadOnly"}`, nil)
	if got := f.clusters("viewer-east@vsphere.local", "east-Pass1"); len(got) != 2 {
		t.Fatal(got)
	}
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-east@vsphere.local","remove":true}`, nil)
	if got := f.clusters("viewer-east@vsphere.local", "east-Pass1"); len(got) != 1 || got[0] != "domain-c70=HX-West" {
		t.Fatal(got)
	}
	f.control("POST", "/permissions", `{"entity":"datacenter-2","principal":"viewer-dc@vsphere.local","role":"ReadOnly","propagate":false}`, nil)
	if got := f.clusters("viewer-dc@vsphere.local", "dc-Pass1"); len(got) != 0 {
		t.Fatal(got)
	}
	// Nearer beats farther: NoAccess on one cluster hides it from one who may see the datacenter.
	f.control("POST", "/permissions", `{"entity":"datacenter-2","principal":"viewer-dc@vsphere.local","role":"ReadOnly"}`, nil)
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-dc@vsphere.local","role":"NoAccess"}`, nil)
	if got := f.clusters("viewer-dc@vsphere.local", "dc-Pass1"); strings.Contains(strings.Join(got, " "), "domain-c7=") {
		t.Fatal(got)
	}
}

func (f *fixture) ask(c *raw, ids []string, session string, privileges ...string) string {
	inner := ""
	for _, id := range ids {
		inner += `<entity type="ClusterComputeResource">` + id + `</entity>`
	}
	inner += "<sessionId>" + session + "</sessionId>"
	for _, p := range privileges {
		inner += "<privId>" + p + "</privId>"
	}
	return c.call("HasPrivilegeOnEntities", "AuthorizationManager", inner)
}

func TestHasPrivilegeOnEntitiesTellsTheTruth(t *testing.T) {
	f := start(t)
	key := f.element(f.raw().mustLogin("viewer-east@vsphere.local", "east-Pass1"), "key")
	a := f.admin()
	out := f.ask(a, []string{"domain-c7", "domain-c70"}, key, "System.Read", "VirtualMachine.Config.Rename")
	row := func(id, read, rename string) string {
		return `<returnval><entity type="ClusterComputeResource">` + id + `</entity><privAvailability><privId>System.Read</privId><isGranted>` +
			read + `</isGranted></privAvailability><privAvailability><privId>VirtualMachine.Config.Rename</privId><isGranted>` + rename + `</isGranted>`
	}
	f.expect(out, row("domain-c7", "true", "false"), row("domain-c70", "false", "false"))
	if strings.Index(out, ">domain-c70<") > strings.Index(out, ">domain-c7<") {
		t.Fatal("the order of the answer should not be that of the question")
	}
	f.refuse(f.ask(a, []string{"domain-c7"}, "52000000-0000-0000-0000-000000000000", "System.Read"), ">true<")
	f.expect(f.ask(a, []string{"domain-c7", "domain-c999"}, key, "System.Read"), "ManagedObjectNotFoundFault", "domain-c999")
	east := f.as("viewer-east@vsphere.local", "east-Pass1")
	f.expect(f.ask(east, []string{"domain-c7"}, key, "System.Read"), ">true<")
	f.expect(f.ask(east, []string{"domain-c7", "domain-c70"}, key, "System.Read"), "NoPermissionFault", "domain-c70")
	f.expect(a.call("HasPrivilegeOnEntity", "AuthorizationManager", `<entity type="ClusterComputeResource">domain-c7</entity><sessionId>`+
		key+`</sessionId><privId>Folder.Create</privId><privId>System.Read</privId>`), "<returnval>false</returnval><returnval>true</returnval>")
}

func TestUserPrivileges(t *testing.T) {
	f := start(t)
	a := f.admin()
	ask := func(r *raw, op, user, extra string) string {
		return r.call(op, "AuthorizationManager", `<entities type="ClusterComputeResource">domain-c7</entities>`+
			`<entities type="ClusterComputeResource">domain-c70</entities><userName>`+user+`</userName>`+extra)
	}
	for _, user := range []string{"VIEWER-EAST@vsphere.local", `VSPHERE.LOCAL\viewer-east`} {
		out := ask(a, "HasUserPrivilegeOnEntities", user, "<privId>System.Read</privId>")
		f.expect(out, `domain-c7</entity><privAvailability><privId>System.Read</privId><isGranted>true`,
			`domain-c70</entity><privAvailability><privId>System.Read</privId><isGranted>false`)
	}
	f.expect(ask(a, "HasUserPrivilegeOnEntities", "ghost@vsphere.local", "<privId>System.Read</privId>"), "UserNotFound")
	f.control("POST", "/settings", `{"unknown_user": "false"}`, nil)
	f.refuse(ask(a, "HasUserPrivilegeOnEntities", "ghost@vsphere.local", "<privId>System.Read</privId>"), ">true<", "Fault")
	f.expect(ask(a, "FetchUserPrivilegeOnEntities", "viewer-east@vsphere.local", ""), "<privileges>System.Read</privileges>")
	f.expect(ask(f.as("viewer-east@vsphere.local", "east-Pass1"), "HasUserPrivilegeOnEntities", admin, ""), "NoPermissionFault", "System.View")
	a.version = "6.0"
	f.expect(ask(a, "HasUserPrivilegeOnEntities", admin, ""), "InvalidRequest")
}

func TestRolesAndPermissionsByCalls(t *testing.T) {
	f := start(t)
	ctx := context.Background()
	c := f.client(admin, adminPass)
	m := object.NewAuthorizationManager(c.Client)
	id, err := m.AddRole(ctx, "Own", []string{"Sessions.ValidateSession"})
	if err != nil || id <= 0 {
		t.Fatal(id, err)
	}
	roles, err := m.RoleList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own := roles.ByName("Own")
	if own == nil || strings.Join(own.Privilege, " ") != "Sessions.ValidateSession System.Anonymous System.Read System.View" {
		t.Fatalf("%+v", own)
	}
	if _, err := m.AddRole(ctx, "Own", nil); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Fatal(err)
	}
	if _, err := m.AddRole(ctx, "Bad", []string{"No.Such"}); err == nil {
		t.Fatal("an unknown privilege was accepted")
	}
	cluster := types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c40"}
	set := func(who string, role int32, on types.ManagedObjectReference) error {
		return m.SetEntityPermissions(ctx, on, []types.Permission{{Principal: who, RoleId: role, Propagate: true}})
	}
	if err := set("viewer-east@vsphere.local", id, cluster); err != nil {
		t.Fatal(err)
	}
	if err := set("ghost@vsphere.local", id, cluster); err == nil {
		t.Fatal("a permission for an unknown user was accepted")
	}
	var folder mo.Datacenter
	pc := property.DefaultCollector(c.Client)
	if err := pc.RetrieveOne(ctx, types.ManagedObjectReference{Type: "Datacenter", Value: "datacenter-2"}, []string{"hostFolder"}, &folder); err != nil {
		t.Fatal(err)
	}
	if err := set("viewer-east@vsphere.local", id, folder.HostFolder); err == nil {
		t.Fatal("a datacenter's own folder carries no permissions")
	}
	list, err := m.RetrieveEntityPermissions(ctx, cluster, true)
	if err != nil || len(list) < 3 {
		t.Fatal(list, err)
	}
	if err := m.RemoveRole(ctx, id, true); err == nil {
		t.Fatal("a role in use was removed")
	}
	if err := m.RemoveEntityPermission(ctx, cluster, "viewer-east@vsphere.local", false); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveRole(ctx, id, true); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveRole(ctx, -1, false); err == nil {
		t.Fatal("the Admin role was removed")
	}
	op := f.as("operator@vsphere.local", "oper-Pass1")
	f.expect(op.call("AddAuthorizationRole", "AuthorizationManager", "<name>x</name>"), "NoPermissionFault", "Authorization.ModifyRoles")
}

func TestOtherOperationsNeedTheirPrivileges(t *testing.T) {
	f := start(t)
	r := f.as("viewer-dc@vsphere.local", "dc-Pass1")
	f.expect(r.call("PowerOffVM_Task", "VirtualMachine", ""), "ManagedObjectNotFound")
	out, _ := r.post(envelope(`<PowerOffVM_Task ` + xmlns + `><_this type="VirtualMachine">vm-101</_this></PowerOffVM_Task>`))
	f.expect(out, "NoPermissionFault", "VirtualMachine.Interact.PowerOff", "vm-101")
	out, _ = f.admin().post(envelope(`<PowerOffVM_Task ` + xmlns + `><_this type="VirtualMachine">vm-101</_this></PowerOffVM_Task>`))
	f.expect(out, `<returnval type="Task">task-`)
}
