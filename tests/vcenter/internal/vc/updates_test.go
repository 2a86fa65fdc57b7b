// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// watcher is a client with a collector of its own.
type watcher struct {
	*raw
	pc, version string
}

func (r *raw) watcher() *watcher {
	r.f.Helper()
	own := *r // its calls run beside those of r
	out := own.call("CreatePropertyCollector", "PropertyCollector", "")
	return &watcher{&own, r.f.element(out, "returnval"), ""}
}

func (w *watcher) on(op, this, id, inner string) string {
	w.f.Helper()
	out, err := w.post(envelope(fmt.Sprintf(`<%s %s><_this type="%s">%s</_this>%s</%s>`, op, xmlns, this, id, inner, op)))
	if err != nil {
		w.f.Fatal(err)
	}
	return out
}

// filter watches paths of all objects of a type.
func (w *watcher) filter(kind string, paths ...string) string {
	w.f.Helper()
	out := w.on("CreateFilter", "PropertyCollector", w.pc, viewSpec("spec", w.view(kind), kind, paths...)+
		"<partialUpdates>false</partialUpdates>")
	return w.f.element(out, "returnval")
}

// ask is one WaitForUpdatesEx; the version is kept.
func (w *watcher) ask(seconds int, more string) string {
	w.f.Helper()
	out := w.on("WaitForUpdatesEx", "PropertyCollector", w.pc, fmt.Sprintf(
		`<version>%s</version><options><maxWaitSeconds>%d</maxWaitSeconds>%s</options>`, w.version, seconds, more))
	if strings.Contains(out, "<returnval>") {
		w.version = w.f.element(out, "version")
	}
	return out
}

// first reads everything there is.
func (w *watcher) first() string {
	w.f.Helper()
	all := ""
	for {
		out := w.ask(20, "")
		all += out
		if !strings.Contains(out, "<truncated>true") {
			return all
		}
	}
}

// until waits for updates that hold all of the texts, however many answers they come in.
func (w *watcher) until(texts ...string) string {
	w.f.Helper()
	all := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		all += w.ask(20, "")
		missing := false
		for _, t := range texts {
			missing = missing || !strings.Contains(all, t)
		}
		if !missing {
			return all
		}
	}
	w.f.Fatalf("not all of %q in:\n%s", texts, all)
	return ""
}

// quiet expects that nothing is left to tell.
func (w *watcher) quiet() {
	w.f.Helper()
	w.f.refuse(w.ask(0, ""), "returnval")
}

// pending starts a wait and hands out its answer; the wait has begun when the call log shows it.
func (w *watcher) pending() <-chan string {
	w.f.Helper()
	before := w.f.waits()
	out := make(chan string, 1)
	go func() { out <- w.ask(60, "") }()
	for end := time.Now().Add(20 * time.Second); w.f.waits() == before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.f.Fatal("the wait has not begun")
		}
	}
	return out
}

func (f *fixture) waits() int {
	var log struct {
		Calls []callEntry `json:"calls"`
	}
	f.control("GET", "/calls?op=WaitForUpdatesEx", "", &log)
	return len(log.Calls)
}

func kindOf(kind, id string) string {
	return "<kind>" + kind + `</kind><obj type="` + strings.Fields(id)[0] + `">` + strings.Fields(id)[1] + "</obj>"
}

func TestObjectsEnterAndLeaveWhileAClientWaits(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	w.filter("VirtualMachine", "name", "runtime.host", "runtime.powerState")
	f.expect(w.first(), kindOf("enter", "VirtualMachine vm-101"), `<op>assign</op><val type="HostSystem" xsi:type="ManagedObjectReference">host-11<`)
	w.quiet()
	out := w.pending()
	var made struct{ IDs []string }
	f.control("POST", "/objects", `{"action":"create","id":"domain-c40","vm":{"name":"fresh","count":2}}`, &made)
	if len(made.IDs) != 2 {
		t.Fatal(made)
	}
	text := <-out + w.until("")
	for !strings.Contains(text, "fresh-0001") {
		text += w.until("")
	}
	f.expect(text, kindOf("enter", "VirtualMachine "+made.IDs[0]), kindOf("enter", "VirtualMachine "+made.IDs[1]))
	f.control("POST", "/objects", `{"action":"remove","id":"`+made.IDs[1]+`"}`, nil)
	w.until(kindOf("leave", "VirtualMachine "+made.IDs[1]))
	f.control("POST", "/objects", `{"action":"remove","id":"domain-c7"}`, nil)
	w.until(kindOf("leave", "VirtualMachine vm-101"), kindOf("leave", "VirtualMachine vm-103"))
	w.quiet()
}

