"""Names of people in all scripts: whom a grant fits that was given in other case, and what the version before has let be."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from env.api import Api
from env.full import World
from env.kaasd import Kaasd
from env.wait import until

pytestmark = pytest.mark.slow
X_KAAS = {"X-KaaS": "1"}
Give = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("nm") as made:
        made.join()
        yield made


@pytest.fixture(scope="module")
def clusters(world: World) -> dict[str, str]:
    return {item["name"]: item["id"] for item in world.admin.items("/v2/clusters")}


@pytest.fixture(scope="module", autouse=True)
def guests(world: World) -> None:
    """Accounts without any right, in the case in which the vCenter tells their names."""
    for name in ("MÜLLER", "söder", "İpek", "ΝΊΚΟΣ", "LÖFGRÄN"):
        world.vcenter.control.put_user(name, "secret")


def principal(world: World, name: str) -> str:
    return f"vc:{world.vcenter.instance_uuid}:VSPHERE.LOCAL\\{name}"


def sign_in(world: World, name: str, kaasd: Kaasd | None = None) -> Api:
    cookie = world.vcenter.control.login(f"{name}@vsphere.local")["cookie"]
    return (kaasd or world.kaasd).api().login_session(world.vcenter.instance_uuid, cookie)


def grant(world: World, name: str, cluster: str, role: str = "viewer") -> dict[str, str]:
    return {"principal_id": principal(world, name), "object_kind": "cluster", "object_id": cluster, "role": role}


@pytest.fixture
def give(world: World, clusters: dict[str, str]) -> Iterator[Give]:
    given: list[str] = []

    def add(name: str, cluster: str, role: str = "viewer") -> dict[str, Any]:
        made = world.admin.expect(201, "POST", "/v2/grants", json=grant(world, name, clusters[cluster], role))
        given.append(made["id"])
        return dict(made)

    yield add
    for grant_id in given:
        world.admin.expect(204, "DELETE", f"/v2/grants/{grant_id}")


@contextmanager
def rows_of_old(world: World, table: str, *rows: dict[str, Any]) -> Iterator[Kaasd]:
    """A replica that finds rows as the version before writes them."""
    for row in rows:
        world.db.query(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})", *row.values(), database="kaas")
    second = world.kaasd.beside(f"old-{table}-{uuid.uuid4().hex[:6]}")
    second.start()
    try:
        yield second
    finally:
        second.stop()
        for row in rows:
            world.db.query(f"DELETE FROM {table} WHERE id = %s", row["id"], database="kaas")


def old_grant(world: World, name: str, cluster: str) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "principal_id": f"vc:{world.vcenter.instance_uuid}:vsphere.local\\{name}", "role": "viewer",
            "object_kind": "cluster", "object_id": cluster, "cluster_id": cluster, "created_at_ms": 1}


def checks(admin: Api) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in admin.get("/v2/health")["checks"]}


@pytest.mark.parametrize(("granted", "told"), [("müller", "MÜLLER"), ("SÖDER", "söder"), ("νίκοσ", "ΝΊΚΟΣ")])
def test_a_grant_fits_the_name_in_whatever_case(world: World, clusters: dict[str, str], give: Give, granted: str, told: str) -> None:
    person = sign_in(world, told)
    assert person.names() == []
    made = give(granted, "prod-1")
    assert person.names() == ["prod-1"]
    (rule,) = person.get("/v2/whoami")["rules"]
    assert rule["kind"] == "grant"
    for spelling in (granted, told):
        answer = world.admin.expect(200, "GET", f"/v2/clusters/{clusters['prod-1']}/explain",
                                    params={"principal": principal(world, spelling)})
        (row,) = [row for row in answer["rules"] if row["kind"] == "grant" and row["matched"]]
        assert (row["principal_id"], row["reason"]) == (made["principal_id"], "there is a grant on it")
        assert [item["id"] for item in world.admin.items("/v2/grants", principal_id=principal(world, spelling))] == [made["id"]]


@pytest.mark.parametrize(("granted", "told"), [("ipek", "İpek"), ("ıpek", "İpek"), ("νίκος", "ΝΊΚΟΣ"), ("muller", "MÜLLER"),
                                               ("mu\u0308ller", "MÜLLER")])
def test_letters_that_windows_tells_apart_are_two(world: World, give: Give, granted: str, told: str) -> None:
    give(granted, "prod-1")
    assert sign_in(world, told).names() == []


def test_somebody_signed_in_is_found_by_name_in_whatever_case(world: World, clusters: dict[str, str]) -> None:
    """By our rule, not by that of the database, to which a capital I with a dot is an i."""
    people = sign_in(world, "MÜLLER"), sign_in(world, "İpek")
    path = f"/v2/clusters/{clusters['prod-1']}/explain"
    for name in ("müller", "MÜLLER", "İpek"):
        answer = world.admin.expect(200, "GET", path, params={"principal": f"VSPHERE.LOCAL\\{name}"})
        assert answer["principal_id"] in [person.get("/v2/whoami")["id"] for person in people]
    world.admin.refused(404, "not_found", "GET", path, params={"principal": "VSPHERE.LOCAL\\ipek"})


def test_one_more_grant_goes_to_the_spelling_that_has_some(world: World, clusters: dict[str, str], give: Give) -> None:
    first = give("MÜLLER", "prod-1")
    world.admin.refused(409, "exists", "POST", "/v2/grants", json=grant(world, "müller", clusters["prod-1"], "admin"))
    assert give("mÜller", "west-1")["principal_id"] == first["principal_id"]
    assert give("müLLER", "prod-2")["principal_id"] == first["principal_id"]  # two grants are no two spellings
    assert sign_in(world, "MÜLLER").names() == ["prod-1", "prod-2", "west-1"]
    assert "grants" not in checks(world.admin)


def test_a_grant_of_the_version_before_fits_as_well(world: World, clusters: dict[str, str]) -> None:
    with rows_of_old(world, "grants", old_grant(world, "müller", clusters["prod-1"])) as second:
        assert sign_in(world, "MÜLLER", second).names() == ["prod-1"]


def test_two_spellings_of_the_version_before_are_named_and_stay_two(world: World, clusters: dict[str, str]) -> None:
    rows = old_grant(world, "lÖfgrÄn", clusters["prod-1"]), old_grant(world, "löfgrän", clusters["west-1"])
    with rows_of_old(world, "grants", *rows) as second:
        admin, person = second.api(world.admin.token), sign_in(world, "LÖFGRÄN", second)
        assert person.names() == ["prod-1"]
        found = checks(admin)["grants"]
        assert found["status"] == "warning"
        assert all(row["principal_id"] in found["detail"] for row in rows)
        assert "kaasctl grant list" in found["remedy"]
        third = admin.refused(409, "conflict", "POST", "/v2/grants", json=grant(world, "LÖFGRän", clusters["prod-2"]))
        assert "several spellings" in third["detail"]
        admin.expect(204, "DELETE", f"/v2/grants/{rows[0]['id']}")
        assert person.names() == ["west-1"]
        assert "grants" not in checks(admin)


def old_user(world: World, name: str) -> dict[str, Any]:
    ((password_hash,),) = world.db.query("SELECT password_hash FROM users WHERE name = 'admin'", database="kaas")
    key = "".join(letter.lower() if letter.isascii() else letter for letter in name)
    return {"id": str(uuid.uuid4()), "name": name, "name_key": key, "role": "user", "password_hash": password_hash,
            "created_at_ms": 1, "updated_at_ms": 1, "version_no": 1}


def test_local_users_sign_in_by_their_name_in_whatever_case(world: World, clusters: dict[str, str]) -> None:
    made = world.admin.expect(201, "POST", "/v2/users", headers=X_KAAS, json={
        "name": "Jürgen", "role": "user", "password": "four words that do not rhyme", "must_change_password": False})
    other = world.admin.expect(201, "POST", "/v2/users", headers=X_KAAS, json={"name": "Jörg", "role": "user"})
    there = f"/v2/users/{made['id']}"
    try:
        for name in ("Jürgen", "jürgen", "JÜRGEN"):
            assert world.kaasd.api().login_password(name, "four words that do not rhyme").get("/v2/whoami")["id"] == made["principal_id"]
        world.admin.refused(409, "exists", "POST", "/v2/users", headers=X_KAAS, json={"name": "JÜRGEN", "role": "user"})
        patch = {**X_KAAS, "Content-Type": "application/merge-patch+json"}
        world.admin.refused(409, "exists", "PATCH", f"/v2/users/{other['id']}", headers=patch, json={"name": "jÜrgen"})
        world.admin.expect(200, "PATCH", there, headers=patch, json={"name": "JÜRGEN", "role": "provisioner"})
        assert [user["id"] for user in world.admin.items("/v2/users", name="jürgen")] == [made["id"]]
        answer = world.admin.expect(200, "GET", f"/v2/clusters/{clusters['prod-1']}/explain", params={"principal": "jürgen"})
        assert answer["principal_id"] == made["principal_id"]
        assert made["id"] in world.kaasd.ctl.ok("user", "set", "jürgen", "--full-name", "J. G.")
    finally:
        for user in (made, other):
            world.admin.expect(204, "DELETE", f"/v2/users/{user['id']}")


def test_two_local_users_of_the_version_before_are_named_and_stay_two(world: World) -> None:
    rows = old_user(world, "BÄRBEL"), old_user(world, "Bärbel")
    with rows_of_old(world, "users", *rows) as second:
        admin = second.api(world.admin.token)

        def sign_in_as(name: str) -> requests.Response:
            return second.api().post_login("password", {"username": name, "password": world.kaasd.admin_password, "source": "local"})

        for name, row in (("BÄRBEL", rows[0]), ("bÄrbel", rows[0]), ("Bärbel", rows[1]), ("bärBEL", rows[1])):
            there = second.api(sign_in_as(name).json()["access_token"])
            assert there.get("/v2/whoami")["id"] == f"local:{row['id']}"
        found = checks(admin)["users"]
        assert found["status"] == "warning"
        assert all(row["name"] in found["detail"] for row in rows)
        change = {**X_KAAS, "Content-Type": "application/merge-patch+json"}
        admin.expect(200, "PATCH", f"/v2/users/{rows[0]['id']}", headers=change, json={"full_name": "what is not the name changes"})
        admin.expect(200, "PATCH", f"/v2/users/{rows[0]['id']}", headers=change, json={"name": "Bärbel Groß"})
        until(lambda: "users" not in checks(admin), "one of that name")
        assert sign_in_as("BÄRBEL").json()["access_token"], "the other one, in whatever case"
