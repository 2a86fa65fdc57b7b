"""The wire below the stand-in: TLS on a port of loopback, HTTP/1.1 in a thread for each connection, answers in good and in bad ways.
What is said is decided by connect.py."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .forms import BODY_MAX_BYTES, Refused, Request

DRIP_S = 0.2
REFUSED_MAX_BYTES = 16 * BODY_MAX_BYTES
CHUNK_LINES_MAX = 1000
HANDSHAKE_S = 60.0
STOP_S = 30.0


@dataclass
class Answer:
    """`way`: whole; cut: half of the body, then the end; drip: byte by byte; endless: without a length; none: nothing until the client
    goes."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    way: str = "whole"
    ends: bool = False  # the connection, after it


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are written apart
    server: Server

    def answer(self) -> None:
        try:
            request = Request(self.command, self.path, self.headers, self._body())
        except Refused as no:  # what follows cannot be told from the rest of the body
            self._send(self.server.refused(self.command, self.path, no))
            self.close_connection = True
            return
        self._send(self.server.answered(request))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer  # noqa: N815 (the library's names)

    def _body(self) -> bytes:
        """What is refused is read nevertheless: a client that is still sending would see the connection break in place of the answer."""
        if self.headers.get("Transfer-Encoding"):
            for _ in range(CHUNK_LINES_MAX):
                if self.rfile.readline(BODY_MAX_BYTES) in (b"", b"0\r\n"):
                    break
            self.rfile.readline(BODY_MAX_BYTES)
            raise Refused(411, "the body has no length")
        given = self.headers.get("Content-Length", "0")
        if not (given.isascii() and given.isdigit()):
            raise Refused(400, "the length of the body is no number")
        if int(given) > BODY_MAX_BYTES:
            self.rfile.read(min(int(given), REFUSED_MAX_BYTES))
            raise Refused(413, f"the body has {given} bytes")
        body = self.rfile.read(int(given))
        if len(body) < int(given):
            raise ConnectionAbortedError("the client has left within its body")
        return body

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Called by the library for what it cannot read, and for methods without a function here."""
        self.close_connection = True
        self._send(self.server.refused(self.command or "?", getattr(self, "path", "?"), Refused(int(code), message or "not HTTP")))

    def _send(self, answer: Answer) -> None:
        if answer.way == "none":
            self.close_connection = True
            self.server.wait_for_the_end(self.connection)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.way == "endless" or answer.ends:
            self.send_header("Connection", "close")  # the library closes it then
        if answer.way != "endless" and answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command == "HEAD" or answer.status in (204, 304):
            return
        match answer.way:
            case "cut":
                self.wfile.write(answer.body[:len(answer.body) // 2])
                self.close_connection = True
            case "drip":
                self._drip(answer.body)
            case _:
                self.wfile.write(answer.body)

    def _drip(self, body: bytes) -> None:
        for place in range(len(body)):
            self.wfile.write(body[place:place + 1])
            if self.server.leave.wait(DRIP_S):
                self.close_connection = True
                return

    def version_string(self) -> str:
        return "nginx"  # what the real services are behind

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """`answered` and `refused` make the answers; `context` gives the TLS for a new connection; `complain` is told what must not happen."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, context: Callable[[], ssl.SSLContext], answered: Callable[[Request], Answer],
                 refused: Callable[[str, str, Refused], Answer], complain: Callable[[str], None]) -> None:
        self.context, self.answered, self.refused, self.complain = context, answered, refused, complain
        self.leave = threading.Event()
        self.handshakes_broken = 0
        self._idle = threading.Condition()
        self._connections: list[ssl.SSLSocket] = []
        self._active = 0
        self._wake, self._woken = socket.socketpair()
        super().__init__(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ends every connection, and returns when no thread is left."""
        self.leave.set()
        self._wake.close()
        self.shutdown()
        self.server_close()
        self._thread.join()
        with self._idle:
            for connection in self._connections:
                self._shut(connection)
            if not self._idle.wait_for(lambda: self._active == 0, STOP_S):
                raise RuntimeError(f"{self._active} connections do not end")
        self._woken.close()

    def wait_until_quiet(self, limit_s: float) -> None:
        """Until no connection is open, however it is used."""
        with self._idle:
            if not self._idle.wait_for(lambda: self._active == 0, limit_s):
                raise TimeoutError(f"{self._active} connections are open after {limit_s} s")

    @staticmethod
    def _shut(connection: ssl.SSLSocket) -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not that of TLS: another thread is using it

    def wait_for_the_end(self, connection: socket.socket) -> None:
        """Until the client has left, or the server ends."""
        with selectors.DefaultSelector() as watched:
            watched.register(connection, selectors.EVENT_READ)
            watched.register(self._woken, selectors.EVENT_READ)
            while not self.leave.is_set():
                watched.select()
                if not self.leave.is_set() and not connection.recv(4096):
                    return

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._idle:
            self._active += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def finish_request(self, request: Any, client_address: Any) -> None:
        connection = self.context().wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        with self._idle:
            self._connections.append(connection)
            if self.leave.is_set():
                self._shut(connection)
        try:
            connection.settimeout(HANDSHAKE_S)
            try:
                connection.do_handshake()
            except OSError:  # of a client that does not trust the certificate, for one
                with self._idle:
                    self.handshakes_broken += 1
                return
            connection.settimeout(None)
            super().finish_request(connection, client_address)
        finally:
            with self._idle:
                self._connections.remove(connection)
            connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may leave at any time; anything else is a mistake of the stand-in, which must not pass unseen."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.complain(f"the stand-in itself failed: {traceback.format_exc()}")
