"""A action at a vCenter never goes without a line in the audit log: it is there before anything is done, and how it ended is there
after it, also when kaasd or the database was killed between."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests
from env.full import World, add_vcenter, register
from env.logins import states, stored_certificate, until, wait_connected

pytestmark = pytest.mark.slow
FAST = {"vcenter": {"call_timeout": "20s", "connect_timeout": "2s"}}
SET, LOGIN, REGISTER, UNREGISTER = "SetExtensionCertificate", "LoginExtensionByCertificate", "RegisterExtension", "UnregisterExtension"

Line = tuple[str, str, str]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("operations", options=FAST) as made:
        add_vcenter(made.kaasd, made.vcenter)
        yield made
        made.vcenter.control.clear_faults()


def lines(world: World, action: str) -> list[Line]:
    """Result, source and object of each that somebody asked for, the oldest first."""
    wanted = "SELECT result, source, object_id FROM audit WHERE action = %s AND source <> 'system' ORDER BY replica_id, seq"
    return list(world.db.query(wanted, action, database="kaas"))


def open_deeds(world: World) -> list[tuple[str, ...]]:
    return list(world.db.query("SELECT action FROM audit_deeds WHERE source <> 'system'", database="kaas"))


class Meanwhile(threading.Thread):
    """A command that somebody gives, and who is killed meanwhile."""

    def __init__(self, world: World, action: str) -> None:
        super().__init__(daemon=True)
        self.api, self.path = world.admin, f"/v2/vcenters/{world.vcenter.instance_uuid}/{action}"
        admin = world.vcenter.admin
        self.body = {"username": admin.login, "password": admin.password} if action in ("register", "unregister") else None
        self.start()

    def run(self) -> None:
        with suppress(requests.RequestException):
            self.api.call("POST", self.path, headers={"X-KaaS": "1"}, json=self.body)


def begun(world: World, action: str, before: list[Line]) -> None:
    until(lambda: lines(world, action) != before, "the line that it begins")
    assert [line[0] for line in lines(world, action)[len(before):]] == ["pending"]


def check_closed(world: World, action: str, before: list[Line]) -> None:
    """It says what is known: that it was begun, and that nobody knows how it ended; and the chain holds."""
    new = lines(world, action)[len(before):]
    source = new[0][1]
    assert new[:2] == [("pending", source, world.vcenter.instance_uuid), ("unknown", source, world.vcenter.instance_uuid)]
    assert open_deeds(world) == []
    said = world.kaasd.ctl.run("audit", "verify")
    assert said.returncode == 0, said.stdout + said.stderr


def restart(world: World) -> None:
    world.kaasd.kill()
    world.vcenter.control.clear_faults()
    world.kaasd.start()


@pytest.mark.parametrize("op", [REGISTER, SET])
def test_a_registration_that_is_killed(world: World, op: str) -> None:
    before = lines(world, "vcenter.register")
    world.vcenter.control.fault(op, "hang")
    command = Meanwhile(world, "register")
    begun(world, "vcenter.register", before)
    until(lambda: op == REGISTER or world.vcenter.control.extensions(), "the record")
    restart(world)
    check_closed(world, "vcenter.register", before)
    command.join(60)


@pytest.fixture(scope="module")
def joined(world: World) -> World:
    register(world.kaasd, world.vcenter)
    wait_connected(world)
    assert [line[0] for line in lines(world, "vcenter.register")[-2:]] == ["pending", "ok"]
    assert open_deeds(world) == []
    return world


@pytest.mark.parametrize(("op", "kind"), [(SET, "hang"), (LOGIN, "drip")])
def test_a_rotation_that_is_killed(joined: World, op: str, kind: str) -> None:
    action = "vcenter.rotate_certificate"
    before, old = lines(joined, action), stored_certificate(joined)
    joined.vcenter.control.fault(op, kind, **({"interval_ms": 5000} if kind == "drip" else {}))
    command = Meanwhile(joined, "rotate-certificate")
    begun(joined, action, before)
    if (op, kind) != (SET, "hang"):
        until(lambda: stored_certificate(joined) != old, "the new certificate at the vCenter")
    restart(joined)
    wait_connected(joined)
    check_closed(joined, action, before)
    until(lambda: "pending" not in states(joined), "the end of the rotation")
    command.join(60)


def test_a_rotation_whose_database_is_killed(joined: World) -> None:
    action = "vcenter.rotate_certificate"
    before = lines(joined, action)
    joined.vcenter.control.fault(SET, "hang")
    command = Meanwhile(joined, "rotate-certificate")
    begun(joined, action, before)
    joined.db.kill()
    joined.kaasd.kill()
    joined.db.start()
    assert [line[0] for line in lines(joined, action)[len(before):]] == ["pending"]
    restart(joined)
    wait_connected(joined)
    check_closed(joined, action, before)
    command.join(60)


def test_nothing_is_done_at_the_vcenter_that_cannot_be_written_down(joined: World) -> None:
    until(lambda: "pending" not in states(joined), "the end of the rotation before")
    old = stored_certificate(joined)
    joined.db.query("RENAME TABLE audit_deeds TO audit_deeds_away", database="kaas")
    try:
        answer = joined.admin.call("POST", f"/v2/vcenters/{joined.vcenter.instance_uuid}/rotate-certificate")
    finally:
        joined.db.query("RENAME TABLE audit_deeds_away TO audit_deeds", database="kaas")
    assert answer.status_code >= 500
    assert (stored_certificate(joined), "pending" in states(joined)) == (old, False)


def test_leaving_that_is_killed(joined: World) -> None:
    before = lines(joined, "vcenter.unregister")
    joined.vcenter.control.fault(UNREGISTER, "hang")
    command = Meanwhile(joined, "unregister")
    begun(joined, "vcenter.unregister", before)
    restart(joined)
    check_closed(joined, "vcenter.unregister", before)
    command.join(60)
