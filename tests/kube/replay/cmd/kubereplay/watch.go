// Watches: what is there, if that is asked for, and then each change as it comes.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const shortestWatch = 30 * time.Minute // ended by the server after this time, or up to twice of it

// stream writes events in one media type; the first error ends it.
type stream struct {
	w        http.ResponseWriter
	info     runtime.SerializerInfo
	frame    interface{ Write([]byte) (int, error) }
	err      error
	hasMarks bool
}

func newStream(w http.ResponseWriter, mediaType string, hasMarks bool) *stream {
	info := serializerOf(mediaType)
	contentType := mediaType
	if mediaType == protoType {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	made := &stream{w: w, info: info, frame: info.StreamSerializer.Framer.NewFrameWriter(w), hasMarks: hasMarks}
	made.flush()
	return made
}

func (s *stream) flush() { s.w.(http.Flusher).Flush() }

func (s *stream) send(kind watch.EventType, object runtime.Object) {
	if s.err != nil {
		return
	}
	var inner, outer bytes.Buffer
	if s.err = s.info.Serializer.Encode(object, &inner); s.err != nil {
		return
	}
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: inner.Bytes()}}
	if s.err = s.info.StreamSerializer.Serializer.Encode(event, &outer); s.err == nil {
		_, s.err = s.frame.Write(outer.Bytes())
	}
}

// bookmark: a node with nothing but a version, and a note if it ends what was there at first.
func (s *stream) bookmark(version uint64, endsInitial bool) {
	if !s.hasMarks {
		return
	}
	node := &corev1.Node{TypeMeta: nodeType}
	node.ResourceVersion = strconv.FormatUint(version, 10)
	if endsInitial {
		node.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	s.send(watch.Bookmark, node)
}

// span: how long a watch may last.
func span(query url.Values) time.Duration {
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return shortestWatch + rand.N(shortestWatch)
}

func (c *cluster) serveWatch(w http.ResponseWriter, r *http.Request, mediaType string) {
	query := r.URL.Query()
	wantsInitial := query.Get("sendInitialEvents") == "true"
	if wantsInitial != (query.Get("resourceVersionMatch") == "NotOlderThan") {
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"resourceVersionMatch: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, and the other way round")
		return
	}
	from, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	if err != nil && query.Get("resourceVersion") != "" {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "invalid resource version")
		return
	}
	c.mu.Lock()
	nodes, version, cuts := c.sorted(), c.version, c.cuts
	c.watches++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.watches--
		c.mu.Unlock()
	}()
	out := newStream(w, mediaType, query.Get("allowWatchBookmarks") == "true" || query.Get("allowWatchBookmarks") == "1")
	if wantsInitial || from == 0 {
		from = version
		for _, node := range nodes {
			out.send(watch.Added, node)
		}
		if wantsInitial {
			out.bookmark(version, true)
		}
	}
	out.flush()
	c.follow(out, from, cuts, r.Context().Done(), time.After(span(query)))
}

// follow tells changes until the watch is cut, its time is over, the client leaves, or what comes next is forgotten.
func (c *cluster) follow(out *stream, from uint64, cuts int, left <-chan struct{}, ended <-chan time.Time) {
	for out.err == nil {
		news, isKnown, cutsNow, moved := c.after(from)
		if cutsNow != cuts {
			return
		}
		if !isKnown {
			out.send(watch.Error, statusOf(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: "+strconv.FormatUint(from, 10)))
			return
		}
		for _, one := range news {
			from = one.version
			if one.kind == watch.Bookmark {
				out.bookmark(one.version, false)
			} else {
				out.send(one.kind, one.node)
			}
		}
		out.flush()
		select {
		case <-moved:
		case <-left:
			return
		case <-ended:
			return
		}
	}
}
