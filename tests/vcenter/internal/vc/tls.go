// Server certificates: made here with a CA of their own, or taken from files; exchangeable at run time.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

type certificates struct {
	dir   string
	names []string

	mu    sync.Mutex
	ca    *x509.Certificate
	caKey crypto.Signer
	cert  *tls.Certificate
}

func newCertificates(cfg Config) (*certificates, error) {
	c := &certificates{dir: cfg.Dir, names: cfg.Names}
	if cfg.CertFile != "" {
		return c, c.load(cfg.CertFile, cfg.KeyFile)
	}
	if err := c.newCA(); err != nil {
		return nil, err
	}
	mode := "new"
	if cfg.Expired {
		mode = "expired"
	}
	return c, c.swap(mode)
}

// caFile is where the CA certificate lies, "" when the certificate came from files.
func (c *certificates) caFile() string {
	if c.ca == nil {
		return ""
	}
	return filepath.Join(c.dir, "ca.pem")
}

func (c *certificates) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cert
}

func (c *certificates) leaf() *x509.Certificate { return c.current().Leaf }

func (c *certificates) load(certFile, keyFile string) error {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return err
	}
	if cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert = &cert
	return nil
}

func template(name string, from, to time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"Strict vCenter for tests"}},
		NotBefore: from, NotAfter: to, BasicConstraintsValid: true,
	}, err
}

func (c *certificates) newCA() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	t, err := template("Test CA", now.Add(-48*time.Hour), now.Add(30*24*time.Hour))
	if err != nil {
		return err
	}
	t.IsCA, t.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return err
	}
	if c.ca, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	c.caKey = key
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return os.WriteFile(c.caFile(), text, 0o644)
}

// swap makes a new server certificate: new, expired, not-yet, wrong-name, self-signed or other-ca.
func (c *certificates) swap(mode string) error {
	now := time.Now()
	from, to := now.Add(-24*time.Hour), now.Add(10*24*time.Hour)
	names, ips := append([]string{"localhost"}, c.names...), []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	ca, caKey := c.ca, c.caKey
	switch mode {
	case "new", "self-signed":
	case "expired":
		from, to = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
	case "not-yet":
		from, to = now.Add(24*time.Hour), now.Add(48*time.Hour)
	case "wrong-name":
		names, ips = []string{"elsewhere.example.test"}, nil
	case "other-ca":
		other := &certificates{dir: filepath.Join(c.dir, "other-ca")}
		if err := os.MkdirAll(other.dir, 0o700); err != nil {
			return err
		}
		if err := other.newCA(); err != nil {
			return err
		}
		ca, caKey = other.ca, other.caKey
	default:
		return fmt.Errorf("unknown certificate mode %q", mode)
	}
	if ca == nil && mode != "self-signed" {
		return fmt.Errorf("no CA of our own: the certificate came from files")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t, err := template(names[0], from, to)
	if err != nil {
		return err
	}
	t.DNSNames, t.IPAddresses = names, ips
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if mode == "self-signed" {
		ca, caKey = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	return c.use(der, key)
}

func (c *certificates) use(der []byte, key crypto.Signer) error {
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return nil
}

// CAFile is the CA certificate that the server's certificate chains to; "" if it came from files.
func (s *Server) CAFile() string { return s.tls.caFile() }

// Thumbprint is the SHA-256 of the server certificate in colon form.
func (s *Server) Thumbprint() string { return thumbprints(s.tls.leaf())[1] }
