"""Signing in by a directory: Active Directory (Samba) and plain LDAP (OpenLDAP), by password; people, groups, refusals, outages, and what
changes there."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import socket
import socketserver
import ssl
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from env.ad import AdWorld, LdapWorld, openldap, people
from env.api import Api
from env.certs import make_server_cert
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch, free_port
from env.wait import until

pytestmark = pytest.mark.slow
HEADER = {"X-KaaS": "1"}
MERGE = {"Content-Type": "application/merge-patch+json", **HEADER}
DEEP = {"grp-leaf", "grp-mid", "grp-uni", "grp-deep"}
DOMAIN_USERS = 513
# who: groups, beside Domain Users; None: refused
IN_AD: dict[str, set[str] | None] = {
    "alice": DEEP, "bob": {"kaas-viewers"}, "ada": {"kaas-viewers", "kaas-admins"}, "carol": {"grp-cycle-a", "grp-cycle-b"},
    "many": set(people.MANY), "zoë": {"kaas-viewers", "ops süd (ä)"}, "o'hara (ops)": {"kaas-viewers"}, "olga": {"kaas-viewers"},
    "dora": None, "eve": None, "newbie": None,
}
IN_LAB = {
    "alice": {"grp-leaf", "grp-mid", "grp-deep"}, "ada": {"kaas-viewers", "kaas-admins"}, "carol": {"grp-cycle-a", "grp-cycle-b"},
    "zoë": {"kaas-viewers", 'Ops Süd, "Ä" (a*b) \\ #1'}, "o'hara (ops)": {"kaas-viewers"},
}


@dataclass
class Place:
    kaasd: Kaasd
    ad: AdWorld
    lab: LdapWorld
    admin: Api

    def source(self, name: str) -> dict[str, Any]:
        """What to configure: `corp` binds by keytab, the others by password."""
        if name == "lab":
            return {"name": "lab", "kind": "openldap", "urls": [self.lab.ldap_url, self.lab.ldaps_url],
                    "ca_pem": self.lab.ca_file.read_text(),
                    "search_base": self.lab.people_dn, "group_base": self.lab.groups_dn, "bind_dn": self.lab.reader_dn,
                    "bind_password": self.lab.reader_password}
        common = {"name": name, "kind": "ad", "ca_file": str(self.ad.ca_file), "search_base": self.ad.base_dn}
        if name == "corp":
            return {"urls": [self.ad.ldap_url, self.ad.second_ldap_url], "bind": "keytab", "realms": ["AD.TEST"],
                    "keytab": str(self.ad.keytab("client")), "principal": "svc-kaas@AD.TEST", **common}
        return {"urls": [self.ad.ldaps_url, self.ad.second_ldaps_url], "bind_dn": "svc-reader@AD.TEST",
                "bind_password": self.ad.passwords["svc-reader"], **common}

    def add(self, name: str, **more: Any) -> dict[str, Any]:
        body = {key: value for key, value in {**self.source(name), **more}.items() if value is not None}
        return dict(self.admin.expect(201, "POST", "/v2/ldap", json=body, headers=HEADER))

    def change(self, name: str, **more: Any) -> None:
        self.admin.expect(200, "PATCH", f"/v2/ldap/{name}", data=json.dumps(more), headers=MERGE)

    def try_login(self, name: str, password: str, source: str) -> requests.Response:
        return self.kaasd.api().post_login("password", {"username": name, "password": password, "source": source})

    def login(self, name: str, source: str) -> Api:
        password = (self.lab if source == "lab" else self.ad).passwords[name]
        answer = self.try_login(name, password, source)
        assert answer.status_code == 200, (name, source, answer.text)
        return self.kaasd.api(answer.json()["access_token"])

    def signs_in(self, name: str, source: str) -> bool:
        """Within three tries: a look of the daemon's own may have met the same trouble, and have the last server rest."""
        password = (self.lab if source == "lab" else self.ad).passwords[name]
        return any(self.try_login(name, password, source).status_code == 200 for _ in range(3))

    def refused(self, name: str, password: str, source: str) -> str:
        """Why, as the audit log tells; the one who asks learns nothing."""
        answer = self.try_login(name, password, source)
        assert answer.status_code == 401, answer.text
        problem = answer.json()
        assert (problem["code"], problem["detail"]) == ("invalid_credentials", "the name or password is wrong")
        line = next(iter(self.admin.items("/v2/audit", request_id=problem["request_id"])))
        assert (line["action"], line["source"], line["result"]) == ("login", "ldap", "invalid_credentials")
        return str(line["reason"])

    def map(self, subject: str, role: str) -> None:
        self.admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": subject, "role": role})

    def state(self, name: str) -> str:
        return str(self.admin.get(f"/v2/ldap/{name}")["status"]["state"])

    def health(self, name: str) -> dict[str, Any]:
        return next(c for c in self.admin.get("/v2/health")["checks"] if c["name"] == f"directory:{name}")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        folder = Scratch("l")
        stack.callback(folder.remove)
        ad, lab = stack.enter_context(AdWorld()), stack.enter_context(LdapWorld())
        db = Mariadb(folder)
        stack.callback(db.close)
        options = {"auth": {"directory_live_check": "1s"}}
        kaasd = Kaasd(folder, db.socket, options=options, env=ad.env)
        kaasd.init()
        stack.callback(kaasd.stop)
        kaasd.start()
        made = Place(kaasd, ad, lab, kaasd.admin())
        for name in ("corp", "pw", "lab"):
            made.add(name)
        made.map(f"sid:{ad.domain_sid}-{DOMAIN_USERS}", "user")
        made.map(f"sid:{ad.sid('kaas-admins')}", "admin")
        for group in ("kaas-viewers", "grp-deep", "grp-cycle-b", "many-007"):
            made.map(f"ldap:lab:{lab.uuid(openldap.group_dn(group))}", "user")
        made.map(f"ldap:lab:{lab.uuid(openldap.group_dn('kaas-admins'))}", "admin")
        yield made


