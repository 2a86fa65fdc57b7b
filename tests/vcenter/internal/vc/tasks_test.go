// Tests of tasks: progress, cancelling, failing, getting lost, and meeting each other.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	govtask "github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/progress"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// site is a world with a template that machines can be cloned from.
type site struct {
	*fixture
	c        *govmomi.Client
	template moRef
	folder   moRef
	pool     moRef
	store    moRef
	network  moRef
}

func startSite(t *testing.T) *site {
	t.Helper()
	f := start(t)
	p := &site{fixture: f, c: f.client(admin, adminPass)}
	p.template = p.create(`"disks_gb": [20], "nics": ["VM Network"], "num_cpu": 2, "memory_mb": 2048, "snapshot": "base",
		"template": true, "annotation": "node image", "extra_config": {"guestinfo.old": "of the template"}`, "node-image")
	for _, row := range f.objects() {
		switch {
		case row.Type == "Folder" && row.Name == "vm" && row.Parent == "datacenter-2":
			p.folder = moRef{Type: row.Type, Value: row.ID}
		case row.Type == "ResourcePool" && row.Parent == "domain-c7":
			p.pool = moRef{Type: row.Type, Value: row.ID}
		case row.Type == "Datastore" && row.Name == "DC0-DS":
			p.store = moRef{Type: row.Type, Value: row.ID}
		}
	}
	p.network = p.networks()[0]
	return p
}

type objectRow struct{ Type, ID, Name, Parent string }

func (f *fixture) objects() (rows []objectRow) {
	f.Helper()
	f.control("GET", "/objects", "", &rows)
	return rows
}

func (p *site) networks() []moRef {
	p.Helper()
	var dc mo.Datacenter
	p.get(moRef{Type: "Datacenter", Value: "datacenter-2"}, &dc, "network")
	return dc.Network
}

// create makes a machine in HX-East by the control port.
func (p *site) create(members, name string) moRef {
	p.Helper()
	var made struct{ Ids []string }
	p.control("POST", "/objects", fmt.Sprintf(`{"action": "create", "id": "domain-c7", "vm": {"name": %q, %s}}`, name, members), &made)
	return moRef{Type: "VirtualMachine", Value: made.Ids[0]}
}

// rule orders what becomes of tasks and hands back the rule's id.
func (f *fixture) taskRule(body string) int {
	f.Helper()
	var made struct{ ID int }
	f.control("POST", "/tasks", body, &made)
	return made.ID
}

func (f *fixture) awaitTask(rule int) {
	f.Helper()
	f.control("POST", "/tasks/wait", fmt.Sprintf(`{"id": %d}`, rule), nil)
}

func (f *fixture) releaseTask(rule int) {
	f.Helper()
	f.control("POST", "/tasks/release", fmt.Sprintf(`{"id": %d}`, rule), nil)
}

func (p *site) get(ref moRef, into any, paths ...string) {
	p.Helper()
	if err := property.DefaultCollector(p.c.Client).RetrieveOne(context.Background(), ref, paths, into); err != nil {
		p.Fatal(err)
	}
}

func (p *site) spec() types.VirtualMachineCloneSpec {
	return types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &p.pool, Datastore: &p.store}}
}

// clone begins a clone of the template.
func (p *site) clone(name string, spec types.VirtualMachineCloneSpec) (*object.Task, error) {
	return p.cloneBy(p.c, name, spec)
}

func (p *site) cloneBy(c *govmomi.Client, name string, spec types.VirtualMachineCloneSpec) (*object.Task, error) {
	vm := object.NewVirtualMachine(c.Client, p.template)
	return vm.Clone(context.Background(), object.NewFolder(c.Client, p.folder), name, spec)
}

// result waits for a task that must succeed.
func (p *site) result(t *object.Task, err error) moRef {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	info, err := t.WaitForResult(context.Background())
	if err != nil {
		p.Fatal(err)
	}
	ref, _ := info.Result.(moRef)
	return ref
}

func (p *site) mustClone(name string, spec types.VirtualMachineCloneSpec) moRef {
	p.Helper()
	return p.result(p.clone(name, spec))
}

func (p *site) vm(ref moRef) *object.VirtualMachine { return object.NewVirtualMachine(p.c.Client, ref) }

