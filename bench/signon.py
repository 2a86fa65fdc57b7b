#!/usr/bin/env python3
"""Cold sign-ons: kaasd's CPU time for each, with everything that belongs to it, beside govmomi's for the same SOAP calls; in turns.

The strict vCenter serves both, and its call log proves that kaasd asked no less. Rows: --only NAME[,NAME] of cookie, ticket, crowd
(1,000 identical sign-ons at once, which may ask the vCenter once). The raw rounds go to bench/out/signon.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
from collections.abc import Callable

from env import vimclient
from env.full import World
from env.wait import until
from env.watching import metric
from lib.cpu import cpu_ns
from lib.figures import Report, estimate, ratio
from lib.front import HEADERS, VIEWER, Front
from lib.govmomi import vimpeer
from lib.listworld import ANY_NUMBER, OPTIONS

ENTITIES = ("domain-c7", "domain-c26", "domain-c40", "domain-c70")  # what kaasd asks about: all of the default world carry clusters
# Of a sign-on; beside them stand the logout of a clone, and whatever kaasd has to do anyway.
OF_KIND = {"cookie": ("RetrievePropertiesEx", "HasPrivilegeOnEntities"), "ticket": ("CloneSession", "HasUserPrivilegeOnEntities")}
CALLS = {op for ops in OF_KIND.values() for op in ops}
ROWS = ("cookie", "ticket", "crowd")
WHO = ("kaasd", "govmomi", "govmomi-own")
PER_SECOND = 50  # about so many sign-ons of each kind fit into a second on a busy machine
CROWD = 1000
CROWD_LIMIT_S = 25  # the vCenter may take 30 s for a call


def cookies(world: World, count: int) -> list[str]:
    return [world.vcenter.control.login(VIEWER)["cookie"] for _ in range(count)]


def tickets(world: World, count: int) -> list[str]:
    """Of one session, which lives on until the tickets are used."""
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
        made = [vimclient.clone_ticket(instance) for _ in range(count)]
        instance._stub.cookie = ""  # so that the logout at the end of the block is nobody's
    return made


MAKERS: dict[str, Callable[[World, int], list[str]]] = {"cookie": cookies, "ticket": tickets}


def operations(world: World) -> dict[str, int]:
    sums: dict[str, int] = {}
    for call in world.vcenter.control.calls():
        if call["op"] in CALLS:
            sums[call["op"]] = sums.get(call["op"], 0) + 1
    return sums


def one_round(world: World, front: Front, kind: str, count: int) -> dict[str, dict[str, float]]:
    """kaasd, govmomi with one client for all (which can sign on only one after the other), govmomi with a client for each person."""
    assert world.kaasd.process
    member = "session_id" if kind == "cookie" else "clone_ticket"
    mine, theirs, own = (MAKERS[kind](world, count) for _ in range(3))
    pids = [world.kaasd.process.pid]
    world.vcenter.control.forget_calls()
    began = cpu_ns(pids)
    for credential in mine:
        front.sign_on(member, credential)
    used_us = (cpu_ns(pids) - began) / 1000
    asked = operations(world)
    if any(asked.get(op, 0) < count for op in OF_KIND[kind]):
        raise SystemExit(f"{kind}: kaasd asked less than govmomi: {asked}")
    shared, shared_us = vimpeer(world.vcenter, kind, *ENTITIES, lines=theirs)
    each, each_us = vimpeer(world.vcenter, f"own-{kind}", *ENTITIES, lines=own)
    if shared != count or each != count:
        raise SystemExit(f"{kind}: govmomi did {shared} and {each} of {count}")
    return {"kaasd": {"cpu_us": used_us / count}, "govmomi": {"cpu_us": shared_us / count}, "govmomi-own": {"cpu_us": each_us / count}}


def sets_of_calls(world: World) -> int:
    """Those of sign-ons carry the id of the request that had them made; what kaasd asks for itself meanwhile carries none."""
    return len({call["operation_id"] for call in world.vcenter.control.calls() if call["op"] in CALLS and call.get("operation_id")})


def crowd(world: World) -> dict[str, float]:
    """How many answers were good, and what the vCenter was asked; it says nothing before all of them wait for it."""
    body, made = world.scratch.path / "credential.json", world.vcenter.control.login(VIEWER)
    body.write_text(json.dumps({"vcenter": world.vcenter.instance_uuid, "session_id": made["cookie"]}))
    control = world.vcenter.control
    control.forget_calls()
    rule = control.hold("RetrievePropertiesEx", executed=True, session_key=made["key"])
    with subprocess.Popen(["h2load", "--h1", "-t1", f"-n{CROWD}", f"-c{CROWD}", "-d", str(body),
                           *[word for name, value in HEADERS.items() for word in ("-H", f"{name}: {value}")],
                           world.kaasd.url + "/v2/login/vcenter"], stdout=subprocess.PIPE, text=True) as load:
        until(lambda: metric(world.admin, "kaas_signons_waiting") == CROWD, "all of them waiting", limit_s=CROWD_LIMIT_S)
        control.release(rule)
        said = load.communicate(timeout=CROWD_LIMIT_S)[0]
    control.clear_faults()
    good = re.search(r"status codes: (\d+) 2xx", said)
    return {"good": float(good[1]) if good else 0, "sets": float(sets_of_calls(world))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=2, help=f"sign-ons of a kind in a round, in units of {PER_SECOND}")
    parser.add_argument("--only", default=",".join(ROWS), help="rows to measure")
    args = parser.parse_args()
    wanted = set(args.only.split(","))
    if wanted - set(ROWS):
        parser.error(f"rows are {', '.join(ROWS)}")
    kinds = [kind for kind in MAKERS if kind in wanted]
    raw: dict[str, list[dict[str, float]]] = {f"{who} {kind}": [] for kind in kinds for who in WHO}
    report = Report("signon")
    with World("signon", options={**OPTIONS, **ANY_NUMBER}) as world:
        world.join()
        front = Front(world)
        for kind in kinds:
            one_round(world, front, kind, 5)
        for _ in range(args.rounds):
            for kind in kinds:
                for who, row in one_round(world, front, kind, args.seconds * PER_SECOND).items():
                    raw[f"{who} {kind}"].append(row)
        if "crowd" in wanted:
            raw["crowd"] = [crowd(world) for _ in range(args.rounds)]
    for name, rows in raw.items():
        for key in rows[0]:
            print(f"{name:16} {key:8} {statistics.median(row[key] for row in rows):10.1f}")
    for kind in kinds:
        measured = ratio(raw[f"kaasd {kind}"], raw[f"govmomi {kind}"], "cpu_us")
        report.goal(f"{kind}_ratio", f"CPU per sign-on by {kind}, of govmomi's with one client for all", measured, 0.6, at_most=True)
        measured = ratio(raw[f"kaasd {kind}"], raw[f"govmomi-own {kind}"], "cpu_us")
        report.goal(f"{kind}_own_ratio", f"CPU per sign-on by {kind}, of govmomi's with a client for each", measured, 0.6, at_most=True)
    if "crowd" in raw:
        sets, good = (estimate([row[key] for row in raw["crowd"]]) for key in ("sets", "good"))
        report.goal("crowd_sets", f"sets of calls for {CROWD} identical sign-ons at once", sets, 1, at_most=True)
        report.goal("crowd_good", "of which were signed in", good, CROWD)
    report.print()
    report.write(raw)


if __name__ == "__main__":
    main()
