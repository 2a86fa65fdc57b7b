// kubereplay: many clusters from what one real API server has said, each at a port of its own, with watches that a test drives.
// See ../../../README.md.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const bookmarkPeriod = time.Minute // about as often as an API server sends them

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubereplay:", err)
		os.Exit(1)
	}
}

// ready is the line that tells where everything is.
type ready struct {
	Control  string         `json:"control"`
	Clusters map[int]string `json:"clusters"` // number and URL
}

func run() error {
	recorded := flag.String("recording", "", "file that was recorded (tests/env/kube/replay.py)")
	first := flag.Int("first", 1, "number of the first cluster; number 0 says what was recorded to the letter")
	count := flag.Int("count", 199, "how many clusters")
	certificate := flag.String("cert", "", "certificate of all of them")
	key := flag.String("key", "", "its key")
	readyFile := flag.String("ready-file", "", "gets the ready line, by rename, once everything listens")
	flag.Parse()

	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		return err
	}
	tape, err := readTape(*recorded)
	if err != nil {
		return err
	}
	told := ready{Clusters: map[int]string{}}
	clusters := map[int]*cluster{}
	for number := *first; number < *first+*count; number++ {
		one := newCluster(number, tape)
		if err := one.open(&tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}); err != nil {
			return err
		}
		clusters[number] = one
		told.Clusters[number] = "https://" + one.address
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	told.Control = "http://" + listener.Addr().String()
	if err := tell(*readyFile, told); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go bookmarks(ctx, clusters)
	server := &http.Server{Handler: control(clusters), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func tell(file string, told ready) error {
	line, err := json.Marshal(told)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", line, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func bookmarks(ctx context.Context, clusters map[int]*cluster) {
	ticker := time.NewTicker(bookmarkPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, one := range clusters {
				one.bookmark()
			}
		case <-ctx.Done():
			return
		}
	}
}
