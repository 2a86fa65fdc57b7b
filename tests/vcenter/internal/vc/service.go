// The calls of the ServiceInstance and the ViewManager, and the list of versions.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

func retrieveServiceContent(c *call) (any, error) {
	content := *c.s.content()
	content.AlarmManager = c.s.alarms
	return &types.RetrieveServiceContentResponse{Returnval: content}, nil
}

func currentTime(c *call) (any, error) {
	return &types.CurrentTimeResponse{Returnval: c.s.wall().UTC()}, nil
}

// serveVersions answers /sdk/vimServiceVersions.xml: the newest version, or an opaque development
// id, and the older ones beside it.
func (s *Server) serveVersions(w http.ResponseWriter, r *http.Request) {
	rule := s.rules.take("versions", nil)
	entry := s.log.http(s, r, "versions")
	if rule.before(w, r, s, entry) {
		return
	}
	prior := wire.Upto(s.cfg.APIVersion)
	slices.Reverse(prior)
	newest := s.cfg.DevVersion
	if newest == "" {
		newest, prior = prior[0], prior[1:]
	}
	out := `<?xml version="1.0" encoding="UTF-8" ?>` + "\n<namespaces version=\"1.0\">\n <namespace>\n" +
		fmt.Sprintf("  <name>%s</name>\n  <version>%s</version>\n  <priorVersions>\n", wire.NsVim, newest)
	for _, v := range prior {
		out += "   <version>" + v + "</version>\n"
	}
	out += "  </priorVersions>\n </namespace>\n</namespaces>\n"
	rule.deliver(w, r, s, http.StatusOK, "text/xml", []byte(out))
}
