"""The account that kaasd logs in to a vCenter by: set instead of a certificate or another account, tested, removed, without a gap."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from env.full import EXTENSION_KEY, World, add_samples, add_vcenter, register
from env.logins import credentials, lose_session, ours, rescan, states, until, vcenter_json, wait_connected
from env.vcenter import User

pytestmark = pytest.mark.slow
KAAS = {"X-KaaS": "1"}
OPERATOR, SERVICE = "operator", "kaas-svc-6f1c9a2e"


@pytest.fixture(scope="module")
def whole() -> Iterator[World]:
    with World("account", options={"auth": {"signon_rate": 0}}) as world:
        yield world


@pytest.fixture
def joined(whole: World) -> Iterator[World]:
    """Logged in by certificate."""
    add_vcenter(whole.kaasd, whole.vcenter, "--name", "East")
    register(whole.kaasd, whole.vcenter)
    wait_connected(whole)
    yield whole
    whole.vcenter.control.clear_faults()
    for row in whole.admin.items("/v2/clusters"):
        whole.admin.expect(204, "DELETE", f"/v2/clusters/{row['id']}")
    whole.part()


def path_of(world: World) -> str:
    return f"/v2/vcenters/{world.vcenter.instance_uuid}/login-account"


def set_account(world: World, who: User, kind: str = "account") -> Any:
    body = {"kind": kind, "username": who.login, "password": who.password}
    return world.admin.expect(200, "PUT", path_of(world), json=body, headers=KAAS)


def tried(world: World, who: User | None = None) -> Any:
    body = {"username": who.login, "password": who.password} if who else {}
    return world.admin.expect(200, "POST", f"{path_of(world)}/test", json=body, headers=KAAS)


def logins(world: World) -> int:
    """How often a password was sent."""
    return len(world.vcenter.control.calls(op="Login"))


def service_account(world: World) -> User:
    """Leaving a vCenter deletes the one that is tied to our record."""
    who = world.vcenter.users[SERVICE]
    world.vcenter.control.put_user(SERVICE, who.password, service_account=True)
    return who


def session_user(world: World) -> str:
    """Whose session is ours, once there is a single one."""
    until(lambda: len(ours(world)) == 1, "a single session")
    return str(ours(world)[0]["user_name"]).split("\\")[-1]


class Traffic(threading.Thread):
    """Somebody who lists clusters and somebody who signs on, again and again."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self.world, self.failures, self.rounds, self._over = world, list[str](), 0, threading.Event()

    def __enter__(self) -> Traffic:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(60)

    def run(self) -> None:
        while not self._over.is_set():
            try:
                assert self.world.sign_in("viewer-east").names() != []
                self.rounds += 1
            except Exception as wrong:  # noqa: BLE001 any failure of a request is what is looked for
                self.failures.append(repr(wrong))

    def await_rounds(self, more: int) -> None:
        wanted = self.rounds + more
        until(lambda: self.rounds >= wanted or self.failures != [], "requests")


def restarts(world: World) -> int:
    return int(world.admin.get(f"/v2/vcenters/{world.vcenter.instance_uuid}/status")["watch"]["restarts"])


def test_from_certificate_to_account_to_another_and_back_without_a_gap(joined: World) -> None:
    add_samples(joined.kaasd)
    second = User("kaas2", "second-Pass1")
    joined.vcenter.control.put_user("kaas2", second.password, groups=[])
    joined.vcenter.control.permit("group-d1", "VSPHERE.LOCAL\\kaas2", "KaasInstaller")
    before = restarts(joined)
    with Traffic(joined) as traffic:
        traffic.await_rounds(2)
        answer = set_account(joined, joined.vcenter.users[OPERATOR])
        assert session_user(joined) == OPERATOR
        assert (answer["kind"], answer["username"]) == ("account", joined.vcenter.users[OPERATOR].login)
        assert {row["privilege"] for row in answer["missing"]} == {"Global.LogEvent"}
        assert {row["object_name"] for row in answer["missing"]} >= {"DC0/HX-East", "DC1/HX-East"}
        traffic.await_rounds(2)
        set_account(joined, second)
        assert session_user(joined) == "kaas2"  # that of the first was not waited for: it may be disabled now
        traffic.await_rounds(2)
        left = joined.admin.expect(200, "DELETE", path_of(joined))["left"]
        assert second.login in left
        assert session_user(joined) == EXTENSION_KEY
        traffic.await_rounds(2)
    assert traffic.failures == []
    assert [(kind, state) for _, kind, state in credentials(joined)] == [
        ("certificate", "retired"), ("account", "retired"), ("account", "retired"), ("certificate", "active")]
    assert restarts(joined) - before <= 3  # each new session has a watch of its own
    assert joined.admin.refused(404, "not_found", "GET", path_of(joined))
    lines = joined.db.query("SELECT action, result FROM audit WHERE action LIKE '%login_account' ORDER BY seq", database="kaas")
    done = [action for action, result in lines if result == "ok"]
    assert done == ["vcenter.set_login_account"] * 2 + ["vcenter.remove_login_account"]


