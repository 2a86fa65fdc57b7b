"""Three strict vCenters with the same names in them, one daemon, and what is true in each vCenter."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from env import vimclient
from env.api import Api
from env.full import add_vcenter, register
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict

VCENTERS = 3
# Short times, so that a run meets every limit often.
OPTIONS: dict[str, Any] = {"vcenter": {"call_timeout": "3s", "connect_timeout": "2s"}, "server": {"requests_per_address": 0},
                           "auth": {"rights_fresh": "1s", "rights_recheck_rate": 50, "sessions_per_principal": 0, "signon_rate": 0}}
# By these kaasd keeps its record as it should be without anybody's help.
RECORD_RIGHTS = ["Sessions.ValidateSession", "Sessions.TerminateSession", "Extension.Register", "Extension.Update"]
DATACENTER_VIEW = {"viewer-dc": {"domain-c7", "domain-c70", "domain-c40"}}
NEVER_SEEN_BY = ("viewer-east", "no-rights")  # nobody ever gives these two a right on domain-c40
NODES = {"east": ("vm-101", "vm-102", "vm-103"), "west": ("vm-171",), "far": ("vm-126",)}


def vm_uuid(moref: str) -> str:
    """Instance UUIDs of worlds/default.json."""
    return f"50010000-0000-4000-8000-000000000{moref.removeprefix('vm-')}"


class Site:
    """One of the vCenters, and which permissions were given there."""

    def __init__(self, vcenter: StrictVcenter, number: int) -> None:
        self.vcenter = vcenter
        self.number = number
        self.granted: dict[str, set[str]] = {"viewer-east": {"domain-c7"}, "viewer-dc": set(), "no-rights": set()}

    @property
    def id(self) -> str:
        return self.vcenter.instance_uuid

    def may_view(self, viewer: str) -> set[str]:
        return self.granted[viewer] | DATACENTER_VIEW.get(viewer, set())

    def name_of(self, kind: str) -> str:
        return f"vc{self.number}-{kind}"


class Trio:
    """Context manager."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._stack = ExitStack()
        self._options = options or OPTIONS
        self.scratch: Scratch
        self.db: Mariadb
        self.kaasd: Kaasd
        self.sites: list[Site] = []
        self.actions: Counter[str] = Counter()  # what only an administrator may do, and did during the run
        self._admin: Api | None = None

    def __enter__(self) -> Trio:
        with ExitStack() as stack:
            self.scratch = Scratch("t")
            stack.callback(self.scratch.remove)
            self.db = Mariadb(self.scratch)
            stack.callback(self.db.close)
            for number in range(VCENTERS):
                vcenter = start_strict(self.scratch, f"vc{number}", world=self._layout(number))
                stack.callback(vcenter.stop)
                self.sites.append(Site(vcenter, number))
            self.kaasd = Kaasd(self.scratch, self.db.socket)
            self.kaasd.init()
            stack.callback(self.kaasd.stop)
            self.kaasd.start()
            self._join()  # takes the time that it needs
            self.kaasd.stop()
            self.kaasd.write_config(self._options)
            self.kaasd.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _layout(self, number: int) -> Path:
        path = self.scratch.path / f"world-{number}.json"
        layout = json.loads(DEFAULT_WORLD.read_text())
        path.write_text(json.dumps({**layout, "instance_uuid": f"40000000-0000-4000-8000-00000000000{number}"}))
        return path

    def _join(self) -> None:
        for site in self.sites:
            add_vcenter(self.kaasd, site.vcenter, "--name", f"vc{site.number}")
            register(self.kaasd, site.vcenter)
            site.vcenter.control.call("POST", "/settings", {"extension_privileges": RECORD_RIGHTS})
            for kind, morefs in NODES.items():
                nodes = [{"name": f"{site.name_of(kind)}-{i}", "role": "control_plane" if i == 0 else "worker", "vcenter_id": site.id,
                          "vm_instance_uuid": vm_uuid(moref)} for i, moref in enumerate(morefs)]
                self._add_cluster(site, kind, "domain-c7", nodes)
            self._add_cluster(site, "plain", "domain-c40", [])

    def _add_cluster(self, site: Site, kind: str, moref: str, nodes: list[dict[str, Any]]) -> None:
        body = {"name": site.name_of(kind), "kubernetes_version": "1.31.2", "nodes": nodes, "control_plane": {"desired": 1},
                "workers": {"desired": 2}, "vsphere_clusters": [{"vcenter_id": site.id, "moref": moref}]}
        self.admin.expect(201, "POST", "/v2/clusters", json=body)

    @property
    def admin(self) -> Api:
        """Signed in as the administrator; anew after the token has ended."""
        if self._admin is None or self._admin.call("GET", "/v2/whoami").status_code == 401:
            self._admin = self.kaasd.admin()
        return self._admin

    def sign_in(self, site: Site, viewer: str) -> Api:
        """By the cookie of a session that the vCenter's own control port made."""
        cookie = site.vcenter.control.login(f"{viewer}@vsphere.local")["cookie"]
        return self.kaasd.api().login_session(site.id, cookie)

    def restart_daemon(self) -> None:
        """kill -9 and a new start."""
        self.kaasd.kill()
        self.kaasd.start()


T = TypeVar("T")


def patiently(site: Site, ask: Callable[[], T], what: str) -> T:
    """For the world's own clients: a vCenter that is just restarting is asked again."""
    answers: list[T] = []

    def once() -> bool:
        with suppress(OSError):
            answers.append(ask())
        return bool(answers)

    site.vcenter.process.wait_until(once, what)
    return answers[0]


def placed_on(site: Site) -> dict[str, set[str]]:
    """On which vSphere clusters the nodes of each Kubernetes cluster are, as the vCenter tells pyvmomi; by kind of cluster."""
    def read() -> dict[str, str]:
        with vimclient.session(site.vcenter, site.vcenter.admin) as instance:
            return vimclient.clusters_of_vms(instance)

    where = patiently(site, read, "its inventory")
    found = {kind: {where[moref] for moref in morefs if moref in where} for kind, morefs in NODES.items()}
    return {**found, "plain": {"domain-c40"}}
