"""Sign-on with what a vCenter vouches for: session cookie, clone ticket, password; and what it costs the vCenter."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import json
import socket
import ssl
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from env import vimclient
from env.api import Api
from env.clock import Clock, clocked_world
from env.full import EXTENSION_KEY, World, add_vcenter, register
from env.places import program
from env.process import READY_LIMIT_S, run
from env.vcenter import DEFAULT_WORLD, StrictVcenter
from env.wait import until
from env.watching import metric, until_watching

OPERATIONS_OF_A_COOKIE = ["RetrievePropertiesEx", "HasPrivilegeOnEntities"]
NEGATIVE_CACHE_S = 2


def operations_for(world: World, answer: requests.Response) -> list[str]:
    """Those that this request has caused: the daemon asks about others meanwhile, by itself."""
    return [call["op"] for call in world.vcenter.control.calls() if call.get("operation_id") == answer.headers["KaaS-Request-Id"]]


def by_cookie(world: World, cookie: str, vcenter: str | None = None) -> requests.Response:
    return world.kaasd.api().post_login("vcenter", {"vcenter": vcenter or world.vcenter.instance_uuid, "session_id": cookie})


def refused_cookie(world: World, cookie: str) -> dict[str, str]:
    return world.kaasd.api().refused(
        401,
        "invalid_credentials",
        "POST",
        "/v2/login/vcenter",
        headers={"X-KaaS": "1"},
        json={"vcenter": world.vcenter.instance_uuid, "session_id": cookie},
    )


def unknown_cookie() -> str:
    return (uuid.uuid4().hex * 2)[:40]


@pytest.fixture
def cookie(world: World) -> str:
    """A session of viewer-east at the vCenter."""
    return world.vcenter.control.login("viewer-east@vsphere.local")["cookie"]


@pytest.fixture
def other_vcenter(make_vcenter: Callable[..., StrictVcenter], tmp_path: Path) -> StrictVcenter:
    """A second vCenter with the same people, but an instance UUID of its own."""
    layout = {**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": str(uuid.uuid4())}
    (tmp_path / "other.json").write_text(json.dumps(layout))
    return make_vcenter("other", world=tmp_path / "other.json")


def test_a_session_cookie_signs_its_person_in(world: World, cookie: str) -> None:
    who = Api(world.kaasd.url, world.kaasd.tls.ca_file).login_session(world.vcenter.instance_uuid, cookie).get("/v2/whoami")
    assert (who["source"], who["method"], who["role"]) == ("vcenter", "vcenter_session", "user")
    assert who["name"].lower().endswith("\\viewer-east")
    assert who["vcenter_id"] == world.vcenter.instance_uuid


def test_the_quotes_of_a_cookie_are_allowed(world: World, cookie: str) -> None:
    assert by_cookie(world, f'"{cookie}"').status_code == 200


def test_a_session_of_the_rest_interface_signs_in(world: World) -> None:
    user = world.vcenter.users["viewer-east"]
    made = requests.post(
        f"https://{world.vcenter.address}/api/session", auth=(user.login, user.password), verify=str(world.vcenter.ca_file), timeout=60
    )
    assert by_cookie(world, made.json()).status_code == 200


@pytest.mark.parametrize("form", ['vmware_soap_session="{}"; Path=/; HttpOnly; Secure;', "{}\n", " {}", 'vmware_soap_session="{}"'])
def test_a_pasted_line_is_told_what_of_it_is_wanted(world: World, cookie: str, form: str) -> None:
    """pyvmomi keeps the whole line (vmware/pyvmomi#537)."""
    answer = by_cookie(world, form.format(cookie))
    assert (answer.status_code, answer.json()["code"]) == (422, "unprocessable")
    assert "40 hex digits" in answer.json()["remedy"]


def test_the_vcenter_is_named_by_uuid_address_or_name(world: World, cookie: str) -> None:
    (known,) = world.admin.items("/v2/vcenters")
    assert {by_cookie(world, cookie, known[way]).status_code for way in ("id", "address", "name")} == {200}


def test_the_session_of_the_person_goes_on_after_the_sign_on(world: World) -> None:
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-dc"]) as instance:
        assert by_cookie(world, vimclient.cookie_of(instance)).status_code == 200
        assert vimclient.key_of(instance).startswith("52")


def test_a_cold_sign_on_by_cookie_costs_the_vcenter_two_calls(world: World, cookie: str) -> None:
    answer = by_cookie(world, cookie)
    assert answer.status_code == 200
    assert operations_for(world, answer) == OPERATIONS_OF_A_COOKIE


def test_the_list_after_a_sign_on_costs_the_vcenter_nothing(world: World, cookie: str) -> None:
    viewer = world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)
    answer = viewer.call("GET", "/v2/clusters")
    assert [cluster["name"] for cluster in answer.json()["items"]] == ["prod-1", "prod-2", "stretched"]
    assert operations_for(world, answer) == []


