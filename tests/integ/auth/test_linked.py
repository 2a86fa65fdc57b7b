"""One person over several vCenters: a credential for each, the union of what each says, and what happens when one is away."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.api import Api
from env.clock import Clock
from env.many import Many
from env.places import Scratch
from env.vcenter import StrictVcenter
from env.wait import until

pytestmark = pytest.mark.slow
HX_EAST = "domain-c7"
OPTIONS = {"auth": {"rights_fresh": "1s"}}


@pytest.fixture(scope="module")
def clock() -> Iterator[Clock]:
    folder = Scratch("k")
    yield Clock(folder.path / "clock", hurries_calls=True)
    folder.remove()


@pytest.fixture(scope="module")
def many(clock: Clock) -> Iterator[Many]:
    """Two vCenters with the same names and people in them, each with one Kubernetes cluster. What they say of people before the watch has
    begun is dropped when it begins."""
    with Many(2, OPTIONS, clock.env) as both:
        for vcenter in both.vcenters:
            until(lambda at=vcenter: watch_began(both, at), "the watch")  # type: ignore[misc]
        yield both


def watch_began(many: Many, vcenter: StrictVcenter) -> bool:
    return bool(many.admin.get(f"/v2/vcenters/{vcenter.instance_uuid}/status")["watch"]["since"])


@pytest.fixture
def east(many: Many) -> StrictVcenter:
    return many.vcenters[0]


@pytest.fixture
def west(many: Many) -> Iterator[StrictVcenter]:
    yield many.vcenters[1]
    many.vcenters[1].control.clear_faults()


@pytest.fixture
def viewer(many: Many, east: StrictVcenter) -> Api:
    return many.sign_in(east)


def add(api: Api, vcenter: StrictVcenter, **credential: str) -> Any:
    return api.call("POST", "/v2/session/vcenters", json={"vcenter": vcenter.instance_uuid, **credential}, headers={"X-KaaS": "1"})


def add_by_cookie(api: Api, vcenter: StrictVcenter, user: str = "viewer-east@vsphere.local") -> dict[str, Any]:
    answer = add(api, vcenter, session_id=vcenter.control.login(user)["cookie"])
    assert answer.status_code == 201, answer.text
    return answer.json()


def rights(api: Api) -> dict[str, str]:
    return {vc["id"]: vc["rights"] for vc in api.get("/v2/whoami")["vcenters"]}


def test_the_same_spelling_at_another_vcenter_gives_nothing(viewer: Api, east: StrictVcenter, west: StrictVcenter) -> None:
    answer = viewer.call("GET", "/v2/clusters")
    assert [cluster["name"] for cluster in answer.json()["items"]] == ["vc0-east"]
    assert list(rights(viewer)) == [east.instance_uuid]
    assert answer.headers["KaaS-Request-Id"] not in {call.get("operation_id") for call in west.control.calls()}


def test_with_a_proof_of_its_own_each_vcenter_adds_what_it_says(viewer: Api, east: StrictVcenter, west: StrictVcenter) -> None:
    before = viewer.get("/v2/whoami")
    added = add_by_cookie(viewer, west, "viewer-dc@vsphere.local")
    assert (added["id"], added["is_first"], added["method"]) == (west.instance_uuid, False, "vcenter_session")
    until(lambda: rights(viewer)[west.instance_uuid] in {"fresh", "aging"}, "what it says")  # fresh is a second here
    assert added["user_name"] == "VSPHERE.LOCAL\\viewer-dc"
    assert viewer.names() == ["vc0-east", "vc1-east"]
    after = viewer.get("/v2/whoami")
    for same in ("id", "name", "role", "vcenter_id", "method"):
        assert after[same] == before[same]
    assert [vc["id"] for vc in after["vcenters"]] == [east.instance_uuid, west.instance_uuid]
    assert {rule["object_id"].split("/")[0] for rule in after["rules"]} == {east.instance_uuid, west.instance_uuid}


def test_each_part_is_asked_again_at_its_own_vcenter(viewer: Api, west: StrictVcenter) -> None:
    add_by_cookie(viewer, west)
    west.control.forbid(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    try:
        until(lambda: viewer.names() == ["vc0-east"], "the loss of the permission at one vCenter")
    finally:
        west.control.permit(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    until(lambda: viewer.names() == ["vc0-east", "vc1-east"], "the permission given back")


def test_a_wrong_proof_adds_nothing(viewer: Api, east: StrictVcenter, west: StrictVcenter) -> None:
    foreign = east.control.login("viewer-east@vsphere.local")["cookie"]  # good, but at the other one
    for credential in ({"session_id": foreign}, {"clone_ticket": "cst-VCT-not-a-ticket"}):
        answer = add(viewer, west, **credential)
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials")
    assert viewer.names() == ["vc0-east"]


def test_adding_needs_a_sign_on_and_the_header(many: Many, viewer: Api, west: StrictVcenter) -> None:
    body = {"vcenter": west.instance_uuid, "session_id": "0" * 40}
    many.kaasd.api().refused(401, "unauthenticated", "POST", "/v2/session/vcenters", json=body, headers={"X-KaaS": "1"})
    viewer.refused(400, "invalid_request", "POST", "/v2/session/vcenters", json=body)


def test_the_vcenter_of_the_sign_on_is_neither_added_nor_taken_away(viewer: Api, east: StrictVcenter) -> None:
    answer = add(viewer, east, session_id=east.control.login("viewer-dc@vsphere.local")["cookie"])
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    viewer.refused(409, "conflict", "DELETE", f"/v2/session/vcenters/{east.instance_uuid}")


def test_what_was_added_can_be_taken_away(viewer: Api, west: StrictVcenter) -> None:
    add_by_cookie(viewer, west)
    viewer.expect(204, "DELETE", f"/v2/session/vcenters/{west.instance_uuid}")
    assert viewer.names() == ["vc0-east"]
    viewer.refused(404, "not_found", "DELETE", f"/v2/session/vcenters/{west.instance_uuid}")


def test_a_ticket_shortens_the_session(viewer: Api, west: StrictVcenter) -> None:
    before = viewer.get("/v2/whoami")["session_expires_at"]
    with vimclient.session(west, west.users["viewer-east"]) as instance:
        answer = add(viewer, west, clone_ticket=vimclient.clone_ticket(instance))
    assert answer.status_code == 201, answer.text
    assert answer.json()["method"] == "vcenter_clone_ticket"
    assert viewer.get("/v2/whoami")["session_expires_at"] < before
    assert viewer.names() == ["vc0-east", "vc1-east"]


def test_the_end_of_one_session_leaves_the_other_part(viewer: Api, east: StrictVcenter, west: StrictVcenter) -> None:
    made = west.control.login("viewer-east@vsphere.local")
    assert add(viewer, west, session_id=made["cookie"]).status_code == 201
    assert viewer.names() == ["vc0-east", "vc1-east"]
    west.control.expire(key=made["key"])
    until(lambda: rights(viewer).get(west.instance_uuid) == "ended", "the end of the session")
    assert viewer.names() == ["vc0-east"]
    assert rights(viewer)[east.instance_uuid] in {"fresh", "aging"}
    add_by_cookie(viewer, west)  # a new credential takes its place
    assert viewer.names() == ["vc0-east", "vc1-east"]


def test_one_hanging_vcenter_does_not_blind_the_other(clock: Clock, viewer: Api, east: StrictVcenter, west: StrictVcenter) -> None:
    add_by_cookie(viewer, west)
    assert viewer.names() == ["vc0-east", "vc1-east"]
    west.control.fault("*", "hang")
    clock.hasten(lambda: "vcenter" in viewer.call("GET", "/v2/clusters").headers.get("KaaS-Stale", ""), "the mark of the vCenter")
    for _ in range(10):
        assert viewer.names() == ["vc0-east", "vc1-east"]  # what it said serves for two minutes, then grace
    east.control.forbid(HX_EAST, "VSPHERE.LOCAL\\viewer-east")  # the other one goes on being asked
    try:
        until(lambda: viewer.names() == ["vc1-east"], "the loss of the permission")
    finally:
        east.control.permit(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    until(lambda: viewer.names() == ["vc0-east", "vc1-east"], "the permission given back")
    west.control.clear_faults()
    clock.hasten(lambda: "KaaS-Stale" not in viewer.call("GET", "/v2/clusters").headers, "the vCenter again")


def test_what_one_vcenter_took_back_is_left_out_while_it_is_away(viewer: Api, west: StrictVcenter) -> None:
    """Nothing older than the event is used; the part is missing, and the answer says so."""
    add_by_cookie(viewer, west)
    assert viewer.names() == ["vc0-east", "vc1-east"]
    west.control.fault("HasPrivilegeOnEntities", "hang")
    west.control.forbid(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    try:
        until(lambda: viewer.names() == ["vc0-east"], "the part left out")
        assert "rights" in viewer.call("GET", "/v2/clusters").headers["KaaS-Stale"].split(", ")
    finally:
        west.control.permit(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
        west.control.clear_faults()
    until(lambda: viewer.names() == ["vc0-east", "vc1-east"], "the permission given back")


def test_another_replica_follows(many: Many, viewer: Api, west: StrictVcenter) -> None:
    second = many.kaasd.beside("second", options=OPTIONS)
    second.start()
    try:
        there = second.api(viewer.token)
        until(lambda: there.call("GET", "/v2/clusters").status_code == 200 and there.names() == ["vc0-east"], "the session")
        add_by_cookie(viewer, west)
        until(lambda: there.names() == ["vc0-east", "vc1-east"], "the added vCenter")
        viewer.expect(204, "DELETE", f"/v2/session/vcenters/{west.instance_uuid}")
        until(lambda: there.names() == ["vc0-east"], "the vCenter taken away")
    finally:
        second.stop()


def test_a_local_administrator_may_add_one_and_stays_what_it_was(many: Many, west: StrictVcenter) -> None:
    admin = many.admin
    add_by_cookie(admin, west)
    who = admin.get("/v2/whoami")
    assert (who["role"], who["source"], [vc["is_first"] for vc in who["vcenters"]]) == ("admin", "local", [False])
    assert admin.names() == ["vc0-east", "vc1-east"]


# -- plug-ins of the vSphere Client ------------------------------------------------------------------------------------------


def plugin_token(vcenter: StrictVcenter, user: str = "viewer-east@vsphere.local") -> str:
    return vcenter.control.call("POST", "/plugin-token", {"user": user})["token"]


def by_header(api: Api, path: str, token: str, body: dict[str, Any]) -> Any:
    return api.call("POST", path, json=body, headers={"X-KaaS": "1", "vmware-api-session-id": token})


def test_a_plugin_signs_its_person_in(many: Many, east: StrictVcenter) -> None:
    answer = by_header(many.kaasd.api(), "/v2/login/vcenter", plugin_token(east), {"vcenter": east.instance_uuid})
    assert answer.status_code == 200, answer.text
    viewer = many.kaasd.api(answer.json()["access_token"])
    who = viewer.get("/v2/whoami")
    assert (who["method"], who["name"]) == ("vcenter_clone_ticket", "VSPHERE.LOCAL\\viewer-east")
    assert viewer.names() == ["vc0-east"]
    assert by_header(viewer, "/v2/session/vcenters", plugin_token(many.vcenters[1]), {"vcenter": "vc1"}).status_code == 201
    assert viewer.names() == ["vc0-east", "vc1-east"]


def test_the_clone_of_a_plugin_session_is_ended_at_once(many: Many, east: StrictVcenter) -> None:
    token = plugin_token(east)
    before = {session["key"] for session in east.control.sessions()}
    by_header(many.kaasd.api(), "/v2/login/vcenter", token, {"vcenter": east.instance_uuid})
    assert {session["key"] for session in east.control.sessions()} <= before


@pytest.mark.parametrize(
    ("token", "body", "status", "code"),
    [
        ("unknown-token-0000", {}, 401, "invalid_credentials"),
        ("short", {}, 422, "unprocessable"),
        ("with blank in it", {}, 422, "unprocessable"),
        (None, {"session_id": "0" * 40}, 422, "unprocessable"),
        (None, {"clone_ticket": "cst-VCT-1234567890"}, 422, "unprocessable"),
        (None, {"surprise": "1"}, 422, "unprocessable"),
    ],
)
def test_a_plugin_session_that_is_not_right_is_refused(
    many: Many, east: StrictVcenter, token: str | None, body: dict[str, str], status: int, code: str
) -> None:
    whole = {"vcenter": east.instance_uuid, **body}
    answer = by_header(many.kaasd.api(), "/v2/login/vcenter", token or plugin_token(east), whole)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_the_token_of_a_plugin_goes_to_the_configured_vcenter_only(many: Many, east: StrictVcenter, west: StrictVcenter) -> None:
    answer = by_header(many.kaasd.api(), "/v2/login/vcenter", plugin_token(east), {"vcenter": west.instance_uuid})
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials")
    many.kaasd.api().refused(
        401,
        "invalid_credentials",
        "POST",
        "/v2/login/vcenter",
        json={"vcenter": "https://evil.example"},
        headers={"X-KaaS": "1", "vmware-api-session-id": "0" * 40},
    )


def test_the_token_of_a_plugin_is_in_no_log(many: Many, east: StrictVcenter) -> None:
    token = plugin_token(east)
    by_header(many.kaasd.api(), "/v2/login/vcenter", token, {"vcenter": east.instance_uuid})
    by_header(many.kaasd.api(), "/v2/login/vcenter", token + "x", {"vcenter": east.instance_uuid})
    assert many.kaasd.process
    assert token not in many.kaasd.process.log_path.read_text()


def test_an_administrator_is_told_what_a_link_of_somebodys_session_shows(many: Many, east: StrictVcenter, west: StrictVcenter) -> None:
    viewer, admin = many.sign_in(east, "viewer-dc@vsphere.local"), many.admin
    there = {row["name"]: row["id"] for row in admin.items("/v2/clusters")}["vc1-east"]
    person = viewer.get("/v2/whoami")["id"]

    def explain() -> tuple[bool | None, dict[str, Any]]:
        answer = admin.expect(200, "GET", f"/v2/clusters/{there}/explain", params={"principal": person})
        (rule,) = [rule for rule in answer["rules"] if rule["kind"] == "vcenter_privilege"]
        return answer["visible"], rule

    visible, rule = explain()
    assert (visible, rule["matched"]) == (False, False) and "no session under way" in rule["reason"]
    add_by_cookie(viewer, west)
    assert viewer.names() == ["vc0-east", "vc1-east"]
    visible, rule = explain()
    assert (visible, rule["matched"]) == (True, True)
    assert viewer.call("DELETE", f"/v2/session/vcenters/{west.instance_uuid}").status_code == 204
    assert explain()[0] is False
