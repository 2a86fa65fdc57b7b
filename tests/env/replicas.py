"""Several replicas of one installation: the first is set up by kaasctl, the others share its key file, certificate and account."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .certs import make_server_cert
from .full import World
from .kaasd import Kaasd
from .places import Scratch


class Replicas:
    """`sockets`: the database of each. Set up, not started."""

    def __init__(self, scratch: Scratch, sockets: Sequence[Path], options: dict[str, Any] | None = None) -> None:
        more = options or {}
        tls = make_server_cert(scratch.path / "tls")
        self.all: list[Kaasd] = []
        for number, socket in enumerate(sockets, 1):
            first = self.all[0] if self.all else None
            shared = {"secrets": {"master_key_file": str(first.folder / "master.key")},
                      "database": {"password_file": str(first.folder / "database.password"), **more.get("database", {})},
                      "server": {"public_url": first.url, **more.get("server", {})}} if first else {}
            settings = {**more, **shared, "replica": {"name": f"replica-{number}"}}
            self.all.append(Kaasd(scratch, socket, f"kaasd{number}", tls=tls, options=settings))
            if not first:
                self.all[0].init()

    @property
    def admin_password(self) -> str:
        return self.all[0].admin_password

    def start(self) -> None:
        for daemon in self.all:
            daemon.spawn()
        for daemon in self.all:
            assert daemon.process
            daemon.process.wait_until(daemon.ready, "readiness", why_not=daemon.why_not_ready)

    def stop(self) -> None:
        """All of them, even if one complains."""
        failed: list[Exception] = []
        for daemon in reversed(self.all):
            try:
                daemon.stop()
            except Exception as error:  # noqa: BLE001 - the others must be stopped all the same
                failed.append(error)
        if failed:
            raise failed[0]

    def token(self) -> str:
        """Of the administrator; good at every replica."""
        token = self.all[0].api().login_password("admin", self.admin_password).token
        assert token
        return token


def second_of(first: Kaasd, scratch: Scratch, socket: Path, options: dict[str, Any] | None = None) -> Kaasd:
    """A further replica beside one that is set up, on the same database; not started."""
    more = options or {}
    return Kaasd(scratch, socket, "second", tls=first.tls, options={
        **more,
        "server": {"public_url": first.url, **more.get("server", {})},
        "secrets": {"master_key_file": str(first.folder / "master.key")},
        "database": {"password_file": str(first.folder / "database.password"), **more.get("database", {})},
        "replica": {"name": "second"},
    })


class Pair:
    """Two replicas of one installation that has joined a vCenter."""

    def __init__(self, world: World, options: dict[str, Any] | None = None) -> None:
        self.world = world
        self.both = [world.kaasd, second_of(world.kaasd, world.scratch, world.db.socket, options)]
        self.both[1].start()
        token = world.admin.token
        assert token
        self.token = token

    def holder(self, lease: str) -> str:
        rows = self.world.db.query("SELECT holder FROM leases WHERE name = %s", lease, database="kaas")
        return str(rows[0][0]) if rows else ""

    def number(self, daemon: Kaasd) -> int:
        name = "second" if daemon is self.both[1] else None
        rows = self.world.db.query("SELECT id, name FROM replicas WHERE id > 0", database="kaas")
        return next(int(key) for key, called in rows if (called == "second") == (name == "second"))

    def holder_of(self, lease: str) -> Kaasd | None:
        """None: nobody holds it."""
        held = self.holder(lease)
        return next((daemon for daemon in self.both if held == f"replica-{self.number(daemon)}"), None)
