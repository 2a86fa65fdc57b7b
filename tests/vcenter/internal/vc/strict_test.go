// Requests: everything that a real server refuses is refused, with the element named.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"strings"
	"testing"
)

const since8 = `<serverCertificate>x</serverCertificate>`

func TestMalformedRequestsAreRefused(t *testing.T) {
	f := start(t)
	r := f.admin()
	cases := []struct{ name, op, this, inner, want string }{
		{"order", "Login", "SessionManager", "<password>p</password><userName>u</userName>", "userName"},
		{"order of optional members", "RegisterExtension", "ExtensionManager", strings.Replace(
			extensionXML("k", "2026-01-01T00:00:00Z", ""), "</extension>",
			"<shownInSolutionManager>true</shownInSolutionManager><healthInfo><url>u</url></healthInfo></extension>", 1), "must come before"},
		{"missing", "Login", "SessionManager", "<userName>u</userName>", "password"},
		{"unknown", "Logout", "SessionManager", "<force>true</force>", "force"},
		{"twice", "FindExtension", "ExtensionManager", "<extensionKey>a</extensionKey><extensionKey>b</extensionKey>", "extensionKey"},
		{"boolean", "CreateContainerView", "ViewManager",
			`<container type="Folder">group-d1</container><recursive>TRUE</recursive>`, "recursive"},
		{"int", "RetrievePropertiesEx", "PropertyCollector",
			specSet("Folder", "group-d1", "name") + "<options><maxObjects>many</maxObjects></options>", "maxObjects"},
		{"options missing", "RetrievePropertiesEx", "PropertyCollector", specSet("Folder", "group-d1", "name"), "options"},
		{"empty array", "RetrievePropertiesEx", "PropertyCollector", "<options/>", "specSet"},
		{"reference without type", "CreateContainerView", "ViewManager",
			`<container>group-d1</container><recursive>true</recursive>`, "container"},
		{"unknown xsi:type", "RetrievePropertiesEx", "PropertyCollector", strings.Replace(
			viewSpec("specSet", "v", "Folder", "name"), `"TraversalSpec"`, `"NoSuchSpec"`, 1) + "<options/>", "NoSuchSpec"},
		{"undeclared prefix", "RetrievePropertiesEx", "PropertyCollector", strings.Replace(
			viewSpec("specSet", "v", "Folder", "name"), `"TraversalSpec"`, `"vim:TraversalSpec"`, 1) + "<options/>", "vim:TraversalSpec"},
		{"wrong family", "RetrievePropertiesEx", "PropertyCollector", strings.Replace(
			viewSpec("specSet", "v", "Folder", "name"), `"TraversalSpec"`, `"Description"`, 1) + "<options/>", "Description"},
		{"text between", "Logout", "SessionManager", "hello", "Logout"},
		{"heartbeat missing", "RegisterExtension", "ExtensionManager",
			"<extension><description><label>l</label><summary>s</summary></description><key>k</key><version>1</version></extension>",
			"lastHeartbeatTime"},
		{"bad time", "RegisterExtension", "ExtensionManager", extensionXML("k", "yesterday", ""), "lastHeartbeatTime"},
		{"mail missing", "RegisterExtension", "ExtensionManager", strings.Replace(
			extensionXML("k", "2026-01-01T00:00:00Z", ""), "<adminEmail>a@b.c</adminEmail>", "", 1), "adminEmail"},
	}
	for _, c := range cases {
		out := r.call(c.op, c.this, c.inner)
		if r.status != 500 {
			t.Errorf("%s: status %d", c.name, r.status)
		}
		f.expect(out, "InvalidRequestFault", `xsi:type="InvalidRequest"`, c.want)
	}
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse") // still good
}

func extensionXML(key, heartbeat, server string) string {
	return `<extension><description><label>l</label><summary>s</summary></description><key>` + key +
		`</key><company>c</company><version>1.0</version><server><url>https://a</url><description><label>l</label>` +
		`<summary>s</summary></description><company>c</company><type>X</type><adminEmail>a@b.c</adminEmail>` + server +
		`</server><lastHeartbeatTime>` + heartbeat + `</lastHeartbeatTime></extension>`
}

