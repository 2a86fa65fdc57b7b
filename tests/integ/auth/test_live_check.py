"""Whom the directory is asked about after a sign-on by Kerberos, and when: three replicas, one for each setting of
auth.kerberos.live_check, beside Samba, an MIT KDC (tickets without groups) and OpenLDAP."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from env.ad import AdWorld, LdapWorld, MitWorld, openldap
from env.ad.joined import add_directory, add_openldap, map_role, post_token
from env.api import Api
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.wait import until

pytestmark = pytest.mark.slow
SETTINGS = ("off", "privileged", "always")
CHANGE = {"headers": {"X-KaaS": "1", "Content-Type": "application/merge-patch+json"}}


@dataclass
class Place:
    ad: AdWorld
    mit: MitWorld
    ldap: LdapWorld
    daemons: dict[str, Kaasd]
    admin: Api

    def person(self, name: str, *groups: str) -> Path:
        """Somebody new, and the tickets of a day."""
        self.ad.create(name, f"Passw0rd-{name}", groups)
        return self.ad.kinit(name)

    def post(self, setting: str, cache: Path) -> requests.Response:
        return post_token(self.daemons[setting].api(), self.ad.kerberos.token(cache))

    def signed_in(self, setting: str, cache: Path) -> Api:
        answer = self.post(setting, cache)
        assert answer.status_code == 200, answer.text
        return self.daemons[setting].api(answer.json()["access_token"])

    def statuses(self, cache: Path) -> dict[str, int]:
        return {setting: self.post(setting, cache).status_code for setting in SETTINGS}

    def reason(self, name: str) -> str:
        """A session ends first, and then it is written down."""
        return str(until(lambda: self.ends(name), f"the line about the end of {name}")[0]["reason"])

    def ends(self, name: str) -> list[dict[str, Any]]:
        return [e for e in self.admin.items("/v2/audit", action="session.end") if e["principal_name"].startswith(name)]


def merged(*keytabs: Path) -> bytes:
    first, *others = [keytab.read_bytes() for keytab in keytabs]
    return first + b"".join(other[2:] for other in others)


def options(scratch: Scratch, keytab: Path, setting: str) -> dict[str, Any]:
    kerberos = {"keytab": str(keytab), "replay_cache": str(scratch.path / f"rcache-{setting}"), "realms": ["AD.TEST", "MIT.TEST"],
                "live_check": setting, **({} if setting == "always" else {"require_pac": False})}
    return {"auth": {"kerberos": kerberos, "directory_live_check": "1s"}}


def add_directories(admin: Api, ad: AdWorld, ldap: LdapWorld) -> None:
    add_directory(admin, ad, "corp")
    add_openldap(admin, ldap)
    admin.expect(200, "PATCH", "/v2/ldap/lab", json={"realms": ["MIT.TEST"]}, **CHANGE)
    for group, role in (("kaas-admins", "admin"), ("kaas-viewers", "user")):
        map_role(admin, ad, group, role)
        subject = f"ldap:lab:{ldap.uuid(openldap.group_dn(group))}"
        admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": subject, "role": role})


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        ad = stack.enter_context(AdWorld())
        mit = stack.enter_context(MitWorld(ad))
        ldap = stack.enter_context(LdapWorld())
        scratch = Scratch("live")
        stack.callback(scratch.remove)
        db = Mariadb(scratch)
        stack.callback(db.close)
        keytab = scratch.path / "kaasd.keytab"
        keytab.write_bytes(merged(ad.keytab("service"), ad.keytab("nopac"), mit.keytab("service")))
        keytab.chmod(0o600)
        first = Kaasd(scratch, db.socket, "off", options=options(scratch, keytab, "off"), env=mit.env)
        first.init()
        daemons = {"off": first} | {name: first.beside(name, options=options(scratch, keytab, name)) for name in SETTINGS[1:]}
        for daemon in daemons.values():
            stack.callback(daemon.stop)
            daemon.spawn()
        for daemon in daemons.values():
            assert daemon.process
            daemon.process.wait_until(daemon.ready, "readiness", why_not=daemon.why_not_ready)
        made = Place(ad, mit, ldap, daemons, first.admin())
        add_directories(made.admin, ad, ldap)
        bob = ad.kinit("bob")
        until(lambda: made.statuses(bob) == dict.fromkeys(SETTINGS, 200), "the mapped roles and the directories, everywhere")
        yield made


def role(api: Api) -> str:
    answer = api.call("GET", "/v2/whoami")
    return str(answer.json()["role"] if answer.status_code == 200 else answer.json()["code"])


def group_ids(who: dict[str, Any]) -> list[str]:
    return [group["id"] for group in who["groups"]]


def test_the_setting_is_told(place: Place) -> None:
    for setting, daemon in place.daemons.items():
        told = daemon.api(place.admin.token).get("/v2/kerberos")
        assert (told["live_check"], told["require_pac"]) == (setting, setting == "always")


# -- at the sign-on --------------------------------------------------------------------------------------------------------


def test_an_old_ticket_of_an_administrator(place: Place) -> None:
    """It goes on saying what was true in the morning. Where the directory is asked at the sign-on, that has no effect at all."""
    cache = place.person("demoted", "kaas-admins", "kaas-viewers")
    sessions = {setting: place.signed_in(setting, cache) for setting in SETTINGS}
    assert {role(api) for api in sessions.values()} == {"admin"}
    place.ad.remove_member("kaas-admins", "demoted")
    assert {setting: role(place.signed_in(setting, cache)) for setting in ("privileged", "always")} == dict.fromkeys(SETTINGS[1:], "user")
    late = place.signed_in("off", cache)
    for api in (late, *sessions.values()):
        until(lambda api=api: role(api) == "user", "the role of now, in a session under way")  # type: ignore[misc]


def test_who_is_asked_about(place: Place) -> None:
    """A user with an old ticket is looked up by `always` alone; who may do more, by `privileged` as well."""
    user, admin = place.person("user-off", "kaas-viewers"), place.person("admin-off", "kaas-admins")
    for cache in (user, admin):  # the KDC gives no service tickets afterwards
        place.ad.kerberos.token(cache)
    place.ad.disable("user-off")
    place.ad.disable("admin-off")
    assert place.statuses(user) == {"off": 200, "privileged": 200, "always": 401}
    assert place.statuses(admin) == {"off": 200, "privileged": 401, "always": 401}
    refused = [e["reason"] for e in place.admin.items("/v2/audit", action="login") if e["principal_name"] == "admin-off@AD.TEST"]
    assert "directory" in refused


def test_the_directory_is_away(place: Place) -> None:
    """`always` takes nobody, `privileged` administrators for a quarter of an hour, `off` does not notice."""
    user, admin = place.ad.kinit("bob"), place.ad.kinit("ada")
    with place.ad.closed("ldap", "ldaps", "ldap2", "ldaps2"):
        assert place.statuses(user) == {"off": 200, "privileged": 200, "always": 503}
        assert place.post("always", admin).json()["code"] == "unavailable"
        ends = {}
        for setting in ("off", "privileged"):
            told = place.signed_in(setting, admin).get("/v2/whoami")
            assert told["role"] == "admin"
            ends[setting] = datetime.fromisoformat(told["session_expires_at"]) - datetime.now(UTC)
    assert ends["privileged"] <= timedelta(minutes=15) < ends["off"]
    until(lambda: place.statuses(admin) == dict.fromkeys(SETTINGS, 200), "the directory found again")


def test_a_realm_without_a_directory(place: Place) -> None:
    """Tickets with groups are enough for `off`; who has to be asked about cannot be, and the answer says whose turn it is."""
    user, admin = place.ad.kinit("bob"), place.ad.kinit("ada")
    place.admin.expect(200, "PATCH", "/v2/ldap/corp", json={"realms": None}, **CHANGE)
    try:
        until(lambda: place.statuses(admin) == {"off": 200, "privileged": 403, "always": 403}, "the change, everywhere")
        assert place.statuses(user) == {"off": 200, "privileged": 200, "always": 403}
        answer = place.post("always", user).json()
        assert "none serves the realm" in answer["detail"] and "kaasctl ldap set" in answer["remedy"]
        assert place.signed_in("off", user).get("/v2/whoami")["directory"] is None
    finally:
        place.admin.expect(200, "PATCH", "/v2/ldap/corp", json={"realms": ["AD.TEST"]}, **CHANGE)
    until(lambda: place.statuses(admin) == dict.fromkeys(SETTINGS, 200), "the directory of the realm, everywhere")


# -- later -----------------------------------------------------------------------------------------------------------------


def test_what_becomes_of_an_account_ends_the_session(place: Place) -> None:
    """Whatever the setting says about the sign-on: disabled, deleted, another password."""
    caches = {name: place.person(name, "kaas-viewers") for name in ("k-gone", "k-shut", "k-other", "k-stays")}
    sessions = {(name, setting): place.signed_in(setting, cache) for name, cache in caches.items() for setting in SETTINGS}
    assert {api.get("/v2/whoami")["directory"] for api in sessions.values()} == {"corp"}
    place.ad.delete("k-gone")
    place.ad.disable("k-shut")
    place.ad.set_password("k-other", "An0ther-Password")
    for (name, setting), api in sessions.items():
        if name != "k-stays":
            until(lambda api=api: role(api) == "session_ended", f"the end of {name} at {setting}")  # type: ignore[misc]
    for setting in SETTINGS:
        assert sessions["k-stays", setting].expect(200, "POST", "/v2/token/refresh")
    assert "does not know the account" in place.reason("k-gone") and "disabled" in place.reason("k-shut")
    assert "password was changed" in place.reason("k-other")


def test_a_password_changed_between_ticket_and_sign_on(place: Place) -> None:
    """The ticket tells when the password was set, so this is found out though kaasd has never seen the account before."""
    cache = place.person("k-late", "kaas-viewers")
    place.ad.kerberos.token(cache)
    place.ad.set_password("k-late", "An0ther-Password")
    session = place.signed_in("off", cache)
    until(lambda: role(session) == "session_ended", "the end of the session")
    again = place.signed_in("off", place.ad.kinit("k-late"))
    place.ad.add_member("kaas-admins", "k-late")
    until(lambda: role(again) == "admin", "what the directory says about a session that goes on")


# -- tickets without groups ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_realm_whose_tickets_have_no_groups(place: Place, setting: str) -> None:
    """MIT's: its people are those of the directory that serves the realm, and the same as by password there."""
    api = place.daemons[setting].api()
    for name, expected in (("bob", "user"), ("alice", None)):
        answer = post_token(api, place.mit.token(name))
        if not expected:
            assert answer.status_code == 403  # in no group that is mapped
            continue
        told = api.as_token(answer.json()["access_token"]).get("/v2/whoami")
        assert (told["id"], told["role"], told["method"]) == (f"ldap:lab:{place.ldap.uuid(openldap.person_dn(name))}", expected, "kerberos")
        by_password = api.login_password(name, place.ldap.passwords[name], "lab").get("/v2/whoami")
        assert (by_password["id"], group_ids(by_password)) == (told["id"], group_ids(told))


