// What becomes of tasks on order: how long they take, where they wait, where and how they fail.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// taskRule is an order for tasks; the first that fits a new task holds for it.
type taskRule struct {
	ID         int    `json:"id"`
	Op         string `json:"op"`                    // operation, or * for all
	Entity     string `json:"entity,omitempty"`      // moref or name of the object that the task is about
	Count      int    `json:"count,omitempty"`       // how many tasks it holds for; 0 for all
	Skip       int    `json:"skip,omitempty"`        // so many go by before
	DurationMs *int   `json:"duration_ms,omitempty"` // default task_ms of /settings
	HoldAt     *int   `json:"hold_at,omitempty"`     // percent at which the task waits to be released
	FailAt     *int   `json:"fail_at,omitempty"`     // percent at which it fails
	Fault      string `json:"fault,omitempty"`       // how: a fault's name, default SystemError
	Text       string `json:"text,omitempty"`
	Work       extent `json:"work,omitempty"`       // what a task that fails leaves behind; default undone
	Cancelable *bool  `json:"cancelable,omitempty"` // default by the operation
	Hits       int    `json:"hits"`
	Held       int    `json:"held"` // tasks that wait now

	gone chan struct{} // closed when the rule ends; lets its tasks go on
}

// plan is what a task is going to do.
type plan struct {
	duration   time.Duration
	holdAt     int // -1 for not at all
	failAt     int
	work       extent
	cancelable bool
	fault      func() error
}

// planFor makes the plan of a task from its rule. The caller holds the lock.
func (b *taskBook) planFor(t *task) plan {
	p := plan{duration: b.usual, holdAt: -1, failAt: -1, work: undone, cancelable: t.cancelable}
	r := t.rule
	if r == nil {
		return p
	}
	if r.DurationMs != nil {
		p.duration = time.Duration(*r.DurationMs) * time.Millisecond
	}
	if r.HoldAt != nil {
		p.holdAt = *r.HoldAt
	}
	if r.FailAt != nil {
		p.failAt = *r.FailAt
	}
	if r.Cancelable != nil {
		p.cancelable = *r.Cancelable
	}
	if r.Work != "" {
		p.work = r.Work
	}
	p.fault = r.failure
	return p
}

// failure is the fault with which tasks of a rule fail.
func (r *taskRule) failure() error {
	if r.Fault == "" {
		return wire.Faultf(&types.SystemError{Reason: r.Text}, "A general system error occurred: %s", r.Text)
	}
	t, _ := wire.Lookup(r.Fault)
	return &wire.Fault{Code: wire.ServerFault, Text: r.Text, Detail: reflect.New(t).Interface()}
}

