"""Many people are signed in, few are active: how often is the vCenter asked about rights? Counted by the vCenter itself.

Options: --people 10000 --active 200 --minutes 3. Writes bench/out/rights_many.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from env.api import Api
from env.full import World
from env.panels import Panels
from env.samples import visible_to

OUT = Path(__file__).resolve().parent / "out/rights_many.json"
HX_EAST = "domain-c7"
RATE_PER_S = 5  # auth.rights_recheck_rate, as it comes
PAUSE_S = 5.0  # an open panel that asks again
LIMIT_S = 120
RIGHTS = ("HasPrivilegeOnEntities", "HasUserPrivilegeOnEntities")


class Crowd:
    """People of their own names, each with a session at the vCenter and one here."""

    def __init__(self, world: World, people: int) -> None:
        self.world = world
        with ThreadPoolExecutor(4) as pool:
            self.signed_in: list[Api] = list(pool.map(self._sign_in, range(people)))

    def _sign_in(self, i: int) -> Api:
        control, name = self.world.vcenter.control, f"person-{i}"
        control.call("POST", "/users", {"name": name, "password": "P-1234567", "full_name": f"Person {i}"})
        control.permit(HX_EAST, f"VSPHERE.LOCAL\\{name}")
        return self.world.kaasd.api().login_session(self.world.vcenter.instance_uuid, control.login(f"{name}@vsphere.local")["cookie"])


def asked(world: World) -> list[float]:
    calls = [call for op in RIGHTS for call in world.vcenter.control.calls(op=op)]
    return sorted(datetime.fromisoformat(call["time"]).timestamp() for call in calls)


def most_in_a_second(times: list[float]) -> int:
    return max((sum(1 for then in times[i : i + 100] if then < begin + 1) for i, begin in enumerate(times)), default=0)


def measure(world: World, crowd: Crowd, active: int, minutes: float) -> dict[str, object]:
    while (times := asked(world)) and time.time() - times[-1] < 10:  # what the sign-ons asked for
        time.sleep(1)
    world.vcenter.control.forget_calls()
    with Panels(crowd.signed_in[-active:], PAUSE_S) as panels:
        time.sleep(minutes * 60)
    times, expected = asked(world), visible_to("viewer-east")
    gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
    return {"people": len(crowd.signed_in), "active": active, "seconds": minutes * 60, "lists": len(panels.answers),
            "lists_not_200": sum(status != 200 for _, status, _ in panels.answers),
            "lists_wrong": sum(status == 200 and names != expected for _, status, names in panels.answers), "questions": len(times),
            "questions_per_s": len(times) / (minutes * 60), "bound_per_s": RATE_PER_S, "most_in_a_second": most_in_a_second(times),
            "median_gap_s": statistics.median(gaps) if gaps else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10000)
    parser.add_argument("--active", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=3)
    args = parser.parse_args()
    with World("bench", options={"server": {"requests_per_address": 0}}) as world:
        world.join()
        begin = time.monotonic()
        crowd = Crowd(world, args.people)
        print(f"{args.people} people are signed in after {time.monotonic() - begin:.0f} s")
        result = measure(world, crowd, args.active, args.minutes)
    for name, value in result.items():
        print(f"{name:18} {value}")
    OUT.write_text(json.dumps({"rounds": [result]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
