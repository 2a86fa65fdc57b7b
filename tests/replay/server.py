"""The servers of a replay: HTTPS for a vCenter, the CONNECT of its port 80, HTTPS for an HX Connect."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import email.utils
import gzip
import http.server
import json
import re
import socketserver
import ssl
import threading
import time
from collections import defaultdict, deque
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
OPERATION = re.compile(rb"Body>\s*<(?:[\w.-]+:)?([\w.-]+)")
SERVER_TIME = re.compile(r"(<(?:\w+:)?CurrentTimeResponse\b[^>]*><(?:\w+:)?returnval[^>]*>)([^<]*)")
MAX_WAIT = re.compile(rb"maxWaitSeconds>(\d+)<")
NOTHING = re.compile(r"<(?:\w+:)?WaitForUpdatesExResponse\b[^>]*?(?:/>|></)")
COOKIES = {"hex": "0123456789abcdef0123456789abcdef01234567", "uuid": "52000000-0000-4000-8000-000000000001", "other": "recorded-cookie"}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

Exchange = dict[str, Any]


class Recording:
    """The exchanges of a folder, each to be used once, in order."""

    def __init__(self, folder: Path) -> None:
        packed = folder / "exchanges.json.gz"
        text = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "exchanges.json").read_bytes()
        self.exchanges: list[Exchange] = json.loads(text)["exchanges"]
        self.table: list[dict[str, str]] = json.loads((folder / "table.json").read_text())
        self.refused: list[str] = []
        self._lock = threading.Lock()
        self._left: dict[str, deque[Exchange]] = defaultdict(deque)
        for exchange in self.exchanges:
            self._left[self._key(exchange["service"], exchange["method"], exchange["path"], exchange["name"])].append(exchange)

    @staticmethod
    def _key(service: str, method: str, path: str, operation: str) -> str:
        return f"{service} {operation}" if path == "/sdk" else f"{service} {method} {path}"

    def has(self, probe: str, result: str) -> bool:
        return {"probe": probe, "result": result} in self.table

    def take(self, service: str, method: str, path: str, operation: str) -> Exchange | None:
        """The next one of its kind; None, and a note, if there is none."""
        key = self._key(service, method, path, operation)
        with self._lock:
            if self._left[key]:
                return self._left[key].popleft()
            self.refused.append(key)
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = OPERATION.search(body)
        operation = found[1].decode() if found else self.command
        exchange = self.server.recording.take(self.server.service, self.command, self.path, operation)
        if exchange is None:
            self._answer(501, "text/plain", f"not recorded: {operation} {self.path}", {})
        elif "error" in exchange:
            self.close_connection = True
        else:
            self._play(exchange, body)

    do_POST = do_PUT = do_DELETE = do_GET

    def _play(self, exchange: Exchange, body: bytes) -> None:
        text = SERVER_TIME.sub(lambda m: m[1] + self._now(m[2]), exchange["answer"] or "")
        wait = MAX_WAIT.search(body)
        if wait and NOTHING.search(text):  # it was held for as long as the client wished
            time.sleep(int(wait[1]))
        headers = {}
        if exchange.get("cookie"):
            value = COOKIES[exchange["cookie"]]
            quoted = f'"{value}"' if exchange["cookie_is_quoted"] else value
            headers["Set-Cookie"] = f"vmware_soap_session={quoted}; Path=/; HttpOnly"
        if "date_offset_s" in exchange:
            headers["Date"] = email.utils.formatdate(time.time() + exchange["date_offset_s"], usegmt=True)
        self._answer(exchange["status"], exchange.get("content_type") or "text/plain", text, headers)

    @staticmethod
    def _now(recorded: str) -> str:
        """The time of the server: what was recorded is its distance from the clock of the pilot, told from 1970 on."""
        offset = datetime.datetime.fromisoformat(recorded) - EPOCH
        return (datetime.datetime.now(datetime.UTC) + offset).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _answer(self, status: int, content_type: str, text: str, headers: dict[str, str]) -> None:
        raw = text.encode()
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        if status != 204:
            self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)


class Server(socketserver.ThreadingTCPServer):
    """One port. With `is_tunnel` a CONNECT comes first, which is refused where the recording has no tunnel."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, recording: Recording, service: str, context: ssl.SSLContext, *, is_tunnel: bool = False) -> None:
        self.recording = recording
        self.service = service
        self._context = context
        self._is_tunnel = is_tunnel
        super().__init__((HOST, 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True, args=(0.05,)).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def handle_error(self, *_: object) -> None:
        """Clients that look at a certificate alone leave in the middle."""

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(30)
        if self._is_tunnel and not self._connect(request):
            return
        with self._context.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)

    def _connect(self, request: Any) -> bool:
        said = b""
        while b"\r\n\r\n" not in said and len(said) < 8192:
            part = request.recv(1)
            if not part:
                return False
            said += part
        is_there = said.startswith(b"CONNECT sdkTunnel:8089 ") and self.recording.has("tunnel", "ok")
        request.sendall(b"HTTP/1.1 200 OK\r\n\r\n" if is_there else b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        return is_there


class Replay:
    """Context manager; the certificate and its key are PEM files."""

    def __init__(self, folder: Path, certificate: Path, key: Path) -> None:
        self.recording = Recording(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        services = {exchange["service"] for exchange in self.recording.exchanges}
        self.vcenter = Server(self.recording, "vcenter", context)
        self.tunnel = Server(self.recording, "vcenter", context, is_tunnel=True)
        self.hx = Server(self.recording, "hx", context) if "hx" in services else None

    @property
    def refused(self) -> list[str]:
        return self.recording.refused

    def options(self) -> list[str]:
        """Those of kaasctl pilot that lead here; the way of trust and the passwords, which may be any, are the caller's."""
        tunnel = "0" if self.recording.has("tunnel", "skipped") else str(self.tunnel.port)
        hx = ["--hx", f"{HOST}:{self.hx.port}"] if self.hx else []
        return ["--vcenter", f"{HOST}:{self.vcenter.port}", "--tunnel-port", tunnel, "--direct-port", "0", *hx]

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self.vcenter, self.tunnel, self.hx):
            if server:
                server.shutdown()
                server.server_close()
