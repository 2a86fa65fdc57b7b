// kube-scheduler as it is released: upstream's command, whose own main is in no module that may be installed by itself.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() { os.Exit(cli.Run(app.NewSchedulerCommand())) }
