"""A certificate authority for programs: client certificates and revocation lists."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def _subject(name: str, groups: Sequence[str]) -> x509.Name:
    """Most general part first, as in the certificate; written the other way round."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclass(frozen=True)
class ClientCert:
    cert_file: Path
    key_file: Path
    cert: x509.Certificate

    @property
    def sha256(self) -> str:
        return self.cert.fingerprint(hashes.SHA256()).hex()

    @property
    def pem(self) -> str:
        return self.cert.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def pair(self) -> tuple[str, str]:
        """As the library `requests` takes it."""
        return str(self.cert_file), str(self.key_file)


class ClientCa:
    """Issues client certificates into a folder."""

    def __init__(self, folder: Path, name: str = "HX CA") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._revoked: list[int] = []
        now = datetime.datetime.now(datetime.UTC)
        self._cert = (x509.CertificateBuilder().subject_name(self._name).issuer_name(self._name).public_key(self._key.public_key())
                      .serial_number(x509.random_serial_number()).not_valid_before(now - 40 * DAY).not_valid_after(now + 400 * DAY)
                      .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
                      .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
                      .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
                                                   key_encipherment=False, data_encipherment=False, key_agreement=False,
                                                   encipher_only=False, decipher_only=False), critical=True)
                      .sign(self._key, hashes.SHA256()))
        self.ca_file = folder / "client-ca.pem"
        self.ca_file.write_bytes(self._cert.public_bytes(serialization.Encoding.PEM))
        self.crl_file = folder / "client-crl.pem"
        self.write_crl()

    @property
    def key_pem(self) -> bytes:
        """Its private key."""
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    def issue(self, name: str, *, days: tuple[float, float] = (-1, 90), for_servers: bool = False, groups: Sequence[str] = ("Example",),
              hosts: Sequence[str] = ()) -> ClientCert:
        """`days`: from when to when, counted from now. `groups` are its organizations, by which Kubernetes tells who belongs to what. With
        `hosts`, addresses or names, it is a server's that may be a client as well, as members of etcd are to each other."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH] if for_servers else [ExtendedKeyUsageOID.CLIENT_AUTH]
        if hosts:
            purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        draft = (x509.CertificateBuilder().subject_name(_subject(name, groups)).issuer_name(self._name).public_key(key.public_key())
                 .serial_number(x509.random_serial_number()).not_valid_before(now + days[0] * DAY).not_valid_after(now + days[1] * DAY)
                 .add_extension(x509.ExtendedKeyUsage(purposes), critical=False))
        if hosts:
            draft = draft.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        cert = draft.sign(self._key, hashes.SHA256())
        stem = f"{name}-{cert.serial_number % 10**8}"
        made = ClientCert(self.folder / f"{stem}.pem", self.folder / f"{stem}.key", cert)
        made.cert_file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
        made.key_file.touch(mode=0o600)
        made.key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                    serialization.NoEncryption()))
        return made

    def revoke(self, cert: ClientCert) -> None:
        self._revoked.append(cert.cert.serial_number)
        self.write_crl()

    def write_crl(self, *, days: tuple[float, float] = (-1, 30)) -> None:
        now = datetime.datetime.now(datetime.UTC)
        crl = (x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now + days[0] * DAY)
               .next_update(now + days[1] * DAY))
        for serial in self._revoked:
            crl = crl.add_revoked_certificate(x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now - DAY).build())
        self.crl_file.write_bytes(crl.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