@pytest.mark.parametrize(("name", "other"), [("alice", "ALICE"), ("zoë", "ZOË")])
def test_names_that_differ_in_case_are_two_people(place: Place, name: str, other: str) -> None:
    """To the KDC; the directory finds one entry for both. ALICE does not become alice."""
    subject = f"ldap:lab:{place.ldap.uuid(openldap.person_dn(name))}"
    made = place.admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": subject, "role": "admin"})
    try:
        api = place.daemons["off"].api()
        answer = until(lambda: signed(post_token(api, place.mit.token(name))), "the mapped role")
        assert role(api.as_token(answer)) == "admin"
        assert post_token(api, place.mit.token(other)).status_code == 401
    finally:
        place.admin.expect(204, "DELETE", f"/v2/role-mappings/{made['id']}")


def signed(answer: requests.Response) -> str:
    return str(answer.json()["access_token"]) if answer.status_code == 200 else ""


def test_a_service_whose_tickets_have_no_groups(place: Place) -> None:
    """Active Directory leaves them out for accounts that say so (NO_AUTH_DATA_REQUIRED): the name alone does by request only."""
    for setting, daemon in place.daemons.items():
        answer = post_token(daemon.api(), place.ad.token("ada", "HTTP@nopac.ad.test"))
        if setting == "always":
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text
            line = next(e for e in place.admin.items("/v2/audit", action="login") if e["source"] == "kerberos")
            assert (line["principal_name"], line["reason"]) == ("ada@AD.TEST", "no_pac")
            continue
        assert (setting, answer.status_code) == (setting, 200), answer.text
        told = daemon.api(answer.json()["access_token"]).get("/v2/whoami")
        assert (told["id"], told["role"], told["directory"]) == (place.ad.user("ada").id, "admin", "corp")


