"""Logging in by an account where certificates cannot: a service account tied to our extension, or a dedicated account. Its password is
sealed, sent once when it is wrong, and replaced by a command."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.full import EXTENSION_KEY, World, add_vcenter, ctl
from env.logins import credentials, lose_session, ours, rescan, state_is, until, vcenter_json, wait_connected
from env.vcenter import User

pytestmark = pytest.mark.slow
SERVICE = "kaas-svc-6f1c9a2e"
DEDICATED = "operator"
WRONG = "wrong-Pass9"


@pytest.fixture(scope="module")
def whole() -> Iterator[World]:
    with World("ways") as world:
        yield world


@pytest.fixture
def place(whole: World) -> Iterator[World]:
    """Nothing is added yet."""
    yield whole
    change_password(whole, DEDICATED, whole.vcenter.users[DEDICATED].password)
    whole.part()


def without_certificates(world: World) -> None:
    add_vcenter(world.kaasd, world.vcenter, "--name", "East")
    world.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", "0")


def register(world: World, option: str, who: User, *more: str, ok: bool = True) -> str:
    """`kaasctl vcenter register` with an account to keep; hands back what it said."""
    files = {"admin": world.vcenter.admin.password, "login": who.password}
    for name, password in files.items():
        file = world.scratch.path / f"{name}.password"
        file.write_text(password + "\n")
        file.chmod(0o600)
    result = world.kaasd.ctl.run(
        "vcenter", "register", "East", "--user", world.vcenter.admin.login, "--password-file", str(world.scratch.path / "admin.password"),
        option, who.login, "--login-password-file", str(world.scratch.path / "login.password"), *more)
    assert (result.returncode == 0) == ok, result.stdout + result.stderr
    return result.stdout + result.stderr


def status_of(world: World) -> dict[str, Any]:
    return world.admin.get(f"/v2/vcenters/{world.vcenter.instance_uuid}/status")


def logins(world: World) -> int:
    """How often a password was sent for the accounts of these tests."""
    return len(world.vcenter.control.calls(op="Login"))


def change_password(world: World, name: str, password: str) -> None:
    """As its owner would at the vCenter."""
    role = {"name": name, "domain": "vsphere.local", "password": password, "service_account": name == SERVICE}
    world.vcenter.control.call("POST", "/users", role)


def by_account(world: World, option: str = "--login-account", name: str = DEDICATED) -> User:
    without_certificates(world)
    who = world.vcenter.users[name]
    register(world, option, who)
    wait_connected(world)
    return who


def test_a_service_account_is_tied_to_the_extension(place: World) -> None:
    who = by_account(place, "--service-account", SERVICE)
    shown = vcenter_json(place)
    assert (shown["state"], shown["login_strategy"]) == ("connected", "service_account")
    assert [(kind, state) for _, kind, state in credentials(place)] == [("service_account", "active")]
    assert SERVICE in place.vcenter.control.extensions()[EXTENSION_KEY]["service_account"]
    (session,) = ours(place)
    assert SERVICE in session["user_name"] and not session["extension_session"]
    status = status_of(place)
    assert status["login"]["account"] == who.login and status["login"]["certificate"] is None
    assert {"name": "service_account", "works": True, "reason": None} in status["login"]["strategies"]


def test_a_dedicated_account_is_called_less_safe(place: World) -> None:
    by_account(place)
    assert vcenter_json(place)["login_strategy"] == "account"
    status = place.kaasd.ctl.run("vcenter", "status", "East")
    assert "less safe" in status.stdout
    assert status.returncode == 1 and "Global.LogEvent missing on" in status.stdout  # which this account has nowhere
    lose_session(place)
    assert rescan(place) == 0
    until(lambda: len(ours(place)) == 1, "a single session")


def test_a_certificate_goes_before_an_account(place: World) -> None:
    add_vcenter(place.kaasd, place.vcenter, "--name", "East")
    register(place, "--login-account", place.vcenter.users[DEDICATED])
    assert vcenter_json(place)["login_strategy"] == "certificate_tunnel"
    assert {kind for _, kind, _ in credentials(place)} == {"certificate"}  # what is not needed is not kept


def test_one_refusal_of_a_good_certificate_is_passed_over(place: World) -> None:
    """Busy vCenters do that. When it comes again, people are told."""
    add_vcenter(place.kaasd, place.vcenter, "--name", "East")
    ctl(place, "register")
    wait_connected(place)
    before = len(place.vcenter.control.calls(op="LoginExtensionByCertificate"))
    place.vcenter.control.fault("LoginExtensionByCertificate", "fault", fault="InvalidLogin", count=1)
    lose_session(place)
    assert rescan(place) == 0
    outcomes = [call["outcome"] for call in place.vcenter.control.calls(op="LoginExtensionByCertificate")[before:]]
    assert len(outcomes) == 2 and outcomes[-1] == "ok", outcomes
    place.vcenter.control.fault("LoginExtensionByCertificate", "fault", fault="InvalidLogin")
    lose_session(place)
    assert rescan(place) != 0
    until(state_is(place, "refused"), "a refused login")
    place.vcenter.control.clear_faults()


def test_a_wrong_password_is_found_out_before_anything_is_changed(place: World) -> None:
    without_certificates(place)
    said = register(place, "--login-account", User(DEDICATED, WRONG), ok=False)
    assert "account" in said
    assert EXTENSION_KEY not in place.vcenter.control.extensions()
    assert credentials(place) == []
    assert place.vcenter.control.sessions() == []


def test_a_vcenter_that_is_too_old_for_service_accounts_says_so() -> None:
    with World("old", vcenter_flags=("--api-version", "7.0.3.0")) as world:
        without_certificates(world)
        said = register(world, "--service-account", world.vcenter.users[SERVICE], ok=False)
        assert "8.0.2.0" in said and "--login-account" in said
        assert EXTENSION_KEY not in world.vcenter.control.extensions()


def test_a_password_changed_there_is_tried_once_and_never_again(place: World) -> None:
    who = by_account(place)
    change_password(place, DEDICATED, "new-Pass2")
    place.vcenter.control.forget_calls()
    lose_session(place)
    until(lambda: rescan(place) != 0 and state_is(place, "refused")(), "the refusal")
    for _ in range(5):
        assert rescan(place) != 0
    assert logins(place) == 1
    reason = vcenter_json(place)["state_reason"]
    assert who.login in reason and "kaasctl vcenter set-password East" in reason

    wrong = place.kaasd.ctl.run("vcenter", "set-password", "East", "--password-file", "-", stdin=WRONG + "\n")
    assert wrong.returncode and "refuses this password" in wrong.stderr
    assert logins(place) == 2
    assert "accepts the new password" in place.kaasd.ctl.ok("vcenter", "set-password", "East", "--password-file", "-", stdin="new-Pass2\n")
    wait_connected(place)
    assert [(kind, state) for _, kind, state in credentials(place)] == [("account", "retired"), ("account", "active")]
    until(lambda: len(ours(place)) == 1, "a single session")


def test_the_password_survives_a_restart_and_is_nowhere_in_clear(place: World) -> None:
    who = by_account(place)
    place.kaasd.kill()
    place.kaasd.start()
    wait_connected(place)
    until(lambda: len(ours(place)) == 1, "a single session")
    log = "".join(file.read_text(errors="replace") for file in place.scratch.log.glob("kaasd*.log"))
    assert log and who.password not in log
    ((sealed,),) = place.db.query("SELECT HEX(sealed) FROM vcenter_credentials WHERE state = 'active'", database="kaas")
    assert who.password.encode().hex() not in sealed.lower()


def test_an_account_has_no_certificate_to_rotate_and_a_certificate_no_password(place: World) -> None:
    by_account(place)
    path = f"/v2/vcenters/{place.vcenter.instance_uuid}"
    problem = place.admin.refused(409, "conflict", "POST", f"{path}/rotate-certificate")
    assert "set-password" in problem["remedy"]
    place.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", str(place.vcenter.tunnel_port))
    place.kaasd.ctl.ok("vcenter", "register", "East", "--user", place.vcenter.admin.login, "--password-file", "-",
                       stdin=place.vcenter.admin.password + "\n")
    until(lambda: vcenter_json(place)["login_strategy"] == "certificate_tunnel", "the change to a certificate")
    problem = place.admin.refused(409, "conflict", "POST", f"{path}/set-password", json={"password": "x"}, headers={"X-KaaS": "1"})
    assert "rotate-certificate" in problem["remedy"]


def permissions(world: World, role: str) -> list[tuple[str, str, bool]]:
    """(entity, principal, propagates) of all permissions with this role, read by pyvmomi; an empty list also without the role."""
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        manager = instance.RetrieveContent().authorizationManager
        ids = [one.roleId for one in vimclient.read_property(instance, manager, "roleList") if one.name == role]
        found = [one for role_id in ids for one in manager.RetrieveRolePermissions(role_id)]
        return [(one.entity._moId, one.principal, one.propagate) for one in found]


def test_a_role_is_made_for_the_account_and_goes_with_us(place: World) -> None:
    """The account gets just what it needs, and nothing of it is left behind."""
    place.vcenter.control.put_user(name="kaas-login", domain="vsphere.local", password="login-Pass1", full_name="KaaS", groups=[])
    without_certificates(place)
    said = register(place, "--login-account", User("kaas-login", "login-Pass1"), "--create-role=KaaS least", "--on", "/", "--yes")
    assert "System.Read" in said or "Sessions.ValidateSession" in said, said
    assert permissions(place, "KaaS least") == [("group-d1", "VSPHERE.LOCAL\\kaas-login", True)]
    wait_connected(place)
    place.kaasd.ctl.ok("vcenter", "unregister", "East", "--user", place.vcenter.admin.login, "--password-file", "-", "--yes",
                       stdin=place.vcenter.admin.password + "\n")
    assert permissions(place, "KaaS least") == []
    assert place.vcenter.control.extensions().get(EXTENSION_KEY) is None
