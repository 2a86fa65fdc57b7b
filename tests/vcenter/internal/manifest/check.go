// Package manifest knows the schema of a remote plug-in's manifest (plugin.json) as far as it is published:
// what must be there, what may, and that nothing else may.
// SPDX-License-Identifier: GPL-3.0-or-later
package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shape is one form of value in the manifest.
type shape struct {
	kind    string            // object, map, array, string, number, bool, or view/uri kinds made of them
	members map[string]*shape // of an object; a name with "!" at its end must be there
	items   *shape            // of an array or of a map's values
	enum    []string          // allowed strings
	pattern *regexp.Regexp    // allowed strings
	least   int               // fewest items, or characters
}

var (
	text     = &shape{kind: "string", least: 1}
	number   = &shape{kind: "number"}
	flag     = &shape{kind: "bool"}
	versions = &shape{kind: "string", enum: []string{"1.0.0", "1.0.1", "1.1.0", "1.2.0"}}
	locale   = &shape{kind: "string", pattern: regexp.MustCompile(`^[a-z]{2}-[A-Z]{2}$`)}
	product  = object(map[string]*shape{
		"version!": {kind: "string", pattern: regexp.MustCompile(`^([\[(]?\d+(\.\d+){0,3}(,(\d+(\.\d+){0,3})?[\])])?)$`)},
		"environments": {kind: "array", least: 1, items: &shape{kind: "string",
			enum: []string{"onprem", "cloud", "gateway"}}},
	})
	icon    = object(map[string]*shape{"name!": text})
	dynamic = &shape{kind: "dynamicUri"}
	size    = object(map[string]*shape{"width!": number, "height!": number})
	view    = object(map[string]*shape{
		"navigationId!": text, "labelKey!": text, "uri!": text, "dynamic": flag, "isPublic": flag, "icon": icon})
	views = object(map[string]*shape{"views!": {kind: "array", least: 1, items: view}, "dynamicUri": dynamic})
	card  = object(map[string]*shape{
		"uri!": text, "icon": icon, "id": text, "dynamic": flag, "labelKey": text,
		"size": object(map[string]*shape{"widthSpan!": number, "heightSpan!": number})})
	trigger = object(map[string]*shape{
		"type!": {kind: "string", enum: []string{"modal", "navigation"}}, "uri": text, "titleKey": text,
		"accessibilityTitleKey": text, "size": size, "targetViewId": text})
	action = object(map[string]*shape{
		"id": text, "labelKey": text, "icon": icon, "acceptsMultipleTargets": flag, "dynamic": flag,
		"type": {kind: "string", enum: []string{"separator"}}, "trigger": trigger})
	place = object(map[string]*shape{"x!": number, "y!": number})
	sheet = map[string]*shape{"uri!": text, "definitions!": {kind: "map", items: place}}
)

func object(members map[string]*shape) *shape { return &shape{kind: "object", members: members} }

func with(base map[string]*shape, name string, s *shape) map[string]*shape {
	out := map[string]*shape{name: s}
	for k, v := range base {
		out[k] = v
	}
	return out
}

// capabilities are the flags that a manifest may require of the client.
var capabilities = []string{
	"confirmation.modal.api", "proxied.plugin.server.origin.api", "icon.sprite.sheet.theming", "plugin.backend.info.api",
	"plugin.dynamic.extensions",
}

var manifestShape = func() *shape {
	requires := map[string]*shape{"plugin.api.version!": versions, "vsphere.client": product, "vcenter.server!": product,
		"action.accepts.multiple.targets": flag}
	for _, c := range capabilities {
		requires[c] = &shape{kind: "string", enum: []string{"1.0.0"}}
	}
	below := object(map[string]*shape{
		"summary": object(map[string]*shape{"view": card, "dynamicUri": dynamic}),
		"monitor": views, "configure": views,
		"menu": object(map[string]*shape{"actions!": {kind: "array", least: 1, items: action}, "dynamicUri": dynamic}),
	})
	objects := map[string]*shape{}
	for _, kind := range []string{"ClusterComputeResource", "HostSystem", "VirtualMachine", "Datacenter", "Datastore", "Network",
		"Folder", "Folder:RootFolder", "ResourcePool", "VirtualApp", "StoragePod", "DistributedVirtualPortgroup"} {
		objects[kind] = below
	}
	return object(map[string]*shape{
		"manifestVersion!": versions,
		"requirements!":    object(requires),
		"configuration!":   object(map[string]*shape{"nameKey!": text, "icon": icon}),
		"global": object(map[string]*shape{"view!": object(map[string]*shape{
			"navigationId!": text, "uri!": text, "navigationVisible": flag, "labelKey": text, "icon": icon})}),
		"objects": object(objects),
		"definitions!": object(map[string]*shape{
			"iconSpriteSheet": object(with(sheet, "themeOverrides", object(map[string]*shape{"dark": object(sheet)}))),
			"i18n!": object(map[string]*shape{
				"locales!":     {kind: "array", least: 1, items: locale},
				"definitions!": {kind: "map", items: &shape{kind: "map", items: text}},
			})}),
	})
}()

