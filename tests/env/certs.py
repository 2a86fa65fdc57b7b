"""A certificate authority of the world and server certificates signed by it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


@dataclass
class ServerCert:
    """Paths of PEM files, and the SHA-256 as people compare it."""

    ca_file: Path
    cert_file: Path
    key_file: Path
    sha256: str


def thumbprint(cert: x509.Certificate) -> str:
    return cert.fingerprint(hashes.SHA256()).hex(":").upper()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePublicKey, first: datetime.datetime,
             last: datetime.datetime) -> x509.CertificateBuilder:
    return (x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer)).public_key(key)
            .serial_number(x509.random_serial_number()).not_valid_before(first).not_valid_after(last))


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def make_server_cert(folder: Path, *, expired: bool = False, days: int = 30) -> ServerCert:
    """CA and server certificate for 127.0.0.1 and localhost, valid for some days from now."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    first, last = (now - 30 * DAY, now - DAY) if expired else (now - DAY, now + days * DAY)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = (_builder("World CA", "World CA", ca_key.public_key(), now - 40 * DAY, now + (days + 10) * DAY)
          .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
          .sign(ca_key, hashes.SHA256()))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    cert = (_builder("kaas.example.test", "World CA", key.public_key(), first, last)
            .add_extension(names, critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(ca_key, hashes.SHA256()))
    return _written(folder, ca, cert, key)


def _written(folder: Path, ca: x509.Certificate, cert: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ServerCert:
    made = ServerCert(folder / "ca.pem", folder / "server.pem", folder / "server.key", thumbprint(cert))
    made.ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.cert_file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    _write_key(made.key_file, key)
    return made


def _ca(name: str, key: ec.EllipticCurvePublicKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey, days: int) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    return (_builder(name, issuer, key, now - 40 * DAY, now + days * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(issuer_key, hashes.SHA256()))


def make_issued_cert(folder: Path, *, issuer_days: int = 400, host: str = "localhost") -> tuple[ServerCert, str]:
    """As companies have it: the server's certificate is of an issuing CA, whose own is of the root that clients trust. `ca_file` is the
    root, `cert_file` the server's alone; beside them the issuing CA's certificate as text."""
    folder.mkdir(parents=True, exist_ok=True)
    root_key, issuer_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    root = _ca("World root", root_key.public_key(), "World root", root_key, 800)
    issuer = _ca("World issuer", issuer_key.public_key(), "World root", root_key, issuer_days)
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    cert = (_builder("kaas.example.test", "World issuer", key.public_key(), now - DAY, now + 90 * DAY)
            .add_extension(names, critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(issuer_key, hashes.SHA256()))
    return _written(folder, root, cert, key), issuer.public_bytes(serialization.Encoding.PEM).decode()
