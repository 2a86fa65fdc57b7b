// Extensions: records, certificates, login through the tunnel and nowhere else.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func sampleExtension(key string) types.Extension {
	text := func(s string) *types.Description { return &types.Description{Label: s, Summary: s + " summary"} }
	shown := true
	return types.Extension{
		Description: text("Sample"), Key: key, Company: "Example", Type: "X", Version: "1.2.3.4",
		Server: []types.ExtensionServerInfo{{Url: "https://a.example.test/m.json", Description: text("server"), Company: "Example",
			Type: "MANIFEST_SERVER", AdminEmail: []string{"a@example.test", "b@example.test"}}},
		Client: []types.ExtensionClientInfo{{Version: "1.2.3.4", Description: text("client"), Company: "Example",
			Type: "vsphere-client-remote", Url: "https://a.example.test/m.json"}},
		TaskList:      []types.ExtensionTaskTypeInfo{{TaskID: key + ".task"}},
		EventList:     []types.ExtensionEventTypeInfo{{EventID: key + ".event", EventTypeSchema: "<EventType/>"}},
		FaultList:     []types.ExtensionFaultTypeInfo{{FaultID: key + ".fault"}},
		PrivilegeList: []types.ExtensionPrivilegeInfo{{PrivID: "Sample.View", PrivGroupName: "Sample"}},
		ResourceList: []types.ExtensionResourceInfo{{Locale: "en", Module: "auth",
			Data: []types.KeyValue{{Key: "privilege.Sample.label", Value: "Sample <&> ü"}}}},
		LastHeartbeatTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		HealthInfo:        &types.ExtensionHealthInfo{Url: "https://a.example.test/health"},
		OvfConsumerInfo:   &types.ExtensionOvfConsumerInfo{CallbackUrl: "https://a.example.test/ovf", SectionType: []string{"s"}},
		ExtendedProductInfo: &types.ExtExtendedProductInfo{CompanyUrl: "https://example.test",
			Self: &types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-101"}},
		ManagedEntityInfo:      []types.ExtManagedEntityInfo{{Type: "node", Description: "d"}},
		ShownInSolutionManager: &shown,
		SolutionManagerInfo:    &types.ExtSolutionManagerInfo{SmallIconUrl: "https://a.example.test/i.png"},
	}
}

func TestAllMembersOfARecordSurvive(t *testing.T) {
	f := start(t)
	ctx := context.Background()
	m, err := object.GetExtensionManager(f.client(admin, adminPass).Client)
	if err != nil {
		t.Fatal(err)
	}
	in := sampleExtension("com.example.sample")
	if err := m.Register(ctx, in); err != nil {
		t.Fatal(err)
	}
	out, err := m.Find(ctx, in.Key)
	if err != nil || out == nil {
		t.Fatal(out, err)
	}
	if a, b := fmt.Sprintf("%#v", dump(in)), fmt.Sprintf("%#v", dump(*out)); a != b {
		t.Fatalf("sent\n%s\ngot\n%s", a, b)
	}
	if err := m.Register(ctx, in); err == nil || !strings.Contains(err.Error(), "registered already") {
		t.Fatal(err)
	}
	if out, err = m.Find(ctx, "com.example.nobody"); err != nil || out != nil {
		t.Fatal(out, err)
	}
	in.Key = "com.example.other"
	if err := m.Update(ctx, in); err == nil {
		t.Fatal("an unknown record was updated")
	}
	list, err := m.List(ctx)
	if err != nil || len(list) != 7 {
		t.Fatal(len(list), err)
	}
	if err := m.Unregister(ctx, "com.example.sample"); err != nil {
		t.Fatal(err)
	}
	if err := m.Unregister(ctx, "com.example.sample"); err == nil {
		t.Fatal("unregistered twice")
	}
}

// dump flattens pointers so that two records can be compared.
func dump(x types.Extension) []any {
	return []any{*x.Description.GetDescription(), x.Key, x.Company, x.Type, x.Version, *x.Server[0].Description.GetDescription(),
		x.Server[0].Url, x.Server[0].AdminEmail, *x.Client[0].Description.GetDescription(), x.Client[0].Url, x.TaskList, x.EventList,
		x.FaultList, x.PrivilegeList, x.ResourceList, x.LastHeartbeatTime.UTC().String(), *x.HealthInfo, *x.OvfConsumerInfo,
		x.ExtendedProductInfo.CompanyUrl, *x.ExtendedProductInfo.Self, x.ManagedEntityInfo, *x.ShownInSolutionManager, *x.SolutionManagerInfo}
}

