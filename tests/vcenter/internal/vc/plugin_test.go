// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const manifestText = `{"manifestVersion":"1.0.0","requirements":{"plugin.api.version":"1.0.0","vcenter.server":{"version":"[7.0,)"}},
"configuration":{"nameKey":"n"},"definitions":{"i18n":{"locales":["en-US"],"definitions":{"n":{"en-US":"N"}}}}}`

// upstream is a plug-in's server; its certificate is the test server's own, for 127.0.0.1.
func upstream(f *fixture) (*httptest.Server, *x509.Certificate, string) {
	u := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panel/plugin.json" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, manifestText)
			return
		}
		fmt.Fprintf(w, "%s %s cookie=%q", r.Method, r.URL.RequestURI(), r.Header.Get("Cookie"))
	}))
	u.Config.ErrorLog = log.New(io.Discard, "", 0)
	u.StartTLS()
	f.Cleanup(u.Close)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: u.Certificate().Raw})
	return u, u.Certificate(), string(text)
}

func pluginXML(version, url, trust string) string {
	about := "<description><label>P</label><summary>p</summary></description>"
	return `<extension>` + about + `<key>com.example.panel</key><version>` + version + `</version><server><url>` + url + `</url>` +
		about + `<company>c</company><type>MANIFEST_SERVER</type><adminEmail>a@example.test</adminEmail>` + trust +
		`</server><client><version>` + version + `</version>` + about +
		`<company>c</company><type>vsphere-client-remote</type><url>` + url +
		`</url></client><lastHeartbeatTime>2026-01-01T00:00:00Z</lastHeartbeatTime></extension>`
}

func (f *fixture) plugin(version string) plugin {
	f.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var rows []extensionRow
		f.control("GET", "/extensions", "", &rows)
		for _, r := range rows {
			if r.Plugin != nil && r.Plugin.State != "in-progress" && r.Plugin.Version == version {
				return *r.Plugin
			}
		}
	}
	f.Fatal("the plug-in is still in progress")
	return plugin{}
}

func TestTheManifestIsFetchedWithTheTrustOfTheRecord(t *testing.T) {
	f := start(t)
	r := f.admin()
	u, cert, text := upstream(f)
	_, wrong := newClientCert(f)
	thumb := "<serverThumbprint>" + thumbprints(cert)[1] + "</serverThumbprint>"
	op := "RegisterExtension"
	for i, c := range []struct{ url, trust, want string }{
		{u.URL + "/panel/plugin.json", "<serverCertificate>" + text + "</serverCertificate>", ""},
		{u.URL + "/panel/plugin.json", thumb, ""},
		{u.URL + "/panel/plugin.json", "<serverCertificate>" + wrong + "</serverCertificate>", "certificate"},
		{u.URL + "/panel/plugin.json", strings.Repeat("AA:", 31), "neither"},
		{u.URL + "/elsewhere", thumb, "content type"},
		{"http://127.0.0.1/plugin.json", thumb, "no https"},
	} {
		if c.want == "neither" {
			c.trust = ""
		}
		version := fmt.Sprintf("1.0.%d", i)
		f.expect(r.call(op, "ExtensionManager", pluginXML(version, c.url, c.trust)), op+"Response")
		op = "UpdateExtension"
		p := f.plugin(version)
		if c.want == "" && p.State != "deployed" || c.want != "" && !strings.Contains(p.Reason, c.want) {
			t.Errorf("%d: %+v", i, p)
		}
	}
	f.expect(r.call(op, "ExtensionManager", pluginXML("1.0.5", u.URL+"/panel/plugin.json", thumb)), op+"Response")
	if p := f.plugin("1.0.5"); p.State != "failed" || p.Fetches != 6 { // the same version: not looked at again
		t.Fatalf("%+v", p)
	}
	f.expect(r.call(op, "ExtensionManager", pluginXML("1.1.0", u.URL+"/panel/plugin.json", thumb)), op+"Response")
	f.plugin("1.1.0")
	for path, want := range map[string]string{
		"~1.1.0/api/x?q=1": `GET /panel/api/x?q=1 cookie=""`,
		"~1.1.0~7/" + strings.Replace(u.URL[8:], ":", "-", 1) + "/panel/a": `GET /panel/a cookie=""`,
		"~1.0.0/x": "404 page not found\n",
	} {
		req, _ := http.NewRequest("GET", "https://"+f.at.Front+"/plugins/com.example.panel"+path, nil)
		req.Header.Set("Cookie", cookieName+"=secret")
		res, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestAnApplianceRegistersWithAToken(t *testing.T) {
	f := start(t)
	var made struct {
		Token, Endpoint string
		OVF             string `json:"ovf_environment"`
	}
	f.control("POST", "/solution-install", `{"plugin_id":"com.example.panel"}`, &made)
	f.expect(made.OVF, `oe:key="solutionInstall.token" oe:value="`+made.Token, made.Endpoint)
	record := `{"vcenterExtensions":[{"extension":{"key":"com.example.panel","version":"1.0","description":{"label":"P","summary":"p"},
		"lastHeartbeatTime":"2026-01-01T00:00:00Z"}}]}`
	post := func(token, body string) int {
		req, _ := http.NewRequest("POST", made.Endpoint, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(installHeader, token)
		res, err := f.raw().http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if a, b, c := post("wrong", record), post(made.Token, record), post(made.Token, record); a != 401 || b != 200 || c != 401 {
		t.Fatal(a, b, c)
	}
	for _, body := range []string{record, strings.Replace(record, `"version"`, `"stray":1,"version"`, 1)} {
		f.control("POST", "/solution-install", `{"plugin_id":"com.example.panel"}`, &made)
		if status := post(made.Token, body); status != 400 {
			t.Fatal(status)
		}
	}
}