func TestAGrantedOrRemovedPermissionChangesWhatAWaitShows(t *testing.T) {
	f := start(t)
	w := f.as("viewer-east@vsphere.local", "east-Pass1").watcher()
	w.filter("ClusterComputeResource", "name", "summary.numHosts")
	f.refuse(w.first(), "domain-c70<")
	out := w.pending()
	f.control("POST", "/permissions", `{"entity":"domain-c70","principal":"viewer-east@vsphere.local","role":"ReadOnly"}`, nil)
	f.expect(<-out, kindOf("enter", "ClusterComputeResource domain-c70"), "HX-West")
	out = w.pending()
	f.control("POST", "/permissions", `{"entity":"domain-c70","principal":"viewer-east@vsphere.local","remove":true}`, nil)
	f.expect(<-out, kindOf("leave", "ClusterComputeResource domain-c70"))
	// A role that may view and not read any more: the object stays, the property is denied.
	f.control("POST", "/roles", `{"name":"Looker","privileges":["Sessions.ValidateSession"]}`, nil)
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-east@vsphere.local","role":"View"}`, nil)
	text := w.until("<missingSet>")
	f.expect(text, kindOf("modify", "ClusterComputeResource domain-c7"), `<path>summary.numHosts</path><fault><fault xsi:type="NoPermission"`)
	f.refuse(text, "<kind>leave")
	w.quiet()
}

func TestAMachineThatMovesOutOfSightLeaves(t *testing.T) {
	f := start(t)
	w := f.as("viewer-east@vsphere.local", "east-Pass1").watcher()
	w.filter("VirtualMachine", "name", "runtime.host")
	f.expect(w.first(), kindOf("enter", "VirtualMachine vm-101"))
	out := w.pending()
	f.control("POST", "/objects", `{"action":"migrate","id":"vm-101","to":"host-71"}`, nil)
	f.expect(<-out, kindOf("leave", "VirtualMachine vm-101"))
	f.control("POST", "/objects", `{"action":"migrate","id":"vm-101","to":"host-12"}`, nil)
	f.expect(w.until(kindOf("enter", "VirtualMachine vm-101")), ">host-12<")
}

func TestChangesOfPropertiesAreTold(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	w.filter("VirtualMachine", "name", "parent", "runtime.host", "runtime.powerState", "runtime.connectionState",
		"config.uuid", "config.instanceUuid")
	w.filter("HostSystem", "name", "parent", "runtime.connectionState")
	w.filter("ClusterComputeResource", "name", "parent")
	w.filter("Datacenter", "name")
	w.first()
	w.quiet()
	for _, c := range []struct{ order, want string }{
		{`{"action":"power","id":"vm-101","state":"poweredOff"}`, `<name>runtime.powerState</name><op>assign</op><val xsi:type="VirtualMachinePowerState">poweredOff<`},
		{`{"action":"connection","id":"vm-101","state":"inaccessible"}`, `<val xsi:type="VirtualMachineConnectionState">inaccessible<`},
		{`{"action":"migrate","id":"vm-101","to":"host-12"}`, `<name>runtime.host</name><op>assign</op><val type="HostSystem" xsi:type="ManagedObjectReference">host-12<`},
		{`{"action":"rename","id":"vm-101","name":"other & more"}`, `>other &amp; more<`},
		{`{"action":"identify","id":"vm-101","uuid":"42010000-0000-4000-8000-000000000001","instance_uuid":"50010000-0000-4000-8000-00000000ffff"}`, `<name>config.instanceUuid</name><op>assign</op><val xsi:type="xsd:string">50010000-0000-4000-8000-00000000ffff<`},
		{`{"action":"connection","id":"host-11","state":"notResponding"}`, `<val xsi:type="HostSystemConnectionState">notResponding<`},
		{`{"action":"rename","id":"host-11","name":"esx-new"}`, `>esx-new<`},
		{`{"action":"rename","id":"domain-c7","name":"HX-Neu"}`, `>HX-Neu<`},
		{`{"action":"rename","id":"datacenter-2","name":"Rechenzentrum"}`, `>Rechenzentrum<`},
		{`{"action":"move","id":"host-12","to":"domain-c70"}`, `<name>parent</name><op>assign</op><val type="ClusterComputeResource" xsi:type="ManagedObjectReference">domain-c70<`},
	} {
		out := w.pending()
		f.control("POST", "/objects", c.order, nil)
		text := <-out
		if !strings.Contains(text, c.want) {
			text += w.until(c.want)
		}
		f.expect(text, "<kind>modify</kind>", c.want)
	}
	f.expect(f.admin().props("ClusterComputeResource", "domain-c70", "host"), ">host-12<")
	f.expect(f.admin().props("HostSystem", "host-12", "vm"), ">vm-101<")
}

