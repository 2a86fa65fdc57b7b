// Remote plug-ins: a record that names a manifest server makes this vCenter fetch the manifest, trusting
// exactly what the record says, and pass requests on to the plug-in's servers.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/manifest"
)

const (
	remotePlugin   = "vsphere-client-remote"
	manifestServer = "MANIFEST_SERVER"
	fetchLimit     = 15 * time.Second
	maxManifest    = 1 << 20
)

// plugin is what became of a record's plug-in.
type plugin struct {
	State   string    `json:"state"` // in-progress, deployed or failed
	Reason  string    `json:"reason,omitempty"`
	Version string    `json:"version"`
	URL     string    `json:"url"`
	When    time.Time `json:"when"`
	Fetches int       `json:"fetches"` // over the life of the record
}

// deploy begins to fetch the manifest of a record if its version is another than the one that was
// looked at last: nothing else makes a vCenter look again. The caller holds the lock.
func (s *Server) deploy(x *extension) {
	rec := x.record
	at, err := manifestOf(&rec)
	if at == nil {
		x.plugin = nil
		return
	}
	if x.plugin != nil && x.plugin.Version == rec.Version {
		return
	}
	p := &plugin{State: "in-progress", Version: rec.Version, URL: at.Url, When: s.wall().UTC(), Fetches: 1}
	if x.plugin != nil {
		p.Fetches += x.plugin.Fetches
	}
	x.plugin = p
	go func() {
		if err == nil {
			err = s.fetchManifest(at)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		p.State, p.When = "deployed", s.wall().UTC()
		if err != nil {
			p.State, p.Reason = "failed", err.Error()
		}
	}()
}

// manifestOf finds the server that has a record's manifest; none if it is no remote plug-in.
func manifestOf(rec *types.Extension) (*types.ExtensionServerInfo, error) {
	var at *types.ExtensionServerInfo
	for i := range rec.Server {
		if rec.Server[i].Type == manifestServer {
			at = &rec.Server[i]
			break
		}
	}
	if at == nil {
		return nil, nil
	}
	for _, c := range rec.Client {
		switch {
		case c.Type != remotePlugin:
		case c.Url != at.Url:
			return at, errors.New("the client's url is not that of the manifest server")
		case c.Version != rec.Version:
			return at, errors.New("the client's version is not that of the extension")
		default:
			return at, nil
		}
	}
	return at, errors.New("no client of type " + remotePlugin)
}

// fetchManifest downloads and checks a manifest.
func (s *Server) fetchManifest(at *types.ExtensionServerInfo) error {
	u, err := url.Parse(at.Url)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is no https address", at.Url)
	}
	transport, err := s.trusting(at, u.Hostname())
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: fetchLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") }}
	res, err := client.Get(u.String())
	if err != nil {
		return fmt.Errorf("download failed, check URL and thumbprint: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxManifest+1))
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case err != nil:
		return fmt.Errorf("download failed: %w", err)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("download failed: status %d", res.StatusCode)
	case kind != "application/json":
		return fmt.Errorf("the manifest's content type is %q", kind)
	case len(text) > maxManifest:
		return errors.New("the manifest is too large")
	}
	return manifest.Check(text)
}

// trusting connects from this vCenter's own address and trusts what a server entry names: the very
// certificate, for its names and in its time, or (without one) a digest.
func (s *Server) trusting(at *types.ExtensionServerInfo, host string) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, Time: s.wall}
	switch {
	case at.ServerCertificate != "":
		block, _ := pem.Decode([]byte(at.ServerCertificate))
		if block == nil {
			return nil, errors.New("serverCertificate is no PEM")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AddCert(cert)
		conf.VerifyConnection = func(c tls.ConnectionState) error {
			if !bytes.Equal(c.PeerCertificates[0].Raw, cert.Raw) {
				return errors.New("the server shows another certificate than the record")
			}
			return nil
		}
	case at.ServerThumbprint != "":
		conf.InsecureSkipVerify = true
		conf.VerifyConnection = func(c tls.ConnectionState) error {
			a, b := sha1.Sum(c.PeerCertificates[0].Raw), sha256.Sum256(c.PeerCertificates[0].Raw)
			if t := at.ServerThumbprint; t != colons(a[:]) && t != colons(b[:]) {
				return errors.New("the server's thumbprint is not that of the record")
			}
			return nil
		}
	default:
		return nil, errors.New("the record names neither certificate nor thumbprint")
	}
	dialer := &net.Dialer{Timeout: fetchLimit}
	if own, _, err := net.SplitHostPort(s.front); err == nil {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(own)}
	}
	return &http.Transport{TLSClientConfig: conf, DialContext: dialer.DialContext}, nil
}

// servePlugin passes requests for /plugins/<key>~<version>/... on to the folder of the manifest, and those
// for /plugins/<key>~<version>~<n>/<host>-<port>/... to that server with the path kept.
func (s *Server) servePlugin(w http.ResponseWriter, r *http.Request) {
	entry := s.log.http(s, r, "plugin")
	rule := s.rules.take("plugin", s.peek(r))
	if rule.before(w, r, s, entry) {
		return
	}
	head, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/plugins/"), "/")
	part := strings.Split(head, "~")
	s.mu.Lock()
	x := s.exts[part[0]]
	deployed := x != nil && len(part) > 1 && x.plugin != nil && x.plugin.State == "deployed" && x.plugin.Version == part[1]
	var servers []types.ExtensionServerInfo
	if deployed {
		servers = x.record.Server
	}
	s.mu.Unlock()
	for i := range servers {
		if target, ok := targetOf(&servers[i], len(part) == 2, rest); ok {
			s.forward(w, r, &servers[i], target, entry)
			return
		}
	}
	entry.note("404")
	http.NotFound(w, r)
}

// targetOf is the address on a plug-in's server that a proxied path means.
func targetOf(at *types.ExtensionServerInfo, short bool, rest string) (*url.URL, bool) {
	u, err := url.Parse(at.Url)
	if err != nil || u.Scheme != "https" {
		return nil, false
	}
	target := &url.URL{Scheme: u.Scheme, Host: u.Host}
	wanted := "/" + rest
	if short {
		if at.Type != manifestServer {
			return nil, false
		}
		wanted = strings.TrimSuffix(path.Dir(u.EscapedPath()), "/") + "/" + rest
	} else {
		server, below, _ := strings.Cut(rest, "/")
		port := u.Port()
		if port == "" {
			port = "443"
		}
		if server != u.Hostname()+"-"+port {
			return nil, false
		}
		wanted = "/" + below
	}
	target.Path, err = url.PathUnescape(wanted)
	target.RawPath = wanted
	return target, err == nil
}

func (s *Server) forward(w http.ResponseWriter, r *http.Request, at *types.ExtensionServerInfo, target *url.URL, entry *callEntry) {
	transport, err := s.trusting(at, target.Hostname())
	if err != nil {
		entry.note("503")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer transport.CloseIdleConnections()
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			query := p.In.URL.RawQuery
			p.Out.URL, p.Out.Host = target, ""
			p.Out.URL.RawQuery = query
			p.Out.Header.Del("Cookie") // vCenter's own cookies are its own
			p.SetXForwarded()
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			entry.note("503")
			http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
		},
	}
	proxy.ServeHTTP(w, r)
}
