"""Where things are, and a folder for each world that is short enough for unix sockets."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KAAS_BUILD", TOP / "build"))
BIN = TOP / "build/bin"
SOCKET_PATH_MAX = 100  # sun_path holds 108 bytes (unix(7))


class WorldError(Exception):
    """A part of the world did not do what it should; the text says which and shows the end of its log."""


def program(name: str) -> Path:
    """A program of this project, from the build under test; or one of the helpers beside it."""
    for path in (BUILD / name, BUILD / "src/main" / name, BUILD / "src/cli" / name, BIN / name):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise WorldError(f"{name} is not built in {BUILD}: run scripts/setup")


class Scratch:
    """A folder that goes away with the world; kept when KAAS_KEEP is set, for looking at logs."""

    def __init__(self, name: str = "w") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"kaas-{name}-", dir=self._parent()))
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


def free_port() -> int:
    """A port nobody listens on now. Another program could take it before its use; then the start fails loudly."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
