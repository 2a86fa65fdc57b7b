"""Nodes as kubelets write them, without kubelets: any number, each as the test wants it, with heartbeats until the test wants none."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import hashlib
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from .client import MERGE, Refused
from .programs import pinned
from .server import Kube

PATH = "/api/v1/nodes"
HEARTBEAT_S = 300.0  # kubelets write an unchanged status every five minutes; with controllers, whose patience is 50 s, take 10
WRITERS = 8
IMAGES = 30  # a kubelet tells no more than 50; with these a node is of 7 KB, as most are
# What a kubelet says of a machine that is well.
WELL = {"MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        "Ready": ("True", "KubeletReady", "kubelet is posting ready status")}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def _time(ago_s: float = 0) -> str:
    return (datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def uuid_of(text: str) -> str:
    """The same for the same text, as machines keep theirs."""
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


@dataclass(frozen=True)
class NodeShape:
    """What a test may choose; the rest is as kubelets have it. `conditions` are further ones or others than WELL: kind and status."""

    name: str
    provider_id: str = ""
    system_uuid: str = ""
    address: str = "192.0.2.10"
    version: str = pinned("current")
    is_control_plane: bool = False
    is_cordoned: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str], ...] = ()  # key and effect
    conditions: Mapping[str, str] = field(default_factory=dict)
    images: int = IMAGES


def machine(name: str, **more: Any) -> NodeShape:
    """A node on a virtual machine of vSphere: both ways of telling which are there, and agree."""
    known = uuid_of(name)
    return NodeShape(name, **{"provider_id": f"vsphere://{known}", "system_uuid": known, **more})


def condition_of(kind: str, status: str, reason: str = "", message: str = "", *, heartbeat_ago_s: float = 0) -> dict[str, str]:
    """As a kubelet writes it; reason and message are the usual ones unless given."""
    usual = WELL.get(kind, ("", "", ""))
    as_usual = status == usual[0]
    return {"type": kind, "status": status, "lastHeartbeatTime": _time(heartbeat_ago_s), "lastTransitionTime": _time(heartbeat_ago_s),
            "reason": reason or (usual[1] if as_usual else f"{kind}Is{status}"),
            "message": message or (usual[2] if as_usual else f"{kind} is {status}")}


def _image(number: int) -> dict[str, Any]:
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    name = f"registry.example.test/platform/component-{number}"
    return {"names": [f"{name}@sha256:{digest}", f"{name}:v1.{number}.0"], "sizeBytes": 40_000_000 + number * 1_234_567}


def document(shape: NodeShape) -> dict[str, Any]:
    """The node as it is sent."""
    roles = {CONTROL_PLANE: ""} if shape.is_control_plane else {}
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": shape.name,
              "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", **roles, **shape.labels}
    taints = [(CONTROL_PLANE, "NoSchedule")] * shape.is_control_plane + list(shape.taints)
    spec: dict[str, Any] = {"taints": [{"key": key, "effect": effect} for key, effect in taints], "unschedulable": shape.is_cordoned}
    if shape.provider_id:
        spec["providerID"] = shape.provider_id
    room = {"cpu": "8", "memory": "32863220Ki", "pods": "110", "ephemeral-storage": "101583780Ki", "hugepages-2Mi": "0"}
    conditions = {kind: status for kind, (status, _, _) in WELL.items()} | dict(shape.conditions)
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": shape.name, "labels": labels,
                     "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
        "spec": spec,
        "status": {
            "capacity": room, "allocatable": {**room, "memory": "32760820Ki", "ephemeral-storage": "93619611344"},
            "conditions": [condition_of(kind, status) for kind, status in conditions.items()],
            "addresses": [{"type": "InternalIP", "address": shape.address}, {"type": "Hostname", "address": shape.name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {"machineID": uuid_of(f"machine of {shape.name}").replace("-", ""), "systemUUID": shape.system_uuid,
                         "bootID": uuid_of(f"boot of {shape.name}"), "kernelVersion": "6.1.0-30-amd64",
                         "osImage": "Debian GNU/Linux 12 (bookworm)", "containerRuntimeVersion": "containerd://1.7.24",
                         "kubeletVersion": shape.version, "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"},
            "images": [_image(number) for number in range(shape.images)]}}


class Nodes:
    """The nodes of a cluster, written through its API server; a context manager, since heartbeats are written until it ends. A heartbeat
    that finds no server is left out, as a kubelet's is."""

    def __init__(self, kube: Kube, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self.kube = kube
        self.heartbeat_s = heartbeat_s
        self._pool = ThreadPoolExecutor(WRITERS)
        self._kinds: dict[str, list[str]] = {}  # of each node with heartbeats, its conditions
        self._lock = threading.Lock()
        self._leave = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the heartbeats; the nodes stay."""
        self._leave.set()
        self._beating.join()
        self._pool.shutdown()

    # writing

    def write(self, shapes: Iterable[NodeShape]) -> None:
        """Makes them, several at a time."""
        for shape in self._each(self._make, shapes):
            with self._lock:
                self._kinds[shape.name] = list(dict.fromkeys((*WELL, *shape.conditions)))

    def write_many(self, count: int, prefix: str = "node", **more: Any) -> list[str]:
        """Makes workers on virtual machines of their own, PREFIX-0000 and on; hands back their names."""
        shapes = [machine(f"{prefix}-{number:04}", address=f"10.{64 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}", **more)
                  for number in range(count)]
        self.write(shapes)
        return [shape.name for shape in shapes]

    def _make(self, shape: NodeShape) -> NodeShape:
        """No kubelet is newer than its API server, unless a test wants it."""
        is_usual = shape.version == pinned("current")
        self.kube.api.post(PATH, document(replace(shape, version=f"v{self.kube.version}") if is_usual else shape))
        return shape

    def _each(self, work: Callable[[Any], Any], things: Iterable[Any]) -> list[Any]:
        return list(self._pool.map(work, things))

    def condition(self, name: str, kind: str, status: str, reason: str = "", message: str = "", *, heartbeat_ago_s: float = 0) -> None:
        """Sets a condition, as a kubelet does that sees a change; or as it was written so many seconds ago: then `hush` the node first."""
        self.kube.api.patch(f"{PATH}/{name}/status",
                            {"status": {"conditions": [condition_of(kind, status, reason, message, heartbeat_ago_s=heartbeat_ago_s)]}})
        with self._lock:
            if kind not in self._kinds.get(name, [kind]):
                self._kinds[name].append(kind)

    def spec(self, name: str, **members: Any) -> dict[str, Any]:
        """Changes members of the spec: unschedulable=True; taints=[...]; None takes one away."""
        return dict(self.kube.api.patch(f"{PATH}/{name}", {"spec": members}, MERGE))

    def label(self, name: str, key: str, value: str | None) -> None:
        self.kube.api.patch(f"{PATH}/{name}", {"metadata": {"labels": {key: value}}}, MERGE)

    def delete(self, *names: str) -> None:
        self.hush(*names)
        self._each(lambda name: self.kube.api.delete(f"{PATH}/{name}"), names)

    def get(self, name: str) -> dict[str, Any]:
        return dict(self.kube.api.get(f"{PATH}/{name}"))

    # heartbeats

    def hush(self, *names: str) -> None:
        """No heartbeats of these any more, as of machines that are off."""
        with self._lock:
            for name in names:
                self._kinds.pop(name, None)

    def refresh(self, *names: str, ago_s: float = 0) -> None:
        """Writes the heartbeats of all conditions of these nodes now, or as if so many seconds ago: then `hush` them first."""
        self._each(lambda name: self._write_heartbeats(name, _time(ago_s), list(WELL)), names)

    def _write_heartbeats(self, name: str, at: str, kinds: list[str]) -> None:
        self.kube.api.patch(f"{PATH}/{name}/status",
                            {"status": {"conditions": [{"type": kind, "lastHeartbeatTime": at} for kind in kinds]}})

    def _beat(self) -> None:
        """A tenth of the nodes ten times in each period: kubelets do not all write at once."""
        turn = 0
        while not self._leave.wait(self.heartbeat_s / 10):
            with self._lock:
                due = [(name, list(kinds)) for number, (name, kinds) in enumerate(self._kinds.items()) if number % 10 == turn]
            turn = (turn + 1) % 10
            for name, kinds in due:
                self._try_heartbeat(name, kinds)

    def _try_heartbeat(self, name: str, kinds: list[str]) -> None:
        if not self._leave.is_set():
            try:
                self._write_heartbeats(name, _time(), kinds)
            except (Refused, OSError):  # no server, no room, no such node; requests' errors are OSErrors
                return