@pytest.mark.parametrize("source", ["corp", "pw"])
def test_spellings_of_a_name_give_no_more_guesses(place: Place, source: str) -> None:
    """By the realm that the one serves, by the search base of the other."""
    name = f"guessed-{uuid.uuid4().hex[:8]}"
    spellings = [name, f"{name}@AD.TEST", f"{people.NETBIOS}\\{name}", f"{name.upper()}@ad.test"]
    statuses = [place.try_login(spellings[n % 4], f"wrong {n}", source).status_code for n in range(12)]
    assert statuses[:6] == [401] * 6 and 429 in statuses


@pytest.mark.parametrize("source", ["corp", "pw"])
def test_people_of_active_directory(place: Place, source: str) -> None:
    """By keytab and by password alike: nested, domain-local and primary groups, no distribution groups, nothing well-known."""
    for name, groups in IN_AD.items():
        if groups is None:
            assert place.refused(name, place.ad.passwords[name], source)
            continue
        me = place.login(name, source).get("/v2/whoami")
        wanted = {f"sid:{place.ad.sid(group)}" for group in groups} | {f"sid:{place.ad.domain_sid}-{DOMAIN_USERS}"}
        assert {group["id"] for group in me["groups"]} == wanted, name
        assert (me["id"], me["source"], me["directory"]) == (place.ad.user(name).id, "directory", source)
        assert me["role"] == ("admin" if name == "ada" else "user")


def test_people_of_a_plain_directory(place: Place) -> None:
    for name, groups in IN_LAB.items():
        me = place.login(name, "lab").get("/v2/whoami")
        assert {group["id"] for group in me["groups"]} == {f"ldap:lab:{place.lab.uuid(openldap.group_dn(group))}" for group in groups}, name
        assert me["id"] == f"ldap:lab:{place.lab.uuid(openldap.person_dn(name))}"
        assert me["role"] == ("admin" if name == "ada" else "user")
    assert len(place.login("many", "lab").get("/v2/whoami")["groups"]) == len(people.MANY)
    answer = place.try_login("none", place.lab.passwords["none"], "lab")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_refusals_tell_the_trail_only(place: Place) -> None:
    assert "disabled" in place.refused("dora", place.ad.passwords["dora"], "pw")
    assert "expired" in place.refused("eve", place.ad.passwords["eve"], "pw")
    assert "changed" in place.refused("newbie", place.ad.passwords["newbie"], "pw")
    assert "wrong password" in place.refused("alice", "wrong", "pw")
    assert "no account" in place.refused("nobody-here", "wrong", "pw")
    assert place.refused("alice", "wrong", "lab")


