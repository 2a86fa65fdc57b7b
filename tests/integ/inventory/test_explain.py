"""Why somebody sees a cluster, or does not: to oneself only about what one sees, to administrators about anybody."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from env.api import Api
from env.full import World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clusters(world: World) -> dict[str, str]:
    return {row["name"]: row["id"] for row in world.admin.items("/v2/clusters")}


def stay_signed_in(world: World, name: str) -> Api:
    """Signed in by the cookie of a vCenter session that goes on."""
    cookie = world.vcenter.control.login(f"{name}@vsphere.local")["cookie"]
    return world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)


def matched(answer: dict[str, Any]) -> set[tuple[str, str]]:
    return {(rule["kind"], rule["object_type"]) for rule in answer["rules"] if rule["matched"]}


def vc_id(world: World, name: str) -> str:
    return f"vc:{world.vcenter.instance_uuid}:{world.vcenter.users[name].login.lower()}"


def explain(api: Api, cluster: str, **query: str) -> dict[str, Any]:
    return api.expect(200, "GET", f"/v2/clusters/{cluster}/explain", params=query)


def test_a_person_learns_by_which_rule_a_cluster_is_seen(world: World, clusters: dict[str, str]) -> None:
    east = stay_signed_in(world, "viewer-east")
    seen = {row["id"] for row in east.items("/v2/clusters")}
    assert seen and seen != set(clusters.values())
    for cluster in seen:
        answer = explain(east, cluster)
        assert answer["visible"] is True and ("vcenter_privilege", "vsphere_cluster") in matched(answer)
        assert ("role", "all") not in matched(answer)
        shown = east.get(f"/v2/clusters/{cluster}")["placement"]
        assert answer["hidden"] == shown["hidden"]
        names = {place["name"] for place in shown["vsphere_clusters"]}
        assert {rule["object_name"] for rule in answer["rules"] if rule["object_type"] == "vsphere_cluster"} == names


def test_what_one_may_not_see_is_not_explained(world: World, clusters: dict[str, str]) -> None:
    east = stay_signed_in(world, "viewer-east")
    hidden = set(clusters.values()) - {row["id"] for row in east.items("/v2/clusters")}
    for cluster in hidden:
        east.refused(404, "not_found", "GET", f"/v2/clusters/{cluster}/explain")
    seen = next(iter(east.items("/v2/clusters")))["id"]
    east.refused(403, "forbidden", "GET", f"/v2/clusters/{seen}/explain", params={"principal": vc_id(world, "viewer-dc")})


def test_an_administrator_asks_about_people_who_are_not_signed_in(world: World, clusters: dict[str, str]) -> None:
    admin = world.admin
    for name in ("viewer-east", "viewer-dc", "no-rights"):
        seen = {row["id"] for row in stay_signed_in(world, name).items("/v2/clusters")}
        for cluster in clusters.values():
            answer = explain(admin, cluster, principal=vc_id(world, name))
            assert answer["visible"] is (cluster in seen), answer
            assert answer["role"] == "user" and all(rule["matched"] is not None for rule in answer["rules"])
            assert answer["basis"] == "vcenter" and "asked by the user's name" in answer["note"]
    absent = explain(admin, next(iter(clusters.values())), principal=f"vc:{world.vcenter.instance_uuid}:vsphere.local\\never-been-here")
    assert absent["visible"] is False and "does not say whether there is such an account" in absent["note"]


def test_an_administrator_asks_about_local_users(world: World, clusters: dict[str, str]) -> None:
    answer = explain(world.admin, next(iter(clusters.values())), principal="ADMIN")
    assert answer["visible"] is True and ("role", "all") in matched(answer) and answer["principal_id"].startswith("local:")
    for odd in ("nobody-here", "vc:", "vc:x:y", f"vc:{'0' * 36}:anna"):
        world.admin.refused(404, "not_found", "GET", f"/v2/clusters/{next(iter(clusters.values()))}/explain", params={"principal": odd})


def test_what_a_vcenter_does_not_say_is_not_known(world: World, clusters: dict[str, str]) -> None:
    world.vcenter.control.fault("HasUserPrivilegeOnEntities", "fault", fault="SystemError", text="out of order", count=5)
    try:
        answer = explain(world.admin, clusters["prod-1"], principal=vc_id(world, "viewer-east"))
    finally:
        world.vcenter.control.clear_faults()
    assert answer["visible"] is None
    (unknown,) = [rule for rule in answer["rules"] if rule["matched"] is None]
    assert unknown["kind"] == "vcenter_privilege" and "not known" in unknown["reason"]


def test_the_command_says_it_in_words(world: World) -> None:
    name = next(iter(stay_signed_in(world, "viewer-east").items("/v2/clusters")))["name"]
    said = world.kaasd.ctl.ok("access", "explain", vc_id(world, "viewer-east"), name)
    assert f"sees cluster {name}" in said and "the vCenter says that the view privilege is there" in said
