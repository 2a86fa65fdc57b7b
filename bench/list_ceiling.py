#!/usr/bin/env python3
"""Loads list_server in each of its modes with wrk, in turns, and prints medians; the raw rounds go to bench/out/list_ceiling.json.

Generator and server share the cores, so requests per second measure both; the server's CPU time per request is the robust figure."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
from pathlib import Path

from env.places import build

MODES = ("bare", "fresh", "wrapper", "slow")
TOKEN = "Authorization: Bearer " + "x" * 417  # as long as ours are


def one_round(program: Path, mode: str, tls: bool, seconds: int, connections: int) -> dict[str, float]:
    command = [str(program), "-m", mode, *(["-t"] if tls else [])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = f"http{'s' if tls else ''}://127.0.0.1:{int(server.stdout.readline())}/v2/clusters?hx_cluster=HX-East"
        wrk = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-H", TOKEN, url]
        said = subprocess.run(wrk, capture_output=True, text=True, check=True).stdout
        tail, _ = server.communicate("")
    rate, cpu = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"cpu_us ([\d.]+)", tail)
    if "Non-2xx" in said or not rate or not cpu:
        raise SystemExit(f"{mode}: not what was expected:\n{said}{tail}")
    return {"per_s": float(rate[1]), "cpu_us": float(cpu[1])}


def run(args: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    raw: dict[str, list[dict[str, float]]] = {}
    for _ in range(args.rounds):
        for tls in (False, True):
            for mode in MODES:
                figures = one_round(args.program, mode, tls, args.seconds, args.connections)
                raw.setdefault(f"{mode} {'TLS' if tls else 'plain'}", []).append(figures)
    return raw


def report(raw: dict[str, list[dict[str, float]]]) -> None:
    print(f"{'mode':16} {'req/s':>9} {'of bare':>8} {'cpu us':>7} {'of bare':>8}")
    for name, rounds in raw.items():
        pairs = list(zip(rounds, raw["bare " + name.split()[1]], strict=True))
        rate, cpu = (statistics.median(mine[key] for mine in rounds) for key in ("per_s", "cpu_us"))
        rate_ratio, cpu_ratio = (statistics.median(mine[key] / bare[key] for mine, bare in pairs) for key in ("per_s", "cpu_us"))
        print(f"{name:16} {rate:9.0f} {rate_ratio:8.2f} {cpu:7.2f} {cpu_ratio:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=build() / "bench/list_server", help="the built server")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=64)
    args = parser.parse_args()
    raw = run(args)
    report(raw)
    out = Path("bench/out")
    (out / "list_ceiling.json").write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    main()
