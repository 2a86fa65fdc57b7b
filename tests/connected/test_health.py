"""What a connected cluster's health says as it falls ill and gets well."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from env.connected import Connected
from env.kube import Balancer, Kube
from env.kube.nodes import machine
from env.places import Scratch
from env.wait import until


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    """One of its own, with three members of etcd: these tests break it."""
    with Kube(scratch, "ill", members=3, has_controllers=True) as cluster:
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


def test_rows_of_nodes_keep_what_was_told_until_the_cluster_is_unreachable(connected: Connected, prod: str) -> None:
    connected.nodes.condition("w-1", "Ready", "False")
    connected.wait_state(prod, "degraded")
    told = {"cp-1": "ready", "w-1": "not_ready", "w-2": "ready"}
    assert {name: row["state"] for name, row in connected.node_rows(prod).items()} == told
    connected.kube.freeze()
    seen: list[str | None] = []  # as of when rows were, before the state was unreachable

    def is_unreachable() -> bool:
        rows = connected.node_rows(prod)
        if connected.cluster(prod)["state"] == "unreachable":  # looked at after the rows
            return True
        assert {name: row["state"] for name, row in rows.items()} == told
        seen.append(rows["w-1"]["kubernetes"]["as_of"])
        return False

    try:
        until(is_unreachable, "the state unreachable", 60)
        assert None in seen and seen[-1], "a try had failed, and nothing else had changed"
        rows = connected.node_rows(prod)
        assert {row["state"] for row in rows.values()} == {"unknown"}
        assert rows["w-1"]["kubernetes"]["ready"] is False and rows["w-1"]["kubernetes"]["as_of"] == seen[-1]
    finally:
        connected.kube.thaw()
    connected.wait_state(prod, "degraded", 60)
    assert connected.node_rows(prod)["w-2"]["kubernetes"]["as_of"] is None


def test_a_node_that_is_removed_is_missed_where_it_was_declared(connected: Connected) -> None:
    """Kubernetes itself finds nothing wrong with a cluster that has lost a node in good order."""
    connected.nodes.write([machine("cp-1", is_control_plane=True), machine("cp-2", is_control_plane=True), machine("w-1")])
    cluster_id = connected.typed("declared", control_plane={"desired": 2}, workers={"desired": 1})
    connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{cluster_id}/connection", "PUT")
    connected.wait_state(cluster_id, "ready")
    connected.nodes.delete("cp-2")
    cluster = connected.wait_state(cluster_id, "degraded")
    assert cluster["control_plane"] == {"ready": 1, "desired": 2}
    assert "control_plane_not_ready" in reasons(connected, cluster_id)
    connected.admin.expect(200, "PATCH", f"/v2/clusters/{cluster_id}", json={"control_plane": {"desired": 1}},
                           headers={"Content-Type": "application/merge-patch+json"})
    connected.wait_state(cluster_id, "ready")


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


def test_quorum_that_is_lost_in_silence_is_told(connected: Connected) -> None:
    """Its checks take longer than a hurried look waits; and its connections have broken, so the watch would begin anew, and nobody could
    say which cluster this is."""
    connected.nodes.write([machine("w-1")])
    members = connected.kube.etcd.members[:2]
    with Balancer(connected.kube) as way:
        config = yaml.safe_load(connected.kube.kubeconfig())
        config["clusters"][0]["cluster"]["server"] = way.url
        cluster_id: str = connected.connect("behind", kubeconfig=yaml.safe_dump(config))["cluster_id"]
        connected.wait_state(cluster_id, "ready")
        connected.kube.freeze()
        try:
            until(lambda: "no_answer" in reasons(connected, cluster_id), "the reason no_answer", 60)
            for member in members:
                member.kill()
            way.cut()
        finally:
            connected.kube.thaw()
        try:
            until(lambda: "no_quorum" in reasons(connected, cluster_id), "the reason no_quorum", 60)
            assert connected.cluster(cluster_id)["state"] == "unreachable"
        finally:
            for member in members:
                member.start()
        connected.wait_state(cluster_id, "ready", 60)


def test_a_trimmed_role_is_named_and_the_rest_goes_on(connected: Connected, prod: str) -> None:
    name = next(name for name in connected.account_objects() if name.startswith("Role/")).split("/")[1]
    connected.kube.kubectl("delete", "role", name, "-n", "kube-system")
    connected.admin.expect(200, "POST", f"/v2/clusters/{prod}/connection/test")
    connected.nodes.condition("w-1", "Ready", "False")
    connected.wait_state(prod, "degraded")
