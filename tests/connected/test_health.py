"""What a connected cluster's health says as it falls ill and gets well."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.connected import Connected
from env.full import World
from env.kube import Kube
from env.kube.nodes import machine
from env.wait import until


@pytest.fixture(scope="module")
def kube(world: World) -> Iterator[Kube]:
    """One of its own, with three members of etcd: these tests break it."""
    with Kube(world.scratch, "ill", members=3, has_controllers=True) as cluster:
        yield cluster


@pytest.fixture
def prod(connected: Connected) -> str:
    connected.nodes.write([machine("cp-1", is_control_plane=True), machine("w-1"), machine("w-2")])
    cluster_id: str = connected.connect()["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    return cluster_id


def reasons(connected: Connected, cluster_id: str) -> dict[str, dict[str, Any]]:
    health = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/health")
    return {reason["reason"]: reason for reason in health["reasons"]}


def test_a_node_that_stops_degrades_it_and_one_that_comes_back_heals_it(connected: Connected, prod: str) -> None:
    connected.nodes.condition("w-1", "Ready", "False", "KubeletNotReady", "container runtime is down")
    cluster = connected.wait_state(prod, "degraded")
    assert cluster["state_source"] == "asked"
    assert "w-1" in cluster["state_reason"]
    assert cluster["workers"]["ready"] == 1
    assert connected.node_rows(prod)["w-1"]["kubernetes"]["ready"] is False
    told = reasons(connected, prod)["workers_not_ready"]
    assert (told["severity"], bool(told["remedy"])) == ("warning", True)
    connected.nodes.condition("w-1", "Ready", "True")
    connected.wait_state(prod, "ready")


def test_pressure_and_a_cordoned_node_are_told(connected: Connected, prod: str) -> None:
    connected.nodes.condition("w-1", "DiskPressure", "True")
    connected.nodes.spec("w-2", unschedulable=True)
    connected.wait_state(prod, "degraded")
    told = until(lambda: found if {"disk_pressure", "cordoned"} <= set(found := reasons(connected, prod)) else None, "both reasons")
    assert told["cordoned"]["severity"] == "info"
    rows = connected.node_rows(prod)
    assert rows["w-1"]["kubernetes"]["pressure"] == ["DiskPressure"]
    assert rows["w-2"]["kubernetes"]["cordoned"] is True


def test_an_api_server_that_dies_and_comes_back(connected: Connected, prod: str) -> None:
    connected.kube.kill()
    cluster = connected.wait_state(prod, "unreachable", 60)
    assert cluster["state_source"] == "asked"
    assert set(connected.node_rows(prod)) == {"cp-1", "w-1", "w-2"}
    connected.kube.start()
    connected.nodes.write([machine("w-3")])
    connected.wait_state(prod, "ready", 60)
    until(lambda: "w-3" in connected.node_rows(prod), "a node that came meanwhile")


def test_an_api_server_that_takes_connections_and_never_answers(connected: Connected, prod: str) -> None:
    connected.kube.freeze()
    try:
        cluster = connected.wait_state(prod, "unreachable", 60)
    finally:
        connected.kube.thaw()
    assert "does not answer" in cluster["state_reason"]
    connected.wait_state(prod, "ready", 60)


def test_without_quorum_it_is_never_ready(connected: Connected, prod: str) -> None:
    members = connected.kube.etcd.members
    members[0].kill()
    members[1].kill()
    try:
        connected.wait_state(prod, "unreachable", 60)
        assert "no_quorum" in reasons(connected, prod)
    finally:
        members[0].start()
        members[1].start()
    connected.wait_state(prod, "ready", 60)


def test_a_trimmed_role_is_named_and_the_rest_goes_on(connected: Connected, prod: str) -> None:
    name = next(name for name in connected.account_objects() if name.startswith("Role/")).split("/")[1]
    connected.kube.kubectl("delete", "role", name, "-n", "kube-system")
    connected.admin.expect(200, "POST", f"/v2/clusters/{prod}/connection/test")
    connected.nodes.condition("w-1", "Ready", "False")
    connected.wait_state(prod, "degraded")
