"""A new login certificate while everything goes on: in order, after a kill at every step, and for all replicas."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests
from env.full import World, add_vcenter, register
from env.kaasd import KEY_BITS
from env.logins import (
    active_certificate,
    credentials,
    lose_session,
    ours,
    rescan,
    states,
    stored_certificate,
    stored_key,
    until,
    vcenter_json,
    wait_connected,
)
from env.sealing import age_login_certificate

pytestmark = [pytest.mark.slow, pytest.mark.long(40)]
SET, LOGIN = "SetExtensionCertificate", "LoginExtensionByCertificate"


@pytest.fixture
def joined() -> Iterator[World]:
    """Waits for the vCenter far longer than a command waits for another one, and than any of these tests holds a call."""
    with World("rot", options={"vcenter": {"call_timeout": "2m"}}) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        wait_connected(world)
        yield world
        world.vcenter.control.clear_faults()


def path_of(world: World) -> str:
    return f"/v2/vcenters/{world.vcenter.instance_uuid}/rotate-certificate"


def is_settled(world: World) -> bool:
    return sorted(set(states(world))) in (["active"], ["active", "retired"]) and states(world).count("active") == 1


def check_settled(world: World) -> None:
    """One credential in force, the one that vCenter knows; no key of an old one; one session; and a new login works."""
    until(lambda: is_settled(world), "a single credential in force")
    assert active_certificate(world) == stored_certificate(world)
    assert world.db.query("SELECT COUNT(*) FROM vcenter_credentials WHERE state = 'retired' AND sealed IS NOT NULL", database="kaas") in (
        [("0",)], [(0,)])
    lose_session(world)
    until(lambda: rescan(world) == 0, "a login with what is in force")
    until(lambda: len(ours(world)) == 1, "a single session")


class Rotation(threading.Thread):
    """The command, given while something else happens."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self.api, self.path = world.admin, path_of(world)
        self.answer: requests.Response | None = None
        self.start()

    def run(self) -> None:
        with suppress(requests.RequestException):  # the daemon may be killed meanwhile
            self.answer = self.api.call("POST", self.path)


def test_a_rotation_leaves_one_certificate_that_vcenter_knows(joined: World) -> None:
    old, old_key = stored_certificate(joined), stored_key(joined)
    (session,) = ours(joined)
    answer = joined.admin.expect(200, "POST", path_of(joined))
    assert answer["vcenter_id"] == joined.vcenter.instance_uuid
    assert stored_certificate(joined) == active_certificate(joined) != old
    assert stored_key(joined) != old_key
    assert [key.n.bit_length() for key in (old_key, stored_key(joined))] == [KEY_BITS] * 2
    lines = joined.db.query("SELECT action, result, source FROM audit WHERE action IN ('vcenter.add', 'vcenter.rotate_certificate')"
                            " ORDER BY seq", database="kaas")
    rotate = "vcenter.rotate_certificate"
    assert lines == [("vcenter.add", "ok", "socket"), (rotate, "pending", "local"), (rotate, "ok", "local")]
    assert [row["key"] for row in ours(joined)] == [session["key"]]  # what runs over our session is not disturbed
    assert [kind for _, kind, _ in credentials(joined)] == ["certificate"] * 2
    check_settled(joined)


def test_the_command_says_until_when(joined: World) -> None:
    said = joined.kaasd.ctl.ok("vcenter", "rotate-certificate", joined.vcenter.instance_uuid)
    until_when = joined.kaasd.ctl.json("vcenter", "status", joined.vcenter.instance_uuid)
    (status,) = until_when if isinstance(until_when, list) else [until_when]
    assert status["login"]["certificate"]["not_after"][:10] in said


def test_sign_ons_and_lists_go_on_meanwhile(joined: World) -> None:
    held = joined.vcenter.control.hold(SET, executed=False)
    rotation = Rotation(joined)
    joined.vcenter.control.await_held(held)
    assert "pending" in states(joined)
    viewer = joined.by_ticket("viewer-east")  # whose rights may be asked again: the first look at the inventory may still be under way
    assert viewer.names() == []
    assert rescan(joined) == 0
    joined.vcenter.control.release(held)
    rotation.join(60)
    assert rotation.answer is not None and rotation.answer.status_code == 200
    check_settled(joined)


