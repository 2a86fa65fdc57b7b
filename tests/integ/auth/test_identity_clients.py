"""People of Active Directory at the front door: curl, python-gssapi and Chromium sign in against Samba; everybody has the role that
mappings give to the groups, whatever way they come."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from env import browser
from env.ad import AdWorld, LdapWorld, MitWorld, openldap, people
from env.ad.joined import (
    add_directory,
    add_openldap,
    by_keytab,
    curl_negotiate,
    kerberos_options,
    map_role,
    post_token,
    signed_in,
)
from env.api import Api
from env.full import World
from env.samples import visible_to
from env.wait import until

pytestmark = pytest.mark.slow
# name of a group: role mapped to it. mail-all is a distribution group: its members have nothing by it.
MAPPED = {"kaas-admins": "admin", "kaas-viewers": "user", "grp-deep": "user", "grp-cycle-b": "user", people.MANY[-1]: "user",
          "mail-all": "admin"}
ROLES = {"alice": "user", "bob": "user", "ada": "admin", "carol": "user", "many": "user", "zoë": "user", "o'hara (ops)": "user",
         "olga": "user", "mallory": None, "none": None}


@pytest.fixture(scope="module")
def ad() -> Iterator[AdWorld]:
    with AdWorld() as domain:
        yield domain


@pytest.fixture(scope="module")
def joined(ad: AdWorld) -> Iterator[World]:
    with World("id", env=ad.env, options=kerberos_options(ad, require_pac=False)) as world:
        world.join()
        add_directory(world.admin, ad)
        for group, role in MAPPED.items():
            map_role(world.admin, ad, group, role)
        until(lambda: by_password(world.kaasd.api(), ad, "bob").status_code == 200, "the mapped roles")
        yield world


def own(sids: set[str]) -> set[str]:
    """Without well-known and built-in groups, which ticket and directory add in different ways."""
    return {sid for sid in sids if sid.startswith("S-1-5-21-")}


def by_password(api: Api, ad: AdWorld, name: str, password: str = "", source: str = "ad") -> requests.Response:
    return api.post_login("password", {"username": name, "password": password or ad.passwords[name], "source": source})


def accepted(answer: requests.Response) -> requests.Response | None:
    return answer if answer.status_code == 200 else None


def groups_of(api: Api) -> set[str]:
    return own({row["id"].removeprefix("sid:") for row in api.get("/v2/whoami")["groups"]})


@pytest.mark.parametrize("name", sorted(ROLES))
def test_everybody_has_the_role_of_the_groups(ad: AdWorld, joined: World, name: str) -> None:
    cache, api = ad.kinit(name), joined.kaasd.api()
    answers = {
        "header": post_token(api, ad.kerberos.token(cache)),
        "body": post_token(api, ad.kerberos.token(cache), in_body=True),
        "no PAC, so by LDAP": post_token(api, ad.kerberos.token(ad.forge(cache, no_pac=True))),
        "password": by_password(api, ad, name),
    }
    if ROLES[name] is None:
        assert {way: answer.status_code for way, answer in answers.items()} == dict.fromkeys(answers, 403)
        return
    for way, answer in answers.items():
        who = signed_in(api, answer)
        told = who.get("/v2/whoami")
        assert (way, told["role"], told["id"]) == (way, ROLES[name], ad.user(name).id)
        assert told["method"] == ("directory_password" if way == "password" else "kerberos")
        assert groups_of(who) == own(set(ad.token_groups(name)))


# Whose role no group gives: name, keytab of those who sign in by one. svc-kaas bears SPNs, svc-hx-east is an HX controller.
NOBODIES = {"none": "", "mallory": "", "svc-kaas": "client", "svc-hx-east": "hx-east"}


@pytest.mark.parametrize("name", sorted(NOBODIES))
def test_ticket_and_directory_agree_on_the_groups_of_those_without_a_role(ad: AdWorld, joined: World, name: str) -> None:
    """They are known, not let in, and the audit log names the same groups whatever way they came."""
    keytab, api = NOBODIES[name], joined.kaasd.api()
    cache = ad.kinit(name, keytab=ad.keytab(keytab)) if keytab else ad.kinit(name)
    answers = [post_token(api, ad.kerberos.token(cache)), post_token(api, ad.kerberos.token(cache), in_body=True),
               post_token(api, ad.kerberos.token(ad.forge(cache, no_pac=True))), by_password(api, ad, name)]
    assert [answer.status_code for answer in answers] == [403] * 4
    lines = [e for e in joined.admin.items("/v2/audit", action="login", principal_id=f"sid:{ad.sid(name)}") if e["result"] == "forbidden"]
    assert {e["source"] for e in lines} == {"kerberos", "ldap"}
    assert len({e["reason"] for e in lines}) == 1, lines
    assert set(lines[0]["reason"].split(": ", 1)[1].split(", ")) == {f"sid:{sid}" for sid in own(set(ad.token_groups(name)))}


def test_a_local_user_of_the_same_name_is_somebody_else(ad: AdWorld, joined: World) -> None:
    made = joined.admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json={
        "name": "carol", "role": "provisioner", "password": "a local secret of carol", "must_change_password": False})
    told = joined.kaasd.api().login_password("carol", "a local secret of carol").get("/v2/whoami")
    assert (told["id"], told["role"], told["groups"]) == (made["principal_id"], "provisioner", [])
    other = signed_in(joined.kaasd.api(), post_token(joined.kaasd.api(), ad.token("carol"))).get("/v2/whoami")
    assert (other["id"], other["role"]) == (ad.user("carol").id, "user")
    joined.admin.expect(204, "DELETE", f"/v2/users/{made['id']}")


@pytest.mark.parametrize("name", ["dora", "eve", "newbie"])
def test_who_may_not_sign_in_there_may_not_here(ad: AdWorld, joined: World, name: str) -> None:
    """Disabled, expired, must change the password. By Kerberos the KDC says so."""
    assert by_password(joined.kaasd.api(), ad, name).status_code == 401
    assert by_password(joined.kaasd.api(), ad, "bob", "not the password").status_code == 401


def test_a_disabled_person_with_a_ticket(ad: AdWorld, joined: World) -> None:
    """The ticket stays good for its hours, the password does not; and who looks there sees it at once."""
    cache, api = ad.kinit("olga"), joined.kaasd.api()
    without_pac = ad.forge(cache, no_pac=True)  # fetches the ticket: the KDC would not give one afterwards
    ad.disable("olga")
    assert post_token(api, ad.kerberos.token(cache)).status_code == 200
    assert post_token(api, ad.kerberos.token(without_pac)).status_code == 401
    assert by_password(api, ad, "olga").status_code == 401
    ad.enable("olga")
    signed_in(api, by_password(api, ad, "olga"))


def test_the_service_looks_things_up_by_its_own_key(ad: AdWorld, joined: World) -> None:
    add_directory(joined.admin, ad, "by-keytab", realms=None, **by_keytab(ad))
    api = joined.kaasd.api()
    who = signed_in(api, by_password(api, ad, "alice", source="by-keytab"))
    assert groups_of(who) == own(set(ad.token_groups("alice")))
    joined.admin.expect(204, "DELETE", "/v2/ldap/by-keytab")  # or each name would be looked for there as well


def test_an_altered_pac_is_not_made_good_by_the_directory(ad: AdWorld, joined: World) -> None:
    cache = ad.kinit("bob")
    assert post_token(joined.kaasd.api(), ad.kerberos.token(ad.forge(cache, rid=[513, 512]))).status_code == 403


@pytest.fixture(scope="module")
def lab(joined: World) -> Iterator[LdapWorld]:
    with LdapWorld() as ldap:
        add_openldap(joined.admin, ldap)
        yield ldap


def test_people_of_a_plain_directory(joined: World, lab: LdapWorld) -> None:
    admin, api = joined.admin, joined.kaasd.api()
    for group, role in (("kaas-admins", "admin"), ("kaas-viewers", "user"), ("grp-deep", "user"), ("grp-cycle-b", "user"),
                        (openldap.MANY[-1], "user")):
        subject = f"ldap:lab:{lab.uuid(openldap.group_dn(group))}"
        admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": subject, "role": role})
    for name in openldap.PEOPLE:
        body = {"username": name, "password": lab.passwords[name], "source": "lab"}
        if name == "none":
            assert api.post_login("password", body).status_code == 403
            continue
        told = signed_in(api, api.post_login("password", body)).get("/v2/whoami")
        assert (name, told["id"], told["role"]) == (name, f"ldap:lab:{lab.uuid(openldap.person_dn(name))}", ROLES[name])


# -- names in place of ids -------------------------------------------------------------------------------------------------


def map_by_name(world: World, **body: str) -> requests.Response:
    return world.admin.call("POST", "/v2/role-mappings", json={"role": "user", **body})


@pytest.mark.parametrize("name", ["grp-uni", "GRP-UNI", "CN=grp-uni,CN=Users,DC=ad,DC=test"])
def test_a_role_for_a_group_by_its_name(ad: AdWorld, joined: World, lab: LdapWorld, name: str) -> None:
    """By account name in any case, and by DN; the id is what is stored, and both are shown at once."""
    made = map_by_name(joined, group=name).json()
    assert (made["subject_id"], made["subject_name"]) == (f"sid:{ad.sid('grp-uni')}", "grp-uni")
    joined.admin.expect(204, "DELETE", f"/v2/role-mappings/{made['id']}")


def test_a_name_that_several_directories_know(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    refused = map_by_name(joined, group="grp-mid")
    assert (refused.status_code, refused.json()["code"]) == (409, "ambiguous")
    told = {(one["directory"], one["id"], one["name"]) for one in refused.json()["candidates"]}
    in_lab = f"ldap:lab:{lab.uuid(openldap.group_dn('grp-mid'))}"
    assert told == {("ad", f"sid:{ad.sid('grp-mid')}", "grp-mid"), ("lab", in_lab, "grp-mid")}
    made = map_by_name(joined, group="grp-mid", directory="lab").json()
    assert made["subject_id"] == in_lab
    joined.admin.expect(204, "DELETE", f"/v2/role-mappings/{made['id']}")


@pytest.mark.parametrize(("body", "says"), [
    ({"group": "no such group"}, "no directory has a group"),
    ({"group": "mail-all"}, "distribution group"),
    ({"group": "Administrators"}, "built-in"),
    ({"group": "*"}, "no directory has a group"),
    ({"group": "bob"}, "no directory has a group"),
    ({"person": "grp-mid"}, "no directory has an account"),
    ({"group": "grp-mid", "directory": "nowhere"}, 'no directory "nowhere"'),
    ({"group": "grp-mid", "person": "bob"}, "give one of the members"),
    ({"subject_id": "sid:S-1-5-21-1-2-3-4", "directory": "ad"}, "goes with"),
    ({"person": "OTHER\\bob", "directory": "ad"}, "not the domain of the directory"),
    ({}, "give one of the members"),
])
def test_names_that_mean_nobody(joined: World, lab: LdapWorld, body: dict[str, str], says: str) -> None:
    refused = map_by_name(joined, **body)
    assert (refused.status_code, refused.json()["code"]) == (422, "unprocessable"), refused.text
    assert says in refused.json()["detail"]


def test_a_directory_that_does_not_answer_leaves_a_name_open(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    """It might know the name as well: nothing is chosen by chance. Who names the directory that is there gets an answer."""
    with ad.closed("ldap", "ldaps", "ldap2", "ldaps2"):
        assert map_by_name(joined, group="grp-mid").status_code in (502, 504)
        made = map_by_name(joined, group="grp-mid", directory="lab")
        assert made.status_code == 201
    joined.admin.expect(204, "DELETE", f"/v2/role-mappings/{made.json()['id']}")
    until(lambda: accepted(by_password(joined.kaasd.api(), ad, "bob")), "the directory found again")


def test_the_command_line_takes_names(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    cli = joined.kaasd.ctl
    added = cli.ok("role-mapping", "add", "--group", "grp-uni", "--role", "user")
    assert f"sid:{ad.sid('grp-uni')}" in added and "grp-uni" in added
    several = cli.run("role-mapping", "add", "--group", "grp-mid", "--role", "user")
    assert several.returncode and f"sid:{ad.sid('grp-mid')}" in several.stderr and "give the id" in several.stderr
    assert "both" in cli.run("role-mapping", "add", "sid:S-1-5-21-1-2-3-4", "--group", "x", "--role", "user").stderr
    assert "who?" in cli.run("grant", "add", "--cluster", "prod-1").stderr
    cluster = joined.admin.names()[0]
    granted = cli.ok("grant", "add", "--person", "ADTEST\\alice", "--directory", "ad", "--cluster", cluster)
    assert ad.user("alice").id in granted and "alice@ad.test" in granted.lower()
    cli.ok("grant", "remove", ad.user("alice").id, "--cluster", cluster)
    cli.ok("role-mapping", "remove", "GRP-UNI")
    cli.ok("role-mapping", "add", "--group", "ops süd (ä)", "--role", "user")
    until(lambda: cli.run("role-mapping", "remove", "OPS SÜD (Ä)").returncode == 0, "the mapping found by the name, once that is known")


def test_the_command_line_finds_grants_by_name(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    """As they were given: by name, in any case, or by DN."""
    cli, (cluster, other) = joined.kaasd.ctl, joined.admin.names()[:2]
    cli.ok("grant", "add", "--group", "grp-uni", "--cluster", cluster)
    cli.ok("grant", "add", "--person", "ADTEST\\alice", "--cluster", cluster)
    rows = cli.json("grant", "list", "--group", "GRP-UNI")
    assert [(row["principal_id"], row["object_name"]) for row in rows] == [(f"sid:{ad.sid('grp-uni')}", cluster)]
    rows = cli.json("grant", "list", "--person", "alice@ad.test", "--cluster", cluster)
    assert [row["principal_id"] for row in rows] == [ad.user("alice").id]
    assert cli.json("grant", "list", "--person", "alice@ad.test", "--cluster", other) == []
    several = cli.run("grant", "list", "--group", "grp-mid")
    assert several.returncode and f"sid:{ad.sid('grp-mid')}" in several.stderr and "give the id" in several.stderr
    nothing = cli.run("grant", "remove", "--group", "grp-uni", "--cluster", other)
    assert nothing.returncode == 4 and "grp-uni has no grant" in nothing.stderr and "--group grp-uni" in nothing.stderr
    assert cli.run("grant", "remove", "--group", "no such group", "--cluster", cluster).returncode == 1
    assert cli.run("grant", "remove", "--cluster", cluster).returncode == 2
    assert cli.run("grant", "remove", "anna", "--group", "grp-uni", "--cluster", cluster).returncode == 2
    assert cli.run("grant", "list", "--principal", "anna", "--group", "grp-uni").returncode == 2
    assert cli.run("grant", "list", "--directory", "ad").returncode == 2
    cli.ok("grant", "remove", "--group", "CN=grp-uni,CN=Users,DC=ad,DC=test", "--cluster", cluster)
    cli.ok("grant", "remove", "--person", "alice@ad.test", "--directory", "ad", "--cluster", cluster)
    assert {row["principal_id"] for row in cli.json("grant", "list")}.isdisjoint({f"sid:{ad.sid('grp-uni')}", ad.user("alice").id})
    joined.admin.refused(422, "unprocessable", "GET", "/v2/grants", params={"group": "x", "person": "y"})
    joined.admin.refused(422, "unprocessable", "GET", "/v2/grants", params={"group": ""})


def test_admins_of_a_cluster_grant_by_name_on_that_one(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    """Others learn nothing about names in the directory."""
    first, second = list(joined.admin.items("/v2/clusters"))[:2]
    body = {"object_kind": "cluster", "object_id": first["id"], "role": "admin"}
    made = joined.admin.expect(201, "POST", "/v2/grants", json={**body, "person": "bob@AD.TEST"})
    bob = signed_in(joined.kaasd.api(), by_password(joined.kaasd.api(), ad, "bob"))
    until(lambda: bob.call("GET", "/v2/grants").status_code == 200, "the grant")
    given = bob.expect(201, "POST", "/v2/grants", json={**body, "role": "viewer", "group": "kaas-viewers", "directory": "ad"})
    assert (given["principal_id"], given["principal_name"]) == (f"sid:{ad.sid('kaas-viewers')}", "kaas-viewers")
    for name in ("kaas-viewers", "no such group"):
        bob.refused(403, "forbidden", "POST", "/v2/grants", json={**body, "object_id": second["id"], "group": name})
    for grant in (given, made):
        joined.admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")


# -- why somebody sees a cluster -------------------------------------------------------------------------------------------


def explain(world: World, who: str, status: int = 200) -> dict[str, Any]:
    cluster = next(world.admin.items("/v2/clusters"))["id"]
    told: dict[str, Any] = world.admin.expect(status, "GET", f"/v2/clusters/{cluster}/explain", params={"principal": who})
    return told


@pytest.mark.parametrize("way", ["id", "upn", "domain"])
def test_somebody_who_is_not_signed_in_is_looked_up(ad: AdWorld, joined: World, lab: LdapWorld, way: str) -> None:
    """By id or name: each rule is decided, with the groups that the directory tells."""
    person = ad.create(f"away-{way}", "Passw0rd-away", ("grp-leaf",))
    name = {"id": person.id, "upn": f"away-{way}@ad.test", "domain": f"ADTEST\\away-{way}"}[way]
    cluster = next(joined.admin.items("/v2/clusters"))["id"]
    grant = joined.admin.expect(201, "POST", "/v2/grants", json={
        "principal_id": f"sid:{ad.sid('grp-uni')}", "object_kind": "cluster", "object_id": cluster})
    told = explain(joined, name)
    assert (told["principal_id"], told["basis"], told["role"], told["visible"]) == (person.id, "directory", "user", True)
    assert "not signed in" in told["note"]
    mapped = {row["principal_id"]: row["matched"] for row in told["rules"] if row["kind"] == "role_mapping"}
    assert mapped[f"sid:{ad.sid('grp-deep')}"] is True and mapped[f"sid:{ad.sid('kaas-admins')}"] is False
    granted = next(row for row in told["rules"] if row["kind"] == "grant" and row["object_type"] == "cluster")
    assert (granted["matched"], granted["principal_id"]) == (True, f"sid:{ad.sid('grp-uni')}")
    assert all(row["matched"] is not None for row in told["rules"])
    joined.admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")


def test_who_may_not_sign_in_sees_nothing(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    told = explain(joined, ad.user("dora").id)
    assert (told["role"], told["visible"]) == ("none", False)
    assert "the account is disabled" in told["note"] and any("disabled" in row["reason"] for row in told["rules"])


def test_what_no_directory_says_is_not_known(ad: AdWorld, joined: World, lab: LdapWorld) -> None:
    told = explain(joined, f"{ad.domain_sid and 'sid:' + ad.domain_sid}-99999")
    assert (told["basis"], told["visible"]) == ("id", None) and "no directory knows" in told["note"]
    assert {row["matched"] for row in told["rules"] if row["kind"] in ("role_mapping", "grant")} == {None}
    person = ad.create("away-dark", "Passw0rd-away", ("grp-leaf",))
    with ad.closed("ldap", "ldaps", "ldap2", "ldaps2"):
        told = explain(joined, person.id)
    assert (told["basis"], told["visible"]) == ("id", None) and "not known" in told["note"]
    until(lambda: explain(joined, person.id)["basis"] == "directory", "the directory found again")


def test_names_that_mean_several_or_nobody_are_not_explained(joined: World, lab: LdapWorld) -> None:
    assert {one["directory"] for one in explain(joined, "carol", 409)["candidates"]} == {"ad", "lab"}
    assert "no directory knows it" in explain(joined, "nobody-at-all", 404)["detail"]
    said = joined.kaasd.ctl.run("access", "explain", "ADTEST\\dora", joined.admin.names()[0]).stdout
    assert "does not see" in said and "the account is disabled" in said


def test_whoami_names_what_did_not_match(ad: AdWorld, joined: World) -> None:
    """To people by kind; for whom other role mappings are is for those who manage them."""
    ada, bob = (signed_in(joined.kaasd.api(), by_password(joined.kaasd.api(), ad, name)).get("/v2/whoami") for name in ("ada", "bob"))
    assert {row["kind"] for row in bob["unmatched_rules"]} == {"role", "grant", "vcenter_privilege"}
    assert all(row["reason"] and row["principal_id"] is None for row in bob["unmatched_rules"])
    others = {row["principal_id"] for row in ada["unmatched_rules"] if row["kind"] == "role_mapping"}
    assert f"sid:{ad.sid('grp-deep')}" in others and f"sid:{ad.sid('kaas-admins')}" not in others
    assert (ada["rules_omitted"], ada["acting_service"]) == (0, None)
    said = joined.kaasd.ctl.ok("whoami")
    assert "REASON" in said


# -- DOMAIN\user -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ADTEST\\bob", "adtest\\BOB", "ad.test\\bob", "bob@AD.TEST", "bob"])
def test_the_spellings_of_a_name(ad: AdWorld, joined: World, name: str) -> None:
    told = signed_in(joined.kaasd.api(), by_password(joined.kaasd.api(), ad, name, ad.passwords["bob"])).get("/v2/whoami")
    assert told["id"] == ad.user("bob").id


@pytest.mark.parametrize(("name", "source"), [("OTHER\\bob", "ad"), ("\\bob", "ad"), ("ADTEST\\", "ad"), ("ADTEST\\bob", "lab")])
def test_another_domain_is_told(ad: AdWorld, joined: World, lab: LdapWorld, name: str, source: str) -> None:
    """That is no guess at a password, and says nothing about whether there is such a person."""
    refused = by_password(joined.kaasd.api(), ad, name, ad.passwords["bob"], source)
    assert (refused.status_code, refused.json()["code"]) == (422, "unprocessable"), refused.text
    assert "not the domain of the directory" in refused.json()["detail"] and "write the name alone" in refused.json()["remedy"]


def test_a_wrong_password_with_a_domain(ad: AdWorld, joined: World) -> None:
    assert by_password(joined.kaasd.api(), ad, "ADTEST\\bob", "not the password").status_code == 401


def test_curl_signs_in_and_the_server_proves_itself(ad: AdWorld, joined: World) -> None:
    env = {**ad.env, "KRB5CCNAME": f"FILE:{ad.kinit('ada')}"}
    status, told, offered = curl_negotiate(f"{joined.kaasd.url}/v2/login/kerberos", joined.kaasd.tls.ca_file, env)
    assert status == 200
    assert offered.startswith("Negotiate ")
    assert joined.kaasd.api(told["access_token"]).names() == visible_to("admin")


def test_curl_without_a_ticket(ad: AdWorld, joined: World) -> None:
    env = {**ad.env, "KRB5CCNAME": f"FILE:{ad.scratch.path}/nothing"}
    status, told, offered = curl_negotiate(f"{joined.kaasd.url}/v2/login/kerberos", joined.kaasd.tls.ca_file, env)
    assert (status, offered) == (401, "Negotiate")
    assert "access_token" not in told


def test_a_client_believes_the_answer(ad: AdWorld, joined: World) -> None:
    """Mutual authentication by python-gssapi: the server's token completes the client's context."""
    answer = post_token(joined.kaasd.api(), ad.token("bob", keep="mutual"))
    reply = answer.headers["WWW-Authenticate"].removeprefix("Negotiate ")
    assert ad.kerberos.answer("mutual", base64.b64decode(reply)) == (b"", True)


FETCH = """async () => {
    const answer = await fetch('/v2/login/kerberos', {method: 'POST', headers: {'X-KaaS': '1'}});
    return answer.status === 200 ? (await answer.json()).access_token : '';
}"""


def test_chromium_signs_in(ad: AdWorld, joined: World) -> None:
    """By a call of a page and by the button of ours. On Linux a new profile loads the library only after it has met its first challenge, so
    the first call may be refused."""
    env = {**ad.env, "KRB5CCNAME": f"FILE:{ad.kinit('ada')}"}
    with browser.page(joined.scratch.path / "chromium", negotiate_with="127.0.0.1", env=env) as opened:
        opened.goto(f"{joined.kaasd.url}/ui/")
        token = until(lambda: opened.evaluate(FETCH), "a sign-on by Chromium")
        opened.click(".kerberos button")
        browser.wait_for_clusters(opened, visible_to("admin"))
    who = joined.kaasd.api(token).get("/v2/whoami")
    assert (who["id"], who["role"]) == (ad.user("ada").id, "admin")


def test_a_group_is_granted_an_hx_cluster(ad: AdWorld, joined: World) -> None:
    """The members see what runs there, by whatever way the group came to them; others do not."""
    admin = joined.admin
    hx = next(row for row in admin.items("/v2/hx-clusters") if row["vsphere_cluster"]["moref"] == "domain-c7")
    grant = {"principal_id": f"sid:{ad.sid('grp-deep')}", "object_kind": "hx_cluster", "object_id": hx["id"]}
    made = admin.expect(201, "POST", "/v2/grants", json=grant)
    api = joined.kaasd.api()
    alice, bob = (signed_in(api, post_token(api, ad.token(name))) for name in ("alice", "bob"))
    until(lambda: alice.names() == admin.names(hx_cluster_id=hx["id"]), "the granted clusters")
    assert bob.names() == []
    admin.expect(204, "DELETE", f"/v2/grants/{made['id']}")
    until(lambda: alice.names() == [], "the end of the grant")


def test_a_role_taken_away_acts_in_the_session(ad: AdWorld, joined: World) -> None:
    made = map_role(joined.admin, ad, "none", "provisioner")
    api = joined.kaasd.api()
    cache = ad.kinit("none")
    none = signed_in(api, until(lambda: accepted(post_token(api, ad.kerberos.token(cache))), "the mapped role"))
    assert none.get("/v2/whoami")["role"] == "provisioner"
    joined.admin.expect(204, "DELETE", f"/v2/role-mappings/{made}")
    until(lambda: none.call("GET", "/v2/clusters").status_code in (401, 403), "the end of the role")


def test_the_same_name_elsewhere_is_somebody_else(ad: AdWorld, joined: World) -> None:
    """alice of the realm MIT.TEST, which is not ours, though its key is in the keytab."""
    with MitWorld(ad) as mit:
        mit.export(ad.keytab("service"), "HTTP/localhost")
        for name in ("alice", "ALICE"):
            assert post_token(joined.kaasd.api(), mit.token(name)).status_code in (401, 403)
