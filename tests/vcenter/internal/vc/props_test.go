// Reading: pages, unknown paths, waiting for updates.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/world"
)

// crowded is the default world with 250 more machines.
func crowded(t *testing.T) func(*Config) {
	return func(c *Config) {
		w, err := world.Read(c.World)
		if err != nil {
			t.Fatal(err)
		}
		k := &w.Datacenters[0].Clusters[2]
		k.VMs = append(k.VMs, world.VM{Name: "many", Count: 250, PowerOff: true})
		text, _ := json.Marshal(w)
		c.World = filepath.Join(t.TempDir(), "big.json")
		if err := os.WriteFile(c.World, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *raw) more(token string) string {
	return r.call("ContinueRetrievePropertiesEx", "PropertyCollector", "<token>"+token+"</token>")
}

func TestAnswersComeInPages(t *testing.T) {
	f := start(t, crowded(t))
	r := f.admin()
	v := r.view("VirtualMachine")
	count := func(out string) int { return strings.Count(out, "<objects>") }
	out := r.list(v, "VirtualMachine", "<options/>", "name")
	if count(out) != 100 || f.element(out, "token") != "0" {
		t.Fatalf("%d objects, token %q", count(out), f.element(out, "token"))
	}
	if strings.Index(out, "<token>") > strings.Index(out, "<objects>") {
		t.Fatal("the token comes first")
	}
	out = r.more("0")
	if count(out) != 100 || f.element(out, "token") != "1" {
		t.Fatal(count(out))
	}
	f.expect(r.more("0"), "InvalidArgumentFault") // good once
	other := f.admin()
	f.expect(other.more("1"), "InvalidArgumentFault") // another session
	own := f.element(r.call("CreatePropertyCollector", "PropertyCollector", ""), "returnval")
	out, _ = r.post(envelope(`<ContinueRetrievePropertiesEx ` + xmlns + `><_this type="PropertyCollector">` + own +
		`</_this><token>1</token></ContinueRetrievePropertiesEx>`))
	f.expect(out, "InvalidArgumentFault") // another collector
	out = r.more("1")
	if count(out) != 58 {
		t.Fatal(count(out))
	}
	f.refuse(out, "<token>")

	out = r.list(v, "VirtualMachine", "<options><maxObjects>200</maxObjects></options>", "name")
	if count(out) != 100 {
		t.Fatal("the page size is the server's to limit")
	}
	token := f.element(out, "token")
	f.expect(r.call("CancelRetrievePropertiesEx", "PropertyCollector", "<token>"+token+"</token>"), "CancelRetrievePropertiesExResponse")
	f.expect(r.more(token), "InvalidArgumentFault")
	f.expect(r.call("CancelRetrievePropertiesEx", "PropertyCollector", "<token>"+token+"</token>"), "InvalidArgumentFault")
	out = r.list(v, "VirtualMachine", "<options><maxObjects>7</maxObjects></options>", "name")
	if count(out) != 7 {
		t.Fatal(count(out))
	}
	var state struct {
		Open      int `json:"open_pages"`
		Abandoned int `json:"abandoned_pages"`
	}
	f.control("GET", "/state", "", &state)
	if state.Open != 1 || state.Abandoned != 0 {
		t.Fatalf("%+v", state)
	}
	r.call("Logout", "SessionManager", "")
	f.control("GET", "/state", "", &state)
	if state.Open != 0 || state.Abandoned != 1 {
		t.Fatalf("%+v", state)
	}
	var all []mo.VirtualMachine
	c := f.client(admin, adminPass)
	cv, _ := view.NewManager(c.Client).CreateContainerView(context.Background(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err := cv.Retrieve(context.Background(), []string{"VirtualMachine"}, []string{"name"}, &all); err != nil || len(all) != 258 {
		t.Fatal(len(all), err)
	}
}

func TestNothingMatchedMeansNoReturnval(t *testing.T) {
	f := start(t)
	r := f.as("no-rights@vsphere.local", "none-Pass1")
	f.refuse(r.list(r.view("ClusterComputeResource"), "ClusterComputeResource", "<options/>", "name"), "returnval", "Fault")
}

func TestUnknownPathsFaultTheWholeCall(t *testing.T) {
	f := start(t)
	r := f.admin()
	for path, good := range map[string]bool{
		"name": true, "summary.hardware.uuid": true, "runtime.connectionState": true, "vm": true, "parent": true,
		"nme": false, "Name": false, "summary.nothing": false, "runtime..x": false, "vm.name": false, "name.": false, "self": false,
		"managedEntity": false, "childEntity": false,
	} {
		out := r.props("HostSystem", "host-11", "overallStatus", path)
		if good {
			f.expect(out, "<name>"+path+"</name>", "overallStatus")
		} else {
			f.expect(out, "<InvalidPropertyFault", `xsi:type="InvalidProperty"`, "<name>"+path+"</name>")
		}
	}
	f.expect(r.props("ExtensionManager", "ExtensionManager", `extensionList[&quot;com.springpath.sysmgmt&quot;]`), `xsi:type="Extension"`)
	f.expect(r.props("ClusterComputeResource", "domain-c7", "summary.numHosts", "configurationEx.drsConfig.enabled"),
		`<val xsi:type="xsd:int">2</val>`, `<val xsi:type="xsd:boolean">true</val>`)
	f.expect(r.props("NoSuchType", "x", "name"), "InvalidTypeFault")
	f.expect(r.call("CreateFilter", "PropertyCollector", viewSpec("spec", r.view("HostSystem"), "HostSystem", "nme")+
		"<partialUpdates>false</partialUpdates>"), "InvalidPropertyFault")
}

func TestArraysInsideAnyTypeRepeatTheirType(t *testing.T) {
	f := start(t)
	out := f.admin().props("ClusterComputeResource", "domain-c7", "host", "name", "parent")
	f.expect(out, `<val xsi:type="ArrayOfManagedObjectReference"><ManagedObjectReference type="HostSystem" xsi:type="ManagedObjectReference">host-11<`,
		`<val type="Folder" xsi:type="ManagedObjectReference">group-`, `<val xsi:type="xsd:string">HX-East</val>`)
}

func TestWaitingForUpdates(t *testing.T) {
	f := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := f.client(admin, adminPass)
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	em := types.ManagedObjectReference{Type: "ExtensionManager", Value: "ExtensionManager"}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "ExtensionManager", PathSet: []string{"extensionList"}}, {Type: "VirtualMachine", PathSet: []string{"runtime.powerState"}}},
		ObjectSet: []types.ObjectSpec{{Obj: em}, {Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-103"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(version string) *types.UpdateSet {
		seconds := int32(20)
		res, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: pc.Reference(), Version: version,
			Options: &types.WaitOptions{MaxWaitSeconds: &seconds}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Returnval
	}
	first := wait("")
	if first.Version != "1" || len(first.FilterSet) != 1 || len(first.FilterSet[0].ObjectSet) != 2 {
		t.Fatalf("%+v", first)
	}
	go func() {
		time.Sleep(100 * time.Millisecond)
		f.control("POST", "/extensions", `{"key":"com.springpath.sysmgmt.domain-c40","version":"1.0","label":"x","summary":"y"}`, nil)
	}()
	second := wait("1")
	if second == nil || second.Version != "2" || !strings.Contains(fmt.Sprintf("%+v", second.FilterSet), "domain-c40") {
		t.Fatalf("%+v", second)
	}
	if _, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: pc.Reference(), Version: "1"}); err == nil ||
		!strings.Contains(err.Error(), "version") {
		t.Fatal(err)
	}
	zero := int32(0)
	res, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: pc.Reference(), Version: "2",
		Options: &types.WaitOptions{MaxWaitSeconds: &zero}})
	if err != nil || res.Returnval != nil {
		t.Fatal(res, err)
	}
	done := make(chan error)
	go func() {
		_, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: pc.Reference(), Version: "2"})
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	f.control("POST", "/sessions/expire", `{"all": true}`, nil)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "not authenticated") {
		t.Fatal(err)
	}
}

