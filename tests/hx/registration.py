"""Where KaaS is, as HX is told it: the contract of docs/hx-publish.md from the side of HX. All of it is assumed: we have written it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import binascii
import hashlib
import http.client
import json
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from .forms import Refused, Request, once

MEMBERS = ("name", "instance_id", "api_url", "ui_url", "panel_url", "version", "certificate_pem", "expires", "nonce", "vcenter_id",
           "extension_key")
URLS = ("api_url", "ui_url", "panel_url")
NONCE = re.compile(r"[0-9a-f]{32}")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KEY = re.compile(r"[a-z0-9._-]{3,80}")
CHARS_MAX = {"name": 100, "version": 50, "certificate_pem": 16384, "api_url": 2048, "ui_url": 2048, "panel_url": 2048}
HELD_MAX = timedelta(days=7)
PROOF_MAX_BYTES = 4096
PROOF_S = 10.0
WAYS = ("token", "kerberos", "callback")


@dataclass(frozen=True)
class Record:
    """What a vCenter's extension list says of KaaS: the entry of type KAAS_API, and whose list and key it is."""

    vcenter_id: str
    key: str
    url: str
    sha256: str  # of the server's certificate, hexadecimal digits with or without colons

    @property
    def pin(self) -> str:
        return plain(self.sha256)


def plain(sha256: str) -> str:
    return sha256.replace(":", "").lower()


def pin_of(pem: str) -> str:
    """ValueError for what is no certificate, or more than one."""
    if pem.count("BEGIN CERTIFICATE") != 1:
        raise ValueError("not one certificate")
    der = ssl.PEM_cert_to_DER_cert(pem.strip())
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)  # that it parses
    return hashlib.sha256(der).hexdigest()