def test_names_are_no_filters(place: Place) -> None:
    """The right password of somebody, with a name that would match that entry if it were not escaped."""
    password = place.ad.passwords["alice"]
    for name in ("alic*", "*", "alice)(objectClass=*", "*)(sAMAccountName=alice", "(alice)", "ADTEST\\alic*", "ADTEST\\alice\\2a",
                 "CN=Alice Nested,CN=Users,DC=ad,DC=test"):
        place.refused(name, password, "pw")
    for name in ("alic*", "*", "alice)(uid=*"):
        place.refused(name, place.lab.passwords["alice"], "lab")


def who(place: Place, spelled: str, name: str, source: str) -> str:
    """The id of whom a sign-on finds, with the password of `name`."""
    answer = place.try_login(spelled, place.ad.passwords[name], source)
    assert answer.status_code == 200, (spelled, answer.text)
    return str(place.kaasd.api(answer.json()["access_token"]).get("/v2/whoami")["id"])


def looked_up(place: Place, spelled: str, source: str) -> str:
    """The id that a role mapping gets."""
    made = place.admin.expect(201, "POST", "/v2/role-mappings", json={"person": spelled, "role": "user", "directory": source})
    place.admin.expect(204, "DELETE", f"/v2/role-mappings/{made['id']}")
    return str(made["subject_id"])


@pytest.mark.parametrize("source", ["corp", "pw"])
def test_a_user_principal_name_of_another_suffix(place: Place, source: str) -> None:
    """Mail domains as suffixes are usual. Active Directory takes NAME@REALM for the account NAME all the same (MS-ADTS 5.1.1.1.1)."""
    name = f"tables-{uuid.uuid4().hex[:6]}"
    account = place.ad.create(name, f"Pass-{name}-1")
    place.ad.set(name, "userPrincipalName", f"robert.{name}@corp.example")
    for form in (f"robert.{name}@corp.example", f"{name}@AD.TEST", f"{name.upper()}@ad.test", name, f"{people.NETBIOS}\\{name}"):
        assert (who(place, form, name, source), looked_up(place, form, source)) == (account.id, account.id), form
    for form in (f"robert.{name}", f"{name}@corp.example", f"{name}@"):
        place.refused(form, place.ad.passwords[name], source)
    place.ad.delete(name)


def test_who_has_a_name_as_user_principal_name_comes_first(place: Place) -> None:
    """No two accounts become one. For its own suffix the directory refuses such a name (CVE-2021-42282), for others not."""
    names = [f"{word}-{uuid.uuid4().hex[:6]}" for word in ("one", "other")]
    one, other = (place.ad.create(name, f"Pass-{name}-1") for name in names)
    place.add("alias", realms=["OTHER.TEST"])
    spelled = f"{names[0]}@OTHER.TEST"
    assert (who(place, spelled, names[0], "alias"), looked_up(place, spelled, "alias")) == (one.id, one.id)
    place.ad.set(names[1], "userPrincipalName", f"{names[0]}@other.test")
    assert (who(place, spelled, names[1], "alias"), looked_up(place, spelled, "alias")) == (other.id, other.id)
    place.refused(spelled, place.ad.passwords[names[0]], "alias")
    assert (who(place, names[0], names[0], "alias"), looked_up(place, names[0], "alias")) == (one.id, one.id)
    assert who(place, f"{names[1]}@AD.TEST", names[1], "alias") == other.id
    place.admin.expect(204, "DELETE", "/v2/ldap/alias")
    for name in names:
        place.ad.delete(name)


def test_empty_password(place: Place) -> None:
    """A server would take it for an anonymous bind, and say yes (RFC 4513 5.1.2)."""
    problem = place.try_login("alice", "", "lab").json()
    assert (problem["status"], problem["code"]) == (422, "unprocessable")
    place.admin.refused(422, "unprocessable", "POST", "/v2/ldap", json={**place.source("lab"), "name": "e", "bind_password": ""},
                        headers=HEADER)


