// Listeners: the ordinary HTTPS port, the tunnel (plain HTTP with CONNECT), the direct port, and the
// book of open connections.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// TunnelTarget is the only target that the tunnel knows; the name exists nowhere else.
const TunnelTarget = "sdkTunnel:8089"

// Ports that a call can arrive on.
const (
	portFront  = "front"
	portTunnel = "tunnel"
	portDirect = "direct"
)

type connInfo struct {
	kind string
	id   int64
}

type connKey struct{}

func connOf(r *http.Request) *connInfo {
	if c, ok := r.Context().Value(connKey{}).(*connInfo); ok {
		return c
	}
	return &connInfo{kind: portFront}
}

// clientCertificate is the certificate presented on this connection, where it can arrive at all.
func (c *connInfo) clientCertificate(r *http.Request) *x509.Certificate {
	if c.kind == portFront || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil
	}
	return r.TLS.PeerCertificates[0]
}

type network struct {
	mu        sync.Mutex
	conns     map[net.Conn]struct{}
	listeners []net.Listener
	gates     map[string]*gate // by port
	down      time.Time        // connections are refused until then
	ids       atomic.Int64
	accepted  atomic.Int64
	tunnelled chan net.Conn
}

// trackedConn leaves the book when it closes.
type trackedConn struct {
	net.Conn
	n *network
}

func (t *trackedConn) Close() error {
	t.n.mu.Lock()
	delete(t.n.conns, t)
	t.n.mu.Unlock()
	return t.Conn.Close()
}

func (n *network) track(c net.Conn) net.Conn {
	t := &trackedConn{c, n}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conns == nil {
		n.conns = map[net.Conn]struct{}{}
	}
	n.conns[t] = struct{}{}
	return t
}

// drop closes every connection; for pause more than zero new ones are refused that long.
func (n *network) drop(pause time.Duration) {
	n.mu.Lock()
	n.down = time.Now().Add(pause)
	open := make([]net.Conn, 0, len(n.conns))
	for c := range n.conns {
		open = append(open, c)
	}
	n.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

func (n *network) isDown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.down)
}

func (n *network) open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

func (n *network) close() {
	n.mu.Lock()
	ls := n.listeners
	n.mu.Unlock()
	for _, l := range ls {
		_ = l.Close()
	}
	n.drop(0)
}

// gate is a listener that counts, tracks, plays the faults that concern accepting, and can be shut.
type gate struct {
	s    *Server
	port string
	addr net.Addr

	mu     sync.Mutex
	inner  net.Listener
	opened chan struct{} // closed when a shut port opens again; nil while it is open
}

func (g *gate) Addr() net.Addr { return g.addr }

func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inner.Close()
}

// shut closes the port; connecting is refused until it opens.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
		_ = g.inner.Close()
	}
}

func (g *gate) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return nil
	}
	l, err := net.Listen("tcp", g.addr.String())
	if err != nil {
		return err
	}
	g.s.nets.remember(l)
	g.inner = l
	close(g.opened)
	g.opened = nil
	return nil
}

// accept waits for a connection, through times in which the port is shut.
func (g *gate) accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		l, opened := g.inner, g.opened
		g.mu.Unlock()
		if opened != nil {
			<-opened
			continue
		}
		c, err := l.Accept()
		if err == nil {
			return c, nil
		}
		g.mu.Lock()
		again := g.opened != nil || g.inner != l
		g.mu.Unlock()
		if !again {
			return nil, err
		}
	}
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.accept()
		if err != nil {
			return nil, err
		}
		g.s.nets.accepted.Add(1)
		c = g.s.nets.track(c)
		r := g.s.rules.takeAccept(g.port)
		if g.s.nets.isDown() || r != nil && r.Kind == "refuse" {
			_ = c.Close()
			continue
		}
		if r != nil && r.Kind == "tls-slow" {
			return &lateConn{Conn: c, rule: r}, nil
		}
		if r != nil { // tls-hang: swallow bytes, say nothing
			go func() {
				go func() { <-r.gone; _ = c.Close() }()
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
			continue
		}
		return c, nil
	}
}

// lateConn lets the first read wait, which delays the TLS handshake.
type lateConn struct {
	net.Conn
	rule *rule
	once sync.Once
}

