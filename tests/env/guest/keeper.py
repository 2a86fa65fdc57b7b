"""Keeps the machines of one world: follows the strict vCenter and does what it says with real systems. python3 -m env.guest.keeper CONFIG,
as root, in the network of the vCenter and in a mount namespace of its own.

Commands come as JSON lines on standard input, each is answered by a line. When that input ends, because the test closed it, or because
the test was killed, everything ends: machines, mounts, networks, control groups, disks, and what was changed on this host. So it must not
be killed with its parent."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import ipaddress
import json
import os
import shutil
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from . import inotify
from .cgroups import Groups, remove_left_over_groups
from .control import Control
from .layers import stand_ins
from .machine import MIB, Ailment, Machine, Site, call

LAYER = Path(__file__).parent / "layer"
RUN = Path("/run")
PLACES = RUN / "guests"
BRIDGE, ROUTER = "machines", "router"
STRAY = "stray"
DISKS = "guests-"
RETRY_S = 0.2
CLONE_NEWNET = 0x40000000


class Keeper:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.machines: dict[str, Machine] = {}
        self.lives: dict[str, asyncio.Task[None]] = {}
        self.strays: dict[str, socket.socket | None] = {}
        self.count = 0
        self.cache = Path(config["cache"])
        self.disks = self.cache / f"{DISKS}{os.getpid()}"  # beside the image: layers of containers are linked from there

    async def begin(self) -> None:
        remove_left_over(self.cache)
        inotify.raise_limit(self.cache)
        self.disks.mkdir()
        # private to us, and gone with us, as all that ip and systemd-nspawn leave there
        await call("mount", "-t", "tmpfs", "-o", "mode=755", "guests", RUN)
        for place in (PLACES, RUN / "systemd/nspawn"):
            place.mkdir(parents=True)
        layer = stand_ins(LAYER, self.disks / "layer", [Path(one) for one in self.config["image"]["layers"]])
        self.site = Site(disks=self.disks, places=PLACES, logs=Path(self.config["logs"]), layer=layer, router=ROUTER, bridge=BRIDGE,
                         groups=Groups(os.getpid()), control=Control(self.config["control"]), image_of=self.image_of)
        await self.make_network()

    async def make_network(self) -> None:
        """A bridge with the machines on it, and a router between it and where the test, kaasd and the vCenter are."""
        near, far = self.config["uplink"]
        await call("ip", "netns", "add", ROUTER)
        await call("ip", "netns", "exec", ROUTER, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        await call("ip", "link", "add", "machines", "type", "veth", "peer", "name", "uplink", "netns", ROUTER)
        await call("ip", "address", "add", near, "dev", "machines")
        await call("ip", "link", "set", "machines", "up")
        await call("ip", "-n", ROUTER, "address", "add", far, "dev", "uplink")
        await call("ip", "-n", ROUTER, "link", "add", BRIDGE, "type", "bridge")
        for card in ("lo", "uplink", BRIDGE):
            await call("ip", "-n", ROUTER, "link", "set", card, "up")
        gateway = self.config["gateway"]
        await call("ip", "-n", ROUTER, "address", "add", gateway, "dev", BRIDGE)
        await call("ip", "route", "add", str(ipaddress.ip_interface(gateway).network), "via", far.partition("/")[0])

    def image_of(self, row: dict[str, Any]) -> dict[str, Any]:
        return dict(self.config["image"])

    # the vCenter

    async def follow(self) -> None:
        after = 0
        while True:
            try:
                seq, rows = await self.site.control.machines(after)
            except OSError:  # it is away, or another one
                await asyncio.sleep(RETRY_S)
                after = 0
                continue
            if after == 0:
                here = {row["moid"] for row in rows}
                rows += [{"moid": moid, "name": one.name, "gone": True} for moid, one in self.machines.items() if moid not in here]
            after = seq
            for row in rows:
                self.hear(row)

    def hear(self, row: dict[str, Any]) -> None:
        """A machine without a disk has nothing to boot from."""
        machine = self.machines.get(row["moid"])
        if not machine:
            if row.get("gone") or row["template"] or not row["disks"] or row["power"] != "poweredOn":
                return
            self.count += 1
            machine = self.machines[row["moid"]] = Machine(self.site, row["moid"], self.count)
            self.lives[row["moid"]] = asyncio.ensure_future(machine.live())
        machine.hear(row)
        if row.get("gone"):
            self.lives[row["moid"]].add_done_callback(lambda _: self.machines.pop(row["moid"], None))

    # the test

    async def do(self, command: dict[str, Any]) -> Any:
        match command["do"]:
            case "machines":
                return [one.told() for one in self.machines.values()]
            case "follow":
                self.site.control.url = command["url"]
            case "ail":
                how = {**command["how"], "lacks": tuple(command["how"].get("lacks", ()))}
                self.site.ailments[command["name"]] = Ailment(**how)
            case "cure":
                self.site.ailments.pop(command["name"], None)
            case "freeze":
                self.site.groups.freeze(command["moid"], frozen=command["frozen"])
            case "memory":
                self.site.groups.limit_memory(command["moid"], command["memory_mb"] * MIB)
            case "starve":
                self.site.groups.starve(command["moid"])
            case "occupy":
                await self.occupy(command["address"], command["port"])
            case "vacate":
                await self.vacate(command["address"])
            case other:
                raise ValueError(f"unknown command {other}")
        return True

    async def occupy(self, address: str, port: int) -> None:
        """Somebody on the network of the machines who has the address already, and listens there."""
        self.count += 1
        name = f"{STRAY}{self.count}"
        await call("ip", "netns", "add", name)
        await call("ip", "link", "add", f"{name}.0", "netns", ROUTER, "type", "veth", "peer", "name", "eth0", "netns", name)
        await call("ip", "-n", ROUTER, "link", "set", f"{name}.0", "master", BRIDGE, "up")
        await call("ip", "-n", name, "address", "add", address, "dev", "eth0")
        await call("ip", "-n", name, "link", "set", "eth0", "up")
        await call("ip", "-n", name, "route", "add", "default", "via", self.config["gateway"].partition("/")[0])
        self.strays[address] = listening_in(name, port) if port else None

    async def vacate(self, address: str) -> None:
        listener = self.strays.pop(address)
        if listener:
            listener.close()
        for name in (await call("ip", "netns", "list")).split():
            if name.startswith(STRAY) and address in await call("ip", "-n", name, "-brief", "address"):
                await call("ip", "netns", "del", name)

    async def run(self) -> None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        following: asyncio.Task[None] | None = None
        try:
            await self.begin()
            following = asyncio.ensure_future(self.follow())
            say({"keeper": os.getpid()})
            commands = asyncio.ensure_future(self.obey())
            await asyncio.wait([commands, asyncio.ensure_future(ended.wait()), following], return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()  # what is wrong with it
        finally:
            if following:
                following.cancel()
            await self.end()

    async def obey(self) -> None:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            try:
                say({"done": await self.do(json.loads(line))})
            except Exception as error:  # told to who asked
                say({"error": f"{type(error).__name__}: {error}"})

    async def end(self) -> None:
        """Each thing, whatever becomes of the others."""
        for life in self.lives.values():
            life.cancel()
        await asyncio.gather(*self.lives.values(), return_exceptions=True)
        steps = [machine.power_off() for machine in self.machines.values()]
        for failed in await asyncio.gather(*steps, return_exceptions=True):
            if isinstance(failed, BaseException):
                traceback.print_exception(failed)
        if hasattr(self, "site"):
            self.site.groups.close()
        if not os.environ.get("KAAS_KEEP"):
            shutil.rmtree(self.disks, ignore_errors=True)
        inotify.put_back(self.cache)


def remove_left_over(cache: Path) -> None:
    """What worlds have left whose keeper was killed."""
    remove_left_over_groups()
    for folder in cache.glob(f"{DISKS}*"):
        if not Path("/proc", folder.name.removeprefix(DISKS)).exists():
            shutil.rmtree(folder, ignore_errors=True)


def listening_in(network: str, port: int) -> socket.socket:
    """A socket that listens in a network namespace: it stays where it was made (network_namespaces(7))."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/self/ns/net").open() as home, Path(f"/run/netns/{network}").open() as there:
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns(2)")
        try:
            listener = socket.socket()
            listener.bind(("", port))
            listener.listen()
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)
    return listener


def say(answer: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # who asked is gone
        print(json.dumps(answer), flush=True)


def main() -> None:
    """The keeper is a child, so that somebody cleans up when it is killed itself."""
    config = json.loads(Path(sys.argv[1]).read_text())
    keeper = os.fork()
    if not keeper:
        asyncio.run(Keeper(config).run())
        return
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(keeper, number))
    _, status = os.waitpid(keeper, 0)
    remove_left_over(Path(config["cache"]))
    inotify.put_back(Path(config["cache"]))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
