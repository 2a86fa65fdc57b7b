"""Readers in a process of their own, so that what else goes on in Python is not in their way: how long each answer took."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event

from env.kaasd import Kaasd
from env.writing import Wire

MS = 1000
ASKED = "/v2/clusters?limit=20"
_context = multiprocessing.get_context("spawn")


@dataclass
class Taken:
    ms: list[float] = field(default_factory=list)
    failed: int = 0

    def percentile(self, share: float) -> float:
        return sorted(self.ms)[int(len(self.ms) * share)]


def _read(wire: Wire, pause_s: float, stop: Event, taken: Taken) -> None:
    while not stop.wait(pause_s):
        began = time.monotonic()
        answer = wire.call("GET", ASKED)
        taken.ms.append((time.monotonic() - began) * MS)
        taken.failed += answer is None or answer.status_code != 200


def _work(addresses: Sequence[tuple[str, str, str]], pause_s: float, stop: Event, out: Queue[Taken]) -> None:
    taken = Taken()
    wires = [Wire(*address) for address in addresses]
    for wire in wires:
        wire.call("GET", ASKED)  # the handshake is not a read
    out.put(taken)
    threads = [threading.Thread(target=_read, args=(wire, pause_s, stop, taken)) for wire in wires]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put(taken)


class Readers:
    """One at each replica, who reads again `pause_s` after each answer. Nothing is repeated. Reading when made."""

    def __init__(self, daemons: Sequence[Kaasd], token: str, pause_s: float = 0.02) -> None:
        self._stop = _context.Event()
        self._out: Queue[Taken] = _context.Queue()
        addresses = [(daemon.url, str(daemon.tls.ca_file), token) for daemon in daemons]
        self._process = _context.Process(target=_work, args=(addresses, pause_s, self._stop, self._out), daemon=True)
        self._process.start()
        self._out.get(timeout=60)

    def stop(self) -> Taken:
        self._stop.set()
        taken = self._out.get(timeout=60)
        self._process.join()
        return taken
