// Package vc is a vCenter for tests that refuses what a real one refuses. The inventory lives in
// govmomi's simulator; this package puts sessions, users, rights, extensions, paging, versions and
// faults in front of it. This file: the server's state and its life.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
	"kaas.test/vcenter/internal/world"
)

// Config is what the command line says.
type Config struct {
	World         string   // world file
	Dir           string   // private folder for all temporary data; the caller removes it
	Listen        string   // the ordinary HTTPS port: client certificates never arrive here
	TunnelListen  string   // plain HTTP port that knows CONNECT sdkTunnel:8089; "" for none
	DirectListen  string   // HTTPS port that sees client certificates; "" for none
	ControlListen string   // plain HTTP control port
	APIVersion    string   // newest version of urn:vim25
	DevVersion    string   // opaque id shown instead of APIVersion in vimServiceVersions.xml
	CertFile      string   // server certificate and key instead of generated ones
	KeyFile       string   //
	Names         []string // further host names for the generated certificate
	Expired       bool     // generate a certificate that has expired
	IdleTimeout   time.Duration
	PageSize      int
}

// Server is one running vCenter.
type Server struct {
	cfg   Config
	front string // where the ordinary port listens
	build *world.Builder
	ctx   *simulator.Context
	root  types.ManagedObjectReference
	tls   *certificates
	log   callLog
	nets  network
	rules ruleBook
	feed  *feed
	churn churn

	history history
	tasks   taskBook
	lister  *taskLister
	vms     machineBook
	rooms   roomBook
	alarms  *moRef       // where clients find the AlarmManager
	offset  atomic.Int64 // the fake clock runs this many nanoseconds ahead
	skew    atomic.Int64 // what the server believes to be the time is wrong by this many nanoseconds

	mu       sync.Mutex // guards everything below
	settings settings
	users    []*user
	roles    []types.AuthorizationRole
	perms    map[types.ManagedObjectReference][]types.Permission
	sessions map[string]*session // by cookie
	wires    map[string]struct{} // cookies handed out and not logged in
	tickets  map[string]*session // clone ticket -> issuing session
	plugins  map[string]*session // plug-in token -> user's session
	installs map[string]string   // token of a solution install -> the extension it is for
	exts     map[string]*extension
	collect  map[types.ManagedObjectReference]*collector
	anon     *simulator.Session
	counters counters
}

type settings struct {
	Idle        time.Duration
	PageSize    int
	UnknownUser string   // HasUserPrivilege*: "fault" or "false"
	ExtPrivs    []string // privileges of an extension's session on the root folder
	MaxSessions int      // 0 for no limit
	FullAnswer  string   // what a login beyond it gets: "503" or a fault's name
	SameUUID    string   // an instance UUID that another machine has: "refuse" or "change"
}

// counters that /state shows beside what it can count itself.
type counters struct {
	AbandonedPages int `json:"abandoned_pages"`
	Logins         int `json:"logins"`
	Logouts        int `json:"logouts"`
	Expired        int `json:"expired"`
	Restarts       int `json:"restarts"`
}

// New builds the world and the server around it; nothing listens yet.
func New(cfg Config) (*Server, error) {
	if cfg.APIVersion == "" {
		cfg.APIVersion = "8.0.3.0"
	}
	w, err := world.Read(cfg.World)
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("TMPDIR", cfg.Dir); err != nil { // the simulator's files
		return nil, err
	}
	b, err := world.New(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, build: b, ctx: b.Model.Service.Context,
		perms:    map[types.ManagedObjectReference][]types.Permission{},
		sessions: map[string]*session{}, wires: map[string]struct{}{},
		tickets: map[string]*session{}, plugins: map[string]*session{},
		installs: map[string]string{}, exts: map[string]*extension{}, collect: map[types.ManagedObjectReference]*collector{},
		settings: settings{
			Idle: 30 * time.Minute, PageSize: 100, UnknownUser: "fault", FullAnswer: "RuntimeFault", SameUUID: "refuse",
			ExtPrivs: []string{"Sessions.ValidateSession", "Sessions.TerminateSession", "Sessions.ImpersonateUser", "Global.LogEvent"},
		},
	}
	if cfg.IdleTimeout > 0 {
		s.settings.Idle = cfg.IdleTimeout
	}
	if cfg.PageSize > 0 {
		s.settings.PageSize = cfg.PageSize
	}
	if s.tls, err = newCertificates(cfg); err != nil {
		return nil, err
	}
	return s, s.populate(w)
}