def tickets(daemon: Kaasd, token: str | None) -> list[dict[str, Any]]:
    """What the walk to the domain's servers says of the account whose keys are in the keytab."""
    found = daemon.api(token).expect(200, "POST", "/v2/ldap/corp/test", json={}, headers={"X-KaaS": "1"})["findings"]
    return [finding for finding in found if finding["step"] == "kerberos"]


def test_an_account_without_pac_is_warned_of(place: Place) -> None:
    for setting, daemon in place.daemons.items():
        found = tickets(daemon, place.admin.token)
        assert {f["status"] for f in found} == {"warning"} and len(found) == 2
        assert "svc-nopac" in found[0]["finding"] and "NO_AUTH_DATA_REQUIRED" in found[0]["finding"]
        assert ("require_pac refuses" in found[0]["finding"]) == (setting == "always")
        assert "0x2000000" in found[0]["remedy"]
    said = place.daemons["always"].ctl.run("ldap", "test", "corp")
    assert "svc-nopac" in said.stdout and "Kerberos tickets" in said.stdout
    place.ad.set("svc-nopac", "userAccountControl", "66048")
    try:
        assert {f["status"] for f in tickets(place.daemons["always"], place.admin.token)} == {"ok"}
    finally:
        place.ad.set("svc-nopac", "userAccountControl", str(66048 | 0x2000000))
    lab = place.admin.expect(200, "POST", "/v2/ldap/lab/test", json={}, headers={"X-KaaS": "1"})["findings"]
    assert not [finding for finding in lab if finding["step"] == "kerberos"]


def test_without_groups_and_without_a_directory_nobody_comes_in(place: Place) -> None:
    place.ldap.server.kill()
    try:
        for setting, daemon in place.daemons.items():
            answer = post_token(daemon.api(), place.mit.token("bob"))
            assert (setting, answer.status_code, answer.json()["code"]) == (setting, 503, "unavailable")
            assert place.post(setting, place.ad.kinit("bob")).status_code == 200, "the other realm's directory is there"
    finally:
        place.ldap.start()
    api = place.daemons["off"].api()
    until(lambda: post_token(api, place.mit.token("bob")).status_code == 200, "the directory found again")
