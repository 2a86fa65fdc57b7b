// etcd of the release that this Kubernetes asks for.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
