"""A clock of one daemon that a test puts forward: minutes pass for it in no time."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from .full import World
from .places import Scratch, program
from .process import READY_LIMIT_S

T = TypeVar("T")
FORM = "=q"
PAUSE_S = 0.1


class Clock:
    """Give `env` to the daemon. The file outlives a restart, and so does the time that was gained: clocks do not go back.

    The daemon's calls to others by HTTPS go by real time, since others do: none times out because a step came meanwhile. With
    `hurries_calls` they do, for tests in which nobody answers."""

    def __init__(self, path: Path, *, hurries_calls: bool = False) -> None:
        self.path = path
        self.ahead_s = 0.0
        self.path.write_bytes(struct.pack(FORM, 0))
        self.env = {"LD_PRELOAD": str(program("tests/integ/forward_clock.so")), "KAAS_TEST_CLOCK": str(path),
                    **({"KAAS_TEST_CLOCK_CALLS": "1"} if hurries_calls else {})}

    def advance(self, seconds: float, step_s: float = 5.0) -> None:
        """In steps with a moment of real time between them, in which the daemon does what is due. But for calls, what it does during a step
        takes that long for it."""
        end = self.ahead_s + seconds
        while self.ahead_s < end:
            self._set(min(end, self.ahead_s + step_s))
            time.sleep(PAUSE_S)

    def hasten(self, happened: Callable[[], T | None], what: object) -> T:
        """As wait.until, with a second of the daemon's time for each look: for what it tries again after a pause. On a slow machine looks
        are slow too, so that a call always has some seconds of real time."""

        end = time.monotonic() + READY_LIMIT_S
        while not (found := happened()):
            assert time.monotonic() < end, f"no sign of {what} in {READY_LIMIT_S:.0f} s"
            self.advance(1)
        return found

    def _set(self, ahead_s: float) -> None:
        self.ahead_s = ahead_s
        with self.path.open("r+b") as file:  # in place: the daemon has it mapped
            file.write(struct.pack(FORM, int(ahead_s * 1000)))


@contextmanager
def clocked_world(name: str, *, hurries_calls: bool = False, **more: Any) -> Iterator[tuple[World, Clock]]:
    """A whole world whose daemon, and each replica beside it, goes by this clock."""
    scratch = Scratch("k")
    clock = Clock(scratch.path / "clock", hurries_calls=hurries_calls)
    try:
        with World(name, env=clock.env, **more) as whole:
            yield whole, clock
    finally:
        scratch.remove()