// stops are the percentages at which a task says where it is; 100 is the last.
func (p plan) stops() []int {
	n := min(max(int(p.duration/progressStep), 2), maxSteps)
	out := []int{100}
	for i := 1; i < n; i++ {
		out = append(out, i*100/n)
	}
	for _, at := range []int{p.holdAt, p.failAt} {
		if at >= 0 {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// takeRule finds the rule for a new task and counts it. The caller holds the lock.
func (b *taskBook) takeRule(t *task, name string) *taskRule {
	for _, r := range b.rules {
		if r.Op != "*" && r.Op != t.op || r.Entity != "" && r.Entity != t.entity.Value && r.Entity != name ||
			r.Count > 0 && r.Hits-r.Skip >= r.Count {
			continue
		}
		if r.Hits++; r.Hits > r.Skip {
			return r
		}
		return nil
	}
	return nil
}

func (b *taskBook) hold(r *taskRule, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Held += n
}

func (r *taskRule) check() error {
	for name, at := range map[string]*int{"hold_at": r.HoldAt, "fail_at": r.FailAt} {
		if at != nil && (*at < 0 || *at > 100) {
			return fmt.Errorf("%s is a percentage, not %d", name, *at)
		}
	}
	if r.DurationMs != nil && *r.DurationMs < 0 {
		return fmt.Errorf("duration_ms must not be negative")
	}
	if t, ok := wire.Lookup(r.Fault); r.Fault != "" && (!ok || !isFault(t)) {
		return fmt.Errorf("unknown fault %q", r.Fault)
	}
	if r.Work != "" {
		return r.Work.check()
	}
	return nil
}

func (x extent) check() error {
	if x != undone && x != half && x != done {
		return fmt.Errorf("work is undone, half or done, not %q", x)
	}
	return nil
}

// ctlAddTaskRule orders what becomes of coming tasks.
func (s *Server) ctlAddTaskRule(r *http.Request) (any, error) {
	rule := &taskRule{Op: "*", gone: make(chan struct{})}
	if err := arguments(r, rule); err != nil {
		return nil, err
	}
	if err := rule.check(); err != nil {
		return nil, err
	}
	b := &s.tasks
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rule++
	rule.ID, rule.Hits, rule.Held = b.rule, 0, 0
	b.rules = append(b.rules, rule)
	return map[string]int{"id": rule.ID}, nil
}

// drop ends a rule, or all for 0, and lets the tasks that it holds go on; false if there is none.
func (b *taskBook) drop(id int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.rules)
	b.rules = slices.DeleteFunc(b.rules, func(r *taskRule) bool {
		if id == 0 || r.ID == id {
			close(r.gone)
			return true
		}
		return false
	})
	return len(b.rules) != before
}

func (s *Server) ctlDropTaskRule(r *http.Request) (any, error) {
	id, _ := strconv.Atoi(r.URL.Query().Get("id"))
	s.tasks.drop(id)
	return nil, nil
}

// ctlReleaseTasks lets the tasks go on that a rule holds, and ends the rule.
func (s *Server) ctlReleaseTasks(r *http.Request) (any, error) {
	var a struct {
		ID int `json:"id"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if a.ID == 0 || !s.tasks.drop(a.ID) {
		return nil, fmt.Errorf("there is no rule %d", a.ID)
	}
	return nil, nil
}

// held tells how many tasks a rule holds; an error if there is no such rule.
func (b *taskBook) held(id int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rules {
		if r.ID == id {
			return r.Held, nil
		}
	}
	return 0, fmt.Errorf("there is no rule %d", id)
}

// ctlAwaitTasks answers when a rule holds that many tasks (1 if not said).
func (s *Server) ctlAwaitTasks(r *http.Request) (any, error) {
	a := struct {
		ID      int `json:"id"`
		Held    int `json:"held"`
		Timeout int `json:"timeout_ms"`
	}{Held: 1, Timeout: heldLimitMs}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	end := time.Now().Add(time.Duration(a.Timeout) * time.Millisecond)
	for {
		n, err := s.tasks.held(a.ID)
		if err != nil || n >= a.Held {
			return map[string]int{"held": n}, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("rule %d holds %d tasks after %d ms", a.ID, n, a.Timeout)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// taskRow is a task as the control port shows it.
type taskRow struct {
	ID         string `json:"id"`
	Op         string `json:"op"`
	Entity     string `json:"entity"`
	EntityName string `json:"entity_name"`
	User       string `json:"user"`
	State      string `json:"state"`
	Progress   int32  `json:"progress"`
	Cancelable bool   `json:"cancelable"`
	Cancelled  bool   `json:"cancelled"`
	Error      string `json:"error,omitempty"`
	Result     string `json:"result,omitempty"` // moref
}

// ctlTasks lists the tasks that are there and the rules for coming ones.
func (s *Server) ctlTasks(*http.Request) (any, error) {
	b := &s.tasks
	b.mu.Lock()
	list := slices.Clone(b.list)
	rules := []taskRule{}
	for _, r := range b.rules {
		rules = append(rules, *r)
	}
	b.mu.Unlock()
	rows := []taskRow{}
	for _, t := range list {
		rows = append(rows, s.taskRow(t))
	}
	return map[string]any{"tasks": rows, "rules": rules}, nil
}

func (s *Server) taskRow(t *task) taskRow {
	row := taskRow{ID: t.obj.Self.Value, Op: t.op, Entity: t.entity.Value, User: t.user, Cancelable: t.plan.cancelable}
	ctx := s.simContext(s.anon)
	ctx.WithLock(t.obj, func() {
		info := &t.obj.Info
		row.EntityName, row.State, row.Progress, row.Cancelled = info.EntityName, string(info.State), info.Progress, info.Cancelled
		if info.Error != nil {
			row.Error = reflect.TypeOf(info.Error.Fault).Elem().Name()
		}
		if ref, ok := info.Result.(moRef); ok {
			row.Result = ref.Value
		}
	})
	return row
}

// taskSettings are the members of /settings about tasks.
type taskSettings struct {
	Usual  *int    `json:"task_ms"`        // how long a task takes
	Faults *string `json:"task_faults"`    // what is in the way of the work is told by the "task" or by the "call"
	AtOnce *int    `json:"clones_at_once"` // the others are queued; 0 for all
}

// set changes the settings that are given and hands back all.
func (b *taskBook) set(a taskSettings) (int, string, int, error) {
	if a.Faults != nil && *a.Faults != "task" && *a.Faults != "call" {
		return 0, "", 0, fmt.Errorf("task_faults is task or call")
	}
	if a.Usual != nil && *a.Usual < 0 || a.AtOnce != nil && *a.AtOnce < 0 {
		return 0, "", 0, fmt.Errorf("task_ms and clones_at_once must not be negative")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.Usual != nil {
		b.usual = time.Duration(*a.Usual) * time.Millisecond
	}
	if a.Faults != nil {
		b.byCall = *a.Faults == "call"
	}
	if a.AtOnce != nil {
		b.atOnce = *a.AtOnce
	}
	faults := map[bool]string{true: "call", false: "task"}[b.byCall]
	return int(b.usual / time.Millisecond), faults, b.atOnce, nil
}
