// Faults on order: what the control port asks to go wrong, and when.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// rule is one fault on order. A nil rule does nothing.
type rule struct {
	ID         int    `json:"id"`
	Op         string `json:"op"`   // operation name, or * for all
	Kind       string `json:"kind"` // see kinds
	Count      int    `json:"count,omitempty"`
	Skip       int    `json:"skip,omitempty"`
	DelayMs    int    `json:"delay_ms,omitempty"`
	IntervalMs int    `json:"interval_ms,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`
	Depth      int    `json:"depth,omitempty"`
	Status     int    `json:"status,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	Fault      string `json:"fault,omitempty"`
	Text       string `json:"text,omitempty"`
	Body       string `json:"body,omitempty"`
	Type       string `json:"content_type,omitempty"`
	SessionKey string `json:"session_key,omitempty"` // only calls of this session
	User       string `json:"user,omitempty"`        // only calls of this user's sessions
	Hits       int    `json:"hits"`
	Held       int    `json:"held"` // calls that are held now

	gone chan struct{} // closed when the rule is taken away; ends its hangs and lets held calls go
	drop bool          // held calls are not answered: their connections close
}

var kinds = map[string]string{
	"delay": "wait, then answer normally", "hang": "never answer", "drip": "answer byte by byte",
	"flood": "answer without end", "html": "a web page with status 200", "status": "an HTTP status",
	"close": "close within the answer", "truncated": "a shortened body, complete as HTTP",
	"deep": "deeply nested XML", "fault": "a SOAP fault by name", "empty": "status 200 without body",
	"hold-before": "wait until released, then execute and answer", "tls-slow": "accept TCP, shake hands late",
	"hold-after": "execute, wait until released, then answer",
	"body":       "any body", "tls-hang": "accept TCP, never shake hands", "refuse": "accept TCP and close",
}

type ruleBook struct {
	mu   sync.Mutex
	next int
	list []*rule
}

func (b *ruleBook) add(r *rule) error {
	if _, ok := kinds[r.Kind]; !ok {
		return fmt.Errorf("unknown kind %q", r.Kind)
	}
	if r.Kind == "fault" {
		if t, ok := wire.Lookup(r.Fault); !ok || !isFault(t) {
			return fmt.Errorf("unknown fault %q", r.Fault)
		}
	}
	if r.Op == "" {
		r.Op = "*"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	r.ID, r.gone = b.next, make(chan struct{})
	b.list = append(b.list, r)
	return nil
}

func isFault(t reflect.Type) bool {
	_, ok := reflect.New(t).Interface().(types.BaseMethodFault)
	return ok
}

// clear takes rules away: all, or those of one id.
func (b *ruleBook) clear(id int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keep []*rule
	for _, r := range b.list {
		if id != 0 && r.ID != id {
			keep = append(keep, r)
			continue
		}
		close(r.gone)
	}
	b.list = keep
}

func (b *ruleBook) snapshot() []rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []rule{}
	for _, r := range b.list {
		out = append(out, *r)
	}
	return out
}

// take finds the rule for an operation of a session (nil for none) and counts the hit; nil if none applies.
func (b *ruleBook) take(op string, x *session) *rule { return b.find(op, false, x) }

// takeAccept is the same for a connection that is just being accepted.
func (b *ruleBook) takeAccept(port string) *rule { return b.find(port, true, nil) }

func (b *ruleBook) find(op string, accept bool, x *session) *rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.list {
		atAccept := r.Kind == "tls-hang" || r.Kind == "refuse" || r.Kind == "tls-slow"
		if atAccept != accept || r.Op != "*" && r.Op != op || r.Count > 0 && r.Hits-r.Skip >= r.Count || !r.about(x) {
			continue
		}
		if r.Hits++; r.Hits > r.Skip {
			return r
		}
		return nil
	}
	return nil
}

// about tells whether a rule concerns a session.
func (r *rule) about(x *session) bool {
	if r.SessionKey == "" && r.User == "" {
		return true
	}
	return x != nil && (r.SessionKey == "" || r.SessionKey == x.Key) && (r.User == "" || r.User == x.UserName)
}

// hold keeps a call until its rule is released or taken away, or the client is gone.
func (b *ruleBook) hold(r *rule, req *http.Request) {
	count := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		r.Held += n
	}
	count(1)
	defer count(-1)
	r.wait(req, 24*time.Hour)
	if r.drop || req.Context().Err() != nil {
		abort()
	}
}

// held tells how many calls a rule holds; an error if there is no such rule.
func (b *ruleBook) held(id int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.list {
		if r.ID == id {
			return r.Held, nil
		}
	}
	return 0, fmt.Errorf("there is no rule %d", id)
}

// release lets held calls go, with an answer or without, and ends the rule.
func (b *ruleBook) release(id int, drop bool) {
	b.mu.Lock()
	for _, r := range b.list {
		if r.ID == id {
			r.drop = drop
		}
	}
	b.mu.Unlock()
	b.clear(id)
}

// before acts before the call is executed; true means the exchange is over and the call never ran.
func (r *rule) before(w http.ResponseWriter, req *http.Request, s *Server, e *callEntry) bool {
	if r == nil {
		return false
	}
	e.note("injected:" + r.Kind)
	if r.DelayMs > 0 {
		r.wait(req, time.Duration(r.DelayMs)*time.Millisecond)
	}
	answer := func(status int, kind, text string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
	switch r.Kind {
	case "hang":
		r.wait(req, 24*time.Hour)
		abort()
	case "hold-before":
		s.rules.hold(r, req)
		return false
	case "flood":
		r.flood(w)
	case "html":
		answer(http.StatusOK, "text/html", "<!DOCTYPE html><html><head><title>Proxy</title></head>"+
			"<body><p>Please sign in<br></body></html>")
	case "status":
		if r.RetryAfter != "" {
			w.Header().Set("Retry-After", r.RetryAfter)
		}
		answer(r.Status, "text/html", "<html><body>"+http.StatusText(r.Status)+"</body></html>")
	case "deep":
		answer(http.StatusOK, "text/xml", nested(r.Depth))
	case "empty":
		answer(http.StatusOK, "text/xml", "")
	case "body":
		answer(max(r.Status, http.StatusOK), r.Type, r.Body)
	default:
		return false
	}
	return true
}

// abort ends the connection without an answer.
func abort() { panic(http.ErrAbortHandler) }

func (r *rule) wait(req *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.gone:
	case <-req.Context().Done():
	}
}

func (r *rule) flood(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	_, _ = w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="` + wire.NsSoap +
		`"><soapenv:Body><X xmlns="urn:vim25"><returnval>`))
	chunk := []byte(strings.Repeat("A", 65536))
	for sent := int64(0); r.Bytes == 0 || sent < r.Bytes; sent += int64(len(chunk)) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
		select {
		case <-r.gone:
			return
		default:
		}
	}
}

