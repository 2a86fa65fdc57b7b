"""A name server of a test's own, whose names mean what the test says, and another thing the next time. Its port is fixed (resolv.conf(5)),
so it has a loopback address to itself, and needs root."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from .places import Scratch

PORT, TYPE_A, CLASS_IN = 53, 1, 1
HEAD = ">HHHHHH"
AUTHORITATIVE = 0x8580  # an answer, authoritative, recursion as asked for and available (RFC 1035 4.1.1)
NO_SUCH_NAME = 3
FIRST_LABEL = b"\xc0\x0c"  # the name of the question (RFC 1035 4.1.4)
TRIES = 20


class Names:
    """A context manager. `addresses` of a name are told one a question, the last for ever; they may be changed meanwhile. `asked` has the
    names of questions for an IPv4 address. `inside` stands before a command that is to ask here."""

    def __init__(self, scratch: Scratch) -> None:
        self.addresses: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self._socket, host = self._listen()
        resolv, hosts = scratch.path / "resolv.conf", scratch.path / "hosts"
        resolv.write_text(f"nameserver {host}\noptions timeout:5 attempts:5\n")
        hosts.write_text("127.0.0.1 localhost\n")
        self.inside: Sequence[str] = ("unshare", "--mount", "--propagation", "private", "sh", "-c", self._mount(resolv, hosts), "sh")
        threading.Thread(target=self._serve, daemon=True).start()

    @staticmethod
    def _mount(resolv: Path, hosts: Path) -> str:
        return f'mount --bind {resolv} /etc/resolv.conf && mount --bind {hosts} /etc/hosts && exec "$@"'

    @staticmethod
    def _listen() -> tuple[socket.socket, str]:
        for _ in range(TRIES):
            host = f"127.{random.randrange(100, 250)}.{random.randrange(250)}.{random.randrange(1, 250)}"  # noqa: S311 - no secret
            taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                taken.bind((host, PORT))
            except OSError:
                taken.close()
            else:
                return taken, host
        raise OSError("no loopback address has its port 53 free")

    def __enter__(self) -> Names:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(OSError):  # ENOTCONN, but who waits is woken
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                question, whom = self._socket.recvfrom(512)
            except OSError:
                return
            if not question:  # shut
                return
            self._socket.sendto(self._answer(question), whom)

    def _answer(self, question: bytes) -> bytes:
        number, _, _, _, _, _ = struct.unpack_from(HEAD, question)
        at, labels = struct.calcsize(HEAD), []
        while size := question[at]:
            labels.append(question[at + 1:at + 1 + size].decode())
            at += 1 + size
        (kind,) = struct.unpack_from(">H", question, at + 1)
        name, asked = ".".join(labels), question[struct.calcsize(HEAD):at + 5]
        known = self.addresses.get(name)
        is_told = bool(known) and kind == TYPE_A
        head = struct.pack(HEAD, number, AUTHORITATIVE | (0 if known else NO_SUCH_NAME), 1, int(is_told), 0, 0)
        if not known or not is_told:
            return head + asked
        self.asked.append(name)
        address = known.pop(0) if len(known) > 1 else known[0]
        return head + asked + FIRST_LABEL + struct.pack(">HHIH", TYPE_A, CLASS_IN, 0, 4) + socket.inet_aton(address)
