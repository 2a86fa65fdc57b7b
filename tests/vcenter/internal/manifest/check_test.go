// SPDX-License-Identifier: GPL-3.0-or-later
package manifest

import (
	"strings"
	"testing"
)

const good = `{
 "manifestVersion": "1.0.0",
 "requirements": {"plugin.api.version": "1.0.0", "vcenter.server": {"version": "[7.0,)", "environments": ["onprem"]}},
 "configuration": {"nameKey": "plugin.name", "icon": {"name": "main"}},
 "global": {"view": {"navigationId": "all", "uri": "index.html", "navigationVisible": false}},
 "objects": {"ClusterComputeResource": {
  "monitor": {"views": [{"navigationId": "one", "labelKey": "plugin.name", "uri": "index.html"}], "dynamicUri": "dynamic"},
  "menu": {"actions": [{"id": "go", "labelKey": "plugin.name", "trigger": {"type": "modal", "uri": "m.html", "titleKey": "plugin.name", "size": {"width": 300, "height": 200}}}, {"type": "separator"}],
   "dynamicUri": {"path": "x", "serverType": "SERVER"}}}},
 "definitions": {
  "iconSpriteSheet": {"uri": "icons.png", "definitions": {"main": {"x": 0, "y": 32}}},
  "i18n": {"locales": ["en-US", "de-DE"], "definitions": {"plugin.name": {"en-US": "Clusters", "de-DE": "Cluster"}}}}
}`

func TestManifests(t *testing.T) {
	if err := Check([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, next, want string }{
		{`"manifestVersion": "1.0.0",`, ``, `lacks "manifestVersion"`},
		{`"1.0.0",`, `"2.0.0",`, `"2.0.0" is not allowed`},
		{`"global":`, `"privileges": [], "global":`, `no member "privileges"`},
		{`"uri": "index.html"}]`, `"uri": "index.html", "privilege": "x"}]`, `no member "privilege"`},
		{`, "vcenter.server": {"version": "[7.0,)", "environments": ["onprem"]}`, ``, `lacks "vcenter.server"`},
		{`"onprem"`, `"onprem", "onprem"`, `twice`},
		{`"onprem"`, `"here"`, `"here" is not allowed`},
		{`[7.0,)`, `newest`, `"newest" is not allowed`},
		{`"iconSpriteSheet"`, `"iconSpriteCss"`, `no member "iconSpriteCss"`},
		{`, "de-DE": "Cluster"`, ``, `has no de-DE`},
		{`"en-US", "de-DE"`, `"en"`, `"en" is not allowed`},
		{`"labelKey": "plugin.name", "uri"`, `"labelKey": "other", "uri"`, `"other" is not defined`},
		{`{"name": "main"}`, `{"name": "else"}`, `"else" is not defined`},
		{`"navigationId": "one"`, `"navigationId": "all"`, `twice`},
		{`"ClusterComputeResource"`, `"Cluster"`, `no member "Cluster"`},
		{`"x": 0`, `"x": "0"`, `is not allowed`},
		{`"navigationVisible": false`, `"navigationVisible": 0`, `is not allowed`},
	} {
		doc := strings.Replace(good, c.old, c.next, 1)
		if doc == good {
			t.Fatalf("nothing replaced: %s", c.old)
		}
		if err := Check([]byte(doc)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: %v", c.old, c.next, err)
		}
	}
	for _, doc := range []string{"", "[]", good + "x", `{"manifestVersion":1}`} {
		if Check([]byte(doc)) == nil {
			t.Error(doc)
		}
	}
}
