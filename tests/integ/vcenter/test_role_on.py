"""An account with least privileges on named objects: what it is granted where, what kaasd sees and does by it, what changes take back."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from env import vimclient
from env.full import EXTENSION_KEY, World, add_vcenter
from env.logins import ours, until, wait_connected
from env.vcenter import User

pytestmark = pytest.mark.slow
KAAS = {"X-KaaS": "1"}
LOGIN = User("kaas-login", "login-Pass1")
ROLE, OBJECTS = "KaaS least", "KaaS least (objects)"
ON_ROOT = {"Sessions.ValidateSession", "Sessions.TerminateSession", "Extension.Update", "Extension.Register", "Extension.Unregister"}
IN_DC0, IN_DC1 = {"domain-c7", "domain-c70", "domain-c40"}, {"domain-c26"}
HX, PLAIN = {"domain-c7", "domain-c70", "domain-c26"}, "domain-c40"
HX_KEY = "com.springpath.sysmgmt."
WHO = "VSPHERE.LOCAL\\kaas-login"


@pytest.fixture(scope="module")
def whole() -> Iterator[World]:
    with World("roleon") as world:
        yield world


@pytest.fixture
def place(whole: World) -> Iterator[World]:
    """Added; no certificate gets to the vCenter; the account has no permission at all there."""
    whole.vcenter.control.put_user(LOGIN.name, LOGIN.password, groups=[])
    add_vcenter(whole.kaasd, whole.vcenter, "--name", "East")
    whole.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", "0")
    yield whole
    for row in whole.admin.items("/v2/clusters"):
        whole.admin.expect(204, "DELETE", f"/v2/clusters/{row['id']}")
    whole.part()


def register(world: World, *more: str, who: User = LOGIN, role: str = ROLE, ok: bool = True) -> str:
    for name, user in {"admin": world.vcenter.admin, "login": who}.items():
        file = world.scratch.path / f"{name}.password"
        file.write_text(user.password + "\n")
        file.chmod(0o600)
    said = world.kaasd.ctl.run(
        "vcenter", "register", "East", "--user", world.vcenter.admin.login, "--password-file", str(world.scratch.path / "admin.password"),
        "--login-account", who.login, "--login-password-file", str(world.scratch.path / "login.password"),
        f"--create-role={role}", "--yes", *more)
    assert (said.returncode == 0) == ok, said.stdout + said.stderr
    return said.stdout + said.stderr


def leave(world: World) -> None:
    world.kaasd.ctl.ok("vcenter", "unregister", "East", "--user", world.vcenter.admin.login, "--password-file", "-", "--yes",
                       stdin=world.vcenter.admin.password + "\n")


def granted(world: World) -> dict[str, set[tuple[str, str, bool]]]:
    """By role of ours: (entity, principal, propagates) of its permissions, read by pyvmomi."""
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        manager = instance.RetrieveContent().authorizationManager
        return {role.name: {(one.entity._moId, one.principal, one.propagate) for one in manager.RetrieveRolePermissions(role.roleId)}
                for role in vimclient.read_property(instance, manager, "roleList") if role.name.startswith(ROLE)}


def privileges(world: World, name: str) -> set[str]:
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        manager = instance.RetrieveContent().authorizationManager
        (role,) = (one for one in vimclient.read_property(instance, manager, "roleList") if one.name == name)
        return {one for one in role.privilege if not one.startswith("System.")}


def seen(world: World) -> set[str]:
    return {row["moref"] for row in world.admin.items(f"/v2/vcenters/{world.vcenter.instance_uuid}/vsphere-clusters")}


def on(*clusters: str) -> set[tuple[str, str, bool]]:
    return {(moref, WHO, True) for moref in clusters}


@contextmanager
def extension(world: World, moref: str) -> Iterator[None]:
    """HX registers this vSphere cluster, too."""
    world.vcenter.control.put_extension(key=HX_KEY + moref)
    try:
        yield
    finally:
        world.vcenter.control.drop_extension(HX_KEY + moref)


def privileges_told(world: World) -> dict[str, Any]:
    doctor = world.admin.expect(200, "POST", f"/v2/vcenters/{world.vcenter.instance_uuid}/doctor")
    (finding,) = (one for one in doctor["findings"] if one["step"] == "privileges")
    return dict(finding)


def health_told(world: World) -> dict[str, Any]:
    (check,) = (one for one in world.kaasd.ctl.json("health")["checks"] if one["name"] == "vcenter:East")
    return dict(check)


def test_an_account_on_one_datacenter_does_all_there_and_sees_nothing_else(place: World) -> None:
    said = register(place, "--on", "DC0")
    assert "DC0" in said and "does not manage" in said
    assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: {("datacenter-2", WHO, True)}}
    assert (privileges(place, ROLE), privileges(place, OBJECTS)) == (ON_ROOT, {"Global.LogEvent"})
    wait_connected(place)
    until(lambda: seen(place) == IN_DC0, "the clusters of DC0")
    assert {row["vsphere_cluster"]["moref"] for row in place.admin.items("/v2/hx-clusters")} == {"domain-c7", "domain-c70"}
    assert [row["user_name"] for row in ours(place)] == [WHO]

    status = place.admin.get(f"/v2/vcenters/{place.vcenter.instance_uuid}/status")
    assert (status["missing_privileges"], status["extension"]["limits"], status["extension"]["record"]) == ([], [], "ours")
    verdict = place.admin.expect(200, "POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/login-account/test", json={}, headers=KAAS)
    assert verdict["works"] and verdict["missing"] == []
    doctor = place.admin.expect(200, "POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/doctor")
    (finding,) = (one for one in doctor["findings"] if one["step"] == "privileges")
    assert finding["status"] == "ok", finding

    until(lambda: place.db.query("SELECT 1 FROM vcenters WHERE events_since_ms > 0", database="kaas"), "the vCenter counts")
    place.kaasd.ctl.ok("cluster", "add", "--name", "prod-1", "--vsphere-cluster", "DC0/HX-East", "--kubernetes-version", "1.31.2")
    until(lambda: any(one[2].get("cluster") == "prod-1" for one in vimclient.our_events(place.vcenter, "domain-c7", "en")), "the event")
    assert place.sign_in("viewer-east").names() == ["prod-1"]
    assert place.sign_in("viewer-dc").names() == ["prod-1"]


def test_without_a_place_it_is_what_is_used(place: World) -> None:
    """On the vSphere clusters of HX, and on those that carry Kubernetes clusters."""
    said = register(place, "--dry-run")
    assert "grant it to kaas-login@vsphere.local on the vSphere cluster DC0/HX-East (domain-c7), propagating" in said
    assert "grant it to kaas-login@vsphere.local on the root folder, not propagating" in said and "C-Plain" not in said
    assert granted(place) == {}

    register(place)
    assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: on(*HX)}
    until(lambda: seen(place) == HX, "the clusters of HX")
    with extension(place, PLAIN):
        register(place)
        until(lambda: seen(place) == HX | {PLAIN}, "the new HX cluster")

    register(place)
    assert granted(place)[OBJECTS] == on(*HX)
    register(place, "--on", "/")
    place.kaasd.ctl.ok("cluster", "add", "--name", "plain-1", "--vsphere-cluster", "DC0/C-Plain", "--kubernetes-version", "1.31.2")
    register(place)
    assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: on(*HX, PLAIN)}
    until(lambda: seen(place) == HX | {PLAIN}, "that of the Kubernetes cluster")


def test_an_hx_cluster_that_comes_later_is_missed_by_health(place: World) -> None:
    """With the command that ends it, as it is printed. A key whose cluster is gone (domain-c999) is none."""
    register(place)
    until(lambda: health_told(place)["status"] == "ok", "connected")
    assert "c999" not in privileges_told(place)["finding"]
    with extension(place, PLAIN):
        check = until(lambda: (now := health_told(place))["status"] == "warning" and now, "health tells")
        assert f"HX has registered 1 vSphere cluster that our account does not see: {PLAIN}" in check["detail"]
        status = place.kaasd.ctl.run("vcenter", "status", "East").stdout
        assert "hx_unseen" in status and check["remedy"] in " ".join(status.split())
        place.vcenter.control.forbid("domain-c7", WHO)
        until(lambda: "System.Read" in health_told(place)["detail"], "another fault")
        assert PLAIN in health_told(place)["detail"]
        finding = privileges_told(place)
        assert finding["status"] != "ok" and "System.Read is missing" in finding["finding"] and PLAIN in finding["finding"]
        kaasctl, *words = shlex.split(check["remedy"].split(": ", 1)[1])
        assert kaasctl == "kaasctl"
        place.kaasd.ctl.ok(*words, "--password-file", str(place.scratch.path / "admin.password"),
                           "--login-password-file", str(place.scratch.path / "login.password"), "--yes")
        until(lambda: health_told(place)["status"] == "ok", "nothing is missed any more")
        assert seen(place) == HX | {PLAIN} and PLAIN not in privileges_told(place)["finding"]


def test_what_is_kept_from_the_account_on_purpose_is_told_by_the_doctor_alone(place: World) -> None:
    register(place, "--on", "DC0/HX-East", "--on", "DC0/HX-West")
    until(lambda: seen(place) == {"domain-c7", "domain-c70"}, "the two clusters")
    until(lambda: health_told(place)["status"] == "ok", "health is content")
    # The keys of extensions are read once the sign-on after the registration has settled.
    until(lambda: "HX has also registered domain-c26, which" in privileges_told(place)["finding"], "what is kept from it")
    assert privileges_told(place)["status"] == "ok"


def test_what_propagated_ends_when_the_objects_are_granted(place: World) -> None:
    register(place, "--on", "/")
    place.vcenter.control.permit("domain-c70", "VSPHERE.LOCAL\\Administrator")
    said = register(place, ok=False)
    assert "Authorization.ModifyPermissions" in said and "domain-c70" in said
    assert granted(place)[ROLE] == {("group-d1", WHO, True)}
    place.vcenter.control.forbid("domain-c70", "VSPHERE.LOCAL\\Administrator")
    register(place)
    assert granted(place)[ROLE] == {("group-d1", WHO, False)}


def test_a_record_of_hx_that_names_a_datacenter_gives_nothing_there(place: World) -> None:
    with extension(place, "datacenter-2"):
        register(place)
        assert granted(place)[OBJECTS] == on(*HX)


def test_another_account_needs_to_read_only_what_is_used(place: World) -> None:
    control, other, who = place.vcenter.control, User("kaas-narrow", "narrow-Pass1"), "VSPHERE.LOCAL\\kaas-narrow"
    register(place, "--on", "/")
    until(lambda: PLAIN in seen(place), "all clusters")
    control.put_user(other.name, other.password, groups=[])
    control.role("Narrow", *ON_ROOT, "Global.LogEvent")
    control.permit("group-d1", who, "Narrow", propagate=False)
    for moref in HX:
        control.permit(moref, who, "Narrow")
    path = f"/v2/vcenters/{place.vcenter.instance_uuid}/login-account/test"
    account = {"username": other.login, "password": other.password}
    verdict = place.admin.expect(200, "POST", path, json=account, headers=KAAS)
    assert verdict["works"] and {(one["privilege"], one["object_id"], one["needed"]) for one in verdict["missing"]} == {
        ("System.Read", PLAIN, False), ("Global.LogEvent", PLAIN, False)}
    control.forbid("domain-c26", who)
    verdict = place.admin.expect(200, "POST", path, json=account, headers=KAAS)
    assert not verdict["works"] and "System.Read on DC1/HX-East (domain-c26)" in verdict["reason"]
    control.drop_role("Narrow")


def test_where_nothing_is_used_a_place_must_be_named(place: World) -> None:
    records = [key for key in place.vcenter.control.extensions() if key.startswith(HX_KEY)]
    for key in records:
        place.vcenter.control.drop_extension(key)
    try:
        said = register(place, ok=False)
        assert "sees no vSphere cluster of vCenter East that HX has registered" in said and "--on /" in said
        assert granted(place) == {} and EXTENSION_KEY not in place.vcenter.control.extensions()
    finally:
        for key in records:
            place.vcenter.control.put_extension(key=key)


def test_a_dropped_privilege_is_named_with_its_object(place: World) -> None:
    register(place, "--on", "DC0/HX-East", "--on", "/DC0/host/HX-West")
    until(lambda: seen(place) == {"domain-c7", "domain-c70"}, "the two clusters")
    place.vcenter.control.role(OBJECTS)
    place.vcenter.control.forbid("domain-c70", WHO)
    said = place.kaasd.ctl.run("vcenter", "test-login-account", "East")
    assert "Global.LogEvent on DC0/HX-East (domain-c7)" in said.stdout
    assert "System.Read on DC0/HX-West (domain-c70)" in said.stdout or seen(place) == {"domain-c7"}, said.stdout


def test_registering_again_moves_what_was_granted(place: World) -> None:
    register(place, "--on", "DC0", "--on", "DC1/HX-East")
    assert granted(place)[OBJECTS] == {("datacenter-2", WHO, True), ("domain-c26", WHO, True)}
    said = register(place, "--on", "DC1", "--dry-run")
    assert "grant it to kaas-login@vsphere.local on the root folder, not propagating" in said
    assert "on the datacenter DC1 (datacenter-3), propagating" in said
    assert f"take it back from {WHO} on the datacenter datacenter-2" in said
    assert granted(place)[OBJECTS] == {("datacenter-2", WHO, True), ("domain-c26", WHO, True)}

    place.vcenter.control.role(OBJECTS, "Global.LogEvent", "VirtualMachine.Inventory.Delete")  # as releases before 0.4 could make it
    register(place, "--on", "DC1")
    assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: {("datacenter-3", WHO, True)}}
    assert privileges(place, OBJECTS) == {"Global.LogEvent"} and privileges(place, ROLE) == ON_ROOT
    until(lambda: seen(place) == IN_DC1, "the cluster of DC1")
    register(place, "--on", "/")
    assert granted(place) == {ROLE: {("group-d1", WHO, True)}}
    assert privileges(place, ROLE) == ON_ROOT | {"Global.LogEvent"}
    until(lambda: seen(place) == IN_DC0 | IN_DC1, "all clusters")


def test_another_account_takes_its_place(place: World) -> None:
    register(place, "--on", "DC0")
    other = User("kaas-other", "other-Pass1")
    place.vcenter.control.put_user(other.name, other.password, groups=[])
    register(place, "--on", "DC0", who=other)
    assert granted(place) == {ROLE: {("group-d1", "VSPHERE.LOCAL\\kaas-other", False)},
                              OBJECTS: {("datacenter-2", "VSPHERE.LOCAL\\kaas-other", True)}}


@pytest.mark.parametrize("short", ["CORP", "FIRMA"])
def test_the_account_of_another_domain_has_nothing_but_its_name_in_common(place: World, short: str) -> None:
    """What the former one was granted is taken back; the short name of a domain need not be part of the long one."""
    control, other = place.vcenter.control, User(LOGIN.name, "corp-Pass1", domain="corp.example.test")
    stored = control.put_user(other.name, other.password, groups=[], domain=other.domain, domain_alias=short)
    assert stored == f"{short}\\kaas-login"
    try:
        register(place, "--on", "DC0")
        for _ in range(2):
            register(place, "--on", "DC0", who=other)
            assert granted(place) == {ROLE: {("group-d1", stored, False)}, OBJECTS: {("datacenter-2", stored, True)}}
        register(place, "--on", "DC0")
        assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: {("datacenter-2", WHO, True)}}
    finally:
        control.drop_user(other.name, domain=other.domain, domain_alias=short)


def test_the_account_may_be_typed_in_other_case(place: World) -> None:
    """From the second time on there is no new permission to tell it by."""
    stored = place.vcenter.control.put_user("Käfer", "login-Pass1", groups=[])
    try:
        for typed in ("Käfer", "KÄFER", "käfer"):
            register(place, "--on", "DC0", who=User(typed, "login-Pass1"))
            assert granted(place) == {ROLE: {("group-d1", stored, False)}, OBJECTS: {("datacenter-2", stored, True)}}
        register(place, "--on", "DC0")
        assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: {("datacenter-2", WHO, True)}}
    finally:
        place.vcenter.control.drop_user("Käfer")


def test_a_stranger_of_that_name_keeps_what_an_administrator_gave_him(place: World) -> None:
    control = place.vcenter.control
    stranger = control.put_user(LOGIN.name, "corp-Pass1", groups=[], domain="corp.example.test", domain_alias="CORP")
    try:
        register(place, "--on", "DC0")
        control.permit("group-d1", stranger, ROLE, propagate=False)
        control.permit("datacenter-2", stranger, OBJECTS)
        register(place, "--on", "DC0")
        two = (WHO, stranger)
        assert granted(place) == {ROLE: {("group-d1", who, False) for who in two}, OBJECTS: {("datacenter-2", who, True) for who in two}}
        register(place, "--on", "DC1")
        assert granted(place)[OBJECTS] == {("datacenter-3", WHO, True), ("datacenter-2", stranger, True)}
        leave(place)
        assert granted(place) == {ROLE: {("group-d1", stranger, False)}, OBJECTS: {("datacenter-2", stranger, True)}}
    finally:
        control.drop_role(ROLE)
        control.drop_role(OBJECTS)
        control.drop_user(LOGIN.name, domain="corp.example.test", domain_alias="CORP")


def test_an_account_that_did_not_come_to_it_leaves_nothing_behind(place: World) -> None:
    """What it was granted, and what the one before it has, is known until a registration ends well."""
    register(place, "--on", "DC0")
    other = User("kaas-other", "other-Pass1")
    place.vcenter.control.put_user(other.name, other.password, groups=[])
    said = register(place, "--on", "DC1", who=User(other.name, "wrong-Pass9"), ok=False)
    assert "kaas-other" in said
    assert {who for _, who, _ in granted(place)[ROLE]} >= {WHO}, "in force until another one is"
    said = register(place, "--on", "DC1", "--dry-run", who=other)
    assert f"take it back from VSPHERE.LOCAL\\kaas-other, {WHO} on the datacenter datacenter-2" in said
    register(place, "--on", "DC1", who=other)
    assert granted(place) == {ROLE: {("group-d1", "VSPHERE.LOCAL\\kaas-other", False)},
                              OBJECTS: {("datacenter-3", "VSPHERE.LOCAL\\kaas-other", True)}}
    register(place, "--on", "DC1", who=User("kaas-login", "wrong-Pass9"), ok=False)
    leave(place)
    assert granted(place) == {}


def test_more_accounts_than_can_be_remembered_are_refused_with_the_way_out(place: World) -> None:
    register(place)
    for name in ("a", "b"):
        said = register(place, who=User(name * 200, "unknown-Pass1"), ok=False)
    assert "too many accounts of vCenter East" in said and "unregister first" in said
    register(place)
    assert granted(place) == {ROLE: {("group-d1", WHO, False)}, OBJECTS: on(*HX)}
    assert place.db.query("SELECT role_principal FROM vcenter_registrations", database="kaas") == [(WHO,)]


def test_a_strange_second_role_stops_before_the_first_is_made(place: World) -> None:
    place.vcenter.control.role(OBJECTS, "Folder.Create")
    said = register(place, ok=False)
    assert f'"{OBJECTS}" that was not made by this installation' in said
    place.vcenter.control.drop_role(OBJECTS)
    assert granted(place) == {}
    register(place)
    assert set(granted(place)) == {ROLE, OBJECTS}


def test_another_name_is_refused_while_the_first_role_stands(place: World) -> None:
    register(place)
    said = register(place, role="Second", ok=False)
    assert f'made the role "{ROLE}"' in said and "unregister first" in said
    assert set(granted(place)) == {ROLE, OBJECTS}


def test_an_object_role_that_others_have_stays_and_is_ours(place: World) -> None:
    register(place)
    place.vcenter.control.permit("domain-c7", "VSPHERE.LOCAL\\viewer-dc", OBJECTS)
    register(place, "--on", "/")
    assert granted(place) == {ROLE: {("group-d1", WHO, True)}, OBJECTS: {("domain-c7", "VSPHERE.LOCAL\\viewer-dc", True)}}
    place.vcenter.control.forbid("domain-c7", "VSPHERE.LOCAL\\viewer-dc")
    leave(place)
    assert granted(place) == {}


def test_leaving_takes_both_roles_back(place: World) -> None:
    register(place, "--on", "DC0", "--on", "DC1")
    place.vcenter.control.permit("datacenter-3", WHO, "ReadOnly")  # by an administrator since then: not ours any more
    leave(place)
    assert granted(place) == {}
    with vimclient.session(place.vcenter, place.vcenter.admin) as instance:
        manager = instance.RetrieveContent().authorizationManager
        assert {one.entity._moId for one in manager.RetrieveAllPermissions() if one.principal == WHO} == {"datacenter-3"}
    place.vcenter.control.forbid("datacenter-3", WHO)


def test_a_path_that_is_none_changes_nothing(place: World) -> None:
    for path in ("DC9", "DC0/host", "DC0/HX-Nowhere", "host", "DC0/vm"):
        said = register(place, "--on", path, ok=False)
        assert f'"{path}"' in said and "DC0, DC1" in said
    for path in ("dc0/HX-east", "/DC0/hx-east"):
        assert "did you mean DC0/HX-East?" in register(place, "--on", path, ok=False)
    assert granted(place) == {} and EXTENSION_KEY not in place.vcenter.control.extensions()
    account = {"username": place.vcenter.admin.login, "password": place.vcenter.admin.password}
    path = f"/v2/vcenters/{place.vcenter.instance_uuid}/register"
    login = {"kind": "account", "username": LOGIN.login, "password": LOGIN.password}
    for wrong in ({"role_on": ["DC0"]}, {"role_on": ["DC0"], "create_role": ROLE}, {"with_provisioning": True, "create_role": ROLE},  # gone
                  {"role_on": [7], "create_role": ROLE, "login_account": login},
                  {"role_on": ["DC0"], "create_role": "x" * 75, "login_account": login}, {"create_role": "x" * 75, "login_account": login},
                  {"role_on": ["/", "DC0"], "create_role": ROLE, "login_account": login},
                  {"role_on": ["/"], "create_role": ROLE}):
        assert place.admin.call("POST", path, json={**account, **wrong}, headers=KAAS).status_code in (400, 422)
