"""Where things are, and a folder for each world that is short enough for unix sockets."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import random
import re
import shutil
import socket
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
USERS_BUILD = TOP / "build"
BIN = TOP / "build/bin"
# What is made once and fits any clone; may be removed at any time. scripts/lib/common.sh has the same default.
CACHE = Path(os.environ.get("KAAS_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kaas"))
PORTS = range(20000, 32000)
PORT_TRIES = 1000
MEMORY = Path("/dev/shm")
MEMORY_LEAST_BYTES = 8 << 30
SOCKET_PATH_MAX = 100  # sun_path holds 108 bytes (unix(7))


class WorldError(Exception):
    """A part of the world did not do what it should; the text says which and shows the end of its log."""


def build() -> Path:
    """The folder of the build under test."""
    return Path(os.environ.get("KAAS_BUILD", USERS_BUILD))


def program(name: str) -> Path:
    """A program of this project, from the build under test; or one of the helpers beside it."""
    for path in (build() / name, build() / "src/daemon" / name, build() / "src/cli" / name, BIN / name):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    # of tests: scripts/setup builds what users get
    helper = "" if name.count("/") < 2 else f", then: make -C {build()} world-programs store-programs"
    raise WorldError(f"{name} is not built in {build()}: run scripts/setup{helper}")


def use_memory() -> None:
    """Worlds and all other temporary files of this process in memory, unless TMPDIR names a place: a database server waits for the disk at
    each commit, which is half of the time that a world takes to start. Things stay as they are where memory is short, nothing may be run
    from there, or folders are to be kept."""
    if {"TMPDIR", "KAAS_KEEP"} & os.environ.keys() or not MEMORY.is_dir():
        return
    for left in MEMORY.glob("kaas-*-[0-9]*-*"):  # by a run that was killed
        if not Path("/proc", left.name.split("-")[-2]).exists():
            shutil.rmtree(left, ignore_errors=True)
    room = os.statvfs(MEMORY)
    free_kib = int(re.findall(r"^MemAvailable: *(\d+)", Path("/proc/meminfo").read_text(), re.M)[0])
    if min(room.f_bavail * room.f_frsize, free_kib << 10) >= MEMORY_LEAST_BYTES and not room.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(MEMORY)


class Scratch:
    """A folder that goes away with the world; kept when KAAS_KEEP is set, for looking at logs."""

    def __init__(self, name: str = "w") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"kaas-{name}-{os.getpid()}-", dir=self._parent()))
        (self.path / "log").mkdir()

    @staticmethod
    def _parent() -> str:
        wanted = os.environ.get("TMPDIR", "/tmp")
        return wanted if len(wanted) + 40 < SOCKET_PATH_MAX else "/tmp"

    @property
    def log(self) -> Path:
        return self.path / "log"

    def remove(self) -> None:
        if not os.environ.get("KAAS_KEEP"):
            shutil.rmtree(self.path, ignore_errors=True)


_kept_ports: list[socket.socket] = []


def _keep(port: int) -> bool:
    """Nobody listens there, and no other process of ours will be given it: a name in the kernel says so as long as this process lives."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0kaas-test-port-{port}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        name.close()
        return False
    _kept_ports.append(name)
    return True


def free_port() -> int:
    """A port that stays free until it is used: below those that the kernel hands out by itself (ip(7), ip_local_port_range), and ours."""
    for port in random.choices(PORTS, k=PORT_TRIES):
        if _keep(port):
            return port
    raise WorldError(f"{PORT_TRIES} ports from {PORTS[0]} to {PORTS[-1]} are taken")
