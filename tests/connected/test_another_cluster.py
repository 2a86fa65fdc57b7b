"""Another cluster comes to stand behind the address, without a moment of silence, and takes our token: it is noticed, and not believed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from env.connected import Connected
from env.kube import Balancer, Kube, Nodes
from env.kube.nodes import machine
from env.places import Scratch
from env.wait import until

QUIET_S = 6.0  # a watch that lives for less counts as one that is ended at once


@pytest.fixture(scope="module")
def other(scratch: Scratch, kube: Kube) -> Iterator[Kube]:
    """Its versions are numbers of the same etcd, so a watch of the right cluster can go on there; our account may do everything."""
    with Kube(scratch, "other", etcd=kube.etcd, prefix="/other", twin=kube) as cluster:
        cluster.kubectl("create", "clusterrolebinding", "everybody", "--clusterrole=cluster-admin", "--group=system:serviceaccounts")
        yield cluster


@pytest.fixture
def others(other: Kube) -> Iterator[Nodes]:
    with Nodes(other) as nodes:
        yield nodes
        other.kubectl("delete", "nodes", "--all")


@pytest.fixture
def way(kube: Kube) -> Iterator[Balancer]:
    with Balancer(kube) as balancer:
        yield balancer


@pytest.fixture
def prod(connected: Connected, way: Balancer) -> str:
    connected.nodes.write([machine("w-1")])
    config = yaml.safe_load(connected.kube.kubeconfig())
    config["clusters"][0]["cluster"]["server"] = way.url
    cluster_id: str = connected.connect("prod", kubeconfig=yaml.safe_dump(config))["cluster_id"]
    until(lambda: set(connected.node_rows(cluster_id)) == {"w-1"}, "the node")
    return cluster_id


def status(connected: Connected, cluster_id: str) -> dict[str, Any]:
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def is_noticed(connected: Connected, other: Kube, cluster_id: str) -> bool:
    told = status(connected, cluster_id)
    return (told["state"], told["reason"]) == ("refused", "other_cluster") and other.api.uid() in told["detail"]


def copy_account(connected: Connected, other: Kube) -> None:
    """So that it takes our token."""
    name = next(name for name in connected.account_objects() if name.startswith("ServiceAccount/")).split("/")[1]
    place = f"serviceaccounts/kaas-system/{name}"
    other.etcd.copy(f"{connected.kube.prefix}/{place}", f"{other.prefix}/{place}")


@pytest.mark.parametrize("is_all", [True, False], ids=["all connections break", "the watch alone begins anew"])
def test_it_is_noticed_and_nothing_of_it_is_taken(  # noqa: PLR0913 - fixtures
        connected: Connected, way: Balancer, other: Kube, others: Nodes, prod: str, is_all: bool) -> None:
    copy_account(connected, other)
    others.write([machine("of-another")])
    watch = until(lambda: way.quiet(QUIET_S), "a watch that has lived for a while")
    way.kube = other
    way.cut(None if is_all else watch)
    others.condition("of-another", "Ready", "False")
    others.write([machine("of-another-2")])
    until(lambda: is_noticed(connected, other, prod), "the other cluster")
    assert set(connected.node_rows(prod)) == {"w-1"}
    connected.nodes.write([machine("w-2")])
    way.kube = connected.kube
    way.cut()
    until(lambda: set(connected.node_rows(prod)) == {"w-1", "w-2"}, "the right cluster, and nothing else")
    until(lambda: status(connected, prod)["state"] == "ok", "a good connection")
