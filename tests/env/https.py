"""A server of HTTPS for the stand-ins that are written in Python."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .certs import ServerCert


class HttpsServer:
    """Runs from its making until `stop`. Each request, GET or POST, is handed to `answer`, those of different connections at once."""

    def __init__(self, cert: ServerCert, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def hand_over(self) -> None:
                answer(self)

            do_GET = do_POST = hand_over  # noqa: N815 (the library's names)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert.cert_file, cert.key_file)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