@pytest.fixture(scope="module")
def own() -> Iterator[tuple[World, Clock]]:
    """A world that tests may change, or stop and start."""
    options = {"vcenter": {"call_timeout": "2m"}, "auth": {"sessions_per_principal": 0, "signon_rate": 0}}  # crowds of one person
    with clocked_world("q", options=options) as (whole, clock):
        whole.join()
        until_watching(whole)
        yield whole, clock


class Crowd:
    """Connections that ask for the same sign-on, and nobody has an answer yet: without threads of their own."""

    def __init__(self, world: World, cookie: str, count: int) -> None:
        context = ssl.create_default_context(cafile=str(world.kaasd.tls.ca_file))
        body = json.dumps({"vcenter": world.vcenter.instance_uuid, "session_id": cookie})
        self._request = (f"POST /v2/login/vcenter HTTP/1.1\r\nHost: 127.0.0.1\r\nX-KaaS: 1\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}").encode()
        self.connections = [self._join(world, context) for _ in range(count)]

    def _join(self, world: World, context: ssl.SSLContext) -> ssl.SSLSocket:
        raw = socket.create_connection(("127.0.0.1", world.kaasd.port), timeout=READY_LIMIT_S)
        connection = context.wrap_socket(raw, server_hostname="127.0.0.1")
        connection.sendall(self._request)
        return connection

    def leave(self, count: int) -> None:
        for connection in self.connections[:count]:
            connection.close()
        del self.connections[:count]

    def answers(self) -> list[tuple[int, dict[str, Any]]]:
        return [self._answer(connection) for connection in self.connections]

    @staticmethod
    def _answer(connection: ssl.SSLSocket) -> tuple[int, dict[str, Any]]:
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)


def signons_waiting(world: World) -> int:
    return metric(world.admin, "kaas_signons_waiting")


@contextmanager
def held_crowd(world: World, count: int) -> Iterator[tuple[Crowd, int]]:
    """So many identical sign-ons, all of which wait for one call that the vCenter holds back; and the rule to release it by."""
    made = world.vcenter.control.login("viewer-east@vsphere.local")
    rule = world.vcenter.control.hold("RetrievePropertiesEx", executed=True, session_key=made["key"])
    try:
        crowd = Crowd(world, made["cookie"], count)
        until(lambda: signons_waiting(world) == count, "all of them waiting")
        yield crowd, rule
    finally:
        world.vcenter.control.clear_faults()


def signon_calls(world: World, after: int) -> list[str]:
    """Those of the requests that have used the session of a person; what the daemon asks by itself, it asks by its own."""
    calls = world.vcenter.control.calls(after=str(after))
    requests = {call["operation_id"] for call in calls if call["user"].endswith("\\viewer-east")}
    return [call["op"] for call in calls if call.get("operation_id") in requests]


def test_identical_sign_ons_at_once_cause_one_set_of_calls(own: tuple[World, Clock]) -> None:
    world, _ = own
    before = world.vcenter.control.last_call()
    with held_crowd(world, 200) as (crowd, rule):
        crowd.leave(20)  # the first among them: it was for that one that the vCenter was asked
        world.vcenter.control.release(rule)
        answers = crowd.answers()
    assert [status for status, _ in answers] == [200] * 180
    assert len({body["access_token"] for _, body in answers}) == 180
    assert signon_calls(world, before) == OPERATIONS_OF_A_COOKIE
    assert signons_waiting(world) == 0
    assert world.kaasd.api(answers[-1][1]["access_token"]).names() == ["prod-1", "prod-2", "stretched"]


