// One cluster: its nodes, what changed of them, and its port.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"crypto/tls"
	"errors"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// change is one that watches are told. A bookmark has no node.
type change struct {
	kind    watch.EventType
	version uint64
	node    *corev1.Node // never changed once it is here
}

type cluster struct {
	number  int
	tape    *tape
	address string
	tls     *tls.Config
	server  *http.Server

	mu      sync.Mutex
	nodes   map[string]*corev1.Node
	version uint64        // the newest
	oldest  uint64        // changes after this one are known
	changes []change      // since then
	cuts    int           // how often all watches were ended
	moved   chan struct{} // closed at the next change
	said    []answer      // instead of what was recorded, the latest first
	watches int
	calls   map[string]int
	unknown []string // what was asked and is on no tape
}

func newCluster(number int, recorded *tape) *cluster {
	version, _ := strconv.ParseUint(recorded.nodes.ResourceVersion, 10, 64)
	made := &cluster{number: number, tape: recorded, version: version, oldest: version, nodes: map[string]*corev1.Node{},
		moved: make(chan struct{}), calls: map[string]int{}}
	for index := range recorded.nodes.Items {
		node := otherNode(&recorded.nodes.Items[index], number)
		made.nodes[node.Name] = node
	}
	return made
}

// open listens: at any port at first, later at the same one.
func (c *cluster) open(config *tls.Config) error {
	if c.address == "" {
		c.address, c.tls = "127.0.0.1:0", config
	}
	listener, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	c.address = listener.Addr().String()
	c.server = &http.Server{Handler: c, TLSConfig: c.tls, ReadHeaderTimeout: time.Minute}
	go func(server *http.Server) {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			log.Print(err)
		}
	}(c.server)
	return nil
}

// close refuses connections from now on, and breaks those that are there.
func (c *cluster) close() error { return c.server.Close() }

// sorted: the nodes in the order of a list. The lock is held.
func (c *cluster) sorted() []*corev1.Node {
	nodes := make([]*corev1.Node, 0, len(c.nodes))
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		nodes = append(nodes, c.nodes[name])
	}
	return nodes
}

// wake tells those who wait. The lock is held.
func (c *cluster) wake() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// put makes or replaces a node, and tells it.
func (c *cluster) put(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := watch.Modified
	if c.nodes[node.Name] == nil {
		kind = watch.Added
	}
	c.note(kind, node)
	c.nodes[node.Name] = node
}

func (c *cluster) remove(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := c.nodes[name]
	if node == nil {
		return false
	}
	delete(c.nodes, name)
	c.note(watch.Deleted, node.DeepCopy())
	return true
}

// note gives a node its version and tells watches of it. The lock is held.
func (c *cluster) note(kind watch.EventType, node *corev1.Node) {
	c.version++
	node.ResourceVersion = strconv.FormatUint(c.version, 10)
	c.changes = append(c.changes, change{kind, c.version, node})
	c.wake()
}

func (c *cluster) get(name string) *corev1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name]
}

// bookmark: of the newest version, to all watches that asked for them.
func (c *cluster) bookmark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.changes = append(c.changes, change{kind: watch.Bookmark, version: c.version})
	c.wake()
}

// cut ends all watches, as a proxy does.
func (c *cluster) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts++
	c.wake()
}

// expire forgets all changes: who asks for what came after an older version is told that it is gone, also in the midst of a watch.
func (c *cluster) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.oldest, c.changes = c.version, nil
	c.wake()
}

// after: what changed since a version, whether that is still known, and what is closed at the next change.
func (c *cluster) after(version uint64) (news []change, known bool, cuts int, moved <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.oldest {
		return nil, false, c.cuts, c.moved
	}
	first, _ := slices.BinarySearchFunc(c.changes, version+1, func(one change, wanted uint64) int { return int(one.version) - int(wanted) })
	return slices.Clone(c.changes[first:]), true, c.cuts, c.moved
}

// say gives an answer in place of the recorded one, until forget.
func (c *cluster) say(one answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append([]answer{one}, c.said...)
}

func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = nil
}
