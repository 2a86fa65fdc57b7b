// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

func (f *fixture) awaitHeld(id int) {
	f.Helper()
	f.control("POST", "/faults/wait", fmt.Sprintf(`{"id":%d}`, id), nil)
}

const oneRole = "<name>Made once</name><privIds>Folder.Create</privIds>"

func (f *fixture) roles() string {
	f.Helper()
	return f.admin().props("AuthorizationManager", "AuthorizationManager", "roleList")
}

func TestCallsAreHeldBeforeAndAfterTheirExecution(t *testing.T) {
	f := start(t)
	r := f.admin()
	for _, c := range []struct {
		kind string
		done bool
	}{{"hold-before", false}, {"hold-after", true}} {
		id := f.fault(`{"op":"AddAuthorizationRole","kind":"` + c.kind + `"}`)
		out := make(chan string, 1)
		name := strings.ReplaceAll(oneRole, "once", c.kind)
		go func() { out <- r.call("AddAuthorizationRole", "AuthorizationManager", name) }()
		f.awaitHeld(id)
		if strings.Contains(f.roles(), "Made "+c.kind) != c.done {
			t.Fatal(c.kind)
		}
		f.control("POST", "/faults/release", fmt.Sprintf(`{"id":%d}`, id), nil)
		f.expect(<-out, "AddAuthorizationRoleResponse")
		f.expect(f.roles(), "Made "+c.kind)
	}
}

func TestAClientThatDiesWhileItsCallIsHeld(t *testing.T) {
	f := start(t)
	for kind, done := range map[string]bool{"hold-before": false, "hold-after": true} {
		r := f.admin()
		id := f.fault(`{"op":"AddAuthorizationRole","kind":"` + kind + `"}`)
		out := make(chan error, 1)
		r.http.Timeout = 500 * time.Millisecond
		doc := envelope(`<AddAuthorizationRole ` + xmlns + `><_this type="AuthorizationManager">AuthorizationManager</_this>` +
			strings.ReplaceAll(oneRole, "once", kind) + `</AddAuthorizationRole>`)
		go func() { _, err := r.post(doc); out <- err }()
		f.awaitHeld(id)
		if err := <-out; err == nil {
			t.Fatal("answered")
		}
		var rules []rule
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if f.control("GET", "/faults", "", &rules); rules[0].Held == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("still held")
			}
		}
		f.control("DELETE", "/faults", "", nil)
		if strings.Contains(f.roles(), "Made "+kind) != done {
			t.Fatal(kind)
		}
	}
	// Released without an answer.
	r := f.admin()
	id := f.fault(`{"op":"CurrentTime","kind":"hold-after"}`)
	out := make(chan error, 1)
	go func() {
		_, err := r.post(envelope(`<CurrentTime ` + xmlns + `><_this type="ServiceInstance">ServiceInstance</_this></CurrentTime>`))
		out <- err
	}()
	f.awaitHeld(id)
	f.control("POST", "/faults/release", fmt.Sprintf(`{"id":%d,"drop":true}`, id), nil)
	if err := <-out; err == nil {
		t.Fatal("answered")
	}
}

func TestAFaultForOneSessionOnly(t *testing.T) {
	f := start(t)
	a, b := f.admin(), f.as("viewer-east@vsphere.local", "east-Pass1")
	f.fault(`{"op":"CurrentTime","kind":"status","status":503,"retry_after":"7","user":"viewer-east@vsphere.local"}`)
	f.expect(a.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
	b.call("CurrentTime", "ServiceInstance", "")
	if b.status != 503 {
		t.Fatal(b.status)
	}
	f.control("DELETE", "/faults", "", nil)
	var sessions []sessionRow
	f.control("GET", "/sessions", "", &sessions)
	f.fault(`{"op":"*","kind":"fault","fault":"SystemError","session_key":"` + sessions[0].Key + `"}`)
	f.expect(a.call("CurrentTime", "ServiceInstance", ""), "SystemErrorFault")
	f.expect(b.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
}

func TestTheKthAnswerBreaksOffAfterSomeBytes(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.fault(`{"op":"CurrentTime","kind":"close","skip":2,"bytes":100,"count":1}`)
	for k := 1; k <= 4; k++ {
		_, err := r.post(envelope(`<CurrentTime ` + xmlns + `><_this type="ServiceInstance">ServiceInstance</_this></CurrentTime>`))
		if (err != nil) != (k == 3) {
			t.Fatal(k, err)
		}
	}
}

func TestAPortIsClosedForAWhile(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.control("POST", "/ports", `{"port":"front","disconnect":true}`, nil)
	for _, port := range []string{portFront, portTunnel} {
		addr := map[string]string{portFront: f.at.Front, portTunnel: f.at.Tunnel}[port]
		c, err := net.Dial("tcp", addr)
		if (err != nil) != (port == portFront) {
			t.Fatal(port, err)
		}
		if c != nil {
			c.Close()
		}
	}
	f.control("POST", "/ports", `{"port":"front","open":true}`, nil)
	r.http.CloseIdleConnections()
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
	f.control("POST", "/ports", `{"port":"front","closed_ms":50}`, nil)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", f.at.Front); err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("never opened again")
		}
	}
}

