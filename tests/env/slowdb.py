"""Between kaasd and its database: a socket of its own that passes bytes on late, or breaks off at a chosen statement."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

PART_BYTES = 65536


@dataclass
class Cut:
    words: bytes = b""
    after: bytes = b""
    executed: bool = False
    times: int = 0


class SlowDb:
    """Context manager. What it does to bytes can be changed at any time; connections that are open feel it too."""

    def __init__(self, path: Path, database_socket: Path) -> None:
        self.path = path
        self.database_socket = database_socket
        self.delay_s = 0.0  # for each part that the server sends
        self.cuts = 0  # connections broken off
        self._cut = Cut()
        self._over = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)

    def cut_at(self, words: bytes, *, executed: bool, after: bytes = b"", times: int = 1) -> None:
        """The next statements with these words, of connections that have sent `after` before, are the last of their connections: they
        reach the server or not, the answer is lost."""
        with self._lock:
            self._cut = Cut(words, after, executed, times)

    def __enter__(self) -> SlowDb:
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.database_socket))
            except OSError:
                server.close()
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _take_cut(self, part: bytes, said: set[bytes]) -> Cut | None:
        """`said` keeps what this connection has sent of what matters."""
        with self._lock:
            cut = self._cut
            if cut.after in part:
                said.add(cut.after)
            if not cut.times or cut.words not in part or cut.after not in said:
                return None
            cut.times -= 1
            self.cuts += 1
            return cut

    def _carry(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        said: set[bytes] = set()
        with suppress(OSError):
            while part := source.recv(PART_BYTES):
                cut = self._take_cut(part, said) if is_client else None
                if cut:
                    self._break_off(source, target, part if cut.executed else b"")
                    break
                if not is_client and self.delay_s:
                    self._over.wait(self.delay_s)
                target.sendall(part)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        if is_client:
            with self._lock:
                self._open -= {source, target}

    @staticmethod
    def _break_off(client: socket.socket, server: socket.socket, last: bytes) -> None:
        """The client first, so that it cannot see the answer; the server's end of input makes it finish what it has."""
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        if last:
            server.sendall(last)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)
