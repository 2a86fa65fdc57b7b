"""Roles by groups, grants to groups, admins of single clusters: people of a directory, on two replicas of one installation."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from env.ad import LdapWorld
from env.ad.openldap import group_dn, person_dn
from env.api import Api
from env.full import World
from env.kaasd import Kaasd
from env.replicas import Pair
from env.vcenter import User
from env.wait import until

pytestmark = pytest.mark.slow
HEADER = {"X-KaaS": "1"}
MERGE = {"Content-Type": "application/merge-patch+json"}
OPTIONS: dict[str, Any] = {"auth": {"directory_live_check": "1s", "vcenter": {"privilege_roles": True}}}


@dataclass
class Place:
    both: tuple[Kaasd, Kaasd]
    ldap: LdapWorld
    admin: Api
    vcenter_id: str
    vcenter_admin: User

    def group(self, name: str) -> str:
        return f"ldap:lab:{self.ldap.uuid(group_dn(name))}"

    def person(self, uid: str) -> str:
        return f"ldap:lab:{self.ldap.uuid(person_dn(uid))}"

    def login(self, uid: str) -> Any:
        return self.both[0].api().post_login("password", {"username": uid, "password": self.ldap.passwords[uid], "source": "lab"})

    def sign_in(self, uid: str) -> tuple[Api, Api]:
        """The session of a person, as each replica serves it."""
        answer = self.login(uid)
        assert answer.status_code == 200, answer.text
        token = answer.json()["access_token"]
        there = self.both[1].api(token)
        until(lambda: role_of(there) == role_of(self.both[0].api(token)), "the session and its role on the other replica")
        return self.both[0].api(token), there

    def cluster(self, name: str) -> str:
        made = self.admin.expect(201, "POST", "/v2/clusters", json={
            "name": f"{name}-{uuid.uuid4().hex[:8]}", "kubernetes_version": "1.30.2",
            "vsphere_clusters": [{"vcenter_id": self.vcenter_id, "moref": "domain-c7"}],
            "control_plane": {"desired": 1}, "workers": {"desired": 1}})
        return str(made["id"])


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with LdapWorld() as ldap, World("roles", options=OPTIONS) as world:
        world.join()
        two = Pair(world, OPTIONS)
        try:
            world.admin.expect(201, "POST", "/v2/ldap", headers=HEADER, json={
                "name": "lab", "kind": "openldap", "urls": [ldap.ldap_url], "ca_pem": ldap.ca_file.read_text(),
                "search_base": ldap.people_dn, "group_base": ldap.groups_dn, "bind_dn": ldap.reader_dn,
                "bind_password": ldap.reader_password})
            yield Place((two.both[0], two.both[1]), ldap, world.admin, world.vcenter.instance_uuid, world.vcenter.admin)
        finally:
            two.both[1].stop()


Give = Callable[..., dict[str, Any]]


@pytest.fixture
def give(place: Place) -> Iterator[Give]:
    """Grants and role mappings that go away with the test."""
    paths: list[str] = []

    def add(path: str, **body: Any) -> dict[str, Any]:
        made = place.admin.expect(201, "POST", path, json=body)
        paths.append(f"{path}/{made['id']}")
        return dict(made)

    yield add
    for path in paths:
        assert place.admin.call("DELETE", path).status_code in (204, 404)


def role_of(api: Api) -> str:
    answer = api.call("GET", "/v2/whoami")
    return answer.json()["role"] if answer.status_code == 200 else answer.json()["code"]


def sees(api: Api, cluster: str) -> bool:
    return api.call("GET", f"/v2/clusters/{cluster}").status_code == 200


# -- roles ----------------------------------------------------------------------------------------------------------------


def test_without_a_mapped_role_nobody_comes_in(place: Place) -> None:
    answer = place.login("bob")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "ask an administrator" in answer.json()["remedy"]
    assert "ldap:" not in answer.text, "which groups were seen is not for everybody"
    line = next(e for e in place.admin.items("/v2/audit", action="login") if e["result"] == "forbidden")
    assert (line["principal_id"], line["source"]) == (place.person("bob"), "ldap")
    assert place.group("kaas-viewers") in line["reason"]


def test_a_mapping_counts_at_once_on_every_replica(place: Place, give: Give) -> None:
    users = give("/v2/role-mappings", subject_id=place.group("kaas-viewers"), role="user")
    here, there = place.sign_in("ada")
    assert (role_of(here), role_of(there)) == ("user", "user")
    admins = give("/v2/role-mappings", subject_id=place.group("kaas-admins"), role="provisioner", note="for a while")
    until(lambda: role_of(there) == "provisioner", "the better role on the other replica")
    changed = place.admin.expect(200, "PATCH", f"/v2/role-mappings/{admins['id']}", json={"role": "admin"}, headers=MERGE)
    assert (changed["role"], changed["note"]) == ("admin", "for a while")
    until(lambda: role_of(there) == "admin", "the changed role")
    assert there.call("GET", "/v2/role-mappings").status_code == 200
    place.admin.expect(204, "DELETE", f"/v2/role-mappings/{admins['id']}")
    until(lambda: role_of(there) == "user", "the role taken away")
    assert role_of(here) == "user"
    there.refused(403, "forbidden", "GET", "/v2/role-mappings")
    place.admin.expect(204, "DELETE", f"/v2/role-mappings/{users['id']}")
    until(lambda: role_of(there) == "forbidden", "no role at all")
    assert role_of(here) == "forbidden"
    here.refused(403, "forbidden", "POST", "/v2/token/refresh", headers=HEADER)


def test_groups_may_be_nested_and_go_in_circles(place: Place, give: Give) -> None:
    give("/v2/role-mappings", subject_id=place.group("grp-deep"), role="provisioner")
    give("/v2/role-mappings", subject_id=place.group("grp-cycle-b"), role="user")
    assert role_of(place.sign_in("alice")[0]) == "provisioner"
    assert role_of(place.sign_in("carol")[1]) == "user"
    assert place.login("none").status_code == 403


def test_a_person_may_be_mapped(place: Place, give: Give) -> None:
    give("/v2/role-mappings", subject_id=place.person("none"), role="user")
    assert role_of(place.sign_in("none")[1]) == "user"


def test_three_hundred_groups_are_kept(place: Place, give: Give) -> None:
    give("/v2/role-mappings", subject_id=place.group("many-299"), role="user")
    here, there = place.sign_in("many")
    mine = [sorted(g["id"] for g in api.get("/v2/whoami")["groups"]) for api in (here, there)]
    assert len(mine[0]) == 300
    assert mine[0] == mine[1]


@pytest.mark.parametrize(
    "subject", ["sid:S-1-5-32-545", "sid:S-1-5-11", "local:5f1f7c52-9c0c-4a1e-8f5c-0d9e7c6b5a41", "svc:x", "kaas-admins"])
def test_what_gives_no_role_is_refused(place: Place, subject: str) -> None:
    place.admin.refused(422, "unprocessable", "POST", "/v2/role-mappings", json={"subject_id": subject, "role": "user"})


def test_a_mapping_for_a_source_that_is_not_there_is_refused(place: Place) -> None:
    """It would count for whatever gets that name one day. The known ones are named."""
    subject = place.group("kaas-admins").replace("ldap:lab:", "ldap:lba:")
    refused = place.admin.refused(422, "unprocessable", "POST", "/v2/role-mappings", json={"subject_id": subject, "role": "admin"})
    assert '"lba"' in refused["detail"] and "there are: lab;" in refused["remedy"]
    said = place.both[0].ctl.run("role-mapping", "add", subject, "--role", "admin")
    assert said.returncode == 1 and '"lba"' in said.stderr and "there are: lab;" in said.stderr
    said = place.both[0].ctl.run("role-mapping", "add", "--group", "kaas-admins", "--directory", "lba", "--role", "admin")
    assert said.returncode == 1 and '"lba"' in said.stderr and "there are: lab;" in said.stderr
    vcenter = str(uuid.uuid4())
    refused = place.admin.refused(422, "unprocessable", "POST", "/v2/role-mappings", json={
        "kind": "vcenter_privilege", "subject_id": vcenter, "privilege": "Authorization.ModifyPermissions", "role": "admin"})
    assert vcenter in refused["detail"] and "vcenter list" in refused["remedy"]


def test_role_mappings_are_listed_and_changed_with_care(place: Place, give: Give) -> None:
    made = give("/v2/role-mappings", subject_id=place.group("kaas-admins").upper().replace("LDAP:LAB", "ldap:lab"), role="admin")
    assert made["subject_id"] == place.group("kaas-admins")
    place.admin.refused(409, "exists", "POST", "/v2/role-mappings", json={"subject_id": made["subject_id"], "role": "user"})
    until(lambda: place.admin.get(f"/v2/role-mappings/{made['id']}")["subject_name"], "the name of the group")
    answer = place.admin.call("GET", f"/v2/role-mappings/{made['id']}")
    tag = answer.headers["ETag"]
    assert "kaas-admins" in answer.json()["subject_name"]
    assert [m["id"] for m in place.admin.items("/v2/role-mappings", subject_id=made["subject_id"], role="admin")] == [made["id"]]
    assert list(place.admin.items("/v2/role-mappings", role="service")) == []
    place.admin.expect(200, "PATCH", f"/v2/role-mappings/{made['id']}", json={"role": "user"}, headers={**MERGE, "If-Match": tag})
    place.admin.refused(412, "precondition_failed", "PATCH", f"/v2/role-mappings/{made['id']}", json={"note": "x"},
                        headers={**MERGE, "If-Match": tag})
    place.admin.refused(412, "precondition_failed", "DELETE", f"/v2/role-mappings/{made['id']}", headers={"If-Match": tag})
    place.admin.refused(422, "unprocessable", "PATCH", f"/v2/role-mappings/{made['id']}", json={}, headers=MERGE)
    place.admin.refused(404, "not_found", "GET", f"/v2/role-mappings/{uuid.uuid4()}")
    done = {e["action"] for e in place.admin.items("/v2/audit", object_kind="role_mapping")}
    assert {"role_mapping.create", "role_mapping.change"} <= done


# -- what changes in the directory -------------------------------------------------------------------------------------------


def test_another_group_counts_in_a_session_under_way(place: Place, give: Give) -> None:
    give("/v2/role-mappings", subject_id=place.group("kaas-viewers"), role="user")
    give("/v2/role-mappings", subject_id=place.group("kaas-admins"), role="admin")
    here, there = place.sign_in("bob")
    assert role_of(here) == "user"
    place.ldap.add_member("kaas-admins", "bob")
    try:
        until(lambda: role_of(here) == "admin" and role_of(there) == "admin", "the new group on both replicas")
    finally:
        place.ldap.remove_member("kaas-admins", "bob")
    until(lambda: role_of(here) == "user" and role_of(there) == "user", "the group taken away")


# -- grants to groups, admins of clusters -------------------------------------------------------------------------------------


def test_a_grant_to_a_group_shows_its_object_to_members_only(place: Place, give: Give) -> None:
    for name in ("kaas-viewers", "grp-deep"):
        give("/v2/role-mappings", subject_id=place.group(name), role="user")
    cluster, other = place.cluster("granted"), place.cluster("other")
    here, there = place.sign_in("bob")
    alice, _ = place.sign_in("alice")
    assert not sees(here, cluster)
    grant = give("/v2/grants", principal_id=place.group("kaas-viewers"), object_kind="cluster", object_id=cluster)
    assert sees(here, cluster)
    until(lambda: sees(there, cluster), "the grant on the other replica")
    assert not sees(here, other)
    assert not sees(alice, cluster)
    assert len(here.names()) == len(there.names()) == 1
    rule = next(r for r in here.get("/v2/whoami")["rules"] if r["kind"] == "grant")
    assert (rule["principal_id"], rule["object_id"], rule["role"]) == (place.group("kaas-viewers"), cluster, "viewer")
    here.refused(403, "forbidden", "GET", "/v2/grants")
    place.admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")
    assert not sees(here, cluster)
    until(lambda: not sees(there, cluster), "the grant taken away")


def test_admins_of_a_cluster_manage_its_grants_and_no_others(place: Place, give: Give) -> None:
    for name in ("kaas-viewers", "grp-deep"):
        give("/v2/role-mappings", subject_id=place.group(name), role="user")
    mine, other = place.cluster("mine"), place.cluster("other")
    foreign = give("/v2/grants", principal_id=place.group("kaas-viewers"), object_kind="cluster", object_id=other)
    give("/v2/grants", principal_id=place.group("kaas-viewers"), object_kind="cluster", object_id=mine, role="admin")
    bob, _ = place.sign_in("bob")
    _, alice = place.sign_in("alice")
    body = {"principal_id": place.group("grp-deep"), "object_kind": "cluster", "object_id": mine}
    alice.refused(403, "forbidden", "POST", "/v2/grants", json=body)
    given = bob.expect(201, "POST", "/v2/grants", json=body)
    until(lambda: sees(alice, mine), "what bob has given, on the other replica")
    assert {g["object_id"] for g in bob.items("/v2/grants")} == {mine}
    assert {g["role"] for g in bob.items(f"/v2/clusters/{mine}/grants")} == {"admin", "viewer"}
    assert list(bob.items(f"/v2/clusters/{other}/grants")) == []
    bob.refused(403, "forbidden", "POST", "/v2/grants", json={**body, "object_id": other})
    bob.refused(404, "not_found", "DELETE", f"/v2/grants/{foreign['id']}")
    bob.refused(404, "not_found", "GET", f"/v2/grants/{foreign['id']}")
    bob.refused(403, "forbidden", "GET", "/v2/users")
    bob.refused(403, "forbidden", "DELETE", f"/v2/clusters/{mine}")
    more = bob.expect(201, "POST", "/v2/grants", json={**body, "principal_id": place.person("none"), "role": "admin"})
    alice.refused(403, "forbidden", "DELETE", f"/v2/grants/{more['id']}")
    bob.expect(204, "DELETE", f"/v2/grants/{more['id']}")
    bob.expect(204, "DELETE", f"/v2/grants/{given['id']}")
    until(lambda: not sees(alice, mine), "what bob has taken away")
    place.admin.refused(422, "unprocessable", "POST", "/v2/grants", json={**body, "role": "owner"})


# -- saying why --------------------------------------------------------------------------------------------------------------


def explain(api: Api, cluster: str, who: str | None = None) -> dict[str, Any]:
    return dict(api.get(f"/v2/clusters/{cluster}/explain", **({"principal": who} if who else {})))


def test_explain_names_groups_and_mappings(place: Place, give: Give) -> None:
    used = give("/v2/role-mappings", subject_id=place.group("kaas-viewers"), role="user")
    unused = give("/v2/role-mappings", subject_id=place.group("grp-deep"), role="admin")
    cluster = place.cluster("explained")
    give("/v2/grants", principal_id=place.group("kaas-viewers"), object_kind="cluster", object_id=cluster)
    bob, _ = place.sign_in("bob")
    mine, told = explain(bob, cluster), explain(place.admin, cluster, "BOB")
    by_mapping = {r["object_id"]: r for r in told["rules"] if r["kind"] == "role_mapping"}
    assert (by_mapping[used["id"]]["matched"], by_mapping[unused["id"]]["matched"]) == (True, False)
    assert by_mapping[used["id"]]["principal_id"] == place.group("kaas-viewers")
    assert "member" in by_mapping[unused["id"]]["reason"]
    grant = next(r for r in told["rules"] if r["kind"] == "grant")
    assert (grant["matched"], grant["principal_id"]) == (True, place.group("kaas-viewers"))
    assert (told["visible"], told["role"], told["principal_id"]) == (True, "user", place.person("bob"))
    assert [r["object_id"] for r in mine["rules"] if r["kind"] == "role_mapping"] == [used["id"]], "others are not for bob"
    own = [r["object_id"] for r in bob.get("/v2/whoami")["rules"] if r["kind"] == "role_mapping"]
    assert used["id"] in own and unused["id"] not in own, "nor are they bob's own"
    absent = explain(place.admin, cluster, place.person("zoë"))
    assert (absent["visible"], absent["role"], absent["basis"]) == (True, "user", "directory"), "looked up there"
    place.admin.refused(404, "not_found", "GET", f"/v2/clusters/{cluster}/explain", params={"principal": "nobody-of-that-name"})


def test_the_command_line_tells_and_changes(place: Place) -> None:
    ctl = place.both[0].ctl
    group = place.group("kaas-admins")
    made = ctl.json("role-mapping", "add", group, "--role", "user", "--note", "by hand")
    assert (made["role"], made["note"]) == ("user", "by hand")
    listed = ctl.ok("role-mapping", "list")
    assert group in listed
    assert "by hand" in listed
    cluster = place.cluster("told")
    granted = ctl.json("grant", "add", group, "--role", "admin", "--cluster", cluster)
    assert granted["role"] == "admin"
    ada, _ = place.sign_in("ada")
    assert sees(ada, cluster)
    told = ctl.ok("access", "explain", "ada", cluster)
    assert "role_mapping" in told
    assert group in told
    ctl.ok("grant", "remove", group, "--cluster", cluster)
    assert "removed role mapping" in ctl.ok("role-mapping", "remove", group)
    assert role_of(ada) == "forbidden"
    assert ctl.run("role-mapping", "remove", group).returncode == 4
    assert ctl.run("role-mapping", "add", "kaas-admins", "--role", "user").returncode == 2
    assert ctl.run("role-mapping", "add", group).returncode == 2


# -- admins of a vCenter -----------------------------------------------------------------------------------------------------


def test_a_privilege_of_a_vcenter_makes_an_admin_of_what_runs_there(place: Place, give: Give) -> None:
    cluster, account = place.cluster("there"), place.vcenter_admin
    someone = place.both[0].api().login_password(account.login, account.password, f"vcenter:{place.vcenter_id}")
    assert role_of(someone) == "user"
    grant = {"principal_id": "svc:somebody", "object_kind": "vsphere_cluster", "object_id": f"{place.vcenter_id}/domain-c7"}
    someone.refused(403, "forbidden", "POST", "/v2/grants", json=grant)
    made = give("/v2/role-mappings", kind="vcenter_privilege", subject_id=place.vcenter_id, privilege="Authorization.ModifyPermissions",
                role="admin")

    def is_admin() -> bool:
        return any(rule["kind"] == "vcenter_admin" for rule in someone.get("/v2/whoami")["rules"])

    until(is_admin, "the privilege as a role")
    assert sees(someone, cluster)
    given = someone.expect(201, "POST", "/v2/grants", json=grant)
    someone.refused(403, "forbidden", "POST", "/v2/grants", json={**grant, "object_kind": "cluster", "object_id": cluster})
    someone.refused(403, "forbidden", "GET", "/v2/users")
    place.admin.expect(204, "DELETE", f"/v2/role-mappings/{made['id']}")
    until(lambda: not is_admin(), "the end of it")
    someone.refused(403, "forbidden", "DELETE", f"/v2/grants/{given['id']}")
    place.admin.expect(204, "DELETE", f"/v2/grants/{given['id']}")


# -- local users -------------------------------------------------------------------------------------------------------------


def test_disabling_and_demoting_count_on_the_other_replica(place: Place) -> None:
    name, password = f"walter-{uuid.uuid4().hex[:8]}", "seven swans in a paper boat"
    user = place.admin.expect(201, "POST", "/v2/users", headers=HEADER, json={
        "name": name, "role": "admin", "password": password, "must_change_password": False})
    there = place.both[1].api()
    token = place.both[0].api().login_password(name, password).token
    there = place.both[1].api(token)
    until(lambda: role_of(there) == "admin", "the session on the other replica")
    place.admin.expect(200, "PATCH", f"/v2/users/{user['id']}", json={"role": "user"}, headers=MERGE)
    until(lambda: role_of(there) == "user", "the lower role on the other replica")
    place.admin.expect(200, "PATCH", f"/v2/users/{user['id']}", json={"disabled": True}, headers=MERGE)
    until(lambda: role_of(there) == "session_ended", "the end of the session on the other replica")
    place.admin.expect(204, "DELETE", f"/v2/users/{user['id']}")


def test_the_last_administrator_stays_one(place: Place) -> None:
    me = next(u for u in place.admin.items("/v2/users") if u["name"] == "admin")
    for what in ({"role": "user"}, {"disabled": True}):
        place.admin.refused(409, "conflict", "PATCH", f"/v2/users/{me['id']}", json=what, headers=MERGE)
    place.admin.refused(409, "conflict", "DELETE", f"/v2/users/{me['id']}")
    assert role_of(place.both[1].api(place.admin.token)) == "admin"
