"""CPU time of running programs, in nanoseconds as the scheduler counts it (proc(5), /proc/PID/task/TID/schedstat)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

CPUCLOCK_SCHED = 2


def _thread_ns(path: Path) -> int:
    try:
        return int(path.read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # ended meanwhile, or just before it was read
        return 0


def cpu_ns(pids: Iterable[int]) -> int:
    """Of all threads that live now; threads that have ended count no more."""
    return sum(_thread_ns(path) for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def process_ns(pid: int) -> int:
    """With the threads that have ended: the process's own clock (MAKE_PROCESS_CPUCLOCK of Linux's posix-timers.h)."""
    return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
