// What was recorded, and how another cluster says it: with other names and other uuids, all of the same length.
// SPDX-License-Identifier: GPL-3.0-or-later
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
)

const (
	jsonType  = runtime.ContentTypeJSON
	protoType = runtime.ContentTypeProtobuf
)

var (
	scheme   = newScheme()
	codecs   = serializer.NewCodecFactory(scheme)
	uuid     = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	nodeType = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
)

func newScheme() *runtime.Scheme {
	made := runtime.NewScheme()
	if err := corev1.AddToScheme(made); err != nil { // metav1's types, watch events among them, come with it
		panic(err)
	}
	return made
}

func serializerOf(mediaType string) runtime.SerializerInfo {
	info, known := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !known {
		panic(mediaType)
	}
	return info
}

// answer is one that the server gave. Bodies are base64 in the file.
type answer struct {
	Method      string          `json:"method"`
	Path        string          `json:"path"`    // with its query
	Accept      string          `json:"accept"`  // media type that was asked for; without one it is for any
	Request     json.RawMessage `json:"request"` // the body that it belongs to; without one it is for any
	Anonymous   bool            `json:"anonymous"`
	Status      int             `json:"status"`
	ContentType string          `json:"content_type"`
	Body        []byte          `json:"body"`
}

type tape struct {
	Tokens  []string `json:"tokens"` // that were good
	Answers []answer `json:"answers"`
	Nodes   []byte   `json:"nodes"` // the list, as protobuf
	nodes   corev1.NodeList
}

func readTape(file string) (*tape, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	made := &tape{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(made); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if _, _, err := serializerOf(protoType).Serializer.Decode(made.Nodes, nil, &made.nodes); err != nil {
		return nil, fmt.Errorf("%s: nodes: %w", file, err)
	}
	return made, nil
}

// sameQuery: whether two paths with their queries ask for the same.
func sameQuery(one, other string) bool {
	a, errA := url.Parse(one)
	b, errB := url.Parse(other)
	return errA == nil && errB == nil && a.Path == b.Path && reflect.DeepEqual(a.Query(), b.Query())
}

func (a *answer) fits(method, path string, accept []string, body []byte) bool {
	if a.Method != method || !sameQuery(a.Path, path) || a.Accept != "" && !accepts(accept, a.Accept) {
		return false
	}
	if a.Request == nil {
		return true
	}
	var wanted, got any
	return json.Unmarshal(a.Request, &wanted) == nil && json.Unmarshal(body, &got) == nil && reflect.DeepEqual(wanted, got)
}

// otherUUID is that of the same thing in another cluster: the number is in the first eight digits.
func otherUUID(text string, number int) string {
	first, err := strconv.ParseUint(text[:8], 16, 32)
	if err != nil {
		return text
	}
	format := "%08x"
	if regexp.MustCompile(`[A-F]`).MatchString(text) {
		format = "%08X"
	}
	return fmt.Sprintf(format, uint32(first)^uint32(number)) + text[8:]
}

func otherUUIDs[T string | []byte](text T, number int) T {
	return T(uuid.ReplaceAllStringFunc(string(text), func(found string) string { return otherUUID(found, number) }))
}

func otherName(name string, number int) string {
	if number == 0 {
		return name
	}
	return fmt.Sprintf("c%03d-%s", number, name)
}

// otherNode is a node of another cluster.
func otherNode(recorded *corev1.Node, number int) *corev1.Node {
	node := recorded.DeepCopy()
	node.TypeMeta = nodeType
	node.Name = otherName(node.Name, number)
	node.UID = types.UID(otherUUIDs(string(node.UID), number))
	node.Spec.ProviderID = otherUUIDs(node.Spec.ProviderID, number)
	info := &node.Status.NodeInfo
	info.SystemUUID, info.BootID = otherUUIDs(info.SystemUUID, number), otherUUIDs(info.BootID, number)
	if len(info.MachineID) == 32 {
		info.MachineID = otherUUID(info.MachineID, number)
	}
	if _, has := node.Labels[corev1.LabelHostname]; has {
		node.Labels[corev1.LabelHostname] = node.Name
	}
	for index := range node.Status.Addresses {
		if node.Status.Addresses[index].Type == corev1.NodeHostName {
			node.Status.Addresses[index].Address = node.Name
		}
	}
	return node
}