def test_the_end_finds_everybody_an_answer(own: tuple[World, Clock]) -> None:
    world, _ = own
    try:
        with held_crowd(world, 20) as (crowd, _):
            world.kaasd.stop()
            assert [status for status, _ in crowd.answers()] == [503] * 20
    finally:
        world.kaasd.start()


def test_a_clone_ticket_signs_its_person_in(world: World) -> None:
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
        signed_in = world.kaasd.api().login_ticket(world.vcenter.instance_uuid, vimclient.clone_ticket(instance))
    assert signed_in.get("/v2/whoami")["method"] == "vcenter_clone_ticket"


def test_a_clone_ticket_works_once(world: World) -> None:
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
        credential = {"vcenter": world.vcenter.instance_uuid, "clone_ticket": vimclient.clone_ticket(instance)}
        assert world.kaasd.api().post_login("vcenter", credential).status_code == 200
        problem = world.kaasd.api().refused(401, "invalid_credentials", "POST", "/v2/login/vcenter", json=credential,
                                            headers={"X-KaaS": "1"})
    assert "ticket" in problem["detail"]


def test_a_ticket_is_sent_once_when_the_kept_connection_breaks(world: World) -> None:
    control, api = world.vcenter.control, world.kaasd.api()
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
        first, second = (vimclient.clone_ticket(instance) for _ in range(2))
        api.login_ticket(world.vcenter.instance_uuid, first)  # leaves a connection behind
        before = control.last_call()
        control.fault("CloneSession", "close", bytes=0)
        try:
            api.refused(502, "upstream_unreachable", "POST", "/v2/login/vcenter", headers={"X-KaaS": "1"},
                        json={"vcenter": world.vcenter.instance_uuid, "clone_ticket": second})
        finally:
            control.clear_faults()
        assert len(control.calls(op="CloneSession", after=str(before))) == 1


def test_a_broken_audit_trail_keeps_nobody_out(own: tuple[World, Clock]) -> None:
    world, _ = own
    world.db.query("RENAME TABLE audit TO audit_away", database="kaas")
    try:
        cookie = world.vcenter.control.login("viewer-east@vsphere.local")["cookie"]
        assert by_cookie(world, cookie).status_code == 200
    finally:
        world.db.query("RENAME TABLE audit_away TO audit", database="kaas")


def test_the_clone_of_a_session_is_logged_out_at_once(world: World) -> None:
    control = world.vcenter.control
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
        before = {row["key"] for row in control.sessions()}
        world.kaasd.api().login_ticket(world.vcenter.instance_uuid, vimclient.clone_ticket(instance))
        assert {row["key"] for row in control.sessions()} <= before


def test_a_password_of_the_vcenter_signs_in(world: World) -> None:
    user = world.vcenter.users["viewer-dc"]
    signed_in = world.kaasd.api().login_password(user.login, user.password, f"vcenter:{world.vcenter.instance_uuid}")
    assert signed_in.get("/v2/whoami")["method"] == "vcenter_password"


def test_the_only_vcenter_need_not_be_named(fresh_world: World, other_vcenter: StrictVcenter) -> None:
    """One that is known and not joined does not count."""
    user, kaasd = fresh_world.vcenter.users["viewer-dc"], fresh_world.kaasd
    body = {"username": user.login, "password": user.password, "source": "vcenter"}

    def refused() -> str:
        problem = kaasd.api().refused(422, "unprocessable", "POST", "/v2/login/password", json=body, headers={"X-KaaS": "1"})
        return problem["detail"] + problem["remedy"]

    none = refused()
    assert '"source"' in none and "vcenter:vc.example.com" in none
    fresh_world.join()
    add_vcenter(kaasd, other_vcenter, "--name", "Other")
    who = kaasd.api().login_password(user.login, user.password, "vcenter").get("/v2/whoami")
    assert (who["method"], who["vcenter_id"]) == ("vcenter_password", fresh_world.vcenter.instance_uuid)
    said = run([program("kaasctl"), "--server", kaasd.url, "--ca-file", str(kaasd.tls.ca_file), "--user", user.login, "--source", "vcenter",
                "--password-file", "-", "-o", "json", "whoami"], stdin=user.password + "\n")
    assert json.loads(said.stdout)["vcenter_id"] == fresh_world.vcenter.instance_uuid, said.stderr
    register(kaasd, other_vcenter)
    until(lambda: kaasd.api().post_login("password", body).status_code == 422, "two are joined")
    assert refused() == none


