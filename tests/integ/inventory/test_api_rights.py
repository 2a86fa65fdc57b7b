"""Who gets which clusters: by list, by HX cluster, by id; and what happens when permissions, inventory or the vCenter change."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env import vimclient
from env.api import Api
from env.full import World
from env.samples import EAST, SAMPLES, WEST, hidden_from, visible_to
from env.wait import until

VIEWERS = ("viewer-east", "viewer-dc", "no-rights", "admin")
PASSWORD = "correct horse battery staple"
HX_EAST_OF_DC0, HX_WEST, HX_EAST_OF_DC1 = "domain-c7", "domain-c70", "domain-c26"


@pytest.fixture(scope="module")
def viewers(world: World) -> dict[str, Api]:
    return {name: world.admin if name == "admin" else stay_signed_in(world, name) for name in VIEWERS}


@pytest.fixture(scope="module")
def moving() -> Iterator[World]:
    """A world in which permissions and inventory move; rights are asked again after a second."""
    with World("m", options={"auth": {"rights_fresh": "1s"}}) as whole:
        whole.join()
        yield whole


def stay_signed_in(world: World, name: str) -> Api:
    """Signed in by the cookie of a vCenter session that goes on."""
    cookie = world.vcenter.control.login(f"{name}@vsphere.local")["cookie"]
    return world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)


def local_user(world: World, name: str) -> Api:
    made = {"name": name, "role": "user", "password": PASSWORD, "must_change_password": False}
    world.admin.expect(201, "POST", "/v2/users", json=made, headers={"X-KaaS": "1"})
    return world.kaasd.api().login_password(name, PASSWORD)


def ids(admin: Api) -> dict[str, str]:
    return {item["name"]: item["id"] for item in admin.items("/v2/clusters")}


def hx_id(admin: Api, moref: str) -> str:
    return next(hx["id"] for hx in admin.items("/v2/hx-clusters") if hx["vsphere_cluster"]["moref"] == moref)


# -- the sample users ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VIEWERS)
def test_a_list_holds_exactly_what_the_person_may_see(viewers: dict[str, Api], name: str) -> None:
    assert viewers[name].names() == visible_to(name)


@pytest.mark.parametrize("name", VIEWERS)
def test_a_cluster_is_shown_or_does_not_exist(viewers: dict[str, Api], name: str) -> None:
    for cluster, known in ids(viewers["admin"]).items():
        status = viewers[name].call("GET", f"/v2/clusters/{known}").status_code
        assert status == (200 if cluster in visible_to(name) else 404), cluster


@pytest.mark.parametrize("name", VIEWERS)
def test_the_nodes_of_a_cluster_are_shown_or_do_not_exist(viewers: dict[str, Api], name: str) -> None:
    for cluster, known in ids(viewers["admin"]).items():
        status = viewers[name].call("GET", f"/v2/clusters/{known}/nodes").status_code
        assert status == (200 if cluster in visible_to(name) else 404), cluster


def test_an_invisible_and_an_unknown_cluster_answer_the_same(viewers: dict[str, Api]) -> None:
    hidden, unknown = ids(viewers["admin"])["far-1"], "00000000-0000-4000-8000-000000000000"
    answers = [viewers["viewer-east"].refused(404, "not_found", "GET", f"/v2/clusters/{known}") for known in (hidden, unknown)]
    texts = [answer["detail"].replace(known, "ID") for answer, known in zip(answers, (hidden, unknown), strict=True)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("name", "place"), [("viewer-east", EAST), ("viewer-dc", EAST), ("viewer-dc", WEST), ("admin", WEST)])
def test_the_clusters_of_an_hx_cluster_by_its_name(viewers: dict[str, Api], name: str, place: str) -> None:
    assert viewers[name].names(hx_cluster=place.split("/")[1]) == visible_to(name, place)


@pytest.mark.parametrize(
    ("name", "hx"),
    [
        ("viewer-east", "HX-West"),
        ("no-rights", "HX-East"),
        ("no-rights", "HX-West"),
        ("admin", "HX-Nowhere"),
        ("viewer-dc", "hx-east"),
        ("admin", "C-Plain"),
        ("admin", "HX-East "),
    ],
)
def test_an_hx_cluster_that_is_unknown_or_invisible_does_not_exist(viewers: dict[str, Api], name: str, hx: str) -> None:
    """None of them was read; who sees one is told that it may be that one, and no more."""
    code = "not_found" if name == "no-rights" else "hx_name_unknown"
    problem = viewers[name].refused(404, code, "GET", "/v2/clusters", params={"hx_cluster": hx})
    assert hx in problem["detail"]
    unknown = viewers[name].refused(404, code, "GET", "/v2/clusters", params={"hx_cluster": "Nowhere"})
    assert {**problem, "request_id": "", "detail": problem["detail"].replace(hx, "Nowhere")} == {**unknown, "request_id": ""}


def test_an_ambiguous_hx_name_is_told_with_candidates(viewers: dict[str, Api]) -> None:
    problem = viewers["admin"].refused(409, "ambiguous", "GET", "/v2/clusters", params={"hx_cluster": "HX-East"})
    assert sorted(candidate["path"] for candidate in problem["candidates"]) == ["DC0/HX-East", "DC1/HX-East"]
    assert "hx_cluster_id" in problem["remedy"]


def test_each_candidate_leads_to_its_clusters(viewers: dict[str, Api]) -> None:
    problem = viewers["admin"].refused(409, "ambiguous", "GET", "/v2/clusters", params={"hx_cluster": "HX-East"})
    for candidate in problem["candidates"]:
        assert viewers["admin"].names(hx_cluster_id=candidate["id"]) == visible_to("admin", candidate["path"])


def test_an_invisible_hx_cluster_makes_no_name_ambiguous(viewers: dict[str, Api]) -> None:
    assert viewers["viewer-dc"].names(hx_cluster="HX-East") == visible_to("viewer-dc", EAST)


@pytest.mark.parametrize(
    ("name", "morefs"),
    [
        ("viewer-east", {HX_EAST_OF_DC0}),
        ("viewer-dc", {HX_EAST_OF_DC0, HX_WEST}),
        ("no-rights", set()),
        ("admin", {HX_EAST_OF_DC0, HX_WEST, HX_EAST_OF_DC1}),
    ],
)
def test_the_hx_clusters_are_those_on_visible_vsphere_clusters(viewers: dict[str, Api], name: str, morefs: set[str]) -> None:
    assert {hx["vsphere_cluster"]["moref"] for hx in viewers[name].items("/v2/hx-clusters")} == morefs


def test_an_invisible_hx_cluster_does_not_exist_by_id(viewers: dict[str, Api]) -> None:
    known = hx_id(viewers["admin"], HX_WEST)
    viewers["viewer-dc"].get(f"/v2/hx-clusters/{known}")
    viewers["viewer-east"].refused(404, "not_found", "GET", f"/v2/hx-clusters/{known}")
    viewers["viewer-east"].refused(404, "not_found", "GET", "/v2/clusters", params={"hx_cluster_id": known})


def test_an_invisible_vsphere_cluster_does_not_exist(viewers: dict[str, Api], world: World) -> None:
    where = {"vcenter": world.vcenter.instance_uuid, "vsphere_cluster": "domain-c70"}
    assert viewers["viewer-dc"].names(**where) == visible_to("viewer-dc", WEST)
    viewers["viewer-east"].refused(404, "not_found", "GET", "/v2/clusters", params=where)


@pytest.mark.parametrize("name", ["viewer-east", "viewer-dc"])
def test_a_cluster_on_two_vsphere_clusters_shows_the_permitted_part(viewers: dict[str, Api], name: str) -> None:
    placement = viewers[name].get(f"/v2/clusters/{ids(viewers['admin'])['stretched']}")["placement"]
    hidden = hidden_from(name, "stretched")
    assert placement["hidden"] == hidden
    assert [place["name"] for place in placement["vsphere_clusters"]] == ["HX-East", "HX-West"][: 2 - hidden]
    assert [hx["name"] for hx in placement["hx_clusters"]] == ["HX-East", "HX-West"][: 2 - hidden]


def test_the_hidden_part_is_nowhere_in_the_answer(viewers: dict[str, Api]) -> None:
    known = ids(viewers["admin"])["stretched"]
    for path in (f"/v2/clusters/{known}", "/v2/clusters", "/v2/hx-clusters", f"/v2/clusters/{known}/nodes"):
        text = viewers["viewer-east"].call("GET", path).text
        assert "HX-West" not in text
        assert HX_WEST not in text


def test_whoami_says_why_the_person_sees_what_is_seen(viewers: dict[str, Api], world: World) -> None:
    (rule,) = viewers["viewer-east"].get("/v2/whoami")["rules"]
    assert (rule["kind"], rule["object_type"], rule["privilege"]) == ("vcenter_privilege", "vsphere_cluster", "System.Read")
    assert (rule["object_id"], rule["object_name"]) == (f"{world.vcenter.instance_uuid}/{HX_EAST_OF_DC0}", "HX-East")


@pytest.mark.parametrize("name", ["viewer-east", "no-rights"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v2/clusters"),
        ("GET", "/v2/vcenters"),
        ("POST", "/v2/vcenters"),
        ("GET", "/v2/vcenters/{vc}"),
        ("DELETE", "/v2/vcenters/{vc}"),
        ("POST", "/v2/vcenters/{vc}/register"),
        ("POST", "/v2/vcenters/{vc}/unregister"),
        ("GET", "/v2/vcenters/{vc}/status"),
        ("POST", "/v2/vcenters/{vc}/rescan"),
        ("GET", "/v2/vcenters/{vc}/vsphere-clusters"),
    ],
)
def test_a_viewer_may_do_nothing_of_an_administrator(viewers: dict[str, Api], world: World, name: str, method: str, path: str) -> None:
    body = {"json": {}} if method == "POST" and not path.endswith("rescan") else {}
    viewers[name].refused(403, "forbidden", method, path.replace("{vc}", world.vcenter.instance_uuid), headers={"X-KaaS": "1"}, **body)


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_viewer_changes_no_cluster(viewers: dict[str, Api], method: str) -> None:
    known = ids(viewers["admin"])["prod-1"]
    body = {"data": b'{"description": null}', "headers": {"Content-Type": "application/merge-patch+json"}} if method == "PATCH" else {}
    viewers["viewer-east"].refused(403, "forbidden", method, f"/v2/clusters/{known}", **body)
    assert viewers["admin"].get(f"/v2/clusters/{known}")["description"] == "Shop front"


# -- changes ------------------------------------------------------------------------------------------------------------


def test_a_permission_that_was_taken_away_shows_after_the_fresh_time(moving: World) -> None:
    viewer = stay_signed_in(moving, "viewer-east")
    assert viewer.names() == visible_to("viewer-east")
    moving.vcenter.control.forbid(HX_EAST_OF_DC0, "VSPHERE.LOCAL\\viewer-east")
    try:
        until(lambda: viewer.names() == [], "the loss of the permission")
    finally:
        moving.vcenter.control.permit(HX_EAST_OF_DC0, "VSPHERE.LOCAL\\viewer-east")
    until(lambda: viewer.names() == visible_to("viewer-east"), "the permission given back")


def test_a_permission_that_was_given_shows_after_the_fresh_time(moving: World) -> None:
    viewer = stay_signed_in(moving, "no-rights")
    assert viewer.names() == []
    moving.vcenter.control.permit(HX_WEST, "VSPHERE.LOCAL\\no-rights")
    try:
        until(lambda: viewer.names() == visible_to("viewer-dc", WEST), "the new permission")
    finally:
        moving.vcenter.control.forbid(HX_WEST, "VSPHERE.LOCAL\\no-rights")


def test_after_a_cookie_the_end_of_the_session_at_the_vcenter_is_told(moving: World) -> None:
    made = moving.vcenter.control.login("viewer-east@vsphere.local")
    viewer = moving.kaasd.api().login_session(moving.vcenter.instance_uuid, made["cookie"])
    assert viewer.names() == visible_to("viewer-east")
    moving.vcenter.control.expire(key=made["key"])
    until(lambda: viewer.call("GET", "/v2/clusters").status_code == 401, "the end of the session")
    problem = viewer.refused(401, "session_ended", "GET", "/v2/whoami")
    assert "vCenter" in problem["detail"]
    viewer.refused(401, "session_ended", "POST", "/v2/token/refresh")


def test_after_a_ticket_the_rights_are_those_of_the_user(moving: World) -> None:
    with vimclient.session(moving.vcenter, moving.vcenter.users["viewer-east"]) as instance:
        viewer = moving.kaasd.api().login_ticket(moving.vcenter.instance_uuid, vimclient.clone_ticket(instance))
    moving.vcenter.control.forget_calls()
    until(lambda: viewer.names() and moving.vcenter.control.calls(op="HasUserPrivilegeOnEntities"), "a question by user name")
    assert viewer.names() == visible_to("viewer-east")


def test_a_vsphere_cluster_that_vanishes_does_not_fail_everybody(moving: World) -> None:
    viewer, control = stay_signed_in(moving, "viewer-dc"), moving.vcenter.control
    made = control.call(
        "POST", "/objects", {"action": "create", "datacenter": "DC0", "cluster": {"name": "Short-Lived", "moref": "domain-c55"}}
    )
    rescan = f"/v2/vcenters/{moving.vcenter.instance_uuid}/rescan"
    moving.admin.expect(200, "POST", rescan)
    added = moving.admin.expect(
        201,
        "POST",
        "/v2/clusters",
        json={
            "name": "short-1",
            "kubernetes_version": "1.31.2",
            "control_plane": {"desired": 1},
            "workers": {"desired": 0},
            "vsphere_clusters": [{"vcenter_id": moving.vcenter.instance_uuid, "moref": made["id"]}],
        },
    )
    until(lambda: "short-1" in viewer.names(), "the cluster on the new vSphere cluster")
    control.call("POST", "/objects", {"action": "remove", "id": made["id"]})
    until(lambda: "short-1" not in viewer.names(), "the end of the vSphere cluster")
    assert viewer.names() == visible_to("viewer-dc")
    assert stay_signed_in(moving, "viewer-east").names() == visible_to("viewer-east")
    moving.admin.expect(200, "POST", rescan)
    assert "short-1" in moving.admin.names()
    moving.admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


def test_a_vsphere_cluster_that_was_renamed_keeps_its_clusters(moving: World) -> None:
    control, rescan = moving.vcenter.control, f"/v2/vcenters/{moving.vcenter.instance_uuid}/rescan"
    control.call("POST", "/objects", {"action": "rename", "id": HX_WEST, "name": "HX-Renamed"})
    try:
        moving.admin.expect(200, "POST", rescan)
        assert moving.admin.names(hx_cluster="HX-Renamed") == visible_to("admin", WEST)
        moving.admin.refused(404, "hx_name_unknown", "GET", "/v2/clusters", params={"hx_cluster": "HX-West"})
    finally:
        control.call("POST", "/objects", {"action": "rename", "id": HX_WEST, "name": "HX-West"})
        moving.admin.expect(200, "POST", rescan)


# -- the vCenter is away (last: the vCenter of this world does not come back) -----------------------------------------------


@pytest.fixture(scope="module")
def left_alone(moving: World) -> Api:
    """A viewer whose vCenter has gone away after the sign-on."""
    viewer = stay_signed_in(moving, "viewer-east")
    moving.vcenter.stop()
    until(lambda: "vcenter" in viewer.call("GET", "/v2/clusters").headers.get("KaaS-Stale", ""), "the mark of the vCenter")
    return viewer


def test_reads_go_on_without_the_vcenter(left_alone: Api) -> None:
    assert left_alone.names() == visible_to("viewer-east")


def test_what_is_read_without_the_vcenter_is_marked(left_alone: Api) -> None:
    assert "vcenter" in left_alone.call("GET", "/v2/clusters").headers["KaaS-Stale"].split(", ")


def test_an_administrator_reads_everything_without_the_vcenter(left_alone: Api, moving: World) -> None:
    assert left_alone
    assert moving.admin.names() == sorted(sample.name for sample in SAMPLES)


def test_who_is_known_to_no_vcenter_hears_of_it_as_well(left_alone: Api, moving: World) -> None:
    """An administrator and somebody with a grant; "not modified" and the end of a wait say it too. Who sees nothing there hears nothing."""
    assert left_alone
    admin = moving.kaasd.admin()
    first = admin.call("GET", "/v2/clusters")
    assert first.headers["KaaS-Stale"] == "vcenter"
    same = admin.call("GET", "/v2/clusters", headers={"If-None-Match": first.headers["ETag"]})
    assert (same.status_code, same.headers["KaaS-Stale"]) == (304, "vcenter")
    cursor = admin.call("GET", "/v2/clusters", params={"watch": ""}).headers["KaaS-Watch-Cursor"]
    waited = admin.call("GET", "/v2/clusters", params={"watch": cursor, "wait": 1})
    assert (waited.status_code, waited.headers["KaaS-Stale"]) == (204, "vcenter")
    assert "KaaS-Stale" not in admin.call("GET", "/v2/users").headers
    guest = local_user(moving, "guest")
    assert "KaaS-Stale" not in guest.call("GET", "/v2/clusters").headers
    given = {"principal_id": guest.get("/v2/whoami")["id"], "object_kind": "cluster", "object_id": ids(admin)["prod-1"]}
    admin.expect(201, "POST", "/v2/grants", json=given)
    until(lambda: guest.call("GET", "/v2/clusters").headers.get("KaaS-Stale") == "vcenter", "the mark for who has a grant")


def test_sign_on_without_the_vcenter_tells_what_is_wrong(left_alone: Api, moving: World) -> None:
    assert left_alone
    problem = moving.kaasd.api().refused(
        502,
        "upstream_unreachable",
        "POST",
        "/v2/login/vcenter",
        headers={"X-KaaS": "1"},
        json={"vcenter": moving.vcenter.instance_uuid, "session_id": "0" * 40},
    )
    assert "127.0.0.1" in problem["detail"]


def test_the_status_of_a_vcenter_that_is_away_is_an_answer(left_alone: Api, moving: World) -> None:
    assert left_alone
    status = moving.admin.get(f"/v2/vcenters/{moving.vcenter.instance_uuid}/status")
    assert status["state"] == "unreachable"
    assert status["state_reason"]


def test_health_names_the_vcenter_that_is_away(left_alone: Api, moving: World) -> None:
    assert left_alone
    checks = {check["name"]: check for check in moving.admin.get("/v2/health")["checks"]}
    assert checks[f"vcenter:{moving.vcenter.host}"]["status"] == "failed"


def test_a_vcenter_that_is_away_is_no_failure_of_kaasd(left_alone: Api, moving: World) -> None:
    assert moving.admin.get("/v2/health")["status"] == "warning"
    said = moving.kaasd.ctl.run("health")
    assert (said.returncode, said.stdout.splitlines()[0].split()[-1]) == (1, "failed")
    assert f"vcenter:{moving.vcenter.host}" in said.stdout


def test_health_tells_names_of_vcenters_to_administrators_only(left_alone: Api) -> None:
    checks = left_alone.get("/v2/health")["checks"]
    assert {check["name"]: check["status"] for check in checks}["vcenter"] == "failed"
    assert not [check for check in checks if ":" in check["name"] or check["detail"] or check["remedy"]]
