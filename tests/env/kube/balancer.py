"""An address that leads to an API server, and later to another one: as a balancer, a floating address, or a name that was given anew."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType

from ..places import free_port
from .server import Kube

HOST = "127.0.0.1"
PIECE_BYTES = 65536


class _Connection:
    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.heard_at = time.monotonic()

    def cut(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Balancer:
    """Open when made; a context manager. It carries bytes, TLS and all: what is open stays with the server that it began with."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube  # to whom a connection leads that is opened
        self.port = free_port()
        self._lock = threading.Lock()
        self._open: set[_Connection] = set()
        self._listener = socket.create_server((HOST, self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Balancer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    def quiet(self, seconds: float) -> list[_Connection]:
        """Those over which nothing has come for so long: watches, since a connection of calls has something to carry all the time."""
        before = time.monotonic() - seconds
        with self._lock:
            return [one for one in self._open if one.heard_at < before]

    def cut(self, some: list[_Connection] | None = None) -> None:
        """They break, or all."""
        with self._lock:
            for one in self._open if some is None else some:
                one.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                one = _Connection(client, socket.create_connection((self.kube.host, self.kube.port)))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open.add(one)
            for ends in ((one.client, one.server), (one.server, one.client)):
                threading.Thread(target=self._carry, args=(one, *ends), daemon=True).start()

    def _carry(self, one: _Connection, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                one.heard_at = time.monotonic()
                target.sendall(piece)
        one.cut()
        with self._lock:
            self._open.discard(one)
