"""Sealing as src/port/seal.h describes it, written a second time: so a test can put a secret of its own making into the database."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import hashlib
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .certs import DAY
from .full import EXTENSION_KEY, World
from .mariadb import Mariadb
from .vimclient import session

VERSION = b"\x01"


def seal(master_key: bytes, purpose: str, plain: bytes) -> bytes:
    nonce = os.urandom(12)
    head = VERSION + hashlib.sha256(master_key).digest()[:4]
    return head + nonce + AESGCM(master_key).encrypt(nonce, plain, head + purpose.encode())


def put_secret(db: Mariadb, master_key: bytes, owner_kind: str, owner_id: str, purpose: str, plain: bytes) -> None:  # noqa: PLR0913 - columns
    """A row of the table of secrets."""
    db.query("INSERT INTO secrets (owner_kind, owner_id, purpose, sealed) VALUES (%s, %s, %s, %s)", owner_kind, owner_id, purpose,
             seal(master_key, f"{purpose}:{owner_id}", plain), database="kaas")


def login_certificate(age_days: int, left_days: int) -> tuple[str, bytes]:
    """Certificate and key in PEM; the certificate was made so long ago."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kaas-login")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    cert = builder.not_valid_before(now - age_days * DAY).not_valid_after(now + left_days * DAY).sign(key, hashes.SHA256())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return cert.public_bytes(serialization.Encoding.PEM).decode(), pem


def age_login_certificate(world: World, master_key_file: Path, age_days: int, left_days: int) -> None:
    """The login certificate in force becomes one that was made long ago, in the database and at the vCenter. kaasd is stopped."""
    cert, key = login_certificate(age_days, left_days)
    vcenter = world.vcenter.instance_uuid
    sealed = seal(master_key_file.read_bytes(), f"login-certificate:{vcenter}", key)
    world.db.query(f"UPDATE vcenter_credentials SET cert_pem = '{cert}', sealed = X'{sealed.hex()}' WHERE state = 'active'",
                   database="kaas")
    with session(world.vcenter, world.vcenter.admin) as instance:
        instance.RetrieveContent().extensionManager.SetExtensionCertificate(extensionKey=EXTENSION_KEY, certificatePem=cert)
