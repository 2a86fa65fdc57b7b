// The control port's calls about the call log: lists, sums by time and session, and what is pending.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// ctlCalls lists the log; after=SEQ gives only what came later, op=NAME and user=NAME filter.
func (s *Server) ctlCalls(r *http.Request) (any, error) {
	q := r.URL.Query()
	after, _ := strconv.Atoi(q.Get("after"))
	all, counts := s.log.snapshot(after)
	list := []callEntry{}
	for _, e := range all {
		if (q.Get("op") == "" || q.Get("op") == e.Op) && (q.Get("user") == "" || q.Get("user") == e.User) {
			list = append(list, e)
		}
	}
	return map[string]any{"calls": list, "by_operation": counts, "total": len(all)}, nil
}

func (s *Server) ctlResetCalls(*http.Request) (any, error) {
	s.log.reset()
	return nil, nil
}

// ctlPending lists the SOAP calls that are being worked on now, the oldest first.
func (s *Server) ctlPending(*http.Request) (any, error) {
	return map[string]any{"calls": s.log.now()}, nil
}

// bucket sums the calls of a span of the server's clock.
type bucket struct {
	Start time.Time      `json:"start"`
	Total int            `json:"total"`
	ByOp  map[string]int `json:"by_operation"`
}

type sessionSum struct {
	User  string         `json:"user"`
	Total int            `json:"total"`
	ByOp  map[string]int `json:"by_operation"`
}

// ctlSummary sums the log by spans of bucket_s seconds of the server's clock, and by session.
func (s *Server) ctlSummary(r *http.Request) (any, error) {
	q := r.URL.Query()
	after, _ := strconv.Atoi(q.Get("after"))
	span := 3600
	if text := q.Get("bucket_s"); text != "" {
		var err error
		if span, err = strconv.Atoi(text); err != nil || span <= 0 {
			return nil, fmt.Errorf("bucket_s is a positive number")
		}
	}
	all, counts := s.log.snapshot(after)
	buckets := []*bucket{}
	sessions := map[string]*sessionSum{}
	for _, e := range all {
		start := e.ServerTime.Truncate(time.Duration(span) * time.Second)
		if n := len(buckets); n == 0 || !buckets[n-1].Start.Equal(start) {
			buckets = append(buckets, &bucket{Start: start, ByOp: map[string]int{}})
		}
		b := buckets[len(buckets)-1]
		b.Total++
		b.ByOp[e.Op]++
		x := sessions[e.SessionKey]
		if x == nil {
			x = &sessionSum{User: e.User, ByOp: map[string]int{}}
			sessions[e.SessionKey] = x
		}
		x.Total++
		x.ByOp[e.Op]++
	}
	return map[string]any{"total": len(all), "by_operation": counts, "buckets": buckets, "by_session": sessions}, nil
}
