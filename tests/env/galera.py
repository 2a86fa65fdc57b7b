"""A Galera cluster of three MariaDB nodes on loopback: started from one prepared data folder, broken and healed at will.

Rootless. A node is killed with SIGKILL, and cut off from the others with the provider's own `gmcast.isolate`. Nodes that come back get the
writesets they have missed (IST); whole copies (SST) are never needed, since all began with the same data (see wsrep_sst_world)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from .places import CACHE, TOP, Scratch, WorldError, free_port
from .process import READY_LIMIT_S, Process, pause, run

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
SCRIPT = TOP / "scripts/mariadb-private"
SIZES = ("--innodb-log-file-size=4M", "--innodb-buffer-pool-size=32M", "--innodb-data-file-path=ibdata1:10M:autoextend",
         "--aria-log-file-size=8M")
# What Galera asks for, and how MariaDB's pages advise to run it: https://mariadb.com/kb/en/configuring-mariadb-galera-cluster/
ADVISED = ("--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2",
           "--innodb-flush-log-at-trx-commit=0", "--wsrep-slave-threads=4")
# A silent node is given up after 2 to 4 s instead of 5 to 15; everything else as it comes.
TIMES = {"evs.keepalive_period": "PT0.3S", "evs.inactive_check_period": "PT0.3S", "evs.suspect_timeout": "PT2S",
         "evs.inactive_timeout": "PT4S", "evs.install_timeout": "PT4S", "pc.recovery": "FALSE", "gcache.size": "64M"}
ENVIRONMENT = {"PATH": f"{TOP / 'tests/env'}:{os.environ.get('PATH', '')}:/usr/sbin"}
POSITION = re.compile(r"Recovered position: (\S+)")


def _mariadbd(*options: str) -> list[str]:
    root = ("--user=root",) if os.geteuid() == 0 else ()
    found = shutil.which("mariadbd", path=ENVIRONMENT["PATH"])
    if not found or not PROVIDER.exists():
        raise WorldError("mariadbd or Galera is missing: install the Debian packages mariadb-server-core and galera-4")
    return [found, "--no-defaults", *root, *SIZES, *ADVISED, *options]


class Node:
    """One server. The account root has no password."""

    def __init__(self, galera: Galera, number: int) -> None:
        self.galera = galera
        self.name = f"node{number}"
        self.folder = galera.folder / self.name
        self.folder.mkdir()
        self.data = self.folder / "data"
        self.socket = self.folder / "db.sock"
        self.group_port, self.ist_port = free_port(), free_port()
        self.process: Process | None = None

    def _provider(self) -> str:
        options = {**TIMES, "base_host": "127.0.0.1", "base_port": str(self.group_port),
                   "gmcast.listen_addr": f"tcp://127.0.0.1:{self.group_port}", "ist.recv_addr": f"127.0.0.1:{self.ist_port}"}
        return ";".join(f"{key}={value}" for key, value in options.items())

    def _options(self, *more: str) -> list[str]:
        members = ",".join(f"127.0.0.1:{node.group_port}" for node in self.galera.nodes)
        return _mariadbd(f"--datadir={self.data}", f"--socket={self.socket}", f"--pid-file={self.folder / 'pid'}", "--skip-networking",
                         f"--tmpdir={self.folder}",  # at its start it deletes the temporary tables of all others there
                         "--wsrep-on=ON", f"--wsrep-provider={PROVIDER}", f"--wsrep-cluster-address=gcomm://{members}",
                         "--wsrep-cluster-name=world", f"--wsrep-node-name={self.name}", "--wsrep-node-address=127.0.0.1",
                         "--wsrep-sst-method=world",
                         f"--wsrep-provider-options={self._provider()}", *more)

    def spawn(self, *more: str) -> None:
        self.process = Process(self.name, self._options(*more), self.galera.log, ENVIRONMENT)

    def recover(self) -> None:
        """Starts it again after a kill, from where its own files end."""
        said = self._recovered()
        self.spawn(f"--wsrep-start-position={said}")

    def _recovered(self) -> str:
        found = POSITION.search(run(self._options("--wsrep-recover"), env=ENVIRONMENT).stderr)
        if not found:
            raise WorldError(f"{self.name}: no position found after the kill")
        return found.group(1)

    def query(self, sql: str, *values: Any, database: str | None = None) -> list[tuple[Any, ...]]:
        """Rows of a statement, run as root by a client of its own."""
        where: dict[str, Any] = {"unix_socket": str(self.socket), "user": "root", "database": database, "ssl_disabled": True}
        with pymysql.connect(**where, autocommit=True, read_timeout=60) as connection, connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def status(self, name: str) -> str:
        """A status variable; "" while the server does not answer."""
        try:
            rows = self.query("SHOW GLOBAL STATUS LIKE %s", name)
        except pymysql.MySQLError:
            return ""
        return str(rows[0][1]) if rows else ""

    @property
    def is_synced(self) -> bool:
        return self.status("wsrep_local_state_comment") == "Synced" and self.status("wsrep_ready") == "ON"

    def wait_synced(self) -> None:
        assert self.process
        self.process.wait_until(lambda: self.is_synced, "being in step with the cluster")

    def kill(self) -> None:
        """As power loss would."""
        if self.process:
            self.process.kill()
            self.process = None

    def stop(self) -> None:
        if self.process:
            process, self.process = self.process, None
            process.stop()

    def isolate(self, is_alone: bool = True) -> None:
        """Cuts it off from the other nodes, or connects it again; its clients stay connected."""
        self.query(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={int(is_alone)}'")


class Galera:
    """The cluster, running when made."""

    def __init__(self, scratch: Scratch, count: int = 3) -> None:
        self.folder = scratch.path / "galera"
        self.folder.mkdir()
        self.log = scratch.log
        self.nodes: list[Node] = []
        for number in range(1, count + 1):
            self.nodes.append(Node(self, number))
            shutil.copytree(template(), self.nodes[-1].data)
        try:
            self._start()
        except BaseException:
            self.kill()
            raise

    def _start(self) -> None:
        for node in self.nodes:
            node.spawn(*(("--wsrep-new-cluster",) if node is self.nodes[0] else ()))
            node.wait_synced()

    @property
    def first(self) -> Node:
        return self.nodes[0]

    def wait_whole(self, size: int | None = None) -> None:
        """Until every node that runs sees `size` members and is in step."""
        wanted = str(size or len(self.nodes))
        begin = time.monotonic()
        running = [node for node in self.nodes if node.process]
        while not all(node.is_synced and node.status("wsrep_cluster_size") == wanted for node in running):
            if time.monotonic() > begin + READY_LIMIT_S:
                raise WorldError(f"the cluster of {wanted} is not whole after {READY_LIMIT_S:.0f} s")
            pause(begin)

    def counted(self, name: str) -> int:
        """A counting status variable, summed over the nodes that answer."""
        return sum(int(node.status(name) or 0) for node in self.nodes)

    def kill(self) -> None:
        """Nothing in the scratch folder is worth an orderly end."""
        for node in reversed(self.nodes):
            node.kill()


# -- the data folder that all nodes begin with ------------------------------------------------------------------------------


def _version() -> str:
    said = subprocess.run(_mariadbd("--version"), capture_output=True, text=True, check=True).stdout
    found = re.search(r"Ver (\S+)", said)
    return found.group(1) if found else "unknown"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def template() -> Path:
    """Made once per server version: a cluster of one that was ended in order, so that its files name a position."""
    target = CACHE / f"galera-{_version()}"
    CACHE.mkdir(exist_ok=True)
    with _locked(CACHE / "galera.lock"):
        if not target.is_dir():
            _make_template(target)
    return target


def _make_template(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kaas-galera-") as name:
        folder = Path(name)
        plain = folder / "plain"
        made = run([SCRIPT, "start", plain])
        ended = run([SCRIPT, "stop", plain])
        if made.returncode or ended.returncode:
            raise WorldError(f"mariadb-private: {made.stderr}{ended.stderr}")
        port = free_port()
        process = Process("template", _mariadbd(
            f"--datadir={plain / 'data'}", f"--socket={folder / 'db.sock'}", f"--tmpdir={folder}", "--skip-networking", "--wsrep-on=ON",
            f"--wsrep-provider={PROVIDER}",
            "--wsrep-cluster-address=gcomm://", "--wsrep-cluster-name=world",
            f"--wsrep-provider-options=base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};pc.recovery=FALSE"), folder, ENVIRONMENT)
        # the second comes later, and a server that is asked to end between the two never does
        process.wait_until(lambda: "Synchronized with group" in process.log and "mariadbd: ready for connections" in process.log,
                           "its own cluster")
        process.stop()
        shutil.copytree(plain / "data", folder / "copy", ignore=shutil.ignore_patterns("galera.cache", "gvwstate.dat", "ibtmp1"))
        shutil.move(folder / "copy", target)