# at which call the vCenter keeps kaasd waiting, and whether it has done by then what was asked: kill -9 comes meanwhile
KILLS = [
    (SET, False),    # not told
    (SET, True),     # told, but we have no answer
    (LOGIN, False),  # told; not logged in
    (LOGIN, True),   # logged in, but we have no answer: a session too many
]


@pytest.mark.parametrize(("op", "executed"), KILLS, ids=[f"{op}-{'after' if executed else 'before'}" for op, executed in KILLS])
def test_a_kill_at_any_step_heals_by_itself(joined: World, op: str, executed: bool) -> None:
    old = stored_certificate(joined)
    held = joined.vcenter.control.hold(op, executed=executed)
    rotation = Rotation(joined)
    joined.vcenter.control.await_held(held)
    assert (stored_certificate(joined) != old) == (op == LOGIN or executed)
    assert len(ours(joined)) == (2 if (op, executed) == (LOGIN, True) else 1)  # with that of the proof
    joined.kaasd.kill()
    joined.vcenter.control.release(held, drop=True)
    assert "pending" in states(joined)
    joined.kaasd.start()
    wait_connected(joined)
    check_settled(joined)
    assert stored_certificate(joined) != old  # it went forward
    rotation.join(60)


def test_a_lost_answer_heals_without_a_restart(joined: World) -> None:
    old = stored_certificate(joined)
    joined.vcenter.control.fault(SET, "truncated", bytes=60, count=1)
    problem = joined.admin.call("POST", path_of(joined))
    assert problem.status_code in (502, 504)
    check_settled(joined)
    assert stored_certificate(joined) != old


def test_a_refusal_changes_nothing(joined: World) -> None:
    old = stored_certificate(joined)
    joined.vcenter.control.fault(SET, "fault", fault="NoPermission", text="no", count=1)
    problem = joined.admin.refused(502, "upstream_error", "POST", path_of(joined))
    assert "privilege" in problem["remedy"]
    assert states(joined) == ["active", "retired"]
    assert stored_certificate(joined) == active_certificate(joined) == old


def test_two_rotations_at_a_time_do_not_mix(joined: World) -> None:
    control, admin = joined.vcenter.control, joined.admin
    held = control.hold(SET, executed=False)
    first = Rotation(joined)
    control.await_held(held)
    admin.refused(409, "conflict", "POST", path_of(joined))
    control.release(held)
    first.join(60)
    assert first.answer is not None and first.answer.status_code == 200
    check_settled(joined)


def test_an_unregistered_vcenter_has_nothing_to_rotate(fresh_world: World) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    problem = fresh_world.admin.refused(409, "not_registered", "POST", path_of(fresh_world))
    assert "kaasctl vcenter register" in problem["remedy"]


def test_other_replicas_follow(joined: World) -> None:
    second = joined.kaasd.beside("second")
    second.start()
    try:
        until(lambda: len(ours(joined)) == 2, "a session of each replica")
        joined.admin.expect(200, "POST", path_of(joined))
        lose_session(joined)  # also the second must log in with the new one now
        assert second.ctl.run("vcenter", "rescan", joined.vcenter.instance_uuid).returncode == 0
        assert rescan(joined) == 0
        assert vcenter_json(joined)["state"] == "connected"
    finally:
        second.stop()
    check_settled(joined)


def age(world: World, age_days: int, left_days: int) -> str:
    """kaasd starts with a login certificate of that age; gives what the vCenter knows then."""
    world.kaasd.stop()
    age_login_certificate(world, world.kaasd.folder / "master.key", age_days, left_days)
    old = stored_certificate(world)
    assert active_certificate(world) == old
    world.kaasd.start()
    wait_connected(world)
    return old


def test_a_certificate_at_two_thirds_of_its_life_is_replaced_by_itself(joined: World) -> None:
    old = age(joined, 500, 230)
    until(lambda: stored_certificate(joined) != old, "the new certificate")
    check_settled(joined)
    assert states(joined) == ["retired", "active"]
    lines = joined.db.query("SELECT result, source FROM audit WHERE action = 'vcenter.rotate_certificate' ORDER BY seq", database="kaas")
    assert lines == [("pending", "system"), ("ok", "system")]


def test_a_certificate_before_two_thirds_of_its_life_is_left_alone(joined: World) -> None:
    old = age(joined, 300, 430)
    lose_session(joined)
    until(lambda: rescan(joined) == 0, "a login with it")
    until(lambda: len(ours(joined)) == 1, "a single session")
    assert (stored_certificate(joined), states(joined)) == (old, ["active"])
