// vcsim-old: the simulator of an older govmomi as it is, with the two flags that tests need. A module of its own, since one module has one version.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"crypto/tls"
	"flag"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

func main() {
	listen := flag.String("l", "127.0.0.1:0", "listen address")
	user := flag.String("username", "user", "the one user's name")
	password := flag.String("password", "pass", "the one user's password")
	flag.Parse()
	log.SetOutput(io.Discard)
	m := simulator.VPX()
	if err := m.Create(); err != nil {
		panic(err)
	}
	m.Service.RegisterEndpoints = true
	m.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword(*user, *password)}
	m.Service.TLS = new(tls.Config)
	server := m.Service.NewServer()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	server.Close()
	m.Remove()
}