def test_a_refused_password_is_sent_once_and_changes_nothing(joined: World) -> None:
    joined.vcenter.control.forget_calls()
    said = joined.kaasd.ctl.run("vcenter", "set-login-account", "East", "--user", joined.vcenter.users[OPERATOR].login,
                                "--password-file", "-", stdin="wrong-Pass9\n")
    assert said.returncode and "refuses" in said.stderr and "wrong-Pass9" not in said.stdout + said.stderr
    assert logins(joined) == 1
    assert states(joined) == ["active"] and session_user(joined) == EXTENSION_KEY


def test_what_a_person_may_not_do_is_named_with_its_object(joined: World) -> None:
    """ReadOnly on DC0 only: the root folder and the vSphere cluster of DC1 are not for it."""
    problem = joined.admin.refused(403, "forbidden", "PUT", path_of(joined), headers=KAAS, json={
        "username": joined.vcenter.users["viewer-dc"].login, "password": joined.vcenter.users["viewer-dc"].password})
    assert "System.Read on DC1/HX-East (domain-c26)" in problem["detail"], problem
    assert "group-d1" in problem["detail"]
    verdict = tried(joined, joined.vcenter.users["viewer-dc"])
    assert not verdict["works"] and "domain-c26" in verdict["reason"]
    assert {"privilege": "System.Read", "object_id": "domain-c26", "object_name": "DC1/HX-East", "needed": True} in verdict["missing"]
    nobody = joined.admin.refused(403, "forbidden", "PUT", path_of(joined), headers=KAAS, json={
        "username": joined.vcenter.users["noaccess"].login, "password": joined.vcenter.users["noaccess"].password})
    assert "no permission at all" in nobody["detail"]
    assert states(joined) == ["active"] and session_user(joined) == EXTENSION_KEY


def test_who_tries_passwords_is_slowed_down(joined: World) -> None:
    """As at a sign-on, however they are tried."""
    body = {"username": "guessed@vsphere.local", "password": "wrong-Pass9"}
    answers = [joined.admin.call("POST", f"{path_of(joined)}/test", json=body, headers=KAAS) for _ in range(20)]
    assert {answer.status_code for answer in answers} == {200, 429}
    assert [answer.status_code for answer in answers[:6]] == [200] * 6
    assert not any(answer.json()["works"] for answer in answers if answer.status_code == 200)


def test_a_test_logs_in_once_and_stores_nothing(joined: World) -> None:
    joined.admin.refused(404, "not_found", "POST", f"{path_of(joined)}/test", json={}, headers=KAAS)
    joined.vcenter.control.forget_calls()
    assert tried(joined, joined.vcenter.users[OPERATOR])["works"]
    assert logins(joined) == 1 and states(joined) == ["active"]
    set_account(joined, joined.vcenter.users[OPERATOR])
    joined.vcenter.control.forget_calls()
    assert "may do what is needed" in joined.kaasd.ctl.ok("vcenter", "test-login-account", "East")
    assert logins(joined) == 1

    joined.vcenter.control.put_user(OPERATOR, "changed-Pass2", service_account=False)
    try:
        joined.vcenter.control.forget_calls()
        for _ in range(3):  # the stored one is known to be refused from the first on
            said = joined.kaasd.ctl.run("vcenter", "test-login-account", "East")
            assert said.returncode and "password" in said.stdout
        lose_session(joined)
        assert rescan(joined) != 0
        assert logins(joined) == 1
        joined.kaasd.ctl.ok("vcenter", "set-login-account", "East", "--user", joined.vcenter.users[OPERATOR].login,
                            "--password-file", "-", stdin="changed-Pass2\n")
        wait_connected(joined)
        assert session_user(joined) == OPERATOR
    finally:
        joined.vcenter.control.put_user(OPERATOR, joined.vcenter.users[OPERATOR].password, service_account=False)


