#!/usr/bin/env python3
"""Resident memory of kaasd and the CPU time until it is ready, with few and with many clusters, and what millions of requests add.

Prints medians and ranges; the raw rounds go to bench/out/memory.json, the resident memory in the course of the requests (`mix_samples`)
and of the minutes after a start (`settle_mb`) with them. `--only` of small, start, large, mix. CPU time is that of kaasd alone
(/proc/PID/stat), so that a busy machine disturbs little; the database is on the same host and not counted."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import ssl
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from env import fill
from env.filled import filled
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from lib import mix

TICKS = os.sysconf("SC_CLK_TCK")
CONNECTIONS = 100
PARTS = ("small", "start", "large", "mix")
OPTIONS = {"log": {"level": "notice"}, "server": {"requests_per_address": 0}}


class Running:
    """A daemon over a filled database."""

    def __init__(self, db: Mariadb, kaasd: Kaasd) -> None:
        self.db, self.kaasd = db, kaasd

    @property
    def pid(self) -> int:
        assert self.kaasd.process
        return self.kaasd.process.pid

    def rss_mb(self, key: str = "VmRSS") -> float:
        found = re.search(rf"^{key}:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text(), re.M)
        assert found
        return int(found[1]) / 1024

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def start_cpu_s(self) -> float:
        """CPU time of a start, until it says that it is ready."""
        self.kaasd.stop()
        known = self.kaasd.scratch.log / "kaasd.log"
        size = known.stat().st_size
        self.kaasd.spawn().wait_until(lambda: "event=ready " in known.read_text()[size:], "readiness")  # asking by TLS would cost CPU
        return self.cpu_s()

    def token(self) -> str:
        token = self.kaasd.api().login_password("person-1", self.kaasd.admin_password).token
        assert token
        return token


@contextmanager
def running(clusters: int, nodes_per_cluster: int, *, observed: bool) -> Iterator[Running]:
    def write(db: Mariadb) -> None:
        fill.fill(db, clusters=clusters, nodes_per_cluster=nodes_per_cluster, hx_clusters=max(clusters // 20, 1), observed=observed)
        fill.add_users(db, 1, [1])

    with filled("bm", write, OPTIONS) as (db, kaasd):
        yield Running(db, kaasd)


def open_connections(one: Running, count: int) -> list[ssl.SSLSocket]:
    """Each asks once and stays open."""
    context = ssl.create_default_context(cafile=str(one.kaasd.tls.ca_file))
    token, made = one.token(), []
    for _ in range(count):
        raw = socket.create_connection(("127.0.0.1", one.kaasd.port))
        made.append(context.wrap_socket(raw, server_hostname="127.0.0.1"))
        made[-1].sendall(f"GET /v2/clusters?hx_cluster=HX-East HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert made[-1].recv(15) == b"HTTP/1.1 200 OK"
    return made


def change_one(one: Running, rounds: int) -> float:
    """CPU milliseconds of kaasd for one change of a cluster by the API, until it is in the list."""
    admin = one.kaasd.admin()
    before = one.cpu_s()
    for number in range(1, rounds + 1):
        admin.expect(200, "PATCH", f"/v2/clusters/{fill.cluster_id(number)}", json={"description": f"changed {time.monotonic()}"},
                     headers={"Content-Type": "application/merge-patch+json", "If-Match": "*"})
    return (one.cpu_s() - before) * 1000 / rounds


def measure_small(raw: dict[str, list[float]], rounds: int) -> None:
    with running(200, 5, observed=True) as one:
        for _ in range(rounds):
            one.start_cpu_s()
            connections = open_connections(one, CONNECTIONS)
            raw["rss_small_mb"].append(one.rss_mb())
            for connection in connections:
                connection.close()
            raw["change_small_ms"].append(change_one(one, 200))


def measure_start(raw: dict[str, list[float]], rounds: int) -> None:
    for key, nodes, observed in (("ready_cpu_s", 0, False), ("ready_nodes_cpu_s", 5, False), ("ready_observed_cpu_s", 5, True)):
        with running(20000, nodes, observed=observed) as one:
            raw[key] += [one.start_cpu_s() for _ in range(rounds)]


def settle(one: Running, seconds: int) -> list[float]:
    """Resident memory each second after a start, with changes, and a check of everything every half a minute. Two minutes after the start
    all clusters are made anew, since what nobody watches any more counts no longer."""
    samples: list[float] = []
    admin = one.kaasd.admin()
    for second in range(seconds):
        if second % 30 == 10 and one.kaasd.process:
            one.kaasd.process.signal(signal.SIGHUP)
        admin.expect(200, "PATCH", f"/v2/clusters/{fill.cluster_id(1 + second)}", json={"description": f"second {second}"},
                     headers={"Content-Type": "application/merge-patch+json", "If-Match": "*"})
        samples.append(one.rss_mb())
        time.sleep(1)
    return samples


def measure_large(raw: dict[str, list[float]], rounds: int, seconds: int) -> None:
    """Looks on for minutes after the last of the starts."""
    with running(20000, 5, observed=True) as one:
        for _ in range(rounds):
            one.start_cpu_s()
            raw["rss_large_mb"].append(one.rss_mb())
            raw["change_large_ms"].append(change_one(one, 200))
        raw["settle_mb"] = settle(one, seconds)
        raw["rss_peak_mb"].append(one.rss_mb("VmHWM"))


def measure_mix(raw: dict[str, list[float]], requests: int) -> None:
    """Resident memory after each half a minute of mixed requests; what is gained is the slope of the second half."""
    with mix.MixWorld("mix", options=OPTIONS) as world:
        world.prepare()
        one = Running(world.db, world.kaasd)

        def note(done: int) -> None:
            raw["mix_requests"].append(done)
            raw["mix_samples"].append(one.rss_mb())
            print(f"  {done:9} requests, {raw['mix_samples'][-1]:7.2f} MB resident", flush=True)

        raw["mix_rounds_beside"].append(mix.run(world, requests, note))
    half = len(raw["mix_samples"]) // 2
    raw["mix_gain_mb_per_million"].append(slope(raw["mix_requests"][half:], raw["mix_samples"][half:]))


def slope(requests: list[float], megabytes: list[float]) -> float:
    """Megabytes per million requests by least squares."""
    return statistics.linear_regression([n / 1e6 for n in requests], megabytes).slope if len(requests) > 1 else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="starts of each kind")
    parser.add_argument("--requests", type=int, default=5_000_000)
    parser.add_argument("--seconds", type=int, default=180, help="to look on after a start")
    parser.add_argument("--short", action="store_true", help="2 starts, 1,000,000 requests")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    args = parser.parse_args()
    wanted = set(args.only.split(","))
    rounds = 2 if args.short else args.rounds
    raw: dict[str, list[float]] = {key: [] for key in (
        "rss_small_mb", "change_small_ms", "rss_large_mb", "change_large_ms", "settle_mb", "rss_peak_mb", "mix_requests", "mix_samples",
        "mix_rounds_beside", "mix_gain_mb_per_million", "ready_cpu_s", "ready_nodes_cpu_s", "ready_observed_cpu_s")}
    if "small" in wanted:
        measure_small(raw, rounds)
    if "start" in wanted:
        measure_start(raw, rounds)
    if "large" in wanted:
        measure_large(raw, rounds, args.seconds)
    if "mix" in wanted:
        measure_mix(raw, 1_000_000 if args.short else args.requests)
    write(raw)


def write(raw: dict[str, list[float]]) -> None:
    """What was not measured this time stays as it was."""
    out = Path("bench/out/memory.json")
    known = json.loads(out.read_text())["rounds"] if out.exists() else {}
    for key, values in raw.items():
        if values:
            print(f"{key:26} {statistics.median(values):12.2f}  n {len(values):3}  {min(values):8.2f} to {max(values):8.2f}")
    rows = {key: values or known.get(key, []) for key, values in raw.items()}
    medians = {key: statistics.median(values) for key, values in rows.items() if values}
    out.write_text(json.dumps({**medians, "rounds": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
