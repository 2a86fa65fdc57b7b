"""One machine, as its keeper has it: disk, network cards, power, and what its VMware Tools say."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fnmatch
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cgroups import Groups
from .control import Control, Refused
from .layers import without

PR_SET_PDEATHSIG = 1
RESTARTED = 133  # exit status of systemd-nspawn --keep-unit when the system inside restarts itself (EXIT_FORCE_RESTART of systemd)
LINE_MAX = 1 << 20  # 64 KiB of guestinfo and what JSON makes of it
MIB = 1 << 20
NOTHING_THERE = "No value found"
# Folders of programs that cannot lie on an overlay file system, or would be slow there.
OWN_FOLDERS = {"containerd": "/var/lib/containerd", "etcd": "/var/lib/etcd", "kubelet": "/var/lib/kubelet"}
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


async def call(*words: str | Path) -> str:
    """Output of a command that must succeed."""
    process = await asyncio.create_subprocess_exec(*map(str, words), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                                                   stderr=asyncio.subprocess.PIPE, preexec_fn=die_with_parent)
    out, err = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: status {process.returncode}: {err.decode(errors='replace').strip()}")
    return out.decode()


def quoted(value: str) -> str:
    """As EnvironmentFile= of systemd.exec(5) reads it back."""
    for special in '\\"`$':
        value = value.replace(special, f"\\{special}")
    return f'"{value}"'


@dataclass(frozen=True)
class Ailment:
    """What is wrong with a machine. `is_hung`: nothing boots. `is_mute`: VMware Tools do not run. `is_unplugged`: its network cards lead
    nowhere. `lacks`: files that its image does not have. `clock_s`: by how much the clock is wrong for what cloud-init runs, as far as it
    asks the C library for the time (date, curl, Python; nothing in Go). `memory_mb`: in place of what the vCenter gives it."""

    is_hung: bool = False
    is_mute: bool = False
    is_unplugged: bool = False
    lacks: tuple[str, ...] = ()
    clock_s: int = 0
    memory_mb: int = 0


@dataclass
class Site:
    """What the machines of a world share."""

    disks: Path  # a folder for each machine, on the file system of the image
    places: Path  # mounts and sockets, private to the keeper
    logs: Path
    layer: Path
    router: str  # a network namespace
    bridge: str  # in it
    groups: Groups
    control: Control
    image_of: Callable[[dict[str, Any]], dict[str, Any]]
    ailments: dict[str, Ailment] = field(default_factory=dict)

    def ailment(self, name: str) -> Ailment:
        return next((how for pattern, how in self.ailments.items() if fnmatch.fnmatchcase(name, pattern)), Ailment())


class Machine:
    """`hear` tells it what the vCenter says of it; `live` does that, one thing after the other."""

    def __init__(self, site: Site, moid: str, number: int) -> None:
        self.moid = moid
        self.name = moid
        self.error = ""
        self.nspawn: asyncio.subprocess.Process | None = None
        self._site = site
        self._number = number
        self._disk, self._place = site.disks / moid, site.places / moid
        self._row: dict[str, Any] = {}
        self._news = asyncio.Event()
        self._boot: int | None = None  # the one that runs
        self._over: int | None = None  # the last one that ended by itself, or could not be begun
        self._asked = 0  # the last request that was handed on
        self._cards: list[str] = []
        self._server: asyncio.Server | None = None
        self._tools: asyncio.StreamWriter | None = None
        self._speakers: set[asyncio.StreamWriter] = set()
        self._waiting: asyncio.Task[None] | None = None  # for the end of nspawn
        self._turn = asyncio.Lock()

    def hear(self, row: dict[str, Any]) -> None:
        self._row = row
        self.name = row["name"]
        self._news.set()

    @property
    def is_on(self) -> bool:
        return self._boot is not None

    def told(self) -> dict[str, Any]:
        """What tests may know of it."""
        return {"moid": self.moid, "name": self.name, "boot": self._boot, "error": self.error, "disk": str(self._disk),
                "pid": self.nspawn.pid if self.nspawn and self.nspawn.returncode is None else 0, "has_tools": self._tools is not None}

    async def live(self) -> None:
        """Until the vCenter has it no more."""
        while not self._row.get("gone"):
            await self._news.wait()
            self._news.clear()
            try:
                await self._catch_up()
            except Exception as error:  # told to who looks; the other machines go on
                self.error = f"{type(error).__name__}: {error}"
                traceback.print_exc()
                self._over = self._row.get("boot")
                await self.power_off()
        await self.power_off()
        shutil.rmtree(self._disk, ignore_errors=True)

    async def _catch_up(self) -> None:
        row = self._row
        wanted = row["boot"] if row.get("power") == "poweredOn" else None
        if self.is_on and self.nspawn and self.nspawn.returncode is not None:
            await self._ended_by_itself()
        elif self.is_on and self._boot != wanted:
            await self.power_off()
        if wanted not in (None, self._boot, self._over):
            await self._power_on(row)
        request = row.get("request")
        if request and self._tools and request["id"] != self._asked:
            self._asked = request["id"]
            await self._send(self._tools, {"do": request["what"]})

    # power

    async def _power_on(self, row: dict[str, Any]) -> None:
        ailment = self._site.ailment(self.name)
        self.error = ""
        self._boot = row["boot"]
        if ailment.is_hung:
            return
        await self._attach_disk(row, ailment)
        network = await self._plug_in(row["nics"], ailment)
        self._write_guestinfo(row["guestinfo"])
        cpus = self._site.groups.cpus(row["num_cpu"])
        (self._place / "guest/cpus").write_text(",".join(map(str, cpus)) + "\n")
        self._server = await asyncio.start_unix_server(self._serve, self._place / "guest/backdoor", limit=LINE_MAX)
        groups = self._site.groups.make(self.moid, cpus=cpus, memory_bytes=(ailment.memory_mb or row["memory_mb"]) * MIB)

        def begin() -> None:
            die_with_parent()
            for procs in groups:
                procs.write_text(str(os.getpid()))

        folders = [f"--bind={self._disk / name}:{inside}" for name, inside in OWN_FOLDERS.items()]
        with (self._site.logs / f"{self.moid}.log").open("ab") as console:
            self.nspawn = await asyncio.create_subprocess_exec(
                "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=pipe", f"--machine={self.moid}",
                f"--uuid={row['uuid']}", f"--directory={self._place / 'root'}", f"--network-namespace-path=/run/netns/{network}",
                "--capability=all", "--link-journal=no", "--resolv-conf=off", "--timezone=off", *folders,
                f"--bind={self._place / 'guest'}:/run/guest", "--boot",
                stdin=asyncio.subprocess.DEVNULL, stdout=console, stderr=console, preexec_fn=begin, start_new_session=True,
                env={**os.environ, "SYSTEMD_SECCOMP": "0", "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"})
        self._waiting = asyncio.ensure_future(self._await_end(self.nspawn))

    async def _await_end(self, nspawn: asyncio.subprocess.Process) -> None:
        await nspawn.wait()
        self._news.set()

    async def _ended_by_itself(self) -> None:
        assert self.nspawn and self._boot is not None
        boot, status = self._boot, self.nspawn.returncode
        await self.power_off()
        self._over = boot
        if status:
            print(f"{self.name}: systemd-nspawn ended with status {status}", file=sys.stderr)
        await self._says(boot, **({"rebooted": True} if status == RESTARTED else {"shut_down": True}))

    async def power_off(self) -> None:
        """At once, as by pulling the plug. Its disk stays."""
        self._boot = None
        await asyncio.to_thread(self._site.groups.remove, self.moid)
        if self.nspawn:
            await self.nspawn.wait()
            self.nspawn = None
        if self._server:
            self._server.close()
            self._server = None
        for speaker in list(self._speakers):
            speaker.close()
        self._speakers.clear()
        self._tools = None
        for network in self._cards:
            await call("ip", "netns", "del", network)
        self._cards.clear()
        if os.path.ismount(self._place / "root"):
            await call("umount", self._place / "root")
        if self._place.exists():
            shutil.rmtree(self._place)

    # what it is made of

    async def _attach_disk(self, row: dict[str, Any], ailment: Ailment) -> None:
        """An overlay over the image, so that a clone costs nothing until it writes."""
        image = self._site.image_of(row)
        if not self._disk.exists():
            await self._make_disk(image)
        for name in ("root", "guest"):
            (self._place / name).mkdir(parents=True)
        lowers = [*self._layers_of(ailment), self._site.layer, *image["layers"]]
        await call("mount", "-t", "overlay", "overlay", "-o",
                   f"lowerdir={':'.join(map(str, lowers))},upperdir={self._disk / 'upper'},workdir={self._disk / 'work'}",
                   self._place / "root")

    async def _make_disk(self, image: dict[str, Any]) -> None:
        """Layers of containers as hard links; databases, which are written into, as copies."""
        new = self._disk.with_suffix(".new")
        for name in ("upper", "work", *OWN_FOLDERS):
            (new / name).mkdir(parents=True)
        if image["containerd"]:
            await call("cp", "--archive", "--link", f"{image['containerd']}/.", new / "containerd")
        for database in (new / "containerd").rglob("*.db"):
            copy = database.with_suffix(".copy")
            shutil.copy2(database, copy)
            copy.replace(database)
        new.rename(self._disk)

    def _layers_of(self, ailment: Ailment) -> list[Path]:
        layer = self._disk / "ailment"
        shutil.rmtree(layer, ignore_errors=True)
        lacks = (*ailment.lacks, *(("/usr/bin/vmtoolsd",) if ailment.is_mute else ()))
        return [without(layer, lacks, ailment.clock_s)] if lacks or ailment.clock_s else []

    async def _plug_in(self, cards: list[dict[str, Any]], ailment: Ailment) -> str:
        """A network namespace with its cards; hands back its name."""
        network = f"guest{self._number}"
        await call("ip", "netns", "add", network)
        self._cards.append(network)
        await call("ip", "-n", network, "link", "set", "lo", "up")
        for place, card in enumerate(cards):
            outer = f"guest{self._number}.{place}"
            await call("ip", "link", "add", outer, "netns", self._site.router, "type", "veth", "peer", "name", f"eth{place}",
                       "address", card["mac"], "netns", network)
            if card["connected"] and not ailment.is_unplugged:
                await call("ip", "-n", self._site.router, "link", "set", outer, "master", self._site.bridge, "up")
        return network

    def _write_guestinfo(self, guestinfo: dict[str, str]) -> None:
        """The environment form of cloud-init's VMware source:
        https://cloudinit.readthedocs.io/en/22.4.2/topics/datasources/vmware.html"""
        lines = [f"VMX_{key.upper().replace('.', '_')}={quoted(value)}" for key, value in guestinfo.items()
                 if key.removesuffix(".encoding") in ("guestinfo.metadata", "guestinfo.userdata", "guestinfo.vendordata")]
        path = self._place / "guest/environment"
        path.touch(mode=0o600)
        path.write_text("".join(f"{line}\n" for line in (["VMX_GUESTINFO=1", *lines] if lines else [])))

    # what it says

    async def _says(self, boot: int, **what: Any) -> str:
        """One thing after the other; why not, if the vCenter does not take it."""
        async with self._turn:
            try:
                await self._site.control.says(self.moid, boot, **what)
            except (Refused, OSError) as error:
                return str(error)
        return ""

    @staticmethod
    async def _send(writer: asyncio.StreamWriter, what: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(json.dumps(what).encode() + b"\n")
            await writer.drain()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection of layer/usr/bin/vmtoolsd."""
        boot = self._boot
        self._speakers.add(writer)
        try:
            while boot is not None and boot == self._boot and (line := await reader.readline()):
                await self._take(json.loads(line), boot, writer)
        except (ConnectionError, ValueError) as error:
            print(f"{self.name}: what its tools say: {error}", file=sys.stderr)
        finally:
            self._speakers.discard(writer)
            writer.close()
            if writer is self._tools:
                self._tools = None
                if boot is not None and boot == self._boot:
                    await self._says(boot, tools_running_status="guestToolsNotRunning")

    async def _take(self, said: dict[str, Any], boot: int, writer: asyncio.StreamWriter) -> None:
        guestinfo = self._row["guestinfo"]
        match said["do"]:
            case "get":
                value = guestinfo.get(said["key"])
                await self._send(writer, {"error": NOTHING_THERE} if value is None else {"value": value})
            case "set":
                error = await self._says(boot, guestinfo={said["key"]: said["value"]})
                if not error:
                    guestinfo[said["key"]] = said["value"]
                await self._send(writer, {"error": error} if error else {"value": ""})
            case "report":
                if self._tools is None:
                    self._tools = writer
                    self._news.set()  # a request may wait for it
                await self._says(boot, tools_running_status="guestToolsRunning", host_name=said["host_name"], net=said["net"],
                                 ip_address=first_address(said["net"]))


def first_address(cards: list[dict[str, Any]]) -> str:
    """The one that the vCenter shows as the machine's: IPv4 before IPv6, none that is of the link only."""
    found = [one.partition("/")[0] for card in cards for one in card["addresses"]]
    routed = sorted((one for one in found if not one.startswith(("fe80:", "169.254."))), key=lambda one: ":" in one)
    return routed[0] if routed else ""
