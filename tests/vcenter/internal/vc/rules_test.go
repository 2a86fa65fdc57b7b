// Faults on order, restarts, certificates, objects: what the control port can do to the world.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const hello = `<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent>`

func (f *fixture) fault(rule string) int {
	f.Helper()
	var out struct{ ID int }
	f.control("POST", "/faults", rule, &out)
	return out.ID
}

// limited is a client with a short patience.
func (f *fixture) limited(d time.Duration) *raw {
	r := f.raw()
	r.http.Timeout = d
	return r
}

func TestAnswersOnOrder(t *testing.T) {
	f := start(t)
	for rule, want := range map[string]string{
		`{"op":"RetrieveServiceContent","kind":"html"}`:             "200 <!DOCTYPE html>",
		`{"op":"*","kind":"status","status":503,"retry_after":"7"}`: "503 <html>",
		`{"kind":"empty"}`:                                                              "200 ",
		`{"kind":"deep","depth":300}`:                                                   "200 <?xml version=\"1.0\" encoding=\"UTF-8\"?><soapenv:Envelope",
		`{"kind":"truncated","bytes":60}`:                                               "200 <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soapenv:Envelope xml",
		`{"kind":"fault","fault":"NotAuthenticated","text":"gone"}`:                     "500 <?xml",
		`{"kind":"body","status":201,"content_type":"text/plain","body":"anything"}`:    "201 anything",
		`{"kind":"delay","delay_ms":20,"op":"RetrieveServiceContent","skip":0}`:         "200 <?xml",
		`{"kind":"drip","interval_ms":1,"op":"RetrieveServiceContent","count":1}`:       "200 <?xml",
		`{"kind":"status","status":502,"op":"CurrentTime"}`:                             "200 <?xml", // another operation
		`{"kind":"fault","fault":"SystemError","op":"RetrieveServiceContent","skip":1}`: "200 <?xml", // not yet
	} {
		f.fault(rule)
		r := f.raw()
		out, err := r.post(envelope(hello))
		if err != nil {
			t.Fatal(rule, err)
		}
		got := http.StatusText(r.status)
		if r.status > 0 {
			got = strings.Join([]string{string(rune('0' + r.status/100)), string(rune('0' + r.status/10%10)), string(rune('0' + r.status%10))}, "")
		}
		if !strings.HasPrefix(got+" "+out, want) {
			t.Errorf("%s: %s %.80q", rule, got, out)
		}
		f.control("DELETE", "/faults", "", nil)
	}
}

func TestFaultsByNumber(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.fault(`{"op":"CurrentTime","kind":"fault","fault":"NotAuthenticated","skip":1,"count":2}`)
	for i, want := range []string{"CurrentTimeResponse", "NotAuthenticatedFault", "NotAuthenticatedFault", "CurrentTimeResponse"} {
		out := r.call("CurrentTime", "ServiceInstance", "")
		if !strings.Contains(out, want) {
			t.Errorf("call %d: %s", i, out)
		}
	}
	req, _ := http.NewRequest("POST", "http://"+f.at.Control+"/faults", strings.NewReader(`{"kind":"fault","fault":"NoSuch"}`))
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 400 {
		t.Fatal(res, err)
	}
	res.Body.Close()
}

func TestBrokenConnections(t *testing.T) {
	f := start(t)
	id := f.fault(`{"kind":"hang"}`)
	if _, err := f.limited(300 * time.Millisecond).post(envelope(hello)); err == nil {
		t.Fatal("a hanging server answered")
	}
	f.control("DELETE", "/faults?id="+string(rune('0'+id)), "", nil)
	f.fault(`{"kind":"close","bytes":50,"count":1}`)
	if out, err := f.raw().post(envelope(hello)); err == nil || len(out) > 50 {
		t.Fatal(out, err)
	}
	f.fault(`{"kind":"close","bytes":0,"count":1}`)
	if _, err := f.raw().post(envelope(hello)); err == nil {
		t.Fatal("an answer without a byte")
	}
	f.fault(`{"kind":"flood","count":1,"bytes":5000000}`)
	if out, err := f.raw().post(envelope(hello)); err != nil || len(out) < 5000000 {
		t.Fatal(len(out), err)
	}
	f.fault(`{"kind":"refuse","op":"front","count":1}`)
	if _, err := f.raw().post(envelope(hello)); err == nil {
		t.Fatal("a refused connection answered")
	}
	f.fault(`{"kind":"tls-hang","op":"front","count":1}`)
	if _, err := f.limited(300 * time.Millisecond).post(envelope(hello)); err == nil {
		t.Fatal("a handshake came about")
	}
	f.fault(`{"kind":"status","op":"CONNECT","status":502,"count":1}`)
	if _, err := f.tunnel(TunnelTarget, nil).post(envelope(hello)); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Fatal(err)
	}
	if _, err := f.tunnel(TunnelTarget, nil).post(envelope(hello)); err != nil {
		t.Fatal(err)
	}
}