func TestBadRecordsAreRefused(t *testing.T) {
	f := start(t)
	m, _ := object.GetExtensionManager(f.client(admin, adminPass).Client)
	_, certPEM := newClientCert(f)
	for name, spoil := range map[string]func(*types.Extension){
		"key comma":   func(x *types.Extension) { x.Key = "a,b" },
		"key slash":   func(x *types.Extension) { x.Key = "a/b" },
		"key umlaut":  func(x *types.Extension) { x.Key = "ä" },
		"key tab":     func(x *types.Extension) { x.Key = "a\tb" },
		"version":     func(x *types.Extension) { x.Version = "1.0-beta" },
		"thumbprint":  func(x *types.Extension) { x.Server[0].ServerThumbprint = "ABCD" },
		"certificate": func(x *types.Extension) { x.Server[0].ServerCertificate = "nonsense" },
		"privilege":   func(x *types.Extension) { x.PrivilegeList[0].PrivID = "Other.View" },
		"locale":      func(x *types.Extension) { x.ResourceList[0].Locale = "" },
		"two thumbprts": func(x *types.Extension) {
			x.Server[0].ServerThumbprint = strings.Repeat("AA:", 31) + "AA"
			x.Server[0].ServerCertificate = certPEM
		},
	} {
		x := sampleExtension("com.example.bad")
		spoil(&x)
		if err := m.Register(context.Background(), x); err == nil || !strings.Contains(err.Error(), "A specified parameter was not correct") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExtensionCallsNeedTheirPrivileges(t *testing.T) {
	f := start(t)
	r := f.as("viewer-east@vsphere.local", "east-Pass1")
	rec := extensionXML("com.example.x", "2026-01-01T00:00:00Z", "")
	f.expect(r.call("RegisterExtension", "ExtensionManager", rec), "NoPermissionFault", "Extension.Register")
	op := f.as("operator@vsphere.local", "oper-Pass1")
	f.expect(op.call("RegisterExtension", "ExtensionManager", rec), "RegisterExtensionResponse")
	f.expect(r.call("UpdateExtension", "ExtensionManager", rec), "NoPermissionFault", "Extension.Update")
	f.expect(r.call("SetExtensionCertificate", "ExtensionManager", "<extensionKey>com.example.x</extensionKey>"), "NoPermissionFault")
	f.expect(r.call("UnregisterExtension", "ExtensionManager", "<extensionKey>com.example.x</extensionKey>"), "NoPermissionFault")
	f.expect(r.call("FindExtension", "ExtensionManager", "<extensionKey>com.example.x</extensionKey>"), "<key>com.example.x</key>")
	f.expect(op.call("UnregisterExtension", "ExtensionManager", "<extensionKey>com.example.x</extensionKey>"), "UnregisterExtensionResponse")
}

func setCert(r *raw, key, pem string) string {
	inner := "<extensionKey>" + key + "</extensionKey>"
	if pem != "" {
		inner += "<certificatePem>" + pem + "</certificatePem>"
	}
	return r.call("SetExtensionCertificate", "ExtensionManager", inner)
}

func certLogin(r *raw, key string) string {
	return r.call("LoginExtensionByCertificate", "SessionManager", "<extensionKey>"+key+"</extensionKey>")
}

func TestCertificateLoginOnlyThroughTheTunnel(t *testing.T) {
	f := start(t)
	a := f.admin()
	cert, pem := newClientCert(f)
	stranger, strangerPEM := newClientCert(f)
	const key = "com.example.kaas"
	f.expect(a.call("RegisterExtension", "ExtensionManager", extensionXML(key, "2026-01-01T00:00:00Z", "")), "Response")
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), key), "InvalidLoginFault") // nothing stored yet
	f.expect(setCert(a, key, pem), "SetExtensionCertificateResponse")

	f.expect(certLogin(f.rawAt(f.at.Front, cert), key), "NoClientCertificateFault")
	f.expect(certLogin(f.tunnel(TunnelTarget, nil), key), "NoClientCertificateFault")
	f.expect(certLogin(f.tunnel(TunnelTarget, stranger), key), "InvalidLoginFault")
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), "com.example.other"), "InvalidLoginFault")
	in := f.tunnel(TunnelTarget, cert)
	f.expect(certLogin(in, key), "<extensionSession>true</extensionSession>", "<userName>"+key+"</userName>")
	f.expect(certLogin(in, key), "InvalidLogin") // on a logged-in session
	f.expect(certLogin(f.rawAt(f.at.Direct, cert), key), "<extensionSession>true</extensionSession>")

	front := f.raw()
	front.cookie = in.cookie
	f.expect(front.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse") // the cookie works everywhere
	f.expect(front.props("SessionManager", "SessionManager", "sessionList"), "VSPHERE.LOCAL")
	f.expect(front.call("UnregisterExtension", "ExtensionManager", "<extensionKey>"+key+"</extensionKey>"), "NoPermissionFault")
	f.expect(front.call("UpdateExtension", "ExtensionManager", extensionXML(key, "2026-02-01T00:00:00Z", "")), "UpdateExtensionResponse")
	f.expect(front.call("UpdateExtension", "ExtensionManager", extensionXML("com.springpath.sysmgmt", "2026-02-01T00:00:00Z", "")), "NoPermission")

	f.expect(setCert(front, key, strangerPEM), "SetExtensionCertificateResponse") // rotation by the extension itself
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), key), "InvalidLoginFault")
	f.expect(certLogin(f.tunnel(TunnelTarget, stranger), key), "LoginExtensionByCertificateResponse")
	f.expect(setCert(in, key, ""), "SetExtensionCertificateResponse") // PEM left out: the one of this connection
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), key), "LoginExtensionByCertificateResponse")
	f.expect(setCert(a, key, ""), "NoClientCertificateFault")
}

