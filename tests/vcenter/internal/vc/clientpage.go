// The place of the vSphere Client's page of one machine: so that a link to it leads somewhere, and to the right one. It asks nobody to sign in,
// and shows the name only.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// The address is that of the client's HTML pages: .../vm;nav=v/urn:vmomi:VirtualMachine:MOREF:INSTANCE_UUID/summary.
const machinePage = "GET /ui/app/vm;nav=v/{urn}/summary"

func (s *Server) serveMachinePage(w http.ResponseWriter, r *http.Request) {
	moref, found := strings.CutPrefix(r.PathValue("urn"), "urn:vmomi:VirtualMachine:")
	moref, here := strings.CutSuffix(moref, ":"+s.InstanceUUID())
	machine, known := s.ctx.Map.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: moref}).(mo.Entity)
	if !found || !here || !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	name := html.EscapeString(machine.Entity().Name)
	fmt.Fprintf(w, "<!doctype html><title>%s</title><h1>%s</h1><p>Here the vSphere Client would show this machine.", name, name)
}