def test_unknown_source(place: Place) -> None:
    answer = place.try_login("alice", "x", "nowhere")
    assert (answer.status_code, answer.json()["code"]) == (422, "unprocessable")


# -- how it is configured --


def test_changing(place: Place) -> None:
    added = place.add("second", disabled=True)
    assert added["status"]["state"] == "disabled" and added["has_bind_password"] and "bind_password" not in added
    place.admin.refused(409, "exists", "POST", "/v2/ldap", json=place.source("second"), headers=HEADER)
    answer = place.admin.call("GET", "/v2/ldap/second")
    tag = answer.headers["ETag"]
    assert place.ad.passwords["svc-reader"] not in answer.text
    changed = place.admin.call("PATCH", "/v2/ldap/second", data=json.dumps({"disabled": False}), headers={**MERGE, "If-Match": tag})
    assert changed.status_code == 200 and changed.headers["ETag"] != tag
    place.admin.refused(412, "precondition_failed", "PATCH", "/v2/ldap/second", data=json.dumps({"disabled": True}),
                        headers={**MERGE, "If-Match": tag})
    place.login("bob", "second")
    problem = place.admin.refused(422, "unprocessable", "PATCH", "/v2/ldap/second", data=json.dumps({"urls": ["ldaps://elsewhere.test"]}),
                                  headers=MERGE)
    assert "bind_password must be given again" in problem["detail"]
    place.admin.refused(422, "unprocessable", "PATCH", "/v2/ldap/second", data=json.dumps({"urls": ["http://elsewhere.test"]}),
                        headers=MERGE)
    place.admin.refused(412, "precondition_failed", "DELETE", "/v2/ldap/second", headers={"If-Match": tag})
    place.admin.expect(204, "DELETE", "/v2/ldap/second")
    place.admin.refused(404, "not_found", "GET", "/v2/ldap/second")
    assert place.try_login("bob", "x", "second").status_code == 422
    lines = [e["action"] for e in place.admin.items("/v2/audit", object_kind="directory", object_id="second") if e["result"] == "ok"]
    assert sorted(lines) == ["directory.change", "directory.create", "directory.remove"]


def test_only_administrators(place: Place) -> None:
    place.login("bob", "lab").refused(403, "forbidden", "GET", "/v2/ldap")
    assert [d["name"] for d in place.login("ada", "lab").items("/v2/ldap")] == ["corp", "lab", "pw"]


def test_master_key_replaced(place: Place) -> None:
    """The password that kaasd binds with is sealed anew."""
    place.kaasd.ctl.ok("key", "rotate-master", "--yes")
    until(lambda: place.admin.get("/v2/keys/master")["remaining"] == 0, "everything sealed anew")
    place.change("lab", realms=["LAB.TEST"])  # a new connection
    place.login("alice", "lab")


def test_other_replicas(place: Place) -> None:
    """They follow within moments, with what is sealed by the common master key."""
    other = place.kaasd.beside("other")
    try:
        other.start()
        place.add("late")
        api = other.api()
        body = {"username": "bob", "password": place.ad.passwords["bob"], "source": "late"}
        until(lambda: api.post_login("password", body).status_code == 200, "the new directory at the other replica")
        place.admin.expect(204, "DELETE", "/v2/ldap/late")
        until(lambda: api.post_login("password", body).status_code == 422, "the end of the directory there")
    finally:
        other.stop()


# -- step by step --


