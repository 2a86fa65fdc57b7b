"""The limits of machines: each has a control group of its own, below one of its world, made before it boots.

With version 1 (https://docs.kernel.org/admin-guide/cgroup-v1/) that is one in each hierarchy, with version 2
(https://docs.kernel.org/admin-guide/cgroup-v2.html) one in all."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from pathlib import Path

TOP = Path("/sys/fs/cgroup")
PREFIX = "kaas-guests-"
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
NAMED = ("systemd", "unified")  # without controllers; two machines in one group would be one system for the programs in them
NEEDED = ("cpu", "cpuset", "memory", "pids")
PERIOD_US = 100_000
END_LIMIT_S = 30.0
STARVE_STEPS, STARVE_STEP_BYTES = 64, 8 << 20


class NoCgroups(Exception):
    """Machines cannot be limited here; the text says why."""


def is_unified() -> bool:
    return (TOP / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """Where a machine needs a group; controllers that are mounted as one are named once."""
    if is_unified():
        missing = set(NEEDED) - set((TOP / "cgroup.controllers").read_text().split())
        found = [TOP]
    else:
        missing = {name for name in NEEDED if not (TOP / name / "cgroup.procs").exists()}
        found = sorted({(TOP / name).resolve() for name in (*CONTROLLERS, *NAMED) if (TOP / name / "cgroup.procs").exists()})
    if missing:
        raise NoCgroups(f"machines need the cgroup controllers {', '.join(sorted(missing))} in {TOP}")
    return found


def _tree(group: Path) -> list[Path]:
    """It and all below, the deepest first."""
    return [Path(path) for path, _, _ in os.walk(group, topdown=False)] if group.is_dir() else []


def _pids(group: Path) -> list[int]:
    found: list[int] = []
    for one in _tree(group):
        with contextlib.suppress(OSError):  # just gone
            found += [int(word) for word in (one / "cgroup.procs").read_text().split()]
    return found


def _end_all(group: Path) -> None:
    """Kills what is in it, again and again since processes beget processes, until nothing is."""
    begin = time.monotonic()
    while pids := _pids(group):
        if time.monotonic() > begin + END_LIMIT_S:
            raise NoCgroups(f"{group}: processes {pids} do not end at SIGKILL")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _cpus_of(text: str) -> list[int]:
    """0-2,5 is 0, 1, 2, 5."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return found


def files_of(pid: int) -> list[Path]:
    """Those into which a process writes itself to be where that one is."""
    found = []
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        name = controllers.removeprefix("name=") or ("" if is_unified() else "unified")
        if (TOP / name / "cgroup.procs").exists():
            found.append(TOP / name / group.lstrip("/") / "cgroup.procs")
    return found


def memory_limit(pid: int) -> int:
    """In bytes, the least that holds for a process."""
    limits = []
    for procs in files_of(pid):
        for group in (procs.parent, *procs.parent.parents):
            for name in ("memory.max", "memory.limit_in_bytes"):
                if (group / name).exists() and (text := (group / name).read_text().strip()) != "max":
                    limits.append(int(text))
    return min(limits)


class Groups:
    """Those of one world, named after the process that keeps it."""

    def __init__(self, pid: int) -> None:
        self._hierarchies = hierarchies()
        self._name = f"{PREFIX}{pid}"
        self._turn = 0
        for hierarchy in self._hierarchies:
            if is_unified():
                self._delegate(hierarchy)
            self._make(hierarchy / self._name)
            if is_unified():
                self._delegate(hierarchy / self._name)

    @staticmethod
    def _delegate(group: Path) -> None:
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in NEEDED))

    @staticmethod
    def _make(group: Path) -> None:
        group.mkdir(exist_ok=True)
        if not is_unified() and (group / "cpuset.cpus").exists():  # empty ones take no process, and those below are to be as it is
            for name in ("cpuset.cpus", "cpuset.mems"):
                (group / name).write_text((group.parent / name).read_text())
            (group / "cgroup.clone_children").write_text("1")

    def _of(self, machine: str) -> list[Path]:
        return [hierarchy / self._name / machine for hierarchy in self._hierarchies]

    def _write(self, machine: str, name: str, value: str) -> None:
        """A file that one of its groups has."""
        for group in self._of(machine):
            if (group / name).exists():
                (group / name).write_text(value)
                return
        raise NoCgroups(f"{machine}: no cgroup has {name}")

    def cpus(self, count: int) -> list[int]:
        """Those of this host that the next machine gets, in turn; more than there are, are as many as there are."""
        there = _cpus_of((TOP / ("cpuset.cpus.effective" if is_unified() else "cpuset/cpuset.cpus")).read_text())
        own = [there[(self._turn + place) % len(there)] for place in range(min(count, len(there)))]
        self._turn += len(own)
        return sorted(own)

    def make(self, machine: str, *, cpus: list[int], memory_bytes: int) -> list[Path]:
        """Hands back the files into which a process writes itself to be in it."""
        for group in self._of(machine):
            self._make(group)
        self._write(machine, "cpuset.cpus", ",".join(map(str, cpus)))
        quota = len(cpus) * PERIOD_US
        if is_unified():
            self._write(machine, "cpu.max", f"{quota} {PERIOD_US}")
        else:
            self._write(machine, "cpu.cfs_quota_us", str(quota))
        self.limit_memory(machine, memory_bytes)
        return [group / "cgroup.procs" for group in self._of(machine)]

    def limit_memory(self, machine: str, limit_bytes: int) -> None:
        """May be changed while it runs."""
        self._write(machine, "memory.max" if is_unified() else "memory.limit_in_bytes", str(limit_bytes))

    def starve(self, machine: str) -> None:
        """Little more than it needs at this moment; what can be read again from its disk does not count."""
        (stat,) = [group / "memory.stat" for group in self._of(machine) if (group / "memory.stat").exists()]
        held = dict(line.split() for line in stat.read_text().splitlines())
        limit = int(held.get("total_rss") or held["anon"])
        for _ in range(STARVE_STEPS):
            limit += STARVE_STEP_BYTES
            with contextlib.suppress(OSError):  # EBUSY: it holds more than that
                self.limit_memory(machine, limit)
                return
        raise NoCgroups(f"{machine}: its memory cannot be limited to {limit} bytes")

    def freeze(self, machine: str, *, frozen: bool) -> None:
        """All of its processes stand still, or go on."""
        if is_unified():
            self._write(machine, "cgroup.freeze", str(int(frozen)))
        else:
            self._write(machine, "freezer.state", "FROZEN" if frozen else "THAWED")

    def remove(self, machine: str) -> None:
        """With whatever still runs in it."""
        _remove(self._of(machine))

    def close(self) -> None:
        _remove([hierarchy / self._name for hierarchy in self._hierarchies])


def _thaw(group: Path) -> None:
    """What is frozen does not die."""
    for name, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        with contextlib.suppress(OSError):
            if (group / name).exists():
                (group / name).write_text(value)


def _remove(groups: list[Path]) -> None:
    """Those of all hierarchies, with what is in them: processes that stand still in one are in the others as well."""
    for group in groups:
        for one in _tree(group):
            _thaw(one)
    for group in groups:
        _end_all(group)
    for group in groups:
        for one in _tree(group):
            with contextlib.suppress(FileNotFoundError):
                one.rmdir()


def remove_left_over_groups() -> None:
    """Groups of worlds whose keeper was killed."""
    found = [group for hierarchy in hierarchies() for group in hierarchy.glob(f"{PREFIX}*")]
    _remove([group for group in found if not Path("/proc", group.name.removeprefix(PREFIX)).exists()])
