// Package run holds what the test servers have in common: the ready line, and when to end.
// SPDX-License-Identifier: GPL-3.0-or-later
package run

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// Announce prints the ready line and writes the ready file, which appears complete or not at all.
func Announce(ready any, path string) error {
	line, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	if path == "" {
		return nil
	}
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	if err := os.WriteFile(part, append(line, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Stopper reports the end: SIGTERM, SIGINT or SIGHUP, or, if wanted, the parent process being gone.
func Stopper(dieWithParent bool) <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if parent := os.Getppid(); dieWithParent {
		go func() {
			for os.Getppid() == parent {
				time.Sleep(500 * time.Millisecond)
			}
			stop <- syscall.SIGTERM
		}()
	}
	return stop
}
