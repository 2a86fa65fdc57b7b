// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"strings"
	"testing"
)

const maintenanceEvents = "<eventTypeId>vim.event.EnteringMaintenanceModeEvent</eventTypeId>" +
	"<eventTypeId>EnteredMaintenanceModeEvent</eventTypeId><eventTypeId>ExitMaintenanceModeEvent</eventTypeId>" +
	"<eventTypeId>CanceledHostOperationEvent</eventTypeId>"

const east2 = "HostSystem:host-12"

// hosts watches maintenance mode and the events of it.
func (f *fixture) hosts() *watcher {
	f.Helper()
	w := f.admin().watcher()
	w.events(maintenanceEvents)
	w.filter("HostSystem", "runtime.inMaintenanceMode")
	w.first()
	return w
}

// enter begins the task and returns its id.
func (f *fixture) enter(r *raw, inner string) string {
	f.Helper()
	return f.element(r.call("EnterMaintenanceMode_Task", east2, inner), "returnval")
}

func (f *fixture) power(id, state string) {
	f.Helper()
	f.control("POST", "/objects", `{"action":"power","id":"`+id+`","state":"`+state+`"}`, nil)
}

const inMaintenance = `<name>runtime.inMaintenanceMode</name><op>assign</op><val xsi:type="xsd:boolean">true</val>`

func TestAHostIsInMaintenanceModeOnceNoMachineRunsThere(t *testing.T) {
	f := start(t)
	w, a := f.hosts(), f.admin()
	task := f.enter(a, "<timeout>0</timeout>")
	text := w.until(`<Event xsi:type="EnteringMaintenanceModeEvent">`,
		`<computeResource><name>HX-East</name><computeResource type="ClusterComputeResource">domain-c7</computeResource></computeResource>`,
		`<host><name>hx-east-2.example.test</name><host type="HostSystem">host-12</host></host>`,
		`<userName>VSPHERE.LOCAL\Administrator</userName>`)
	w.quiet()
	f.refuse(text, inMaintenance, "EnteredMaintenanceModeEvent")
	f.expect(a.props("Task", task, "info"), "<descriptionId>HostSystem.enterMaintenanceMode</descriptionId>", "<state>running</state>",
		`<entity type="HostSystem">host-12</entity>`, "<cancelable>true</cancelable>", `<userName>VSPHERE.LOCAL\Administrator</userName>`)
	f.expect(a.props("HostSystem", "host-12", "recentTask"), `<ManagedObjectReference type="Task" xsi:type="ManagedObjectReference">`+task+"<")
	f.expect(a.call("EnterMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "InvalidStateFault")
	f.expect(a.call("PowerOnVM_Task", "VirtualMachine:vm-103", ""), "InvalidStateFault")
	f.power("vm-101", "poweredOff") // of another host
	w.quiet()
	f.power("vm-102", "poweredOff")
	w.until(inMaintenance, `<Event xsi:type="EnteredMaintenanceModeEvent">`)
	w.quiet()
	f.expect(a.props("Task", task, "info"), "<state>success</state>", "<completeTime>")
	f.expect(a.call("EnterMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "InvalidStateFault")
	f.expect(a.call("PowerOnVM_Task", "VirtualMachine:vm-103", ""), "InvalidStateFault")
	f.expect(a.call("ExitMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "ExitMaintenanceMode_TaskResponse")
	w.until(`<Event xsi:type="ExitMaintenanceModeEvent">`, strings.Replace(inMaintenance, "true", "false", 1))
	f.expect(a.call("ExitMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "InvalidStateFault")
	f.expect(a.call("PowerOnVM_Task", "VirtualMachine:vm-103", ""), "PowerOnVM_TaskResponse")
}

func TestMachinesThatMoveAwayLetAHostIntoMaintenanceMode(t *testing.T) {
	f := start(t)
	w, a := f.hosts(), f.admin()
	task := f.enter(a, "<timeout>0</timeout><evacuatePoweredOffVms>false</evacuatePoweredOffVms>")
	w.until("EnteringMaintenanceModeEvent")
	f.control("POST", "/objects", `{"action":"migrate","id":"vm-102","to":"host-11"}`, nil)
	w.until(inMaintenance, "EnteredMaintenanceModeEvent")
	f.expect(a.props("Task", task, "info.state"), ">success<")
}

func TestATaskThatIsCanceledOrTooSlowLeavesTheHostAsItWas(t *testing.T) {
	f := start(t)
	w, a := f.hosts(), f.admin()
	task := f.enter(a, "<timeout>0</timeout>")
	f.expect(a.call("CancelTask", "Task:"+task, ""), "CancelTaskResponse")
	w.until(`<Event xsi:type="CanceledHostOperationEvent">`)
	f.expect(a.props("Task", task, "info"), "<state>error</state>", `xsi:type="RequestCanceled"`)
	slow := f.admin().watcher()
	task = f.enter(a, "<timeout>1</timeout>")
	slow.on("CreateFilter", "PropertyCollector", slow.pc, strings.ReplaceAll(specSet("Task", task, "info.state", "info.error"), "specSet", "spec")+
		"<partialUpdates>false</partialUpdates>")
	slow.until(`xsi:type="Timedout"`, ">error<")
	f.power("vm-102", "poweredOff")
	w.without(inMaintenance)
	f.expect(a.props("HostSystem", "host-12", "runtime.inMaintenanceMode"), ">false<")
	f.enter(a, "<timeout>0</timeout>") // nothing is left of the ones before
	w.until(inMaintenance)
}

// without expects that what is left to tell does not hold the text.
func (w *watcher) without(text string) {
	w.f.Helper()
	for out := w.ask(0, ""); strings.Contains(out, "returnval"); out = w.ask(0, "") {
		w.f.refuse(out, text)
	}
}

func TestMaintenanceModeAsksItsPrivilegeOnTheHost(t *testing.T) {
	f := start(t)
	viewer := f.as("viewer-east@vsphere.local", "east-Pass1")
	f.expect(viewer.call("EnterMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "NoPermissionFault", "Host.Config.Maintenance")
	f.control("POST", "/roles", `{"name":"Keeper","privileges":["Host.Config.Maintenance"]}`, nil)
	f.control("POST", "/permissions", `{"entity":"domain-c7","principal":"viewer-east@vsphere.local","role":"Keeper"}`, nil)
	f.expect(viewer.call("EnterMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "EnterMaintenanceMode_TaskResponse")
	f.expect(viewer.call("ExitMaintenanceMode_Task", "HostSystem:host-41", "<timeout>0</timeout>"), "NoPermissionFault")
}
