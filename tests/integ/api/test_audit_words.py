"""What a line of the audit log says of its object: its name, what changed, why it was refused."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.full import World

pytestmark = pytest.mark.slow
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("words") as world:
        world.join()
        yield world


@pytest.fixture(scope="module")
def cluster(place: World) -> dict[str, Any]:
    made: dict[str, Any] = place.admin.expect(201, "POST", "/v2/clusters", json={
        "name": "words-1", "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
        "vsphere_clusters": [{"vcenter": place.vcenter.instance_uuid, "path": "DC0/HX-East"}]})
    return made


def last(place: World, action: str, result: str = "ok") -> tuple[str, str]:
    line = next(place.admin.items("/v2/audit", action=action, result=result))
    return line.get("object_name") or "", line.get("reason") or ""


def test_a_renamed_cluster(place: World, cluster: dict[str, Any]) -> None:
    path = f"/v2/clusters/{cluster['id']}"
    place.admin.expect(200, "PATCH", path, json={"name": "words-2", "labels": {"team": "shop"}}, headers=MERGE)
    assert last(place, "cluster.change") == ("words-2", "name: words-1 -> words-2; labels")
    place.admin.expect(200, "PUT", f"{path}/status", json={"state": "degraded", "reason": "for the test"})
    assert last(place, "cluster.report")[0] == "words-2"


def test_a_refused_change_says_why(place: World, cluster: dict[str, Any]) -> None:
    answer = place.admin.refused(422, "unprocessable", "PATCH", f"/v2/clusters/{cluster['id']}", json={"kubernetes_version": "new"},
                                 headers=MERGE)
    name, reason = last(place, "cluster.change", "unprocessable")
    assert name and reason and reason in answer["detail"]


def test_a_grant_names_what_it_is_on(place: World, cluster: dict[str, Any]) -> None:
    name = place.admin.get(f"/v2/clusters/{cluster['id']}")["name"]
    user = f"vc:{place.vcenter.instance_uuid}:vsphere.local\\viewer-east"
    east = next(hx for hx in place.admin.items("/v2/hx-clusters") if hx["name"] == "HX-East")
    for kind, of, called in (("cluster", cluster["id"], name), ("hx_cluster", east["id"], "HX-East")):
        body = {"principal_id": user, "object_kind": kind, "object_id": of}
        given = place.admin.expect(201, "POST", "/v2/grants", headers={"X-KaaS": "1"}, json=body)
        assert last(place, "grant.create") == (called, f"viewer for {user}")
        assert place.admin.call("POST", "/v2/grants", headers={"X-KaaS": "1"}, json=body).status_code == 409
        assert last(place, "grant.create", "exists")[0] == called
        place.admin.expect(204, "DELETE", f"/v2/grants/{given['id']}")
        assert last(place, "grant.remove") == (called, f"viewer for {user}")


def test_a_renamed_hx_cluster_and_vcenter(place: World) -> None:
    east = next(hx for hx in place.admin.items("/v2/hx-clusters") if hx["name"] == "HX-East")
    place.admin.expect(200, "PATCH", f"/v2/hx-clusters/{east['id']}", json={"name": "East"}, headers=MERGE)
    assert last(place, "hx_cluster.change") == ("East", "name: HX-East -> East")
    place.admin.expect(200, "PATCH", f"/v2/hx-clusters/{east['id']}", json={"name": None}, headers=MERGE)
    vcenter = f"/v2/vcenters/{place.vcenter.instance_uuid}"
    before = place.admin.get(vcenter)["name"]
    place.admin.expect(200, "PATCH", vcenter, json={"name": "first vCenter"}, headers={**MERGE, "X-KaaS": "1"})
    assert last(place, "vcenter.change") == ("first vCenter", f"name: {before} -> first vCenter")


def test_what_is_removed_has_its_name(place: World, cluster: dict[str, Any]) -> None:
    name = place.admin.get(f"/v2/clusters/{cluster['id']}")["name"]
    place.admin.expect(204, "DELETE", f"/v2/clusters/{cluster['id']}")
    assert last(place, "cluster.remove") == (name, "")
