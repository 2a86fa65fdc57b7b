"""What becomes of a connection with the master key that seals its token: another one, none any more."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.connected import OPTIONS, Connected
from env.full import World
from env.kube.nodes import machine
from env.wait import until


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("y", options=OPTIONS) as started:
        yield started


def status(connected: Connected, cluster_id: str) -> dict[str, Any]:
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def test_it_goes_on_with_another_master_key(connected: Connected) -> None:
    kaasd = connected.world.kaasd
    cluster_id = connected.connect()["cluster_id"]
    kaasd.ctl.ok("--yes", "key", "rotate-master")
    kaasd.stop()
    kaasd.start()
    connected.nodes.write([machine("w-1")])
    until(lambda: set(connected.node_rows(cluster_id)) == {"w-1"}, "a node that came after")
    assert status(connected, cluster_id)["state"] == "ok"


def test_without_its_key_it_is_refused_until_it_is_connected_again_in_place(connected: Connected) -> None:
    kaasd = connected.world.kaasd
    cluster_id = connected.connect()["cluster_id"]
    connected.nodes.write([machine("w-1")])
    until(lambda: connected.node_rows(cluster_id), "the node")
    kaasd.stop()
    (kaasd.folder / "master.key").unlink()
    assert "--kubeconfig FILE" in kaasd.ctl.ok("--yes", "key", "forget-sealed")
    kaasd.start()
    kaasd._kept = None  # noqa: SLF001 - its session was signed by a key that is gone
    told = until(lambda: found if (found := status(connected, cluster_id))["state"] == "refused" else None, "the state refused")
    assert f"kaasctl cluster reconnect {cluster_id}" in told["remedy"]
    assert set(connected.node_rows(cluster_id)) == {"w-1"}
    answer = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{cluster_id}/connection", "PUT")
    assert answer.status_code == 200, answer.text
    until(lambda: status(connected, cluster_id)["state"] == "ok", "a good connection")
