"""A forger of tokens: takes tokens apart, signs others with any key, also with the installation's own key, which it gets out of the
database with the master key by code of its own (the format is in src/port/seal.h)."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import uuid
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256

from .mariadb import Mariadb

Parts = dict[str, Any]
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def header_of(token: str) -> Parts:
    return json.loads(unb64(token.split(".")[0]))


def claims_of(token: str) -> Parts:
    return json.loads(unb64(token.split(".")[1]))


def signing_input(header: Parts, claims: Parts) -> str:
    return f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"


def unsigned(header: Parts, claims: Parts) -> str:
    return f"{signing_input(header, claims)}."


def sign_hs256(header: Parts, claims: Parts, secret: bytes) -> str:
    text = signing_input(header, claims)
    return f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def sign_es256(header: Parts, claims: Parts, key: ec.EllipticCurvePrivateKey) -> str:
    text = signing_input(header, claims)
    r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(SHA256())))
    s = min(s, P256_ORDER - s)  # kaasd reads no other
    return f"{text}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def twin(token: str) -> str:
    """The same token with the other signature that ECDSA has for it: (r, n - s)."""
    head, _, signature = token.rpartition(".")
    raw = unb64(signature)
    return f"{head}.{b64(raw[:32] + (P256_ORDER - int.from_bytes(raw[32:], 'big')).to_bytes(32, 'big'))}"


def installation_key(db: Mariadb, master_key: Path) -> ec.EllipticCurvePrivateKey:
    """The private key that kaasd signs with."""
    ((kid, sealed),) = db.query("SELECT kid, sealed FROM signing_keys WHERE state = 'active'", database="kaas")
    head, nonce, rest = sealed[:5], sealed[5:17], sealed[17:]
    jwk = json.loads(AESGCM(master_key.read_bytes()).decrypt(nonce, rest, head + f"signing-key:{kid}".encode()))
    return ec.derive_private_key(int.from_bytes(unb64(jwk["d"]), "big"), ec.SECP256R1())


class Forger:
    """Variations of a good token, signed with the installation's own key."""

    def __init__(self, token: str, key: ec.EllipticCurvePrivateKey) -> None:
        self.header = header_of(token)
        self.claims = claims_of(token)
        self.key = key

    def token(self, *, without: str = "", header: Parts | None = None, **claims: Any) -> str:
        """The good token with some claims or header members changed, or without one."""
        changed = {k: v for k, v in {**self.claims, **claims}.items() if k != without}
        return sign_es256({**self.header, **(header or {})}, changed, self.key)

    def expired(self) -> str:
        now = int(time.time())
        return self.token(iat=now - 1000, exp=now - 100, jti=str(uuid.uuid4()))

    def of_the_future(self) -> str:
        now = int(time.time())
        return self.token(iat=now + 3600, exp=now + 4500)