func TestATLSHandshakeThatComesLate(t *testing.T) {
	f := start(t)
	f.fault(`{"op":"front","kind":"tls-slow","delay_ms":300,"count":1}`)
	before := time.Now()
	f.expect(f.raw().login(admin, adminPass), "LoginResponse")
	if time.Since(before) < 300*time.Millisecond {
		t.Fatal(time.Since(before))
	}
}

func TestTheNumberOfSessionsIsLimited(t *testing.T) {
	f := start(t)
	a := f.admin()
	f.control("POST", "/settings", `{"max_sessions":1}`, nil)
	r := f.raw()
	f.expect(r.login(admin, adminPass), "RuntimeFaultFault", "maximum number of sessions")
	f.control("POST", "/settings", `{"max_sessions_answer":"503"}`, nil)
	r.login(admin, adminPass)
	if r.status != 503 {
		t.Fatal(r.status)
	}
	ticket := f.element(a.call("AcquireCloneTicket", "SessionManager", ""), "returnval")
	f.control("POST", "/settings", `{"max_sessions_answer":"InvalidLogin"}`, nil)
	f.expect(r.call("CloneSession", "SessionManager", "<cloneTicket>"+ticket+"</cloneTicket>"), "InvalidLoginFault")
	f.control("POST", "/settings", `{"max_sessions":2}`, nil)
	f.expect(r.call("CloneSession", "SessionManager", "<cloneTicket>"+ticket+"</cloneTicket>"), "CloneSessionResponse")
}

func TestAFloodOfChanges(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	w.filter("VirtualMachine", "name", "runtime.powerState")
	before := w.first()
	f.control("POST", "/churn", `{"per_second":500}`, nil)
	for range 5 {
		f.expect(w.ask(20, ""), "<kind>modify</kind>")
	}
	f.control("DELETE", "/churn", "", nil)
	var made struct {
		Changes int
		Running bool
	}
	f.control("GET", "/churn", "", &made)
	if made.Changes < 5 || made.Running {
		t.Fatal(made)
	}
	w.version = ""
	if after := w.first(); strings.Count(after, ">poweredOn<") != strings.Count(before, ">poweredOn<") {
		t.Fatal("the machines are not as before")
	}
	f.control("POST", "/churn", `{"per_second":500,"what":"name","ids":["vm-101"],"seconds":0.2}`, nil)
	w.until("churned-vm-101-")
	w.until(">k8s-prod-cp-0<")
}

func TestPendingCallsAndSums(t *testing.T) {
	f := start(t)
	w := f.admin().watcher()
	w.filter("Datacenter", "name")
	w.first()
	out := w.pending()
	var now struct{ Calls []callEntry }
	f.control("GET", "/calls/pending", "", &now)
	if len(now.Calls) != 1 || now.Calls[0].Op != "WaitForUpdatesEx" || now.Calls[0].User != `VSPHERE.LOCAL\Administrator` {
		t.Fatalf("%+v", now)
	}
	var last struct{ Calls []callEntry }
	f.control("GET", "/calls", "", &last)
	seq := last.Calls[len(last.Calls)-1].Seq
	b := f.as("viewer-east@vsphere.local", "east-Pass1")
	for range 3 {
		f.control("POST", "/clock", `{"advance_s":600}`, nil)
		b.call("CurrentTime", "ServiceInstance", "")
	}
	var sum struct {
		Total   int
		Buckets []bucket
		By      map[string]sessionSum `json:"by_session"`
		Ops     map[string]int        `json:"by_operation"`
	}
	f.control("GET", fmt.Sprintf("/calls/summary?after=%d&bucket_s=600", seq), "", &sum)
	if sum.Total != 4 || len(sum.Buckets) != 4 || sum.Buckets[1].ByOp["CurrentTime"] != 1 || sum.Ops["CurrentTime"] != 3 {
		t.Fatalf("%+v", sum)
	}
	found := false
	for _, x := range sum.By {
		found = found || x.User == `VSPHERE.LOCAL\viewer-east` && x.Total == 4
	}
	if !found {
		t.Fatalf("%+v", sum.By)
	}
	f.control("POST", "/objects", `{"action":"rename","id":"datacenter-2","name":"x"}`, nil)
	<-out
	f.control("GET", "/calls/pending", "", &now)
	if len(now.Calls) != 0 {
		t.Fatalf("%+v", now)
	}
}
