// Extension records: the rules for them and what is stored beside the public part.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
	"kaas.test/vcenter/internal/world"
)

// extension is what the server knows of an extension beyond its readable record.
type extension struct {
	record         types.Extension
	sha1, sha256   []byte
	certificatePEM string
	publicKey      string
	serviceAccount string // stored form
	plugin         *plugin
}

// holds compares a presented certificate with the stored one, by digest as the real server does.
// There is no check of chain, expiry or revocation.
func (x *extension) holds(cert *x509.Certificate) bool {
	a, b := sha1.Sum(cert.Raw), sha256.Sum256(cert.Raw)
	return x.sha256 != nil && bytes.Equal(x.sha1, a[:]) && bytes.Equal(x.sha256, b[:])
}

func (x *extension) setCertificate(cert *x509.Certificate) {
	a, b := sha1.Sum(cert.Raw), sha256.Sum256(cert.Raw)
	x.sha1, x.sha256 = a[:], b[:]
	x.certificatePEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	x.publicKey, x.record.SubjectName = "", ""
}

func (x *extension) clearCertificate() { x.sha1, x.sha256, x.certificatePEM = nil, nil, "" }

func badArgument(property, format string, args ...any) *wire.Fault {
	return wire.Faultf(&types.InvalidArgument{InvalidProperty: property}, "A specified parameter was not correct: "+
		property+". "+format, args...)
}

// parseLeaf reads PEM text as strictly as the real server is said to: one certificate, BEGIN and END
// lines, 64 columns, LF line ends, nothing around it.
func parseLeaf(text, property string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, badArgument(property, "It is not a PEM certificate")
	}
	exact := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}))
	if strings.TrimSuffix(text, "\n") != strings.TrimSuffix(exact, "\n") {
		return nil, badArgument(property, "The PEM text is not exactly one certificate in 64 columns with LF")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, badArgument(property, "%v", err)
	}
	return cert, nil
}

var thumbprint = regexp.MustCompile(`^([0-9A-F]{2}:){19}[0-9A-F]{2}$|^([0-9A-F]{2}:){31}[0-9A-F]{2}$`)

// checkRecord applies the documented rules for a record that a client sends.
func checkRecord(x *types.Extension) error {
	if err := checkKey(x.Key); err != nil {
		return err
	}
	if x.Version == "" || strings.Trim(x.Version, "0123456789.") != "" {
		return badArgument("extension.version", "%q is not a dotted number", x.Version)
	}
	for _, srv := range x.Server {
		if err := checkServer(srv); err != nil {
			return err
		}
	}
	for _, p := range x.PrivilegeList {
		if p.PrivGroupName == "" || !strings.HasPrefix(p.PrivID, p.PrivGroupName+".") {
			return badArgument("extension.privilegeList", "%q is not <group>.<name> of group %q", p.PrivID, p.PrivGroupName)
		}
	}
	if err := checkEventTypes(x); err != nil {
		return err
	}
	for _, r := range x.ResourceList {
		if r.Locale == "" || r.Module == "" {
			return badArgument("extension.resourceList", "locale and module must be given")
		}
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || strings.ContainsAny(key, ",/\\#+><=;\"") {
		return badArgument("extension.key", "%q holds a character that is not allowed", key)
	}
	for _, c := range key {
		if c < 0x20 || c > 0x7e {
			return badArgument("extension.key", "%q holds a control or non-ASCII character", key)
		}
	}
	return nil
}

func checkServer(srv types.ExtensionServerInfo) error {
	if srv.Url == "" || srv.Type == "" || slices.Contains(srv.AdminEmail, "") {
		return badArgument("extension.server", "url, type and adminEmail must not be empty")
	}
	if srv.ServerThumbprint != "" && !thumbprint.MatchString(srv.ServerThumbprint) {
		return badArgument("extension.server.serverThumbprint", "%q is no colon-separated digest", srv.ServerThumbprint)
	}
	if srv.ServerCertificate == "" {
		return nil
	}
	cert, err := parseLeaf(srv.ServerCertificate, "extension.server.serverCertificate")
	if err != nil {
		return err
	}
	if srv.ServerThumbprint != "" && !slices.Contains(thumbprints(cert), srv.ServerThumbprint) {
		return badArgument("extension.server.serverThumbprint", "It is not that of serverCertificate")
	}
	return nil
}

// thumbprints are the SHA-1 and SHA-256 digests in the usual colon form.
func thumbprints(cert *x509.Certificate) []string {
	a, b := sha1.Sum(cert.Raw), sha256.Sum256(cert.Raw)
	return []string{colons(a[:]), colons(b[:])}
}

func colons(sum []byte) string {
	const digits = "0123456789ABCDEF"
	var out []string
	for _, b := range sum {
		out = append(out, string([]byte{digits[b>>4], digits[b&15]}))
	}
	return strings.Join(out, ":")
}

// publishExtensions shows the records to property readers and waiting collectors. The caller holds
// the lock; key is the record that changed.
func (s *Server) publishExtensions(key string, op types.PropertyChangeOp) {
	list := make([]types.Extension, 0, len(s.exts))
	for _, x := range s.exts {
		list = append(list, x.record)
	}
	slices.SortFunc(list, func(a, b types.Extension) int { return strings.Compare(a.Key, b.Key) })
	changes := []types.PropertyChange{{Name: "extensionList", Val: list}}
	keyed := types.PropertyChange{Name: `extensionList["` + key + `"]`, Op: op}
	if x := s.exts[key]; x != nil {
		keyed.Val = x.record
	}
	s.update(s.ctx.Map.ExtensionManager(), append(changes, keyed)...)
	s.publishPrivileges()
}

// putExtension stores a record as the world file or the control port gives it, without the checks
// that calls undergo: foreign records may be odd.
func (s *Server) putExtension(spec world.Extension) error {
	rec := types.Extension{
		Key: spec.Key, Version: spec.Version, Company: spec.Company, Type: spec.Type,
		Description:       &types.Description{Label: spec.Label, Summary: spec.Summary},
		LastHeartbeatTime: time.Now().UTC().Truncate(time.Microsecond),
	}
	if spec.HealthURL != "" {
		rec.HealthInfo = &types.ExtensionHealthInfo{Url: spec.HealthURL}
	}
	for _, srv := range spec.Servers {
		rec.Server = append(rec.Server, types.ExtensionServerInfo{
			Url: srv.URL, Type: srv.Type, Company: srv.Company, AdminEmail: srv.AdminEmail,
			ServerThumbprint: srv.Thumbprint, ServerCertificate: srv.Certificate, Description: &types.Description{Label: srv.Label, Summary: srv.Label},
		})
	}
	for _, c := range spec.Clients {
		rec.Client = append(rec.Client, types.ExtensionClientInfo{Version: c.Version, Company: c.Company, Type: c.Type,
			Url: c.URL, Description: &types.Description{Label: c.Label, Summary: c.Label}})
	}
	if spec.XML != "" {
		rec = types.Extension{}
		if err := wire.ReadFragment([]byte(spec.XML), &rec, s.cfg.APIVersion); err != nil {
			return err
		}
	}
	x := &extension{record: rec}
	if spec.Certificate != "" {
		cert, err := parseLeaf(spec.Certificate, "certificate_pem")
		if err != nil {
			return err
		}
		x.setCertificate(cert)
	}
	if old := s.exts[rec.Key]; old != nil {
		x.plugin = old.plugin
	}
	s.exts[rec.Key] = x
	s.publishExtensions(rec.Key, types.PropertyChangeOpAssign)
	s.deploy(x)
	return nil
}
