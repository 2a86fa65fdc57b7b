"""Several replicas on one database: one watches a cluster, another takes over, and one that has slept changes nothing."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from env.connected import OPTIONS, Connected
from env.full import World
from env.kaasd import Kaasd
from env.kube import Kube
from env.kube.nodes import machine
from env.replicas import Pair
from env.wait import until

LEASE_MS = 10000


@pytest.fixture(scope="module")
def pair(world: World) -> Iterator[Pair]:
    two = Pair(world, OPTIONS)
    yield two
    two.both[1].stop()


def speaks_with(daemon: Kaasd, kube: Kube) -> bool:
    assert daemon.process
    return any(one.raddr and one.raddr.port == kube.port for one in psutil.Process(daemon.process.pid).net_connections("tcp"))


@pytest.fixture
def prod(connected: Connected, pair: Pair) -> str:
    until(lambda: not any(speaks_with(one, connected.kube) for one in pair.both), "the end of the watch that the test before had")
    connected.nodes.write([machine("w-1"), machine("w-2")])
    cluster_id: str = connected.connect()["cluster_id"]
    until(lambda: len(connected.node_rows(cluster_id)) == 2, "both nodes")
    until(lambda: holder(pair, cluster_id), "a holder")
    return cluster_id


def holder(pair: Pair, cluster_id: str) -> Kaasd | None:
    return pair.holder_of(f"kube:{cluster_id}")


def held_by(pair: Pair, cluster_id: str) -> tuple[Kaasd, Kaasd]:
    """Who holds the lease, and the other."""
    first = until(lambda: holder(pair, cluster_id), "a holder")
    return first, next(one for one in pair.both if one is not first)


def watches(kube: Kube) -> int:
    """Of nodes, by whomever."""
    text = kube.kubectl("get", "--raw", "/metrics")
    found = re.findall(r'^apiserver_longrunning_requests\{[^}]*resource="nodes"[^}]*verb="WATCH"[^}]*\} (\d+)', text, re.M)
    return sum(map(int, found))


def as_seen_by(pair: Pair, number: int) -> Any:
    """An administrator's session at this replica."""
    return pair.both[number].api(pair.token)


def rows(world: World, cluster_id: str) -> list[Any]:
    """Everything of this connection that a holder writes."""
    ask = world.db.query
    return [ask("SELECT * FROM kube_statuses WHERE cluster_id = %s", cluster_id, database="kaas"),
            ask("SELECT * FROM kube_nodes WHERE cluster_id = %s ORDER BY node_id", cluster_id, database="kaas"),
            ask("SELECT sealed FROM secrets WHERE owner_id = %s", cluster_id, database="kaas")]


def test_one_watches_and_both_list_the_same(connected: Connected, pair: Pair, prod: str) -> None:
    before = watches(connected.kube)
    connected.admin.expect(200, "DELETE", f"/v2/clusters/{prod}/connection")
    until(lambda: watches(connected.kube) == before - 1, "the end of the one watch")
    again = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{prod}/connection", "PUT")
    assert again.status_code in (200, 201), again.text
    until(lambda: watches(connected.kube) == before, "one watch")
    connected.nodes.write([machine("w-3")])
    for number in (0, 1):
        api = as_seen_by(pair, number)
        until(lambda api=api: {row["name"] for row in api.items(f"/v2/clusters/{prod}/nodes")} == {"w-1", "w-2", "w-3"}, "all nodes")
    assert watches(connected.kube) == before


def test_it_is_handed_over_when_the_holder_dies(connected: Connected, pair: Pair, prod: str) -> None:
    first, other = held_by(pair, prod)
    number = pair.both.index(other)
    first.kill()
    left = "SELECT expires_at_ms - FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000) FROM leases WHERE name = %s"
    ((left_ms,),) = connected.world.db.query(left, f"kube:{prod}", database="kaas")
    assert left_ms <= LEASE_MS
    try:
        connected.nodes.write([machine("meanwhile")])
        api = as_seen_by(pair, number)
        until(lambda: "meanwhile" in {row["name"] for row in api.items(f"/v2/clusters/{prod}/nodes")}, "the node that came meanwhile")
        assert holder(pair, prod) is other
    finally:
        first.start()


def test_it_is_handed_over_at_once_when_the_holder_stops(connected: Connected, pair: Pair, prod: str) -> None:
    first, other = held_by(pair, prod)
    first.stop()
    assert holder(pair, prod) is not first, "the lease is left to end by itself"
    try:
        until(lambda: holder(pair, prod) is other, "another holder")
    finally:
        first.start()


def test_one_that_has_slept_changes_nothing(connected: Connected, pair: Pair, prod: str) -> None:
    """Asleep for longer than its lease; awake it is told of a node by the watch that it still has."""
    first, other = held_by(pair, prod)
    assert first.process
    assert other.process
    before = watches(connected.kube)
    first.process.freeze()
    try:
        until(lambda: holder(pair, prod) is other, "another holder")
        until(lambda: watches(connected.kube) == before + 1, "a second watch")
        other.process.freeze()  # so that whatever is written is by the sleeper
        longer = "UPDATE leases SET expires_at_ms = expires_at_ms + 600000 WHERE name = %s"
        connected.world.db.query(longer, f"kube:{prod}", database="kaas")
        connected.nodes.write([machine("w-3")])
        was = rows(connected.world, prod)
        first.process.thaw()
        until(lambda: watches(connected.kube) == before, "the end of the sleeper's watch")
        assert rows(connected.world, prod) == was
        assert holder(pair, prod) is other
    finally:
        first.process.thaw()
        other.process.thaw()
    api = as_seen_by(pair, pair.both.index(first))
    until(lambda: {row["name"] for row in api.items(f"/v2/clusters/{prod}/nodes")} == {"w-1", "w-2", "w-3"}, "it")
    assert holder(pair, prod) is other
