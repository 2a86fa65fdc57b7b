// strictvc: a vCenter for tests that is as strict as a real one. See ../../README.md.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"kaas.test/vcenter/internal/run"
	"kaas.test/vcenter/internal/vc"
)

// ready is what tests read to find the server.
type ready struct {
	PID          int    `json:"pid"`
	URL          string `json:"url"`
	Address      string `json:"address"`
	Tunnel       string `json:"tunnel,omitempty"`
	Direct       string `json:"direct,omitempty"`
	Control      string `json:"control"`
	CAFile       string `json:"ca_file,omitempty"`
	SHA256       string `json:"thumbprint_sha256"`
	InstanceUUID string `json:"instance_uuid"`
	APIVersion   string `json:"api_version"`
}

func main() {
	var cfg vc.Config
	var names, readyFile string
	var verbose, dieWithParent bool
	flag.StringVar(&cfg.World, "world", "", "world file (JSON)")
	flag.StringVar(&cfg.Listen, "listen", "127.0.0.1:0", "HTTPS port; client certificates never arrive here")
	flag.StringVar(&cfg.TunnelListen, "tunnel-listen", "127.0.0.1:0", "plain port with CONNECT sdkTunnel:8089; empty for none")
	flag.StringVar(&cfg.DirectListen, "direct-listen", "", "HTTPS port that sees client certificates; empty for none")
	flag.StringVar(&cfg.ControlListen, "control-listen", "127.0.0.1:0", "control port")
	flag.StringVar(&cfg.APIVersion, "api-version", "8.0.3.0", "newest version of urn:vim25 that is spoken")
	flag.StringVar(&cfg.DevVersion, "dev-version", "", "opaque id to show as newest version, e.g. uA046D008")
	flag.StringVar(&cfg.CertFile, "cert", "", "server certificate (PEM) instead of a generated one")
	flag.StringVar(&cfg.KeyFile, "key", "", "key of --cert (PEM)")
	flag.StringVar(&names, "names", "", "further host names in the generated certificate, comma separated")
	flag.BoolVar(&cfg.Expired, "expired", false, "generate a certificate that has expired")
	flag.DurationVar(&cfg.IdleTimeout, "idle-timeout", 0, "idle time-out of sessions (default 30m)")
	flag.IntVar(&cfg.PageSize, "page-size", 0, "most objects in one answer (default 100)")
	flag.StringVar(&readyFile, "ready-file", "", "file that gets the ready line once everything listens")
	flag.BoolVar(&dieWithParent, "die-with-parent", false, "end when the parent process has ended")
	flag.BoolVar(&verbose, "v", false, "show the simulator's own messages")
	flag.Parse()
	if names != "" {
		cfg.Names = strings.Split(names, ",")
	}
	if !verbose {
		log.SetOutput(io.Discard)
	}
	if err := serve(cfg, readyFile, dieWithParent); err != nil {
		fmt.Fprintln(os.Stderr, "strictvc:", err)
		os.Exit(1)
	}
}

func serve(cfg vc.Config, readyFile string, dieWithParent bool) error {
	dir, err := os.MkdirTemp("", "strictvc-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg.Dir = dir
	stop := run.Stopper(dieWithParent)

	s, err := vc.New(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	at, err := s.Start()
	if err != nil {
		return err
	}
	err = run.Announce(ready{
		PID: os.Getpid(), URL: "https://" + at.Front + "/sdk", Address: at.Front, Tunnel: at.Tunnel,
		Direct: at.Direct, Control: "http://" + at.Control, CAFile: s.CAFile(), SHA256: s.Thumbprint(),
		InstanceUUID: s.InstanceUUID(), APIVersion: cfg.APIVersion,
	}, readyFile)
	if err != nil {
		return err
	}
	<-stop
	return nil
}
