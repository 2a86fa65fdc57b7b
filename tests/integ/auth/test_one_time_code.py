"""One-time codes: a program hands a person over to the panel, and a page to a window of its own, without a token on the way."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import requests
from env.api import Api
from env.certs import ServerCert, make_server_cert
from env.client_certs import ClientCa
from env.clock import Clock, clocked_world
from env.full import World, register
from env.hx_controller import HxController, claims_of
from env.kaasd import Kaasd
from env.many import Many
from env.places import free_port
from env.replicas import second_of
from env.samples import visible_to
from env.wait import until
from hx import HxConnect

pytestmark = pytest.mark.slow
PASSWORD = "S3cret of HX"
VIEWER = "VSPHERE.LOCAL\\viewer-east"
EAST, WEST = "domain-c7", "domain-c70"
OPTIONS: dict[str, Any] = {"hx": {"read_interval": "0s"}}


@dataclass
class Place:
    world: World
    clock: Clock
    other: Kaasd
    ca: ClientCa
    port: int
    hx: dict[str, str]  # ids of HX clusters by managed object id of the vSphere cluster
    origin: str  # of the page of HX-East
    account: dict[str, Any]
    controller: HxController

    @property
    def admin(self) -> Api:
        return self.world.admin

    def ask(self, **more: Any) -> requests.Response:
        """HX-East asks for a code for the viewer; `more` changes the request, None takes a member out."""
        body: dict[str, Any] = {"on_behalf_of": {"vcenter": self.world.vcenter.instance_uuid, "user_name": VIEWER}, "hand_over": "code",
                                "hx_cluster": self.hx[EAST], **more}
        return self.controller.ask("/v2/login/service", {name: value for name, value in body.items() if value is not None})

    def code(self) -> str:
        answer = self.ask()
        assert answer.status_code == 200, answer.text
        assert answer.json().keys() == {"code", "expires_in", "origin"} and answer.headers["Cache-Control"] == "no-store"
        assert (answer.json()["expires_in"], answer.json()["origin"]) == (60, self.origin)
        return str(answer.json()["code"])

    def bring(self, code: str, origin: str | None = None, at: Kaasd | None = None) -> requests.Response:
        return (at or self.world.kaasd).api().post_login("code", {"code": code, **({"origin": origin} if origin else {})})

    def last_line(self) -> dict[str, Any]:
        return next(self.admin.items("/v2/audit", action="login.code"))


def connect(place: World, hx_id: str, hx: HxConnect, cert: ServerCert) -> None:
    hx.accounts["admin"] = PASSWORD
    place.admin.expect(201, "PUT", f"/v2/hx-clusters/{hx_id}/connection", json={
        "address": "127.0.0.1", "port": hx.port, "user_name": "admin", "password": PASSWORD, "thumbprint_sha256": cert.sha256})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    ca = ClientCa(tmp_path_factory.mktemp("client-ca"))
    cert = make_server_cert(tmp_path_factory.mktemp("hx"))
    port = free_port()
    service = {"service_listen": f"127.0.0.1:{port}", "client_ca_file": str(ca.ca_file), "client_crl_file": str(ca.crl_file)}
    with clocked_world("oc", options={**OPTIONS, "server": service}) as (world, clock), \
            HxConnect(cert.cert_file, cert.key_file, "East", "1:2", "DC0", "HX-East") as hx:
        world.join()
        ids = {row["vsphere_cluster"]["moref"]: row["id"] for row in world.admin.items("/v2/hx-clusters")}
        connect(world, ids[EAST], hx, cert)
        shown = ca.issue("hx-east")
        account = world.admin.expect(201, "POST", "/v2/services", json={
            "name": "hx-east", "hx_clusters": [ids[EAST], ids[WEST]], "may_delegate": True, "certificates": [shown.pem]})
        other = second_of(world.kaasd, world.scratch, world.db.socket, OPTIONS)
        other.env = clock.env
        other.start()
        controller = HxController(f"https://127.0.0.1:{port}", world.kaasd.tls.ca_file, shown, ids[EAST], account["id"])
        yield Place(world, clock, other, ca, port, ids, f"https://127.0.0.1:{hx.port}", account, controller)
        other.stop()


def refused(answer: requests.Response, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    return answer.json()  # type: ignore[no-any-return]


def known_as(place: Place, name: str | None) -> None:
    """Another name by which people open HX-East."""
    place.admin.expect(200, "PATCH", f"/v2/hx-clusters/{place.hx[EAST]}", json={"management_address": name},
                       headers={"Content-Type": "application/merge-patch+json", "If-Match": "*"})


# -- for the page of an HX cluster ------------------------------------------------------------------------------------------------


def test_a_code_gives_the_person_whom_the_program_named(place: Place) -> None:
    answer = place.bring(place.code(), place.origin)
    assert answer.status_code == 200, answer.text
    token = answer.json()["access_token"]
    assert claims_of(token)["act"] == {"sub": place.account["principal_id"]}
    person = place.world.kaasd.api().as_token(token)
    assert person.get("/v2/whoami")["name"] == VIEWER
    assert sorted(person.names()) == sorted(visible_to("viewer-east"))
    line = place.last_line()
    assert (line["result"], line["principal_name"], line["acting_id"]) == ("ok", VIEWER, place.account["principal_id"])
    assert person.expect(200, "POST", "/v2/token/refresh")["access_token"] != token


def test_a_code_is_good_once_on_all_replicas(place: Place) -> None:
    code = place.code()
    assert place.bring(code, place.origin, place.other).status_code == 200
    for at in (place.world.kaasd, place.other):
        refused(place.bring(code, place.origin, at), 401, "invalid_credentials")
    assert place.last_line()["reason"] == "no such code"


def test_of_many_who_bring_it_at_once_one_is_let_in(place: Place) -> None:
    code = place.code()
    with ThreadPoolExecutor(8) as crowd:
        answers = list(crowd.map(lambda i: place.bring(code, place.origin, (place.world.kaasd, place.other)[i % 2]), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + 7 * [401]


def test_a_code_ends_after_a_minute(place: Place) -> None:
    code = place.code()
    place.clock.advance(61)
    refused(place.bring(code, place.origin), 401, "invalid_credentials")
    assert place.last_line()["reason"] in ("too late", "no such code")  # the second where the purge was quicker


def test_a_code_for_the_page_at_the_name_that_people_use(place: Place) -> None:
    named = place.origin.replace("127.0.0.1", "hx-east.example.test")
    assert named in refused(place.ask(origin=named), 409, "conflict")["detail"]
    known_as(place, "hx-east.example.test")
    assert place.ask().json()["origin"] == place.ask(origin=place.origin).json()["origin"] == place.origin
    given = place.ask(origin=named).json()
    assert given["origin"] == named
    assert place.bring(given["code"], named).status_code == 200
    refused(place.bring(place.ask(origin=named).json()["code"], place.origin), 401, "invalid_credentials")
    refused(place.ask(origin=named, hand_over=None, hx_cluster=None), 422, "unprocessable")
    refused(place.ask(origin="https://hx-east.example.test.evil"), 409, "conflict")
    known_as(place, None)
    refused(place.ask(origin=named), 409, "conflict")


@pytest.mark.parametrize("origin", [None, "https://elsewhere.test", "https://127.0.0.1"])
def test_a_code_from_another_page_is_used_up(place: Place, origin: str | None) -> None:
    code = place.code()
    refused(place.bring(code, origin), 401, "invalid_credentials")
    assert place.last_line()["reason"] == "handed over by another page"
    refused(place.bring(code, place.origin), 401, "invalid_credentials")


def test_the_database_does_not_know_the_code(place: Place) -> None:
    code = place.code()
    rows = place.world.db.query("SELECT HEX(digest), origin FROM login_codes", database="kaas")
    assert (place.origin in [row[1] for row in rows]) and not [row for row in rows if code in str(row).lower()]
    assert code not in place.world.kaasd.process.log  # type: ignore[union-attr]


def test_a_code_whose_session_has_ended_is_refused(place: Place) -> None:
    code = place.code()
    place.world.db.query("UPDATE sessions SET revoked_at_ms = created_at_ms WHERE acting_id IS NOT NULL", database="kaas")
    refused(place.bring(code, place.origin), 401, "invalid_credentials")
    assert place.last_line()["reason"] == "its session has ended"


# -- what is refused ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{"hand_over": None}, {"hx_cluster": None}, {"on_behalf_of": None}, {"hand_over": "token"}])
def test_members_that_do_not_fit_together(place: Place, more: dict[str, Any]) -> None:
    refused(place.ask(**more), 422, "unprocessable")


def test_only_for_the_accounts_own_hx_clusters_with_a_confirmed_address(place: Place) -> None:
    assert place.ask(hx_cluster="DC0/HX-East").status_code == 200
    refused(place.ask(hx_cluster=place.hx["domain-c26"]), 404, "not_found")
    refused(place.ask(hx_cluster="nowhere"), 404, "not_found")
    problem = refused(place.ask(hx_cluster=place.hx[WEST]), 409, "conflict")
    assert "not confirmed" in problem["detail"] and "kaasctl hx connect" in problem["remedy"]


@pytest.mark.parametrize("code", ["", "abc", "0" * 31, "0" * 33, "g" * 32, "A" * 32])
def test_what_cannot_be_a_code(place: Place, code: str) -> None:
    refused(place.bring(code), 422, "unprocessable")


def test_a_guess_is_refused_as_a_used_code_is(place: Place) -> None:
    used = place.code()
    place.bring(used, place.origin)
    answers = [refused(place.bring(code, place.origin), 401, "invalid_credentials") for code in (used, "0" * 32)]
    assert answers[0]["detail"] == answers[1]["detail"]


# -- for a window of our own ------------------------------------------------------------------------------------------------------------


def own_code(api: Api) -> str:
    answer = api.expect(200, "POST", "/v2/session/code", headers={"X-KaaS": "1"})
    assert answer["origin"] is None
    return str(answer["code"])


def test_a_further_window_has_a_session_of_its_own(place: Place) -> None:
    session = place.world.vcenter.control.login("viewer-east@vsphere.local")
    first = place.world.kaasd.api().login_session(place.world.vcenter.instance_uuid, session["cookie"])
    code = own_code(first)
    refused(place.bring(code, place.origin), 401, "invalid_credentials")
    answer = place.bring(own_code(first))
    assert answer.status_code == 200, answer.text
    second = place.world.kaasd.api().as_token(answer.json()["access_token"])
    whoami = [api.get("/v2/whoami") for api in (first, second)]
    assert whoami[0]["id"] == whoami[1]["id"] and whoami[0]["session_expires_at"][:16] == whoami[1]["session_expires_at"][:16]
    assert second.names() == first.names()
    first.expect(204, "POST", "/v2/logout")
    first.refused(401, "session_ended", "GET", "/v2/whoami")
    assert second.get("/v2/whoami")["name"] == VIEWER


def test_without_the_header_of_our_own_clients_there_is_no_code(place: Place) -> None:
    place.admin.refused(400, "invalid_request", "POST", "/v2/session/code")


def test_the_vcenters_of_a_session_come_along() -> None:
    with Many(2) as many:
        first = many.sign_in(many.vcenters[0])
        west = many.vcenters[1]
        first.expect(201, "POST", "/v2/session/vcenters", headers={"X-KaaS": "1"}, json={
            "vcenter": west.instance_uuid, "session_id": west.control.login("viewer-east@vsphere.local")["cookie"]})
        answer = many.kaasd.api().post_login("code", {"code": own_code(first)})
        second = many.kaasd.api().as_token(answer.json()["access_token"])
        assert [v["id"] for v in second.get("/v2/whoami")["vcenters"]] == [v.instance_uuid for v in many.vcenters]
        assert second.names() == ["vc0-east", "vc1-east"]


# -- the refresh cookie --------------------------------------------------------------------------------------------------------------------

COOKIE = re.compile(r"__Host-kaas=([0-9a-f]{32}); Path=/; Secure; HttpOnly; SameSite=Strict")
GONE = "__Host-kaas=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0"
X_KAAS = {"X-KaaS": "1"}


def cookie_of(answer: requests.Response) -> str:
    found = COOKIE.fullmatch(answer.headers["Set-Cookie"])
    assert found, answer.headers["Set-Cookie"]
    return found[1]


def keep(api: Api) -> str:
    answer = api.call("POST", "/v2/session/cookie", headers=X_KAAS)
    assert (answer.status_code, answer.content) == (204, b"")
    return cookie_of(answer)


def load(place: Place, cookie: str, at: Kaasd | None = None, **headers: str) -> requests.Response:
    """As a page that is loaded does; among cookies that are not ours."""
    nobody = (at or place.world.kaasd).api()
    return nobody.call("POST", "/v2/token/refresh", headers={**X_KAAS, "Cookie": f"a=b; __Host-kaas={cookie}; c=d", **headers})


def is_nothing(answer: requests.Response) -> bool:
    """No session, and no cookie any more."""
    return answer.status_code == 204 and answer.headers["Set-Cookie"] == GONE


@pytest.fixture
def viewer(place: Place) -> Api:
    session = place.world.vcenter.control.login("viewer-east@vsphere.local")
    return place.world.kaasd.api().login_session(place.world.vcenter.instance_uuid, session["cookie"])


def test_a_page_that_is_loaded_again_goes_on(place: Place, viewer: Api) -> None:
    sid = claims_of(str(viewer.token))["sid"]
    answer = load(place, keep(viewer), place.other, **{"KaaS-Replaces": sid})
    assert answer.status_code == 200, answer.text
    again = place.world.kaasd.api().as_token(answer.json()["access_token"])
    assert again.get("/v2/whoami")["name"] == VIEWER and again.names() == sorted(visible_to("viewer-east"))
    until(lambda: viewer.call("GET", "/v2/whoami").status_code == 401, "the end of the session before")
    assert load(place, cookie_of(answer)).status_code == 200


def test_signing_out_by_the_cookie_alone(place: Place, viewer: Api) -> None:
    """At a replica that does not know the session yet; what is over, or is no cookie of ours, is signed out."""
    session = place.world.vcenter.control.login("viewer-east@vsphere.local")
    gone = place.other.api().login_session(place.world.vcenter.instance_uuid, session["cookie"])
    gone.expect(204, "POST", "/v2/logout")
    cookie = keep(viewer)
    gone.refused(401, "session_ended", "POST", "/v2/logout", headers={**X_KAAS, "Cookie": f"__Host-kaas={cookie}"})
    for sent in (cookie, cookie, "0" * 32, ""):
        assert is_nothing(place.other.api().call("POST", "/v2/logout", headers={**X_KAAS, "Cookie": f"__Host-kaas={sent}"}))
    until(lambda: viewer.call("GET", "/v2/whoami").status_code == 401, "the end of the session")
    assert is_nothing(load(place, cookie))
    line = next(place.admin.items("/v2/audit", action="logout"))
    assert (line["result"], line["principal_name"]) == ("ok", VIEWER)


def test_a_cookie_that_is_over_signs_nobody_in(place: Place, viewer: Api) -> None:
    """Also before its row is removed: the purge waits for an older row."""
    cookie = keep(viewer)
    (digest,) = place.world.db.query("SELECT HEX(digest) FROM login_codes WHERE sid = %s", claims_of(str(viewer.token))["sid"],
                                     database="kaas")[0]
    older = "INSERT INTO login_codes (digest, sid, origin, ends_at_ms) VALUES (REPEAT('x', 32), '', '', 1)"
    with place.world.db.connection() as holder, holder.cursor() as held:
        held.execute("USE kaas")
        held.execute(older)
        held.execute("BEGIN")
        held.execute("UPDATE login_codes SET sid = 'held' WHERE digest = REPEAT('x', 32)")
        place.world.db.query("UPDATE login_codes SET ends_at_ms = 2 WHERE digest = UNHEX(%s)", digest, database="kaas")
        assert is_nothing(load(place, cookie))
        there = place.world.db.query("SELECT COUNT(*) FROM login_codes WHERE digest = UNHEX(%s)", digest, database="kaas")
        held.execute("ROLLBACK")
    assert there == [(1,)]


def test_several_tabs_at_once_are_let_in_and_later_the_cookie_is_a_used_one(place: Place, viewer: Api) -> None:
    cookie = keep(viewer)
    tabs = [load(place, cookie, at) for at in (place.world.kaasd, place.other, place.world.kaasd)]
    assert [tab.status_code for tab in tabs] == [200] * 3
    assert len({claims_of(tab.json()["access_token"])["sid"] for tab in tabs}) == 3 == len({cookie_of(tab) for tab in tabs})
    place.clock.advance(31)
    assert is_nothing(load(place, cookie))
    assert load(place, cookie_of(tabs[0])).status_code == 200


def test_signing_out_ends_the_cookie(place: Place, viewer: Api) -> None:
    cookie = keep(viewer)
    answer = viewer.call("POST", "/v2/logout", headers={"Cookie": f"__Host-kaas={cookie}"})
    assert is_nothing(answer)
    assert is_nothing(load(place, cookie))


def test_a_cookie_ends_with_its_session(place: Place, viewer: Api) -> None:
    cookie = keep(viewer)
    viewer.expect(204, "POST", "/v2/logout")  # by a client that sends no cookie
    assert is_nothing(load(place, cookie))


def rows(place: Place, api: Api) -> int:
    """Codes and cookies that the database knows for the session of this token."""
    sid = claims_of(str(api.token))["sid"]
    return int(place.world.db.query(f"SELECT COUNT(*) FROM login_codes WHERE sid = '{sid}'", database="kaas")[0][0])


def test_a_session_has_one_cookie_however_often_one_is_asked_for(place: Place, viewer: Api) -> None:
    """Nobody fills the database by asking again and again; the one before is good for nothing from then on."""
    first, *more = (keep(viewer) for _ in range(20))
    assert rows(place, viewer) == 1
    assert is_nothing(load(place, first)) and is_nothing(load(place, more[-2]))
    assert load(place, more[-1]).status_code == 200


def test_with_a_session_its_cookies_go(place: Place, viewer: Api) -> None:
    """However it ends: signed out, ended by an administrator, or with the account that is disabled."""
    keep(viewer)
    viewer.expect(204, "POST", "/v2/logout")
    assert rows(place, viewer) == 0
    session = place.world.vcenter.control.login("viewer-east@vsphere.local")
    again = place.world.kaasd.api().login_session(place.world.vcenter.instance_uuid, session["cookie"])
    keep(again)
    handle = hashlib.sha256(claims_of(str(again.token))["sid"].encode()).hexdigest()[:16]
    place.admin.expect(204, "DELETE", f"/v2/sessions/{handle}")
    assert rows(place, again) == 0
    local = "nine swans in a boat"
    made = place.admin.expect(201, "POST", "/v2/users", headers=X_KAAS, json={"name": "gone", "role": "user", "password": local})
    gone = place.world.kaasd.api().login_password("gone", local, "local")
    gone.expect(204, "POST", "/v2/password", headers=X_KAAS, json={"old_password": local, "new_password": local + "s"})
    keep(gone)
    assert rows(place, gone) == 1
    merge = {"Content-Type": "application/merge-patch+json"}
    place.admin.expect(200, "PATCH", f"/v2/users/{made['id']}", json={"disabled": True}, headers=merge)
    assert rows(place, gone) == 0


def test_a_cookie_whose_time_is_over_is_nothing(place: Place, viewer: Api) -> None:
    """Also while its row is still there."""
    cookie = keep(viewer)
    sid = claims_of(str(viewer.token))["sid"]
    place.world.db.query(f"UPDATE login_codes SET ends_at_ms = 1 WHERE sid = '{sid}'", database="kaas")
    assert is_nothing(load(place, cookie))
    assert viewer.call("GET", "/v2/whoami").status_code == 200


def test_a_cookie_opens_nothing_else(place: Place, viewer: Api) -> None:
    cookie = keep(viewer)
    nobody = place.world.kaasd.api()
    for method, path in (("GET", "/v2/whoami"), ("GET", "/v2/clusters"), ("POST", "/v2/session/code")):
        nobody.refused(401, "unauthenticated", method, path, headers={**X_KAAS, "Cookie": f"__Host-kaas={cookie}"})
    refused(place.bring(cookie), 401, "invalid_credentials")
    assert is_nothing(load(place, own_code(viewer)))


def test_a_foreign_page_cannot_use_it(place: Place, viewer: Api) -> None:
    """It cannot send the header; and by SameSite=Strict the browser does not send the cookie for it."""
    cookie = keep(viewer)
    for path in ("/v2/token/refresh", "/v2/logout"):
        place.world.kaasd.api().refused(401, "unauthenticated", "POST", path, headers={"Cookie": f"__Host-kaas={cookie}"})
    assert load(place, cookie).status_code == 200


def test_who_has_lost_a_role_since_does_not_get_it_back(place: Place) -> None:
    """By the cookie, or in a further window: what counts is what the account says now."""
    first, second = "seven swans in a boat", "eight swans in a boat"
    made = place.admin.expect(201, "POST", "/v2/users", headers=X_KAAS, json={"name": "demoted", "role": "admin", "password": first})
    api = place.world.kaasd.api().login_password("demoted", first, "local")
    api.expect(204, "POST", "/v2/password", headers=X_KAAS, json={"old_password": first, "new_password": second})
    cookie = keep(api)
    merge = {"Content-Type": "application/merge-patch+json"}
    place.admin.expect(200, "PATCH", f"/v2/users/{made['id']}", json={"role": "user"}, headers=merge)
    for answer in (load(place, cookie), place.bring(own_code(api))):
        assert place.world.kaasd.api().as_token(answer.json()["access_token"]).get("/v2/whoami")["role"] == "user"
    place.admin.expect(200, "PATCH", f"/v2/users/{made['id']}", json={"disabled": True}, headers=merge)
    assert is_nothing(load(place, cookie))


def test_nobody_else_is_replaced(place: Place, viewer: Api) -> None:
    """Nor does the page of one person become another's, by the one cookie of their browser; that goes on for whose it is."""
    victim, cookie = claims_of(str(place.admin.token))["sid"], keep(viewer)
    answer = load(place, cookie, **{"KaaS-Replaces": victim})
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (204, False)
    place.clock.advance(31)
    assert load(place, cookie, **{"KaaS-Replaces": str(uuid4())}).status_code == 200
    assert place.admin.call("GET", "/v2/whoami").status_code == 200
    refused(load(place, keep(viewer), **{"KaaS-Replaces": "x"}), 400, "invalid_request")
    for wrong in ({"KaaS-Replaces": "x"}, {"X-KaaS": "yes"}):  # with a token they count for nothing, and yet
        viewer.refused(400, "invalid_request", "POST", "/v2/token/refresh", headers=wrong)


