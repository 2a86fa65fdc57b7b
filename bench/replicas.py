#!/usr/bin/env python3
"""How fast replicas learn of each other, and how fast others take over: a change from one replica to the next, on one server and on
Galera; colliding writes on Galera, and readers with and without them; the longest wait of a client behind haproxy when a replica is killed;
until a lease is in other hands then; the longest pause of writes when a Galera node is killed.
The raw rounds go to bench/out/replicas.json; rows that are not measured anew stay. Rows: --only change,galera,writes,kill,lease,node."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import resource
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from env.full import World
from env.galera import Galera
from env.haproxy import Haproxy
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.replicas import Pair, Replicas
from env.wait import until
from env.writing import BODY, GROUND, Client, Load, wait_made
from lib.cpu import cpu_ns
from lib.figures import OUT, Report
from lib.readers import Readers, Taken

ROWS = ("change", "galera", "writes", "kill", "lease", "node")
CHANGES = 7  # in each round: a change takes a moment, the rest does not
WRITES = 500  # in one round
QUIET_S = 3
HOT = 6  # clusters that all writers change
PATCH = {"Content-Type": "application/merge-patch+json"}
MS = 1000


class Database(Protocol):
    def query(self, sql: str, *values: Any, database: str | None = None) -> list[tuple[Any, ...]]: ...


class Installation:
    """Replicas with one cluster to change."""

    def __init__(self, scratch: Scratch, sockets: Sequence[Path], database: Database) -> None:
        self.replicas = Replicas(scratch, sockets, {"log": {"level": "warning"}})
        for sql in GROUND:
            database.query(sql, database="kaas")
        self.replicas.start()
        self.token = self.replicas.token()
        api = self.replicas.all[0].api(self.token)
        self.cluster = api.expect(201, "POST", "/v2/clusters", json={"name": "hot", "description": "0", **BODY})["id"]
        for daemon in self.replicas.all:
            until(lambda daemon=daemon: "hot" in daemon.api(self.token).names(), "the cluster everywhere")  # type: ignore[misc]

    def client(self, daemon: Kaasd, url: str | None = None) -> Client:
        return Client(daemon, self.token, url)


def change_ms(here: Installation, rounds: int) -> list[float]:
    """From the answer of a change at one replica until the other serves it."""
    writer, reader = (here.client(daemon) for daemon in here.replicas.all[:2])
    taken = []
    for number in range(rounds):
        time.sleep(0.01 * (number % 25))  # at any time between two polls
        answer = writer.call("PATCH", f"/v2/clusters/{here.cluster}", json={"description": f"c{number}"}, headers=PATCH)
        began = time.monotonic()
        if answer is None or answer.status_code != 200:
            raise SystemExit("a change was refused")
        while True:
            shown = reader.call("GET", f"/v2/clusters/{here.cluster}")
            if shown is not None and shown.json()["description"] == f"c{number}":
                break
            time.sleep(0.001)
        taken.append((time.monotonic() - began) * MS)
    return taken


class Waiting:
    """Clients that ask all the time, repeating once what fails on its connection; keeps how long each answer took."""

    def __init__(self, here: Installation, url: str, count: int = 4) -> None:
        self.taken: list[float] = []
        self.failed = self.repeated = 0
        self._stop = threading.Event()
        clients = [here.client(here.replicas.all[0], url) for _ in range(count)]
        self._threads = [threading.Thread(target=self._ask, args=(client,), daemon=True) for client in clients]
        for thread in self._threads:
            thread.start()

    def _ask(self, client: Client) -> None:
        while not self._stop.wait(0.005):
            began = time.monotonic()
            answer = client.call("GET", "/v2/clusters")
            if answer is None:
                self.repeated += 1
                answer = client.call("GET", "/v2/clusters")
            self.failed += answer is None or answer.status_code != 200
            self.taken.append((time.monotonic() - began) * MS)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def kill_round(here: Installation, balancer: Haproxy, victim: Kaasd) -> dict[str, float]:
    waiting = Waiting(here, balancer.url)
    until(lambda: len(waiting.taken) > 50, "answers")
    before = len(waiting.taken)
    victim.kill()
    until(lambda: balancer.up() == 1, "the balancer's notice")
    until(lambda: len(waiting.taken) > before + 200, "further answers")
    waiting.stop()
    victim.start()
    until(lambda: balancer.up() == 2, "the balancer's trust")
    return {"longest_wait_ms": max(waiting.taken[before:]), "failed": waiting.failed, "repeated": waiting.repeated}


def measure_single(wanted: set[str], rounds: int, raw: dict[str, Any]) -> None:
    with ExitStack() as stack:
        scratch = Scratch("bench")
        stack.callback(scratch.remove)
        database = Mariadb(scratch)
        stack.callback(database.close)
        here = Installation(scratch, [database.socket] * 2, database)
        stack.callback(here.replicas.stop)
        if "change" in wanted:
            raw["change"] = change_ms(here, rounds * CHANGES)
        for kind in ("ending TLS", "passing TLS through") if "kill" in wanted else ():
            balancer = Haproxy(scratch, kind, here.replicas.all)
            raw[f"kill, {kind}"] = [kill_round(here, balancer, here.replicas.all[n % 2]) for n in range(rounds)]
            balancer.stop()


def node_round(here: Installation, galera: Galera) -> dict[str, float]:
    """Writes at all replicas, one of whose nodes is killed: how long none was acknowledged, what the writers were told."""
    load = Load([lambda daemon=daemon: here.client(daemon) for daemon in here.replicas.all], [here.cluster]).start()  # type: ignore[misc]
    wait_made(load, 100)
    seen, pause, last = load.told.made, 0.0, time.monotonic()
    began, first = last, load.told.made
    galera.nodes[2].kill()
    while load.told.made < first + 200:
        time.sleep(0.002)
        if load.told.made > seen:
            seen, pause, last = load.told.made, max(pause, time.monotonic() - last), time.monotonic()
        if time.monotonic() - began > 120:
            raise SystemExit("no writes any more")
    galera.nodes[2].recover()
    galera.wait_whole()
    told = load.stop()
    if told.faults:
        raise SystemExit(f"something went wrong: {told.faults[:3]}")
    until(lambda: len({str(sorted(here.client(daemon).read_all())) for daemon in here.replicas.all}) == 1, "the same list everywhere")
    return {"pause_ms": pause * MS, "made": told.made, "refused": told.refused, "unknown": told.unknown}


def spent_s(here: Installation, galera: Galera) -> dict[str, float]:
    """Processor time until now."""
    mine = resource.getrusage(resource.RUSAGE_SELF)
    return {"kaasd": cpu_ns(daemon.process.pid for daemon in here.replicas.all if daemon.process) / 1e9,
            "database": cpu_ns(node.process.pid for node in galera.nodes if node.process) / 1e9,
            "writers": mine.ru_utime + mine.ru_stime}


def reads_of(taken: Taken) -> dict[str, float]:
    return {"reads": len(taken.ms), "reads_failed": taken.failed,
            "read_p50_ms": taken.percentile(0.5), "read_p99_ms": taken.percentile(0.99)}


def quiet_round(here: Installation) -> dict[str, float]:
    """The same readers as in rate_round, alone."""
    readers = Readers(here.replicas.all, here.token)
    time.sleep(QUIET_S)
    taken = readers.stop()
    return reads_of(taken)


def rate_round(here: Installation, galera: Galera, hot: Sequence[str]) -> dict[str, float]:
    failed, aborted = galera.counted("wsrep_local_cert_failures"), galera.counted("wsrep_local_bf_aborts")
    readers = Readers(here.replicas.all, here.token)
    makers = [lambda daemon=daemon: here.client(daemon) for daemon in here.replicas.all]  # type: ignore[misc]
    load = Load(makers, hot, 0.005, 0.4).start()
    wait_made(load, WRITES // 10)
    before, first, began = spent_s(here, galera), load.told.made, time.monotonic()
    wait_made(load, WRITES)
    taken_s, made, after = time.monotonic() - began, load.told.made - first, spent_s(here, galera)
    told, read = load.stop(), readers.stop()
    if told.faults:
        raise SystemExit(f"something went wrong: {told.faults[:3]}")
    until(lambda: len({str(sorted(here.client(daemon).read_all())) for daemon in here.replicas.all}) == 1, "the same list everywhere")
    return {"writes_per_s": made / taken_s, "unknown": told.unknown, "refused": told.refused,
            "certification_failures": galera.counted("wsrep_local_cert_failures") - failed,
            "aborts": galera.counted("wsrep_local_bf_aborts") - aborted,
            **reads_of(read), **{f"{name}_cpu_ms_per_write": (after[name] - before[name]) * MS / made for name in after}}


def measure_writes(here: Installation, galera: Galera, rounds: int, raw: dict[str, Any]) -> None:
    """In pairs, after one that fills the list."""
    admin = here.replicas.all[0].api(here.token)
    hot = [here.cluster] + [admin.expect(201, "POST", "/v2/clusters", json={"name": f"hot-{n}", "description": "0", **BODY})["id"]
                            for n in range(HOT - 1)]
    for daemon in here.replicas.all:
        until(lambda daemon=daemon: set(hot) <= set(here.client(daemon).read_all()), "the clusters everywhere")  # type: ignore[misc]
    rate_round(here, galera, hot)
    raw["readers alone"], raw["colliding writes"] = [], []
    for _ in range(rounds):
        raw["readers alone"].append(quiet_round(here))
        raw["colliding writes"].append(rate_round(here, galera, hot))


def lease_ms(pair: Pair, lease: str) -> float:
    """From the kill of its holder until the other replica has it."""
    victim = until(lambda: pair.holder_of(lease), "a holder of the lease")
    other = next(daemon for daemon in pair.both if daemon is not victim)
    victim.kill()
    began = time.monotonic()
    until(lambda: pair.holder_of(lease) is other, "the lease in other hands")
    taken = (time.monotonic() - began) * MS
    victim.start()
    return taken


def measure_lease(_: set[str], rounds: int, raw: dict[str, Any]) -> None:
    with World("bench", options={"server": {"requests_per_address": 0}}) as world:
        world.join()
        pair = Pair(world)
        try:
            raw["lease moved"] = [lease_ms(pair, f"observe:{world.vcenter.instance_uuid}") for _ in range(rounds)]
        finally:
            pair.both[1].stop()


def measure_galera(wanted: set[str], rounds: int, raw: dict[str, Any]) -> None:
    with ExitStack() as stack:
        scratch = Scratch("bench")
        stack.callback(scratch.remove)
        galera = Galera(scratch)
        stack.callback(galera.kill)
        here = Installation(scratch, [node.socket for node in galera.nodes], galera.first)
        stack.callback(here.replicas.stop)
        if "galera" in wanted:
            raw["change, Galera"] = change_ms(here, rounds * CHANGES)
        here.replicas.all[0].api(here.token).expect(200, "PATCH", f"/v2/clusters/{here.cluster}", json={"description": "0"}, headers=PATCH)
        if "writes" in wanted:
            measure_writes(here, galera, rounds, raw)
        if "node" in wanted:
            raw["node killed"] = [node_round(here, galera) for _ in range(rounds)]


def say(raw: dict[str, Any], report: Report) -> None:
    for key, rows in raw.items():
        for field in rows[0] if isinstance(rows[0], dict) else ("ms",):
            values = sorted(row[field] if isinstance(row, dict) else row for row in rows)
            p99 = values[min(len(values) - 1, int(len(values) * 0.99))]
            median = statistics.median(values)
            print(f"{key:26} {field:24} n {len(values):3}  median {median:8.1f}  99th percentile {p99:8.1f}  worst {values[-1]:8.1f}")
            report.values[f"{key}: {field}"] = {"median": median, "p99": p99, "worst": values[-1]}


def earlier() -> dict[str, Any]:
    """Rounds of the last time."""
    path = OUT / "replicas.json"
    return dict(json.loads(path.read_text())["rounds"]) if path.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(ROWS))
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    wanted = set(given.only.split(","))
    raw: dict[str, Any] = earlier()
    steps: list[tuple[set[str], Callable[[set[str], int, dict[str, Any]], None]]] = [
        ({"change", "kill"}, measure_single), ({"lease"}, measure_lease), ({"galera", "writes", "node"}, measure_galera)]
    for rows, measure in steps:
        if wanted & rows:
            measure(wanted, given.rounds, raw)
    report = Report("replicas")
    say(raw, report)
    report.write(raw)


if __name__ == "__main__":
    main()
