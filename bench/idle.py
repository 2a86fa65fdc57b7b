"""What does a vCenter get to hear while nobody does anything, counted by the vCenter, and how soon is one that hangs noticed then?
Options: --minutes 10 --rounds 15. Writes bench/out/idle.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from pathlib import Path

from env.full import World
from env.wait import until
from env.watching import until_watching

OUT = Path(__file__).resolve().parent / "out/idle.json"


def until_state(world: World, wanted: str) -> None:
    def state() -> str:
        return str(next(row["state"] for row in world.admin.items("/v2/vcenters")))

    until(lambda: state() == wanted, f"a vCenter that is {wanted}")


def notice_hang(world: World) -> float:
    """Seconds from the moment it hangs, somewhere between two questions, until its state says so."""
    time.sleep(random.uniform(0, 10))
    world.vcenter.control.fault("*", "hang")
    began = time.monotonic()
    until_state(world, "unreachable")
    took_s = time.monotonic() - began
    world.vcenter.control.clear_faults()
    until_state(world, "connected")
    until_watching(world)
    return took_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=15, help="of a hanging vCenter")
    args = parser.parse_args()
    minutes = args.minutes
    with World("idle") as world:
        world.join()
        until_watching(world)
        time.sleep(20)  # the first compare of the record and what else a start asks for
        world.vcenter.control.forget_calls()
        time.sleep(minutes * 60)
        counts = Counter(call["op"] for call in world.vcenter.control.calls())
        cpu = sum(map(int, Path(f"/proc/{world.kaasd.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        sessions = len(world.vcenter.control.sessions())
        noticed_s = [notice_hang(world) for _ in range(args.rounds)]
    print(f"in {minutes:.0f} min: {sum(counts.values())} calls, {sessions} session(s), {cpu * 10} ms of CPU since the start")
    for op, count in counts.most_common():
        print(f"{op:28} {count:5}   {count * 60 / minutes:.0f} an hour")
    print(f"one that hangs is noticed after {statistics.median(noticed_s):.1f} s, at most {max(noticed_s):.1f} s ({args.rounds} rounds)")
    result = {"minutes": minutes, "calls": counts, "sessions": sessions, "cpu_ms": cpu * 10, "noticed_s": noticed_s}
    OUT.write_text(json.dumps({"rounds": [result]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
