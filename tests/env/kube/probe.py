"""The daemon's watch of nodes by itself: the program tests/integ/kube_watch_probe, driven as its owner would."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Any

from ..places import WorldError, program
from ..process import READY_LIMIT_S
from ..wait import until
from .server import ADMIN, Kube

AGREE_LIMIT_S = 60.0
KINDS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
Node = dict[str, Any]


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _condition(told: dict[str, str]) -> dict[str, Any]:
    times = {"heartbeat_s": told["lastHeartbeatTime"], "transition_s": told["lastTransitionTime"]}
    return {"status": told["status"], **{name: _seconds(text) for name, text in times.items()}}


def as_told(node: dict[str, Any]) -> Node:
    """What the probe prints of a node, made of what the API says."""
    meta, spec, status = node["metadata"], node["spec"], node["status"]
    texts = {"provider_id": spec.get("providerID"), "system_uuid": status["nodeInfo"]["systemUUID"],
             "version": status["nodeInfo"]["kubeletVersion"],
             "address": next((one["address"] for one in status["addresses"] if one["type"] == "InternalIP"), None),
             "reason": next((one["reason"] for one in status["conditions"] if one["type"] == "Ready" and one["status"] != "True"), None)}
    return {"name": meta["name"], "uid": meta["uid"], "created_s": _seconds(meta["creationTimestamp"]),
            "is_control_plane": "node-role.kubernetes.io/control-plane" in meta.get("labels", {}),
            "is_cordoned": spec.get("unschedulable", False),
            "conditions": {one["type"]: _condition(one) for one in status["conditions"] if one["type"] in KINDS},
            **{name: text for name, text in texts.items() if text}}


def seen_by_kubectl(kube: Kube) -> dict[str, Node]:
    return {one["metadata"]["name"]: as_told(one) for one in json.loads(kube.kubectl("get", "nodes", "--output=json"))["items"]}


class WatchProbe:
    """Runs when made, and rests; a context manager. Its clock stands still unless `real_clock`: `forward` moves it. `events` are all that
    was told so far."""

    def __init__(self, kube: Kube, url: str | None = None, *, token: str | None = None, real_clock: bool = False) -> None:
        self.kube = kube
        self.events: list[dict[str, Any]] = []
        self._seen = 0
        self._told = threading.Condition()
        self._done: queue.Queue[dict[str, Any]] = queue.Queue()
        self._popen = subprocess.Popen([program("tests/integ/kube_watch_probe"), url or kube.url, kube.ca_file], text=True, bufsize=1,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self._send(kube.tokens[ADMIN] if token is None else token)
        if not real_clock:
            self.do("stand")

    def __enter__(self) -> WatchProbe:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._popen.stdin and self._popen.stdout
        self._popen.stdin.close()
        status = self._popen.wait(READY_LIMIT_S)
        self._reading.join()
        self._popen.stdout.close()
        if not kind and status:
            raise WorldError(f"kube_watch_probe ended with status {status}")

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _send(self, line: str) -> None:
        assert self._popen.stdin
        self._popen.stdin.write(line + "\n")

    def _read(self) -> None:
        assert self._popen.stdout
        for line in self._popen.stdout:
            row = json.loads(line)
            if row["event"] == "done":
                self._done.put(row)
            else:
                with self._told:
                    self.events.append(row)
                    self._told.notify_all()

    # commands

    def do(self, command: str) -> dict[str, Any]:
        """A command of the program, which must succeed."""
        self._send(command)
        done = self._done.get(timeout=READY_LIMIT_S)
        if "code" in done:
            raise WorldError(f"{command}: {done}")
        return done

    def start(self) -> None:
        self.do("start")

    def call(self, method: str, path: str, body: Any = None, media_type: str = "application/json") -> dict[str, Any]:
        """By the daemon's client; hands back its error (code, text, remedy, retry_after_s), or the answer as `reply`."""
        words = ["call", method, path, *([media_type, json.dumps(body)] if body is not None else [])]
        self._send(" ".join(words))
        done = self._done.get(timeout=READY_LIMIT_S)
        return done if "code" in done else {"reply": json.loads(done["reply"])}

    def forward(self, seconds: float) -> None:
        self.do(f"forward {int(seconds * 1000)}")

    def nodes(self) -> dict[str, Node]:
        return {one["name"]: one for one in self.do("nodes")["nodes"]}

    # what was told

    def wait(self, event: str, happened: Callable[[dict[str, Any]], object] = lambda _: True) -> dict[str, Any]:
        """The next such event behind the one that was waited for last."""
        def found() -> dict[str, Any] | None:
            for number in range(self._seen, len(self.events)):
                if self.events[number]["event"] == event and happened(self.events[number]):
                    self._seen = number + 1
                    return self.events[number]
            return None

        with self._told:
            one = self._told.wait_for(found, READY_LIMIT_S)
        if not one:
            raise WorldError(f"no sign of {event} in {READY_LIMIT_S:.0f} s; told since the last: {self.events[self._seen:][-20:]}")
        return one

    def wait_change(self, name: str) -> dict[str, Any]:
        return self.wait("changed", lambda event: event["name"] == name)

    def words(self, *of: str) -> list[str]:
        """The events so far, without those of single nodes; or these kinds alone."""
        return [one["event"] for one in self.events if (one["event"] in of if of else one["event"] not in ("changed", "gone"))]

    def agree(self) -> dict[str, Node]:
        """Waits until this set and what kubectl says are the same, and hands it back; nothing may be changing meanwhile."""
        wanted = seen_by_kubectl(self.kube)

        def differs() -> dict[str, tuple[Node | None, Node | None]]:
            known = self.nodes()
            pairs = {name: (known.get(name), wanted.get(name)) for name in known.keys() | wanted.keys()}
            return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

        try:
            until(lambda: not differs(), "the same as kubectl", AGREE_LIMIT_S)
        except AssertionError as missing:
            some = list(differs().items())[:3]
            raise WorldError(f"{missing}; told and wanted: {some}; the last events: {self.events[-20:]}") from missing
        return wanted
