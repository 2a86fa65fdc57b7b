// The control port, by which a test drives the clusters: plain HTTP, JSON in and out. ../../../README.md has the table of calls.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var errNoNode = errors.New("there is no such node")

// told is what the control port says of a cluster.
type told struct {
	Nodes   []string       `json:"nodes"`
	Version uint64         `json:"version"`
	Watches int            `json:"watches"`
	Calls   map[string]int `json:"calls"`
	Unknown []string       `json:"unknown"`
}

func (c *cluster) tell() told {
	c.mu.Lock()
	defer c.mu.Unlock()
	return told{slices.Sorted(maps.Keys(c.nodes)), c.version, c.watches, maps.Clone(c.calls), append([]string{}, c.unknown...)}
}

// patch changes a node as PATCH with a strategic merge patch does.
func (c *cluster) patch(name string, change []byte) error {
	node := c.get(name)
	if node == nil {
		return errNoNode
	}
	before, err := json.Marshal(node)
	if err != nil {
		return err
	}
	after, err := strategicpatch.StrategicMergePatch(before, change, corev1.Node{})
	if err != nil {
		return err
	}
	changed := &corev1.Node{}
	if err := json.Unmarshal(after, changed); err != nil {
		return err
	}
	c.put(changed)
	return nil
}

func (c *cluster) add(document []byte) error {
	node := &corev1.Node{}
	if err := json.Unmarshal(document, node); err != nil {
		return err
	}
	if node.Name == "" {
		return errors.New("the node has no name")
	}
	node.TypeMeta = nodeType
	if node.UID == "" { // what a server adds
		node.UID, node.CreationTimestamp = newUID(), metav1.Now().Rfc3339Copy()
	}
	c.put(node)
	return nil
}

func newUID() types.UID {
	var digits [16]byte
	_, _ = rand.Read(digits[:])
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", digits[:4], digits[4:6], digits[6:8], digits[8:10], digits[10:]))
}

func (c *cluster) sayIt(document []byte) error {
	var one answer
	if err := json.Unmarshal(document, &one); err != nil {
		return err
	}
	c.say(one)
	return nil
}

// acts: what may be done to a cluster, by method and the rest of the path.
func (c *cluster) act(call, name string, body []byte) error {
	switch call {
	case "POST nodes":
		return c.add(body)
	case "PATCH nodes":
		return c.patch(name, body)
	case "DELETE nodes":
		if !c.remove(name) {
			return errNoNode
		}
	case "POST bookmark":
		c.bookmark()
	case "POST cut":
		c.cut()
	case "POST expire":
		c.expire()
	case "POST answers":
		return c.sayIt(body)
	case "DELETE answers":
		c.forget()
	case "POST close":
		return c.close()
	case "POST open":
		return c.open(nil)
	default:
		return fmt.Errorf("unknown: %s", call)
	}
	return nil
}

func control(clusters map[int]*cluster) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /clusters", func(w http.ResponseWriter, _ *http.Request) {
		all := map[int]told{}
		for number, one := range clusters {
			all[number] = one.tell()
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	act := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		chosen := slices.Collect(maps.Values(clusters))
		if which := r.PathValue("which"); which != "all" {
			number, _ := strconv.Atoi(which)
			if clusters[number] == nil {
				http.Error(w, "there is no cluster "+which, http.StatusNotFound)
				return
			}
			chosen = []*cluster{clusters[number]}
		}
		for _, one := range chosen {
			if err := one.act(r.Method+" "+r.PathValue("what"), r.PathValue("name"), body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		_, _ = io.WriteString(w, "{}\n")
	}
	mux.HandleFunc("/clusters/{which}/{what}", act)
	mux.HandleFunc("/clusters/{which}/{what}/{name}", act)
	return mux
}