@dataclass
class Registrations:
    """`way`: the proof that is demanded; None: this HX has no such call, as every real one. `find_record`: of a callback, what the vCenter
    of this HX says now; None: it has no record of KaaS. `accept`: of Kerberos, name and answer to a token, or ValueError."""

    way: str | None = None
    find_record: Callable[[], Record | None] | None = None
    accept: Callable[[bytes], tuple[str, bytes]] | None = None
    names: tuple[str, ...] = ()  # of Kerberos: who may
    kept: dict[str, str] | None = None
    taken: list[dict[str, str]] = field(default_factory=list)  # all that were taken, in their order
    asked_back: list[str] = field(default_factory=list)  # nonces that KaaS was asked for
    proved: list[str] = field(default_factory=list)  # names that came by Kerberos

    def demand(self, way: str | None) -> None:
        if way is not None and way not in WAYS:
            raise ValueError(f"no such proof: {way}")
        self.way, self.kept = way, None

    # -- form ----------------------------------------------------------------------------------------------------------------

    def read(self, request: Request) -> dict[str, str]:
        """The members of a PUT, each as the contract has it."""
        try:
            value = json.loads(request.body.decode(), object_pairs_hook=once)
        except (ValueError, RecursionError):
            raise Refused(400, "the body is not JSON, or has a member twice") from None
        if not isinstance(value, dict) or value.keys() != {*MEMBERS} or not all(isinstance(text, str) and text for text in value.values()):
            raise Refused(400, f"the body has not the members {', '.join(MEMBERS)}, each a text")
        for name, text in value.items():
            if len(text) > CHARS_MAX.get(name, 200):
                raise Refused(400, f"{name} is too long")
        for name in URLS:
            url = urlsplit(value[name])
            if url.scheme != "https" or not url.hostname or url.username or url.query or url.fragment:
                raise Refused(400, f"{name} is no https address")
        for name, form in (("instance_id", UUID), ("vcenter_id", UUID), ("nonce", NONCE), ("extension_key", KEY)):
            if not form.fullmatch(value[name]):
                raise Refused(400, f"{name} is not well-formed")
        self._check_end(value["expires"])
        try:
            pin_of(value["certificate_pem"])
        except (ValueError, ssl.SSLError):
            raise Refused(400, "certificate_pem is not one certificate") from None
        return value

    @staticmethod
    def _check_end(text: str) -> None:
        try:
            left = datetime.fromisoformat(text) - datetime.now(UTC)
        except (ValueError, TypeError):
            raise Refused(400, "expires is no time of RFC 3339") from None
        if not timedelta(0) < left <= HELD_MAX:
            raise Refused(400, "expires is not within the next seven days")

    @staticmethod
    def read_query(query: dict[str, str]) -> dict[str, str]:
        """Of a DELETE."""
        if query.keys() != {"instance_id", "nonce"} or not UUID.fullmatch(query["instance_id"]) or not NONCE.fullmatch(query["nonce"]):
            raise Refused(400, "the query is not instance_id and nonce")
        return query

    # -- proof ---------------------------------------------------------------------------------------------------------------

    def prove_by_ticket(self, request: Request) -> bytes:
        """Returns the answer's token, by which HX proves itself in turn."""
        assert self.accept is not None
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Negotiate":
            raise Refused(401, "Kerberos is wanted", is_violation=False, WWW_Authenticate="Negotiate")
        try:
            name, answer = self.accept(base64.b64decode(text, validate=True))
        except (ValueError, binascii.Error):
            raise Refused(401, "the ticket is not good", is_violation=False, WWW_Authenticate="Negotiate") from None
        self.proved.append(name)
        if name not in self.names:
            raise Refused(403, f"{name} is not the account of KaaS")
        return answer

    def prove_by_callback(self, told: dict[str, str], body: bytes) -> None:
        """Asks KaaS where vCenter's record says that it is, under the certificate that the record names, whatever the request says."""
        assert self.find_record is not None
        record = self.find_record()
        if record is None:
            raise Refused(403, "vCenter has no record of KaaS", is_violation=False)
        if "api_url" in told:  # of a PUT
            self._compare(told, record)
        said = self._ask_back(record, told["nonce"])
        if said != {"instance_id": told["instance_id"], "sha256": hashlib.sha256(body).hexdigest()}:
            raise Refused(403, "KaaS does not say that this request is its own")

    @staticmethod
    def _compare(told: dict[str, str], record: Record) -> None:
        if told["api_url"] != record.url:
            raise Refused(403, "api_url is another address than that of vCenter's record", is_violation=False)
        if pin_of(told["certificate_pem"]) != record.pin:
            raise Refused(403, "certificate_pem is another certificate than that of vCenter's record", is_violation=False)
        if (told["vcenter_id"], told["extension_key"]) != (record.vcenter_id, record.key):
            raise Refused(403, "the record is that of another vCenter or key", is_violation=False)

    def _ask_back(self, record: Record, nonce: str) -> Any:
        url = urlsplit(record.url)
        self.asked_back.append(nonce)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the certificate itself is compared
        connection = http.client.HTTPSConnection(str(url.hostname), url.port or 443, timeout=PROOF_S, context=context)
        try:
            connection.connect()
            shown = connection.sock.getpeercert(binary_form=True)
            if not shown or hashlib.sha256(shown).hexdigest() != record.pin:
                raise Refused(403, "KaaS shows another certificate than that of vCenter's record", is_violation=False)
            connection.request("GET", f"{url.path}publications/{nonce}", headers={"Accept": "application/json"})
            answer = connection.getresponse()
            text = answer.read(PROOF_MAX_BYTES)
            return json.loads(text) if answer.status == 200 else None
        except (OSError, ValueError, http.client.HTTPException):
            raise Refused(403, "KaaS does not answer where vCenter's record says that it is", is_violation=False) from None
        finally:
            connection.close()

    # -- what is held --------------------------------------------------------------------------------------------------------

    def _held(self) -> dict[str, str] | None:
        if self.kept and datetime.fromisoformat(self.kept["expires"]) <= datetime.now(UTC):
            self.kept = None
        return self.kept

    def put(self, told: dict[str, str]) -> int:
        held = self._held()
        if held and held["instance_id"] != told["instance_id"]:
            raise Refused(409, "another KaaS is registered", is_violation=False)
        self.kept = told
        self.taken.append(told)
        return 200 if held else 201

    def delete(self, told: dict[str, str]) -> int:
        held = self._held()
        if held and held["instance_id"] != told["instance_id"]:
            raise Refused(409, "another KaaS is registered", is_violation=False)
        self.kept = None
        return 204
