// Sessions: cookie and key, login, idle time-out, what may be read without one.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func TestCookieIsNotTheKey(t *testing.T) {
	f := start(t)
	r := f.raw()
	r.call("RetrieveServiceContent", "ServiceInstance", "")
	if !regexp.MustCompile(`^vmware_soap_session="[0-9a-f]{40}"; Path=/; HttpOnly; Secure;$`).MatchString(r.set) {
		t.Fatalf("cookie header %q", r.set)
	}
	first := r.cookie
	out := r.mustLogin(admin, adminPass)
	if r.cookie != first {
		t.Fatal("the login changed a cookie that was good")
	}
	key := f.element(out, "key")
	if !regexp.MustCompile(`^52[0-9a-f]{6}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`).MatchString(key) {
		t.Fatalf("key %q", key)
	}
	wrong := f.raw()
	wrong.cookie = key
	f.expect(wrong.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticatedFault", "group-d1", "System.View")
	bare := f.raw()
	bare.cookie = strings.Trim(r.cookie, `"`)
	f.expect(bare.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
	if bare.set != "" {
		t.Fatal("a good cookie was replaced")
	}
}

func TestFailedLoginSetsACookieToo(t *testing.T) {
	f := start(t)
	r := f.raw()
	out := r.login(admin, "wrong")
	f.expect(out, "InvalidLoginFault", `xsi:type="InvalidLogin"`)
	if r.status != 500 || r.set == "" {
		t.Fatalf("status %d, cookie %q", r.status, r.set)
	}
	f.expect(r.call("Logout", "SessionManager", ""), "NotAuthenticated")
	r.mustLogin(admin, adminPass)
	f.expect(r.login(admin, adminPass), "InvalidLogin", "already logged in")
}

func TestNamesAreStoredInOneForm(t *testing.T) {
	f := start(t)
	for typed, stored := range map[string]string{
		"ADMINISTRATOR@VSPHERE.LOCAL":     `VSPHERE.LOCAL\Administrator`,
		`vsphere.local\administrator`:     `VSPHERE.LOCAL\Administrator`,
		"Administrator":                   `VSPHERE.LOCAL\Administrator`,
		"viewer-east@vsphere.local":       `VSPHERE.LOCAL\viewer-east`,
		"ada@corp.example.test":           `CORP\Ada`,
		`corp\ADA`:                        `CORP\Ada`,
		"no-rights@VSPHERE.local":         `VSPHERE.LOCAL\no-rights`,
		"kaas-svc-6f1c9a2e@vsphere.local": `VSPHERE.LOCAL\kaas-svc-6f1c9a2e`,
	} {
		pass := ""
		for _, u := range f.s.users {
			if u.stored == stored {
				pass = u.Password
			}
		}
		f.expect(f.raw().mustLogin(typed, pass), "<userName>"+stored+"</userName>", "<extensionSession>false</extensionSession>")
	}
	f.expect(f.raw().login("noaccess@vsphere.local", "noaccess-Pass1"), "NoPermissionFault")
	f.expect(f.raw().login("nobody@vsphere.local", "x"), "InvalidLogin")
	f.expect(f.raw().call("Login", "SessionManager",
		"<userName>a</userName><password>b</password><locale>not a locale</locale>"), "InvalidLocale")
}

func TestIdleSessionsEnd(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.control("POST", "/clock", `{"advance_s": 1700}`, nil)
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
	f.control("POST", "/clock", `{"advance_s": 1700}`, nil)
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse") // the call above kept it alive
	f.control("POST", "/clock", `{"advance_s": 1801}`, nil)
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticatedFault")
	if r.set == "" {
		t.Fatal("a dead cookie must be replaced")
	}
	f.control("POST", "/settings", `{"idle_timeout_s": 10}`, nil)
	r = f.admin()
	f.control("POST", "/clock", `{"advance_s": 11}`, nil)
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticatedFault")
	r = f.admin()
	f.control("POST", "/sessions/expire", `{"user": "administrator@vsphere.local"}`, nil)
	f.expect(r.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticatedFault")
}

func TestReadingWithoutLogin(t *testing.T) {
	f := start(t)
	out := f.raw().props("SessionManager", "SessionManager", "currentSession", "defaultLocale", "sessionList")
	f.expect(out, `<propSet><name>defaultLocale</name><val xsi:type="xsd:string">en</val></propSet>`,
		`<missingSet><path>sessionList</path><fault><fault xsi:type="NotAuthenticated">`)
	f.refuse(out, "<name>currentSession</name>", "<path>currentSession</path>")
	out = f.raw().props("Folder", "group-d1", "name")
	f.expect(out, "missingSet", "NotAuthenticated")
	f.refuse(out, "propSet")
	out = f.admin().props("SessionManager", "SessionManager", "currentSession", "currentSession.userName")
	f.expect(out, `<val xsi:type="UserSession">`, `<val xsi:type="xsd:string">VSPHERE.LOCAL\Administrator</val>`)
}

func TestSessionListNeedsItsPrivilege(t *testing.T) {
	f := start(t)
	a := f.admin()
	east := f.as("viewer-east@vsphere.local", "east-Pass1")
	out := a.props("SessionManager", "SessionManager", "sessionList")
	f.expect(out, `<val xsi:type="ArrayOfUserSession"><UserSession xsi:type="UserSession">`, `VSPHERE.LOCAL\viewer-east`)
	out = east.props("SessionManager", "SessionManager", "sessionList")
	f.expect(out, "missingSet", `xsi:type="NoPermission"`, "Sessions.TerminateSession")
	f.refuse(out, "UserSession")
}

func TestSessionIsActiveAndTerminate(t *testing.T) {
	f := start(t)
	ctx := context.Background()
	a := f.client(admin, adminPass)
	out := f.raw().mustLogin("viewer-east@vsphere.local", "east-Pass1")
	key := f.element(out, "key")
	active := func(id, user string) bool {
		res, err := methods.SessionIsActive(ctx, a, &types.SessionIsActive{
			This: *a.ServiceContent.SessionManager, SessionID: id, UserName: user})
		if err != nil {
			t.Fatal(err)
		}
		return res.Returnval
	}
	if !active(key, `VSPHERE.LOCAL\viewer-east`) || active(key, "viewer-east@vsphere.local") || active("52", `VSPHERE.LOCAL\viewer-east`) {
		t.Fatal("SessionIsActive does not tell the truth")
	}
	east := f.as("viewer-east@vsphere.local", "east-Pass1")
	f.expect(east.call("SessionIsActive", "SessionManager", "<sessionID>x</sessionID><userName>y</userName>"),
		"NoPermissionFault", "Sessions.ValidateSession")
	f.expect(east.call("TerminateSession", "SessionManager", "<sessionId>"+key+"</sessionId>"), "NoPermissionFault")
	r := f.admin()
	f.expect(r.call("TerminateSession", "SessionManager", "<sessionId>"+key+"</sessionId>"), "TerminateSessionResponse")
	f.expect(r.call("TerminateSession", "SessionManager", "<sessionId>"+key+"</sessionId>"), "NotFoundFault")
	own := f.element(r.props("SessionManager", "SessionManager", "currentSession.key"), "val")
	f.expect(r.call("TerminateSession", "SessionManager", "<sessionId>"+own+"</sessionId>"), "InvalidArgument")
	if active(key, `VSPHERE.LOCAL\viewer-east`) {
		t.Fatal("a terminated session is active")
	}
}

func TestImpersonation(t *testing.T) {
	f := start(t)
	r := f.admin()
	f.expect(r.call("ImpersonateUser", "SessionManager", "<userName>viewer-dc@vsphere.local</userName>"), "InvalidLogin")
	f.as("viewer-dc@vsphere.local", "dc-Pass1")
	f.expect(r.call("ImpersonateUser", "SessionManager", "<userName>viewer-dc@vsphere.local</userName>"),
		`<userName>VSPHERE.LOCAL\viewer-dc</userName>`)
	f.expect(r.call("ImpersonateUser", "SessionManager", "<userName>x</userName>"), "NoPermissionFault")
}

func TestCloneTickets(t *testing.T) {
	f := start(t)
	ctx := context.Background()
	c := f.client("viewer-east@vsphere.local", "east-Pass1")
	ticket, err := c.SessionManager.AcquireCloneTicket(ctx)
	if err != nil {
		t.Fatal(err)
	}
	clone := f.raw()
	ask := func(r *raw, ticket string) string {
		return r.call("CloneSession", "SessionManager", "<cloneTicket>"+ticket+"</cloneTicket>")
	}
	out := ask(clone, ticket)
	f.expect(out, `<userName>VSPHERE.LOCAL\viewer-east</userName>`)
	own, err := c.SessionManager.UserSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if f.element(out, "key") == own.Key {
		t.Fatal("the clone has its parent's key")
	}
	f.expect(ask(f.raw(), ticket), "InvalidLoginFault") // used
	ticket, _ = c.SessionManager.AcquireCloneTicket(ctx)
	f.expect(ask(clone, ticket), "InvalidLogin") // on a session that is logged in
	asCookie := f.raw()
	asCookie.cookie = ticket
	f.expect(asCookie.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticated")
	if err := c.SessionManager.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	f.expect(ask(f.raw(), ticket), "InvalidLoginFault") // died with its session
	f.expect(clone.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
	f.expect(ask(f.raw(), ""), "InvalidLogin")
}

func TestRestTicketAndSession(t *testing.T) {
	f := start(t)
	var token struct{ Token, Key string }
	f.control("POST", "/plugin-token", `{"user": "viewer-east@vsphere.local"}`, &token)
	post := func(header, body string) (int, string) {
		return f.rest("POST", "/api/ui/vcenter/session/clone-ticket", header, body)
	}
	guid := `{"vc_guid": "6f1c9a2e-3b57-4d0a-9c11-0a1b2c3d4e5f"}`
	for _, c := range []struct {
		token, body string
		status      int
	}{
		{"", guid, 401}, {"nonsense", guid, 401}, {token.Token, `{"vc-guid": "x"}`, 404},
		{token.Token, `{"vc_guid": "other"}`, 404}, {token.Token, "nonsense", 400}, {token.Token, guid, 200},
	} {
		status, text := post(c.token, c.body)
		if status != c.status {
			t.Errorf("%s %s: %d %s", c.token, c.body, status, text)
		}
		if status == 200 {
			f.expect(f.raw().call("CloneSession", "SessionManager", "<cloneTicket>"+f.jsonMember(text, "session_clone_ticket")+"</cloneTicket>"),
				`VSPHERE.LOCAL\viewer-east`)
		}
	}
	status, text := f.rest("POST", "/api/session", "", "", url.UserPassword(admin, adminPass))
	if status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	soapSide := f.raw()
	soapSide.cookie = strings.Trim(strings.TrimSpace(text), `"`)
	f.expect(soapSide.call("CurrentTime", "ServiceInstance", ""), "CurrentTimeResponse")
	if status, _ = f.rest("DELETE", "/api/session", soapSide.cookie, ""); status != 204 {
		t.Fatal(status)
	}
	f.expect(soapSide.call("CurrentTime", "ServiceInstance", ""), "NotAuthenticated")
	if status, _ = f.rest("POST", "/api/session", "", "", url.UserPassword(admin, "x")); status != 401 {
		t.Fatal(status)
	}
}
