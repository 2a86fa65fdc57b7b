// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
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

// task waits until a task tells all of the texts.
func (f *fixture) task(id string, texts ...string) {
	f.Helper()
	w := f.admin().watcher()
	w.on("CreateFilter", "PropertyCollector", w.pc, strings.ReplaceAll(specSet("Task", id, "info.state", "info.error"), "specSet", "spec")+
		"<partialUpdates>false</partialUpdates>")
	w.until(texts...)
}

// powerOn begins to power a machine of the host on, and waits until its task tells the text.
func (f *fixture) powerOn(r *raw, text string) {
	f.Helper()
	f.task(f.element(r.call("PowerOnVM_Task", "VirtualMachine:vm-103", ""), "returnval"), text)
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
	f.powerOn(a, `xsi:type="InvalidState"`)
	f.control("POST", "/settings", `{"task_faults": "call"}`, nil)
	f.expect(a.call("PowerOnVM_Task", "VirtualMachine:vm-103", ""), "InvalidStateFault")
	f.power("vm-101", "poweredOff") // of another host
	w.quiet()
	f.power("vm-102", "poweredOff")
	w.until(inMaintenance, `<Event xsi:type="EnteredMaintenanceModeEvent">`)
	w.quiet()
	f.task(task, ">success<")
	f.expect(a.props("Task", task, "info"), "<state>success</state>", "<completeTime>")
	f.expect(a.call("EnterMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "InvalidStateFault")
	f.expect(a.call("PowerOnVM_Task", "VirtualMachine:vm-103", ""), "InvalidStateFault")
	f.control("POST", "/settings", `{"task_faults": "task"}`, nil)
	f.powerOn(a, `xsi:type="InvalidState"`)
	f.expect(a.call("ExitMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "ExitMaintenanceMode_TaskResponse")
	w.until(`<Event xsi:type="ExitMaintenanceModeEvent">`, strings.Replace(inMaintenance, "true", "false", 1))
	f.expect(a.call("ExitMaintenanceMode_Task", east2, "<timeout>0</timeout>"), "InvalidStateFault")
	f.powerOn(a, ">success<")
}

func TestMachinesThatMoveAwayLetAHostIntoMaintenanceMode(t *testing.T) {
	f := start(t)
	w, a := f.hosts(), f.admin()
	task := f.enter(a, "<timeout>0</timeout><evacuatePoweredOffVms>false</evacuatePoweredOffVms>")
	w.until("EnteringMaintenanceModeEvent")
	f.control("POST", "/objects", `{"action":"migrate","id":"vm-102","to":"host-11"}`, nil)
	w.until(inMaintenance, "EnteredMaintenanceModeEvent")
	f.task(task, ">success<")
}

func TestATaskThatIsCanceledOrTooSlowLeavesTheHostAsItWas(t *testing.T) {
	f := start(t)
	w, a := f.hosts(), f.admin()
	f.task(f.enter(a, "<timeout>1</timeout>"), `xsi:type="Timedout"`, ">error<")
	w.without(inMaintenance, "CanceledHostOperationEvent")
	task := f.enter(a, "<timeout>0</timeout>")
	f.control("POST", "/permissions", `{"entity": "group-d1", "principal": "viewer-dc@vsphere.local", "role": "ReadOnly"}`, nil)
	other := f.as("viewer-dc@vsphere.local", "dc-Pass1")
	f.expect(other.call("CancelTask", "Task:"+task, ""), "NoPermissionFault", "Global.CancelTask")
	f.expect(a.call("CancelTask", "Task:"+task, ""), "CancelTaskResponse")
	w.until(`<Event xsi:type="CanceledHostOperationEvent">`)
	f.task(task, ">error<", `xsi:type="RequestCanceled"`)
	f.expect(a.props("Task", task, "info"), "<state>error</state>", "<cancelled>true</cancelled>")
	f.expect(a.call("CancelTask", "Task:"+task, ""), "InvalidStateFault")
	f.power("vm-102", "poweredOff")
	w.without(inMaintenance)
	f.expect(a.props("HostSystem", "host-12", "runtime.inMaintenanceMode"), ">false<")
	f.enter(a, "<timeout>0</timeout>") // nothing is left of the ones before
	w.until(inMaintenance)
}

// without expects that what is left to tell does not hold the texts.
func (w *watcher) without(texts ...string) {
	w.f.Helper()
	for out := w.ask(0, ""); strings.Contains(out, "returnval"); out = w.ask(0, "") {
		w.f.refuse(out, texts...)
	}
}

func TestARestartLosesTheTaskOfAHost(t *testing.T) {
	for _, x := range []struct {
		left extent
		on   bool // a machine runs there
		in   string
	}{{undone, true, "false"}, {done, true, "false"}, {undone, false, "false"}, {done, false, "true"}} {
		f := start(t)
		rule := f.taskRule(`{"op": "EnterMaintenanceMode_Task", "hold_at": 50}`)
		task := f.enter(f.admin(), "<timeout>0</timeout>")
		f.awaitTask(rule)
		if x.on {
			w := f.hosts()
			f.releaseTask(rule)
			w.quiet()
		} else {
			f.power("vm-102", "poweredOff")
		}
		f.control("POST", "/restart", fmt.Sprintf(`{"tasks": %q}`, x.left), nil)
		f.control("DELETE", "/tasks", "", nil)
		a, w := f.admin(), f.hosts()
		f.expect(a.props("Task", task, "info"), "ManagedObjectNotFound")
		f.refuse(a.props("HostSystem", "host-12", "recentTask")+a.props("TaskManager", "TaskManager", "recentTask"), task)
		f.expect(a.props("HostSystem", "host-12", "runtime.inMaintenanceMode"), ">"+x.in+"<")
		f.power("vm-102", "poweredOff")
		w.without(inMaintenance)
		if x.in == "false" {
			f.enter(a, "<timeout>0</timeout>") // the lost one is not in the way
			w.until(inMaintenance)
		}
	}
}

func TestClonesKeepAwayFromAHostThatEntersMaintenanceMode(t *testing.T) {
	p := startSite(t)
	rule := p.taskRule(`{"op": "CloneVM_Task", "hold_at": 50, "count": 1}`)
	spec := p.spec()
	spec.Location.Host, spec.PowerOn = &moRef{Type: "HostSystem", Value: "host-12"}, true
	early := p.mustStart(p.clone("n1", spec))
	p.awaitTask(rule)
	w := p.hosts()
	task := p.enter(p.admin(), "<timeout>0</timeout>")
	w.until("EnteringMaintenanceModeEvent")
	late, err := p.clone("n2", spec)
	want[*types.NoCompatibleHost](p, late, err)
	free := p.spec()
	free.PowerOn = true
	for i := range 4 { // more than are on the other host
		var vm mo.VirtualMachine
		if p.get(p.mustClone(fmt.Sprintf("m%d", i), free), &vm, "runtime"); vm.Runtime.Host.Value != "host-11" || vm.Runtime.PowerState != powerOn {
			t.Fatalf("%+v", vm.Runtime)
		}
	}
	p.power("vm-102", "poweredOff")
	w.without(inMaintenance) // as long as the first clone is being made
	p.releaseTask(rule)
	want[*types.InvalidState](p, early, nil)
	p.task(task, ">success<")
	ref, _ := p.named("n1")
	var vm mo.VirtualMachine
	if p.get(ref, &vm, "config", "runtime"); vm.Config == nil || vm.Runtime.PowerState != powerOff {
		t.Fatalf("%+v", vm)
	}
	late, err = p.clone("n2", spec)
	want[*types.NoCompatibleHost](p, late, err)
	p.result(object.NewHostSystem(p.c.Client, *spec.Location.Host).ExitMaintenanceMode(context.Background(), 0))
	p.mustClone("n2", spec)
}

func TestAMachineIsNotPoweredOnAtAHostThatHasBegunToEnterMeanwhile(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	rule := p.taskRule(`{"op": "PowerOnVM_Task", "hold_at": 50}`)
	on := p.mustStart(p.vm(moRef{Type: "VirtualMachine", Value: "vm-103"}).PowerOn(ctx))
	p.awaitTask(rule)
	p.enter(p.admin(), "<timeout>0</timeout>")
	p.releaseTask(rule)
	want[*types.InvalidState](p, on, nil)
	p.control("POST", "/settings", `{"clones_at_once": 1}`, nil)
	rule = p.taskRule(`{"op": "CloneVM_Task", "hold_at": 50, "count": 1}`)
	first := p.mustStart(p.clone("n1", p.spec()))
	p.awaitTask(rule)
	spec := p.spec()
	spec.Location.Host = &moRef{Type: "HostSystem", Value: "host-11"}
	second := p.mustStart(p.clone("n2", spec))
	p.mustStart(object.NewHostSystem(p.c.Client, *spec.Location.Host).EnterMaintenanceMode(ctx, 0, false, nil))
	p.releaseTask(rule)
	p.result(first, nil)
	want[*types.InvalidState](p, second, nil)
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
