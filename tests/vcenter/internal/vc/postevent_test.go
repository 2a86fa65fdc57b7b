// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"html"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

const oneArgument = "<EventType><eventTypeID>com.example.grown</eventTypeID><arguments><argument><name>who</name><type>string</type>" +
	"</argument></arguments></EventType>"

// registers an extension whose event com.example.grown has the argument `who`.
func registerGrown(f *fixture) {
	f.Helper()
	m, err := object.GetExtensionManager(f.client(admin, adminPass).Client)
	if err != nil {
		f.Fatal(err)
	}
	x := sampleExtension("com.example.events")
	x.EventList = []types.ExtensionEventTypeInfo{{EventID: "com.example.grown", EventTypeSchema: oneArgument}}
	x.ResourceList = []types.ExtensionResourceInfo{
		{Locale: "en", Module: "event", Data: []types.KeyValue{{Key: "com.example.grown.fullFormat", Value: "{who} grew"}}},
		{Locale: "de", Module: "event", Data: []types.KeyValue{{Key: "com.example.grown.fullFormat", Value: "{who} wuchs"}}}}
	if err := m.Register(context.Background(), x); err != nil {
		f.Fatal(err)
	}
}

const argument = `<arguments><key>who</key><value xsi:type="xsd:string">Ada</value></arguments>`

func eventEx(id, severity, arguments, object string) string {
	return `<eventToPost xsi:type="EventEx"><key>0</key><chainId>0</chainId><createdTime>2026-01-02T03:04:05Z</createdTime>` +
		`<userName>x</userName><computeResource><name>HX-East</name><computeResource type="ClusterComputeResource">` + object +
		`</computeResource></computeResource><eventTypeId>` + id + `</eventTypeId><severity>` + severity + `</severity>` + arguments +
		`</eventToPost>`
}

func TestAnEventIsReadInTheLanguageOfTheSession(t *testing.T) {
	f := start(t)
	registerGrown(f)
	a := f.admin()
	f.expect(a.call("PostEvent", "EventManager", eventEx("com.example.grown", "info", argument, "domain-c7")), "PostEventResponse")
	filter := `<filter><entity><entity type="ClusterComputeResource">domain-c7</entity><recursion>self</recursion></entity>` +
		`<eventTypeId>com.example.grown</eventTypeId></filter>`
	id := f.element(a.call("CreateCollectorForEvents", "EventManager", filter), "returnval")
	f.expect(a.props("EventHistoryCollector", id, "latestPage"), "<fullFormattedMessage>Ada grew<", "<userName>VSPHERE.LOCAL")
	g := f.raw()
	f.expect(g.call("Login", "SessionManager", "<userName>"+admin+"</userName><password>"+html.EscapeString(adminPass)+"</password><locale>de_DE</locale>"),
		"LoginResponse")
	id = f.element(g.call("CreateCollectorForEvents", "EventManager", filter), "returnval")
	f.expect(g.props("EventHistoryCollector", id, "latestPage"), "<fullFormattedMessage>Ada wuchs<")
	id = f.element(g.call("CreateCollectorForEvents", "EventManager", strings.ReplaceAll(filter, "domain-c7", "domain-c70")), "returnval")
	f.refuse(g.props("EventHistoryCollector", id, "latestPage"), "Ada")
}

func TestAnEventIsJudgedByItsTypesDescriptor(t *testing.T) {
	f := start(t)
	registerGrown(f)
	a := f.admin()
	post := func(event string) string { return a.call("PostEvent", "EventManager", event) }
	f.expect(post(eventEx("com.example.unknown", "info", argument, "domain-c7")), "InvalidEventFault", "no extension has registered")
	f.expect(post(eventEx("com.example.grown", "loud", argument, "domain-c7")), "InvalidEventFault", "severity")
	f.expect(post(eventEx("com.example.grown", "info", "", "domain-c7")), "InvalidEventFault", "is missing")
	f.expect(post(eventEx("com.example.grown", "info", argument+argument, "domain-c7")), "InvalidEventFault", "there twice")
	f.expect(post(eventEx("com.example.grown", "info", strings.ReplaceAll(argument, "who", "what"), "domain-c7")), "InvalidEventFault")
	f.expect(post(eventEx("com.example.grown", "info", strings.NewReplacer("xsd:string", "xsd:int", "Ada", "7").Replace(argument), "domain-c7")),
		"InvalidEventFault", "is no string")
	f.expect(post(eventEx("com.example.grown", "info", argument, "domain-c999")), "ManagedObjectNotFoundFault")
	f.expect(post(eventEx("com.example.grown", "info", argument, "domain-c7")), "PostEventResponse")
}

func TestPostingAnEventNeedsLogEventOnItsObject(t *testing.T) {
	f := start(t)
	registerGrown(f)
	east := f.as("viewer-east@vsphere.local", "east-Pass1")
	event := eventEx("com.example.grown", "info", argument, "domain-c7")
	f.expect(east.call("PostEvent", "EventManager", event), "NoPermissionFault", "Global.LogEvent", "domain-c7")
	f.control("POST", "/roles", `{"name":"Logger","privileges":["Global.LogEvent"]}`, nil)
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-east@vsphere.local","role":"Logger"}`, nil)
	f.expect(east.call("PostEvent", "EventManager", event), "PostEventResponse")
}

func TestADescriptorOfAnEventTypeIsChecked(t *testing.T) {
	for _, bad := range []string{"<EventType>", "<EventType><eventTypeID>other</eventTypeID></EventType>",
		strings.ReplaceAll(oneArgument, "string", "text")} {
		x := sampleExtension("com.example.events")
		x.EventList = []types.ExtensionEventTypeInfo{{EventID: "com.example.grown", EventTypeSchema: bad}}
		if checkRecord(&x) == nil {
			t.Error(bad)
		}
	}
}
