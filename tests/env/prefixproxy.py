"""The way in which the vSphere Client shows a plug-in: pages and calls go through one address, below a path that names plug-in and server
(https://vcenter/plugins/<key>~<version>~<n>/<host>-<port>/...), and the script of the client's own that such pages load first
(tests/vcenter/client). Knows nothing of kaasd but its address."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import ssl
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

import requests

from .certs import ServerCert
from .places import TOP

SDK = TOP / "tests/vcenter/client/htmlClientSdk.js"
HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "content-encoding", "date", "server"}
FRAME = """<!doctype html><title>vSphere Client</title><body style="margin:0"><h1>HX-East, Monitor</h1>\
<iframe src="{}" style="border:0;width:100%;height:720px"></iframe></body>"""


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may leave at any time."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class PrefixProxy:
    """Context manager. `prefix` leads to the server behind; `/ui/` is the client itself, which shows a view in a frame."""

    def __init__(self, target: str, ca_file: Path, cert: ServerCert, key: str, version: str, port: int = 0) -> None:
        self.target = target
        self.ca_file = ca_file
        self.prefix = f"/plugins/{key}~{version}~1/{target.split('//')[1].replace(':', '-')}"
        self.frame = ""  # address of the view, once it is known
        # what the client tells its plug-in (htmlClientSdk.js); `without`: calls that it is too old for
        self.state: dict[str, Any] = {"objects": [], "vcenters": [], "theme": "light", "locale": "en-US", "without": [],
                                      "views": ["kaas.all", "kaas.cluster"], "prefix": self.prefix}
        self.session: Callable[[], str | None] = lambda: None  # a token of whoever is signed in at the client
        self.asked = 0  # how often that was asked for
        self.seen: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert.cert_file, cert.key_file)
        self.server = Server(("127.0.0.1", port), self._handler())
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> PrefixProxy:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.server.shutdown()
        self.server.server_close()

    def forward(self, handler: BaseHTTPRequestHandler) -> requests.Response:
        length = int(handler.headers.get("Content-Length") or 0)
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in HOP | {"host"}}
        return requests.request(handler.command, self.target + handler.path.removeprefix(self.prefix), headers=headers,
                                data=handler.rfile.read(length) if length else None, verify=str(self.ca_file), timeout=60,
                                allow_redirects=False)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                proxy.seen.append(f"{self.command} {self.path}")
                if self.path.startswith(proxy.prefix + "/"):
                    found = proxy.forward(self)
                    self.reply(found.status_code, dict(found.headers), found.content)
                elif self.path == "/ui/":
                    self.reply(200, {"Content-Type": "text/html; charset=utf-8"}, FRAME.format(proxy.frame).encode())
                elif self.path == "/api/ui/htmlClientSdk.js":
                    script = f"const STATE = {json.dumps(proxy.state)};\n{SDK.read_text()}"
                    self.reply(200, {"Content-Type": "text/javascript; charset=utf-8"}, script.encode())
                elif self.path == "/stub/session":
                    proxy.asked += 1
                    token = proxy.session()
                    about = json.dumps({"sessionToken": token, "nodeId": "node-1"}).encode()
                    self.reply(200 if token else 404, {"Content-Type": "application/json"}, about if token else b"")
                elif self.path == "/favicon.ico":
                    self.reply(204, {}, b"")
                else:
                    self.reply(404, {}, b"")

            def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_HEAD = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        return Handler
