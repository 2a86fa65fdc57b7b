// The tests' common ground: a server of its own for every test, a raw SOAP client that builds its XML
// by hand, and govmomi's client; neither shares code with the server's decoder or encoder.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	govsession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

const (
	admin     = `administrator@vsphere.local`
	adminPass = `Admin!23 <&> wörd`
	xmlns     = `xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"`
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

type fixture struct {
	*testing.T
	s  *Server
	at *Addresses
}

func start(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	old := os.Getenv("TMPDIR")
	cfg := Config{
		World: "../../worlds/default.json", Dir: t.TempDir(), Listen: "127.0.0.1:0", TunnelListen: "127.0.0.1:0",
		DirectListen: "127.0.0.1:0", ControlListen: "127.0.0.1:0",
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); os.Setenv("TMPDIR", old) })
	return &fixture{t, s, at}
}

// raw is a client with a cookie of its own.
type raw struct {
	f       *fixture
	url     string
	http    *http.Client
	version string
	cookie  string
	set     string // the last Set-Cookie header
	status  int
}

func (f *fixture) raw() *raw { return f.rawAt(f.at.Front, nil) }

func (f *fixture) rawAt(addr string, cert *tls.Certificate) *raw {
	conf := &tls.Config{InsecureSkipVerify: true}
	if cert != nil {
		conf.Certificates = []tls.Certificate{*cert}
	}
	return &raw{f: f, url: "https://" + addr + "/sdk", version: "8.0.3.0",
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: conf}, Timeout: time.Minute}}
}

// tunnel is a client whose TLS runs inside CONNECT to the given target.
func (f *fixture) tunnel(target string, cert *tls.Certificate) *raw {
	r := f.rawAt(target, cert)
	proxy := &url.URL{Scheme: "http", Host: f.at.Tunnel}
	r.http.Transport.(*http.Transport).Proxy = http.ProxyURL(proxy)
	return r
}

func envelope(body string) string {
	return `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>` + body +
		`</e:Body></e:Envelope>`
}

// post sends a document as it is.
func (r *raw) post(doc string) (string, error) {
	req, err := http.NewRequest("POST", r.url, strings.NewReader(doc))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	if r.version != "" {
		req.Header.Set("SOAPAction", `"urn:vim25/`+r.version+`"`)
	}
	if r.cookie != "" {
		req.Header.Set("Cookie", cookieName+"="+r.cookie)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	r.status = res.StatusCode
	if r.set = res.Header.Get("Set-Cookie"); r.set != "" {
		r.cookie = strings.SplitN(strings.SplitN(r.set, "=", 2)[1], ";", 2)[0]
	}
	return string(text), err
}

// call sends one operation whose parameters are given as XML.
func (r *raw) call(op, this, inner string) string {
	r.f.Helper()
	id := this
	if kind, rest, ok := strings.Cut(this, ":"); ok {
		this, id = kind, rest
	}
	if known, ok := map[string]string{"PropertyCollector": "propertyCollector"}[this]; ok {
		id = known
	}
	out, err := r.post(envelope(fmt.Sprintf(`<%s %s><_this type="%s">%s</_this>%s</%s>`, op, xmlns, this, id, inner, op)))
	if err != nil {
		r.f.Fatal(err)
	}
	return out
}

func (r *raw) login(user, password string) string {
	r.f.Helper()
	var b bytes.Buffer
	_ = xmlText(&b, password)
	return r.call("Login", "SessionManager", "<userName>"+user+"</userName><password>"+b.String()+"</password>")
}

func (r *raw) mustLogin(user, password string) string {
	r.f.Helper()
	out := r.login(user, password)
	r.f.expect(out, "<LoginResponse")
	return out
}

// as is a logged-in client.
func (f *fixture) as(user, password string) *raw {
	f.Helper()
	r := f.raw()
	r.mustLogin(user, password)
	return r
}

func (f *fixture) admin() *raw { f.Helper(); return f.as(admin, adminPass) }

func (f *fixture) expect(text string, want ...string) {
	f.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			f.Fatalf("no %q in:\n%s", w, text)
		}
	}
}

