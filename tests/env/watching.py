"""Live watching, seen from outside: what shows in the interface, what the vCenter was asked, who saves."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from .api import Api
from .full import World
from .vcenter import StrictVcenter
from .wait import until

BASE = "com.springpath.sysmgmt"


def watch_of(world: World, api: Api | None = None) -> dict[str, Any]:
    """The watch as the vCenter's status shows it."""
    return (api or world.admin).get(f"/v2/vcenters/{world.vcenter.instance_uuid}/status")["watch"]


def until_watching(world: World, api: Api | None = None) -> dict[str, Any]:
    """Waits until a whole picture was told, and saved if it is this replica that saves."""

    def is_watching() -> dict[str, Any] | None:
        watch = watch_of(world, api)
        return watch if watch["since"] and (watch["saved_at"] or not watch["saving"]) else None

    return until(is_watching, "a watch")


def our_sessions(vcenter: StrictVcenter) -> list[dict[str, Any]]:
    return [row for row in vcenter.control.sessions() if row["extension_session"] and "Harmony-KaaS" in row["user_agent"]]


def put_hx(world: World, moref: str) -> None:
    world.vcenter.control.put_extension(key=f"{BASE}.{moref}", version="5.0.1", company="Cisco Systems, Inc.", label="HX", summary="HX")


def drop_hx(world: World, moref: str) -> None:
    world.vcenter.control.drop_extension(f"{BASE}.{moref}")


def present(world: World) -> dict[str, str]:
    """moref -> name of the HX clusters that are there."""
    return {hx["vsphere_cluster"]["moref"]: hx["name"] for hx in world.admin.items("/v2/hx-clusters") if hx["present"]}


def vsphere(world: World, api: Api | None = None) -> dict[str, tuple[str, str]]:
    """moref -> (name, datacenter) of the vSphere clusters that are there."""
    path = f"/v2/vcenters/{world.vcenter.instance_uuid}/vsphere-clusters"
    return {item["moref"]: (item["name"], item["datacenter"]) for item in (api or world.admin).items(path) if item.get("present", True)}


def samples(api: Api, name: str) -> dict[str, int]:
    """The samples of a metric, by their labels as they stand there; an administrator may read them."""
    answer = api.call("GET", "/metrics")
    assert answer.status_code == 200, answer.text
    lines = [line.rsplit(" ", 1) for line in answer.text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
    return {series.removeprefix(name): int(float(value)) for series, value in lines}


def metric(api: Api, name: str) -> int:
    """Sum over the labels of a metric; 0 when it is not there yet."""
    return sum(samples(api, name).values())


def add_cluster(world: World, name: str, nodes: list[dict[str, Any]]) -> str:
    """A Kubernetes cluster with nodes on the world's vCenter, declared on HX-East; its id."""
    full = [{"vcenter_id": world.vcenter.instance_uuid, **node} for node in nodes]
    places = [{"vcenter_id": world.vcenter.instance_uuid, "moref": "domain-c7"}]
    body = {"name": name, "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
            "vsphere_clusters": places, "nodes": full}
    return world.admin.expect(201, "POST", "/v2/clusters", json=body)["id"]


def nodes(world: World, cluster: str) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in world.admin.items(f"/v2/clusters/{cluster}/nodes")}


def placed(world: World, cluster: str) -> set[str]:
    """morefs of the vSphere clusters that a cluster is shown on."""
    return {item["moref"] for item in world.admin.get(f"/v2/clusters/{cluster}")["placement"]["vsphere_clusters"]}
