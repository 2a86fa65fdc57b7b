"""A place where clusters can be built: a network of its own with a strict vCenter, which has a template, and the machines behind it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..netns import Network
from ..places import Scratch
from ..vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from ..vimclient import run_govc
from .world import Guests, Image, require

TEMPLATE, SNAPSHOT = "kaas-node", "base"
DATACENTER, CLUSTER = "DC0", "HX-East"
PORT_GROUP = "VM Network"


@dataclass
class Site:
    scratch: Scratch
    network: Network
    vcenter: StrictVcenter
    guests: Guests
    image: Image  # of its machines

    def govc(self, command: str, *arguments: str) -> str:
        """What it prints, asked about the datacenter of the template."""
        return run_govc(self.vcenter, command, "-dc", DATACENTER, *arguments)

    def info(self, name: str) -> dict[str, Any]:
        """A machine as govc reads it."""
        found: dict[str, Any] = json.loads(self.govc("vm.info", "-json", name))["virtualMachines"][0]
        return found

    def mac(self, name: str) -> str:
        return next(str(one["macAddress"]) for one in self.info(name)["config"]["hardware"]["device"] if "macAddress" in one)

    def inventory(self) -> set[str]:
        """Paths of all machines and folders."""
        return set(self.govc("find", "/", "-type", "m").split()) | set(self.govc("find", "/", "-type", "f").split())

    def clone(self, name: str, *, cpus: int = 1, memory_mb: int = 512) -> None:
        """A linked clone of the template, off, made by govc."""
        self.govc("vm.clone", "-vm", TEMPLATE, "-snapshot", SNAPSHOT, "-link", "-on=false", "-pool", f"{CLUSTER}/Resources",
                  "-c", str(cpus), "-m", str(memory_mb), name)

    def give(self, name: str, **guestinfo: str) -> None:
        """Sets guestinfo as an administrator does; an empty value takes a key away."""
        settings = [word for key, value in guestinfo.items() for word in ("-e", f"guestinfo.{key}={value}")]
        self.govc("vm.change", "-vm", name, *settings)

    def power(self, name: str, how: str) -> None:
        """`how`: on, off, s (shut down by its VMware Tools), r (restart by them), reset."""
        self.govc("vm.power", f"-{how}", name)


def world_with_template() -> dict[str, Any]:
    """The default world, with a template beside the machines of a cluster."""
    world: dict[str, Any] = json.loads(DEFAULT_WORLD.read_text())
    cluster = next(one for dc in world["datacenters"] for one in dc["clusters"] if one["name"] == CLUSTER)
    cluster["vms"].append({"name": TEMPLATE, "moref": "vm-9000", "disks_gb": [20], "nics": [PORT_GROUP], "snapshot": SNAPSHOT,
                           "template": True, "instance_uuid": "50010000-0000-4000-8000-000000009000",
                           "uuid": "42010000-0000-4000-8000-000000009000"})
    return world


@contextmanager
def site_of(scratch: Scratch, image: Image) -> Iterator[Site]:
    """This thread is in its network meanwhile, and so is all that it starts: kaasd, its database, a browser."""
    require()
    world = scratch.path / "world.json"
    world.write_text(json.dumps(world_with_template()))
    with Network(scratch) as network, network.entered():
        vcenter = start_strict(scratch, world=world)
        try:
            with Guests(scratch, network, vcenter.control.url, image) as guests:
                yield Site(scratch, network, vcenter, guests, image)
        finally:
            vcenter.stop()
