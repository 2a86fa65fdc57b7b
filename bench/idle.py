"""What does a vCenter get to hear while nobody does anything? Counted by the vCenter. Options: --minutes 10. Writes bench/out/idle.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from world.full import World
from world.watching import until_watching

OUT = Path(__file__).resolve().parent / "out/idle.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    minutes = parser.parse_args().minutes
    with World("idle") as world:
        world.join()
        until_watching(world)
        time.sleep(20)  # the first compare of the record and what else a start asks for
        world.vcenter.control.forget_calls()
        time.sleep(minutes * 60)
        counts = Counter(call["op"] for call in world.vcenter.control.calls())
        cpu = sum(map(int, Path(f"/proc/{world.kaasd.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        sessions = len(world.vcenter.control.sessions())
    print(f"in {minutes:.0f} min: {sum(counts.values())} calls, {sessions} session(s), {cpu * 10} ms of CPU since the start")
    for op, count in counts.most_common():
        print(f"{op:28} {count:5}   {count * 60 / minutes:.0f} an hour")
    result = {"minutes": minutes, "calls": counts, "sessions": sessions, "cpu_ms": cpu * 10}
    OUT.write_text(json.dumps({"rounds": [result]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
