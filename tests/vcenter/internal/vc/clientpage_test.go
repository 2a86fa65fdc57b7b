// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"net/http"
	"testing"
)

func TestALinkIntoTheClientLeadsToOneMachine(t *testing.T) {
	f := start(t)
	at := func(urn string) (int, string) { return f.rest("GET", "/ui/app/vm;nav=v/"+urn+"/summary", "", "") }
	urn := "urn:vmomi:VirtualMachine:vm-101:" + f.s.InstanceUUID()
	status, page := at(urn)
	if status != http.StatusOK {
		t.Fatal(status, page)
	}
	f.expect(page, "<h1>k8s-prod-cp-0</h1>")
	for _, wrong := range []string{"urn:vmomi:VirtualMachine:vm-99999:" + f.s.InstanceUUID(), "urn:vmomi:VirtualMachine:vm-101:other", "vm-101",
		"urn:vmomi:HostSystem:host-11:" + f.s.InstanceUUID()} {
		if status, page := at(wrong); status != http.StatusNotFound {
			t.Error(wrong, status, page)
		}
	}
}
