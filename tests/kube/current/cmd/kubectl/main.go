// kubectl as it is released: upstream's command, whose own main is in no module that may be installed by itself.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
