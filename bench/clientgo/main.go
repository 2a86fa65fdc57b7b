// client-go doing what src/k8s does, for comparing CPU time, memory and time. Not part of the product.
//
//	kubepeer URL CA-FILE protobuf|json
//
// The first line of stdin is the token; then a command a line:
//
//	list    lists all nodes once; prints {"event": "complete"}
//	watch   an informer's watch, which keeps them; prints "complete", then "changed" for each change, with name and at_ns of CLOCK_MONOTONIC
//
// Both kinds of lines are those of tests/integ/kube_watch_probe.c.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubepeer:", err)
		os.Exit(1)
	}
}

func now() int64 {
	var t unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &t))
	return t.Nano()
}

func connect(address, ca, kind, token string) *kubernetes.Clientset {
	// without a type it is protobuf, as for Kubernetes' own programs
	config := &rest.Config{Host: address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: ca},
		ContentConfig: rest.ContentConfig{ContentType: map[string]string{
			"protobuf": "application/vnd.kubernetes.protobuf", "json": "application/json"}[kind]}}
	client, err := kubernetes.NewForConfig(config)
	must(err)
	return client
}

func list(client *kubernetes.Clientset) {
	_, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	must(err)
	fmt.Println(`{"event":"complete"}`)
}

func watch(client *kubernetes.Clientset) {
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Nodes().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, node any) {
		fmt.Printf("{\"event\":\"changed\",\"name\":\"%s\",\"at_ns\":%d}\n", node.(*corev1.Node).Name, now())
	}})
	must(err)
	go informer.Run(context.Background().Done())
	if !cache.WaitForCacheSync(context.Background().Done(), informer.HasSynced) {
		os.Exit(1)
	}
	fmt.Println(`{"event":"complete"}`)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	client := connect(os.Args[1], os.Args[2], os.Args[3], strings.TrimSpace(lines.Text()))
	for lines.Scan() {
		switch lines.Text() {
		case "list":
			list(client)
		case "watch":
			watch(client)
		}
	}
}