func TestUpdatesAreTruncated(t *testing.T) {
	f := start(t)
	f.control("POST", "/objects", `{"action":"create","id":"domain-c40","vm":{"name":"row","count":250}}`, nil)
	w := f.admin().watcher()
	w.filter("VirtualMachine", "name")
	total, answers := 0, 0
	for {
		out := w.ask(20, "<maxObjectUpdates>500</maxObjectUpdates>")
		n := strings.Count(out, "<kind>enter")
		total += n
		answers++
		if !strings.Contains(out, "<truncated>true</truncated>") {
			break
		}
		if n != 100 {
			t.Fatal(n)
		}
	}
	if total != 258 || answers != 3 {
		t.Fatal(total, answers)
	}
	w.version = ""
	if n := strings.Count(w.ask(20, "<maxObjectUpdates>7</maxObjectUpdates>"), "<kind>enter"); n != 7 {
		t.Fatal(n)
	}
	w.first()
	w.quiet()
}

func TestAnEndOfEveryKindForAWait(t *testing.T) {
	f := start(t)
	a := f.admin()
	w := a.watcher()
	one := w.filter("HostSystem", "name")
	two := w.filter("Datacenter", "name")
	f.expect(w.first(), one+"</filter>", two+"</filter>")

	f.expect(w.on("DestroyPropertyFilter", "PropertyFilter", one, ""), "DestroyPropertyFilterResponse")
	f.expect(w.on("DestroyPropertyFilter", "PropertyFilter", one, ""), "ManagedObjectNotFoundFault")
	f.control("POST", "/objects", `{"action":"rename","id":"host-11","name":"unseen"}`, nil)
	w.quiet()
	out := w.pending()
	three := a.watcher()
	three.pc = w.pc
	made := three.filter("ClusterComputeResource", "name") // a new filter ends a wait
	f.expect(<-out, made+"</filter>", "HX-East")

	old := w.version
	w.version = "1"
	f.expect(w.ask(0, ""), "InvalidCollectorVersionFault")
	w.version = old
	out = w.pending()
	f.expect(a.watcher().on("CancelWaitForUpdates", "PropertyCollector", w.pc, ""), "CancelWaitForUpdatesResponse")
	f.expect(<-out, "RequestCanceledFault")
	out = w.pending()
	w2 := a.watcher()
	w2.pc, w2.version = w.pc, w.version
	second := w2.pending() // only one wait for each collector
	f.expect(<-out, "RequestCanceledFault")
	f.expect(a.watcher().on("DestroyPropertyCollector", "PropertyCollector", w.pc, ""), "DestroyPropertyCollectorResponse")
	f.expect(<-second, "ManagedObjectNotFoundFault")
	f.expect(w.ask(0, ""), "ManagedObjectNotFoundFault")
	f.expect(w.on("DestroyPropertyCollector", "PropertyCollector", "propertyCollector", ""), "NotSupportedFault")

	w = a.watcher()
	w.filter("Datacenter", "name")
	w.first()
	out = w.pending()
	f.control("POST", "/sessions/expire", `{"all": true}`, nil)
	f.expect(<-out, "NotAuthenticatedFault")
	f.expect(f.admin().watcher().on("WaitForUpdatesEx", "PropertyCollector", w.pc, ""), "ManagedObjectNotFoundFault")
}

func TestARestartTakesCollectorsAway(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	w.filter("Datacenter", "name")
	w.first()
	f.control("POST", "/restart", `{}`, nil)
	w.http.CloseIdleConnections()
	f.expect(w.ask(0, ""), "NotAuthenticatedFault")
	w.mustLogin(admin, adminPass)
	f.expect(w.ask(0, ""), "ManagedObjectNotFoundFault")
	w.pc = "propertyCollector"
	f.expect(w.ask(0, ""), "InvalidCollectorVersionFault")
}

func TestPartialUpdatesTellElements(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	spec := strings.ReplaceAll(specSet("ExtensionManager", "ExtensionManager", "extensionList"), "specSet", "spec")
	f.expect(w.on("CreateFilter", "PropertyCollector", w.pc, spec+"<partialUpdates>true</partialUpdates>"), "returnval")
	f.expect(w.first(), "<name>extensionList</name>")
	f.control("POST", "/extensions", `{"key":"com.example.new","version":"1.0","label":"x","summary":"y"}`, nil)
	f.expect(w.until("com.example.new"), `<name>extensionList[&#34;com.example.new&#34;]</name><op>add</op><val xsi:type="Extension">`)
	f.control("DELETE", "/extensions?key=com.example.new", "", nil)
	f.expect(w.until("com.example.new"), `<op>remove</op></changeSet>`)
	w.quiet()
}

func TestTheOldWayToWait(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	w.filter("HostSystem", "name")
	ask := func() string {
		out := w.on("WaitForUpdates", "PropertyCollector", w.pc, `<version>`+w.version+`</version>`)
		w.version = f.element(out, "version")
		return out
	}
	f.expect(ask(), "<WaitForUpdatesResponse", "enter", "hx-east-1.example.test")
	f.control("POST", "/objects", `{"action": "rename", "id": "host-11", "name": "renamed"}`, nil)
	out := ask()
	f.expect(out, "modify", "renamed")
	f.refuse(out, "hx-east-2.example.test")
}
