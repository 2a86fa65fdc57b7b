#!/usr/bin/env python3
"""Sign-ons and lists through healthy vCenters, with and without sick ones beside them, in turns; prints the ratios.

Of ten vCenters one hangs, one floods, one shows an expired certificate and one restarts again and again. The raw rounds go to
bench/out/many_vcenters.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from env.api import Api
from env.many import Many

COUNT = 10
HANGING, FLOODING, EXPIRED, RESTARTING = range(4)
OPTIONS = {"vcenter": {"call_timeout": "5s", "connect_timeout": "2s"}, "log": {"level": "notice"},
           "server": {"requests_per_address": 0}}


def milliseconds_per(count: int, start: float) -> float:
    return (time.perf_counter() - start) * 1000 / count


def measure(many: Many, people: list[Api], lists: int) -> dict[str, float]:
    """Mean milliseconds of a sign-on and of a list, over the healthy vCenters."""
    well = many.vcenters[RESTARTING + 1:]
    cookies = [(vcenter, vcenter.control.login("viewer-east@vsphere.local")["cookie"]) for vcenter in well]
    start = time.perf_counter()
    for vcenter, cookie in cookies:
        many.kaasd.api().login_session(vcenter.instance_uuid, cookie)
    sign_on_ms = milliseconds_per(len(cookies), start)
    start = time.perf_counter()
    for _ in range(lists):
        for person in people:
            person.get("/v2/clusters")
    return {"sign_on_ms": sign_on_ms, "list_ms": milliseconds_per(lists * len(people), start)}


def hurt(many: Many) -> None:
    many.vcenters[HANGING].control.fault("*", "hang")
    many.vcenters[FLOODING].control.fault("*", "flood")
    many.vcenters[RESTARTING].control.restart(down_ms=3000)


def heal(many: Many) -> None:
    for vcenter in many.vcenters[:EXPIRED]:
        vcenter.control.clear_faults()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lists", type=int, default=30, help="lists per person and round")
    parser.add_argument("--settle", type=float, default=2.0, help="seconds between changing the world and measuring")
    args = parser.parse_args()
    raw: dict[str, list[dict[str, float]]] = {"well": [], "sick": []}
    with Many(COUNT, OPTIONS) as many:
        people = [many.sign_in(vcenter) for vcenter in many.vcenters[RESTARTING + 1:]]
        for number in range(args.rounds):
            if number == 1:  # stays so: a vCenter whose certificate is refused costs nothing that could be healed
                many.vcenters[EXPIRED].control.change_certificate("expired")
            time.sleep(args.settle)
            raw["well"].append(measure(many, people, args.lists))
            hurt(many)
            time.sleep(args.settle)
            raw["sick"].append(measure(many, people, args.lists))
            heal(many)
    for key in ("sign_on_ms", "list_ms"):
        ratios = [sick[key] / well[key] for well, sick in zip(raw["well"], raw["sick"], strict=True)]
        well, sick = (statistics.median(row[key] for row in raw[name]) for name in ("well", "sick"))
        low, high = statistics.quantiles(ratios, n=20)[0], statistics.quantiles(ratios, n=20)[-1]
        print(f"{key:12} well {well:8.2f}  sick {sick:8.2f}  ratio {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})")
    out = Path("bench/out")
    (out / "many_vcenters.json").write_text(json.dumps({"rounds": raw}, indent=1) + "\n")


if __name__ == "__main__":
    main()