func TestALostAnswerMeansAnExecutedCall(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.fault(`{"op":"RegisterExtension","kind":"close","bytes":0,"count":1}`)
	body := `<RegisterExtension ` + xmlns + `><_this type="ExtensionManager">ExtensionManager</_this>` +
		extensionXML("com.example.lost", "2026-01-01T00:00:00Z", "") + `</RegisterExtension>`
	if _, err := r.post(envelope(body)); err == nil {
		t.Fatal("the answer was not lost")
	}
	f.expect(r.call("FindExtension", "ExtensionManager", "<extensionKey>com.example.lost</extensionKey>"), "com.example.lost")
}

func TestRestartForgetsSessionsOnly(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.control("POST", "/extensions", `{"key":"com.example.kept","version":"1"}`, nil)
	f.control("POST", "/restart", `{"down_ms": 200}`, nil)
	if _, err := f.raw().post(envelope(hello)); err == nil {
		t.Fatal("answered while down")
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err := f.raw().post(envelope(hello)); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("never came back")
		}
	}
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticatedFault")
	f.expect(f.admin().call("FindExtension", "ExtensionManager", "<extensionKey>com.example.kept</extensionKey>"), "com.example.kept")
}

func TestObjectsVanish(t *testing.T) {
	f := start(t)
	a := f.admin()
	key := f.element(f.raw().mustLogin("viewer-dc@vsphere.local", "dc-Pass1"), "key")
	f.control("POST", "/objects", `{"action":"rename","id":"domain-c40","name":"C-Renamed"}`, nil)
	f.expect(a.props("ClusterComputeResource", "domain-c40", "name"), "C-Renamed")
	f.control("POST", "/objects", `{"action":"remove","id":"domain-c70"}`, nil)
	f.expect(f.ask(a, []string{"domain-c7", "domain-c70"}, key, "System.Read"), "ManagedObjectNotFoundFault", "domain-c70")
	f.refuse(a.list(a.view("VirtualMachine", "HostSystem"), "ManagedEntity", "<options/>", "name"), "west")
	f.control("POST", "/objects", `{"action":"create","datacenter":"DC0","cluster":{"name":"HX-West","moref":"domain-c71"}}`, nil)
	f.expect(a.list(a.view("ClusterComputeResource"), "ClusterComputeResource", "<options/>", "name"), "domain-c71")
}