func (l *lateConn) Read(b []byte) (int, error) {
	l.once.Do(func() {
		select {
		case <-time.After(time.Duration(l.rule.DelayMs) * time.Millisecond):
		case <-l.rule.gone:
		}
	})
	return l.Conn.Read(b)
}

func (n *network) remember(l net.Listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, l)
}

func (s *Server) listen(addr, port string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s.nets.remember(l)
	g := &gate{s: s, port: port, addr: l.Addr(), inner: l}
	s.nets.mu.Lock()
	defer s.nets.mu.Unlock()
	if s.nets.gates == nil {
		s.nets.gates = map[string]*gate{}
	}
	s.nets.gates[port] = g
	return g, nil
}

// serveTLS runs the vCenter's handler on a listener; client certificates are asked for (never
// required or verified) on every port but the ordinary one.
func (s *Server) serveTLS(l net.Listener, port string) {
	conf := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.tls.current(), nil },
		NextProtos:     []string{"http/1.1"},
	}
	if port != portFront {
		conf.ClientAuth = tls.RequestClientCert
	}
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, &connInfo{kind: port, id: s.nets.ids.Add(1)})
		},
	}
	go func() { _ = srv.Serve(tls.NewListener(l, conf)) }()
}

// Addresses are where a started server can be reached.
type Addresses struct {
	Front, Tunnel, Direct, Control string
}

// Start opens all ports.
func (s *Server) Start() (*Addresses, error) {
	out := &Addresses{}
	front, err := s.listen(s.cfg.Listen, portFront)
	if err != nil {
		return nil, err
	}
	out.Front = front.Addr().String()
	s.front = out.Front
	s.setNfcAddress()
	s.serveTLS(front, portFront)
	if s.cfg.DirectListen != "" {
		l, err := s.listen(s.cfg.DirectListen, portDirect)
		if err != nil {
			return nil, err
		}
		out.Direct = l.Addr().String()
		s.serveTLS(l, portDirect)
	}
	if s.cfg.TunnelListen != "" {
		if out.Tunnel, err = s.startTunnel(out.Front); err != nil {
			return nil, err
		}
	}
	out.Control, err = s.startControl()
	return out, err
}

// setNfcAddress tells the simulator where clients send the disks of a machine that they import.
func (s *Server) setNfcAddress() {
	s.ctx.Map.OptionManager().UpdateOptions(&types.UpdateOptions{ChangedValue: []types.BaseOptionValue{
		&types.OptionValue{Key: "vcsim.server.url", Value: "https://" + s.front},
	}})
}

// handedOver is a listener fed with connections that came through the tunnel.
type handedOver struct {
	conns chan net.Conn
	addr  net.Addr
}

func (h *handedOver) Accept() (net.Conn, error) {
	c, ok := <-h.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (h *handedOver) Close() error   { return nil }
func (h *handedOver) Addr() net.Addr { return h.addr }

// startTunnel opens the plain port: CONNECT to the one known target, everything else is sent to HTTPS.
func (s *Server) startTunnel(front string) (string, error) {
	l, err := s.listen(s.cfg.TunnelListen, portTunnel)
	if err != nil {
		return "", err
	}
	s.nets.tunnelled = make(chan net.Conn)
	s.serveTLS(&handedOver{s.nets.tunnelled, l.Addr()}, portTunnel)
	srv := &http.Server{
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodConnect {
				http.Redirect(w, r, "https://"+front+r.URL.RequestURI(), http.StatusMovedPermanently)
				return
			}
			s.connect(w, r)
		}),
	}
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

// connect answers CONNECT; a success carries no body and no length.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	rule := s.rules.take("CONNECT", nil)
	entry := s.log.http(s, r, "CONNECT")
	entry.through(portTunnel)
	if rule.before(w, r, s, entry) {
		return
	}
	if r.Host != TunnelTarget {
		entry.note("refused")
		http.Error(w, "unknown tunnel target", http.StatusForbidden)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	if n := rw.Reader.Buffered(); n > 0 {
		conn = &prefixed{conn, io.MultiReader(io.LimitReader(rw.Reader, int64(n)), conn)}
	}
	s.nets.tunnelled <- conn
}

// prefixed gives back bytes that were read together with the CONNECT request.
type prefixed struct {
	net.Conn
	r io.Reader
}

func (p *prefixed) Read(b []byte) (int, error) { return p.r.Read(b) }
