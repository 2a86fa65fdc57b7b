#!/usr/bin/env python3
"""The list of one HX cluster, as often as it can be had: kaasd beside a bare libmicrohttpd program, nginx and glewlwyd, in turns.

200 clusters are known, 20 are in the answer; 64 keep-alive connections. Generator and server share the cores, so requests per second
measure both; the server's CPU time per request is the robust figure (`cpu_ratio` is that without TLS, the harder one; `tls_cpu_ratio`
the other). Rows: --only NAME[,NAME] of plain, tls, notmodified, nginx, auth_request, glewlwyd, flood, growth. The raw rounds go to
bench/out/list.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import contextlib
import statistics
from collections.abc import Callable

from lib import growth
from lib.figures import Report, estimate, ratio
from lib.flood import Flood
from lib.listworld import QUERY, ListWorld
from lib.load import Target, run
from lib.peers import LIST, OWN_HEADERS, Bare, Glewlwyd, Nginx

ROWS = ("plain", "tls", "notmodified", "nginx", "auth_request", "glewlwyd", "flood", "growth")
Rounds = dict[str, list[dict[str, float]]]
Makers = dict[str, Callable[[], Target]]


def sent_headers(world: ListWorld) -> dict[str, str]:
    return {name: value for name, value in world.answer().headers.items() if name not in ("Date", "Connection", "Content-Length")}


def start_peers(world: ListWorld, wanted: set[str], stack: contextlib.ExitStack) -> Makers:
    """What is to be loaded, by name. A name is "kaasd ..." for ours."""
    answer, headers = world.answer(), sent_headers(world)
    body, lines = world.scratch.path / "body", world.scratch.path / "headers"
    body.write_bytes(answer.content)
    lines.write_text("".join(f"{name}: {value}\n" for name, value in headers.items()))
    makers: Makers = {}
    if wanted & {"plain", "glewlwyd"}:
        bare = Bare("bare", body, lines, unix=world.scratch.path / "b.sock")
        stack.callback(bare.stop)
        makers["kaasd plain"] = lambda: world.target(tls=False)
        makers["bare plain"] = lambda: bare.target(LIST + QUERY, world.headers())
    if wanted & {"tls", "notmodified", "nginx", "auth_request", "flood"}:
        makers["kaasd TLS"] = lambda: world.target(tls=True)
    if "tls" in wanted:
        bare_tls = Bare("bare", body, lines, cert=world.kaasd.tls)
        stack.callback(bare_tls.stop)
        makers["bare TLS"] = lambda: bare_tls.target(LIST + QUERY, world.headers())
    if "notmodified" in wanted:
        etag = answer.headers["ETag"]
        makers["kaasd TLS 304"] = lambda: world.target(tls=True, more={"If-None-Match": etag}, status=304)
    if wanted & {"nginx", "auth_request"}:
        kept = {name: value for name, value in headers.items() if name not in OWN_HEADERS}
        nginx = Nginx(world.scratch, answer.content, kept, world.kaasd.tls, world.unix)
        stack.callback(nginx.stop)
        if "nginx" in wanted:
            makers["nginx TLS static"] = lambda: nginx.static(QUERY, world.headers())
        if "auth_request" in wanted:
            makers["nginx TLS auth_request"] = lambda: nginx.checked(QUERY, world.headers(), world.pids()[0])
    if "glewlwyd" in wanted:
        glewlwyd = Glewlwyd(world.scratch)
        stack.callback(glewlwyd.stop)
        makers["glewlwyd plain"] = glewlwyd.target
    return makers


def alternate(makers: Makers, rounds: int, seconds: int) -> Rounds:
    raw: Rounds = {name: [] for name in makers}
    for name in makers:
        run(makers[name](), 1)  # connections, caches and buffers as they will be
    for number in range(rounds):
        for name in list(makers) if number % 2 == 0 else list(reversed(makers)):
            raw[name].append(run(makers[name](), seconds))
    return raw


def measure_flood(world: ListWorld, rounds: int, seconds: int, rate: int) -> Rounds:
    """The good ones' rate with and without different bad tokens arriving at this rate from the same address."""
    raw: Rounds = {"quiet": [], "flooded": []}
    for _ in range(rounds):
        raw["quiet"].append(run(world.target(tls=True), seconds))
        with Flood(world.target(tls=True), rate):
            raw["flooded"].append(run(world.target(tls=True), seconds))
    return raw


