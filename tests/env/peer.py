"""A stand-in for the controller of an HX cluster that others sign in to: a strict server of HTTP Negotiate, by MIT's own acceptor, which
can also be made to answer in every wrong way. It notes what it was sent."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import hashlib
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType

from .ad.domain import AdWorld
from .certs import ServerCert
from .https import HttpsServer
from .places import WorldError

PATH = "/session"
SKEW_S = 600


def end_point(cert: ServerCert) -> bytes:
    """What clients bind themselves to (RFC 5929): our certificates are signed with SHA-256."""
    der = ssl.PEM_cert_to_DER_cert(cert.cert_file.read_text())
    return b"tls-server-end-point:" + hashlib.sha256(der).digest()


@dataclass
class Peer:
    """Context manager. `mode` is how it answers:

    strict: 401 with Negotiate, then 200 with the token that proves it; 401 to what is no good
    silent_proof: takes the token, answers 200 and proves nothing        forbidden: as strict, but 403
    garbage, huge, two: 200 with a token that is none, is too long, is there twice
    rounds: 401 with a further token for ever                            other: offers Basic and NTLM only
    skewed: its clock is 10 minutes off; it says so
    open: 200 to everybody    redirect: 302 to `elsewhere`    error: 500    mute: takes the request and never answers
    """

    ad: AdWorld
    cert: ServerCert
    keytab: Path
    mode: str = "strict"
    elsewhere: str = ""
    tokens: list[str] = field(default_factory=list)  # values of Authorization, as they came
    asked: int = 0
    names: list[str] = field(default_factory=list)  # who has proved to be whom

    def __enter__(self) -> Peer:
        self._leave = threading.Event()
        for skew_s in (0, SKEW_S):  # begun here: such a process ends with the thread that has begun it
            self.ad.kerberos.speaker(skew_s)
        self._server = HttpsServer(self.cert, self._answer)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave.set()
        self._server.stop()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}{PATH}"

    def be(self, mode: str) -> None:
        """From now on; what it was sent so far is forgotten."""
        self.mode = mode
        self.tokens.clear()
        self.names.clear()
        self.asked = 0

    # -- answers -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def _send(request: BaseHTTPRequestHandler, status: int, *headers: tuple[str, str]) -> None:
        request.send_response(status)
        for name, value in headers:
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def _negotiate(self, request: BaseHTTPRequestHandler, status: int, token: bytes = b"") -> None:
        text = base64.b64encode(token).decode()
        self._send(request, status, ("WWW-Authenticate", f"Negotiate {text}".strip()))

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        given = request.headers.get("Authorization")
        if given:
            self.tokens.append(given)
        match self.mode:
            case "open":
                self._send(request, 200)
            case "error":
                self._send(request, 500)
            case "redirect":
                self._send(request, 302, ("Location", self.elsewhere), ("WWW-Authenticate", "Negotiate"))
            case "other":
                self._send(request, 401, ("WWW-Authenticate", 'NTLM, Basic realm="a, Negotiate x"'))
            case "mute":
                self._leave.wait()
            case _ if not given:
                self._send(request, 401, ("WWW-Authenticate", 'Basic realm="a \\", b", Negotiate'), ("WWW-Authenticate", "NTLM"))
            case _:
                self._judge(request, given)

    def _judge(self, request: BaseHTTPRequestHandler, given: str) -> None:
        match self.mode:
            case "silent_proof":
                return self._send(request, 200)
            case "garbage":
                return self._negotiate(request, 200, b"\x60\x02no")
            case "huge":
                return self._negotiate(request, 200, bytes(66 * 1024))
            case "rounds":
                return self._negotiate(request, 401, bytes.fromhex("a1073005a0030a0101"))  # NegTokenResp, accept-incomplete
        scheme, _, text = given.partition(" ")
        try:
            if scheme != "Negotiate":
                raise WorldError(f"the scheme is {scheme}")
            token = base64.b64decode(text, validate=True)
            if self.mode == "skewed":
                told = self.ad.kerberos.speaker(SKEW_S).ask("accept", keytab=f"FILE:{self.keytab}", token=text, tell=True)
                return self._negotiate(request, 401, base64.b64decode(told["token"]))
            seen = self.ad.kerberos.accepted(self.keytab, token, end_point(self.cert))
        except (WorldError, ValueError):
            return self._negotiate(request, 401)
        if not (seen["complete"] and seen["bound"]) or seen["delegated"]:
            return self._negotiate(request, 401)
        self.names.append(seen["name"])
        proof = base64.b64decode(seen["token"])
        if self.mode == "two":
            value = f"Negotiate {seen['token']}"
            return self._send(request, 200, ("WWW-Authenticate", value), ("WWW-Authenticate", value))
        return self._negotiate(request, 403 if self.mode == "forbidden" else 200, proof)
