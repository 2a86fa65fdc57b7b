// xsdcheck: holds the project's schema of vim25 against govmomi's types, by reflection. Prints every
// difference; exit status 1 if there is any, 2 if the schema cannot be read.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"fmt"
	"os"

	"kaas.test/vcenter/internal/xsd"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: xsdcheck FILE.xsd")
		os.Exit(2)
	}
	s, err := xsd.Read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "xsdcheck:", err)
		os.Exit(2)
	}
	list := xsd.Check(s)
	for _, line := range list {
		fmt.Println(line)
	}
	fmt.Printf("%d types (%d of them sent), %d requests and answers, %d differences\n",
		len(s.Types), len(xsd.Sent(s)), len(s.Elements), len(list))
	if len(list) > 0 {
		os.Exit(1)
	}
}
