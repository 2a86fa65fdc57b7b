"""Cluster records: adding, changing, removing, entity tags, lists with filters, order and pages."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from env.api import Api
from env.contract import Contract
from env.full import World
from env.samples import SAMPLES
from env.wait import until

MERGE = {"Content-Type": "application/merge-patch+json"}
Make = Callable[..., dict[str, Any]]
NAMED_AS = {"labels": "label", "nodes": "node"}  # one of them is named
ALL = sorted(sample.name for sample in SAMPLES)


@pytest.fixture(scope="module")
def admin(world: World) -> Api:
    return world.admin


def record(world: World, name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kubernetes_version": "1.31.2",
        "control_plane": {"desired": 3},
        "workers": {"desired": 2},
        "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": "DC0/HX-East"}],
        **more,
    }


def fresh_name() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def make(world: World, admin: Api) -> Iterator[Make]:
    """Adds clusters that go away with the test."""
    made: list[str] = []

    def add(name: str | None = None, **more: Any) -> dict[str, Any]:
        added = admin.expect(201, "POST", "/v2/clusters", json=record(world, name or fresh_name(), **more))
        made.append(added["id"])
        return added

    yield add
    for known in made:
        assert admin.call("DELETE", f"/v2/clusters/{known}").status_code in (204, 404)


def patch(api: Api, known: str, change: dict[str, Any], **headers: str) -> requests.Response:
    return api.call("PATCH", f"/v2/clusters/{known}", data=json.dumps(change), headers={**MERGE, **headers})


def unprocessable(admin: Api, body: dict[str, Any]) -> dict[str, Any]:
    return admin.refused(422, "unprocessable", "POST", "/v2/clusters", json=body)


# -- adding -------------------------------------------------------------------------------------------------------------


def test_an_added_cluster_is_answered_with_its_address_and_tag(world: World, admin: Api) -> None:
    answer = admin.call("POST", "/v2/clusters", json=record(world, fresh_name()))
    shown = admin.call("GET", answer.headers["Location"])
    admin.expect(204, "DELETE", answer.headers["Location"])
    assert (answer.status_code, answer.json()) == (201, shown.json())
    assert answer.headers["ETag"] == shown.headers["ETag"]
    assert not answer.headers["ETag"].startswith("W/")


def test_an_added_cluster_is_in_the_list_at_once(admin: Api, make: Make) -> None:
    added = make()
    assert added in list(admin.items("/v2/clusters", hx_cluster_id=added["placement"]["hx_clusters"][0]["id"]))


def test_all_members_of_a_record_are_kept(admin: Api, make: Make) -> None:
    given = {
        "description": "Zwölf Böxkämpfer 🥊",
        "api_endpoint": "https://10.0.0.1:6443",
        "dashboard_url": "https://d.example.com/x?y=1#z",
        "state": "degraded",
        "state_reason": "a worker is missing",
        "labels": {"team": "shop", "a/b.c_d": ""},
        "kubernetes_version": "1.31.2-rc.1+x",
        "control_plane": {"ready": 3, "desired": 3},
        "workers": {"ready": None, "desired": 0},
    }
    shown = admin.get(f"/v2/clusters/{make(**given)['id']}")
    assert {name: shown[name] for name in given} == given
    assert shown["state_source"] == "declared"


def test_each_text_that_may_be_empty_is_kept_shown_and_emptied(admin: Api, make: Make) -> None:
    """Whatever texts the contract knows: a new one is tested by being there."""
    contract = Contract()
    members = contract.document["components"]["schemas"]["ClusterCreate"]["properties"]
    given = {name: f"https://e.example.com/{name}" for name in members}
    given = {name: text for name, text in given.items() if not contract.errors(members[name], text) + contract.errors(members[name], None)}
    assert {"description", "state_reason", "api_endpoint", "dashboard_url"} <= set(given)
    added = make(**given)
    assert {name: added[name] for name in given} == given
    other = {name: text + "/other" for name, text in given.items()}
    changed = patch(admin, added["id"], other).json()
    assert {name: changed[name] for name in given} == other
    emptied = patch(admin, added["id"], dict.fromkeys(given)).json()
    assert {name: emptied[name] for name in given} == dict.fromkeys(given)


def test_what_was_not_given_is_empty(make: Make) -> None:
    added = make()
    assert (added["description"], added["api_endpoint"], added["dashboard_url"], added["state_reason"]) == (None, None, None, None)
    assert (added["state"], added["labels"], added["control_plane"]) == ("unknown", {}, {"ready": None, "desired": 3})


def test_a_vsphere_cluster_is_named_by_path_or_by_identity(world: World, make: Make) -> None:
    by_path = make()
    by_id = make(vsphere_clusters=[{"vcenter_id": world.vcenter.instance_uuid, "moref": "domain-c7"}])
    assert by_path["placement"] == by_id["placement"]


@pytest.mark.parametrize("path", ["DC0/HX-East", "/DC0/host/HX-East", "DC0/host/HX-East", "domain-c7", "DC%30/HX-East"])
def test_a_path_is_taken_as_people_type_it(world: World, admin: Api, make: Make, path: str) -> None:
    """With the vCenter and, since no other has such a one, without; in a filter, too."""
    if "%30" in path:  # no mark of vCenter's
        assert "DC%30" in unprocessable(admin, record(world, fresh_name(), vsphere_clusters=[{"path": path}]))["detail"]
        return
    refs = [{"vcenter": world.vcenter.instance_uuid, "path": path}, {"path": path}]
    for ref in refs:
        made = make(vsphere_clusters=[ref])
        assert [place["moref"] for place in made["placement"]["vsphere_clusters"]] == ["domain-c7"]
        assert made["id"] in [cluster["id"] for cluster in admin.items("/v2/clusters", vsphere_cluster=path)]


def test_names_of_vcenter_are_taken_plain_and_as_it_keeps_them(world: World, admin: Api, make: Make) -> None:
    control = world.vcenter.control
    control.rename("datacenter-3", "A%2fB")
    try:
        until(lambda: admin.call("GET", "/v2/clusters", params={"vsphere_cluster": "A/B/HX-East"}).status_code != 404, "the new name")
        for path in ("A/B/HX-East", "A%2fB/HX-East", "A%2FB/HX-East", "/A%2fB/host/HX-East"):
            made = make(vsphere_clusters=[{"path": path}])
            assert [place["moref"] for place in made["placement"]["vsphere_clusters"]] == ["domain-c26"]
        wrong = unprocessable(admin, record(world, fresh_name(), vsphere_clusters=[{"path": "A%2fb/HX-east"}]))
        assert wrong["remedy"] == "did you mean A%2fB/HX-East?"
    finally:
        control.rename("datacenter-3", "DC1")


def test_the_order_of_vsphere_clusters_does_not_matter(world: World, make: Make) -> None:
    refs = [{"vcenter_id": world.vcenter.instance_uuid, "moref": moref} for moref in ("domain-c7", "domain-c70")]
    assert make(vsphere_clusters=refs)["placement"] == make(vsphere_clusters=refs[::-1])["placement"]


def test_a_vsphere_cluster_that_is_given_twice_counts_once(world: World, make: Make) -> None:
    ref = {"vcenter_id": world.vcenter.instance_uuid, "moref": "domain-c7"}
    assert len(make(vsphere_clusters=[ref, ref])["placement"]["vsphere_clusters"]) == 1


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "with/slash",
        "100% sure",
        "%2F",
        "it's",
        'say "hi"',
        "back`tick",
        "back\\slash",
        "emoji 🚢🚢",
        "Ü" * 50,
        "x" * 50,
        "a  b",
        "<b>&amp;</b>",
        "${x}",
        "; DROP TABLE clusters; --",
        "null",
        "0",
        "..",
        "e\u0301",
        "⚠\ufe0f",
        "名前",
    ],
)
def test_names_are_taken_as_they_are(admin: Api, make: Make, name: str) -> None:
    added = make(name)
    assert admin.get(f"/v2/clusters/{added['id']}")["name"] == name
    assert name in admin.names(q=name) or len(name) > 100


@pytest.mark.parametrize("name", ["safe\u202egnp.exe", "a\u200bb", "\ufeffa", "\u2066a\u2069", "\u3164", "a\U000e0061"])
def test_names_that_look_like_others_are_refused(world: World, admin: Api, make: Make, name: str) -> None:
    told = unprocessable(admin, record(world, name))
    assert "nobody sees, U+" in told["detail"] and told["remedy"].startswith("leave it out")
    known = make()
    admin.refused(422, "unprocessable", "PATCH", f"/v2/clusters/{known['id']}", json={"name": name}, headers=MERGE)
    imported = admin.call("POST", "/v2/clusters:import", data=json.dumps(record(world, name)),
                          headers={"Content-Type": "application/x-ndjson"})
    assert imported.json()["items"][0]["result"] == "failed"


@pytest.mark.parametrize("name", ["", " ", "trailing ", " leading", "x" * 51, "🚢" * 51, "tab\there", "new\nline", "del\x7f", "c1\x85"])
def test_names_that_nobody_could_tell_apart_are_refused(world: World, admin: Api, name: str) -> None:
    assert "name" in unprocessable(admin, record(world, name))["detail"]


def test_a_name_is_there_once(world: World, admin: Api, make: Make) -> None:
    name = make()["name"]
    problem = admin.refused(409, "exists", "POST", "/v2/clusters", json=record(world, name))
    assert name in problem["detail"]


def test_case_counts_in_names(make: Make) -> None:
    name = fresh_name()
    make(name)
    make(name.upper())


def test_of_two_who_add_the_same_name_one_is_refused(world: World, admin: Api) -> None:
    name = fresh_name()
    with ThreadPoolExecutor(4) as crowd:
        answers = list(crowd.map(lambda _: admin.call("POST", "/v2/clusters", json=record(world, name)), range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    for answer in answers:
        if answer.status_code == 201:
            admin.expect(204, "DELETE", answer.headers["Location"])


def test_an_unknown_vsphere_cluster_is_told_by_name(world: World, admin: Api) -> None:
    body = record(world, fresh_name(), vsphere_clusters=[{"vcenter": world.vcenter.instance_uuid, "path": "DC0/Nowhere"}])
    assert "DC0/Nowhere" in unprocessable(admin, body)["detail"]


def test_an_unknown_vcenter_is_told_by_name(world: World, admin: Api) -> None:
    body = record(world, fresh_name(), vsphere_clusters=[{"vcenter": "vc.nowhere.example", "path": "DC0/HX-East"}])
    assert "vc.nowhere.example" in unprocessable(admin, body)["detail"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("description", "x" * 1001),
        ("kubernetes_version", "vv1.31.2"),
        ("kubernetes_version", "1.31"),
        ("kubernetes_version", ""),
        ("kubernetes_version", "1.31." + "1" * 64),
        ("api_endpoint", "http://10.0.0.1"),
        ("api_endpoint", "https://user:pw@10.0.0.1"),
        ("dashboard_url", "javascript:alert(1)"),
        ("dashboard_url", "https://"),
        ("dashboard_url", "https://a b"),
        ("dashboard_url", "https://a/" + "x" * 2048),
        ("state", "perfect"),
        ("state_reason", "x" * 1001),
        ("control_plane", {}),
        ("control_plane", {"desired": -1}),
        ("workers", {"desired": 100001}),
        ("workers", {"desired": 1.5}),
        ("workers", {"desired": 2**62}),
        ("workers", {"desired": 1, "extra": 1}),
        ("workers", []),
        ("vsphere_clusters", []),
        ("vsphere_clusters", [{}]),
        ("vsphere_clusters", [1]),
        ("vsphere_clusters", {}),
        ("vsphere_clusters", [{"vcenter": "x"}]),
        ("vsphere_clusters", [{"vcenter_id": "x", "moref": "domain-c7"}]),
        ("labels", {"": "x"}),
        ("labels", {"-x": "y"}),
        ("labels", {"x" * 64: "y"}),
        ("labels", {"a b": "c"}),
        ("labels", {"a": 1}),
        ("labels", {"a": "x" * 256}),
        ("labels", {f"k{i}": "" for i in range(65)}),
        ("labels", []),
        ("nodes", [{}]),
        ("nodes", [{"name": "n", "role": "boss"}]),
        ("nodes", [{"name": "", "role": "worker"}]),
        ("nodes", [{"name": "n", "role": "worker"}] * 2),
        ("nodes", [{"name": "n", "role": "worker", "vm_instance_uuid": "x"}]),
        ("name", None),
        ("name", 5),
        ("colour", "red"),
        ("id", "x"),
    ],
)
def test_a_wrong_member_is_named(world: World, admin: Api, member: str, value: Any) -> None:
    assert NAMED_AS.get(member, member) in unprocessable(admin, {**record(world, fresh_name()), member: value})["detail"]


@pytest.mark.parametrize("member", ["name", "kubernetes_version", "control_plane", "workers", "vsphere_clusters"])
def test_a_missing_member_is_named(world: World, admin: Api, member: str) -> None:
    body = record(world, fresh_name())
    del body[member]
    assert member in unprocessable(admin, body)["detail"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("description", "ü" * 1000),
        ("state_reason", "ü" * 1000),
        ("dashboard_url", "https://a/" + "x" * 2038),
        ("api_endpoint", "https://a/" + "x" * 2038),
        ("kubernetes_version", "1.31." + "1" * 59),
        ("labels", {"k" * 63: "ü" * 255}),
        ("labels", {f"k{i}": "" for i in range(64)}),
        ("workers", {"desired": 100000}),
        ("description", "🚢" * 1000),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_the_largest_values_of_the_contract_are_taken(admin: Api, make: Make, member: str, value: Any) -> None:
    shown = admin.get(f"/v2/clusters/{make(**{member: value})['id']}")[member]
    assert shown == value or {"ready": None, **value} == shown


# -- nodes --------------------------------------------------------------------------------------------------------------


def test_nodes_are_listed_with_the_control_plane_first(admin: Api, make: Make) -> None:
    roles = {"w-2": "worker", "w-1": "worker", "z-master": "control_plane", "a-master": "control_plane"}
    known = make(nodes=[{"name": name, "role": role} for name, role in roles.items()])["id"]
    assert admin.names(f"/v2/clusters/{known}/nodes") == ["a-master", "z-master", "w-1", "w-2"]


def test_nodes_come_in_pages(admin: Api, make: Make) -> None:
    wanted = [f"n-{i:03}" for i in range(25)]
    known = make(nodes=[{"name": name, "role": "worker"} for name in wanted])["id"]
    assert admin.names(f"/v2/clusters/{known}/nodes", limit=10) == wanted


def test_nodes_of_a_person_who_sees_a_part_are_counted_only(world: World, admin: Api, make: Make) -> None:
    refs = [{"vcenter_id": world.vcenter.instance_uuid, "moref": moref} for moref in ("domain-c7", "domain-c70")]
    known = make(vsphere_clusters=refs, nodes=[{"name": "n-1", "role": "worker"}])["id"]
    page = world.sign_in("viewer-east").get(f"/v2/clusters/{known}/nodes")
    assert (page["items"], page["hidden"]) == ([], 1)
    assert admin.get(f"/v2/clusters/{known}/nodes")["hidden"] == 0


# -- changing -----------------------------------------------------------------------------------------------------------


def test_a_patch_changes_what_it_names_and_nothing_else(admin: Api, make: Make) -> None:
    before = make(description="old", labels={"a": "1", "b": "2"})
    after = patch(admin, before["id"], {"description": "new", "labels": {"b": None, "c": "3"}, "workers": {"ready": 1}}).json()
    assert (after["description"], after["labels"], after["workers"]) == ("new", {"a": "1", "c": "3"}, {"ready": 1, "desired": 2})
    same = set(before) - {"description", "labels", "workers", "updated_at"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_null_empties_what_may_be_empty(make: Make, admin: Api) -> None:
    known = make(
        description="x",
        state_reason="y",
        api_endpoint="https://a",
        dashboard_url="https://b",
        labels={"a": "1"},
        nodes=[{"name": "n", "role": "worker"}],
    )["id"]
    change = dict.fromkeys(("description", "state_reason", "api_endpoint", "dashboard_url", "labels", "nodes"))
    after = patch(admin, known, change).json()
    assert [after[name] for name in ("description", "state_reason", "api_endpoint", "dashboard_url", "labels")] == [
        None,
        None,
        None,
        None,
        {},
    ]
    assert admin.names(f"/v2/clusters/{known}/nodes") == []


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"name": None},
        {"kubernetes_version": None},
        {"state": None},
        {"workers": None},
        {"workers": {}},
        {"vsphere_clusters": None},
        {"vsphere_clusters": []},
        {"id": "x"},
        {"created_at": "2026-01-01T00:00:00Z"},
        {"placement": {}},
    ],
    ids=str,
)
def test_a_patch_that_makes_no_sense_is_unprocessable(admin: Api, make: Make, change: dict[str, Any]) -> None:
    known = make()
    answer = patch(admin, known["id"], change)
    assert (answer.status_code, answer.json()["code"]) == (422, "unprocessable")
    assert admin.get(f"/v2/clusters/{known['id']}") == known


def test_a_cluster_can_move(world: World, admin: Api, make: Make) -> None:
    known = make()["id"]
    patch(admin, known, {"vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": "DC0/HX-West"}]})
    assert [hx["name"] for hx in admin.get(f"/v2/clusters/{known}")["placement"]["hx_clusters"]] == ["HX-West"]


def test_a_change_of_name_to_one_that_is_taken_is_refused(admin: Api, make: Make) -> None:
    answer = patch(admin, make()["id"], {"name": "prod-1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "exists")


def test_a_patch_needs_its_own_content_type(admin: Api, make: Make) -> None:
    admin.refused(415, "unsupported_media_type", "PATCH", f"/v2/clusters/{make()['id']}", json={"description": "x"})


def test_the_tag_changes_with_the_record(admin: Api, make: Make) -> None:
    known = make()["id"]
    before = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    after = patch(admin, known, {"description": "new"}).headers["ETag"]
    assert after != before
    assert admin.call("GET", f"/v2/clusters/{known}").headers["ETag"] == after


@pytest.mark.parametrize("form", ["{tag}", "*", '"other", {tag}', '"a" , "b", {tag} '])
def test_a_change_with_the_right_tag_goes_through(admin: Api, make: Make, form: str) -> None:
    known = make()["id"]
    tag = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    assert patch(admin, known, {"description": "x"}, **{"If-Match": form.replace("{tag}", tag)}).status_code == 200


@pytest.mark.parametrize("form", ['"0000000000000000"', "W/{tag}", "", "garbage"])
def test_a_change_with_another_tag_changes_nothing(admin: Api, make: Make, form: str) -> None:
    known = make()
    tag = admin.call("GET", f"/v2/clusters/{known['id']}").headers["ETag"]
    answer = patch(admin, known["id"], {"description": "x"}, **{"If-Match": form.replace("{tag}", tag)})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert admin.get(f"/v2/clusters/{known['id']}") == known


def test_of_two_changes_with_the_same_tag_one_goes_through(admin: Api, make: Make) -> None:
    known = make()["id"]
    tag = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    with ThreadPoolExecutor(4) as crowd:
        answers = list(crowd.map(lambda i: patch(admin, known, {"description": f"by {i}"}, **{"If-Match": tag}).status_code, range(4)))
    assert sorted(answers) == [200, 412, 412, 412]


# -- removing -----------------------------------------------------------------------------------------------------------


def test_a_removed_cluster_is_gone(admin: Api, make: Make) -> None:
    known = make()
    admin.expect(204, "DELETE", f"/v2/clusters/{known['id']}")
    admin.refused(404, "not_found", "GET", f"/v2/clusters/{known['id']}")
    admin.refused(404, "not_found", "DELETE", f"/v2/clusters/{known['id']}")
    assert known["name"] not in admin.names()


def test_a_removal_with_another_tag_removes_nothing(admin: Api, make: Make) -> None:
    known = make()["id"]
    admin.refused(412, "precondition_failed", "DELETE", f"/v2/clusters/{known}", headers={"If-Match": '"0000000000000000"'})
    admin.get(f"/v2/clusters/{known}")


def test_the_name_of_a_removed_cluster_is_free(admin: Api, make: Make) -> None:
    known = make()
    admin.expect(204, "DELETE", f"/v2/clusters/{known['id']}")
    make(known["name"])


@pytest.mark.parametrize("known", ["x", "00000000-0000-4000-8000-000000000000", "%20", "a%2Fb", "PROD-1", "null"])
def test_a_cluster_that_is_not_there_is_not_found(admin: Api, known: str) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/nodes")):
        assert admin.call(method, f"/v2/clusters/{known}{path}").json()["code"] in ("not_found", "invalid_request")


# -- reading again ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v2/clusters", "/v2/clusters/counts", "/v2/hx-clusters", "/v2/vcenters", "/v2/clusters/{id}",
                                  "/v2/clusters/{id}/nodes"])
def test_what_has_not_changed_is_not_sent_again(admin: Api, path: str) -> None:
    path = path.replace("{id}", next(admin.items("/v2/clusters"))["id"])

    def is_known(form: str) -> bool:
        """Sooner or later: a vCenter's record tells when it answered last, which may be between the two."""
        tag = admin.call("GET", path).headers["ETag"]
        held = form.format(tag=tag, strong=tag.removeprefix("W/"))
        answer = admin.call("GET", path, headers={"If-None-Match": held})
        return (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", tag)

    for form in ("{tag}", "*", '"x", {tag}', "{strong}", "W/{strong}"):
        until(lambda form=form: is_known(form), f"304 to {form}")  # type: ignore[misc]


def test_a_list_that_has_changed_is_sent_again(admin: Api, make: Make) -> None:
    tag = admin.call("GET", "/v2/clusters").headers["ETag"]
    make()
    assert admin.call("GET", "/v2/clusters", headers={"If-None-Match": tag}).status_code == 200


def test_lists_carry_weak_tags(admin: Api) -> None:
    assert admin.call("GET", "/v2/clusters").headers["ETag"].startswith("W/")


def test_fresh_data_carry_no_mark(admin: Api) -> None:
    headers = admin.call("GET", "/v2/clusters").headers
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", headers["KaaS-As-Of"])
    until(lambda: "KaaS-Stale" not in admin.call("GET", "/v2/clusters").headers, "fresh data")  # a database may have been slow


# -- lists --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7, 500])
@pytest.mark.parametrize("sort", ["name", "-name", "state", "-kubernetes_version", "workers", "-hx_cluster", "created_at", "-updated_at"])
def test_pages_hold_everything_once_and_in_order(admin: Api, limit: int, sort: str) -> None:
    assert admin.names(limit=limit, sort=sort) == admin.names(sort=sort)
    assert sorted(admin.names(limit=limit, sort=sort)) == ALL


@pytest.mark.parametrize(
    "sort", ["name", "state", "kubernetes_version", "control_plane", "workers", "hx_cluster", "created_at", "updated_at"]
)
def test_a_minus_turns_the_order_around(admin: Api, make: Make, sort: str) -> None:
    """But for those that are equal: they stay in the order of their names."""
    make()  # later than the samples, which came all at once
    up, down = admin.names(sort=sort), admin.names(sort=f"-{sort}")
    pairs = [(a, b) for n, a in enumerate(up) for b in up[n + 1:]]
    kept = [(a, b) for a, b in pairs if down.index(a) < down.index(b)]
    assert sorted(up) == sorted(down) and (up != down or sort == "control_plane")  # of which all samples have the same
    assert [(a, b) for a, b in kept if a > b] == []


def test_versions_are_ordered_as_numbers(admin: Api, make: Make) -> None:
    old = make(kubernetes_version="1.9.11")["name"]
    assert admin.names(sort="kubernetes_version")[0] == old


def test_a_page_goes_on_behind_what_was_removed(admin: Api, make: Make) -> None:
    names = [make(f"aa-{i}")["name"] for i in range(3)]
    page = admin.get("/v2/clusters", limit=2)
    admin.expect(204, "DELETE", f"/v2/clusters/{page['items'][1]['id']}")
    assert admin.get("/v2/clusters", limit=1, cursor=page["next_cursor"])["items"][0]["name"] == names[2]


@pytest.mark.parametrize("changed", [{"q": "prod"}, {"sort": "-name"}, {"sort": "state"}, {"state": "ready"}, {"label": "team"}])
def test_a_cursor_belongs_to_its_query(admin: Api, changed: dict[str, str]) -> None:
    cursor = admin.get("/v2/clusters", limit=1)["next_cursor"]
    admin.refused(400, "invalid_request", "GET", "/v2/clusters", params={"cursor": cursor, **changed})


@pytest.mark.parametrize("path", ["/v2/clusters", "/v2/hx-clusters", "/v2/vcenters"])
@pytest.mark.parametrize("cursor", ["x", "====", "AAAAAAAAAAAAAAAA", "é", "a" * 2000, ""])
def test_a_cursor_that_no_list_gave_is_refused_or_harmless(admin: Api, path: str, cursor: str) -> None:
    answer = admin.call("GET", path, params={"cursor": cursor})
    assert (answer.status_code, answer.json().get("code", "invalid_request")) in ((400, "invalid_request"), (200, "invalid_request"))
    assert path != "/v2/clusters" or answer.status_code == 400


@pytest.mark.parametrize("path", ["/v2/clusters", "/v2/hx-clusters", "/v2/vcenters"])
@pytest.mark.parametrize("limit", ["0", "501", "-1", "1.5", "ten", "", "1e2", "0x10", "99999999999999999999", " 1", "+1"])
def test_a_limit_out_of_bounds_is_refused_by_name(admin: Api, path: str, limit: str) -> None:
    problem = admin.refused(400, "invalid_request", "GET", path, params={"limit": limit})
    assert problem["parameter"] == "limit"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"state": "degraded"}, ["prod-2"]),
        ({"state": "degraded,updating"}, ["far-1", "prod-2"]),
        ({"q": "PROD"}, ["prod-1", "prod-2"]),
        ({"q": "shop"}, ["prod-1"]),
        ({"q": "nothing like it"}, []),
        ({"q": "%"}, []),
        ({"q": "_"}, []),
        ({"hx_cluster": "HX-West"}, ["stretched", "west-1"]),
        ({"vcenter": "127.0.0.1", "vsphere_cluster": "DC0/C-Plain"}, ["plain-1"]),
        ({"vcenter": "127.0.0.1", "vsphere_cluster": "domain-c26"}, ["far-1"]),
        ({"vcenter": "127.0.0.1"}, ALL),
        ({"hx_cluster": "HX-West", "q": "west-1"}, ["west-1"]),
        ({"state": "failed"}, []),
    ],
)
def test_filters_are_combined(admin: Api, query: dict[str, str], names: list[str]) -> None:
    assert admin.names(**query) == names