@pytest.mark.parametrize("cookie", ["", "x", "0" * 31, "0" * 33, "A" * 32])
def test_what_is_no_cookie_of_ours_is_as_none(place: Place, cookie: str) -> None:
    assert is_nothing(load(place, cookie))


# -- who may show the panel ----------------------------------------------------------------------------------------------------------


def hosts_of(api: Api, query: str = "") -> set[str]:
    """Who may show the panel, as the browser is told; the page is told the same."""
    answer = api.call("GET", f"/ui/panel{query}")
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status_code == 200 and policy.startswith("default-src 'none'; script-src 'self'")
    hosts = policy.split("frame-ancestors ")[1]
    assert f'<meta name="kaas-hosts" content="{hosts}" />' in answer.text or hosts == "'none'"
    return set(hosts.split())


def test_the_panel_is_for_confirmed_hx_clusters_and_registered_vcenters(place: Place) -> None:
    vcenter = place.world.vcenter
    here = f"https://{vcenter.address.rsplit(':', 1)[0]}:{vcenter.port}"
    anybody = place.world.kaasd.api()
    assert hosts_of(anybody) == hosts_of(anybody, "?hx_cluster=DC0/HX-East") == {here, place.origin}
    assert hosts_of(anybody, "?hx_cluster=nowhere") == {here}
    etag = anybody.call("GET", "/ui/panel").headers["ETag"]
    assert anybody.call("GET", "/ui/panel", headers={"If-None-Match": etag}).status_code == 304
    assert anybody.call("GET", "/ui/").headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    known_as(place, "hx-east.example.test")
    named = place.origin.replace("127.0.0.1", "hx-east.example.test")
    assert hosts_of(anybody) == hosts_of(anybody, "?hx_cluster=HX-EAST.example.test") == {here, place.origin, named}
    assert place.admin.get(f"/v2/hx-clusters/{place.hx[EAST]}")["panel_origins"] == [place.origin, named]
    assert re.search(rf"Panel in +{place.origin}, {named}\n", place.world.kaasd.ctl.ok("hx", "show", place.hx[EAST]))
    place.admin.expect(204, "DELETE", f"/v2/hx-clusters/{place.hx[EAST]}/connection")
    assert hosts_of(anybody) == {here}
    assert place.admin.get(f"/v2/hx-clusters/{place.hx[EAST]}")["panel_origins"] == []
    known_as(place, None)
    assert anybody.call("GET", "/ui/panel", headers={"If-None-Match": etag}).status_code == 200
    until(lambda: hosts_of(place.other.api()) == {here}, "the other replica")