def test_a_sign_on_by_password_leaves_no_session_at_the_vcenter(world: World) -> None:
    user, control = world.vcenter.users["viewer-dc"], world.vcenter.control
    before = {row["key"] for row in control.sessions()}
    world.kaasd.api().login_password(user.login, user.password, f"vcenter:{world.vcenter.instance_uuid}")
    assert {row["key"] for row in control.sessions()} <= before


def test_a_wrong_password_of_the_vcenter_is_refused(world: World) -> None:
    body = {"username": "viewer-dc@vsphere.local", "password": "not-it", "source": f"vcenter:{world.vcenter.instance_uuid}"}
    world.kaasd.api().refused(401, "invalid_credentials", "POST", "/v2/login/password", json=body, headers={"X-KaaS": "1"})


def test_a_person_without_any_permission_cannot_sign_in(world: World) -> None:
    user = world.vcenter.users["noaccess"]
    body = {"username": user.login, "password": user.password, "source": f"vcenter:{world.vcenter.instance_uuid}"}
    problem = world.kaasd.api().refused(403, "forbidden", "POST", "/v2/login/password", json=body, headers={"X-KaaS": "1"})
    assert "permission" in problem["detail"]


def test_an_unknown_session_is_refused(world: World) -> None:
    assert "session" in refused_cookie(world, unknown_cookie())["detail"]


def test_an_expired_session_is_refused(world: World) -> None:
    made = world.vcenter.control.login("viewer-east@vsphere.local")
    world.vcenter.control.expire(key=made["key"])
    refused_cookie(world, made["cookie"])


def test_a_session_that_was_logged_out_is_refused(world: World) -> None:
    with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
        held = vimclient.cookie_of(instance)
    refused_cookie(world, held)


def test_a_session_that_an_administrator_ends_there_ends_here(own: tuple[World, Clock]) -> None:
    """By the event that tells of it: the rights would be fresh for a while."""
    world, _ = own
    until_watching(world)
    made = world.vcenter.control.login("viewer-east@vsphere.local")
    viewer = world.kaasd.api().login_session(world.vcenter.instance_uuid, made["cookie"])
    assert viewer.names() == ["prod-1", "prod-2", "stretched"]
    cookie = viewer.call("POST", "/v2/session/cookie", headers={"X-KaaS": "1"}).headers["Set-Cookie"].split(";")[0]
    before = metric(world.admin, "kaas_watch_permissions_total")
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        instance.RetrieveContent().sessionManager.TerminateSession([made["key"]])
    until(lambda: metric(world.admin, "kaas_watch_permissions_total") > before, "the event")
    until(lambda: viewer.call("GET", "/v2/clusters").status_code == 401, "the end of the session")
    viewer.refused(401, "session_ended", "GET", "/v2/whoami")
    answer = world.kaasd.api().call("POST", "/v2/token/refresh", headers={"X-KaaS": "1", "Cookie": cookie})
    assert (answer.status_code, "Max-Age=0" in answer.headers["Set-Cookie"]) == (204, True), "nor does it go on by loading the page again"


def test_the_session_of_an_extension_is_refused(world: World) -> None:
    made = world.vcenter.control.login_extension(EXTENSION_KEY)
    answer = by_cookie(world, made["cookie"])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "extension" in answer.json()["detail"]


def test_a_session_of_another_vcenter_is_refused(world: World, other_vcenter: StrictVcenter) -> None:
    refused_cookie(world, other_vcenter.control.login("viewer-east@vsphere.local")["cookie"])


def test_the_key_of_a_session_is_refused_without_asking_the_vcenter(world: World) -> None:
    key = world.vcenter.control.login("viewer-east@vsphere.local")["key"]
    answer = by_cookie(world, key)
    assert (answer.status_code, answer.json()["code"]) == (422, "unprocessable")
    assert "cookie" in answer.json()["remedy"]
    assert operations_for(world, answer) == []


