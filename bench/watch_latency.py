"""How long does a change at the vCenter take to show in the interface, in an open page, and in the panel in HX Connect? Prints median,
99th percentile and worst; options: [CHANGES]."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
from env import browser
from env.certs import make_server_cert
from env.full import World, add_vcenter, register
from env.watching import add_cluster, metric, until_watching
from hx import HxConnect
from lib import panel
from playwright.sync_api import Frame, Page

OUT = Path(__file__).resolve().parent / "out/watch_latency.json"
PLAIN, EAST, WEST, WEST_HOST, EAST_HOST = "domain-c40", "domain-c7", "domain-c70", "host-71", "host-12"
LIMIT_S = 60
# Until the row of the only cluster names this HX cluster, in the frame that the browser paints next.
SHOWN = """(name) => new Promise((done) => {
  const look = () => {
    const list = document.querySelector('kaas-app')?.shadowRoot?.querySelector('kaas-cluster-list')?.shadowRoot;
    const table = list?.querySelector('kaas-cluster-table')?.shadowRoot;
    table?.textContent.includes(name) ? done(true) : requestAnimationFrame(look);
  };
  look();
  setTimeout(() => done(false), 10_000);
})"""


class Reader:
    """Reads over one connection, as often as it can: what it adds to the figures is the time of one read."""

    def __init__(self, world: World) -> None:
        admin = world.admin
        self.base = admin.base
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = str(admin.ca_file)
        self.session.headers["Authorization"] = f"Bearer {admin.token}"

    def get(self, path: str) -> Any:
        answer = self.session.get(self.base + path, timeout=LIMIT_S)
        answer.raise_for_status()
        return answer.json()


def measure(change: Callable[[], object], shows: Callable[[], bool]) -> float:
    """Milliseconds from the moment the vCenter has the change, at the latest when its control port answers."""
    change()
    began = time.perf_counter()
    while not shows():
        if time.perf_counter() - began > LIMIT_S:
            raise SystemExit("a change did not show within a minute")
    return (time.perf_counter() - began) * 1000


def renames_shown(world: World, page: Page | Frame, moref: str) -> list[float]:
    """Of the vSphere cluster on which the only row is."""
    def shown(name: str) -> float:
        return measure(lambda: world.vcenter.control.object("rename", id=moref, name=name), lambda: page.evaluate(SHOWN, name))

    shown("Opened")
    taken = []
    for i in range(50):
        time.sleep(0.5)
        taken.append(shown(f"Paged-{i:02}"))
    return taken


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rounds: dict[str, list[float]] = {"rename of a cluster": [], "move of a node": [], "rename, alone": [], "rename, in a page": [],
                                      "rename, in the panel": []}
    options = {"hx": {"read_interval": "0s"}, "server": {"requests_per_address": 0}}  # the reader asks as often as it can
    with World("bench", options=options) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        cluster = add_cluster(world, "moving", [{"name": "k8s-prod-w-0", "role": "worker"}])
        until_watching(world)
        reader, control = Reader(world), world.vcenter.control
        listed = f"/v2/vcenters/{world.vcenter.instance_uuid}/vsphere-clusters"

        def is_called(name: str) -> bool:
            return any(item["moref"] == PLAIN and item["name"] == name for item in reader.get(listed)["items"])

        def is_on(host: str) -> bool:
            node = reader.get(f"/v2/clusters/{cluster}/nodes")["items"][0]
            return bool(node["host"]) and node["host"]["moref"] == host

        measure(lambda: None, lambda: is_on(EAST_HOST))
        def rename(name: str) -> float:
            return measure(lambda: control.object("rename", id=PLAIN, name=name), lambda: is_called(name))

        def move(host: str) -> float:
            return measure(lambda: control.object("migrate", id="vm-102", to=host), lambda: is_on(host))

        for i in range(count // 2):
            rounds["rename of a cluster"].append(rename(f"Name-{i}"))
            rounds["move of a node"].append(move((WEST_HOST, EAST_HOST)[i % 2]))
        for i in range(50):
            time.sleep(0.5)  # so that no save has just been made
            rounds["rename, alone"].append(rename(f"Alone-{i}"))
        move(EAST_HOST)
        with tempfile.TemporaryDirectory() as profile, browser.page(Path(profile)) as page:
            browser.sign_in(page, world.kaasd.url, "admin", world.kaasd.admin_password)
            rounds["rename, in a page"] = renames_shown(world, page, EAST)
        move(WEST_HOST)  # whose HX cluster is called as its vSphere cluster is; that of the panel is called as it says itself
        with tempfile.TemporaryDirectory() as folder:
            cert = make_server_cert(Path(folder))
            with HxConnect(cert.cert_file, cert.key_file) as hx, browser.page(Path(folder) / "profile") as page:
                panel.connect(world.kaasd, hx, cert.sha256, EAST)
                frame = panel.open_panel(page, world.db, world.kaasd, hx)
                rounds["rename, in the panel"] = renames_shown(world, frame, WEST)
        before = metric(world.admin, "kaas_watch_updates_total")
        control.forget_calls()
        time.sleep(60)
        idle = [call["op"] for call in control.calls() if "Harmony-KaaS" in call["user_agent"]]
        news = metric(world.admin, "kaas_watch_updates_total") - before
    for what, taken in rounds.items():
        ordered = sorted(taken)
        print(f"{what:22} {len(taken):5} changes: median {statistics.median(taken):7.1f} ms, "
              f"99th percentile {ordered[int(len(ordered) * 0.99)]:7.1f} ms, worst {ordered[-1]:7.1f} ms")
    print(f"idle for 60 s: {len(idle)} calls {sorted(set(idle))}, {news} news")
    OUT.write_text(json.dumps({"rounds_ms": rounds, "idle_calls_in_60_s": idle}, indent=1))


if __name__ == "__main__":
    main()
