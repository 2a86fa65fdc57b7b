"""A place where clusters are made of machines that only report: a network of its own, a strict vCenter, a kaasd that dies as ordered."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pymysql
from env.dying import Dying
from env.full import World
from env.kaasd import Kaasd
from env.netns import Network
from env.places import Scratch, WorldError
from env.process import run
from env.vcenter import Control
from integ.provision.machines import Guests, good
from integ.provision.providers import document, prepare

from .checks import Broken
from .job_api import StandInApi

VERSION = "v1.36.3"
PKI = "/etc/kaas/pki/"
OPTIONS: dict[str, Any] = {"kubernetes": {"allowed_networks": ["10.9.0.0/24"]}, "vcenter": {"call_timeout": "5s", "connect_timeout": "2s"}}
LEFT_TABLES = {"machines": "name", "made_clusters": "spec", "machine_folders": "moref", "cluster_pki": "cluster_id",
               "kube_connections": "address", "clusters": "name"}
KEPT_SECRETS = "owner_kind NOT LIKE 'vcenter%'"
BUNDLE = {
    "bundle.yaml": "kind: Bundle\nname: kube-router\nversion: v1\n",
    "manifests/map.yaml": json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"is": "applied"},
                                      "metadata": {"name": "network", "namespace": "kube-system"}}) + "\n"}


def query(kaasd: Kaasd, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What its database has, whether it runs or not."""
    with pymysql.connect(unix_socket=str(kaasd.database_socket), user="root", database="kaas", autocommit=True,
                         ssl_disabled=True) as connection, connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return list(cursor.fetchall())


class Place(Protocol):
    """Where clusters are made, with machines of whatever kind."""

    kaasd: Kaasd
    control: Control
    dying: Dying
    folder: str  # moref of the one in which clusters get theirs
    limit_s: float  # for a job
    settle_s: float  # until all is calm behind it
    sizes: dict[str, dict[str, int]]  # of machines, as clusters:create takes them
    leaderless: dict[str, int]  # part of a path: so many requests are answered as while etcd has no leader; real API servers have their own

    def begin(self, name: str) -> None:
        """A cluster of this name is about to be made."""

    def seen(self) -> set[str]:
        """Names of all machines that ran since then."""

    def look_inside(self, machines: list[dict[str, Any]], keys: dict[str, str]) -> dict[str, Any]:
        """What the cluster says of itself: what is the same of clusters without faults. Raises Broken."""

    def end(self) -> None:
        """It is gone."""


def read_userdata(text: str) -> dict[str, str]:
    """The files of a cloud-config, by path."""
    config = json.loads(gzip.decompress(base64.b64decode(text)).partition(b"\n")[2])
    return {row["path"]: row["content"] for row in config["write_files"]}


def _write_bundle(folder: Path) -> Path:
    """The network of the pods, for clusters that have none."""
    bundle = folder / "bundles/kube-router"
    (bundle / "manifests").mkdir(parents=True)
    for name, text in BUNDLE.items():
        (bundle / name).write_text(text)
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in BUNDLE.items()]
    (bundle / "SHA256SUMS").write_text("".join(sums))
    return bundle.parent


class ScriptedPlace:
    """The control port plays the guests; the first control plane has an API server, as far as kaasd asks for one."""

    limit_s, settle_s = 120.0, 30.0
    sizes: dict[str, dict[str, int]] = {}

    def __init__(self, world: World) -> None:
        self.world = world
        self.kaasd, self.control = world.kaasd, world.vcenter.control
        self.folder = next(o["id"] for o in self.control.objects("Folder") if o["name"] == "vm" and o.get("parent") == "datacenter-2")
        world.kaasd.stop()
        self.dying = Dying(world.kaasd)
        world.kaasd.start()
        self.api: StandInApi | None = None
        self.leaderless: dict[str, int] = {}
        self.told: dict[str, dict[str, str]] = {}  # the files of each machine that ran, by its name
        body = document(service_addresses=None)
        world.admin.expect(201, "PUT", "/v2/providers/east", json=body)
        self.guests = Guests(world.vcenter, self._address_of, self._say)

    def close(self) -> None:
        self.guests.stop()
        self.end()

    def _address_of(self, name: str) -> str:
        rows = query(self.kaasd, "SELECT address FROM machines WHERE name = %s", name)
        return str(rows[0][0]) if rows else ""

    def _say(self, vm: dict[str, Any], address: str) -> list[dict[str, Any]]:
        """It becomes a node, if it was told how."""
        text = vm["guestinfo"].get("guestinfo.userdata")
        files = self.told.setdefault(vm["name"], read_userdata(text) if text else {})
        if not files:
            return []
        is_control_plane = f"{PKI}ca.key" in files
        if is_control_plane and not self.api:
            self._serve(files)
        if self.api:
            self.api.join(vm["name"], is_control_plane=is_control_plane, instance_uuid=vm["instance_uuid"], address=address)
        return good(vm, address)

    def _serve(self, files: dict[str, str]) -> None:
        ((endpoint,),) = query(self.kaasd, "SELECT api_endpoint FROM clusters")
        address = endpoint.removeprefix("https://").partition(":")[0]
        done = run(["ip", "address", "add", f"{address}/32", "dev", "lo"])
        if done.returncode:
            raise WorldError(f"ip address add: {done.stderr}")
        self.api = StandInApi(self.world.scratch.path, address, files[f"{PKI}ca.crt"], files[f"{PKI}ca.key"], VERSION)
        self.api.leaderless = self.leaderless

    # as of Place

    def begin(self, name: str) -> None:
        self.told.clear()
        self.guests.forget()

    def seen(self) -> set[str]:
        return set(self.told)

    def look_inside(self, machines: list[dict[str, Any]], keys: dict[str, str]) -> dict[str, Any]:
        if not self.api or self.api.node_names() != sorted(row["name"] for row in machines):
            raise Broken(f"the nodes are {self.api and self.api.node_names()}, the machines {[row['name'] for row in machines]}")
        for row in machines:
            files = self.told[row["name"]]
            for file, pem in keys.items():
                if files.get(PKI + file, pem).strip() != pem.strip():
                    raise Broken(f"{row['name']} was told another {file} than is kept")
        return {"objects": self.api.names(), "files": sorted(sorted(self.told[row["name"]]) for row in machines)}

    def end(self) -> None:
        if self.api:
            api, self.api = self.api, None
            api.close()
            with suppress(WorldError):
                run(["ip", "address", "del", f"{api.address}/32", "dev", "lo"])


@contextmanager
def scripted_place() -> Iterator[ScriptedPlace]:
    """This thread is in the place's network meanwhile, and so is all that it starts."""
    scratch = Scratch("n")
    try:
        options = {**OPTIONS, "kubernetes": {**OPTIONS["kubernetes"], "bundles": str(_write_bundle(scratch.path))}}
        with Network(scratch) as network, network.entered(), World("j", options=options) as world:
            prepare(world)
            place = ScriptedPlace(world)
            try:
                yield place
            finally:
                place.close()
    finally:
        scratch.remove()