@pytest.mark.parametrize(
    "text", ["", "short", "x" * 513, "a b c d e f g h", "line\nline-line", "ünïcödé-cookie", "semi;colon;cookie", 'half"quoted']
)
def test_what_cannot_be_a_cookie_is_refused_without_asking_the_vcenter(world: World, text: str) -> None:
    answer = by_cookie(world, text)
    assert (answer.status_code, answer.json()["code"]) == (422, "unprocessable")
    assert operations_for(world, answer) == []


def test_a_refused_cookie_is_asked_about_again_later(own: tuple[World, Clock]) -> None:
    """Not within two seconds: that is for the unit tests, which have a clock that stands."""
    world, clock = own
    wrong = unknown_cookie()
    refused_cookie(world, wrong)
    clock.advance(NEGATIVE_CACHE_S)
    assert operations_for(world, by_cookie(world, wrong))


def proofs_at(vcenter: str) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """Wrong ones of every kind that strangers have: way, body, headers."""
    user = f"nobody-{uuid.uuid4()}@vsphere.local"
    return [
        ("vcenter", {"vcenter": vcenter, "session_id": unknown_cookie()}, {}),
        ("vcenter", {"vcenter": vcenter, "clone_ticket": f"cst-VCT-{uuid.uuid4()}--tp-00"}, {}),
        ("vcenter", {"vcenter": vcenter}, {"vmware-api-session-id": unknown_cookie()}),
        ("password", {"username": user, "password": "wrong", "source": f"vcenter:{vcenter}"}, {}),
    ]


def answers_at(world: World, vcenter: str) -> list[dict[str, Any]]:
    return [world.kaasd.api().refused(401, "invalid_credentials", "POST", f"/v2/login/{way}", json=body, headers={"X-KaaS": "1", **headers})
            for way, body, headers in proofs_at(vcenter)]


def test_strangers_are_not_told_which_vcenters_there_are(fresh_world: World, other_vcenter: StrictVcenter) -> None:
    """In a world of its own: what few kinds of refusals there are in a minute are all written down."""
    fresh_world.join()
    wanted = {"address": "127.0.0.1", "port": other_vcenter.port, "name": "Not joined", "thumbprint_sha256": other_vcenter.sha256}
    fresh_world.admin.expect(201, "POST", "/v2/vcenters", json=wanted)
    assert fresh_world.kaasd.process
    told = answers_at(fresh_world, fresh_world.vcenter.instance_uuid)
    assert "check vCenter, user name and password" in told[-1]["remedy"]
    for vcenter, reason in (("vc.nowhere.example", "no vCenter"), (wanted["name"], "not joined yet")):
        unasked = answers_at(fresh_world, vcenter)
        for refused, sounds in zip(told, unasked, strict=True):
            assert {**refused, "request_id": ""} == {**sounds, "request_id": ""}
            (line,) = fresh_world.admin.items("/v2/audit", request_id=sounds["request_id"])
            assert (line["action"], line["result"]) == ("login", "invalid_credentials")
            assert vcenter in line["reason"] and reason in line["reason"]
            (logged,) = [line for line in fresh_world.kaasd.process.log.splitlines()
                         if sounds["request_id"] in line and "event=vcenter_login_refused" in line]
            assert reason in logged


def test_guesses_at_a_vcenter_that_is_none_are_slowed_down_as_others(world: World) -> None:
    """Else the delay would tell the two apart."""
    user = f"guessed-{uuid.uuid4()}"
    body = {"username": user, "source": "vcenter:vc.nowhere.example"}
    statuses = [world.kaasd.api().post_login("password", {**body, "password": f"wrong {n}"}).status_code for n in range(12)]
    assert statuses[:6] == [401] * 6 and 429 in statuses


def test_somebody_signed_in_is_told_that_a_vcenter_is_unknown(world: World) -> None:
    body = {"vcenter": "vc.nowhere.example", "session_id": unknown_cookie()}
    problem = world.sign_in("viewer-east").refused(404, "not_found", "POST", "/v2/session/vcenters", json=body, headers={"X-KaaS": "1"})
    assert "vc.nowhere.example" in problem["detail"]
