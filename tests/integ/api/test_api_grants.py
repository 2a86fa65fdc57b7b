"""Grants: giving, listing, taking away, and what they let people see; on every replica."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from env.api import Api
from env.full import World
from env.samples import EAST, SAMPLES
from env.wait import until

pytestmark = pytest.mark.slow
Give = Callable[..., dict[str, Any]]
ON_EAST = sorted(sample.name for sample in SAMPLES if EAST in sample.places)
NOBODY = "svc:nobody-in-particular"


@pytest.fixture(scope="module")
def admin(world: World) -> Api:
    return world.admin


@pytest.fixture(scope="module")
def guest(world: World) -> Api:
    """Signed in, without any right at the vCenter."""
    cookie = world.vcenter.control.login("no-rights@vsphere.local")["cookie"]
    return world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)


@pytest.fixture(scope="module")
def guest_id(guest: Api) -> str:
    return str(guest.get("/v2/whoami")["id"])


@pytest.fixture(scope="module")
def objects(world: World, admin: Api) -> dict[str, str]:
    hx = next(item for item in admin.items("/v2/hx-clusters") if item["vsphere_cluster"]["moref"] == "domain-c7")
    prod = next(item for item in admin.items("/v2/clusters") if item["name"] == "prod-1")
    return {"cluster": prod["id"], "vsphere_cluster": f"{world.vcenter.instance_uuid}/domain-c7", "hx_cluster": hx["id"]}


@pytest.fixture
def give(admin: Api) -> Iterator[Give]:
    """Gives grants that go away with the test."""
    given: list[str] = []

    def add(principal: str, kind: str, known: str, **more: Any) -> dict[str, Any]:
        grant = admin.expect(201, "POST", "/v2/grants", json=body(principal, kind, known, **more))
        given.append(grant["id"])
        return dict(grant)

    yield add
    for grant_id in given:
        assert admin.call("DELETE", f"/v2/grants/{grant_id}").status_code in (204, 404)


def body(principal: str, kind: str, known: str, **more: Any) -> dict[str, Any]:
    return {"principal_id": principal, "object_kind": kind, "object_id": known, **more}


def post(admin: Api, *what: str, **more: Any) -> requests.Response:
    return admin.call("POST", "/v2/grants", json=body(*what, **more))


# -- giving ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "sees"), [("cluster", ["prod-1"]), ("vsphere_cluster", ON_EAST), ("hx_cluster", ON_EAST)])
def test_a_grant_shows_its_object_at_once_and_no_longer_than_it_lasts(
    admin: Api, guest: Api, guest_id: str, objects: dict[str, str], give: Give, kind: str, sees: list[str]
) -> None:
    assert guest.names() == []
    grant = give(guest_id, kind, objects[kind])
    assert guest.names() == sees
    assert {"kind": "grant", "object_type": kind, "object_id": objects[kind]}.items() <= guest.get("/v2/whoami")["rules"][0].items()
    admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")
    assert guest.names() == []


def test_people_alike_in_all_but_their_grants_see_each_their_own(world: World, objects: dict[str, str], give: Give) -> None:
    """The same role, no vCenter, the same question: an answer kept for one must not be given to the other."""
    people: list[tuple[Api, list[str]]] = []
    for kind, sees in (("cluster", ["prod-1"]), ("vsphere_cluster", ON_EAST)):
        key, name = str(uuid.uuid4()), f"alike-{kind}"
        world.db.query(
            "INSERT INTO users (id, name, name_key, role, password_hash, created_at_ms, updated_at_ms, version_no) "
            "SELECT %s, %s, %s, 'user', password_hash, 1, 1, 1 FROM users WHERE name = 'admin'", key, name, name, database="kaas")
        give(f"local:{key}", kind, objects[kind])
        people.append((world.kaasd.api().login_password(name, world.kaasd.admin_password), sees))
    for _ in range(2):
        for api, sees in people:
            assert api.names() == sees


def test_a_new_grant_is_answered_with_its_address_and_tag(admin: Api, objects: dict[str, str]) -> None:
    answer = post(admin, NOBODY, "vsphere_cluster", objects["vsphere_cluster"])
    shown = admin.call("GET", answer.headers["Location"])
    again = admin.call("GET", answer.headers["Location"], headers={"If-None-Match": answer.headers["ETag"]})
    admin.expect(204, "DELETE", answer.headers["Location"])
    assert (answer.status_code, answer.json(), answer.headers["ETag"]) == (201, shown.json(), shown.headers["ETag"])
    assert answer.json()["object_name"] == EAST
    assert answer.json()["role"] == "viewer"
    assert again.status_code == 304
    admin.refused(404, "not_found", "GET", answer.headers["Location"])


def test_the_same_grant_again_exists_already(admin: Api, objects: dict[str, str], give: Give) -> None:
    give(NOBODY, "cluster", objects["cluster"])
    admin.refused(409, "exists", "POST", "/v2/grants", json=body(NOBODY, "cluster", objects["cluster"].upper()))


def test_ids_are_kept_in_one_spelling(world: World, objects: dict[str, str], give: Give) -> None:
    grant = give(f"vc:{world.vcenter.instance_uuid.upper()}:VSPHERE.LOCAL\\Anna", "hx_cluster", objects["hx_cluster"].upper())
    assert grant["principal_id"] == f"vc:{world.vcenter.instance_uuid}:vsphere.local\\anna".lower()
    assert grant["object_id"] == objects["hx_cluster"]


@pytest.mark.parametrize("kind", ["cluster", "hx_cluster", "vsphere_cluster"])
def test_an_unknown_object_is_not_found(world: World, admin: Api, kind: str) -> None:
    known = f"{world.vcenter.instance_uuid}/domain-c4711" if kind == "vsphere_cluster" else str(uuid.uuid4())
    problem = admin.refused(404, "not_found", "POST", "/v2/grants", json=body(NOBODY, kind, known))
    assert known in problem["detail"]


def test_an_unknown_local_user_gets_no_grant(admin: Api, objects: dict[str, str]) -> None:
    admin.refused(422, "unprocessable", "POST", "/v2/grants", json=body(f"local:{uuid.uuid4()}", "cluster", objects["cluster"]))


@pytest.mark.parametrize(
    ("principal", "more"),
    [
        ("anna", {}),
        ("local:anna", {}),
        ("vc:anna", {}),
        ("vc:8c1b7ac1-0a53-4a8e-8a54-2f1f9f3f6f10:", {}),
        ("vc:8c1b7ac1-0a53-4a8e-8a54-2f1f9f3f6f10:a\tb", {}),
        ("sid:S-1-", {}),
        ("sid:S-1-5-x", {}),
        ("ldap:corp:anna", {}),
        ("svc:", {}),
        (NOBODY, {"object_id": "prod-1"}),
        (NOBODY, {"object_kind": "node"}),
        (NOBODY, {"object_kind": "vsphere_cluster"}),
        (NOBODY, {"role": "owner"}),
        (NOBODY, {"expires": "never"}),
    ],
)
def test_a_grant_of_a_wrong_form_is_unprocessable(admin: Api, objects: dict[str, str], principal: str, more: dict[str, str]) -> None:
    admin.refused(422, "unprocessable", "POST", "/v2/grants", json={**body(principal, "cluster", objects["cluster"]), **more})


def test_only_administrators_have_to_do_with_grants(guest: Api, objects: dict[str, str]) -> None:
    guest.refused(403, "forbidden", "GET", "/v2/grants")
    guest.refused(403, "forbidden", "POST", "/v2/grants", json=body(NOBODY, "cluster", objects["cluster"]))
    guest.refused(403, "forbidden", "DELETE", f"/v2/grants/{uuid.uuid4()}")
    guest.refused(403, "forbidden", "GET", f"/v2/clusters/{objects['cluster']}/grants")


# -- lists ----------------------------------------------------------------------------------------------------------------


def test_lists_are_filtered_by_principal_and_object(admin: Api, objects: dict[str, str], give: Give) -> None:
    made = {kind: give(NOBODY, kind, known)["id"] for kind, known in objects.items()}
    other = give("svc:another", "cluster", objects["cluster"])["id"]

    def found(**filters: str) -> list[str]:
        return [grant["id"] for grant in admin.items("/v2/grants", **filters)]

    assert found(principal_id=NOBODY) == [made["cluster"], made["vsphere_cluster"], made["hx_cluster"]]
    assert found(object_kind="cluster", object_id=objects["cluster"].upper()) == [other, made["cluster"]]
    assert found(principal_id=NOBODY, object_kind="hx_cluster") == [made["hx_cluster"]]
    assert found(object_id=str(uuid.uuid4())) == []
    assert found(principal_id="svc:ano") == []


def test_pages_hold_every_grant_once(admin: Api, objects: dict[str, str], give: Give) -> None:
    given = [give(f"svc:page-{i}", "cluster", objects["cluster"])["id"] for i in range(5)]
    assert [grant["id"] for grant in admin.items("/v2/grants", object_id=objects["cluster"], limit=2)] == given


@pytest.mark.parametrize("query", [{"principal_id": "anna"}, {"object_kind": "node"}, {"limit": "0"}, {"cursor": "!"}, {"who": "x"}])
def test_a_wrong_query_is_told(admin: Api, query: dict[str, str]) -> None:
    admin.refused(400, "invalid_request", "GET", "/v2/grants", params=query)


def test_the_grants_of_a_cluster_are_those_by_which_it_is_seen(admin: Api, objects: dict[str, str], give: Give) -> None:
    given = [give(NOBODY, kind, known)["id"] for kind, known in objects.items()]
    west = next(item["id"] for item in admin.items("/v2/clusters") if item["name"] == "west-1")
    give(NOBODY, "cluster", west)
    assert [grant["id"] for grant in admin.items(f"/v2/clusters/{objects['cluster']}/grants")] == given
    admin.refused(404, "not_found", "GET", f"/v2/clusters/{uuid.uuid4()}/grants")


def test_a_removal_minds_the_tag(admin: Api, objects: dict[str, str], give: Give) -> None:
    path = f"/v2/grants/{give(NOBODY, 'cluster', objects['cluster'])['id']}"
    admin.refused(412, "precondition_failed", "DELETE", path, headers={"If-Match": '"0123456789abcdef"'})
    tag = admin.call("GET", path).headers["ETag"]
    admin.expect(204, "DELETE", path, headers={"If-Match": tag})
    admin.refused(404, "not_found", "DELETE", path)


# -- with the change ------------------------------------------------------------------------------------------------------


def test_each_change_leaves_a_line_in_the_audit_trail(world: World, admin: Api, objects: dict[str, str]) -> None:
    answer = post(admin, NOBODY, "cluster", objects["cluster"])
    admin.refused(409, "exists", "POST", "/v2/grants", json=body(NOBODY, "cluster", objects["cluster"]))
    admin.expect(204, "DELETE", answer.headers["Location"])
    rows = world.db.query("SELECT action, result, object_kind, object_id, reason, request_id FROM audit WHERE action LIKE 'grant.%%' "
                          "ORDER BY at_ms DESC, seq DESC LIMIT 3", database="kaas")
    assert [row[:2] for row in rows] == [("grant.remove", "ok"), ("grant.create", "exists"), ("grant.create", "ok")]
    assert {row[2:4] for row in rows} == {("cluster", objects["cluster"])}
    whom = f"viewer for {NOBODY}"
    assert [row[4] for row in rows] == [whom, f"{whom}: there is a grant for this principal on this object already", whom]
    assert rows[2][5] == answer.headers["KaaS-Request-Id"]


def test_a_grant_counts_on_every_replica(world: World, guest_id: str, guest: Api, objects: dict[str, str], give: Give) -> None:
    second = world.kaasd.beside("grants")
    second.start()
    try:
        there = second.api(guest.token)
        assert there.names() == []
        grant = give(guest_id, "cluster", objects["cluster"])
        until(lambda: there.names() == ["prod-1"], "the grant at the other replica")
        world.admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")
        until(lambda: there.names() == [], "its end there")
    finally:
        second.stop()


def test_names_of_local_users_stand_beside_their_ids(world: World, admin: Api, objects: dict[str, str], give: Give) -> None:
    """A new one's and a changed one's, on the way from the database to the list."""
    user = admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json={"name": "granted-one", "role": "user"})
    given = give(user["principal_id"], "cluster", objects["cluster"])

    def shown() -> Any:
        return next(row for row in admin.items("/v2/grants") if row["id"] == given["id"])["principal_name"]

    until(lambda: shown() == "granted-one", "the name in the list")
    assert "granted-one" in world.kaasd.ctl.ok("grant", "list")
    admin.expect(200, "PATCH", f"/v2/users/{user['id']}", headers={"X-KaaS": "1", "Content-Type": "application/merge-patch+json"},
                 json={"name": "granted-two"})
    until(lambda: shown() == "granted-two", "the new name in the list")
    admin.expect(204, "DELETE", f"/v2/users/{user['id']}")