// nested is an envelope whose body holds that many elements inside each other.
func nested(depth int) string {
	if depth == 0 {
		depth = 20000
	}
	return `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="` + wire.NsSoap +
		`"><soapenv:Body>` + strings.Repeat("<returnval>", depth) + strings.Repeat("</returnval>", depth) +
		"</soapenv:Body></soapenv:Envelope>"
}

// fault is the SOAP fault on order, raised after the request was read and before it is executed.
func (r *rule) fault() error {
	if r == nil || r.Kind != "fault" {
		return nil
	}
	t, _ := wire.Lookup(r.Fault)
	text := r.Text
	if text == "" {
		text = "injected " + r.Fault
	}
	return &wire.Fault{Code: wire.ServerFault, Text: text, Detail: reflect.New(t).Interface()}
}

// deliver sends the real answer, spoiled if the rule says so.
func (r *rule) deliver(w http.ResponseWriter, req *http.Request, s *Server, status int, kind string, answer []byte) {
	if r != nil && r.Kind == "hold-after" {
		s.rules.hold(r, req)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
	what := ""
	if r != nil {
		what = r.Kind
	}
	cut := len(answer)
	if r != nil && r.Bytes < int64(cut) {
		cut = int(r.Bytes)
	}
	switch what {
	case "truncated":
		w.Header().Set("Content-Length", fmt.Sprint(cut))
		w.WriteHeader(status)
		_, _ = w.Write(answer[:cut])
	case "close":
		if cut > 0 {
			w.WriteHeader(status)
			_, _ = w.Write(answer[:cut])
			_ = http.NewResponseController(w).Flush()
		}
		abort()
	case "drip":
		w.WriteHeader(status)
		for i := range answer {
			if _, err := w.Write(answer[i : i+1]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			r.wait(req, time.Duration(max(r.IntervalMs, 1))*time.Millisecond)
		}
	default:
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}
}