func (f *fixture) refuse(text string, unwanted ...string) {
	f.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			f.Fatalf("unwanted %q in:\n%s", w, text)
		}
	}
}

// element returns the text of the first element of that name.
func (f *fixture) element(text, name string) string {
	f.Helper()
	m := regexp.MustCompile(`<` + name + `[^>]*>([^<]*)<`).FindStringSubmatch(text)
	if m == nil {
		f.Fatalf("no <%s> in:\n%s", name, text)
	}
	return m[1]
}

// control calls the control port and decodes its answer.
func (f *fixture) control(method, path, body string, into any) {
	f.Helper()
	req, _ := http.NewRequest(method, "http://"+f.at.Control+path, strings.NewReader(body))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		f.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			f.Fatal(err)
		}
	}
}

// client is govmomi's client, logged in.
func (f *fixture) client(user, password string) *govmomi.Client {
	f.Helper()
	ctx := context.Background()
	u := &url.URL{Scheme: "https", Host: f.at.Front, Path: "/sdk"}
	sc := soap.NewClient(u, true)
	sc.Version = "8.0.3.0"
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		f.Fatal(err)
	}
	m := govsession.NewManager(vc)
	if err := m.Login(ctx, url.UserPassword(user, password)); err != nil {
		f.Fatal(err)
	}
	return &govmomi.Client{Client: vc, SessionManager: m}
}

// newClientCert makes a self-signed certificate and its PEM in the usual layout.
func newClientCert(f *fixture) (*tls.Certificate, string) {
	f.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		f.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(text)
}

func xmlText(b *bytes.Buffer, s string) error {
	r := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	_, err := b.WriteString(r.Replace(s))
	return err
}

// props is a RetrievePropertiesEx of some paths of one object.
func (r *raw) props(kind, id string, paths ...string) string {
	r.f.Helper()
	return r.call("RetrievePropertiesEx", "PropertyCollector", specSet(kind, id, paths...)+"<options/>")
}

func specSet(kind, id string, paths ...string) string {
	set := ""
	for _, p := range paths {
		set += "<pathSet>" + p + "</pathSet>"
	}
	return `<specSet><propSet><type>` + kind + `</type>` + set + `</propSet><objectSet><obj type="` + kind + `">` + id +
		`</obj></objectSet></specSet>`
}

// view makes a container view below the root folder and returns its reference as XML attributes.
func (r *raw) view(kinds ...string) string {
	r.f.Helper()
	types := ""
	for _, k := range kinds {
		types += "<type>" + k + "</type>"
	}
	out := r.call("CreateContainerView", "ViewManager",
		`<container type="Folder">group-d1</container>`+types+`<recursive>true</recursive>`)
	return r.f.element(out, "returnval")
}

// list reads paths of all objects of a view.
func (r *raw) list(view, kind, options string, paths ...string) string {
	r.f.Helper()
	return r.call("RetrievePropertiesEx", "PropertyCollector", viewSpec("specSet", view, kind, paths...)+options)
}

func viewSpec(element, view, kind string, paths ...string) string {
	set := ""
	for _, p := range paths {
		set += "<pathSet>" + p + "</pathSet>"
	}
	return `<` + element + `><propSet><type>` + kind + `</type>` + set + `</propSet><objectSet><obj type="ContainerView">` + view +
		`</obj><skip>true</skip><selectSet xsi:type="TraversalSpec"><name>v</name><type>ContainerView</type>` +
		`<path>view</path><skip>false</skip></selectSet></objectSet></` + element + `>`
}

// rest sends a REST call with a session header.
func (f *fixture) rest(method, path, header, body string, user ...*url.Userinfo) (int, string) {
	f.Helper()
	r := f.raw()
	req, _ := http.NewRequest(method, "https://"+f.at.Front+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if header != "" {
		req.Header.Set("vmware-api-session-id", header)
	}
	for _, u := range user {
		p, _ := u.Password()
		req.SetBasicAuth(u.Username(), p)
	}
	res, err := r.http.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text)
}

func (f *fixture) jsonMember(text, name string) string {
	f.Helper()
	m := map[string]string{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		f.Fatal(err)
	}
	return m[name]
}
