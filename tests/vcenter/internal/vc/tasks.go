// Tasks: work that takes its time, tells its progress, can be cancelled, can fail on the way, and is lost
// with a restart. What the work is stands in vmcalls.go and its neighbours; what becomes of a task on order,
// in taskrules.go.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

const (
	keptTask     = 10 * time.Minute // how long a task can be read after its end
	defaultTask  = 50 * time.Millisecond
	progressStep = 100 * time.Millisecond // longer tasks tell their progress about that often
	maxSteps     = 20
)

// extent is how much of its work a task has done when it ends.
type extent string

const (
	undone extent = "undone"
	half   extent = "half"
	done   extent = "done"
)

// work is what a task does.
type work struct {
	op         string // name of the operation
	id         string // descriptionId
	entity     moRef
	shares     []moRef // objects that others may use at the same time, but not change
	changes    []moRef // objects that nobody else may use
	cancelable bool
	check      func() error                 // state that refuses the work
	begin      func(*task) error            // what is there from the beginning; nil for none
	wait       func(*task) (ending, extent) // what has to happen beside the time; nil for nothing
	finish     func(extent) (any, error)    // the work, half of it or all; gives the result
	undo       func(ending)                 // takes away what begin made; nil for none
}

// task is one task of ours; the simulator's object beside it is what clients read.
type task struct {
	work
	obj    *simulator.Task
	rule   *taskRule
	user   string
	plan   plan
	cancel chan struct{} // closed by CancelTask
	lost   chan extent   // a restart says what becomes of the work
	over   atomic.Bool   // its end is being told
	ended  chan struct{} // closed when all is done
}

// taskBook holds the tasks that are there and what they have locked.
type taskBook struct {
	mu      sync.Mutex
	list    []*task
	chain   int32
	locked  map[moRef]*task   // objects in somebody's hands
	shared  map[moRef][]*task // objects that tasks read
	rules   []*taskRule
	rule    int // the last rule's id
	usual   time.Duration
	byCall  bool // refuse by a fault of the call instead of one of the task
	atOnce  int  // how many clones run at the same time; 0 for all
	cloning int
	room    chan struct{} // closed when a clone ends
}

func (b *taskBook) init() {
	b.locked, b.shared = map[moRef]*task{}, map[moRef][]*task{}
	b.usual, b.room = defaultTask, make(chan struct{})
}

// taskLister decides which of the registry's tasks clients find in recentTask: those that somebody asked for,
// not those with which the simulator does a part of ours.
type taskLister struct {
	s  *Server
	tm *simulator.TaskManager
}

var listerRef = moRef{Type: "TaskLister", Value: "tasks"}

func (s *Server) startTasks() {
	s.tasks.init()
	s.lister = &taskLister{s, s.ctx.Map.Get(*s.content().TaskManager).(*simulator.TaskManager)}
	s.ctx.Map.RemoveHandler(s.lister.tm)
	s.ctx.Map.AddHandler(s.lister)
}

func (l *taskLister) Reference() moRef { return listerRef }

func (l *taskLister) PutObject(_ *simulator.Context, obj mo.Reference) {
	if t, ok := obj.(*simulator.Task); ok && t.Execute == nil {
		l.list(t)
	}
}

func (l *taskLister) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	l.tm.UpdateObject(ctx, obj, changes)
}

func (*taskLister) RemoveObject(*simulator.Context, moRef) {}

// list shows a task in recentTask of the TaskManager and of its entity.
func (l *taskLister) list(t *simulator.Task) {
	ctx := l.s.simContext(l.s.anon)
	entity := l.s.ctx.Map.Get(*t.Info.Entity)
	if entity == nil {
		entity = t
	}
	ctx.WithLock(entity, func() { l.tm.PutObject(ctx, t) })
}

// listAnswer shows the task that an operation of the simulator handed out, and whose it is.
func (c *call) listAnswer(res any) {
	ref, ok := returned(res)
	if !ok || ref.Type != "Task" || c.sess == nil {
		return
	}
	if t, ok := c.s.ctx.Map.Get(ref).(*simulator.Task); ok {
		name := c.s.nameOf(*t.Info.Entity)
		ctx := c.s.simContext(c.s.anon)
		ctx.WithLock(t, func() { t.Info.Reason, t.Info.EntityName = &types.TaskReasonUser{UserName: c.sess.UserName}, name })
		c.s.lister.list(t)
	}
}