def steps(report: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in report["findings"]:
        found.setdefault(finding["step"], []).append(finding["status"])
    return found


def test_walk(place: Place) -> None:
    for source, name in (("corp", "alice"), ("pw", "many"), ("lab", "zoë")):
        report = place.admin.expect(200, "POST", f"/v2/ldap/{source}/test", json={"username": name})
        assert all(outcome in ("ok", "warning") for found in steps(report).values() for outcome in found), report
        assert list(steps(report)) == ["name", "connect", "tls", "bind", "base", "user", "groups"]
        assert report["findings"][0]["finding"] == "127.0.0.1 is an address, no name has to be looked up"
    assert "may not sign in" in str(place.admin.expect(200, "POST", "/v2/ldap/pw/test", json={"username": "dora"}))


@pytest.mark.parametrize(("change", "step"), [
    ({"urls": ["ldaps://no-such-host.invalid"]}, "name"),
    ({"urls": ["ldaps://127.0.0.1:1"]}, "connect"),
    ({"ca_file": None, "ca_pem": "LAB"}, "tls"),
    ({"bind_password": "wrong"}, "bind"),
    ({"search_base": "OU=Nowhere,DC=ad,DC=test"}, "base"),
    ({"user_filter": "(&(objectClass=computer)(cn={name}))"}, "user"),
])
def test_walk_ends(place: Place, change: dict[str, Any], step: str) -> None:
    """Each step can fail, says what to do, and what follows is not tried."""
    change = {key: place.lab.ca_file.read_text() if value == "LAB" else value for key, value in change.items()}
    place.add("bad", **change)
    try:
        report = place.admin.expect(200, "POST", "/v2/ldap/bad/test", json={"username": "alice"})
        failed = [f for f in report["findings"] if f["status"] == "failed"]
        assert report["status"] == "failed" and failed and {f["step"] for f in failed} == {step}, report
        assert all(f["remedy"] for f in failed)
        if step in ("name", "bind"):
            assert "kaasctl ldap set bad " in failed[0]["remedy"]
        after = report["findings"][report["findings"].index(failed[0]) + 1]
        assert after["status"] == "skipped" and failed[0]["title"] in after["finding"]
        if step not in ("base", "user"):  # and nobody signs in by it; whose fault it is, is told
            answer = place.try_login("alice", place.ad.passwords["alice"], "bad")
            assert answer.status_code in (502, 504), answer.text
            assert answer.json()["detail"] == "the directory bad cannot be asked at the moment"  # no address, no reason
            assert place.state("bad") == "failing" and place.health("bad")["remedy"]
    finally:
        place.admin.expect(204, "DELETE", "/v2/ldap/bad")


def test_a_host_name_is_told_with_its_address(place: Place) -> None:
    place.add("bad", urls=["ldaps://localhost:1"])
    try:
        report = place.admin.expect(200, "POST", "/v2/ldap/bad/test", json={"username": "alice"})
        assert re.match(r"localhost is (127\.0\.0\.1|::1)", report["findings"][0]["finding"])
    finally:
        place.admin.expect(204, "DELETE", "/v2/ldap/bad")


# What domain controllers say with code 49 although the password is right: as recorded of one, and as in logs of users.
SAID = {
    "data 80090346": ("80090346: LdapErr: DSID-0C090569, comment: AcceptSecurityContext error, data 80090346, v4563", "channel bindings"),
    "data 57": ("80090308: LdapErr: DSID-0C0903C8, comment: AcceptSecurityContext error, data 57, v2580", "a parameter of the request"),
}


def tlv(tag: int, value: bytes) -> bytes:
    """In BER, with the length in its long form."""
    return bytes([tag, 0x82]) + len(value).to_bytes(2, "big") + value


@contextmanager
def controller_that_says(folder: Path, diagnostic: str) -> Iterator[dict[str, Any]]:
    """What to configure of a server of LDAP that answers each bind with code 49 and this text (RFC 4511, 4.2.2), and nothing else."""
    cert = make_server_cert(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert.cert_file, cert.key_file)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError), context.wrap_socket(self.request, server_side=True) as tls:
                while asked := tls.recv(4096):
                    number = asked[asked.index(b"\x02\x01") + 2]  # messageID of a short message
                    bound = tlv(0x61, b"\x0a\x01\x31" + tlv(0x04, b"") + tlv(0x04, diagnostic.encode()))
                    tls.sendall(tlv(0x30, bytes([0x02, 0x01, number]) + bound))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield {"urls": [f"ldaps://127.0.0.1:{server.server_address[1]}"], "ca_file": str(cert.ca_file)}
        server.shutdown()