// faultOf is the fault in which a call or its task ends; nil for none.
func faultOf(t *object.Task, err error) types.BaseMethodFault {
	if err == nil {
		if t == nil {
			return nil
		}
		_, err = t.WaitForResult(context.Background())
	}
	var failed govtask.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return failed.Fault()
	case soap.IsSoapFault(err):
		v := soap.ToSoapFault(err).VimFault()
		p := reflect.New(reflect.TypeOf(v))
		p.Elem().Set(reflect.ValueOf(v))
		return p.Interface().(types.BaseMethodFault)
	}
	return nil
}

// want expects a fault of a type, and hands it back.
func want[F any](p *site, t *object.Task, err error) F {
	p.Helper()
	got := faultOf(t, err)
	f, ok := got.(F)
	if !ok {
		p.Fatalf("%T instead of %T: %v", got, *new(F), err)
	}
	return f
}

// heard collects the progress that a client hears of.
type heard struct{ seen []float32 }

func (x *heard) Sink() chan<- progress.Report {
	ch := make(chan progress.Report)
	go func() {
		for r := range ch {
			x.seen = append(x.seen, r.Percentage())
		}
	}()
	return ch
}

func TestACloneTellsItsProgress(t *testing.T) {
	p := startSite(t)
	p.taskRule(`{"op": "CloneVM_Task", "duration_ms": 600}`)
	begin := time.Now()
	started, err := p.clone("n1", p.spec())
	if err != nil {
		t.Fatal(err)
	}
	x := &heard{}
	info, err := started.WaitForResult(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(begin) < 600*time.Millisecond {
		t.Fatalf("it took %v only", time.Since(begin))
	}
	between := 0
	for i, v := range x.seen {
		if i > 0 && v < x.seen[i-1] {
			t.Fatalf("progress went back: %v", x.seen)
		}
		if v > 0 && v < 100 {
			between++
		}
	}
	if between < 3 {
		t.Fatalf("too little progress: %v", x.seen)
	}
	reason, _ := info.Reason.(*types.TaskReasonUser)
	if info.Name != "CloneVM_Task" || info.DescriptionId != "VirtualMachine.clone" || *info.Entity != p.template ||
		info.EntityName != "node-image" || reason == nil || reason.UserName != `VSPHERE.LOCAL\Administrator` ||
		info.StartTime == nil || info.CompleteTime == nil || !info.Cancelable || info.Result.(moRef).Type != "VirtualMachine" {
		t.Fatalf("%+v", info)
	}
	var m mo.TaskManager
	p.get(*p.c.ServiceContent.TaskManager, &m, "recentTask")
	var source mo.VirtualMachine
	p.get(p.template, &source, "recentTask")
	only := []moRef{started.Reference()}
	if !reflect.DeepEqual(m.RecentTask, only) || !reflect.DeepEqual(source.RecentTask, only) {
		t.Fatalf("recentTask %v and %v", m.RecentTask, source.RecentTask)
	}
}

func TestACloneIsThereBeforeItIsReady(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	rule := p.taskRule(`{"op": "CloneVM_Task", "hold_at": 50, "count": 1}`)
	spec := p.spec()
	spec.Config = &types.VirtualMachineConfigSpec{InstanceUuid: "50aaaaaa-0000-4000-8000-000000000001"}
	first, err := p.clone("n1", spec)
	if err != nil {
		t.Fatal(err)
	}
	p.awaitTask(rule)
	var vm mo.VirtualMachine
	var early moRef
	for _, row := range p.objects() {
		if row.Name == "n1" {
			early = moRef{Type: row.Type, Value: row.ID}
		}
	}
	p.get(early, &vm, "name", "parent", "config", "summary.config", "guest")
	if vm.Name != "n1" || vm.Config != nil || vm.Guest != nil || vm.Summary.Config.InstanceUuid != "" {
		t.Fatalf("%+v", vm)
	}
	search := object.NewSearchIndex(p.c.Client)
	find := func() object.Reference {
		ref, err := search.FindByUuid(ctx, nil, spec.Config.InstanceUuid, true, types.NewBool(true))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	if ref := find(); ref != nil {
		t.Fatalf("found %v", ref)
	}
	again, err := p.clone("n1", p.spec())
	if f := want[*types.DuplicateName](p, again, err); f.Object != early || f.Name != "n1" {
		t.Fatalf("%+v", f)
	}
	again, err = p.clone("n2", spec)
	want[*types.InvalidArgument](p, again, err)
	on, err := p.vm(early).PowerOn(ctx)
	if f := want[*types.TaskInProgress](p, on, err); f.Task != first.Reference() {
		t.Fatalf("%+v", f)
	}
	var told struct{ VMs []vmRow }
	if p.control("GET", "/vms?id="+early.Value, "", &told); len(told.VMs) != 0 {
		t.Fatalf("%+v", told)
	}
	p.releaseTask(rule)
	if made := p.result(first, nil); made != early {
		t.Fatalf("%v is not %v", made, early)
	}
	if ref := find(); ref == nil || ref.Reference() != early {
		t.Fatalf("found %v", ref)
	}
	p.get(early, &vm, "config.instanceUuid")
	if vm.Config.InstanceUuid != spec.Config.InstanceUuid {
		t.Fatal(vm.Config.InstanceUuid)
	}
}

func TestCancel(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	before := p.free()
	rule := p.taskRule(`{"op": "CloneVM_Task", "hold_at": 50}`)
	clone, err := p.clone("n1", p.spec())
	if err != nil {
		t.Fatal(err)
	}
	p.awaitTask(rule)
	p.control("POST", "/permissions", `{"entity": "group-d1", "principal": "viewer-dc@vsphere.local", "role": "ReadOnly"}`, nil)
	other := p.client("viewer-dc@vsphere.local", "dc-Pass1")
	err = object.NewTask(other.Client, clone.Reference()).Cancel(ctx)
	if f := want[*types.NoPermission](p, nil, err); f.PrivilegeId != "Global.CancelTask" {
		t.Fatalf("%+v", f)
	}
	if free := p.free(); before-free != 20<<30 {
		t.Fatalf("the clone takes %d", before-free)
	}
	if err := clone.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	info, err := clone.WaitForResult(ctx)
	want[*types.RequestCanceled](p, nil, err)
	_ = info
	var seen mo.Task
	p.get(clone.Reference(), &seen, "info")
	if !seen.Info.Cancelled || seen.Info.State != types.TaskInfoStateError || seen.Info.Result != nil {
		t.Fatalf("%+v", seen.Info)
	}
	for _, row := range p.objects() {
		if row.Name == "n1" {
			t.Fatalf("%+v is still there", row)
		}
	}
	if p.free() != before {
		t.Fatalf("%d bytes are lost", before-p.free())
	}
	want[*types.InvalidState](p, nil, clone.Cancel(ctx))
	p.control("DELETE", "/tasks", "", nil)

	vm := p.create(`"power_off": true`, "plain")
	rule = p.taskRule(`{"op": "PowerOnVM_Task", "hold_at": 50}`)
	on, err := p.vm(vm).PowerOn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.awaitTask(rule)
	want[*types.NotSupported](p, nil, on.Cancel(ctx))
	p.releaseTask(rule)
	p.result(on, nil)
}

// free is the free space of the site's datastore.
func (p *site) free() int64 {
	p.Helper()
	var ds mo.Datastore
	p.get(p.store, &ds, "summary")
	return ds.Summary.FreeSpace
}

// named is the machine of a name; false if there is none.
func (p *site) named(name string) (moRef, bool) {
	p.Helper()
	for _, row := range p.objects() {
		if row.Name == name {
			return moRef{Type: row.Type, Value: row.ID}, true
		}
	}
	return moRef{}, false
}

// built is a clone's specification whose parts show what of it was done.
func (p *site) built() types.VirtualMachineCloneSpec {
	spec := p.spec()
	spec.Config = &types.VirtualMachineConfigSpec{NumCPUs: 4, InstanceUuid: "50aaaaaa-0000-4000-8000-000000000002",
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.new", Value: "x"}}}
	return spec
}

func (p *site) judge(name string, left extent) {
	p.Helper()
	ref, there := p.named(name)
	if left == undone {
		if there {
			p.Fatalf("%s is there", name)
		}
		return
	}
	if !there {
		p.Fatalf("%s is not there", name)
	}
	var vm mo.VirtualMachine
	p.get(ref, &vm, "config")
	cpus := map[extent]int32{half: 2, done: 4}[left]
	if vm.Config == nil || vm.Config.Hardware.NumCPU != cpus || vm.Config.InstanceUuid != p.built().Config.InstanceUuid {
		p.Fatalf("%s: %+v", left, vm.Config)
	}
	p.result(p.vm(ref).Destroy(context.Background()))
}

func TestATaskFailsWhereItIsTold(t *testing.T) {
	p := startSite(t)
	for _, left := range []extent{undone, half, done} {
		p.taskRule(fmt.Sprintf(`{"op": "CloneVM_Task", "fail_at": 40, "fault": "FileFault", "text": "cannot read", "work": %q, "count": 1}`, left))
		clone, err := p.clone("n1", p.built())
		want[*types.FileFault](p, clone, err)
		var seen mo.Task
		p.get(clone.Reference(), &seen, "info")
		if seen.Info.Progress != 40 || seen.Info.Error.LocalizedMessage != "cannot read" || seen.Info.Result != nil {
			t.Fatalf("%+v", seen.Info)
		}
		p.judge("n1", left)
	}
	p.mustClone("n1", p.built())
	p.taskRule(`{"op": "ReconfigVM_Task", "entity": "n1", "fail_at": 100, "work": "half"}`)
	ref, _ := p.named("n1")
	t2, err := p.vm(ref).Reconfigure(context.Background(), types.VirtualMachineConfigSpec{MemoryMB: 8192, Annotation: "mine",
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.new", Value: "y"}}})
	want[*types.SystemError](p, t2, err)
	var vm mo.VirtualMachine
	p.get(ref, &vm, "config")
	if vm.Config.Hardware.MemoryMB != 8192 || vm.Config.Annotation != "node image" || option(&vm, "guestinfo.new") != "x" {
		t.Fatalf("%+v", vm.Config)
	}
}

func option(vm *mo.VirtualMachine, key string) string {
	for _, o := range vm.Config.ExtraConfig {
		if v := o.GetOptionValue(); v.Key == key {
			return fmt.Sprint(v.Value)
		}
	}
	return ""
}

func TestARestartLosesTasks(t *testing.T) {
	for _, left := range []extent{undone, half, done} {
		p := startSite(t)
		rule := p.taskRule(`{"op": "CloneVM_Task", "hold_at": 50}`)
		old := p.mustStart(p.vm(p.create(`"power_off": true`, "plain")).PowerOn(context.Background()))
		clone := p.mustStart(p.clone("n1", p.built()))
		p.awaitTask(rule)
		p.control("POST", "/restart", fmt.Sprintf(`{"tasks": %q}`, left), nil)
		p.c = p.client(admin, adminPass)
		for _, ref := range []moRef{old.Reference(), clone.Reference()} {
			var seen mo.Task
			err := property.DefaultCollector(p.c.Client).RetrieveOne(context.Background(), ref, []string{"info"}, &seen)
			want[*types.ManagedObjectNotFound](p, nil, err)
		}
		var m mo.TaskManager
		p.get(*p.c.ServiceContent.TaskManager, &m, "recentTask")
		if len(m.RecentTask) != 0 {
			t.Fatal(m.RecentTask)
		}
		p.control("DELETE", "/tasks", "", nil)
		p.judge("n1", left)
	}
}

func (p *site) mustStart(t *object.Task, err error) *object.Task {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	return t
}

func TestARestartLosesADestruction(t *testing.T) {
	p := startSite(t)
	before := p.free()
	ref := p.mustClone("n1", p.spec())
	rule := p.taskRule(`{"op": "Destroy_Task", "hold_at": 50}`)
	p.mustStart(p.vm(ref).Destroy(context.Background()))
	p.awaitTask(rule)
	p.control("POST", "/restart", `{"tasks": "half"}`, nil)
	p.c = p.client(admin, adminPass)
	if _, there := p.named("n1"); there || before-p.free() != 20<<30 {
		t.Fatalf("there: %v, %d bytes taken", there, before-p.free())
	}
}

func TestTwoTasksMeet(t *testing.T) {
	p := startSite(t)
	ctx := context.Background()
	ref := p.mustClone("n1", p.spec())
	rule := p.taskRule(`{"op": "ReconfigVM_Task", "hold_at": 10}`)
	slow := p.mustStart(p.vm(ref).Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 4}))
	p.awaitTask(rule)
	on, err := p.vm(ref).PowerOn(ctx)
	if err != nil {
		t.Fatal("the fault is the task's by default:", err)
	}
	if f := want[*types.TaskInProgress](p, on, nil); f.Task != slow.Reference() {
		t.Fatalf("%+v", f)
	}
	p.control("POST", "/settings", `{"task_faults": "call"}`, nil)
	_, err = p.vm(ref).PowerOn(ctx)
	if !soap.IsSoapFault(err) {
		t.Fatalf("no fault of the call: %v", err)
	}
	want[*types.TaskInProgress](p, nil, err)
	want[*types.TaskInProgress](p, nil, p.vm(ref).MarkAsTemplate(ctx))
	p.releaseTask(rule)
	p.result(slow, nil)
	p.result(p.vm(ref).PowerOn(ctx))
	_, err = p.vm(ref).PowerOn(ctx)
	want[*types.InvalidPowerState](p, nil, err)
}

func TestClonesRunSideBySideOrInTurn(t *testing.T) {
	p := startSite(t)
	rule := p.taskRule(`{"op": "CloneVM_Task", "hold_at": 30}`)
	var list []*object.Task
	for i := range 3 {
		list = append(list, p.mustStart(p.clone(fmt.Sprintf("n%d", i), p.spec())))
	}
	p.control("POST", "/tasks/wait", fmt.Sprintf(`{"id": %d, "held": 3}`, rule), nil)
	destroy := p.mustStart(p.vm(p.template).Destroy(context.Background()))
	want[*types.TaskInProgress](p, destroy, nil)
	p.releaseTask(rule)
	for _, x := range list {
		p.result(x, nil)
	}
	p.control("POST", "/settings", `{"clones_at_once": 1}`, nil)
	rule = p.taskRule(`{"op": "CloneVM_Task", "hold_at": 30, "count": 1}`)
	first := p.mustStart(p.clone("m1", p.spec()))
	p.awaitTask(rule)
	second := p.mustStart(p.clone("m2", p.spec()))
	var seen mo.Task
	if p.get(second.Reference(), &seen, "info"); seen.Info.State != types.TaskInfoStateQueued || seen.Info.StartTime != nil {
		t.Fatalf("%+v", seen.Info)
	}
	third := p.mustStart(p.clone("m3", p.spec()))
	if err := third.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	want[*types.RequestCanceled](p, third, nil)
	p.releaseTask(rule)
	p.result(first, nil)
	p.result(second, nil)
	if _, there := p.named("m3"); there {
		t.Fatal("m3 is there")
	}
}

func TestTasksAreForgotten(t *testing.T) {
	p := startSite(t)
	clone := p.mustStart(p.clone("n1", p.spec()))
	p.result(clone, nil)
	p.control("POST", "/clock", `{"advance_s": 601}`, nil)
	deadline := time.Now().Add(20 * time.Second)
	for {
		var m mo.TaskManager
		p.get(*p.c.ServiceContent.TaskManager, &m, "recentTask")
		if len(m.RecentTask) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(m.RecentTask)
		}
		time.Sleep(5 * time.Millisecond)
	}
	var seen mo.Task
	err := property.DefaultCollector(p.c.Client).RetrieveOne(context.Background(), clone.Reference(), []string{"info"}, &seen)
	want[*types.ManagedObjectNotFound](p, nil, err)
}

func TestTheVcentersTasksAreItsOwn(t *testing.T) {
	p := startSite(t)
	rule := p.taskRule(`{"op": "CloneVM_Task", "hold_at": 30}`)
	clone := p.mustStart(p.clone("n1", p.spec()))
	p.awaitTask(rule)
	r := p.admin()
	out := r.call("SetTaskState", "Task:"+clone.Reference().Value, "<state>success</state>")
	p.expect(out, "InvalidStateFault")
	p.releaseTask(rule)
	p.result(clone, nil)
	var listed struct{ Tasks []taskRow }
	p.control("GET", "/tasks", "", &listed)
	if n := len(listed.Tasks); n != 1 || listed.Tasks[0].State != "success" || !strings.HasPrefix(listed.Tasks[0].Result, "vm-") {
		t.Fatalf("%+v", listed)
	}
}