func TestCertificates(t *testing.T) {
	f := start(t)
	text, err := os.ReadFile(f.s.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	dial := func() (string, error) {
		c, err := tls.Dial("tcp", f.at.Front, &tls.Config{RootCAs: pool, ServerName: "localhost"})
		if err != nil {
			return "", err
		}
		defer c.Close()
		return thumbprints(c.ConnectionState().PeerCertificates[0])[1], nil
	}
	first, err := dial()
	if err != nil || first != f.s.Thumbprint() {
		t.Fatal(first, err)
	}
	for mode, want := range map[string]string{"expired": "expired", "not-yet": "not yet valid", "wrong-name": "not localhost",
		"self-signed": "unknown authority", "other-ca": "authority"} {
		f.control("POST", "/certificate", `{"mode":"`+mode+`"}`, nil)
		if _, err := dial(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	var swapped struct {
		SHA256 string `json:"thumbprint_sha256"`
	}
	f.control("POST", "/certificate", `{"mode":"new"}`, &swapped)
	if again, err := dial(); err != nil || again == first || again != swapped.SHA256 {
		t.Fatal(again, err)
	}
	expired := start(t, func(c *Config) { c.Expired = true })
	if !expired.s.tls.leaf().NotAfter.Before(time.Now()) {
		t.Fatal("not expired")
	}
}

func TestTheCallLogCounts(t *testing.T) {
	f := start(t)
	f.control("DELETE", "/calls", "", nil)
	r := f.admin()
	_, err := r.post(`<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Header><operationID>req-42</operationID></e:Header>` +
		`<e:Body><CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></CurrentTime></e:Body></e:Envelope>`)
	if err != nil {
		t.Fatal(err)
	}
	r.call("FindExtension", "ExtensionManager", "<extensionKey>x</extensionKey>")
	f.raw().login(admin, "bad")
	var log struct {
		Calls  []callEntry    `json:"calls"`
		Counts map[string]int `json:"by_operation"`
		Total  int            `json:"total"`
	}
	f.control("GET", "/calls", "", &log)
	if log.Total != 4 || log.Counts["Login"] != 2 || log.Counts["CurrentTime"] != 1 {
		t.Fatalf("%+v", log)
	}
	c := log.Calls[1]
	if c.OperationID != "req-42" || c.User != `VSPHERE.LOCAL\Administrator` || c.Version != "8.0.3.0" || c.Port != "front" || c.Outcome != "ok" {
		t.Fatalf("%+v", c)
	}
	if log.Calls[3].Outcome != "InvalidLogin" {
		t.Fatalf("%+v", log.Calls[3])
	}
	f.control("GET", "/calls?op=Login&after=1", "", &log)
	if len(log.Calls) == 2 {
		t.Fatal("after= does not filter")
	}
}

func TestVersionsFile(t *testing.T) {
	get := func(f *fixture) string {
		res, err := f.raw().http.Get("https://" + f.at.Front + "/sdk/vimServiceVersions.xml")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	f := start(t)
	out := get(f)
	f.expect(out, `<namespaces version="1.0">`, "<name>urn:vim25</name>\n  <version>8.0.3.0</version>", "<priorVersions>\n   <version>8.0.2.0</version>")
	f.refuse(out, "9.0.0.0")
	old := start(t, func(c *Config) { c.APIVersion = "7.0.3.0" })
	old.expect(get(old), "<version>7.0.3.0</version>\n  <priorVersions>")
	r := old.raw()
	old.expect(r.call("RetrieveServiceContent", "ServiceInstance", ""), "VersionMismatchFaultCode")
	r.version = "7.0.3.0"
	old.expect(r.call("RetrieveServiceContent", "ServiceInstance", ""), "<apiVersion>7.0.3.0</apiVersion>")
	dev := start(t, func(c *Config) { c.DevVersion = "uA046D008" })
	dev.expect(get(dev), "<version>uA046D008</version>\n  <priorVersions>\n   <version>8.0.3.0</version>")
}

func TestSessionsByTheControlPort(t *testing.T) {
	f := start(t)
	var out struct{ Cookie, Key string }
	f.control("POST", "/sessions", `{"user":"viewer-east@vsphere.local"}`, &out)
	r := f.raw()
	r.cookie = out.Cookie
	f.expect(r.props("SessionManager", "SessionManager", "currentSession.key"), out.Key)
	f.control("POST", "/sessions", `{"extension":"com.springpath.sysmgmt.domain-c7"}`, &out)
	r.cookie = out.Cookie
	f.expect(r.props("SessionManager", "SessionManager", "currentSession"), "<extensionSession>true</extensionSession>")
	if c, err := net.Dial("tcp", f.at.Control); err != nil {
		t.Fatal(err)
	} else {
		c.Close()
	}
	f.control("POST", "/users", `{"name":"new","password":"x"}`, nil)
	f.expect(f.raw().login("new@vsphere.local", "x"), "NoPermissionFault")
	f.control("POST", "/permissions", `{"entity":"group-d1","principal":"new@vsphere.local","role":"ReadOnly"}`, nil)
	f.raw().mustLogin("new@vsphere.local", "x")
	f.control("POST", "/users", `{"name":"new","password":"","remove":true}`, nil)
	f.expect(f.raw().login("new@vsphere.local", "x"), "InvalidLogin")
}
