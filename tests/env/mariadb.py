"""A private MariaDB server in the scratch folder, reached by its unix socket only."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pymysql

from .places import TOP, Scratch, WorldError
from .process import run

SCRIPT = TOP / "scripts/mariadb-private"


class Mariadb:
    """Running when made. The account root has no password; everything goes with the scratch folder."""

    def __init__(self, scratch: Scratch, name: str = "db", options: tuple[str, ...] = ()) -> None:
        """`options` are for each start."""
        self.options = options
        self.folder = scratch.path / name
        self.socket = self.folder / "db.sock"
        self._guard = self._watch()
        self.start()

    def _watch(self) -> subprocess.Popen[bytes]:
        """The server is a session of its own; this one ends it when we are gone, however that came: its input closes then."""
        script = 'read -r _ || true; exec "$0" kill "$1"'
        return subprocess.Popen(["sh", "-c", script, str(SCRIPT), str(self.folder)], stdin=subprocess.PIPE, start_new_session=True)

    def _script(self, command: str, *more: str) -> str:
        result = run([SCRIPT, command, self.folder, *more])
        if result.returncode:
            raise WorldError(f"mariadb-private {command}: {result.stderr.strip()}")
        return result.stdout.strip()

    def start(self, *options: str) -> None:
        """Starts it, again after a stop or kill with the same data."""
        self.socket = Path(self._script("start", *self.options, *options))

    def stop(self) -> None:
        self._script("stop")

    def close(self) -> None:
        """Stops it for good."""
        self.stop()
        self._guard.communicate()

    def kill(self) -> None:
        """As a power cut."""
        self._script("kill")

    @property
    def pid(self) -> int:
        return int(self._script("pid"))

    def freeze(self) -> None:
        """The server stops answering but keeps its connections; returns when it stands still."""
        self._script("freeze")

    def thaw(self) -> None:
        self._script("thaw")

    def connection(self) -> Any:
        """One of root's that stays open: a context manager."""
        return pymysql.connect(unix_socket=str(self.socket), user="root", autocommit=True, ssl_disabled=True)

    def query(self, sql: str, *values: Any, database: str | None = None) -> list[tuple[Any, ...]]:
        """Rows of a statement, run as root by a client of its own."""
        # By default a client reads all certificates of the system first, which is most of what a statement costs.
        with pymysql.connect(unix_socket=str(self.socket), user="root", database=database, autocommit=True,
                             ssl_disabled=True) as connection, connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def dump(self) -> bytes:
        """Everything the server has written to disk and keeps, for searching what must not be there."""
        passing = self.folder / "tmp"  # temporary tables, gone at any moment
        return b"".join(path.read_bytes() for path in sorted(self.folder.rglob("*"))
                        if path.is_file() and not path.is_socket() and path.parent != passing)