func TestPEMMustHaveTheUsualLayout(t *testing.T) {
	f := start(t)
	a := f.admin()
	_, pem := newClientCert(f)
	_, other := newClientCert(f)
	body := strings.Join(strings.Split(strings.TrimSpace(pem), "\n")[1:], "")
	body = strings.TrimSuffix(body, "-----END CERTIFICATE-----")
	key := "com.springpath.sysmgmt.domain-c7"
	for name, text := range map[string]string{
		"one line": "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n",
		"CRLF":     strings.ReplaceAll(pem, "\n", "&#13;\n"), "bare": body, "chain": pem + other, "leading text": "leaf:\n" + pem,
		"leading line": "\n" + pem, "key": strings.ReplaceAll(pem, "CERTIFICATE", "PRIVATE KEY"), "broken": strings.Replace(pem, "M", "!", 1),
	} {
		if out := setCert(a, key, text); !strings.Contains(out, "InvalidArgumentFault") {
			t.Errorf("%s was accepted: %s", name, out)
		}
	}
	f.expect(setCert(a, key, strings.TrimSuffix(pem, "\n")), "SetExtensionCertificateResponse")
	f.expect(setCert(a, "com.example.nobody", pem), "NotFoundFault")
}

func TestOneProofOfIdentityPerExtension(t *testing.T) {
	f := start(t)
	a := f.admin()
	cert, pem := newClientCert(f)
	const key = "com.example.kaas"
	record := func(subject string) string {
		return strings.Replace(extensionXML(key, "2026-01-01T00:00:00Z", ""), "<version>1.0</version>", "<version>1.0</version>"+subject, 1)
	}
	f.expect(a.call("RegisterExtension", "ExtensionManager", record("<subjectName>CN=a</subjectName>")), "Response")
	setCert(a, key, pem)
	f.refuse(a.call("FindExtension", "ExtensionManager", "<extensionKey>"+key+"</extensionKey>"), "CN=a")
	a.call("UpdateExtension", "ExtensionManager", record(""))
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), key), "LoginExtensionByCertificateResponse")
	a.call("UpdateExtension", "ExtensionManager", record("<subjectName>CN=b</subjectName>"))
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), key), "InvalidLogin")
	setCert(a, key, pem)
	f.expect(a.call("SetPublicKey", "ExtensionManager", "<extensionKey>"+key+"</extensionKey><publicKey>k</publicKey>"), "SetPublicKeyResponse")
	f.expect(certLogin(f.tunnel(TunnelTarget, cert), key), "InvalidLogin")
	f.expect(a.call("GetPublicKey", "ExtensionManager", ""), "BEGIN PUBLIC KEY")
}

