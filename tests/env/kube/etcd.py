"""etcd: one member, or three of which two can be ended; full, compacted, frozen, killed at will."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import requests

from ..api import client
from ..client_certs import ClientCa
from ..places import Scratch, WorldError, free_port
from ..process import Process
from .programs import kube_program

LIMIT_S = 30
# How the API server tells its fellows, and itself, what it has compacted (k8s.io/apiserver, pkg/storage/etcd3/compact.go).
COMPACT_KEY = "compact_rev_key"


def _text(value: str) -> str:
    """Keys and values are bytes: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/"""
    return base64.b64encode(value.encode()).decode()


class Member:
    """One of them. It keeps its data and its ports through kill and start."""

    def __init__(self, etcd: Etcd, name: str) -> None:
        self.etcd = etcd
        self.name = name
        self.folder = etcd.folder / name
        self.port, self.peer_port = free_port(), free_port()
        self._process: Process | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def peer_url(self) -> str:
        return f"https://127.0.0.1:{self.peer_port}"

    @property
    def process(self) -> Process:
        if not self._process:
            raise WorldError(f"{self.name} does not run")
        return self._process

    @property
    def runs(self) -> bool:
        return self._process is not None

    def spawn(self, *, is_further: bool = False) -> None:
        """Begins to run; `Etcd.wait_healthy` waits. `is_further`: beside members that run, which know it."""
        self._process = Process(self.name, [*self._command(), *(["--initial-cluster-state=existing"] if is_further else [])], self.etcd.log)

    def start(self) -> None:
        """Runs again, with the data that it had; returns when it has a leader."""
        self.spawn()
        self.wait_healthy()

    def _command(self) -> list[str]:
        etcd, cert = self.etcd, self.etcd.cert
        members = ",".join(f"{one.name}={one.peer_url}" for one in etcd.members)
        files = {"cert": cert.cert_file, "key": cert.key_file, "trusted-ca": etcd.ca.ca_file}
        return [str(kube_program("etcd")), f"--name={self.name}", f"--data-dir={self.folder}", "--log-level=warn",
                f"--listen-client-urls={self.url}", f"--advertise-client-urls={self.url}",
                f"--listen-peer-urls={self.peer_url}", f"--initial-advertise-peer-urls={self.peer_url}",
                f"--initial-cluster={members}", "--client-cert-auth", "--peer-client-cert-auth",
                *(f"--{kind}-file={path}" for kind, path in files.items()), *(f"--peer-{kind}-file={path}" for kind, path in files.items()),
                # alone it is elected when this time is over; of three each must be heard on a busy machine
                *(("--heartbeat-interval=250", "--election-timeout=2500") if len(etcd.members) > 1 else
                  ("--heartbeat-interval=50", "--election-timeout=250")),
                "--unsafe-no-fsync"]  # what is written survives kill -9; only a power cut would lose it

    def is_healthy(self) -> bool:
        """It answers, and has a leader."""
        try:
            return self.etcd.client.get(f"{self.url}/health", timeout=LIMIT_S).json().get("health") == "true"
        except (requests.RequestException, ValueError):
            return False

    def wait_healthy(self) -> None:
        self.process.wait_until(self.is_healthy, "a leader")

    def kill(self) -> None:
        """As power loss would."""
        self.process.kill()
        self._process = None

    def freeze(self) -> None:
        self.process.freeze()

    def thaw(self) -> None:
        self.process.thaw()


class Etcd:
    """Running when made. All it has goes with the scratch folder."""

    def __init__(self, scratch: Scratch, name: str = "etcd", *, members: int = 1) -> None:
        self.folder = scratch.path / name
        self.log = scratch.log
        self.ca = ClientCa(self.folder / "tls", "World etcd CA")
        self.cert = self.ca.issue("etcd", hosts=("127.0.0.1", "localhost"))
        self.client = client(self.ca.ca_file)
        self.client.cert = self.cert.pair
        self.members = [Member(self, f"{name}-{number}") for number in range(members)]
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def urls(self) -> str:
        """As the API server takes them."""
        return ",".join(member.url for member in self.members)

    def call(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Of etcd's JSON gateway, at the first member that runs."""
        member = next((one for one in self.members if one.runs), None)
        if not member:
            raise WorldError("no member of etcd runs")
        answer = self.client.post(f"{member.url}/v3/{path}", json=body or {}, timeout=LIMIT_S)
        if not answer.ok:
            raise WorldError(f"etcd: {path}: {answer.status_code}: {answer.text[:1000]}")
        return dict(answer.json())

    def revision(self) -> int:
        return int(self.call("kv/range", {"key": _text(COMPACT_KEY)})["header"]["revision"])

    def copy(self, key: str, to: str) -> None:
        """The object with this key, uid and all, as it is: a cluster with another prefix has it as well then."""
        (found,) = self.call("kv/range", {"key": _text(key)})["kvs"]
        self.call("kv/put", {"key": _text(to), "value": found["value"]})

    def compact(self) -> int:
        """Forgets all history, as API servers have it done every five minutes; hands back the revision from which on it is known. API
        servers are told in their own way, since they answer for the past from memory until they hear of it."""
        revision = self.revision()
        self.call("kv/put", {"key": _text(COMPACT_KEY), "value": _text(str(revision))})
        self.call("kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def fill(self) -> None:
        """As if the quota were reached: etcd sets this alarm then, and refuses what would take more room until somebody takes it away."""
        self._alarm("ACTIVATE")

    def make_room(self) -> None:
        self._alarm("DEACTIVATE")

    def _alarm(self, action: str) -> None:
        for status in self._per_member(lambda status: str(status["header"]["member_id"])):
            self.call("maintenance/alarm", {"action": action, "memberID": status, "alarm": "NOSPACE"})

    def _per_member(self, wanted: Callable[[dict[str, Any]], str]) -> list[str]:
        return [wanted(self.client.post(f"{member.url}/v3/maintenance/status", json={}, timeout=LIMIT_S).json())
                for member in self.members if member.runs]

    def kill(self) -> None:
        """All members."""
        for member in self.members:
            if member.runs:
                member.kill()

    def start(self) -> None:
        """All members that do not run."""
        stopped = [member for member in self.members if not member.runs]
        for member in stopped:
            member.spawn()
        for member in stopped:
            member.wait_healthy()

    def close(self) -> None:
        self.kill()