// unlist takes tasks out of recentTask and out of the inventory.
func (s *Server) unlist(gone []*task) {
	if len(gone) == 0 {
		return
	}
	refs := map[moRef]bool{}
	entities := map[moRef]bool{s.lister.tm.Self: true}
	for _, t := range gone {
		refs[t.obj.Self], entities[t.entity] = true, true
	}
	ctx := s.simContext(s.anon)
	for of := range entities {
		obj := s.ctx.Map.Get(of)
		if obj == nil {
			continue
		}
		ctx.WithLock(obj, func() {
			recent := &s.lister.tm.RecentTask
			if e, ok := obj.(mo.Entity); ok {
				recent = &e.Entity().RecentTask
			}
			left := slices.DeleteFunc(slices.Clone(*recent), func(r moRef) bool { return refs[r] })
			ctx.Update(obj, []types.PropertyChange{{Name: "recentTask", Val: left}})
		})
	}
	for ref := range refs {
		s.ctx.Map.Remove(s.simContext(s.anon), ref)
	}
}

// startTask makes a task and lets it run; hands back the reference that the caller waits with.
func (c *call) startTask(w work) (moRef, error) {
	s := c.s
	s.forgetTasks()
	t := &task{work: w, user: c.sess.UserName, cancel: make(chan struct{}), lost: make(chan extent, 1), ended: make(chan struct{})}
	s.prepareTask(t)
	b := &s.tasks
	refused := b.lock(t)
	if refused == nil && b.refusesByCall() {
		if refused = t.check(); refused != nil {
			b.unlock(t)
		}
	}
	if refused != nil && b.refusesByCall() {
		return moRef{}, refused
	}
	if refused == nil {
		t.obj.Info.Locked = slices.Clone(t.changes)
	}
	b.mu.Lock()
	b.list = append(b.list, t)
	b.mu.Unlock()
	s.ctx.Map.Put(t.obj)
	go s.runTask(t, refused)
	return t.obj.Self, nil
}

// prepareTask makes the object that clients are going to read, and the plan of what becomes of the task.
func (s *Server) prepareTask(t *task) {
	name := s.nameOf(t.entity)
	b := &s.tasks
	b.mu.Lock()
	t.rule = b.takeRule(t, name)
	t.plan = b.planFor(t)
	b.chain++
	chain := b.chain
	b.mu.Unlock()
	entity := t.entity
	t.obj = &simulator.Task{}
	t.obj.Self = moRef{Type: "Task", Value: fmt.Sprintf("task-%d", 1000000+chain)}
	t.obj.Info = types.TaskInfo{
		Key: t.obj.Self.Value, Task: t.obj.Self, Name: t.op, DescriptionId: t.id, Entity: &entity, EntityName: name,
		State: types.TaskInfoStateQueued, Cancelable: t.plan.cancelable, Reason: &types.TaskReasonUser{UserName: t.user},
		QueueTime: s.wall().UTC(), EventChainId: chain,
	}
}

func (s *Server) nameOf(ref moRef) string { return s.argument(ref).Name }

func (s *Server) setTask(t *task, changes ...types.PropertyChange) { s.update(t.obj, changes...) }

// runTask is a task's life from the queue to its end.
func (s *Server) runTask(t *task, refused error) {
	defer close(t.ended)
	if refused != nil {
		s.endTask(t, nil, refused)
		return
	}
	defer s.tasks.unlock(t)
	end, left := s.awaitTurn(t)
	if end == goesOn {
		s.setTask(t, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateRunning},
			types.PropertyChange{Name: "info.startTime", Val: s.wall().UTC()},
			types.PropertyChange{Name: "info.progress", Val: int32(0)})
		if err := s.beginTask(t); err != nil {
			s.tasks.leave(t)
			s.tasks.unlock(t)
			s.endTask(t, nil, err)
			return
		}
		end, left = s.workOn(t)
	}
	result, err := s.settleTask(t, end, left)
	s.tasks.leave(t)
	s.tasks.unlock(t) // before anybody can hear of the end
	if end != isLost {
		s.endTask(t, result, err)
	}
}

