// govmomi doing what kaasd and its vim client do, for comparing CPU time. Not part of the product.
//
//	vimpeer URL CA-FILE API-VERSION USER cookie ENTITY...   for each session cookie: who is it, and what may that person see
//	vimpeer URL CA-FILE API-VERSION USER ticket ENTITY...   for each clone ticket: the same through a session of its own
//	vimpeer URL CA-FILE API-VERSION USER own-cookie ENTITY...   and own-ticket: with a client for each person, as a service has to that signs on
//	                                                        several at a time, since a client holds one session
//	vimpeer URL CA-FILE API-VERSION USER machines N         N times all virtual machines with five properties
//
// The first line of stdin is USER's password, the others are the cookies or tickets.
// Prints the number of things done and the microseconds of this process's CPU time that they took; connecting is left out.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

var machineProperties = []string{"name", "config.uuid", "config.instanceUuid", "runtime.host", "runtime.powerState"}
var privileges = []string{"System.View", "System.Read"}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "vimpeer:", err)
		os.Exit(1)
	}
}

func cpuMicros() int64 {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano()/1000 + u.Stime.Nano()/1000
}

func connect(ctx context.Context, address, ca, version string) (*vim25.Client, *url.URL) {
	where, err := soap.ParseURL(address)
	must(err)
	client := soap.NewClient(where, false)
	must(client.SetRootCAs(ca))
	client.Namespace, client.Version = vim25.Namespace, version // its own may be too new for the server
	c, err := vim25.NewClient(ctx, client)
	must(err)
	return c, where
}

// Knows already what RetrieveServiceContent would tell.
func another(known *vim25.Client, address, ca string) *vim25.Client {
	where, err := soap.ParseURL(address)
	must(err)
	client := soap.NewClient(where, false)
	must(client.SetRootCAs(ca))
	client.Namespace, client.Version, client.Types = known.Client.Namespace, known.Client.Version, known.Client.Types
	return &vim25.Client{Client: client, ServiceContent: known.ServiceContent, RoundTripper: client}
}

func lines() []string {
	var all []string
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		all = append(all, in.Text())
	}
	return all
}

func logIn(ctx context.Context, c *vim25.Client, user, password string) {
	_, err := methods.Login(ctx, c, &types.Login{This: *c.ServiceContent.SessionManager, UserName: user, Password: password})
	must(err)
}

// Two clients, since a service asks about people with a session of its own.
type signOn struct {
	own, person *vim25.Client
	where       *url.URL
	entities    []types.ManagedObjectReference
	renew       func() *vim25.Client // a new client for a person; nil: one after the other they use the same
}

func (s signOn) byCookie(ctx context.Context, cookie string) {
	s.person.Jar.SetCookies(s.where, []*http.Cookie{{Name: "vmware_soap_session", Value: cookie, Path: "/"}})
	var manager mo.SessionManager
	must(property.DefaultCollector(s.person).RetrieveOne(ctx, *s.person.ServiceContent.SessionManager, []string{"currentSession"}, &manager))
	if manager.CurrentSession == nil {
		must(fmt.Errorf("a cookie is not known"))
	}
	_, err := methods.HasPrivilegeOnEntities(ctx, s.own, &types.HasPrivilegeOnEntities{
		This: *s.own.ServiceContent.AuthorizationManager, Entity: s.entities, SessionId: manager.CurrentSession.Key, PrivId: privileges})
	must(err)
}

func (s signOn) byTicket(ctx context.Context, ticket string) {
	sessions := *s.person.ServiceContent.SessionManager
	made, err := methods.CloneSession(ctx, s.person, &types.CloneSession{This: sessions, CloneTicket: ticket})
	must(err)
	_, err = methods.Logout(ctx, s.person, &types.Logout{This: sessions})
	must(err)
	_, err = methods.HasUserPrivilegeOnEntities(ctx, s.own, &types.HasUserPrivilegeOnEntities{
		This: *s.own.ServiceContent.AuthorizationManager, Entities: s.entities, UserName: made.Returnval.UserName, PrivId: privileges})
	must(err)
}

func machines(ctx context.Context, c *vim25.Client) int {
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	must(err)
	var found []mo.VirtualMachine
	must(v.Retrieve(ctx, []string{"VirtualMachine"}, machineProperties, &found))
	must(v.Destroy(ctx))
	return len(found)
}

func signOns(ctx context.Context, s signOn, what string, proofs []string) (int, int64) {
	began := cpuMicros()
	for _, proof := range proofs {
		if s.renew != nil {
			s.person = s.renew()
		}
		if strings.HasSuffix(what, "cookie") {
			s.byCookie(ctx, proof)
		} else {
			s.byTicket(ctx, proof)
		}
		if s.renew != nil {
			s.person.CloseIdleConnections()
		}
	}
	return len(proofs), cpuMicros() - began
}

func readings(ctx context.Context, c *vim25.Client, times int) (int, int64) {
	count := 0
	began := cpuMicros()
	for i := 0; i < times; i++ {
		count += machines(ctx, c)
	}
	return count, cpuMicros() - began
}

func references(ids []string) []types.ManagedObjectReference {
	var all []types.ManagedObjectReference
	for _, id := range ids {
		all = append(all, types.ManagedObjectReference{Type: "ClusterComputeResource", Value: id})
	}
	return all
}

func main() {
	ctx := context.Background()
	address, ca, version, user, what := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	input := lines()
	own, where := connect(ctx, address, ca, version)
	logIn(ctx, own, user, input[0])
	var count int
	var micros int64
	if what == "machines" {
		times, err := strconv.Atoi(os.Args[6])
		must(err)
		count, micros = readings(ctx, own, times)
	} else {
		person, _ := connect(ctx, address, ca, version)
		s := signOn{own: own, person: person, where: where, entities: references(os.Args[6:])}
		if strings.HasPrefix(what, "own-") {
			s.renew = func() *vim25.Client { return another(own, address, ca) }
		}
		count, micros = signOns(ctx, s, what, input[1:])
	}
	must(logOut(ctx, own))
	fmt.Println(count, micros)
}

func logOut(ctx context.Context, c *vim25.Client) error {
	_, err := methods.Logout(ctx, c, &types.Logout{This: *c.ServiceContent.SessionManager})
	return err
}
