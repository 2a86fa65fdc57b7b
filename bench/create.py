#!/usr/bin/env python3
"""Creating clusters: kaasd beside a shell script that makes the same with govc, kubeadm and kubectl (bench/create_by_hand.sh).

`--only` of cluster (3 + 2 machines that boot, as root: time until all nodes are Ready and until a Service answers at its LoadBalancer
address, CPU of kaasd and kaasctl beside that of govc and kubectl, and of all together), calls (SOAP calls for a machine, beside govc's
clone, change and power), step (CPU of a step of a job beside its statements bare: bench/job_step.c), idle (what the engine asks MariaDB
without jobs), signon (sign-ons by cookie while 8 machines are cloned, beside idle). In turns; the load of the machine is printed, since it
is in the wall times. The raw rounds go to bench/out/create.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import os
import re
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from env.full import World
from env.places import TOP, build
from env.process import run
from env.vimclient import run_govc
from env.wait import until
from env.watching import until_watching
from integ.provision.machines import Machines, joined
from lib.figures import Report, Rows, estimate, in_turns, print_medians, ratio
from lib.front import VIEWER, Front
from lib.listworld import ANY_NUMBER, OPTIONS
from lib.making import measure_making

MACHINES = 8
SHORT_MS, LONG_MS = 200, 4000  # of each task at the vCenter
CLONE_MS = 10000  # while people sign on: two times four clones at a time
SIGNON_PAUSE_S = 0.02  # between two sign-ons: people wait for no one else
IDLE_S = 60.0
LIMIT_S = 300.0
STEP_JOBS = 20
JOBS = re.compile(r"\bjob(?:s|_steps|_lines|_places)\b")
EXECUTED = re.compile(r"^(?:\d{6}\s+[\d:]+)?\s*\d+ (?:Execute|Query)\s(.*)$")  # of the general log


# -- SOAP calls -----------------------------------------------------------------------------------------------------------------------


def until_done(machines: Machines, job_id: str) -> None:
    until(lambda: machines.job(job_id)["state"] == "done", f"the end of the job {job_id}", LIMIT_S)


def machines_removed(machines: Machines) -> None:
    until_done(machines, machines.remove())
    machines.query("DELETE FROM address_leases")


def calls_of(machines: Machines) -> dict[str, float]:
    """Of a machine; `asked` are those that did not wait for news."""
    calls = [call["op"] for call in machines.control.calls()]
    return {"calls": len(calls) / MACHINES, "asked": len([op for op in calls if op != "WaitForUpdatesEx"]) / MACHINES}


def calls_of_kaasd(machines: Machines) -> dict[str, float]:
    """With all that belongs to a machine: its part of the folder, a card of its own, user-data that is wiped and read back."""
    machines.control.forget_calls()
    until_done(machines, machines.make(MACHINES))
    return calls_of(machines)


def make_by_govc(machines: Machines, name: str) -> None:
    for words in (["vm.clone", "-vm", "node-v1", "-on=false", "-pool", "HX-East/Resources", name],
                  ["vm.change", "-vm", name, "-c", "2", "-m", "3072", "-e", "guestinfo.userdata=e30="], ["vm.power", "-on", name]):
        run_govc(machines.vcenter, words[0], "-dc", "DC0", *words[1:])


def calls_of_govc(machines: Machines) -> dict[str, float]:
    """vm.clone, vm.change and vm.power, each a program with a session of its own, four machines at a time."""
    machines.control.forget_calls()
    names = [f"by-hand-{number}" for number in range(MACHINES)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: make_by_govc(machines, name), names))
    row = calls_of(machines)
    machines.control.settings(task_ms=SHORT_MS)
    for name in names:
        run_govc(machines.vcenter, "vm.power", "-dc", "DC0", "-off", name)
        run_govc(machines.vcenter, "vm.destroy", "-dc", "DC0", name)
    return row


def calls_round(machines: Machines, who: str) -> dict[str, float]:
    machines.control.settings(task_ms=LONG_MS if who.endswith("-long") else SHORT_MS)
    if who.startswith("govc"):
        return calls_of_govc(machines)
    row = calls_of_kaasd(machines)
    machines.control.settings(task_ms=SHORT_MS)
    machines_removed(machines)
    return row


def measure_calls(rounds: int) -> Rows:
    raw: Rows = {"kaasd": [], "kaasd-long": [], "govc": [], "govc-long": []}
    with World("bcalls") as world:
        machines = joined(world)
        try:
            until_watching(world)
            for number in range(rounds):
                for who in in_turns(number, list(raw)):
                    raw[who].append(calls_round(machines, who))
        finally:
            machines.close()
    return raw


# -- a step of a job --------------------------------------------------------------------------------------------------------------------


def measure_step(rounds: int) -> Rows:
    """CPU microseconds and statements of a step."""
    done = run([TOP / "tests/unit/store/with-mariadb", build() / "bench/job_step", str(rounds), str(STEP_JOBS)], limit_s=3600)
    if done.returncode:
        raise SystemExit(f"job_step: {done.stdout}{done.stderr}")
    raw: Rows = {"engine": [], "bare": []}
    for line in done.stdout.splitlines():
        figures = [float(word) for word in line.split()]
        raw["engine"].append({"cpu_us": figures[0], "statements": figures[1]})
        raw["bare"].append({"cpu_us": figures[2], "statements": figures[3]})
    return raw


# -- an engine without jobs -------------------------------------------------------------------------------------------------------------


def questions(world: World) -> int:
    """As the server counts statements, the one that asks included."""
    return int(world.db.query("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1])


def idle_round(world: World, log: Path) -> dict[str, float]:
    """Statements in two seconds. The server counts all that the replica asks (Questions); its general log has each of them, and so tells
    which are about jobs: of these the first begins the count."""
    log.write_text("")
    before, began = questions(world), time.monotonic()
    time.sleep(IDLE_S)
    asked, pairs = questions(world) - before - 1, (time.monotonic() - began) / 2
    said = [found[1] for line in log.read_text(errors="replace").splitlines() if (found := EXECUTED.match(line))]
    return {"jobs": (len([text for text in said if JOBS.search(text)]) - 1) / pairs, "all": asked / pairs, "logged": len(said) / pairs}


def measure_idle(rounds: int) -> Rows:
    with World("bidle") as world:
        world.join()
        until_watching(world)
        log = world.db.folder / "general.log"
        log.touch()
        log.chmod(0o666)
        world.db.query("SET GLOBAL general_log_file = %s", str(log))
        world.db.query("SET GLOBAL general_log = ON")
        return {"kaasd": [idle_round(world, log) for _ in range(rounds)]}


# -- sign-ons beside clones -------------------------------------------------------------------------------------------------------------


def sign_on_until(world: World, is_over: Callable[[], bool]) -> dict[str, float]:
    """Milliseconds of sign-ons by cookie, one after the other, over a kept connection."""
    front, took_ms = Front(world), []
    while not is_over():
        cookie = world.vcenter.control.login(VIEWER)
        began = time.monotonic_ns()
        front.sign_on("session_id", cookie["cookie"])
        took_ms.append((time.monotonic_ns() - began) / 1e6)
        world.vcenter.control.expire(key=cookie["key"])
        time.sleep(SIGNON_PAUSE_S)
    return {"p99_ms": statistics.quantiles(took_ms, n=100)[98], "p50_ms": statistics.median(took_ms), "count": len(took_ms)}


def beside_clones(machines: Machines) -> dict[str, float]:
    """As long as machines are made: two times four clones."""
    machines.control.forget_task_rules()
    machines.control.plan_tasks("CloneVM_Task", duration_ms=CLONE_MS)
    job_id = machines.make(MACHINES)
    over = threading.Event()

    def watch() -> None:
        until_done(machines, job_id)
        over.set()

    thread = threading.Thread(target=watch)
    thread.start()
    row = sign_on_until(machines.world, over.is_set)
    thread.join()
    machines.control.forget_task_rules()
    machines_removed(machines)
    return row


def alone(machines: Machines) -> dict[str, float]:
    end = time.monotonic() + 2 * CLONE_MS / 1000
    return sign_on_until(machines.world, lambda: time.monotonic() > end)


def measure_signon(rounds: int) -> Rows:
    raw: Rows = {"cloning": [], "idle": []}
    with World("bsignon", options={**OPTIONS, **ANY_NUMBER}) as world:
        machines = joined(world)
        try:
            alone(machines)
            for number in range(rounds):
                for name in in_turns(number, list(raw)):
                    raw[name].append({"cloning": beside_clones, "idle": alone}[name](machines))
        finally:
            machines.close()
    return raw


# -- what came out ----------------------------------------------------------------------------------------------------------------------


def parts_of(rows: list[dict[str, float]], part: str, *whole: str) -> list[float]:
    return [row[part] / sum(row[key] for key in whole) for row in rows]


def report_cluster(report: Report, rows: Rows) -> None:
    ours, script = rows["kaasd"], rows["script"]
    report.goal("ready", "create 3 + 2, until all are Ready: time, of the script's", ratio(ours, script, "ready"), 1.15, at_most=True)
    report.goal("service", "until a Service answers: time, of the script's", ratio(ours, script, "service"), 1.15, at_most=True)
    report.goal("own", "CPU of kaasd and kaasctl, of the script's govc and kubectl", ratio(ours, script, "own"), 0.3, at_most=True)
    report.goal("part", "CPU of kaasd and kaasctl, of theirs and all guests'", estimate(parts_of(ours, "own", "own", "guests")), 0.02,
                at_most=True)
    report.figure("guests", "CPU of the guests, of those of the script", ratio(ours, script, "guests"))
    report.figure("cluster_calls", "SOAP calls for all of it, of the script's", ratio(ours, script, "calls"))


def report_calls(report: Report, rows: Rows) -> None:
    report.goal("calls", "SOAP calls for a machine, of govc's", ratio(rows["kaasd"], rows["govc"], "calls"), 1.0, at_most=True)
    report.goal("calls_long", f"the same, each task {LONG_MS / 1000:.0f} s", ratio(rows["kaasd-long"], rows["govc-long"], "calls"), 1.0,
                at_most=True)
    report.goal("polls", f"calls that wait for no news, tasks {LONG_MS // SHORT_MS} times as long",
                ratio(rows["kaasd-long"], rows["kaasd"], "asked"), 1.05, at_most=True)


def report_step(report: Report, rows: Rows) -> None:
    report.goal("step", "CPU of a step of a job, of its statements bare", ratio(rows["engine"], rows["bare"], "cpu_us"), 1.5, at_most=True)


def report_idle(report: Report, rows: Rows) -> None:
    report.goal("idle", "statements of an idle engine in 2 s", estimate([row["jobs"] for row in rows["kaasd"]]), 1.0, at_most=True)
    report.figure("idle_all", "statements of all of that replica in 2 s", estimate([row["all"] for row in rows["kaasd"]]))


def report_signon(report: Report, rows: Rows) -> None:
    report.goal("signon", f"p99 of sign-ons while {MACHINES} machines are cloned, of idle", ratio(rows["cloning"], rows["idle"], "p99_ms"),
                1.2, at_most=True)
    report.figure("signon_p50", "p50 of the same", ratio(rows["cloning"], rows["idle"], "p50_ms"))


MEASURED: dict[str, tuple[Callable[[int], Rows], Callable[[Report, Rows], None]]] = {
    "cluster": (measure_making, report_cluster), "calls": (measure_calls, report_calls), "step": (measure_step, report_step),
    "idle": (measure_idle, report_idle), "signon": (measure_signon, report_signon)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(MEASURED), help="parts to measure")
    args = parser.parse_args()
    wanted = args.only.split(",")
    if set(wanted) - set(MEASURED):
        parser.error(f"parts are {', '.join(MEASURED)}")
    raw, report = dict[str, Rows](), Report("create")
    for part in wanted:
        measure, tell = MEASURED[part]
        print(f"load before {part}: {os.getloadavg()}", flush=True)
        raw[part] = measure(args.rounds)
        tell(report, raw[part])
    print(f"load after: {os.getloadavg()}")
    for part, rows in raw.items():
        print_medians(part, rows)
    report.print()
    report.write(raw)


if __name__ == "__main__":
    main()
