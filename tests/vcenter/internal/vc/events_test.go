// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// events makes a collector for events and watches its latest page.
func (w *watcher) events(filter string) string {
	w.f.Helper()
	out := w.call("CreateCollectorForEvents", "EventManager", "<filter>"+filter+"</filter>")
	id := w.f.element(out, "returnval")
	out = w.on("CreateFilter", "PropertyCollector", w.pc, strings.ReplaceAll(specSet("EventHistoryCollector", id, "latestPage"),
		"specSet", "spec")+"<partialUpdates>false</partialUpdates>")
	w.f.expect(out, "CreateFilterResponse")
	return id
}

const rightsEvents = "<eventTypeId>vim.event.PermissionAddedEvent</eventTypeId><eventTypeId>PermissionUpdatedEvent</eventTypeId>" +
	"<eventTypeId>PermissionRemovedEvent</eventTypeId><eventTypeId>RoleAddedEvent</eventTypeId>" +
	"<eventTypeId>RoleUpdatedEvent</eventTypeId><eventTypeId>RoleRemovedEvent</eventTypeId>" +
	"<eventTypeId>SessionTerminatedEvent</eventTypeId>"

func TestEventsOfRightsArriveInTheLatestPage(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	id := w.events(rightsEvents + "<maxCount>100</maxCount>")
	w.first()
	grant := `{"entity":"domain-c70","principal":"viewer-east@vsphere.local","role":`
	f.control("POST", "/permissions", grant+`"ReadOnly"}`, nil)
	f.expect(w.until("PermissionAddedEvent"), `<val xsi:type="ArrayOfEvent"><Event xsi:type="PermissionAddedEvent">`,
		`<entity><name>HX-West</name><entity type="ClusterComputeResource">domain-c70</entity></entity>`,
		`<principal>VSPHERE.LOCAL\viewer-east</principal><group>false</group><role><roleId>-2</roleId><name>ReadOnly</name></role><propagate>true</propagate>`)
	f.control("POST", "/permissions", grant+`"NoAccess"}`, nil)
	f.expect(w.until("PermissionUpdatedEvent"), `<prevRole><roleId>-2</roleId><name>ReadOnly</name></prevRole><prevPropagate>true<`)
	f.control("POST", "/permissions", grant+`"","remove":true}`, nil)
	w.until("PermissionRemovedEvent")
	f.control("POST", "/roles", `{"name":"Fresh","privileges":["Folder.Create"]}`, nil)
	w.until("RoleAddedEvent", "<privilegeList>Folder.Create</privilegeList>")
	f.control("POST", "/roles", `{"name":"Fresh","privileges":["Folder.Delete"]}`, nil)
	w.until("RoleUpdatedEvent", "<privilegesAdded>Folder.Delete<", "<privilegesRemoved>Folder.Create<")
	f.control("POST", "/roles", `{"name":"Fresh","remove":true}`, nil)
	w.until("RoleRemovedEvent", "<name>Fresh</name>")
	key := f.element(f.raw().mustLogin("viewer-east@vsphere.local", "east-Pass1"), "key")
	f.expect(f.admin().call("TerminateSession", "SessionManager", "<sessionId>"+key+"</sessionId>"), "TerminateSessionResponse")
	w.until(`<Event xsi:type="SessionTerminatedEvent">`, `<sessionId>`+key+`</sessionId><terminatedUsername>VSPHERE.LOCAL\viewer-east</terminatedUsername>`)
	// Others do not get in: the filter is exact.
	f.control("POST", "/events", `{"type":"VmMessageEvent","message":"hello","entity":"vm-101"}`, nil)
	f.control("POST", "/events", `{"event_type_id":"com.example.unknown","message":"x"}`, nil)
	w.quiet()
	f.expect(w.on("SetCollectorPageSize", "EventHistoryCollector", id, "<maxCount>1</maxCount>"), "SetCollectorPageSizeResponse")
	if n := strings.Count(w.until("SessionTerminatedEvent"), "<Event "); n != 1 {
		t.Fatal(n)
	}
	f.expect(w.on("SetCollectorPageSize", "EventHistoryCollector", id, "<maxCount>1001</maxCount>"), "InvalidArgumentFault")
	f.expect(w.on("ReadNextEvents", "EventHistoryCollector", id, "<maxCount>2</maxCount>"), "PermissionAddedEvent", "PermissionUpdatedEvent")
	f.expect(w.on("ReadNextEvents", "EventHistoryCollector", id, "<maxCount>2</maxCount>"), "PermissionRemovedEvent", "RoleAddedEvent")
	f.expect(w.on("DestroyCollector", "EventHistoryCollector", id, ""), "DestroyCollectorResponse")
	w.until(kindOf("leave", "EventHistoryCollector "+id))
	f.expect(w.on("DestroyCollector", "EventHistoryCollector", id, ""), "ManagedObjectNotFoundFault")
}

func TestEventsOfUnseenObjectsAreNotShown(t *testing.T) {
	f := start(t)
	a := f.admin()
	w := f.as("viewer-east@vsphere.local", "east-Pass1").watcher()
	w.events("<maxCount>50</maxCount>")
	w.first()
	f.control("POST", "/events", `{"type":"VmMessageEvent","message":"hidden","entity":"vm-171"}`, nil)
	f.control("POST", "/events", `{"event_type_id":"com.example.any","message":"for all who read the root"}`, nil)
	f.control("POST", "/events", `{"type":"VmMessageEvent","message":"shown","entity":"vm-101","count":3}`, nil)
	text := w.until("shown")
	f.refuse(text, "hidden", "for all who")
	f.expect(a.props("EventManager", "EventManager", "latestEvent"), `<val xsi:type="VmMessageEvent">`, "shown")
}

func TestEventCollectorsAreLimitedAndDieWithTheSession(t *testing.T) {
	f := start(t)
	a, b := f.admin(), f.admin()
	for range maxEventCollects {
		f.expect(a.call("CreateCollectorForEvents", "EventManager", "<filter/>"), "CreateCollectorForEventsResponse")
	}
	f.expect(b.call("CreateCollectorForEvents", "EventManager", "<filter/>"), "InvalidStateFault")
	a.call("Logout", "SessionManager", "")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(b.call("CreateCollectorForEvents", "EventManager", "<filter/>"), "CreateCollectorForEventsResponse") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the collectors of a session that ended are still there")
		}
	}
}

func TestAWrongClockIsToldAndMovesNoSession(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.control("POST", "/clock", `{"skew_s": 7200}`, nil)
	read := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	ahead := func(at time.Time) bool { return time.Until(at) > 7100*time.Second && time.Until(at) < 7300*time.Second }
	if at := read(f.element(r.call("CurrentTime", "ServiceInstance", ""), "returnval")); !ahead(at) {
		t.Fatal(at)
	}
	list := r.props("SessionManager", "SessionManager", "sessionList")
	f.expect(list, "<userAgent>Go-http-client/1.1</userAgent>", "<ipAddress>127.0.0.1</ipAddress>", "<callCount>2</callCount>")
	if at := read(f.element(list, "lastActiveTime")); !ahead(at) {
		t.Fatal(at)
	}
	res, err := r.http.Get("https://" + f.at.Front + "/sdk/vimServiceVersions.xml")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if at, err := http.ParseTime(res.Header.Get("Date")); err != nil || !ahead(at) {
		t.Fatal(res.Header, err)
	}
	f.control("POST", "/clock", `{"skew_s": 0, "advance_s": 1000}`, nil)
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
}
