#!/usr/bin/env python3
"""Reading 5,000 virtual machines with five properties: the product's vim client beside govmomi and pyvmomi, at one server, in turns.

What counts is the client's CPU time per machine; connecting and logging in are left out. --only NAME[,NAME] of ours, govmomi, pyvmomi.
The raw rounds go to bench/out/inventory.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

from env import vimclient
from env.places import Scratch, build
from env.process import run
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from lib.figures import Report, ratio
from lib.govmomi import vimpeer
from pyVmomi import vim

PATHS = ("name", "config.uuid", "config.instanceUuid", "runtime.host", "runtime.powerState")
CLUSTER = "HX-East"


def big_world(scratch: Scratch, machines: int) -> StrictVcenter:
    """The default world with this many machines more on one cluster."""
    layout = json.loads(DEFAULT_WORLD.read_text())
    cluster = next(found for centre in layout["datacenters"] for found in centre["clusters"] if found["name"] == CLUSTER)
    cluster.setdefault("vms", []).append({"name": "many", "count": machines})
    path = scratch.path / "big.json"
    path.write_text(json.dumps(layout))
    return start_strict(scratch, world=path)


def by_us(vcenter: StrictVcenter, times: int) -> tuple[int, int]:
    pin = vcenter.sha256.replace(":", "")
    words = [build() / "bench/inventory_read", vcenter.host, str(vcenter.port), pin, vcenter.admin.login, str(times)]
    result = run(words, stdin=vcenter.admin.password + "\n")
    if result.returncode:
        raise SystemExit(f"inventory_read: {result.stderr}")
    count, micros = result.stdout.split()
    return int(count), int(micros)


def by_govmomi(vcenter: StrictVcenter, times: int) -> tuple[int, int]:
    return vimpeer(vcenter, "machines", str(times))


def by_pyvmomi(vcenter: StrictVcenter, times: int) -> tuple[int, int]:
    """Once, whatever `times` says: it is the slow one."""
    del times
    with vimclient.session(vcenter, vcenter.admin) as instance:
        began = time.process_time()
        count = len(vimclient.read_all(instance, vim.VirtualMachine, *PATHS))
        return count, int((time.process_time() - began) * 1e6)


READERS: dict[str, Callable[[StrictVcenter, int], tuple[int, int]]] = {"ours": by_us, "govmomi": by_govmomi, "pyvmomi": by_pyvmomi}


def measure(vcenter: StrictVcenter, names: list[str], rounds: int, times: int) -> dict[str, list[dict[str, float]]]:
    raw: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    counts = {READERS[name](vcenter, 1)[0] for name in names}  # the first of each also warms the server up
    if len(counts) != 1:
        raise SystemExit(f"the readers found different numbers of machines: {counts}")
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            count, micros = READERS[name](vcenter, times)
            raw[name].append({"cpu_us": micros / count})
    return raw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=2, help="about as many readings by the quick ones in a round")
    parser.add_argument("--machines", type=int, default=5000)
    parser.add_argument("--only", default=",".join(READERS))
    args = parser.parse_args()
    names = args.only.split(",")
    if set(names) - set(READERS):
        parser.error(f"names are {', '.join(READERS)}")
    scratch = Scratch("inventory")
    try:
        vcenter = big_world(scratch, args.machines)
        try:
            raw = measure(vcenter, names, args.rounds, args.seconds)
        finally:
            vcenter.stop()
    finally:
        scratch.remove()
    report = Report("inventory")
    for name, rows in raw.items():
        print(f"{name:10} {statistics.median(row['cpu_us'] for row in rows):8.1f} us of CPU time per machine")
    for name, wanted in (("govmomi", 0.35), ("pyvmomi", 0.12)):
        if name in raw and "ours" in raw:
            report.goal(f"{name}_ratio", f"CPU per machine, of {name}'s", ratio(raw["ours"], raw[name], "cpu_us"), wanted, at_most=True)
    report.print()
    report.write(raw)


if __name__ == "__main__":
    main()
