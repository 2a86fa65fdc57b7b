// The control port's calls about faults: rules, held calls, ports that are closed, floods of changes.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

const heldLimitMs = 30000

func (s *Server) ctlAddFault(r *http.Request) (any, error) {
	f := &rule{}
	if err := arguments(r, f); err != nil {
		return nil, err
	}
	if f.User != "" {
		s.mu.Lock()
		f.User = s.storedName(f.User)
		s.mu.Unlock()
	}
	if err := s.rules.add(f); err != nil {
		return nil, err
	}
	return map[string]int{"id": f.ID}, nil
}

func (s *Server) ctlClearFaults(r *http.Request) (any, error) {
	id, _ := strconv.Atoi(r.URL.Query().Get("id"))
	s.rules.clear(id)
	return nil, nil
}

// ctlAwaitHeld answers when a rule holds that many calls (1 if not said).
func (s *Server) ctlAwaitHeld(r *http.Request) (any, error) {
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
		n, err := s.rules.held(a.ID)
		if err != nil || n >= a.Held {
			return map[string]int{"held": n}, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("rule %d holds %d calls after %d ms", a.ID, n, a.Timeout)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// ctlRelease lets the held calls of a rule go and ends the rule; drop closes their connections instead.
func (s *Server) ctlRelease(r *http.Request) (any, error) {
	var a struct {
		ID   int  `json:"id"`
		Drop bool `json:"drop"`
	}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if _, err := s.rules.held(a.ID); err != nil {
		return nil, err
	}
	s.rules.release(a.ID, a.Drop)
	return nil, nil
}

// ctlPort closes a port, so that connecting is refused by the system, and opens it again at the same address.
func (s *Server) ctlPort(r *http.Request) (any, error) {
	a := struct {
		Port     string `json:"port"`
		Open     bool   `json:"open"`
		ClosedMs int    `json:"closed_ms"`
		Drop     bool   `json:"disconnect"`
	}{Port: portFront}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	s.nets.mu.Lock()
	g := s.nets.gates[a.Port]
	s.nets.mu.Unlock()
	if g == nil {
		return nil, fmt.Errorf("there is no port %q", a.Port)
	}
	if a.Open {
		return nil, g.open()
	}
	g.shut()
	if a.Drop {
		s.nets.drop(0)
	}
	if a.ClosedMs > 0 {
		time.AfterFunc(time.Duration(a.ClosedMs)*time.Millisecond, func() { _ = g.open() })
	}
	return nil, nil
}

// churn is a flood of changes in the inventory.
type churn struct {
	mu   sync.Mutex
	stop chan struct{}
	done chan struct{}
	made int
}

type churnOrder struct {
	PerSecond int      `json:"per_second"`
	Seconds   float64  `json:"seconds"` // 0: until stopped
	What      string   `json:"what"`    // power (default) or name
	IDs       []string `json:"ids"`     // machines; all if none
}

// ctlChurn begins a flood: machines change in turn, and are at the end as they were before.
func (s *Server) ctlChurn(r *http.Request) (any, error) {
	a := churnOrder{PerSecond: 100, What: "power"}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if a.PerSecond <= 0 || a.What != "power" && a.What != "name" {
		return nil, fmt.Errorf("per_second is positive, what is power or name")
	}
	var refs []moRef
	for _, e := range s.ctx.Map.All("VirtualMachine") {
		if ref := e.Reference(); len(a.IDs) == 0 || slices.Contains(a.IDs, ref.Value) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("there is no such machine")
	}
	slices.SortFunc(refs, func(x, y moRef) int { return strings.Compare(x.Value, y.Value) })
	s.churn.end()
	s.churn.mu.Lock()
	defer s.churn.mu.Unlock()
	s.churn.stop, s.churn.done, s.churn.made = make(chan struct{}), make(chan struct{}), 0
	go s.churnOn(a, refs, s.churn.stop, s.churn.done)
	return nil, nil
}

func (c *churn) end() {
	c.mu.Lock()
	stop, done := c.stop, c.done
	c.stop = nil
	c.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
}

func (s *Server) churnOn(a churnOrder, refs []moRef, stop, done chan struct{}) {
	defer close(done)
	before := map[moRef][]types.DynamicProperty{}
	for _, ref := range refs {
		before[ref] = s.readAll(s.anon, s.ctx.Map.Get(ref), []string{"name", "runtime.powerState"})
	}
	var limit <-chan time.Time
	if a.Seconds > 0 {
		limit = time.After(time.Duration(a.Seconds * float64(time.Second)))
	}
	tick := time.NewTicker(time.Second / time.Duration(a.PerSecond))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			s.churnOne(a.What, refs[n%len(refs)], n/len(refs))
			continue
		case <-limit:
		case <-stop:
		}
		break
	}
	for ref, props := range before {
		for _, p := range props {
			if p.Name == "name" && a.What == "name" {
				_ = s.build.Rename(ref, p.Val.(string))
			} else if p.Name != "name" && a.What == "power" {
				_ = s.build.Power(ref, string(p.Val.(types.VirtualMachinePowerState)))
			}
		}
	}
}

func (s *Server) churnOne(what string, ref moRef, round int) {
	if what == "name" {
		_ = s.build.Rename(ref, fmt.Sprintf("churned-%s-%d", ref.Value, round))
	} else {
		state := types.VirtualMachinePowerStatePoweredOff
		if round%2 == 1 {
			state = types.VirtualMachinePowerStatePoweredOn
		}
		_ = s.build.Power(ref, string(state))
	}
	s.churn.mu.Lock()
	s.churn.made++
	s.churn.mu.Unlock()
}

func (s *Server) ctlChurned(*http.Request) (any, error) {
	s.churn.mu.Lock()
	defer s.churn.mu.Unlock()
	running := s.churn.stop != nil
	if running {
		select {
		case <-s.churn.done:
			running = false
		default:
		}
	}
	return map[string]any{"changes": s.churn.made, "running": running}, nil
}

func (s *Server) ctlStopChurn(*http.Request) (any, error) {
	s.churn.end()
	return nil, nil
}