def test_an_account_stays_where_no_certificate_gets_there(joined: World) -> None:
    set_account(joined, joined.vcenter.users[OPERATOR])
    joined.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", "0")
    wait_connected(joined)
    problem = joined.admin.refused(409, "conflict", "DELETE", path_of(joined))
    assert "--tunnel-port" in problem["remedy"]
    assert joined.admin.get(path_of(joined))["username"] == joined.vcenter.users[OPERATOR].login
    assert states(joined) == ["retired", "active"]


def killed_while_it_is_told(world: World, executed: bool) -> User:
    """Between pending and active: the service account is tied to our record there, or not yet. kaasd does not run then."""
    set_account(world, world.vcenter.users[OPERATOR])
    held = world.vcenter.control.hold("SetServiceAccount", executed=executed)
    who = service_account(world)
    command = threading.Thread(target=lambda: world.kaasd.ctl.run(
        "vcenter", "set-login-account", "East", "--service-account", "--user", who.login, "--password-file", "-",
        stdin=who.password + "\n"))
    command.start()
    world.vcenter.control.await_held(held)
    assert states(world) == ["retired", "active", "pending"]
    world.kaasd.kill()
    world.vcenter.control.release(held, drop=True)
    command.join(60)
    return who


@pytest.mark.parametrize("executed", [False, True], ids=["before", "after"])
def test_a_kill_while_vcenter_is_told_heals_by_itself(joined: World, executed: bool) -> None:
    killed_while_it_is_told(joined, executed)
    joined.kaasd.start()
    wait_connected(joined)
    until(lambda: states(joined) == ["retired", "retired", "active"], "the new account in force")
    # the session that was opened before it was in force is changed afterwards, and that of the killed one stays until the vCenter ends it
    until(lambda: session_user(joined) == SERVICE, "a session of the new account alone")
    assert vcenter_json(joined)["login_strategy"] == "service_account"
    assert SERVICE in joined.vcenter.control.extensions()[EXTENSION_KEY]["service_account"]


def test_what_is_refused_after_a_kill_is_sent_once(joined: World) -> None:
    """Its password was changed meanwhile: each further try would be one to the lock."""
    killed_while_it_is_told(joined, False)
    joined.vcenter.control.put_user(SERVICE, "changed-Pass3", service_account=True)
    joined.vcenter.control.forget_calls()
    joined.kaasd.start()
    wait_connected(joined)
    until(lambda: states(joined) == ["retired", "active", "retired"], "the new account given up")
    assert rescan(joined) == 0
    assert session_user(joined) == OPERATOR and logins(joined) == 2  # that of the operator, and one that was refused


def test_a_service_account_that_vcenter_does_not_tie_is_forgotten(joined: World) -> None:
    """A login by certificate has no Extension.Update on the root folder (tests/vcenter/README.md)."""
    who = service_account(joined)
    problem = joined.admin.refused(502, "upstream_error", "PUT", path_of(joined), headers=KAAS, json={
        "kind": "service_account", "username": who.login, "password": who.password})
    assert "Extension.Update" in problem["remedy"]
    assert states(joined) == ["active", "retired"] and session_user(joined) == EXTENSION_KEY


def test_other_replicas_follow(joined: World) -> None:
    second = joined.kaasd.beside("second")
    second.start()
    try:
        until(lambda: len(ours(joined)) == 2, "a session of each replica")
        set_account(joined, joined.vcenter.users[OPERATOR])
        until(lambda: [row["user_name"].split("\\")[-1] for row in ours(joined)] == [OPERATOR] * 2, "both sessions of the new account")
    finally:
        second.stop()
