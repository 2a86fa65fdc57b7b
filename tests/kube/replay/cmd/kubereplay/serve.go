// What a cluster answers: nodes from memory, all else from the tape, and 404 to what is on none.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	nodesPath = "/api/v1/nodes"
	bodyMax   = 1 << 20
)

// accepted: the media types of a request, without qualities, in their order.
func accepted(header string) []string {
	var types []string
	for _, one := range strings.Split(header, ",") {
		types = append(types, strings.TrimSpace(one))
	}
	return types
}

func accepts(types []string, mediaType string) bool {
	return slices.ContainsFunc(types, func(one string) bool { return one == mediaType || one == "*/*" || one == "" })
}

// wantedType is the first that is known; with a watch, `;stream=watch` may follow.
func wantedType(types []string, isWatch bool) string {
	for _, one := range types {
		if isWatch {
			one = strings.TrimSuffix(one, ";stream=watch")
		}
		switch one {
		case jsonType, protoType:
			return one
		case "*/*", "":
			return jsonType
		}
	}
	return ""
}

func statusOf(code int, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code),
		Reason: reason, Message: message}
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(statusOf(code, reason, message))
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, err.Error())
		return
	}
	c.mu.Lock()
	c.calls[r.Method+" "+r.URL.Path]++
	c.mu.Unlock()
	types := accepted(r.Header.Get("Accept"))
	found := c.recorded(r.Method, r.URL.RequestURI(), types, body)
	if found == nil || !found.Anonymous {
		if code := c.judge(r); code == http.StatusUnauthorized {
			refuse(w, code, metav1.StatusReasonUnauthorized, "Unauthorized")
			return
		} else if code != http.StatusOK {
			refuse(w, code, metav1.StatusReasonForbidden, fmt.Sprintf(`forbidden: User "system:anonymous" cannot %s path %q`,
				strings.ToLower(r.Method), r.URL.Path))
			return
		}
	}
	switch {
	case found != nil:
		w.Header().Set("Content-Type", found.ContentType)
		w.WriteHeader(found.Status)
		_, _ = w.Write(otherUUIDs(found.Body, c.number))
	case r.Method == http.MethodGet && (r.URL.Path == nodesPath || strings.HasPrefix(r.URL.Path, nodesPath+"/")):
		c.serveNodes(w, r, types)
	default:
		c.refuseUnknown(w, r)
	}
}

// judge: 200 for one of the tokens that were good, 401 for another, 403 for none.
func (c *cluster) judge(r *http.Request) int {
	header := r.Header.Get("Authorization")
	if header == "" {
		return http.StatusForbidden
	}
	token, isBearer := strings.CutPrefix(header, "Bearer ")
	if !isBearer || !slices.Contains(c.tape.Tokens, token) {
		return http.StatusUnauthorized
	}
	return http.StatusOK
}

// recorded: the answer on the tape, or what a test wants to be said instead.
func (c *cluster) recorded(method, path string, types []string, body []byte) *answer {
	c.mu.Lock()
	said := c.said
	c.mu.Unlock()
	for _, answers := range [][]answer{said, c.tape.Answers} {
		for index := range answers {
			if answers[index].fits(method, path, types, body) {
				return &answers[index]
			}
		}
	}
	return nil
}

func (c *cluster) refuseUnknown(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + r.URL.RequestURI() + " as " + r.Header.Get("Accept")
	c.mu.Lock()
	c.unknown = append(c.unknown, what)
	c.mu.Unlock()
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "this is on no tape: "+what)
}

// known: whether a query asks for nothing but these.
func known(query url.Values, names ...string) bool {
	for name, values := range query {
		if !slices.Contains(names, name) || len(values) != 1 {
			return false
		}
	}
	return true
}

func (c *cluster) serveNodes(w http.ResponseWriter, r *http.Request, types []string) {
	query := r.URL.Query()
	isWatch := query.Get("watch") == "1" || query.Get("watch") == "true"
	mediaType := wantedType(types, isWatch)
	name, isOne := strings.CutPrefix(r.URL.Path, nodesPath+"/")
	switch {
	case mediaType == "":
		refuse(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only the following media types are accepted: "+jsonType+", "+protoType)
	case isOne && known(query):
		node := c.get(name)
		if node == nil {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("nodes %q not found", name))
			return
		}
		c.encode(w, mediaType, node)
	case !isOne && isWatch && known(query, "watch", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "allowWatchBookmarks",
		"timeoutSeconds"):
		c.serveWatch(w, r, mediaType)
	case !isOne && !isWatch && known(query, "limit", "continue", "resourceVersion", "resourceVersionMatch"):
		c.serveList(w, query, mediaType)
	default:
		c.refuseUnknown(w, r)
	}
}

func (c *cluster) encode(w http.ResponseWriter, mediaType string, object runtime.Object) {
	w.Header().Set("Content-Type", mediaType)
	if err := serializerOf(mediaType).Serializer.Encode(object, w); err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
}

// page is what a continue token says: the version of the first page, and the last name that was told.
type page struct {
	Version uint64 `json:"v"`
	Last    string `json:"last"`
}

func (c *cluster) serveList(w http.ResponseWriter, query url.Values, mediaType string) {
	limit, _ := strconv.Atoi(query.Get("limit"))
	list := &corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
	c.mu.Lock()
	nodes, at := c.sorted(), page{Version: c.version}
	c.mu.Unlock()
	if token := query.Get("continue"); token != "" {
		data, err := base64.RawURLEncoding.DecodeString(token)
		var from page
		if err != nil || json.Unmarshal(data, &from) != nil {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "continue key is not valid")
			return
		}
		if from.Version != at.Version { // a real one may remember longer; none has to
			refuse(w, http.StatusGone, metav1.StatusReasonExpired, "The provided continue parameter is too old")
			return
		}
		nodes = slices.DeleteFunc(nodes, func(node *corev1.Node) bool { return node.Name <= from.Last })
	}
	list.ResourceVersion = strconv.FormatUint(at.Version, 10)
	if limit > 0 && len(nodes) > limit {
		left := int64(len(nodes) - limit)
		nodes = nodes[:limit]
		at.Last = nodes[limit-1].Name
		data, _ := json.Marshal(at)
		list.Continue, list.RemainingItemCount = base64.RawURLEncoding.EncodeToString(data), &left
	}
	for _, node := range nodes {
		item := *node
		item.TypeMeta = metav1.TypeMeta{} // as in lists of the real one
		list.Items = append(list.Items, item)
	}
	c.encode(w, mediaType, list)
}
