// kubeadm as it is released: upstream's command, whose own main is in no module that may be installed by itself.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"k8s.io/kubernetes/cmd/kubeadm/app"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

func main() { errors.HandleError(app.Run()) }