func (s *Server) beginTask(t *task) error {
	if !s.tasks.refusesByCall() {
		if err := t.check(); err != nil {
			return err
		}
	}
	if t.begin == nil {
		return nil
	}
	return t.begin(t)
}

// ending says how a task comes to its end.
type ending int

const (
	goesOn ending = iota
	isDone
	fails
	isCancelled
	isLost
)

// workOn lets the time of a task go by, step by step.
func (s *Server) workOn(t *task) (ending, extent) {
	before := 0
	for _, at := range t.plan.stops() {
		if end, left := t.pause(t.plan.duration * time.Duration(at-before) / 100); end != goesOn {
			return end, left
		}
		before = at
		if at < 100 {
			s.setTask(t, types.PropertyChange{Name: "info.progress", Val: int32(at)})
		}
		if t.plan.holdAt == at {
			if end, left := s.holdTask(t); end != goesOn {
				return end, left
			}
		}
		if t.plan.failAt == at {
			return fails, t.plan.work
		}
	}
	if t.wait != nil {
		return t.wait(t)
	}
	return isDone, done
}

// pause waits, unless the task is cancelled or lost before.
func (t *task) pause(d time.Duration) (ending, extent) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return goesOn, ""
	case <-t.cancel:
		return isCancelled, undone
	case left := <-t.lost:
		return isLost, left
	}
}

// holdTask keeps a task at a percentage until its rule is released or taken away.
func (s *Server) holdTask(t *task) (ending, extent) {
	s.tasks.hold(t.rule, 1)
	defer s.tasks.hold(t.rule, -1)
	select {
	case <-t.rule.gone:
		return goesOn, ""
	case <-t.cancel:
		return isCancelled, undone
	case left := <-t.lost:
		return isLost, left
	}
}

// awaitTurn keeps a clone in the queue while as many run as may run at once.
func (s *Server) awaitTurn(t *task) (ending, extent) {
	for {
		room, mine := s.tasks.enter(t)
		if mine {
			return goesOn, ""
		}
		select {
		case <-room:
		case <-t.cancel:
			return isCancelled, undone
		case <-t.lost:
			return isLost, undone
		}
	}
}

// settleTask leaves behind as much of the work as the task's end says.
func (s *Server) settleTask(t *task, end ending, left extent) (any, error) {
	var result any
	var err error
	if left == undone {
		if t.undo != nil {
			t.undo(end)
		}
	} else if result, err = t.finish(left); err != nil {
		if t.undo != nil {
			t.undo(end)
		}
		return nil, err
	}
	switch end {
	case isCancelled:
		return nil, wire.Faultf(&types.RequestCanceled{}, "The task was canceled by a user.")
	case fails:
		return nil, t.plan.fault()
	}
	return result, nil
}

// endTask tells the end.
func (s *Server) endTask(t *task, result any, err error) {
	t.over.Store(true)
	changes := []types.PropertyChange{{Name: "info.completeTime", Val: s.wall().UTC()}, {Name: "info.locked", Val: nil}}
	state := types.TaskInfoStateSuccess
	if err != nil {
		state = types.TaskInfoStateError
		f := asFault(err)
		changes = append(changes, types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{
			Fault: f.Detail.(types.BaseMethodFault), LocalizedMessage: f.Text}})
	} else if result != nil {
		changes = append(changes, types.PropertyChange{Name: "info.result", Val: result})
	}
	s.setTask(t, append(changes, types.PropertyChange{Name: "info.state", Val: state})...)
}

// hasEnded tells whether nothing of a task goes on any more.
func (t *task) hasEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// forgetTasks takes tasks away that ended long ago.
func (s *Server) forgetTasks() {
	old := s.wall().Add(-keptTask)
	b := &s.tasks
	b.mu.Lock()
	var gone []*task
	b.list = slices.DeleteFunc(b.list, func(t *task) bool {
		out := t.hasEnded() && t.obj.Info.CompleteTime != nil && t.obj.Info.CompleteTime.Before(old)
		if out {
			gone = append(gone, t)
		}
		return out
	})
	b.mu.Unlock()
	s.unlist(gone)
}