func TestMembersNewerThanTheCallAreRefused(t *testing.T) {
	f := start(t)
	r := f.admin()
	r.version = "8.0.1.0"
	out := r.call("RegisterExtension", "ExtensionManager", extensionXML("k.new", "2026-01-01T00:00:00Z", since8))
	f.expect(out, "InvalidRequest", "serverCertificate", "8.0.2.0")
	out = r.call("SetServiceAccount", "ExtensionManager", "<extensionKey>k</extensionKey><serviceAccount>x</serviceAccount>")
	f.expect(out, "InvalidRequest", "SetServiceAccount")
	r.version = "8.0.2.0"
	out = r.call("RegisterExtension", "ExtensionManager", extensionXML("k.new", "2026-01-01T00:00:00Z", since8))
	f.expect(out, "InvalidArgument", "serverCertificate") // understood now, and judged by content
}

func TestPrefixedTypesAreResolvedByNamespace(t *testing.T) {
	f := start(t)
	r := f.admin()
	spec := strings.Replace(viewSpec("specSet", r.view("ClusterComputeResource"), "ClusterComputeResource", "name"),
		`"TraversalSpec"`, `"q:TraversalSpec" xmlns:q="urn:vim25"`, 1)
	f.expect(r.call("RetrievePropertiesEx", "PropertyCollector", spec+"<options/>"), "HX-East", "HX-West")
	other := strings.Replace(spec, "urn:vim25", "urn:other", 1)
	f.expect(r.call("RetrievePropertiesEx", "PropertyCollector", other+"<options/>"), "InvalidRequest")
}

func TestEnvelopesAreChecked(t *testing.T) {
	f := start(t)
	r := f.raw()
	for _, doc := range []string{"", "no xml", "<a/>", envelope(""), envelope("<A xmlns='urn:vim25'/><B xmlns='urn:vim25'/>"),
		`<!DOCTYPE x [<!ENTITY a "b">]>` + envelope("<Logout xmlns='urn:vim25'/>"),
		envelope(strings.Repeat("<a>", 500) + strings.Repeat("</a>", 500))} {
		out, err := r.post(doc)
		if err != nil {
			t.Fatal(err)
		}
		f.expect(out, "<faultcode>ClientFaultCode</faultcode>")
		f.refuse(out, "<detail>")
	}
	out, _ := r.post(envelope(`<RetrieveServiceContent xmlns="urn:other"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent>`))
	f.expect(out, "InvalidRequest", "urn:other")
	out, _ = r.post(envelope(`<RetrieveServiceContent xmlns="urn:vim25"/>`))
	f.expect(out, "InvalidRequest", "_this")
	out, _ = r.post(envelope(`<NoSuchMethod xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></NoSuchMethod>`))
	f.expect(out, "InvalidRequest", "NoSuchMethod")
	f.expect(f.admin().call("SetLocale", "SessionManager", "<locale>en</locale>"), "Fault")
}

func TestVersionsOfTheCall(t *testing.T) {
	f := start(t)
	r := f.raw()
	for _, v := range []string{"", "7.0", "8.0", "9.0.0.0", "8.0.3.1", "x"} {
		r.version = v
		out := r.call("RetrieveServiceContent", "ServiceInstance", "")
		f.expect(out, "<faultcode>VersionMismatchFaultCode</faultcode>", "Unsupported version URI")
		f.refuse(out, "<detail>")
	}
	for _, v := range []string{"5.5", "6.5", "6.7", "7.0.0.0", "8.0.3.0"} {
		r.version = v
		f.expect(r.call("RetrieveServiceContent", "ServiceInstance", ""), "<rootFolder type=\"Folder\">group-d1</rootFolder>")
	}
}

func TestAnswersAreConvertedDown(t *testing.T) {
	f := start(t)
	r := f.admin()
	out := r.call("RetrieveServiceContent", "ServiceInstance", "")
	f.expect(out, "<patchLevel>", "<cryptoManager", "<apiVersion>8.0.3.0</apiVersion>")
	r.version = "5.5"
	out = r.call("RetrieveServiceContent", "ServiceInstance", "")
	f.refuse(out, "<patchLevel>", "<cryptoManager")
	f.expect(out, "<apiVersion>8.0.3.0</apiVersion>")

	r.version = "8.0.3.0"
	_, pem := newClientCert(f)
	out = r.call("RegisterExtension", "ExtensionManager", extensionXML("k.down", "2026-01-01T00:00:00Z",
		"<serverCertificate>"+pem+"</serverCertificate>"))
	f.expect(out, "RegisterExtensionResponse")
	f.expect(r.call("FindExtension", "ExtensionManager", "<extensionKey>k.down</extensionKey>"), "<serverCertificate>")
	r.version = "8.0.1.0"
	f.refuse(r.call("FindExtension", "ExtensionManager", "<extensionKey>k.down</extensionKey>"), "<serverCertificate>")
}
