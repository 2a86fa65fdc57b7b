// Judges manifests as a Kubernetes API server does when they are created: unknown and doubled fields, defaults, validation, warnings. It is the
// API server's own code, without a server. Reads YAML documents from standard input, prints what is wrong, ends with 1 if anything is.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
)

var strategies = map[string]rest.RESTCreateStrategy{
	"ConfigMap":           configmap.Strategy,
	"Job":                 job.Strategy,
	"NetworkPolicy":       networkpolicy.Strategy,
	"PodDisruptionBudget": poddisruptionbudget.Strategy,
	"Service":             service.Strategy,
	"StatefulSet":         statefulset.Strategy,
}

// allocate gives a Service what the API server's allocators give it between the defaults and the validation.
func allocate(object runtime.Object) {
	if service, is := object.(*core.Service); is {
		if service.Spec.ClusterIP != "" {
			service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
		}
		if service.Spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal {
			service.Spec.HealthCheckNodePort = 32000
		}
	}
}

func judge(decoder runtime.Decoder, document []byte) (string, error) {
	object, kind, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return "", err
	}
	strategy, known := strategies[kind.Kind]
	if !known {
		return "", fmt.Errorf("no rules are known for %s: add its strategy to this program", kind)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	name := kind.Kind + "/" + accessor.GetName()
	accessor.SetNamespace("kaas")
	rest.FillObjectMetaSystemFields(accessor)
	allocate(object)
	ctx := genericrequest.WithNamespace(context.Background(), "kaas")
	if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
		return name, err
	}
	var warned []error
	for _, warning := range strategy.WarningsOnCreate(ctx, object) {
		warned = append(warned, errors.New(warning))
	}
	return name, errors.Join(warned...)
}

func main() {
	decoder := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	status := 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		name, err := judge(decoder, document)
		if err != nil {
			status = 1
			fmt.Printf("%s: %v\n", name, err)
		} else {
			fmt.Printf("%s: good\n", name)
		}
	}
	os.Exit(status)
}