def test_a_vcenter_that_has_left_shows_it_no_more_at_any_replica(place: Place) -> None:
    vcenter = place.world.vcenter

    def shows() -> list[bool]:
        return [f"https://{vcenter.host}:{vcenter.port}" in hosts_of(daemon.api()) for daemon in (place.world.kaasd, place.other)]

    assert shows() == [True, True]
    place.admin.expect(200, "POST", f"/v2/vcenters/{vcenter.instance_uuid}/unregister", headers=X_KAAS,
                       json={"username": vcenter.admin.login, "password": vcenter.admin.password})
    assert not shows()[0]
    until(lambda: shows() == [False, False], "the other replica")
    register(place.world.kaasd, vcenter)
    until(lambda: shows() == [True, True], "the vCenter that is back, at both")


def test_pages_for_which_there_is_no_room_are_told_of(place: Place) -> None:
    """Their frames stay blank: one that names its HX cluster never does, and an administrator is told of the others."""
    kaasd = place.world.kaasd
    kaasd.stop()
    for rows in (
        "hx_clusters (id, vcenter_id, moref, name, version_no, seen_at_ms) SELECT UUID(), vcenter_id, CONCAT('domain-h', seq), "
        "CONCAT('HX-', seq), 1, 1 FROM hx_clusters, seq_1_to_201 WHERE moref = 'domain-c7'",
        "hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no) SELECT id, "
        "CONCAT(moref, '.example.com'), 443, 'kaas', 1, 1, 1 FROM hx_clusters WHERE moref LIKE 'domain-h%'",
    ):
        place.world.db.query(f"INSERT INTO {rows}", database="kaas")
    kaasd.start()
    assert len(hosts_of(kaasd.api())) == 200
    for number in (1, 201):
        named = hosts_of(kaasd.api(), f"?hx_cluster=HX-{number}")
        assert len(named) == 2 and f"https://domain-h{number}.example.com" in named
    (found,) = [check for check in kaasd.admin().get("/v2/health")["checks"] if check["name"] == "panel"]
    assert found["status"] == "warning" and "for 2 more its frame stays blank" in found["detail"] and "hx_cluster=NAME" in found["remedy"]
    assert kaasd.process and kaasd.process.log.count("event=panel_hosts_left_out") == 1
