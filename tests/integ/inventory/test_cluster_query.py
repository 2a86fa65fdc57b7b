"""What the list of clusters is asked: words, labels, page numbers, order; and how many there are, for everybody of what they may see."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from env.api import Api
from env.full import World
from env.samples import EAST, SAMPLES, visible_to

Make = Callable[..., dict[str, Any]]
COUNTS = "/v2/clusters/counts"
STATES = ("unknown", "creating", "ready", "updating", "degraded", "unreachable", "failed", "deleting")
VIEWERS = ("viewer-east", "viewer-dc", "no-rights", "admin")
ALL = visible_to("admin")


@pytest.fixture(scope="module")
def admin(world: World) -> Api:
    return world.admin


@pytest.fixture(scope="module")
def viewers(world: World) -> dict[str, Api]:
    return {name: world.admin if name == "admin" else world.sign_in(name) for name in VIEWERS}


@pytest.fixture
def make(world: World, admin: Api) -> Iterator[Make]:
    """Adds clusters that go away with the test."""
    made: list[str] = []

    def add(place: str = EAST, **more: Any) -> dict[str, Any]:
        body = {
            "name": f"t-{uuid.uuid4().hex[:12]}",
            "kubernetes_version": "1.31.2",
            "control_plane": {"desired": 3},
            "workers": {"desired": 2},
            "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": place}],
        }
        added: dict[str, Any] = admin.expect(201, "POST", "/v2/clusters", json={**body, **more})
        made.append(added["id"])
        return added

    yield add
    for known in made:
        admin.expect(204, "DELETE", f"/v2/clusters/{known}")


# -- words --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("1.30", ["west-1"]),
        ("DEGRADED", ["prod-2"]),
        ("team=shop", ["prod-1"]),
        ("Team", ["prod-1"]),
        ("prod pay", ["prod-2"]),
        ("pay prod", ["prod-2"]),
        ("shop 1.31 ready prod team=", ["prod-1"]),
        ("v1.31.2 prod-1", ["prod-1"]),
        ("prod-1 V1.31", ["prod-1"]),
        ("prod west", []),
        ("  prod-1  ", ["prod-1"]),
        (" ", ALL),
        ("front prod-1", ["prod-1"]),
        ("frontteam", []),
    ],
)
def test_each_word_is_found_somewhere(admin: Api, q: str, names: list[str]) -> None:
    assert admin.names(q=q) == names
    assert admin.get(COUNTS, q=q)["total"] == len(names)


def test_a_change_is_found_by_its_new_words_only(admin: Api, make: Make) -> None:
    known = make(labels={"colour": "Mauve"}, state="creating")
    assert admin.names(q="colour=mauve creating") == [known["name"]]
    change = {"labels": {"colour": "teal"}, "state": "failed"}
    admin.expect(200, "PATCH", f"/v2/clusters/{known['id']}", json=change, headers={"Content-Type": "application/merge-patch+json"})
    assert admin.names(q="mauve") == admin.names(q="creating") == []
    assert admin.names(q="teal failed") == [known["name"]]


# -- labels -------------------------------------------------------------------------------------------------------------


def test_labels_are_combined_and_compared_exactly(admin: Api, make: Make) -> None:
    one = make(labels={"env": "prod", "team": "a b", "empty": ""})["name"]
    two = make(labels={"env": "production", "team": "x=y"})["name"]
    both = sorted([one, two])
    for label, names in {
        "env": both,
        "env=prod": [one],
        "env=production": [two],
        "env=Prod": [],
        "ENV": [],
        "en": [],
        "env=": [],
        "empty=": [one],
        "empty": [one],
        "team=x=y": [two],
        "team=a b": [one],
        "env,team": both,
        "env,team=a b": [one],
        "env=production,team=a b": [],
        "env,env": both,
        ",".join(["env"] * 8): both,
    }.items():
        assert admin.names(label=label) == names, label
        assert admin.get(COUNTS, label=label)["total"] == len(names), label
    assert admin.names(label="env", q="production") == [two]


@pytest.mark.parametrize("path", ["/v2/clusters", COUNTS])
@pytest.mark.parametrize("label", ["", ",", "a,", ",a", "a,,b", "=", "=x", "a,=x", ",".join("abcdefghi")])
def test_a_wrong_label_is_refused(admin: Api, path: str, label: str) -> None:
    assert admin.refused(400, "invalid_request", "GET", path, params={"label": label})["parameter"] == "label"


def test_labels_are_not_repeated(admin: Api) -> None:
    admin.refused(400, "invalid_request", "GET", "/v2/clusters", params=[("label", "a"), ("label", "b")])


# -- page numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["name", "-name", "state", "-workers", "hx_cluster"])
def test_pages_by_number_hold_everything_once(admin: Api, sort: str) -> None:
    pages = [admin.get("/v2/clusters", sort=sort, limit=2, offset=offset) for offset in range(0, len(ALL), 2)]
    assert [item["name"] for page in pages for item in page["items"]] == admin.names(sort=sort)
    assert {page["total"] for page in pages} == {len(ALL)}


def test_the_next_page_of_a_numbered_one_is_by_cursor(admin: Api) -> None:
    page = admin.get("/v2/clusters", limit=2, offset=1)
    assert [item["name"] for item in page["items"]] == ALL[1:3]
    assert admin.names(limit=2, cursor=page["next_cursor"]) == ALL[3:]


@pytest.mark.parametrize("offset", [len(ALL), 1000, 1000000])
def test_behind_the_end_there_is_an_empty_page(admin: Api, offset: int) -> None:
    assert admin.get("/v2/clusters", offset=offset) == {"items": [], "total": len(ALL), "next_cursor": None}


@pytest.mark.parametrize("offset", ["-1", "1000001", "x", "", "1.5", " 1", "99999999999999999999"])
def test_an_offset_out_of_bounds_is_refused(admin: Api, offset: str) -> None:
    assert admin.refused(400, "invalid_request", "GET", "/v2/clusters", params={"offset": offset})["parameter"] == "offset"


def test_offset_and_cursor_exclude_each_other(admin: Api) -> None:
    cursor = admin.get("/v2/clusters", limit=1)["next_cursor"]
    for offset in (0, 1):
        problem = admin.refused(400, "invalid_request", "GET", "/v2/clusters", params={"limit": 1, "cursor": cursor, "offset": offset})
        assert problem["parameter"] == "offset"
        assert "cursor" in problem["detail"]


# -- order --------------------------------------------------------------------------------------------------------------


def test_the_worst_state_comes_first_with_a_minus(admin: Api) -> None:
    assert [item["state"] for item in admin.items("/v2/clusters", sort="-state")] == ["degraded", "updating", *["ready"] * 4]


def test_workers_order_by_desired_then_ready(admin: Api, make: Make) -> None:
    big, less = make(workers={"desired": 900, "ready": 3})["name"], make(workers={"desired": 900})["name"]
    assert admin.names(sort="-workers")[:2] == [big, less]
    assert admin.names(sort="workers")[-2:] == [less, big]


def test_the_control_plane_orders_alike(admin: Api, make: Make) -> None:
    big = make(control_plane={"desired": 99})["name"]
    assert admin.names(sort="control_plane")[-1] == big


def test_hx_clusters_order_by_name_and_none_comes_first(admin: Api) -> None:
    found = [[hx["name"] for hx in item["placement"]["hx_clusters"]] for item in admin.items("/v2/clusters", sort="hx_cluster")]
    assert [names[0] if names else "" for names in found] == ["", *["HX-East"] * 4, "HX-West"]


# -- how many -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VIEWERS)
@pytest.mark.parametrize("query", [{}, {"q": "prod"}, {"state": "ready"}, {"label": "team=shop"}, {"vcenter": "127.0.0.1"}, {"q": "none"}])
def test_total_and_counts_are_of_what_the_person_sees(viewers: dict[str, Api], name: str, query: dict[str, str]) -> None:
    shown = list(viewers[name].items("/v2/clusters", **query))
    assert {item["name"] for item in shown} <= set(visible_to(name))
    for more in ({}, {"limit": 1}, {"limit": 1, "sort": "-created_at"}, {"offset": 3}):
        assert viewers[name].get("/v2/clusters", **query, **more)["total"] == len(shown)
    by_state = Counter(item["state"] for item in shown)
    declared = sum((item["state"], item["state_source"]) == ("ready", "declared") for item in shown)
    assert viewers[name].get(COUNTS, **query) == {"total": len(shown), "states": {state: by_state[state] for state in STATES},
                                                  "ready_declared": declared}


def test_the_samples_are_counted(viewers: dict[str, Api]) -> None:
    assert viewers["admin"].get(COUNTS)["states"] == {**dict.fromkeys(STATES, 0), "ready": 4, "degraded": 1, "updating": 1}
    assert viewers["viewer-east"].get(COUNTS) == {"total": 3, "states": {**dict.fromkeys(STATES, 0), "ready": 2, "degraded": 1},
                                                  "ready_declared": 2}
    assert viewers["no-rights"].get(COUNTS)["total"] == 0
    assert len(SAMPLES) == viewers["admin"].get("/v2/clusters", limit=1)["total"]


def test_a_hidden_cluster_changes_no_total_and_no_tag(viewers: dict[str, Api], make: Make) -> None:
    paths = ("/v2/clusters", COUNTS)
    before = {path: viewers["viewer-east"].call("GET", path).headers["ETag"] for path in paths}
    admins = {path: viewers["admin"].call("GET", path, params={"limit": 1} if path != COUNTS else {}).headers["ETag"] for path in paths}
    make("DC0/HX-West", name="zz-hidden")
    for path in paths:
        held = {"If-None-Match": before[path]}
        assert viewers["viewer-east"].call("GET", path, headers=held).status_code == 304
        more = {"limit": 1} if path != COUNTS else {}
        assert viewers["admin"].call("GET", path, params=more, headers={"If-None-Match": admins[path]}).status_code == 200
    make(EAST, name="zz-shown")
    assert viewers["viewer-east"].get(COUNTS)["total"] == 4


def test_counts_of_an_hx_cluster_by_name(viewers: dict[str, Api]) -> None:
    assert viewers["viewer-dc"].get(COUNTS, hx_cluster="HX-East")["total"] == len(visible_to("viewer-dc", EAST))
    for name, hx, code in (("viewer-east", "HX-West", "hx_name_unknown"), ("no-rights", "HX-East", "not_found"),
                           ("admin", "HX-Nowhere", "hx_name_unknown")):
        viewers[name].refused(404, code, "GET", COUNTS, params={"hx_cluster": hx})
    problem = viewers["admin"].refused(409, "ambiguous", "GET", COUNTS, params={"hx_cluster": "HX-East"})
    assert sorted(candidate["path"] for candidate in problem["candidates"]) == ["DC0/HX-East", "DC1/HX-East"]


@pytest.mark.parametrize("name", VIEWERS)
def test_each_cluster_is_on_an_hx_cluster_or_on_none(viewers: dict[str, Api], name: str) -> None:
    api = viewers[name]
    on = {item["name"] for item in api.items("/v2/clusters") if item["placement"]["hx_clusters"]}
    for flag, names in (("true", on), ("false", set(visible_to(name)) - on)):
        assert api.names(on_hx=flag) == sorted(names)
        assert api.get(COUNTS, on_hx=flag)["total"] == len(names)
    if name == "admin":
        assert on and on != set(visible_to(name))


@pytest.mark.parametrize("path", ["/v2/clusters", COUNTS])
def test_on_hx_is_yes_or_no_and_stands_alone(admin: Api, path: str) -> None:
    for query in ({"on_hx": ""}, {"on_hx": "1"}, {"on_hx": "False"}, {"on_hx": "true", "hx_cluster": "HX-West"},
                  {"on_hx": "false", "hx_cluster_id": str(uuid.uuid4())}):
        assert admin.refused(400, "invalid_request", "GET", path, params=query)["parameter"] == "on_hx"


@pytest.mark.parametrize("name", VIEWERS)
def test_whole_hx_clusters_are_what_each_of_them_is(viewers: dict[str, Api], name: str) -> None:
    api = viewers[name]
    bare, whole = list(api.items("/v2/hx-clusters")), list(api.items("/v2/hx-clusters", whole="true"))
    assert whole == [api.get(f"/v2/hx-clusters/{hx['id']}") for hx in bare]
    assert bare == [{member: hx[member] for member in hx if member not in ("panel_origins", "clusters", "facts")} for hx in whole]
    assert bare == list(api.items("/v2/hx-clusters", whole="false"))
    on_one = sum(hx["clusters"]["total"] for hx in whole)
    assert on_one >= api.get(COUNTS, on_hx="true")["total"] and bool(on_one) == (name != "no-rights")


def test_whole_is_yes_or_no(admin: Api) -> None:
    for value in ("", "yes", "1", "True"):
        assert admin.refused(400, "invalid_request", "GET", "/v2/hx-clusters", params={"whole": value})["parameter"] == "whole"


def test_list_and_counts_of_one_query_are_told_apart(admin: Api) -> None:
    """Both are kept by their query."""
    for _ in range(3):
        assert "states" in admin.get(COUNTS, q="prod")
        assert "items" in admin.get("/v2/clusters", q="prod")


def test_counts_are_fresh_as_the_list_is(admin: Api) -> None:
    answer = admin.call("GET", COUNTS)
    assert answer.headers["KaaS-As-Of"]
    assert answer.headers["ETag"].startswith("W/")
    assert admin.call("GET", COUNTS, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert admin.call("HEAD", COUNTS).status_code == 200


@pytest.mark.parametrize("parameter", ["sort", "limit", "offset", "cursor", "watch", "wait"])
def test_counts_have_no_pages(admin: Api, parameter: str) -> None:
    assert parameter in admin.refused(400, "invalid_request", "GET", COUNTS, params={parameter: "1"})["detail"]


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "PUT", "POST"])
def test_counts_are_no_cluster(world: World, admin: Api, method: str) -> None:
    answer = admin.ask(method, COUNTS, headers={"Authorization": f"Bearer {admin.token}"}, json={})
    assert (answer.status_code, set(answer.headers["Allow"].split(", "))) == (405, {"GET", "HEAD", "OPTIONS"})
    admin.refused(404, "not_found", "GET", f"{COUNTS}/nodes")
