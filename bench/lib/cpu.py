"""CPU time of running programs, in nanoseconds as the scheduler counts it (proc(5), /proc/PID/task/TID/schedstat)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def _thread_ns(path: Path) -> int:
    try:
        return int(path.read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # ended meanwhile, or just before it was read
        return 0


def cpu_ns(pids: Iterable[int]) -> int:
    """Of all threads that live now; threads that have ended count no more."""
    return sum(_thread_ns(path) for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
