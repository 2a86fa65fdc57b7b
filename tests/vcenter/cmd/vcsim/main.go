// vcsim: govmomi's simulator as it is, with the flags of the upstream command that tests need. (The
// upstream command is a nested module which the module proxy does not carry since v0.47.)
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"

	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"

	"kaas.test/vcenter/internal/run"
)

type options struct {
	listen, user, password, cert, key, ready string
	tls, verbose, orphan                     bool
	tunnel                                   int
}

type ready struct {
	PID    int    `json:"pid"`
	URL    string `json:"url"`
	Addr   string `json:"address"`
	Tunnel string `json:"tunnel,omitempty"`
	CAFile string `json:"ca_file,omitempty"`
	SHA256 string `json:"thumbprint_sha256,omitempty"`
}

func main() {
	var o options
	m := simulator.VPX()
	flag.StringVar(&o.listen, "l", "127.0.0.1:0", "listen address")
	flag.StringVar(&o.user, "username", "user", "the one user's name")
	flag.StringVar(&o.password, "password", "pass", "the one user's password")
	flag.BoolVar(&o.tls, "tls", true, "serve HTTPS")
	flag.StringVar(&o.cert, "tlscert", "", "certificate file; built-in certificate if empty")
	flag.StringVar(&o.key, "tlskey", "", "key file")
	flag.IntVar(&o.tunnel, "tunnel", -1, "plain port for CONNECT: -1 none, 0 any")
	flag.StringVar(&o.ready, "ready-file", "", "file that gets the ready line")
	flag.BoolVar(&o.orphan, "die-with-parent", false, "end when the parent process has ended")
	flag.BoolVar(&o.verbose, "v", false, "show the simulator's messages")
	flag.IntVar(&m.Datacenter, "dc", m.Datacenter, "datacenters")
	flag.IntVar(&m.Cluster, "cluster", m.Cluster, "clusters per datacenter")
	flag.IntVar(&m.ClusterHost, "host", m.ClusterHost, "hosts per cluster")
	flag.IntVar(&m.Host, "standalone-host", m.Host, "stand-alone hosts per datacenter")
	flag.IntVar(&m.Machine, "vm", m.Machine, "machines per resource pool")
	flag.Parse()
	if !o.verbose {
		log.SetOutput(io.Discard)
	}
	if err := serve(m, o); err != nil {
		fmt.Fprintln(os.Stderr, "vcsim:", err)
		os.Exit(1)
	}
}

func serve(m *simulator.Model, o options) error {
	dir, err := os.MkdirTemp("", "vcsim-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	stop := run.Stopper(o.orphan)
	if err := m.Create(); err != nil {
		return err
	}
	defer m.Remove()
	m.Service.RegisterEndpoints = true
	m.Service.Listen = &url.URL{Host: o.listen, User: url.UserPassword(o.user, o.password)}
	if o.tls {
		m.Service.TLS = new(tls.Config)
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return err
		}
		m.Service.TLS.Certificates = []tls.Certificate{pair}
	}
	s := m.Service.NewServer()
	defer s.Close()
	line := ready{PID: os.Getpid(), URL: s.URL.Scheme + "://" + s.URL.Host + s.URL.Path, Addr: s.URL.Host}
	if o.tls {
		if line.CAFile, err = s.CertificateFile(); err != nil {
			return err
		}
		line.SHA256 = s.CertificateInfo().ThumbprintSHA256
	}
	if o.tunnel >= 0 {
		s.Tunnel = o.tunnel
		if err := s.StartTunnel(); err != nil {
			return err
		}
		line.Tunnel = fmt.Sprintf("%s:%d", s.URL.Hostname(), s.Tunnel)
	}
	if err := run.Announce(line, o.ready); err != nil {
		return err
	}
	<-stop
	return nil
}
