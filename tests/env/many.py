"""Many strict vCenters with the same names in them behind one daemon."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from .api import Api
from .full import add_vcenter, register
from .installed import adopt, installed_database
from .kaasd import Kaasd
from .mariadb import Mariadb
from .places import Scratch
from .vcenter import DEFAULT_WORLD, StrictVcenter, start_strict

VIEWER = "viewer-east@vsphere.local"


def uuid_of(number: int) -> str:
    return f"50000000-0000-4000-8000-{number:012d}"


class Many:
    """Context manager: vCenters vc0, vc1, ..., each with one Kubernetes cluster `vcN-east` on its HX-East."""

    def __init__(self, count: int, options: dict[str, Any] | None = None, env: dict[str, str] | None = None) -> None:
        self.count = count
        self._env = env
        self._options = options
        self._stack = ExitStack()
        self.scratch: Scratch
        self.db: Mariadb
        self.kaasd: Kaasd
        self.vcenters: list[StrictVcenter] = []

    def __enter__(self) -> Many:
        with ExitStack() as stack:
            self.scratch = Scratch("m")
            stack.callback(self.scratch.remove)
            self.db = installed_database(self.scratch)
            stack.callback(self.db.close)
            for number in range(self.count):
                vcenter = self.start_vcenter(f"vc{number}", uuid_of(number))
                stack.callback(vcenter.stop)
                self.vcenters.append(vcenter)
            self.kaasd = Kaasd(self.scratch, self.db.socket, options=self._options, env=self._env)
            adopt(self.kaasd)
            stack.callback(self.kaasd.stop)
            self.kaasd.start()
            admin = self.admin
            for number, vcenter in enumerate(self.vcenters):
                add_vcenter(self.kaasd, vcenter, "--name", f"vc{number}")
                register(self.kaasd, vcenter)
                self.add_cluster(admin, f"vc{number}-east", vcenter)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def start_vcenter(self, name: str, instance_uuid: str, *flags: str) -> StrictVcenter:
        """One more vCenter of this kind; whoever calls stops it."""
        path: Path = self.scratch.path / f"{name}-world.json"
        path.write_text(json.dumps({**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": instance_uuid}))
        return start_strict(self.scratch, name, world=path, flags=flags)

    @staticmethod
    def add_cluster(admin: Api, name: str, vcenter: StrictVcenter, **more: Any) -> str:
        body = {"name": name, "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 2},
                "vsphere_clusters": [{"vcenter_id": vcenter.instance_uuid, "moref": "domain-c7"}], **more}
        return admin.expect(201, "POST", "/v2/clusters", json=body)["id"]

    @property
    def admin(self) -> Api:
        return self.kaasd.kept_admin()

    def sign_in(self, vcenter: StrictVcenter, user: str = VIEWER) -> Api:
        """By the cookie of a session that the vCenter's own control port made."""
        return self.kaasd.api().login_session(vcenter.instance_uuid, vcenter.control.login(user)["cookie"])