func (s *Server) populate(w *world.World) error {
	content := s.content()
	s.root = content.RootFolder
	s.setAbout(w)
	s.anon = &simulator.Session{Registry: simulator.NewRegistry(), Map: s.ctx.Map}
	s.startTasks()
	s.vms.init()
	s.ctx.Map.AddHandler(&s.vms)
	if err := s.build.Inventory(w); err != nil {
		return err
	}
	s.refreshRooms()
	s.feed = newFeed(s)
	s.startHistory()
	s.initRoles(w.Roles)
	for _, u := range w.Users {
		s.users = append(s.users, newUser(u))
	}
	for _, x := range w.Extensions {
		if err := s.putExtension(x); err != nil {
			return fmt.Errorf("extension %s: %w", x.Key, err)
		}
	}
	for _, p := range w.Permissions {
		if err := s.setPermission(p); err != nil {
			return fmt.Errorf("permission on %s: %w", p.Entity, err)
		}
	}
	return nil
}

func (s *Server) content() *types.ServiceContent {
	return &s.ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content
}

func (s *Server) setAbout(w *world.World) {
	a := &s.content().About
	name := "VMware vCenter Server"
	release := s.cfg.APIVersion
	if v := release; len(v) > 2 && v[len(v)-2:] == ".0" {
		release = v[:len(v)-2]
	}
	a.Name, a.Version, a.Build = name, release, "24022515"
	a.FullName = name + " " + release + " build-" + a.Build
	a.ApiVersion, a.PatchLevel = s.cfg.APIVersion, "00300"
	a.LicenseProductVersion = release
	if w.InstanceUUID != "" {
		a.InstanceUuid = w.InstanceUUID
	}
}

// InstanceUUID is the vCenter's identity.
func (s *Server) InstanceUUID() string { return s.content().About.InstanceUuid }

// supports tells whether this vCenter speaks a version.
func (s *Server) supports(version string) bool {
	for _, v := range wire.Upto(s.cfg.APIVersion) {
		if v == version {
			return true
		}
	}
	return s.cfg.DevVersion != "" && version == s.cfg.DevVersion
}

// now is the server's clock, which the control port can advance.
func (s *Server) now() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// wall is the time that the server tells others; a wrong clock does not touch the life of sessions.
func (s *Server) wall() time.Time { return s.now().Add(time.Duration(s.skew.Load())) }

// Handler serves what a vCenter serves on its HTTPS port.
func (s *Server) Handler() http.Handler {
	mux := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.wall().UTC().Format(http.TimeFormat))
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sdk", s.serveSDK)
	mux.HandleFunc("POST /sdk/{$}", s.serveSDK)
	mux.HandleFunc("POST /sdk/vimService", s.serveSDK)
	mux.HandleFunc("GET /sdk/vimServiceVersions.xml", s.serveVersions)
	mux.HandleFunc("POST /api/session", s.restLogin)
	mux.HandleFunc("GET /api/session", s.restShow)
	mux.HandleFunc("DELETE /api/session", s.restLogout)
	mux.HandleFunc("POST /api/ui/vcenter/session/clone-ticket", s.restCloneTicket)
	mux.HandleFunc("POST "+installPath, s.serveInstall)
	mux.HandleFunc("/plugins/", s.servePlugin)
	mux.HandleFunc(machinePage, s.serveMachinePage)
	mux.HandleFunc("/nfc/", simulator.ServeNFC) // disks of machines that are imported; a lease's address is its right
	return mux
}

// Close stops all listeners and connections and removes the simulator's data.
func (s *Server) Close() {
	s.nets.close()
	s.build.Model.Remove()
}