def test_letters_beyond_ascii_are_found(admin: Api, make: Make) -> None:
    name = make(description="Hafen MÜNCHEN")["name"]
    assert admin.names(q="hafen MÜN") == [name]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"state": "perfect"}, "state"),
        ({"state": ""}, "state"),
        ({"state": "ready,,failed"}, "state"),
        ({"state": "ready,"}, "state"),
        ({"state": "ready,ready"}, "state"),
        ({"sort": "colour"}, "sort"),
        ({"sort": ""}, "sort"),
        ({"sort": "--name"}, "sort"),
        ({"q": ""}, "q"),
        ({"q": "x" * 101}, "q"),
        ({"hx_cluster_id": "x"}, "hx_cluster_id"),
        ({"hx_cluster": "a", "hx_cluster_id": "00000000-0000-4000-8000-000000000000"}, "hx_cluster"),
        ({"hx_cluster": ""}, "hx_cluster"),
        ({"vcenter": ""}, "vcenter"),
        ({"colour": "red"}, "colour"),
        ({"Q": "x"}, "Q"),
        ({"limit ": "1"}, "limit "),
    ],
)
def test_a_wrong_parameter_is_named(admin: Api, query: dict[str, str], parameter: str) -> None:
    problem = admin.refused(400, "invalid_request", "GET", "/v2/clusters", params=query)
    assert problem.get("parameter", parameter) == parameter
    assert f'"{parameter}' in problem["detail"]


def test_a_parameter_that_is_given_twice_is_refused(admin: Api) -> None:
    admin.refused(400, "invalid_request", "GET", "/v2/clusters", params=[("q", "a"), ("q", "b")])


def test_an_unknown_vcenter_in_a_filter_does_not_exist(admin: Api) -> None:
    admin.refused(404, "not_found", "GET", "/v2/clusters", params={"vcenter": "vc.nowhere.example"})
