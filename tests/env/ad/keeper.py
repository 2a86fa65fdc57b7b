"""Keeps one domain controller: its own network, doors to it from outside, start and stop. python3 keeper.py FOLDER, without threads and
packages.

Samba's ports cannot be chosen, so it gets a network namespace of its own. Doors are ports on the loopback of the outside: their listening
sockets are made before this process leaves for the namespace, and stay where they were made (network_namespaces(7)). Where no namespace
can be had but the user is root, the controller listens on a loopback address of its own instead, and the doors lead there.

Commands come as JSON lines on standard input, each is answered by a line; at its end everything ends, and so does it when the parent
dies or is killed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

SAMBA = "/usr/sbin/samba"
# name: port of the controller. Two of each of LDAP: a domain with a second address.
DOORS = {"kdc": 88, "kpasswd": 464, "ldap": 389, "ldaps": 636, "ldap2": 389, "ldaps2": 636}
READY = (88, 389, 636)
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
START_LIMIT_S = 120.0
NEITHER = ("the test domain needs a network of its own: user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
           "user.max_user_namespaces above 0, no rule against unshare(2)), or root, which may listen on low ports of the loopback")
libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def unshare(flags: int) -> None:
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare(2)")


def loopback_up() -> None:
    with socket.socket() as any_socket:
        asked = bytearray(struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(any_socket, SIOCGIFFLAGS, asked)
        flags = struct.unpack_from("h", asked, 16)[0]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))


def root_of_a_namespace() -> None:
    """A user namespace in which we are root; our files stay ours (user_namespaces(7))."""
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNET)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def low_port_address() -> str:
    """A loopback address of our own whose low ports are free; fails where they are not ours to take."""
    number = os.getpid() & 0x3FFFFF
    address = f"127.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
    for port in set(DOORS.values()):
        with socket.socket() as probe:
            probe.bind((address, port))
    return address


def own_network(wanted: str) -> tuple[str, str]:
    """Goes where the controller can listen: ("namespace" or "loopback", its address there). `wanted` names one of the ways, or "any"."""
    if wanted in ("any", "namespace"):
        for way in ((lambda: unshare(CLONE_NEWNET)) if os.geteuid() == 0 else root_of_a_namespace, root_of_a_namespace):
            with contextlib.suppress(OSError):
                way()
                loopback_up()
                return "namespace", "127.0.0.1"
    if wanted in ("any", "loopback"):
        with contextlib.suppress(OSError):
            return "loopback", low_port_address()
    raise SystemExit(NEITHER)


def bound_socket() -> socket.socket:
    """On a free port, named explicitly: a port that the kernel chose would be lost with the first refusal (ip(7), bind to 0)."""
    with socket.socket() as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        first.bind(("127.0.0.1", 0))
        second = socket.socket()
        second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        second.bind(first.getsockname())
        return second


class Door:
    """A port outside that leads to a port of the controller. "open", "refused", or "silent": takes connections and lets nothing through."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.state = "open"
        self.listener = bound_socket()
        self.listener.listen(128)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.lines: set[asyncio.Task[None]] = set()
        self.taken = 0  # connections since the start

    async def serve(self, address: str) -> None:
        loop = asyncio.get_running_loop()
        self.readable = asyncio.Event()
        loop.add_reader(self.listener, self.accept, address)

    def accept(self, address: str) -> None:
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        self.taken += 1
        line = asyncio.ensure_future(self.line(client, address))
        self.lines.add(line)
        line.add_done_callback(self.lines.discard)

    async def line(self, client: socket.socket, address: str) -> None:
        # a connection that is cut ends as after a crash, not as after a goodbye
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.setblocking(False)
        inner = socket.socket()
        inner.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            if self.state == "silent":
                await asyncio.Event().wait()
            await loop.sock_connect(inner, (address, self.target))
            first, second = asyncio.ensure_future(self.carry(client, inner)), asyncio.ensure_future(self.carry(inner, client))
            try:
                await asyncio.gather(first, second)
            finally:
                first.cancel()
                second.cancel()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
        except OSError:
            pass
        finally:
            client.close()
            inner.close()

    @staticmethod
    async def carry(source: socket.socket, sink: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(source, 65536):
            await loop.sock_sendall(sink, data)
        sink.shutdown(socket.SHUT_WR)

    async def set(self, state: str, address: str) -> None:
        """Connections that are there are cut; also on opening, since what was taken in silence leads nowhere."""
        loop = asyncio.get_running_loop()
        before, self.state = self.state, state
        if state == "refused" and before != "refused":  # first, or whoever is cut comes in again meanwhile
            loop.remove_reader(self.listener)
            self.listener.shutdown(socket.SHUT_RDWR)  # on Linux a listener so treated refuses, keeps its port, and may listen again
        for line in list(self.lines):
            line.cancel()
        await asyncio.gather(*self.lines, return_exceptions=True)
        if state != "refused" and before == "refused":
            self.listener.listen(128)
            loop.add_reader(self.listener, self.accept, address)


class Keeper:
    def __init__(self, folder: Path, wanted: str) -> None:
        self.folder = folder
        self.doors = {name: Door(port) for name, port in DOORS.items()}
        self.way, self.address = own_network(wanted)
        self.samba: subprocess.Popen[bytes] | None = None
        self.log = (folder / "samba.out").open("ab")

    def configure(self) -> None:
        text = (self.folder / "smb.conf.template").read_text()
        (self.folder / "smb.conf").write_text(text.replace("@ADDRESS@", self.address))

    async def start(self) -> None:
        if self.samba and self.samba.poll() is None:
            return
        self.samba = subprocess.Popen([SAMBA, "-i", "-M", "single", "-s", str(self.folder / "smb.conf"), "--debug-stdout"],
                                      stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        async with asyncio.timeout(START_LIMIT_S):
            while not await self.ready():
                if self.samba.poll() is not None:
                    said = (self.folder / "samba.out").read_text()[-2000:]
                    raise RuntimeError(f"samba ended with status {self.samba.returncode}: {said}")
                await asyncio.sleep(0.02)

    async def ready(self) -> bool:
        for port in READY:
            try:
                _, writer = await asyncio.open_connection(self.address, port)
                writer.close()
            except OSError:
                return False
        return True

    def kill(self) -> None:
        if self.samba:
            self.samba.kill()
            self.samba.wait()

    def freeze(self) -> None:
        """Returns when it stands still: kill(2) returns before that, and a request may be answered meanwhile."""
        if self.samba and self.samba.poll() is None:
            self.samba.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.samba.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        if self.samba:
            self.samba.send_signal(signal.SIGCONT)

    async def do(self, command: dict[str, Any]) -> Any:
        match command["do"]:
            case "start":
                await self.start()
            case "kill":
                self.kill()
            case "freeze":
                self.freeze()
            case "thaw":
                self.thaw()
            case "door":
                await self.doors[command["name"]].set(command["state"], self.address)
            case "taken":
                return {name: door.taken for name, door in self.doors.items()}
            case other:
                raise ValueError(f"unknown command {other}")
        return True

    async def run(self) -> None:
        self.configure()
        for door in self.doors.values():
            await door.serve(self.address)
        await self.start()
        say({"ready": True, "way": self.way, "address": self.address, "pid": self.samba.pid if self.samba else 0,
             "ports": {name: door.port for name, door in self.doors.items()}})
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            try:
                say({"done": await self.do(json.loads(line))})
            except Exception as error:  # told to who asked
                say({"error": f"{type(error).__name__}: {error}"})


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    die_with_parent()
    keeper = Keeper(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "any")
    try:
        asyncio.run(keeper.run())
    finally:
        keeper.kill()


if __name__ == "__main__":
    main()