@pytest.mark.parametrize("said", SAID)
def test_a_way_that_is_refused_is_no_wrong_password(place: Place, said: str) -> None:
    """It meets everybody: an administrator is told what to change, and nobody that the password is wrong."""
    text, reason = SAID[said]
    with controller_that_says(place.kaasd.folder / said.replace(" ", "-"), text) as server:
        place.add("bad", **server)
        try:
            report = place.admin.expect(200, "POST", "/v2/ldap/bad/test", json={"username": "alice"})
            (failed,) = (f for f in report["findings"] if f["status"] == "failed")
            assert failed["step"] == "bind" and reason in failed["finding"] and text in failed["finding"], failed
            assert "ldap:// address" in failed["remedy"]
            answer = place.try_login("alice", place.ad.passwords["alice"], "bad")
            assert answer.status_code == 502, answer.text
            assert answer.json()["detail"] == "the directory bad cannot be asked at the moment"
            assert "ldap:// address" in place.health("bad")["remedy"]
        finally:
            place.admin.expect(204, "DELETE", "/v2/ldap/bad")


def test_command_line(place: Place) -> None:
    ctl = place.kaasd.ctl
    ctl.ok("ldap", "set", "cli", "--kind", "ad", "--url", place.ad.ldaps_url, "--url", place.ad.second_ldap_url,
           "--ca", str(place.ad.ca_file),
           "--search-base", place.ad.base_dn,
           "--bind-dn", "svc-reader@AD.TEST", "--bind-password-file", "-", stdin=place.ad.passwords["svc-reader"] + "\n")
    assert "cli" in ctl.ok("ldap", "list")
    shown = ctl.ok("ldap", "show", "cli")
    assert place.ad.base_dn in shown and "1 certificate\n" in shown
    told = ctl.ok("ldap", "test", "cli", "alice")
    assert "Groups" in told and "FAILED" not in told and told.startswith(place.ad.ldaps_url)
    assert f"\n\n{place.ad.second_ldap_url}\n" in told  # a paragraph for each server
    assert ctl.json("ldap", "set", "cli", "--disable", "--realm", "AD.TEST")["realms"] == ["AD.TEST"]
    ctl.ok("ldap", "set", "cli", "--search-base", "OU=Nowhere,DC=ad,DC=test")
    failed = ctl.run("ldap", "test", "cli")
    assert failed.returncode and "-> " in failed.stdout
    ctl.ok("--yes", "ldap", "remove", "cli")
    assert ctl.run("ldap", "show", "cli").returncode


def test_a_key_is_no_certificate(place: Place) -> None:
    """What is given by mistake stays on the machine where it was given, and off the terminal."""
    key = place.kaasd.folder / "ca-and-key.pem"
    key.write_text(place.ad.ca_file.read_text() + "-----BEGIN PRIVATE KEY-----\ngeheim\n-----END PRIVATE KEY-----\n")
    refused = place.kaasd.ctl.run("ldap", "set", "cli", "--ca", str(key))
    assert refused.returncode == 1 and "holds a private key" in refused.stderr and "geheim" not in refused.stderr
    problem = place.admin.call("POST", "/v2/ldap", headers=HEADER, json={**place.source("pw"), "name": "key", "ca_file": None,
                                                                          "ca_pem": key.read_text()})
    assert problem.status_code == 422 and "private key" in problem.json()["detail"] and "geheim" not in problem.text


# -- outages --


