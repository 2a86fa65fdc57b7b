#!/usr/bin/env python3
"""Well-behaved clients alone and beside trouble, in turns: bad clients of many kinds, a database that is gone, frozen, read-only or slow.

Eight clients at one address ask for their list over connections they keep; the bad ones have another address, low priority and a pace,
since on few cores they would take what they attack. Prints the ratio of rates, of p99 and of kaasd's CPU time per good answer (which holds
what the trouble itself costs), and memory against its cap. The raw rounds go to bench/out/storm.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import resource
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pymysql
from env.api import Api
from env.full import World
from env.mariadb import Mariadb
from env.slowdb import SlowDb
from env.storm import BadClients, GoodClients, use_of

GOOD_PER_S = 1000
BASE_KB, CONNECTION_KB = 92 * 1024, 112  # the cap of docs/http.md
CLUSTERS = 300
LIMIT_S = 60
# kind, how many at a time, actions per second of all together; the largest crowd last: memory that was used once stays
STORMS = (
    ("lists", 64, 250000), ("bad_tokens", 64, 2000), ("signons", 64, 500), ("churn", 64, 300), ("pipeline", 8, 8), ("big_header", 64, 300),
    ("fat_body", 200, 1000), ("slow_body", 1000, 1000), ("slow_header", 1000, 1000), ("slow_reader", 500, 1000), ("idle", 10000, 1000),
)


CONNECTIONS = 12000


def room_for(megabytes: int) -> tuple[str, ...]:
    """Options of a server with one file for all tables, which may grow up to that."""
    return (f"--innodb-data-file-path=ibdata1:10M:autoextend:max:{megabytes}M", "--innodb-file-per-table=0")


class Bench:
    def __init__(self, world: World, between: SlowDb, seconds: float) -> None:
        self.world, self.between, self.seconds = world, between, seconds
        self.admin = world.admin
        cookie = world.vcenter.control.login("viewer-dc@vsphere.local")["cookie"]
        viewer = world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)
        assert viewer.token and world.kaasd.process
        self.viewer, self.pid = viewer, world.kaasd.process.pid
        self.good = GoodClients(world.kaasd.port, viewer.token, per_second=GOOD_PER_S)
        self.most = self.good.count

    def rest(self) -> None:
        """Until nothing of the trouble before is left to be done."""
        for _ in range(100):
            before = use_of(self.pid).cpu_s
            time.sleep(0.2)
            if use_of(self.pid).cpu_s - before < 0.02:
                return

    def alone(self, *, is_looked_at: bool = False) -> dict[str, Any]:
        """`is_looked_at`: somebody looks for the mark, as amid a fault; that takes processor time from all."""
        self.rest()
        marks = Marks(self.viewer) if is_looked_at else None
        if marks:
            marks.start()
        figures = self.measure()
        if marks:
            marks.end()
        return figures

    def measure(self) -> dict[str, Any]:
        with self.good.come() as clients:
            before = use_of(self.pid)
            clients.begin()
            time.sleep(self.seconds)
            after = use_of(self.pid)
            served = clients.end()
        ok = served.answers["200"]
        return {"per_s": served.rate, "p50_ms": served.p50_ms, "p99_ms": served.p99_ms, "ok": ok, "not_ok": served.not_ok,
                "closed": served.answers["closed"], "cpu_us": (after.cpu_s - before.cpu_s) * 1e6 / max(ok, 1), "rss_kb": after.rss_kb,
                "descriptors": after.descriptors}

    def storm(self, kind: str, count: int, per_second: float) -> dict[str, Any]:
        self.most = max(self.most, count + self.good.count)
        with BadClients(kind, self.world.kaasd.port, count, per_second=per_second, token=self.viewer.token) as bad:
            bad.begin()
            figures = self.measure()
            got = bad.end()
        return {**figures, "cap_kb": BASE_KB + CONNECTION_KB * self.most, "bad": got.answers, "bad_seconds": got.seconds}

    def fault(self, trouble: AbstractContextManager[None], is_marked: bool) -> dict[str, Any]:
        marks = Marks(self.viewer)
        went = time.monotonic()
        with trouble:
            marks.start()
            figures = self.measure()
            until_marked = marks.wait(True, went) if is_marked else None
        until_clear = marks.wait(False, time.monotonic())
        marks.end()
        return {**figures, "marked_s": until_marked, "clear_s": until_clear, "had_mark": marks.was_seen}


class Marks:
    """Looks for KaaS-Stale all the time, by a client of its own."""

    def __init__(self, viewer: Api) -> None:
        self._viewer = viewer
        self._seen: list[tuple[float, bool]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.start, self.was_seen = self._thread.start, False

    def _look(self) -> None:
        while not self._over.wait(0.05):
            is_marked = "database" in self._viewer.call("GET", "/v2/clusters").headers.get("KaaS-Stale", "")
            self._seen.append((time.monotonic(), is_marked))
            self.was_seen |= is_marked

    def wait(self, is_marked: bool, since: float) -> float:
        """Seconds from then to the first answer that is so."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            for when, mark in list(self._seen):
                if when > since and mark == is_marked:
                    return when - since
            time.sleep(0.02)
        raise SystemExit(f"no answer {'with' if is_marked else 'without'} the mark of the database in {LIMIT_S} s")

    def end(self) -> None:
        self._over.set()
        self._thread.join()


@contextmanager
def gone(go: Callable[[Mariadb], None], come: Callable[[Mariadb], None], db: Mariadb) -> Iterator[None]:
    go(db)
    try:
        yield
    finally:
        come(db)


@contextmanager
def read_only(db: Mariadb) -> Iterator[None]:
    db.query("SET GLOBAL read_only = 1")
    try:
        yield
    finally:
        db.query("SET GLOBAL read_only = 0")


