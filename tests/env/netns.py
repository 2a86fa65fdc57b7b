"""A network of its own: programs that are started inside see its addresses, and nothing of this machine's."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from .places import Scratch, WorldError
from .process import Process, run


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

    def __enter__(self) -> Network:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._keeper.kill()
