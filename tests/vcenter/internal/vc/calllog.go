// The call log: every call with who, what, how and how it ended, for counting and for proofs.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"kaas.test/vcenter/internal/wire"
)

const maxCalls = 100000

// callEntry is one line of the log. Secrets (passwords, cookies, tickets) are not in it.
type callEntry struct {
	Time        time.Time `json:"time"`
	ServerTime  time.Time `json:"server_time"` // by the clock that the control port can advance
	Seq         int       `json:"seq"`
	Op          string    `json:"op"`
	This        string    `json:"this,omitempty"`
	User        string    `json:"user,omitempty"`
	SessionKey  string    `json:"session_key,omitempty"`
	OperationID string    `json:"operation_id,omitempty"`
	UserAgent   string    `json:"user_agent,omitempty"`
	Version     string    `json:"version,omitempty"`
	Port        string    `json:"port"` // front, tunnel or direct
	Connection  int64     `json:"connection"`
	ClientCert  bool      `json:"client_certificate"`
	Outcome     string    `json:"outcome"` // ok, a fault's name, or the injected fault's kind
	DurationMs  float64   `json:"duration_ms"`

	log *callLog
}

type callLog struct {
	mu      sync.Mutex
	seq     int
	entries []*callEntry
	pending map[*callEntry]time.Time // SOAP calls being worked on
}

func (l *callLog) begin(s *Server, r *http.Request, op, opID string, at time.Time) *callEntry {
	conn := connOf(r)
	e := &callEntry{
		Time: at.UTC(), ServerTime: s.now().UTC(), Op: op, OperationID: opID, UserAgent: r.UserAgent(), Outcome: "ok",
		Version: wire.FromSOAPAction(r.Header.Get("SOAPAction")),
		Port:    conn.kind, Connection: conn.id, ClientCert: conn.clientCertificate(r) != nil, log: l,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.Seq = l.seq
	if len(l.entries) >= maxCalls {
		l.entries = l.entries[1:]
	}
	l.entries = append(l.entries, e)
	return e
}

// http logs a request that is no SOAP call under a made-up operation name.
func (l *callLog) http(s *Server, r *http.Request, op string) *callEntry {
	return l.begin(s, r, op, "", time.Now())
}

// work notes that a call is being worked on, until its end.
func (l *callLog) work(e *callEntry, started time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		l.pending = map[*callEntry]time.Time{}
	}
	l.pending[e] = started
}

// now lists the calls that are being worked on; their duration is what has passed so far.
func (l *callLog) now() []callEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []callEntry{}
	for e, started := range l.pending {
		one := *e
		one.DurationMs = float64(time.Since(started).Microseconds()) / 1000
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b callEntry) int { return a.Seq - b.Seq })
	return out
}

func (l *callLog) end(e *callEntry, started time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, e)
	e.DurationMs = float64(time.Since(started).Microseconds()) / 1000
}

// session notes who the caller is, once known.
func (e *callEntry) session(x *session) {
	if x == nil {
		return
	}
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.User, e.SessionKey = x.UserName, x.Key
}

func (e *callEntry) through(port string) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.Port = port
}

func (e *callEntry) receiver(this string) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.This = this
}

func (e *callEntry) outcome(f *wire.Fault) { e.note(f.Name()) }

func (e *callEntry) note(outcome string) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.Outcome = outcome
}

// snapshot returns copies of the entries after a sequence number, and counts by operation.
func (l *callLog) snapshot(after int) ([]callEntry, map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, counts := []callEntry{}, map[string]int{}
	for _, e := range l.entries {
		if e.Seq > after {
			list = append(list, *e)
			counts[e.Op]++
		}
	}
	return list, counts
}

func (l *callLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
