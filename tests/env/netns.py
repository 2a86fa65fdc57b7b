"""A network of its own: programs that are started inside see its addresses, and nothing of this machine's."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from .places import Scratch, WorldError
from .process import Process, run

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Network:
    """Context manager: a network namespace with these addresses on its loopback interface, beside 127.0.0.1 and ::1. `inside` stands
    before a command that is to run there. Files are where they are; so unix sockets lead in and out."""

    def __init__(self, scratch: Scratch, *addresses: str) -> None:
        own_user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        self._keeper = Process("network", ["unshare", *own_user, "--net", "sleep", "infinity"], scratch.log)
        enter_user = ("--user", "--preserve-credentials") if own_user else ()
        self.inside = ("nsenter", "--target", str(self._keeper.pid), *enter_user, "--net")
        self._keeper.wait_until(self._is_there, "a network of its own")
        self._ip("link", "set", "lo", "up")
        for address in addresses:
            self._ip("addr", "add", address, "dev", "lo")

    def _is_there(self) -> bool:
        """The namespace is made a moment after the process."""
        return Path(f"/proc/{self._keeper.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()

    def _ip(self, *words: str) -> None:
        done = run([*self.inside, "ip", *words])
        if done.returncode:
            raise WorldError(f"ip {' '.join(words)}: {done.stderr.strip()}")

    @property
    def pid(self) -> int:
        """Of a process in it: /proc/PID/ns/net leads there."""
        return self._keeper.pid

    @contextmanager
    def entered(self) -> Iterator[None]:
        """This thread, and all that it starts meanwhile, is in it; so are connections that it makes. For root."""
        with Path("/proc/thread-self/ns/net").open() as home, Path(f"/proc/{self.pid}/ns/net").open() as there:
            self._go(there.fileno())
            try:
                yield
            finally:
                self._go(home.fileno())

    @staticmethod
    def _go(namespace: int) -> None:
        if _libc.setns(namespace, CLONE_NEWNET):
            raise WorldError(f"setns(2): {os.strerror(ctypes.get_errno())}")

    def __enter__(self) -> Network:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._keeper.kill()
