#!/usr/bin/env python3
"""The nodes of a Kubernetes cluster, read and watched by src/k8s beside client-go and kubectl, at one API server, in turns.

What counts is the client's CPU time; client-go keeps its connection, ours connects for each list. `--only` of list, event, memory, many:
the last is a whole kaasd with 200 clusters of 25 nodes, one real and the others replayed, of which nothing happens; its list is asked for
in turns with that of another kaasd, to which as many were typed. The load of the machine is printed, since it is in the wall times. The raw
rounds go to bench/out/kube.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import os
import queue
import re
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from env.connected import OPTIONS
from env.full import World, add_vcenter, register
from env.kaasd import laid_over
from env.kube import Kube, Nodes, Replay, record
from env.kube.probe import WatchProbe
from env.kube.server import ADMIN
from env.places import BIN, CACHE, TOP, Scratch
from env.process import READY_LIMIT_S, run
from env.wait import until
from lib.cpu import process_ns
from lib.figures import Report, Rows, estimate, in_turns, print_medians, ratio
from lib.listworld import OPTIONS as LIST_OPTIONS

PARTS = ("list", "event", "memory", "many")
NODES = 1000
MANY, FEW_NODES = 200, 25
IDLE_S = 40.0
LISTS = 200
MANY_OPTIONS = laid_over(OPTIONS, LIST_OPTIONS)
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SETTLE_S = 2.0  # the garbage collector of Go works on behind a list


class Peer:
    """client-go (bench/clientgo), with the commands that both have."""

    def __init__(self, kube: Kube, kind: str) -> None:
        self._popen = subprocess.Popen([BIN / "kubepeer", kube.url, kube.ca_file, kind], text=True, bufsize=1, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._send(kube.tokens[ADMIN])

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._popen.kill()
        self._popen.wait()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _send(self, line: str) -> None:
        assert self._popen.stdin
        self._popen.stdin.write(line + "\n")

    def _read(self) -> None:
        assert self._popen.stdout
        for line in self._popen.stdout:
            self._events.put(json.loads(line))

    def _wait(self, event: str, name: str | None = None) -> dict[str, Any]:
        while (one := self._events.get(timeout=READY_LIMIT_S))["event"] != event or one.get("name") != name:
            pass
        return one

    def list(self) -> None:
        self._send("list")
        self._wait("complete")

    def watch(self) -> None:
        self._send("watch")
        self._wait("complete")

    def wait_change(self, name: str) -> int:
        return int(self._wait("changed", name)["at_ns"])


class Ours:
    """src/k8s, by the program that the tests use."""

    def __init__(self, kube: Kube) -> None:
        self._probe = WatchProbe(kube, real_clock=True)

    def __enter__(self) -> Ours:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._probe.__exit__(kind, error, trace)

    @property
    def pid(self) -> int:
        return self._probe.pid

    def list(self) -> None:
        self._probe.do("fresh")
        self.watch()

    def watch(self) -> None:
        self._probe.start()
        self._probe.wait("complete")

    def wait_change(self, name: str) -> int:
        return int(self._probe.wait_change(name)["at_ns"])


Client = Ours | Peer


def clients(kube: Kube) -> dict[str, Callable[[], Client]]:
    return {"ours": lambda: Ours(kube), "protobuf": lambda: Peer(kube, "protobuf"), "json": lambda: Peer(kube, "json")}


def by_kubectl(kube: Kube, kubectl: Path, config: Path) -> float:
    """CPU milliseconds of the whole program; that is how people use it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([kubectl, f"--kubeconfig={config}", f"--cache-dir={kube.folder / 'kubectl'}", "get", "nodes", "--output=json"],
                          stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SystemExit("kubectl failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def measure_list(kube: Kube, rounds: int, times: int) -> Rows:
    """CPU milliseconds of one list. Each program lists once before, so that none pays for its start."""
    raw: Rows = {name: [] for name in (*clients(kube), "kubectl")}
    run([TOP / "scripts/kube", "kubectl", "version", "--client"])  # brings it
    kubectl = next(CACHE.glob("kube-helm*/kubectl"))
    config = kube.folder / "bench.yaml"
    config.touch(mode=0o600)
    config.write_text(kube.kubeconfig())
    by_kubectl(kube, kubectl, config)
    for number in range(rounds):
        for name in in_turns(number, list(raw)):
            if name == "kubectl":
                raw[name].append({"cpu_ms": by_kubectl(kube, kubectl, config)})
                continue
            with clients(kube)[name]() as client:
                client.list()
                before = process_ns(client.pid)
                for _ in range(times):
                    client.list()
                raw[name].append({"cpu_ms": (process_ns(client.pid) - before) / 1e6 / times})
    return raw


def measure_event(kube: Kube, nodes: Nodes, rounds: int, changes: int) -> Rows:
    """Of one change: CPU microseconds, and milliseconds from before it is written until it is in the list."""
    raw: Rows = {"ours": [], "protobuf": []}
    for number in range(rounds):
        for name in in_turns(number, list(raw)):
            with clients(kube)[name]() as client:
                client.watch()
                time.sleep(SETTLE_S)
                before, waits = process_ns(client.pid), []
                for change in range(changes):
                    node, began = f"node-{change % NODES:04}", time.monotonic_ns()
                    nodes.condition(node, "Ready", "False" if change // NODES % 2 == number % 2 else "True")
                    waits.append((client.wait_change(node) - began) / 1e6)
                raw[name].append({"cpu_us": (process_ns(client.pid) - before) / 1e3 / changes, "wall_ms": statistics.median(waits)})
    return raw


def rss_kb(pid: int) -> int:
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found
    return int(found[1])


def measure_memory(kube: Kube, rounds: int) -> Rows:
    """Kilobytes that are resident more, once the nodes are known and watched."""
    raw: Rows = {"ours": [], "protobuf": []}
    for number in range(rounds):
        for name in in_turns(number, list(raw)):
            with clients(kube)[name]() as client:
                time.sleep(SETTLE_S)
                before = rss_kb(client.pid)
                client.watch()
                time.sleep(SETTLE_S)
                raw[name].append({"kb": rss_kb(client.pid) - before, "whole_kb": rss_kb(client.pid)})
    return raw


def connect(world: World, name: str, kubeconfig: str) -> str:
    """The name of the account that kaasd has made there."""
    answer = world.admin.call("POST", "/v2/clusters:connect", json={"name": name, "kubeconfig": kubeconfig}, headers={"X-KaaS": "1"})
    if answer.status_code != 201:
        raise SystemExit(answer.text)
    found = re.search(r"kaas-[0-9a-f]{8}", answer.text)
    assert found
    return found[0]


def play_account(replay: Replay, account: str) -> None:
    """What a replayed cluster says to whoever connects it: all is made already, and may be done."""
    made = json.dumps({"metadata": {"name": account, "uid": "00000000-0000-4000-8000-000000000001"}}).encode()
    namespace = "/api/v1/namespaces/kaas-system"
    of_account = [f"{RBAC}/{kind}/{account}" for kind in ("clusterroles", "clusterrolebindings", "namespaces/kube-system/roles",
                                                          "namespaces/kube-system/rolebindings")]
    for path in (*of_account, namespace, f"{namespace}/serviceaccounts/{account}"):
        replay.say("all", "PATCH", f"{path}?fieldManager={account}&force=true", 200, made)
    replay.say("all", "GET", namespace, 404, b'{"kind":"Status","reason":"NotFound"}')
    replay.say("all", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 201, b'{"status":{"allowed":true}}')
    token = {"status": {"token": replay.token, "expirationTimestamp": "2100-01-01T00:00:00Z"}}
    replay.say("all", "POST", f"{namespace}/serviceaccounts/{account}/token", 201, json.dumps(token).encode())
    replay.say("all", "GET", "/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane&limit=100", 200,
               b'{"kind":"PodList","items":[]}')


def server_ns(pid: int) -> int:
    """CPU time of the HTTP server's threads alone: connections are watched meanwhile."""
    threads = [thread for thread in Path(f"/proc/{pid}/task").iterdir() if (thread / "comm").read_text().startswith("MHD")]
    assert threads
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def type_clusters(world: World) -> None:
    add_vcenter(world.kaasd, world.vcenter)
    register(world.kaasd, world.vcenter)
    body = {"kubernetes_version": "1.36.3", "control_plane": {"desired": 1}, "workers": {"desired": FEW_NODES - 1},
            "vsphere_clusters": [{"vcenter_id": world.vcenter.instance_uuid, "moref": "domain-c7"}]}
    for number in range(MANY):
        world.admin.expect(201, "POST", "/v2/clusters", json={**body, "name": f"typed-{number}"})


def measure_lists_of(worlds: dict[str, World], rounds: int) -> Rows:
    """CPU microseconds of a list of all clusters. The first round is not counted: an answer is made once, then kept."""
    raw: Rows = {name: [] for name in worlds}
    for number in range(rounds + 1):
        for name in in_turns(number, list(raw)):
            kaasd, admin = worlds[name].kaasd, worlds[name].admin
            assert kaasd.process
            before = server_ns(kaasd.process.pid)
            for _ in range(LISTS):
                told = admin.expect(200, "GET", f"/v2/clusters?limit={MANY}")
            if number:
                raw[name].append({"cpu_us": (server_ns(kaasd.process.pid) - before) / 1e3 / LISTS, "rows": len(told["items"])})
    return raw


def measure_many(scratch: Scratch, rounds: int) -> Rows:
    """Kilobytes that kaasd has more, and its part of one core in percent when nothing happens; then lists of it and of another."""
    with World("bm", options=MANY_OPTIONS) as world, Kube(scratch, "few") as kube, Nodes(kube) as nodes:
        assert world.kaasd.process
        pid = world.kaasd.process.pid
        time.sleep(SETTLE_S)
        before = rss_kb(pid)
        nodes.write_many(FEW_NODES)
        account = connect(world, "real", kube.kubeconfig())
        with Replay(scratch, kube, record(kube, scratch.path / "recording.json"), count=MANY - 1) as replay:
            play_account(replay, account)
            for number in range(1, MANY):
                connect(world, f"replayed-{number}", replay.kubeconfig(number))
            until(lambda: all(row["state"] == "ready" for row in world.kaasd.admin().items("/v2/clusters")), "all ready")
            time.sleep(SETTLE_S)
            began, spent = time.monotonic(), process_ns(pid)
            time.sleep(IDLE_S)
            idle = {"kb": rss_kb(pid) - before, "core_percent": (process_ns(pid) - spent) / 1e7 / (time.monotonic() - began)}
            with World("bt", options=MANY_OPTIONS) as other:
                type_clusters(other)
                return {"kaasd": [idle], **measure_lists_of({"connected": world, "typed": other}, rounds)}


def report_many(report: Report, rows: Rows) -> None:
    report.goal("many_memory", "memory of 200 clusters, MB", estimate([row["kb"] / 1000 for row in rows["kaasd"]]), 40, at_most=True)
    report.goal("many_idle", "200 clusters when nothing happens, % of a core", estimate([row["core_percent"] for row in rows["kaasd"]]),
                5, at_most=True)
    report.goal("many_list", "CPU of the list of 200 clusters, of as many typed", ratio(rows["connected"], rows["typed"], "cpu_us"), 1.0,
                at_most=True)


def report_list(report: Report, rows: Rows) -> None:
    for name, wanted in (("protobuf", 0.5), ("json", 0.15), ("kubectl", 0.03)):
        report.goal(f"list_{name}", f"CPU of a list, of {name}'s", ratio(rows["ours"], rows[name], "cpu_ms"), wanted, at_most=True)


def report_event(report: Report, rows: Rows) -> None:
    report.goal("event_cpu", "CPU of an event, of client-go's", ratio(rows["ours"], rows["protobuf"], "cpu_us"), 0.35, at_most=True)
    report.goal("event_wall", "an event until it is in the list, ms", estimate([row["wall_ms"] for row in rows["ours"]]), 250, at_most=True)


def report_memory(report: Report, rows: Rows) -> None:
    report.goal("memory", "memory of the nodes, of client-go's", ratio(rows["ours"], rows["protobuf"], "kb"), 0.4, at_most=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--times", type=int, default=10, help="lists by each in a round")
    parser.add_argument("--changes", type=int, default=200, help="changes that each watches in a round")
    parser.add_argument("--only", default=",".join(PARTS))
    args = parser.parse_args()
    wanted = args.only.split(",")
    if set(wanted) - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    scratch, raw, report = Scratch("bk"), dict[str, Rows](), Report("kube")
    print(f"load before: {os.getloadavg()}")
    try:
        with Kube(scratch) as kube, Nodes(kube) as nodes:
            nodes.write_many(NODES)
            if "list" in wanted:
                raw["list"] = measure_list(kube, args.rounds, args.times)
                report_list(report, raw["list"])
            if "event" in wanted:
                raw["event"] = measure_event(kube, nodes, args.rounds, args.changes)
                report_event(report, raw["event"])
            if "memory" in wanted:
                raw["memory"] = measure_memory(kube, args.rounds)
                report_memory(report, raw["memory"])
        if "many" in wanted:
            raw["many"] = measure_many(scratch, args.rounds)
            report_many(report, raw["many"])
    finally:
        scratch.remove()
    print(f"load after: {os.getloadavg()}")
    for part, rows in raw.items():
        print_medians(part, rows)
    report.print()
    report.write(raw)


if __name__ == "__main__":
    main()