// loseTasks is what a restart does: running tasks stop, with as much of their work done as is said, and no
// task is there any more.
func (s *Server) loseTasks(left extent) {
	b := &s.tasks
	b.mu.Lock()
	list := b.list
	b.list = nil
	b.mu.Unlock()
	s.unlist(list)
	for _, t := range list {
		t.lost <- left
	}
	for _, t := range list {
		<-t.ended
	}
}

// lock takes the objects of a task, or tells which task has them.
func (b *taskBook) lock(t *task) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range t.shares {
		if other := b.locked[ref]; other != nil {
			return inProgress(other)
		}
	}
	for _, ref := range t.changes {
		if other := b.locked[ref]; other != nil {
			return inProgress(other)
		}
		if list := b.shared[ref]; len(list) > 0 {
			return inProgress(list[0])
		}
	}
	for _, ref := range t.shares {
		b.shared[ref] = append(b.shared[ref], t)
	}
	for _, ref := range t.changes {
		b.locked[ref] = t
	}
	return nil
}

// claim takes one more object for a task that runs.
func (b *taskBook) claim(t *task, ref moRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t.changes = append(t.changes, ref)
	b.locked[ref] = t
}

// unlock gives a task's objects back; it may be called again.
func (b *taskBook) unlock(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range t.shares {
		b.shared[ref] = slices.DeleteFunc(b.shared[ref], func(x *task) bool { return x == t })
	}
	for _, ref := range t.changes {
		if b.locked[ref] == t {
			delete(b.locked, ref)
		}
	}
}

// busy refuses a call that is no task while one works on the object.
func (b *taskBook) busy(ref moRef) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.locked[ref]; t != nil {
		return inProgress(t)
	}
	return nil
}

// holds tells whether a task of that operation works on an object.
func (b *taskBook) holds(ref moRef, op string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.locked[ref]
	return t != nil && t.op == op
}

// inProgress names the task that has an object.
func inProgress(t *task) error {
	return wire.Faultf(&types.TaskInProgress{Task: t.obj.Self}, "Another task is already in progress.")
}

func (b *taskBook) refusesByCall() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byCall
}

// enter lets a task begin if it is not one clone too many; else hands out what to wait for.
func (b *taskBook) enter(t *task) (chan struct{}, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.op != opClone {
		return nil, true
	}
	if b.atOnce > 0 && b.cloning >= b.atOnce {
		return b.room, false
	}
	b.cloning++
	return nil, true
}

func (b *taskBook) leave(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.op == opClone && b.cloning > 0 {
		b.cloning--
		close(b.room)
		b.room = make(chan struct{})
	}
}

// find gives the task behind a reference, nil if it is none of ours.
func (b *taskBook) find(ref moRef) *task {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.list {
		if t.obj.Self == ref {
			return t
		}
	}
	return nil
}

// cancelTask asks a task to stop; who started it may, others need a privilege.
func cancelTask(c *call) (any, error) {
	t := c.s.tasks.find(c.req.This)
	if t == nil {
		return c.s.simulate(c.sess.sim, c.req)
	}
	if t.user != c.sess.UserName {
		if err := c.require("Global.CancelTask", c.s.root); err != nil {
			return nil, err
		}
	}
	if t.over.Load() {
		return nil, wrongState()
	}
	if !t.plan.cancelable {
		return nil, wire.Faultf(&types.NotSupported{}, "The operation is not supported on the object.")
	}
	c.s.tasks.mu.Lock()
	select {
	case <-t.cancel: // a second request is the same as the first
	default:
		close(t.cancel)
	}
	c.s.tasks.mu.Unlock()
	c.s.setTask(t, types.PropertyChange{Name: "info.cancelled", Val: true})
	return &types.CancelTaskResponse{}, nil
}

// foreignTask lets an extension change the tasks that it made itself; those of the vCenter are its own.
func foreignTask(c *call) (any, error) {
	if c.s.tasks.find(c.req.This) != nil {
		return nil, wire.Faultf(&types.InvalidState{}, "The task is the vCenter's own.")
	}
	return c.s.simulate(c.sess.sim, c.req)
}
