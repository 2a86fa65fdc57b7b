"""A place where clusters are made of machines that boot: kubeadm, kubelet, etcd and all."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from env.dying import Dying
from env.guest.made import MadeCluster
from env.guest.making import apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.kaasd import Kaasd
from env.places import Scratch
from env.wait import until

from .checks import Broken
from .job_place import query

PKI = "/etc/kubernetes/pki/"
SSH_PORT, SILENCE_S = 22, 1


def _refuses(address: str) -> bool:
    """There is a host with it."""
    try:
        socket.create_connection((address, SSH_PORT), SILENCE_S).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


class BootedPlace:
    limit_s, settle_s = 600.0, 180.0
    sizes = {"control_planes": {"memory_mib": 2048}, "workers": {"memory_mib": 1024, "cpus": 1}}

    def __init__(self, site: Site, kaasd: Kaasd) -> None:
        self._site = site
        self.kaasd, self.control = kaasd, site.vcenter.control
        self.leaderless: dict[str, int] = {}
        self.folder = next(o["id"] for o in self.control.objects("Folder") if o["name"] == "vm" and o.get("parent") == "datacenter-2")
        kaasd.stop()
        self.dying = Dying(kaasd)
        kaasd.start()
        apply_provider(site, kaasd)
        self._before: set[str] = set()
        self._cluster: MadeCluster | None = None

    def begin(self, name: str) -> None:
        self._before = set(self._site.guests.machines())
        self._cluster = MadeCluster(self._site, self.kaasd, name)

    def seen(self) -> set[str]:
        return set(self._site.guests.machines()) - self._before

    def look_inside(self, machines: list[dict[str, Any]], keys: dict[str, str]) -> dict[str, Any]:
        """Kubernetes calls the machines, and nobody else, its nodes; etcd has the control planes as members; all have the keys."""
        assert self._cluster
        nodes, names = self._cluster.nodes(), sorted(row["name"] for row in machines)
        if sorted(node.name for node in nodes) != names or not all(node.is_ready for node in nodes):
            raise Broken(f"the nodes are {nodes}, the machines {names}")
        control_planes = sorted(row["name"] for row in machines if row["role"] == "control-plane")
        if self._cluster.voters(control_planes[0]) != control_planes:
            raise Broken(f"members of etcd are {self._cluster.voters(control_planes[0])}")
        for name in control_planes:
            for file, pem in keys.items():
                if self._site.guests.ok(name, f"cat {PKI}{file}").strip() != pem.strip():
                    raise Broken(f"{name} has another {file} than is kept")
        return {"nodes": sorted((node.is_control_plane, node.version) for node in nodes)}

    def end(self) -> None:
        """Addresses are given out again at once here, and not after ten minutes: so who had them must have fallen silent."""
        for (address,) in query(self.kaasd, "SELECT address FROM address_leases"):
            until(lambda address=address: not _refuses(address), f"silence at {address}")  # type: ignore[misc]
        if self._cluster:
            (self._site.scratch.path / f"{self._cluster.name}.conf").unlink(missing_ok=True)


@contextmanager
def booted_place() -> Iterator[BootedPlace]:
    """This thread is in the place's network meanwhile, and so is all that it starts."""
    scratch = Scratch("g")
    try:
        with site_of(scratch, node_image()) as site, kaasd_on(site) as kaasd:
            yield BootedPlace(site, kaasd)
    finally:
        scratch.remove()
