"""A stand-in for the publisher of releases: signs release files, and serves them over HTTPS, in every wrong way, too."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from .certs import make_server_cert
from .https import HttpsServer

DAY = datetime.timedelta(days=1)
PATH = "/release.json"
NEWER = "99.1.0"
NOTES = ["Clusters of more than 100 nodes are listed at once.", "<b>HX</b> clusters tell their serial numbers & more."]
STEPS = ["Make a backup: kaasctl backup /var/backups/kaas/", "Install the packages on one host after the other."]


def when(from_now: datetime.timedelta) -> str:
    return (datetime.datetime.now(datetime.UTC) + from_now).strftime("%Y-%m-%dT%H:%M:%SZ")


def release(version: str = NEWER, **more: Any) -> dict[str, Any]:
    """A release file that nothing is wrong with; members of `more` are laid over it, and those that are None left out."""
    made = {"product": "harmony-kaas", "version": version, "released_at": when(-DAY), "valid_until": when(90 * DAY),
            "notes": NOTES, "notes_url": "https://kaas.example.com/releases", "steps": STEPS, **more}
    return {name: value for name, value in made.items() if value is not None}


class Publisher:
    """Context manager. What is served is set by `serve` or by `answer`, which sends what it likes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.cert = make_server_cert(folder / "tls")
        self.key = Ed25519PrivateKey.generate()
        self.key_file = folder / "publisher.pub"
        self.trust(self.key)
        self.content = self.signature = b""
        self.answer: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.asked: list[str] = []

    def __enter__(self) -> Publisher:
        self._leave = threading.Event()
        self._server = HttpsServer(self.cert, self._answer)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave.set()
        self._server.stop()

    @property
    def url(self) -> str:
        return f"https://localhost:{self._server.port}{PATH}"

    def trust(self, *keys: Ed25519PrivateKey) -> None:
        """The file of public keys that kaasd is given."""
        self.key_file.write_bytes(b"".join(key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo) for key in keys))

    def serve(self, content: dict[str, Any] | bytes, key: Ed25519PrivateKey | None = None) -> None:
        """Signed by this key in place of its own."""
        self.answer = None
        self.content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.signature = (key or self.key).sign(self.content)

    def put(self, folder: Path) -> None:
        """What is served, as files."""
        (folder / "release.json").write_bytes(self.content)
        (folder / "release.json.sig").write_bytes(self.signature)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        (self.answer or self._send_file)(request)

    def _send_file(self, request: BaseHTTPRequestHandler) -> None:
        body = {PATH: self.content, f"{PATH}.sig": self.signature}[request.path]
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    # -- other answers to the request for the file itself; its signature is served as ever -------------------------------------

    def misbehave(self, how: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.serve(release())

        def answer(request: BaseHTTPRequestHandler) -> None:
            if request.path == PATH:
                how(request)
            else:
                self._send_file(request)

        self.answer = answer

    def stream(self, request: BaseHTTPRequestHandler, piece: bytes, pause_s: float) -> None:
        """For ever, or until the client has enough."""
        request.send_response(200)
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        try:
            while not self._leave.wait(pause_s):
                request.wfile.write(piece)
        except OSError:
            pass

    @staticmethod
    def send_status(request: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
        request.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            request.send_header(name, value)
        request.end_headers()
