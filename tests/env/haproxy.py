"""haproxy in front of several replicas, with the configuration that docs/admin/replicas.md or an example shows; only addresses and files
differ."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from .kaasd import Kaasd
from .places import TOP, Scratch, WorldError, free_port
from .process import Process, run

PAGE = TOP / "docs/admin/replicas.md"
SERVER = re.compile(r"^( +server \S+ )(\S+)(.*)$", re.M)
UP = "2"  # srv_op_state of "show servers state": https://docs.haproxy.org/2.6/management.html#9.3


def example(word: str) -> str:
    """The configuration in docs/admin/replicas.md whose first line names `word`."""
    for block in re.findall(r"```haproxy\n(.*?)```", PAGE.read_text(), re.S):
        if word in block.splitlines()[0]:
            return str(block)
    raise WorldError(f"docs/admin/replicas.md shows no haproxy configuration for {word}")


class Haproxy:
    """Running when made. `kind` is "passing TLS through" or "ending TLS", shown by the page unless `text` is given. A patient one does not
    give a server up for two slow answers."""

    def __init__(self, scratch: Scratch, kind: str, replicas: Sequence[Kaasd], *, text: str = "", is_patient: bool = False) -> None:
        self.folder = scratch.path / f"haproxy-{kind.split()[0]}"
        self.folder.mkdir()
        self.port = free_port()
        self.socket = self.folder / "stats.sock"
        self.config = self.folder / "haproxy.cfg"
        self.config.write_text(self._adapt(text or example(kind), list(replicas)).replace("fall 2", "fall 60" if is_patient else "fall 2"))
        found = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if not found:
            raise WorldError("haproxy is missing: install the Debian package haproxy")
        checked = run([found, "-c", "-f", self.config])
        if checked.returncode:
            raise WorldError(f"haproxy does not take the configuration:\n{checked.stdout}{checked.stderr}")
        self.process = Process(f"haproxy-{self.port}", [found, "-db", "-f", self.config], scratch.log)
        self.process.wait_until(lambda: self.up() == len(replicas), "the replicas behind it")

    def _adapt(self, text: str, replicas: list[Kaasd]) -> str:
        pem = self.folder / "server.pem"
        pem.touch(mode=0o600)
        pem.write_bytes(replicas[0].tls.cert_file.read_bytes() + replicas[0].tls.key_file.read_bytes())
        text = text.replace("/etc/haproxy/kaas.pem", str(pem)).replace("/etc/haproxy/kaas-ca.pem", str(replicas[0].tls.ca_file))
        text = text.replace("global\n", f"global\n    stats socket {self.socket} level admin\n", 1)
        text = re.sub(r"bind :443", f"bind 127.0.0.1:{self.port}", text)
        ports = iter(replicas)
        return SERVER.sub(lambda found: f"{found.group(1)}127.0.0.1:{next(ports).port}{found.group(3)}", text)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(self.socket))
            asking.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: asking.recv(65536), b"")).decode()

    def states(self) -> dict[str, bool]:
        """Name of each server, and whether requests are sent to it."""
        if not Path(self.socket).exists():
            return {}
        rows = [line.split() for line in self.ask("show servers state").splitlines()[2:] if line.strip()]
        return {row[3]: row[5] == UP for row in rows}

    def up(self) -> int:
        try:
            return sum(self.states().values())
        except OSError:
            return 0

    def stop(self) -> None:
        self.process.stop()
