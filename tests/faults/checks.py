"""What must hold when the faults are over for a moment, and what must never be seen at all."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
import requests
from env.api import Api, Unexpected
from env.full import EXTENSION_KEY
from env.places import WorldError

from .plan import VIEWERS
from .trio import NEVER_SEEN_BY, Site, Trio, placed_on

CALM_LIMIT_S = 180.0
AGENT = "Harmony-KaaS/"


class Broken(AssertionError):
    """A promise that was not kept."""


def eventually(told: Callable[[], str], what: str, limit_s: float = CALM_LIMIT_S) -> float:
    """Waits until `told` has nothing to complain of; hands back how long that took, in seconds."""
    start = time.monotonic()
    while complaint := told():
        if time.monotonic() - start > limit_s:
            raise Broken(f"{what}: still not after {limit_s:.0f} s: {complaint}")
        time.sleep(0.1)
    return time.monotonic() - start


def quietly(told: Callable[[], str]) -> Callable[[], str]:
    """A call that fails while kaasd or a vCenter comes back is a complaint like others."""
    def ask() -> str:
        try:
            return told()
        except (Unexpected, WorldError, requests.RequestException, KeyError) as error:
            return f"{type(error).__name__}: {error}"[:400]
    return ask


def _is_connected(trio: Trio, site: Site) -> str:
    """By itself: nobody registers it again, and the record is as kaasd wants it."""
    status = trio.admin.get(f"/v2/vcenters/{site.id}/status")
    wanted = {"state": "connected", "record": "ours", "problem": None}
    found = {"state": status["state"], "record": status["extension"]["record"], "problem": status["extension"]["problem"]}
    return "" if found == wanted else f"{found}, {status.get('reason')}"


def wait_until_joined(trio: Trio, site: Site) -> None:
    """Connected by the certificate of the record that is there, with a session that the vCenter knows."""
    for what, told in (("connection and record", lambda: _is_connected(trio, site)), ("one session", lambda: _one_session(site)),
                       ("the certificate", lambda: _certificate_is_known(trio, site))):
        eventually(quietly(told), f"vc{site.number}: {what}")


def _one_session(site: Site) -> str:
    ours = [row for row in site.vcenter.control.sessions() if row["user_agent"].startswith(AGENT)]
    return "" if len(ours) == 1 else f"{len(ours)} sessions of ours: {[row['user_agent'] for row in ours]}"


def _certificate_is_known(trio: Trio, site: Site) -> str:
    """The certificate that the vCenter has stored is the one with which kaasd logs in."""
    stored = site.vcenter.control.extensions()[EXTENSION_KEY]["thumbprint_sha256"].replace(":", "").lower()
    active = trio.admin.get(f"/v2/vcenters/{site.id}/status")["login"]["certificate"]["sha256"].replace(":", "").lower()
    return "" if stored == active else f"the vCenter knows {stored}, ours is {active}"


def _inventory(trio: Trio, site: Site) -> str:
    """kaasd's picture against the vCenter's own, read by another client."""
    present = {hx["vsphere_cluster"]["moref"] for hx in trio.admin.items("/v2/hx-clusters", vcenter=site.id) if hx["present"]}
    names = {row["moref"]: row["name"] for row in trio.admin.items(f"/v2/vcenters/{site.id}/vsphere-clusters")}
    objects = {row["id"]: row["name"] for row in site.vcenter.control.call("GET", "/objects") if row["type"] == "ClusterComputeResource"}
    records = {key.rsplit(".", 1)[1] for key in site.vcenter.control.extensions() if key.startswith("com.springpath.sysmgmt.")}
    if names != objects:
        return f"vSphere clusters {names}, the vCenter has {objects}"
    return "" if present == records & set(objects) else f"HX clusters on {sorted(present)}, records of {sorted(records & set(objects))}"


def _placements(trio: Trio, site: Site, truth: dict[str, set[str]]) -> str:
    for kind, morefs in truth.items():
        shown = trio.admin.get("/v2/clusters", q=site.name_of(kind))["items"]
        found = {place["moref"] for row in shown for place in row["placement"]["vsphere_clusters"]}
        if found != morefs:
            return f"{site.name_of(kind)} is shown on {sorted(found)}, it runs on {sorted(morefs)}"
    return ""


def _visible(site: Site, viewer: str, truth: dict[str, set[str]]) -> list[str]:
    may = site.may_view(viewer)
    return sorted(site.name_of(kind) for kind, morefs in truth.items() if morefs & may)


def _views(trio: Trio, site: Site, truth: dict[str, set[str]], kept: dict[tuple[int, str], Api]) -> str:
    """People who sign in now see exactly what they may; those who were signed in before see nothing more."""
    for viewer in VIEWERS:
        wanted = _visible(site, viewer, truth)
        try:
            found = trio.sign_in(site, viewer).names()
        except WorldError as error:
            if wanted:
                return f"{viewer}: {error}"
            continue  # who has no right at all cannot log in at the vCenter either
        if found != wanted:
            return f"{viewer} sees {found}, may see {wanted}"
        before = kept.get((site.number, viewer))
        extra = set(before.names()) - set(wanted) if before and before.call("GET", "/v2/whoami").status_code == 200 else set()
        if extra:
            return f"{viewer}, signed in before, still sees {sorted(extra)}"
    return ""


def _rescan_finds_nothing(trio: Trio, site: Site) -> str:
    result = trio.admin.expect(200, "POST", f"/v2/vcenters/{site.id}/rescan")
    found = {key: result[key] for key in ("added", "changed", "gone") if result[key]}
    return f"a full read found what watching had missed: {found}" if found else ""


def settle(trio: Trio, kept: dict[tuple[int, str], Api]) -> float:
    """Ends all faults and waits for everything that must come true again; hands back the longest wait, in seconds."""
    for site in trio.sites:
        site.vcenter.control.clear_faults()
    longest = 0.0
    for site in trio.sites:
        truth = placed_on(site)
        for what, told in (
            ("connection and record", lambda site=site: _is_connected(trio, site)),
            ("one session", lambda site=site: _one_session(site)),
            ("the certificate", lambda site=site: _certificate_is_known(trio, site)),
            ("the inventory", lambda site=site: _inventory(trio, site)),
            ("the placements", lambda site=site, truth=truth: _placements(trio, site, truth)),
            ("what people see", lambda site=site, truth=truth: _views(trio, site, truth, kept)),
        ):
            longest = max(longest, eventually(quietly(told), f"vc{site.number}: {what}"))
        said: list[str] = []  # by the one read that came through; another would find nothing, whatever was missed
        eventually(quietly(lambda site=site, said=said: said.append(_rescan_finds_nothing(trio, site)) or ""), "a full read")  # type: ignore[misc]
        if said[0]:
            raise Broken(f"vc{site.number}: {said[0]}")
    return longest


class Watcher:
    """Lists clusters all the time as people who may never see some of them: one sight of those is a wrong yes."""

    def __init__(self, trio: Trio) -> None:
        self.trio = trio
        self.wrong: list[str] = []
        self.answers = 0
        self.kept: dict[tuple[int, str], Api] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher")

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(0.05):
            for site in self.trio.sites:
                for viewer in NEVER_SEEN_BY:
                    self._look(site, viewer)

    def _look(self, site: Site, viewer: str) -> None:
        try:
            api = self.kept.get((site.number, viewer)) or self.trio.sign_in(site, viewer)
            answer = api.call("GET", "/v2/clusters")
        except (Unexpected, WorldError, requests.RequestException):
            self.kept.pop((site.number, viewer), None)
            return
        if answer.status_code == 401:
            self.kept.pop((site.number, viewer), None)
            return
        self.kept[(site.number, viewer)] = api
        if answer.status_code != 200:
            return
        self.answers += 1
        seen = [row["name"] for row in answer.json()["items"]]
        foreign = [name for name in seen if name.endswith("-plain") or not name.startswith(f"vc{site.number}-")]
        if foreign:
            self.wrong.append(f"{viewer} of vc{site.number} saw {foreign}")


def usage(pid: int) -> dict[str, int]:
    """Resident memory in KB, descriptors and threads of a process."""
    process = psutil.Process(pid)
    return {"rss_kb": process.memory_info().rss // 1024, "descriptors": process.num_fds(), "threads": process.num_threads()}


def growth(samples: list[dict[str, int]], slack: dict[str, int]) -> list[str]:
    """Complaints if the last quarter's lowest is above the first quarter's highest by more than the slack."""
    quarter = max(1, len(samples) // 4)
    complaints = []
    for key, allowed in slack.items():
        first, last = max(s[key] for s in samples[:quarter]), min(s[key] for s in samples[-quarter:])
        if last > first + allowed:
            complaints.append(f"{key} grew from {first} to {last}")
    return complaints


def report(values: dict[str, Any]) -> str:
    return "  ".join(f"{key}={value}" for key, value in values.items())
