"""Sessions of ours at a vCenter: one for each replica, whatever happened, and none after the end; those of others are left alone."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
import requests
from env.certs import make_server_cert
from env.full import EXTENSION_KEY, World, add_vcenter, register
from env.logins import (
    installation_of,
    lose_session,
    ours,
    rescan,
    state_is,
    until,
    vcenter_json,
    wait_connected,
)
from env.places import free_port
from env.vcenter import DEFAULT_WORLD, StrictVcenter, User, start_strict

pytestmark = [pytest.mark.slow, pytest.mark.long(45)]
LOGIN = "LoginExtensionByCertificate"
@pytest.fixture
def joined() -> Iterator[World]:
    with World("sess") as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        yield world


def agent(world: World, replica: int, task: str = "") -> str:
    version = world.admin.get("/v2/version")["version"]
    return f"Harmony-KaaS/{version} ({installation_of(world)}; replica-{replica}{task})"


def log_in_as(vcenter: StrictVcenter, user: User, user_agent: str) -> None:
    """A session by SOAP under any user agent, left open."""
    body = (f'<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><Login xmlns="urn:vim25"><_this type="SessionManager">'
            f"SessionManager</_this><userName>{escape(user.login)}</userName><password>{escape(user.password)}</password></Login></Body></Envelope>")
    answer = requests.post(vcenter.url, data=body.encode(), verify=str(vcenter.ca_file), timeout=60, headers={
        "SOAPAction": '"urn:vim25/8.0.3.0"', "Content-Type": "text/xml; charset=utf-8", "User-Agent": user_agent})
    assert answer.status_code == 200, answer.text


def agents(world: World) -> list[str]:
    return sorted(row["user_agent"] for row in world.vcenter.control.sessions())


def test_the_user_agent_names_version_installation_and_replica(joined: World) -> None:
    assert [row["user_agent"] for row in ours(joined)] == [agent(joined, 1)]


def test_a_login_whose_answer_was_lost_leaves_one_session(joined: World) -> None:
    joined.vcenter.control.fault(LOGIN, "close", bytes=0, count=1)
    joined.vcenter.control.fault(LOGIN, "truncated", bytes=100, skip=1, count=1)
    lose_session(joined)
    until(lambda: rescan(joined) == 0, "a rescan that works again")
    until(lambda: len(ours(joined)) == 1, "a single session")
    wait_connected(joined)
    assert joined.vcenter.control.calls(op="TerminateSession")


def test_a_sweep_that_the_vcenter_cancels_is_done_again(joined: World) -> None:
    joined.vcenter.control.fault("TerminateSession", "fault", fault="RequestCanceled", count=3)
    joined.vcenter.control.fault(LOGIN, "close", bytes=0, count=1)
    lose_session(joined)
    until(lambda: rescan(joined) == 0, "a rescan that works again")
    until(lambda: len(ours(joined)) == 1, "a single session")


def test_a_kill_leaves_a_session_that_the_next_start_ends(joined: World) -> None:
    (before,) = ours(joined)
    joined.kaasd.kill()
    assert len(ours(joined)) == 1
    joined.kaasd.start()
    wait_connected(joined)
    until(lambda: len(ours(joined)) == 1 and ours(joined)[0]["key"] != before["key"], "the end of the session left behind")


def test_sessions_of_people_and_other_replicas_are_left_alone(joined: World) -> None:
    others = [agent(joined, 2), agent(joined, 11), agent(joined, 1).replace(installation_of(joined), "0" * 8), "Mozilla/5.0"]
    mine = [agent(joined, 1), agent(joined, 1, "; registration"), agent(joined, 1).replace("KaaS/", "KaaS/9.")]
    for name in others + mine:
        log_in_as(joined.vcenter, joined.vcenter.admin, name)
    lose = next(row for row in joined.vcenter.control.sessions() if row["user_name"] == EXTENSION_KEY)
    joined.vcenter.control.expire(key=lose["key"])
    assert rescan(joined) == 0
    until(lambda: agents(joined) == sorted([*others, agent(joined, 1)]), "the end of exactly our own old sessions")


def test_two_replicas_hold_a_session_each(joined: World) -> None:
    second = joined.kaasd.beside("second")
    second.start()
    try:
        until(lambda: len(ours(joined)) == 2, "a session of each replica")
        assert len({row["user_agent"] for row in ours(joined)}) == 2
        lose_session(joined)
        assert rescan(joined) == 0
        assert second.ctl.run("vcenter", "rescan", joined.vcenter.instance_uuid).returncode == 0
        until(lambda: len(ours(joined)) == 2, "a session of each replica again")
    finally:
        second.stop()
    until(lambda: len(ours(joined)) == 1, "the end of the second replica's session")


def test_term_logs_out(joined: World) -> None:
    joined.kaasd.stop()
    assert ours(joined) == []


def test_unregister_logs_out(joined: World) -> None:
    joined.kaasd.ctl.ok("vcenter", "unregister", joined.vcenter.instance_uuid, "--user", joined.vcenter.admin.login, "--password-file", "-",
                        "--yes", stdin=joined.vcenter.admin.password + "\n")
    until(lambda: ours(joined) == [], "the end of our sessions")


def test_another_address_ends_the_session_of_the_old_one(joined: World) -> None:
    (before,) = ours(joined)
    joined.kaasd.ctl.ok("vcenter", "set", joined.vcenter.instance_uuid, "--address", f"localhost:{joined.vcenter.port}")
    wait_connected(joined)
    until(lambda: len(ours(joined)) == 1 and ours(joined)[0]["key"] != before["key"], "a single new session")


@pytest.mark.parametrize("op", ["Login", "UpdateExtension", "FindExtension"])
def test_a_registration_that_fails_leaves_no_session(joined: World, op: str) -> None:
    joined.vcenter.control.fault(op, "close", bytes=0, count=1000)  # however many of them something else asks for meanwhile
    failed = joined.kaasd.ctl.run("vcenter", "register", joined.vcenter.instance_uuid, "--user", joined.vcenter.admin.login,
                                  "--password-file", "-", stdin=joined.vcenter.admin.password + "\n")
    joined.vcenter.control.clear_faults()
    assert failed.returncode
    until(lambda: [row["user_agent"] for row in ours(joined)] == [agent(joined, 1)], "our one session and no other")
    assert all(row["user_name"] == EXTENSION_KEY for row in joined.vcenter.control.sessions())


def test_a_password_check_whose_answer_was_lost_leaves_no_session(joined: World) -> None:
    joined.vcenter.control.fault("Login", "close", bytes=0, count=1)
    viewer = joined.vcenter.users["viewer-east"]
    joined.kaasd.api().post_login("password", {"username": viewer.login, "password": viewer.password,
                                               "source": f"vcenter:{joined.vcenter.instance_uuid}"})
    until(lambda: [row["user_name"] for row in joined.vcenter.control.sessions()] == [EXTENSION_KEY], "the end of the person's orphan")


def test_without_the_privilege_all_goes_on_and_status_says_so(joined: World) -> None:
    joined.vcenter.control.call("POST", "/settings", {"extension_privileges": ["Sessions.ValidateSession"]})
    lose_session(joined)
    assert rescan(joined) == 0
    status = joined.admin.get(f"/v2/vcenters/{joined.vcenter.instance_uuid}/status")
    assert status["state"] == "connected"
    assert "Sessions.TerminateSession" in status["verdicts"]["authorised"]["reason"]
    assert any("Sessions.TerminateSession" in limit for limit in status["extension"]["limits"])


class TestAnotherVcenterAtTheSameAddress:
    """It even shows the same certificate; only its instance UUID tells."""

    @pytest.fixture
    def pair(self, tmp_path: Path) -> Iterator[tuple[World, tuple[str, ...]]]:
        cert = make_server_cert(tmp_path / "tls")
        flags = ("--cert", str(cert.cert_file), "--key", str(cert.key_file), "--listen", f"127.0.0.1:{free_port()}",
                 "--tunnel-listen", f"127.0.0.1:{free_port()}")  # ports that nobody else takes while this one is away
        with World("same", vcenter_flags=flags) as world:
            world.vcenter.ca_file = cert.ca_file
            add_vcenter(world.kaasd, world.vcenter)
            register(world.kaasd, world.vcenter)
            yield world, flags

    def test_it_never_gets_a_secret_or_a_request(self, pair: tuple[World, tuple[str, ...]], tmp_path: Path) -> None:
        world, flags = pair
        other = json.loads(DEFAULT_WORLD.read_text())
        other["instance_uuid"] = "11111111-2222-4333-8444-555555555555"
        (tmp_path / "other.json").write_text(json.dumps(other))
        world.vcenter.stop()
        until(state_is(world, "unreachable"), "the loss of the vCenter")  # from here on nobody counts on who is there
        stranger = start_strict(world.scratch, "stranger", world=tmp_path / "other.json", flags=flags)
        assert stranger.address == world.vcenter.address
        try:
            until(lambda: rescan(world) != 0 and state_is(world, "refused")(), "the refusal")
            shown: dict[str, Any] = vcenter_json(world)
            assert stranger.instance_uuid in shown["state_reason"] and world.vcenter.instance_uuid in shown["state_reason"]
            assert {call["op"] for call in stranger.control.calls()} == {"versions", "RetrieveServiceContent"}
        finally:
            stranger.stop()
