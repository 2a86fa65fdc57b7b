// The calls of the ExtensionManager.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto/x509"
	"encoding/pem"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

func noExtension(key string) *wire.Fault {
	return wire.Faultf(&types.NotFound{}, "The extension %s is not registered", key)
}

// mayChange: the right to update extensions, or being that extension (by certificate or by its
// service account).
func (c *call) mayChange(key string) error {
	s := c.s
	s.mu.Lock()
	x := s.exts[key]
	own := c.sess.who.ext == key || x != nil && x.serviceAccount != "" && x.serviceAccount == c.sess.who.name
	s.mu.Unlock()
	if own {
		return nil
	}
	return c.require("Extension.Update", s.root)
}

func findExtension(c *call) (any, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	res := &types.FindExtensionResponse{}
	if x := c.s.exts[body[types.FindExtension](c).ExtensionKey]; x != nil {
		rec := x.record
		res.Returnval = &rec
	}
	return res, nil
}

func registerExtension(c *call) (any, error) {
	rec := body[types.RegisterExtension](c).Extension
	if err := checkRecord(&rec); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exts[rec.Key] != nil {
		return nil, badArgument("extension.key", "%s is registered already", rec.Key)
	}
	s.exts[rec.Key] = &extension{record: rec}
	s.publishExtensions(rec.Key, types.PropertyChangeOpAdd)
	s.deploy(s.exts[rec.Key])
	return &types.RegisterExtensionResponse{}, nil
}

func updateExtension(c *call) (any, error) {
	rec := body[types.UpdateExtension](c).Extension
	if err := c.mayChange(rec.Key); err != nil {
		return nil, err
	}
	if err := checkRecord(&rec); err != nil {
		return nil, err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.exts[rec.Key]
	if x == nil {
		return nil, noExtension(rec.Key)
	}
	if x.record.SubjectName != rec.SubjectName {
		x.clearCertificate()
		x.publicKey = ""
	}
	x.record = rec
	s.publishExtensions(rec.Key, types.PropertyChangeOpAssign)
	s.deploy(x)
	return &types.UpdateExtensionResponse{}, nil
}

func unregisterExtension(c *call) (any, error) {
	key := body[types.UnregisterExtension](c).ExtensionKey
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	x := c.s.exts[key]
	if x == nil {
		return nil, noExtension(key)
	}
	c.s.dropExtension(key)
	c.s.dropAccount(x.serviceAccount)
	return &types.UnregisterExtensionResponse{}, nil
}

// dropExtension forgets a record; sessions of the extension live on until they end by themselves.
func (s *Server) dropExtension(key string) {
	delete(s.exts, key)
	s.publishExtensions(key, types.PropertyChangeOpRemove)
}

// dropAccount removes the service account of an extension that is gone: its life is tied to it.
// Sessions of the account live on until they end by themselves.
func (s *Server) dropAccount(stored string) {
	s.users = slices.DeleteFunc(s.users, func(u *user) bool { return u.ServiceAccount && u.stored == stored })
}

func setExtensionCertificate(c *call) (any, error) {
	req := body[types.SetExtensionCertificate](c)
	if err := c.mayChange(req.ExtensionKey); err != nil {
		return nil, err
	}
	cert := c.conn.clientCertificate(c.r)
	if req.CertificatePem != "" {
		var err error
		if cert, err = parseLeaf(req.CertificatePem, "certificatePem"); err != nil {
			return nil, err
		}
	}
	if cert == nil {
		return nil, wire.Faultf(&types.NoClientCertificate{}, "No PEM was given and no client certificate arrived")
	}
	return &types.SetExtensionCertificateResponse{}, c.change(req.ExtensionKey, func(x *extension) {
		x.setCertificate(cert)
	})
}

func setPublicKey(c *call) (any, error) {
	req := body[types.SetPublicKey](c)
	if err := c.mayChange(req.ExtensionKey); err != nil {
		return nil, err
	}
	return &types.SetPublicKeyResponse{}, c.change(req.ExtensionKey, func(x *extension) {
		x.clearCertificate()
		x.publicKey, x.record.SubjectName = req.PublicKey, ""
	})
}

// change applies f to a registered extension.
func (c *call) change(key string, f func(*extension)) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	x := c.s.exts[key]
	if x == nil {
		return noExtension(key)
	}
	f(x)
	c.s.publishExtensions(key, types.PropertyChangeOpAssign)
	return nil
}

func getPublicKey(c *call) (any, error) {
	der, err := x509.MarshalPKIXPublicKey(c.s.tls.leaf().PublicKey)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return &types.GetPublicKeyResponse{Returnval: string(text)}, nil
}

func queryManagedBy(c *call) (any, error) {
	key := body[types.QueryManagedBy](c).ExtensionKey
	res := &types.QueryManagedByResponse{}
	for _, e := range c.s.ctx.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		m := vm.Config.ManagedBy
		if m != nil && m.ExtensionKey == key && c.s.has(c.sess.who, vm.Self, privView) {
			res.Returnval = append(res.Returnval, vm.Self)
		}
	}
	return res, nil
}

// setServiceAccount attaches an account; its name must be spelled exactly as it was created.
func setServiceAccount(c *call) (any, error) {
	req := body[types.SetServiceAccount](c)
	s := c.s
	s.mu.Lock()
	u := s.findUser(req.ServiceAccount)
	s.mu.Unlock()
	_, name := splitName(req.ServiceAccount)
	if u == nil || !u.ServiceAccount || name != u.Name || name == req.ServiceAccount {
		return nil, badArgument("serviceAccount", "%q is no service account qualified with its domain", req.ServiceAccount)
	}
	return &types.SetServiceAccountResponse{}, c.change(req.ExtensionKey, func(x *extension) {
		x.serviceAccount = u.stored
	})
}
