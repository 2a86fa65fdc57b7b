#!/usr/bin/env python3
"""2,000 requests that wait for the list of clusters to change (GET /v2/clusters?watch=): threads and memory they take, and how they are
answered after one change: all of them, how soon, for how much CPU time.

Options: --rounds 5. Each round begins with new connections. The raw rounds go to bench/out/watchers.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import re
import selectors
import socket
import ssl
import statistics
import time
from pathlib import Path

from env.api import Api
from env.full import World
from env.wait import until
from env.watching import add_cluster, metric
from lib.cpu import cpu_ns
from lib.figures import Report, estimate

WAITERS = 2000
OF_A_SESSION = 8  # KAAS_WATCHES_PER_SESSION_MAX
OF_A_PERSON = 64  # KAAS_WATCHES_PER_PRINCIPAL_MAX
PASSWORD = "a long enough password"
LIMIT_S = 50  # they wait 60 s
OPTIONS = {"log": {"level": "notice"}, "server": {"connections_per_address": 0, "requests_per_address": 0}}
ANSWER = re.compile(rb"HTTP/1\.1 (\d+)")


class Server:
    """What the kernel says of kaasd."""

    def __init__(self, pid: int) -> None:
        self.pids = [pid]
        self._status = Path(f"/proc/{pid}/status")
        self.threads_before, self.resident_before_kb = self.threads(), self.resident_kb()  # memory of the first round is kept for the next

    def _field(self, name: str) -> int:
        return int(re.search(rf"^{name}:\s+(\d+)", self._status.read_text(), re.M)[1])

    def threads(self) -> int:
        return self._field("Threads")

    def resident_kb(self) -> int:
        return self._field("VmRSS")


def warm_up(world: World, api: Api) -> None:
    """Threads that start on first use."""
    add_cluster(world, "warm", [])
    until(lambda: api.names() and metric(world.admin, "kaas_list_watches") == 0, "the first cluster")


def sign_in(world: World) -> list[Api]:
    """As many sessions as can wait so often, of as few people as may have them."""
    names = [f"waiter-{n}" for n in range(-(-WAITERS // OF_A_PERSON))]
    for name in names:
        person = {"name": name, "role": "provisioner", "password": PASSWORD, "must_change_password": False}
        world.admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json=person)
    return [world.kaasd.api().login_password(name, PASSWORD) for name in names for _ in range(OF_A_PERSON // OF_A_SESSION)]


def wait_all(world: World, sessions: list[Api]) -> list[ssl.SSLSocket]:
    """Each asks as soon as it is connected: a connection without a request is closed after some seconds."""
    context = ssl.create_default_context(cafile=str(world.kaasd.tls.ca_file))
    cursor = sessions[0].call("GET", "/v2/clusters", params={"watch": ""}).headers["KaaS-Watch-Cursor"]
    made = []
    for i in range(WAITERS):
        raw = socket.create_connection(("127.0.0.1", world.kaasd.port), timeout=LIMIT_S)
        made.append(context.wrap_socket(raw, server_hostname="127.0.0.1"))
        made[-1].sendall((f"GET /v2/clusters?watch={cursor}&wait=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                          f"Authorization: Bearer {sessions[i // OF_A_SESSION].token}\r\n\r\n").encode())
    until(lambda: metric(world.admin, "kaas_list_watches") == WAITERS, "all of them waiting", limit_s=LIMIT_S)
    return made


def read_some(connection: ssl.SSLSocket) -> bytes | None:
    """None: a TLS record without any of the answer in it, such as a session ticket."""
    try:
        return connection.recv(65536)
    except ssl.SSLWantReadError:
        return None


def read_all(connections: list[ssl.SSLSocket], since_s: float) -> list[float]:
    """When each good answer began to arrive, in seconds since then; sorted."""
    at_s: list[float] = []
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ, connection)
        while selector.get_map() and time.monotonic() - since_s < LIMIT_S:
            for key, _ in selector.select(1):
                said = read_some(key.data)
                if said is None:
                    continue
                selector.unregister(key.fileobj)
                answer = ANSWER.match(said)
                if answer and answer[1] == b"200":
                    at_s.append(time.monotonic() - since_s)
    return sorted(at_s)


def one_round(world: World, server: Server, sessions: list[Api], name: str) -> dict[str, float]:
    connections = wait_all(world, sessions)
    row = {"threads": server.threads() - server.threads_before,
           "kb_waiter": (server.resident_kb() - server.resident_before_kb) / WAITERS}
    began_ns, began_s = cpu_ns(server.pids), time.monotonic()
    add_cluster(world, name, [])
    at_s = read_all(connections, began_s)
    row |= {"good": len(at_s), "cpu_us": (cpu_ns(server.pids) - began_ns) / 1000 / WAITERS}
    if at_s:
        row |= {"first_ms": at_s[0] * 1000, "last_ms": at_s[-1] * 1000}
    for connection in connections:
        connection.close()
    until(lambda: metric(world.admin, "kaas_list_watches") == 0, "nobody waiting")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    report = Report("watchers")
    with World("watchers", options=OPTIONS) as world:
        world.join()
        assert world.kaasd.process
        sessions = sign_in(world)
        warm_up(world, sessions[0])
        server = Server(world.kaasd.process.pid)
        rows = [one_round(world, server, sessions, f"change-{n}") for n in range(rounds)]
    for key in rows[0]:
        print(f"{key:10} {statistics.median(row[key] for row in rows):10.1f}   {min(row[key] for row in rows):.1f} to "
              f"{max(row[key] for row in rows):.1f}")
    report.goal("threads", f"threads more with {WAITERS} waiting", estimate([row["threads"] for row in rows]), 0, at_most=True)
    report.goal("good", "of which were answered after one change", estimate([row["good"] for row in rows]), WAITERS)
    report.print()
    report.write(rows)


if __name__ == "__main__":
    main()