// Check refuses what a vCenter would refuse.
func Check(doc []byte) error {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(doc))
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("the manifest is no JSON object: %w", err)
	}
	if d.More() {
		return fmt.Errorf("there is something after the manifest")
	}
	if err := manifestShape.check("manifest", v); err != nil {
		return err
	}
	return checkNames(v)
}

func (s *shape) check(at string, v any) error {
	switch s.kind {
	case "object":
		return s.checkObject(at, v)
	case "map":
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", at)
		}
		for name, item := range m {
			if err := s.items.check(at+"."+name, item); err != nil {
				return err
			}
		}
		return nil
	case "array":
		return s.checkArray(at, v)
	case "dynamicUri":
		if _, ok := v.(string); ok {
			return text.check(at, v)
		}
		return object(map[string]*shape{"path!": text, "serverType!": text}).check(at, v)
	}
	return s.checkPlain(at, v)
}

func (s *shape) checkObject(at string, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no object", at)
	}
	for name := range m {
		if s.members[name] == nil && s.members[name+"!"] == nil {
			return fmt.Errorf("%s has no member %q", at, name)
		}
	}
	for name, member := range s.members {
		plain, must := strings.CutSuffix(name, "!")
		value, there := m[plain]
		if !there && must {
			return fmt.Errorf("%s lacks %q", at, plain)
		}
		if there {
			if err := member.check(at+"."+plain, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shape) checkArray(at string, v any) error {
	list, ok := v.([]any)
	if !ok || len(list) < s.least {
		return fmt.Errorf("%s is no array of at least %d", at, s.least)
	}
	for i, item := range list {
		if err := s.items.check(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
			return err
		}
		if t, ok := item.(string); ok && slices.Contains(list[:i], any(t)) {
			return fmt.Errorf("%s holds %q twice", at, t)
		}
	}
	return nil
}

func (s *shape) checkPlain(at string, v any) error {
	switch t := v.(type) {
	case string:
		if s.kind != "string" || len(t) < s.least || s.enum != nil && !slices.Contains(s.enum, t) ||
			s.pattern != nil && !s.pattern.MatchString(t) {
			return fmt.Errorf("%s: %q is not allowed", at, t)
		}
	case float64:
		if s.kind != "number" || t < 0 {
			return fmt.Errorf("%s: %v is not allowed", at, t)
		}
	case bool:
		if s.kind != "bool" {
			return fmt.Errorf("%s is no %s", at, s.kind)
		}
	default:
		return fmt.Errorf("%s is no %s", at, s.kind)
	}
	return nil
}

// names collects what a manifest refers to.
type names struct {
	keys, icons, views []string
}

func (n *names) walk(v any) {
	switch t := v.(type) {
	case []any:
		for _, item := range t {
			n.walk(item)
		}
	case map[string]any:
		for name, item := range t {
			s, isText := item.(string)
			switch {
			case isText && strings.HasSuffix(name, "Key"):
				n.keys = append(n.keys, s)
			case isText && name == "navigationId":
				n.views = append(n.views, s)
			case name == "icon":
				n.icons = append(n.icons, item.(map[string]any)["name"].(string))
			default:
				n.walk(item)
			}
		}
	}
}

// checkNames: every text has all locales, every key a text, every icon a place, every view a name of its own.
func checkNames(v map[string]any) error {
	definitions := v["definitions"].(map[string]any)
	i18n := definitions["i18n"].(map[string]any)
	texts := i18n["definitions"].(map[string]any)
	for key, t := range texts {
		for _, l := range i18n["locales"].([]any) {
			if _, ok := t.(map[string]any)[l.(string)]; !ok {
				return fmt.Errorf("the text %q has no %s", key, l)
			}
		}
	}
	var n names
	n.walk(map[string]any{"c": v["configuration"], "g": v["global"], "o": v["objects"]})
	for _, key := range n.keys {
		if texts[key] == nil {
			return fmt.Errorf("the text %q is not defined", key)
		}
	}
	sheet, _ := definitions["iconSpriteSheet"].(map[string]any)
	places, _ := sheet["definitions"].(map[string]any)
	for _, name := range n.icons {
		if places[name] == nil {
			return fmt.Errorf("the icon %q is not defined", name)
		}
	}
	slices.Sort(n.views)
	if len(slices.Compact(slices.Clone(n.views))) != len(n.views) {
		return fmt.Errorf("a navigationId is there twice")
	}
	return nil
}
