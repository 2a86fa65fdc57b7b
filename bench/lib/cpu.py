"""CPU time of running programs, in nanoseconds: of all their threads, those that have ended too, and of the processes they made."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

CPUCLOCK_SCHED = 2
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def process_ns(pid: int) -> int:
    """The process's own clock (MAKE_PROCESS_CPUCLOCK of Linux's posix-timers.h). A sum over the threads that live now would fall whenever
    one ends, as with servers that have a thread for each connection."""
    return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)


def children_of(pid: int) -> list[int]:
    """Also of those that another thread than the first one made."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found += map(int, path.read_text().split())
    return found


def _buried_ns(pid: int) -> int:
    """Of children that have ended and were waited for (cutime and cstime of proc(5)), in ticks of the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) * TICK_NS


def _tree_ns(pid: int) -> int:
    own = process_ns(pid) + _buried_ns(pid)
    for child in children_of(pid):
        with contextlib.suppress(OSError):  # ended meanwhile: counted with its parent from now on
            own += _tree_ns(child)
    return own


def cpu_ns(pids: Iterable[int]) -> int:
    """Of these processes, which must live, and all below them. Never falls, whatever their threads and children do."""
    return sum(_tree_ns(pid) for pid in pids)