@contextmanager
def full(db: Mariadb) -> Iterator[None]:
    """All tables are in one file, which may not grow; each time it ends by a start with more room."""
    db.query("CREATE DATABASE IF NOT EXISTS test_fill")
    db.query("CREATE TABLE IF NOT EXISTS filler (id INT AUTO_INCREMENT PRIMARY KEY, data LONGBLOB)", database="test_fill")
    for size in (1 << 20, 1 << 16, 1 << 12, 1 << 8):
        with suppress(pymysql.err.OperationalError):
            while True:
                db.query("INSERT INTO filler (data) VALUES (REPEAT('x', %s))", size, database="test_fill")
    try:
        yield
    finally:
        db.stop()
        db.options = room_for(int(db.options[0].split(":")[-1].rstrip("M")) + 64)
        db.start()


@contextmanager
def slow(between: SlowDb, delay_s: float) -> Iterator[None]:
    between.delay_s = delay_s
    try:
        yield
    finally:
        between.delay_s = 0


def faults(bench: Bench) -> dict[str, tuple[Callable[[], AbstractContextManager[None]], bool]]:
    """And whether lists are to say that they may be old: not while all that is stored can be read."""
    db = bench.world.db
    return {
        "database stopped": (lambda: gone(Mariadb.stop, Mariadb.start, db), True),
        "database killed": (lambda: gone(Mariadb.kill, Mariadb.start, db), True),
        "database frozen": (lambda: gone(Mariadb.freeze, Mariadb.thaw, db), True),
        "database 5 s late": (lambda: slow(bench.between, 5), True),
        "database 0.2 s late": (lambda: slow(bench.between, 0.2), False),
        "database read-only": (lambda: read_only(db), False),
        "database full": (lambda: full(db), False),
    }


def wanted(name: str, only: str | None) -> bool:
    return not only or any(word in name for word in only.split(","))


def rows(bench: Bench) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for name, (trouble, is_marked) in faults(bench).items():
        yield name, partial(lambda trouble, is_marked: bench.fault(trouble(), is_marked), trouble, is_marked)
    for kind, count, per_second in STORMS:
        yield kind, partial(bench.storm, kind, count, per_second)


def run(bench: Bench, args: argparse.Namespace, out: Path) -> dict[str, list[dict[str, Any]]]:
    """Kept after each row: what was measured is there even if a later one fails."""
    raw: dict[str, list[dict[str, Any]]] = {}
    for name, amid in rows(bench):
        if wanted(name, args.only):
            raw[name] = [{"alone": bench.alone(is_looked_at="database" in name), "amid": amid()} for _ in range(args.rounds)]
            out.write_text(json.dumps({"rounds": raw}, indent=1) + "\n")
            report({name: raw[name]})
    return raw


def median_ratio(rounds: list[dict[str, Any]], key: str) -> float:
    return statistics.median(pair["amid"][key] / pair["alone"][key] for pair in rounds)


def seconds(rounds: list[dict[str, Any]], key: str) -> str:
    """The longest."""
    values = [pair["amid"].get(key) for pair in rounds]
    return f"{max(values):.1f}" if None not in values else ""


def print_head() -> None:
    print(f"{'trouble':20} {'rate':>6} {'p99':>6} {'p99 ms':>7} {'CPU':>6} {'alone/s':>8} {'not 200':>8} {'closed':>6} "
          f"{'RSS MB':>7} {'cap MB':>7} {'marked':>7} {'clear':>6}  bad ones, per second")


def report(raw: dict[str, list[dict[str, Any]]]) -> None:
    for name, rounds in raw.items():
        rate, p99, cpu = (median_ratio(rounds, key) for key in ("per_s", "p99_ms", "cpu_us"))
        amid = [pair["amid"] for pair in rounds]
        cap = max(one.get("cap_kb", 0) for one in amid)
        got: Counter[str] = Counter()
        for one in amid:
            got += Counter(one.get("bad", {}))
        spent = sum(one.get("bad_seconds", 0) for one in amid)
        print(f"{name:20} {rate:6.2f} {p99:6.2f} {statistics.median(one['p99_ms'] for one in amid):7.1f} {cpu:6.2f} "
              f"{statistics.median(pair['alone']['per_s'] for pair in rounds):8.0f} "
              f"{sum(one['not_ok'] for one in amid):8} {sum(one['closed'] for one in amid):6} "
              f"{max(one['rss_kb'] for one in amid) / 1024:7.0f} {cap / 1024:7.0f} "
              f"{seconds(rounds, 'marked_s'):>7} {seconds(rounds, 'clear_s'):>6}  "
              + ", ".join(f"{what} {count / spent:.0f}" for what, count in sorted(got.items())), flush=True)


def prepare(world: World) -> SlowDb:
    world.join()
    admin = world.admin
    for number in range(CLUSTERS):
        admin.expect(201, "POST", "/v2/clusters", json={
            "name": f"many-{number:03}", "kubernetes_version": "1.31.2", "description": "x" * 900,
            "control_plane": {"desired": 3}, "workers": {"desired": 3},
            "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": "DC1/HX-East"}]})
    between = SlowDb(world.scratch.path / "slow.sock", world.db.socket)
    world.kaasd.stop()
    world.kaasd.write_config({"database": {"socket": str(between.path)}, "log": {"level": "notice"},
                              "server": {"connections_max": CONNECTIONS, "connections_per_address": 0}})
    return between


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", help="kinds of trouble with one of these words, separated by commas, in their name")
    args = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    out = Path("bench/out")
    with World("m", options={"log": {"level": "notice"}}, database_options=room_for(96)) as world, prepare(world) as between:
        world.kaasd.start()
        print_head()
        run(Bench(world, between, args.seconds), args, out / "storm.json")


if __name__ == "__main__":
    main()
