"""HX clusters are found by their extension keys, exactly, and follow what changes at the vCenter."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from env.full import World, add_vcenter, register
from env.vcenter import DEFAULT_WORLD

pytestmark = pytest.mark.slow
BASE = "com.springpath.sysmgmt"
MANY = 230


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("d") as whole:
        add_vcenter(whole.kaasd, whole.vcenter)
        register(whole.kaasd, whole.vcenter)
        yield whole


def put_hx(world: World, key: str) -> None:
    world.vcenter.control.put_extension(key=key, version="5.0.1", company="Cisco Systems, Inc.", label="HX", summary="HX")


def rescan(world: World) -> dict[str, Any]:
    return world.admin.expect(200, "POST", f"/v2/vcenters/{world.vcenter.instance_uuid}/rescan")


def present(world: World) -> dict[str, str]:
    """moref -> name of the HX clusters that are there."""
    return {hx["vsphere_cluster"]["moref"]: hx["name"] for hx in world.admin.items("/v2/hx-clusters") if hx["present"]}


@pytest.fixture
def found(place: World) -> Iterator[World]:
    """The inventory of the world file, read."""
    records = {extension["key"]: extension for extension in json.loads(DEFAULT_WORLD.read_text())["extensions"]}
    yield place
    for key in place.vcenter.control.extensions():
        if key.startswith(BASE) and key not in records:
            place.vcenter.control.drop_extension(key)
    for key in records:
        put_hx(place, key)
    rescan(place)


def test_exactly_the_clusters_with_a_key_are_hx_clusters(found: World) -> None:
    assert present(found) == {"domain-c7": "HX-East", "domain-c70": "HX-West", "domain-c26": "HX-East"}


def test_a_key_is_compared_whole(found: World) -> None:
    """domain-c7 is the beginning of domain-c70."""
    found.vcenter.control.drop_extension(f"{BASE}.domain-c7")
    found.vcenter.control.drop_extension(f"{BASE}.uuid.domain-c7")
    rescan(found)
    assert set(present(found)) == {"domain-c70", "domain-c26"}


def test_the_uuid_form_alone_is_enough(found: World) -> None:
    found.vcenter.control.drop_extension(f"{BASE}.domain-c7")
    rescan(found)
    assert set(present(found)) == {"domain-c7", "domain-c70", "domain-c26"}


def test_both_forms_of_a_key_make_one_hx_cluster(found: World) -> None:
    assert len([hx for hx in found.admin.items("/v2/hx-clusters") if hx["vsphere_cluster"]["moref"] == "domain-c7"]) == 1


def test_hx_clusters_are_found_by_name(found: World) -> None:
    rows = list(found.admin.items("/v2/hx-clusters"))
    assert len({row["name"] for row in rows}) > 1
    for name in {row["name"] for row in rows}:
        same = [row["id"] for row in found.admin.get(f"/v2/hx-clusters?name={name}")["items"]]
        assert sorted(same) == sorted(row["id"] for row in rows if row["name"] == name)
    assert found.admin.get("/v2/hx-clusters?name=HX-Nowhere")["items"] == []


def test_the_base_record_is_no_hx_cluster_and_no_ignored_key(found: World) -> None:
    assert BASE not in rescan(found)["ignored_keys"]


def test_the_key_of_a_cluster_that_is_gone_is_reported_and_not_acted_on(found: World) -> None:
    result = rescan(found)
    assert result["ignored_keys"] == [f"{BASE}.domain-c999"]
    assert (result["vsphere_clusters"], result["hx_clusters"]) == (4, 3)


@pytest.mark.parametrize("key", [f"{BASE}x.domain-c40", "com.springpath.sysmgm.domain-c40", "com.example.domain-c40",
                                 f"x.{BASE}.domain-c40"])
def test_a_key_that_is_only_similar_is_none(found: World, key: str) -> None:
    put_hx(found, key)
    result = rescan(found)
    assert "domain-c40" not in present(found)
    assert key not in result["ignored_keys"]


@pytest.mark.parametrize("tail", ["domain-c", "domain-c40.more", "host-11", "uuid.domain-c999", "Domain-C7"])
def test_a_key_below_the_base_that_names_no_cluster_is_reported(found: World, tail: str) -> None:
    put_hx(found, f"{BASE}.{tail}")
    assert f"{BASE}.{tail}" in rescan(found)["ignored_keys"]
    assert set(present(found)) == {"domain-c7", "domain-c70", "domain-c26"}


def test_a_new_record_shows_after_a_rescan(found: World) -> None:
    put_hx(found, f"{BASE}.domain-c40")
    rescan(found)
    assert present(found)["domain-c40"] == "C-Plain"


def test_a_record_that_comes_back_keeps_its_id(found: World) -> None:
    before = {hx["vsphere_cluster"]["moref"]: hx["id"] for hx in found.admin.items("/v2/hx-clusters")}
    found.vcenter.control.drop_extension(f"{BASE}.domain-c70")
    rescan(found)
    put_hx(found, f"{BASE}.domain-c70")
    rescan(found)
    after = {hx["vsphere_cluster"]["moref"]: hx["id"] for hx in found.admin.items("/v2/hx-clusters")}
    assert after["domain-c70"] == before["domain-c70"]


def test_a_rescan_without_changes_changes_nothing(found: World) -> None:
    rescan(found)
    result = rescan(found)
    assert (result["added"], result["changed"], result["gone"], result["differed_from_watch"]) == (0, 0, 0, False)


def test_a_cluster_that_was_renamed_has_its_new_name_after_a_rescan(found: World) -> None:
    control = found.vcenter.control
    control.object("rename", id="domain-c70", name="HX-Wild-West")
    try:
        rescan(found)
        assert present(found)["domain-c70"] == "HX-Wild-West"
    finally:
        control.object("rename", id="domain-c70", name="HX-West")


def test_kaasctl_rescans_and_tells_what_was_found(found: World) -> None:
    said = found.kaasd.ctl.json("vcenter", "rescan", found.vcenter.host)
    assert (said["vsphere_clusters"], said["ignored_keys"]) == (4, [f"{BASE}.domain-c999"])


def test_a_vcenter_that_is_not_registered_is_not_scanned(fresh_world: World) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    fresh_world.admin.refused(409, "not_registered", "POST", f"/v2/vcenters/{fresh_world.vcenter.instance_uuid}/rescan")


def test_many_clusters_come_in_pages_and_no_page_is_left_open(fresh_world: World) -> None:
    world, control = fresh_world, fresh_world.vcenter.control
    for i in range(MANY):
        control.object("create", datacenter="DC0", cluster={"name": f"Many-{i:03}", "moref": f"domain-c{2000 + i}"})
    put_hx(world, f"{BASE}.domain-c{2000 + MANY - 1}")
    add_vcenter(world.kaasd, world.vcenter)
    register(world.kaasd, world.vcenter)
    assert rescan(world)["vsphere_clusters"] == MANY + 4
    assert present(world)[f"domain-c{2000 + MANY - 1}"] == f"Many-{MANY - 1:03}"
    names = [item["name"] for item in world.admin.items(f"/v2/vcenters/{world.vcenter.instance_uuid}/vsphere-clusters", limit=50)]
    assert len(names) == MANY + 4
    assert len(set(names)) == MANY + 3  # two clusters are called HX-East
    state = control.state()
    assert (state["open_pages"], state["abandoned_pages"]) == (0, 0)
    assert len(control.calls(op="ContinueRetrievePropertiesEx")) >= MANY // 100


def test_a_cluster_that_was_removed_is_gone_after_a_rescan(fresh_world: World) -> None:
    world, control = fresh_world, fresh_world.vcenter.control
    control.object("create", datacenter="DC0", cluster={"name": "Short-Lived", "moref": "domain-c3000"})
    put_hx(world, f"{BASE}.domain-c3000")
    add_vcenter(world.kaasd, world.vcenter)
    register(world.kaasd, world.vcenter)
    assert present(world)["domain-c3000"] == "Short-Lived"
    control.object("remove", id="domain-c3000")
    result = rescan(world)
    assert result["vsphere_clusters"] == 4
    assert f"{BASE}.domain-c3000" in result["ignored_keys"]
    assert "domain-c3000" not in present(world)
