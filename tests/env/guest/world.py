"""What tests and the demo see of the machines that boot: power them on at the strict vCenter, look into them, make them ill."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..ad.lines import Lines
from ..netns import Network
from ..places import CACHE, TOP, Scratch, WorldError
from ..process import READY_LIMIT_S, run
from ..wait import until
from . import cgroups

GATEWAY = "10.77.0.1/24"  # of the machines; the network they are in
UPLINK = ("10.76.0.1/30", "10.76.0.2/30")  # of the test and of the router on the way there
NEEDS = {"systemd-nspawn": "systemd-container", "ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}
ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "TERM=dumb")
END_LIMIT_S = 120
BOOT_LIMIT_S = 600.0  # generous: each of several at once is seconds of computing
JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1"; shift; done; shift; exec "$@"'  # control groups, and then a command


def require() -> None:
    """Says why there can be no such machines here."""
    if os.geteuid() != 0:
        raise WorldError("machines that boot need root: systemd-nspawn, network namespaces and cgroups do")
    missing = {package for command, package in NEEDS.items() if not shutil.which(command)}
    if missing:
        raise WorldError(f"machines that boot need {', '.join(sorted(missing))}: run scripts/setup")
    try:
        cgroups.hierarchies()
    except cgroups.NoCgroups as why:
        raise WorldError(str(why)) from why


@dataclass(frozen=True)
class Image:
    """What machines boot: root folders, the uppermost first, and a folder of containerd into which the images of containers were
    imported. Neither is ever written into."""

    layers: Sequence[Path]
    containerd: Path | None = None

    def description(self) -> dict[str, Any]:
        """What a node image says of itself: docs/admin/node-image.md."""
        told: dict[str, Any] = json.loads((self.layers[0] / "etc/kaas-node.json").read_text())
        return told

    def as_json(self) -> dict[str, Any]:
        return {"layers": [str(path) for path in self.layers], "containerd": str(self.containerd) if self.containerd else ""}


class Guests:
    """A context manager. Machines of the strict vCenter whose control port this is boot when they are powered on there, if they have a
    disk. `network` is where the vCenter runs; the machines are behind a router of it, at `gateway`."""

    def __init__(self, scratch: Scratch, network: Network, control: str, image: Image, *, gateway: str = GATEWAY) -> None:
        require()
        self.network = network
        config = scratch.path / "guests.json"
        config.write_text(json.dumps({"control": control, "image": image.as_json(), "gateway": gateway, "uplink": UPLINK,
                                      "logs": str(scratch.log), "cache": str(CACHE)}))
        own_mounts = ("unshare", "--mount", "--propagation", "private")
        command = [*network.inside, *own_mounts, sys.executable, "-m", "env.guest.keeper", config]
        self._keeper = Lines("the keeper of the machines", command, scratch.log / "guests.log",
                             {**os.environ, "PYTHONPATH": str(TOP / "tests")}, outlives=True, end_limit_s=END_LIMIT_S)
        self.keeper_pid = int(self._keeper.read()["keeper"])

    def __enter__(self) -> Guests:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._keeper.close()

    def follow(self, control: str) -> None:
        """Another control port: that of a vCenter which was started anew."""
        self._keeper.ask("follow", url=control)

    # looking into them

    def machines(self) -> dict[str, dict[str, Any]]:
        """Those that have booted, by name: moid, boot, pid (of systemd-nspawn, 0 if none), has_tools, disk (a folder), error."""
        return {row["name"]: row for row in self._keeper.ask("machines")}

    def _of(self, name: str) -> dict[str, Any]:
        found = self.machines().get(name)
        if not found:
            raise WorldError(f"{name} was never powered on, or has no disk")
        if found["error"]:
            raise WorldError(f"{name}: {found['error']}")
        return found

    def leader(self, name: str) -> int:
        """Process id of its init, or 0."""
        pid = self._of(name)["pid"]
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return 0
        return int(children[0]) if children else 0

    def inside(self, name: str) -> list[str]:
        """What stands before a command that is to run in the machine, as root."""
        leader = self.leader(name)
        if not leader:
            raise WorldError(f"{name} does not run")
        limits = map(str, cgroups.files_of(leader))
        return ["sh", "-c", JOIN, "sh", *limits, "--", "nsenter", "--target", str(leader), "--all", "env", "-i", *ENVIRONMENT]

    def run(self, name: str, command: str, *, stdin: str = "", limit_s: float = READY_LIMIT_S) -> subprocess.CompletedProcess[str]:
        """A line of shell."""
        return run([*self.inside(name), "bash", "-c", command], stdin=stdin, limit_s=limit_s)

    def ok(self, name: str, command: str, *, stdin: str = "", limit_s: float = READY_LIMIT_S) -> str:
        """Output of a line that must succeed."""
        done = self.run(name, command, stdin=stdin, limit_s=limit_s)
        if done.returncode:
            raise WorldError(f"{name}: {command}: status {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def memory_limit(self, name: str) -> int:
        """In bytes, of its control group."""
        return cgroups.memory_limit(self.leader(name))

    def until_on(self, name: str) -> None:
        """Its VMware Tools have spoken."""
        until(lambda: name in self.machines() and self._of(name)["has_tools"], f"VMware Tools of {name}", BOOT_LIMIT_S)

    def until_set_up(self, name: str) -> None:
        """cloud-init has ended in it, without an error."""
        self.until_on(name)
        told = self.run(name, "cloud-init status --wait --long", limit_s=BOOT_LIMIT_S)
        if told.returncode:
            raise WorldError(f"{name}: cloud-init: {told.stdout}\n{self.run(name, 'cat /var/log/cloud-init-output.log').stdout[-3000:]}")

    # making them ill: from the next power on, by the name that the vCenter has, or a pattern of such names (fnmatch)

    def ail(self, name: str, **how: Any) -> None:
        """`how` are members of machine.Ailment."""
        self._keeper.ask("ail", name=name, how=how)

    def cure(self, name: str) -> None:
        self._keeper.ask("cure", name=name)

    # at once

    def freeze(self, name: str) -> None:
        """Nothing in it goes on, and its power stays on."""
        self._keeper.ask("freeze", moid=self._of(name)["moid"], frozen=True)

    def thaw(self, name: str) -> None:
        self._keeper.ask("freeze", moid=self._of(name)["moid"], frozen=False)

    def limit_memory(self, name: str, memory_mb: int) -> None:
        self._keeper.ask("memory", moid=self._of(name)["moid"], memory_mb=memory_mb)

    def starve(self, name: str) -> None:
        """It gets no memory beside what it holds."""
        self._keeper.ask("starve", moid=self._of(name)["moid"])

    def occupy(self, address: str, port: int = 0) -> None:
        """Somebody else has the address (as 10.77.0.9/24) on their network, and listens at the port, if one is given."""
        self._keeper.ask("occupy", address=address, port=port)

    def vacate(self, address: str) -> None:
        self._keeper.ask("vacate", address=address)