func TestPermissionEventsAreSeen(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-east@vsphere.local","remove":true}`, nil)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out := r.props("EventManager", "EventManager", "latestEvent")
		if strings.Contains(out, `xsi:type="PermissionRemovedEvent"`) {
			f.expect(out, `<principal>VSPHERE.LOCAL\viewer-east</principal>`, ">domain-c7<")
			return
		}
		if time.Now().After(end) {
			t.Fatal(out)
		}
	}
}

func TestFetchReadsOneProperty(t *testing.T) {
	f := start(t)
	r := f.as("viewer-east@vsphere.local", "east-Pass1")
	fetch := func(kind, id, path string) string {
		out, err := r.post(envelope(`<Fetch ` + xmlns + `><_this type="` + kind + `">` + id + `</_this><prop>` + path + `</prop></Fetch>`))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	f.expect(fetch("ClusterComputeResource", "domain-c7", "name"), `<returnval xsi:type="xsd:string">HX-East</returnval>`)
	f.expect(fetch("ClusterComputeResource", "domain-c70", "name"), "NoPermissionFault")
	f.expect(fetch("SessionManager", "SessionManager", "sessionList"), "NoPermissionFault", "Sessions.TerminateSession")
	f.expect(fetch("ClusterComputeResource", "domain-c7", "nme"), "InvalidPropertyFault")
}