def print_rows(raw: Rounds) -> None:
    print(f"{'':24} {'req/s':>9} {'cpu us':>8}")
    for name, rows in raw.items():
        print(f"{name:24} {statistics.median(row['per_s'] for row in rows):9.0f} {statistics.median(row['cpu_us'] for row in rows):8.2f}")


def judge(report: Report, raw: Rounds) -> None:
    def rate(key: str, what: str, mine: str, other: str, wanted: float) -> None:
        if mine in raw and other in raw:
            report.goal(key, what, ratio(raw[mine], raw[other], "per_s"), wanted)

    def cpu(key: str, what: str, mine: str, other: str, wanted: float) -> None:
        if mine in raw and other in raw:
            report.goal(key, what, ratio(raw[mine], raw[other], "cpu_us"), wanted, at_most=True)

    rate("plain_ratio", "rate, plain, of the bare program's", "kaasd plain", "bare plain", 0.80)
    rate("tls_ratio", "rate, TLS, of the bare program's", "kaasd TLS", "bare TLS", 0.92)
    cpu("cpu_ratio", "CPU per request, plain, of the bare program's", "kaasd plain", "bare plain", 1.35)
    cpu("tls_cpu_ratio", "CPU per request, TLS, of the bare program's", "kaasd TLS", "bare TLS", 1.15)
    rate("notmodified_ratio", "rate of a 304, TLS, of our own 200's", "kaasd TLS 304", "kaasd TLS", 1.5)
    rate("nginx_ratio", "rate, TLS, of nginx with a static file", "kaasd TLS", "nginx TLS static", 0.80)
    rate("auth_request_ratio", "rate, TLS, of nginx that asks us first", "kaasd TLS", "nginx TLS auth_request", 1.6)
    rate("glewlwyd_ratio", "rate, plain, of glewlwyd's session list", "kaasd plain", "glewlwyd plain", 18)
    rate("flood_ratio", "rate of good ones while bad tokens rain", "flooded", "quiet", 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds; each loads every server once")
    parser.add_argument("--seconds", type=int, default=2, help="length of one load")
    parser.add_argument("--only", default=",".join(ROWS), help="rows to measure")
    parser.add_argument("--flood-rate", type=int, default=2000, help="bad tokens per second")
    args = parser.parse_args()
    wanted = set(args.only.split(","))
    if wanted - set(ROWS):
        parser.error(f"rows are {', '.join(ROWS)}")
    report, raw = Report("list"), Rounds()
    if wanted - {"growth"}:
        with ListWorld() as world, contextlib.ExitStack() as stack:
            world.prepare()
            raw |= alternate(start_peers(world, wanted, stack), args.rounds, args.seconds)
            if "flood" in wanted:
                raw |= measure_flood(world, args.rounds, args.seconds, args.flood_rate)
        print_rows(raw)
        judge(report, raw)
    grown: dict[str, float] = {}
    if "growth" in wanted:
        grown = growth.measure()
        for name, instructions in grown.items():
            print(f"{name:40} {instructions:9.0f} instructions per request")
        worst = max(grown[name] for name in grown) / grown[growth.SMALL]
        report.goal("growth_ratio", "instructions per request, 100 or 1,000 times as much", estimate([worst]), 1.1, at_most=True)
    report.print()
    report.write({**raw, "instructions": grown})


if __name__ == "__main__":
    main()
