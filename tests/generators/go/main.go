// SPDX-License-Identifier: GPL-3.0-or-later

// Signs in, lists, creates and deletes a cluster by the client that openapi-generator made for Go; prints what it saw.
// Usage: walk URL CA-FILE VCENTER PATH-OF-A-VSPHERE-CLUSTER, the password in standard input.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	"kaas-client-walk/kaas"
)

func must[T any](value T, response *http.Response, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err, response)
		os.Exit(1)
	}
	return value
}

func client(url, caFile string) *kaas.APIClient {
	trusted := x509.NewCertPool()
	pem, err := os.ReadFile(caFile)
	if err != nil || !trusted.AppendCertsFromPEM(pem) {
		fmt.Fprintln(os.Stderr, "no CA certificate in", caFile, err)
		os.Exit(1)
	}
	made := kaas.NewConfiguration()
	made.Servers = kaas.ServerConfigurations{{URL: url}}
	made.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	return kaas.NewAPIClient(made)
}

func told(list *kaas.ClusterList) string {
	names := []string{"listed"}
	for _, cluster := range list.GetItems() {
		names = append(names, cluster.GetName())
	}
	return strings.Join(names, " ")
}

func main() {
	url, caFile, vcenter, path := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	password, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	api := client(url, caFile)
	signingIn := kaas.NewLoginPasswordRequest("admin", strings.TrimSpace(password))
	token := must(api.SignOnAPI.LoginPassword(context.Background()).XKaaS("1").LoginPasswordRequest(*signingIn).Execute())
	ctx := context.WithValue(context.Background(), kaas.ContextAccessToken, token.GetAccessToken())

	fmt.Println(told(must(api.ClustersAPI.ListClusters(ctx).Execute())))
	place := kaas.NewVsphereClusterByPath(path)
	place.SetVcenter(vcenter)
	places := []kaas.VsphereClusterRef{kaas.VsphereClusterByPathAsVsphereClusterRef(place)}
	record := kaas.NewClusterCreate("of-go", places, "1.31.2", *kaas.NewReplicasInput(3), *kaas.NewReplicasInput(2))
	made := must(api.ClustersAPI.CreateCluster(ctx).ClusterCreate(*record).Execute())
	fmt.Println("created", made.GetName())
	read := must(api.ClustersAPI.GetCluster(ctx, made.GetId()).Execute())
	fmt.Println("read", read.GetKubernetesVersion())
	fmt.Println(told(must(api.ClustersAPI.ListClusters(ctx).Execute())))
	gone, err := api.ClustersAPI.DeleteCluster(ctx, made.GetId()).Execute()
	fmt.Println("deleted", must(gone, gone, err).StatusCode)
	fmt.Println(told(must(api.ClustersAPI.ListClusters(ctx).Execute())))
	gone, err = api.SignOnAPI.Logout(ctx).Execute()
	fmt.Println("left", must(gone, gone, err).StatusCode)
}