func TestServiceAccounts(t *testing.T) {
	f := start(t)
	a := f.admin()
	const key = "com.springpath.sysmgmt.domain-c7"
	set := func(key, account string) string {
		return a.call("SetServiceAccount", "ExtensionManager", "<extensionKey>"+key+"</extensionKey><serviceAccount>"+account+"</serviceAccount>")
	}
	for _, bad := range []string{"KAAS-svc-6f1c9a2e@vsphere.local", "kaas-svc-6f1c9a2e", "viewer-east@vsphere.local", ""} {
		f.expect(set(key, bad), "InvalidArgument")
	}
	f.expect(set("com.example.nobody", "kaas-svc-6f1c9a2e@vsphere.local"), "NotFound")
	svc := f.as("kaas-svc-6f1c9a2e@vsphere.local", "svc-Pass1")
	f.expect(svc.call("UpdateExtension", "ExtensionManager", extensionXML(key, "2026-02-01T00:00:00Z", "")), "NoPermission")
	f.expect(set(key, "kaas-svc-6f1c9a2e@vsphere.local"), "SetServiceAccountResponse")
	f.expect(svc.call("UpdateExtension", "ExtensionManager", extensionXML(key, "2026-02-01T00:00:00Z", "")), "UpdateExtensionResponse")
	f.expect(a.call("UnregisterExtension", "ExtensionManager", "<extensionKey>"+key+"</extensionKey>"), "UnregisterExtensionResponse")
	f.expect(svc.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse") // its session lives on
	f.expect(f.raw().login("kaas-svc-6f1c9a2e@vsphere.local", "svc-Pass1"), "InvalidLogin")
}

func TestRegisteredPrivilegesCanBeAsked(t *testing.T) {
	f := start(t)
	c := f.client(admin, adminPass)
	m, _ := object.GetExtensionManager(c.Client)
	a := f.admin()
	key := f.element(a.props("SessionManager", "SessionManager", "currentSession.key"), "val")
	f.refuse(f.ask(a, []string{"domain-c7"}, key, "Sample.View"), ">true<")
	f.refuse(a.props("AuthorizationManager", "AuthorizationManager", "privilegeList"), "Sample.View")
	if err := m.Register(context.Background(), sampleExtension("com.example.sample")); err != nil {
		t.Fatal(err)
	}
	f.expect(f.ask(a, []string{"domain-c7"}, key, "Sample.View"), ">true<") // Admin holds every privilege
	f.expect(a.props("AuthorizationManager", "AuthorizationManager", "privilegeList"),
		"<AuthorizationPrivilege xsi:type=\"AuthorizationPrivilege\"><privId>Sample.View</privId><onParent>false</onParent><name>View</name><privGroupName>Sample</privGroupName>")
	f.control("POST", "/roles", `{"name": "SampleUser", "privileges": ["Sample.View"]}`, nil)
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-east@vsphere.local","role":"SampleUser"}`, nil)
	east := f.element(f.raw().mustLogin("viewer-east@vsphere.local", "east-Pass1"), "key")
	f.expect(f.ask(a, []string{"domain-c7"}, east, "Sample.View"), ">true<")
}

func TestManagedMachinesAreFound(t *testing.T) {
	f := start(t)
	f.control("POST", "/objects", `{"action":"create","datacenter":"DC0","cluster":{"name":"New","moref":"domain-c90","hosts":[{"name":"n1"}],
		"vms":[{"name":"node","moref":"vm-900","managed_by":"com.example.kaas"}]}}`, nil)
	f.expect(f.admin().call("QueryManagedBy", "ExtensionManager", "<extensionKey>com.example.kaas</extensionKey>"),
		`<returnval type="VirtualMachine">vm-900</returnval>`)
}

func TestTheTunnelKnowsOneTargetOnly(t *testing.T) {
	f := start(t)
	for _, target := range []string{"sdkTunnel:443", "vc.example.test:8089", f.at.Front, "127.0.0.1:22"} {
		_, err := f.tunnel(target, nil).post(envelope(""))
		if err == nil || !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("%s: %v", target, err)
		}
	}
	conn, err := net.Dial("tcp", f.at.Tunnel)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT sdkTunnel:8089 HTTP/1.1\r\nHost: sdkTunnel:8089\r\n\r\n")
	r := bufio.NewReader(conn)
	head := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if head += line; line == "\r\n" {
			break
		}
	}
	if head != "HTTP/1.1 200 Connection established\r\n\r\n" || r.Buffered() != 0 {
		t.Fatalf("%q and %d bytes", head, r.Buffered())
	}
	inner := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if err := inner.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := thumbprints(inner.ConnectionState().PeerCertificates[0])[1]; got != f.s.Thumbprint() {
		t.Fatalf("the tunnel shows another certificate: %s", got)
	}
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := plain.Get("http://" + f.at.Tunnel + "/sdk")
	if err != nil || res.StatusCode != 301 || !strings.HasPrefix(res.Header.Get("Location"), "https://") {
		t.Fatal(res, err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
}
