"""Instructions per request as the installation grows. Counted by callgrind, so that a busy machine changes nothing."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import re
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

from env.fill import add_sessions, add_users, fill
from env.kaasd import Kaasd, laid_over
from env.mariadb import Mariadb
from env.places import Scratch, program
from env.process import Process

from .listworld import OPTIONS, QUERY

SMALL = "200 clusters, 10 sessions"
WORLDS = {SMALL: (200, 10), "20,000 clusters, 10 sessions": (20000, 10), "200 clusters, 10,000 sessions": (200, 10000)}
REQUESTS = 2000  # the one check of a signature in each life, whose cost varies by chance, is a hundred times a request
WARM_UP = 20
TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.M)


class Client(http.client.HTTPConnection):
    """Keeps one connection to a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=300)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def get(self, token: str) -> None:
        self.request("GET", f"/v2/clusters{QUERY}", headers={"Authorization": f"Bearer {token}"})
        answer = self.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"the list is answered by {answer.status}: {body[:300]!r}")


class Counted(Kaasd):
    """kaasd below callgrind, which counts what the server threads do in the handler of a request."""

    def spawn(self) -> Process:
        counting = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/counts.%p", "--toggle-collect=httpd_handle_*",
                    "--fair-sched=yes"]
        self.process = Process(self.name, [*counting, program("kaasd"), "--config", self.config], self.scratch.log)
        return self.process

    def instructions(self) -> int:
        """Everything counted in the life of the process, which ends here."""
        assert self.process
        pid = self.process.pid
        self.process.signal(signal.SIGTERM)
        self.process.wait_end()
        self.process = None
        return int(TOTAL.findall((self.folder / f"counts.{pid}").read_text())[-1])


def count(kaasd: Counted, token: str, unix: Path, requests: int) -> int:
    kaasd.start()
    client = Client(unix)
    for _ in range(WARM_UP + requests):
        client.get(token)
    client.close()
    return kaasd.instructions()


def instructions_per_request(clusters: int, sessions: int) -> float:
    """From two lives of the daemon that differ in the number of requests only, so that start and warm-up fall out."""
    with ExitStack() as stack:
        scratch = Scratch("grow")
        stack.callback(scratch.remove)
        db = Mariadb(scratch)
        stack.callback(db.close)
        unix = scratch.path / "k.sock"
        kaasd = Counted(scratch, db.socket, options=laid_over(OPTIONS, {"server": {"unix_socket": str(unix)}}))
        kaasd.init()
        fill(db, clusters=clusters, nodes_per_cluster=0)
        add_users(db, 10, [1])
        add_sessions(db, sessions)
        Kaasd.spawn(kaasd).wait_until(kaasd.ready, "readiness")
        stack.callback(kaasd.stop)
        token = kaasd.api().login_password("person-1", kaasd.admin_password).token or ""
        kaasd.stop()
        few, many = (count(kaasd, token, unix, n) for n in (0, REQUESTS))
        return (many - few) / REQUESTS


def measure() -> dict[str, float]:
    return {name: instructions_per_request(*sizes) for name, sizes in WORLDS.items()}
