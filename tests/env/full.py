"""The whole path: database, strict vCenter, daemon, registered, with the sample clusters."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from . import vimclient
from .api import Api
from .installed import adopt, installed_database
from .kaasd import Kaasd
from .mariadb import Mariadb
from .places import Scratch
from .samples import SAMPLES, Sample
from .vcenter import StrictVcenter, User, Vcenter, start_strict

EXTENSION_KEY = "com.cisco.kaas"


def add_vcenter(kaasd: Kaasd, vcenter: Vcenter, *more: str) -> None:
    """`kaasctl vcenter add` with the thumbprint known beforehand."""
    tunnel = ("--tunnel-port", str(vcenter.tunnel_port)) if vcenter.tunnel_port else ()
    kaasd.ctl.ok("vcenter", "add", vcenter.address, "--thumbprint", vcenter.sha256, "--yes", *tunnel, *more)


def register(kaasd: Kaasd, vcenter: Vcenter, user: User | None = None) -> None:
    """`kaasctl vcenter register`, the password through standard input."""
    who = user or vcenter.admin
    kaasd.ctl.ok("vcenter", "register", vcenter.instance_uuid, "--user", who.login, "--password-file", "-", stdin=who.password + "\n")


def ctl(world: World, verb: str, *options: str, user: User | None = None, ok: bool = True) -> str:
    """What `kaasctl vcenter VERB` says that asks for a password: of a user, the administrator if none is given."""
    who = user or world.vcenter.admin
    sure = ("--yes",) if verb == "unregister" else ()
    result = world.kaasd.ctl.run("vcenter", verb, world.vcenter.host, "--user", who.login, "--password-file", "-", *sure, *options,
                                 stdin=who.password + "\n")
    assert (result.returncode == 0) == ok, result.stderr
    return result.stdout + result.stderr


def sample_arguments(sample: Sample) -> list[str]:
    """`kaasctl cluster add` for a sample."""
    ready, desired = sample.workers
    words = ["cluster", "add", "--name", sample.name, "--kubernetes-version", sample.version, "--state", sample.state,
             "--control-plane", "3/3", "--workers", f"{ready}/{desired}"]
    for place in sample.places:
        words += ["--vsphere-cluster", place]
    if sample.description:
        words += ["--description", sample.description]
    for key, value in sample.labels.items():
        words += ["--label", f"{key}={value}"]
    return words


def sample_record(sample: Sample) -> dict[str, Any]:
    """The same as a line of `kaasctl cluster import`."""
    ready, desired = sample.workers
    return {"name": sample.name, "kubernetes_version": sample.version, "state": sample.state, "description": sample.description,
            "labels": sample.labels, "control_plane": {"ready": 3, "desired": 3}, "workers": {"ready": ready, "desired": desired},
            "vsphere_clusters": [{"path": place} for place in sample.places]}


def add_samples(kaasd: Kaasd) -> None:
    """All by one command: each start of kaasctl under the sanitizers takes longer than what it asks for."""
    file = kaasd.folder / "samples.jsonl"
    file.write_text("".join(json.dumps(sample_record(sample)) + "\n" for sample in SAMPLES))
    kaasd.ctl.ok("cluster", "import", str(file))


class World:
    """Context manager: everything is stopped in reverse order, also after a failure half-way."""

    def __init__(self, name: str = "w", *, vcenter_flags: tuple[str, ...] = (), options: dict[str, Any] | None = None,
                 database_options: tuple[str, ...] = (), env: dict[str, str] | None = None) -> None:
        self._env = env
        self._database_options = database_options
        self._stack = ExitStack()
        self._vcenter_flags = vcenter_flags
        self._options = options
        self._name = name
        self.scratch: Scratch
        self.db: Mariadb
        self.vcenter: StrictVcenter
        self.kaasd: Kaasd

    def __enter__(self) -> World:
        with ExitStack() as stack:
            self.scratch = Scratch(self._name)
            stack.callback(self.scratch.remove)
            self.db = installed_database(self.scratch, self._database_options)
            stack.callback(self.db.close)
            self.vcenter = start_strict(self.scratch, flags=self._vcenter_flags)
            stack.callback(self.vcenter.stop)
            self.kaasd = Kaasd(self.scratch, self.db.socket, options=self._options, env=self._env)
            adopt(self.kaasd)
            stack.callback(self.kaasd.stop)
            self.kaasd.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def join(self) -> None:
        """Adds and registers the vCenter and adds the sample clusters."""
        add_vcenter(self.kaasd, self.vcenter)
        register(self.kaasd, self.vcenter)
        add_samples(self.kaasd)

    def part(self) -> None:
        """Takes back what a test did to get here: no vCenter is known, and the vCenter knows nothing of us, nor of any session."""
        self.vcenter.control.clear_faults()
        who = {"username": self.vcenter.admin.login, "password": self.vcenter.admin.password}
        for row in self.admin.items("/v2/vcenters"):
            path = f"/v2/vcenters/{row['id']}"
            if row["registered"]:
                self.admin.expect(200, "POST", f"{path}/unregister", json=who, headers={"X-KaaS": "1"})
            self.admin.expect(204, "DELETE", path)
        if EXTENSION_KEY in self.vcenter.control.extensions():
            self.vcenter.control.drop_extension(EXTENSION_KEY)
        self.vcenter.control.expire(all=True)
        self.vcenter.control.forget_calls()

    @property
    def admin(self) -> Api:
        """The first administrator, in one session; `kaasd.admin()` makes a new one."""
        return self.kaasd.kept_admin()

    def sign_in(self, name: str) -> Api:
        """Signs in at kaasd as a user of the vCenter, by the cookie of that user's own session, which goes on: kaasd's ends with it."""
        cookie = self.vcenter.control.login(self.vcenter.users[name].login)["cookie"]
        return self.kaasd.api().login_session(self.vcenter.instance_uuid, cookie)

    def by_ticket(self, name: str, kaasd: Kaasd | None = None) -> Api:
        """Signs in by a clone ticket of a user of the vCenter, at another replica if one is given."""
        with vimclient.session(self.vcenter, self.vcenter.users[name]) as instance:
            return (kaasd or self.kaasd).api().login_ticket(self.vcenter.instance_uuid, vimclient.clone_ticket(instance))