def test_names_while_another_domain_is_away(place: Place) -> None:
    """Which domain a SID is of is not known: each is asked, and an id of no directory stops no other question."""
    for name in ("away", "gone"):
        place.add(name, urls=[f"ldaps://127.0.0.1:{free_port()}"])
    made, both = [], ["many-101", "many-102"]
    try:
        for subject in (f"ldap:gone:{uuid.uuid4()}", "sid:S-1-5-21-1-2-3-4", *(f"sid:{place.ad.sid(name)}" for name in both)):
            made.append(place.admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": subject, "role": "user"})["id"])
        place.admin.expect(204, "DELETE", "/v2/ldap/gone")

        def names() -> list[object]:
            return [place.admin.get(f"/v2/role-mappings/{mapping}")["subject_name"] for mapping in made]

        until(lambda: names() == [None, None, *both], "the names of the groups")
    finally:
        for mapping in made:
            place.admin.expect(204, "DELETE", f"/v2/role-mappings/{mapping}")
        place.admin.expect(204, "DELETE", "/v2/ldap/away")


def test_the_log_tells_when_a_directory_fails_and_when_it_is_back(place: Place) -> None:
    process = place.kaasd.process
    assert process
    place.add("moved", urls=[f"ldaps://127.0.0.1:{free_port()}"])
    until(lambda: "check=directory:moved status=warning was=ok" in process.log, "the line that it fails")
    line = next(line for line in process.log.splitlines() if "check=directory:moved" in line)
    assert "level=warning event=health_changed" in line and "kaasctl ldap test moved" in line
    place.change("moved", urls=[place.ad.ldaps_url], bind_password=place.ad.passwords["svc-reader"])
    until(lambda: "check=directory:moved status=ok was=warning" in process.log, "the line that it is well")
    place.admin.expect(204, "DELETE", "/v2/ldap/moved")


def test_next_server(place: Place) -> None:
    """One door after the other is shut, or takes connections and says nothing; the others take over."""
    with place.ad.closed("ldaps"):
        assert place.signs_in("bob", "pw")
    with place.ad.closed("ldaps2", state="silent"):
        assert place.signs_in("bob", "pw")
    with place.ad.closed("ldap", state="silent"):
        assert place.signs_in("alice", "corp")
    until(lambda: place.state("pw") == "ok", "the directory as it should be")


def test_a_directory_that_is_away_is_no_wrong_password(place: Place) -> None:
    """Whoever asks is told to come again, and nothing of the servers; it is no guess either, however often."""
    with place.ad.closed("ldap", "ldaps", "ldap2", "ldaps2"):
        for _ in range(10):
            answer = place.try_login("bob", place.ad.passwords["bob"], "pw")
            problem = answer.json()
            assert (answer.status_code, problem["code"]) == (502, "upstream_unreachable"), answer.text
            assert "try again in a moment" in problem["remedy"] and "pw cannot be asked" in problem["detail"]
            assert "127.0.0.1" not in answer.text and place.ad.second_ldaps_url not in answer.text
    until(lambda: place.signs_in("bob", "pw"), "the directory found again")


def test_one_failure_is_no_outage(place: Place) -> None:
    """Nobody is refused for a rest that a server is given because it failed once, when there is no other to ask."""
    place.add("once", urls=[f"ldaps://127.0.0.1:{free_port()}", place.ad.second_ldaps_url])

    def ask() -> int:
        """Somebody who does not exist, and is refused by an answer of the server."""
        return place.try_login(f"nobody-{uuid.uuid4()}", "wrong", "once").status_code

    def asked_after_a_failure() -> bool:
        until(lambda: place.state("once") == "ok", "the directory found by its second server")
        with place.ad.closed("ldaps2"):
            assert ask() == 502
        return ask() == 401

    # a look of its own may have met the shut door as well: two failures, and a rest
    is_asked = any(asked_after_a_failure() for _ in range(3))
    place.admin.expect(204, "DELETE", "/v2/ldap/once")
    assert is_asked


def test_one_look_at_a_time(place: Place) -> None:
    """A server that takes connections and says nothing is not looked at again while somebody waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        place.add("deaf", urls=[f"ldaps://127.0.0.1:{deaf.getsockname()[1]}"])
        until(lambda: place.state("deaf") == "failing", "the directory as failing")
        deaf.setblocking(False)
        looks = 0
        with suppress(BlockingIOError):
            while True:
                deaf.accept()[0].close()
                looks += 1
        assert 1 <= looks <= 2
    place.admin.expect(204, "DELETE", "/v2/ldap/deaf")


def test_frozen_controller(place: Place) -> None:
    """Nobody else waits for it: other directories, local users; those who need it get an answer. It is found again by itself."""
    place.login("bob", "pw")
    place.ad.freeze()
    try:
        answer = place.try_login("bob", place.ad.passwords["bob"], "pw")
        assert answer.status_code in (502, 504), answer.text
        until(lambda: place.state("pw") == "failing", "the directory as failing")
        assert place.health("pw")["status"] == "warning"

        def refused_at_once() -> bool:
            """While all servers rest; as they fail again and again, that is most of the time."""
            answer = place.try_login("bob", place.ad.passwords["bob"], "pw")
            return answer.status_code == 502 and int(answer.headers.get("Retry-After", 0)) > 0

        until(refused_at_once, "a refusal without asking")
        place.login("alice", "lab")
        place.kaasd.admin().get("/v2/whoami")
    finally:
        place.ad.thaw()
    until(lambda: place.try_login("bob", place.ad.passwords["bob"], "pw").status_code == 200, "the controller found again")
    until(lambda: place.state("pw") == "ok", "the directory as it should be")


# -- what changes there --


def ended(api: Api) -> bool:
    answer = api.call("GET", "/v2/whoami")
    return answer.status_code == 401 and answer.json()["code"] == "session_ended"


def test_account_changes(place: Place) -> None:
    """Who is disabled or deleted, or whose password is changed, is signed out within the time of the check, without doing anything."""
    ad = place.ad
    for name in ("gone", "shut", "other", "stays"):
        ad.create(name, f"Passw0rd-{name}", ["kaas-viewers"])
    sessions = {}
    for name in ("gone", "shut", "other", "stays"):
        answer = place.try_login(name, f"Passw0rd-{name}", "pw")
        assert answer.status_code == 200, answer.text
        sessions[name] = place.kaasd.api(answer.json()["access_token"])
    ad.delete("gone")
    ad.disable("shut")
    ad.set_password("other", "An0ther-Password")
    for name in ("gone", "shut", "other"):
        until(lambda api=sessions[name]: ended(api), f"the end of the session of {name}")  # type: ignore[misc]
    assert sessions["stays"].expect(200, "POST", "/v2/token/refresh")

    def reasons() -> dict[str, str]:
        """A session ends first, and then it is written down."""
        told = {e["principal_name"].split("@")[0]: e["reason"] for e in place.admin.items("/v2/audit", action="session.end")}
        return told if told.keys() >= {"gone", "shut", "other"} else {}

    why = until(reasons, "the lines about the ends")
    assert "does not know the account" in why["gone"] and "disabled" in why["shut"] and "password was changed" in why["other"]


def test_groups_change(place: Place) -> None:
    """A group that is taken away takes its role with it while the session goes on."""
    place.ad.create("climber", "Passw0rd-climber", ["kaas-admins"])
    answer = place.try_login("climber", "Passw0rd-climber", "pw")
    api = place.kaasd.api(answer.json()["access_token"])
    assert api.get("/v2/whoami")["role"] == "admin"
    place.ad.remove_member("kaas-admins", "climber")
    until(lambda: api.get("/v2/whoami")["role"] == "user", "the role of those who are left")


def has_threads(kaasd: Kaasd, name: str) -> bool:
    """Does any thread work for the directory? Their names hold 15 bytes (pthread_setname_np(3))."""
    assert kaasd.process
    for path in Path(f"/proc/{kaasd.process.pid}/task").glob("*/comm"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if path.read_text().strip() == f"ldap:{name}"[:15]:
                return True
    return False


def test_directory_removed(place: Place) -> None:
    """Sessions and threads end with it, and there are new ones when it comes back."""
    place.add("passing")
    api = place.login("bob", "passing")
    assert has_threads(place.kaasd, "passing")
    place.change("passing", disabled=True)
    until(lambda: ended(api), "the end of the session")
    until(lambda: not has_threads(place.kaasd, "passing"), "the end of the threads of a directory that is disabled")
    place.change("passing", disabled=False)
    place.login("bob", "passing")
    assert has_threads(place.kaasd, "passing")
    place.admin.expect(204, "DELETE", "/v2/ldap/passing")
    until(lambda: not has_threads(place.kaasd, "passing"), "the end of the threads of a directory that was removed")


def test_names_beside_ids(place: Place) -> None:
    """They are found out in the background."""
    api = place.login("alice", "pw")

    def names() -> set[str]:
        return {str(group["name"]) for group in api.get("/v2/whoami")["groups"]}

    until(lambda: names() == DEEP | {"Domain Users"}, "the names of the groups")
