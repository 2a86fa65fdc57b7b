"""Many clusters for the price of one: what a real API server has said is recorded, and said again by one program for as many clusters as
wanted, each with names and uuids of its own, and with watches that the test drives. What was not recorded is refused with 404, and told."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..api import client
from ..places import Scratch, WorldError
from ..process import READY_LIMIT_S, Process
from .client import KubeClient
from .nodes import PATH, condition_of
from .programs import kube_program
from .server import ADMIN, Kube, kubeconfig_of

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
UUID = re.compile(r"[0-9a-fA-F]{8}(?=-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})")
COUNT = 199


@dataclass(frozen=True)
class Call:
    """One that is recorded. `accept` "" is for whatever a client accepts; `body` is a part of what is asked, unless `for_any_body`."""

    method: str
    path: str
    accept: str = ""
    body: Any = None
    is_anonymous: bool = False
    for_any_body: bool = False


USUAL = (*(Call("GET", path, is_anonymous=True) for path in ("/readyz", "/readyz?verbose", "/livez", "/healthz")),
         *(Call("GET", "/version", accept, is_anonymous=True) for accept in (JSON, PROTOBUF)),  # there is none in protobuf: 406
         *(Call("GET", "/api/v1/namespaces/kube-system", accept) for accept in (JSON, PROTOBUF)))


def record(kube: Kube, file: Path, more: Iterable[Call] = (), tokens: Iterable[str] = ()) -> Path:
    """Asks for the nodes, for USUAL and `more`, and keeps what was said. The admin's token and `tokens` will be good."""
    answers = []
    for call in (*USUAL, *more):
        asker = kube.as_token(None) if call.is_anonymous else kube.api
        said = asker.ask(call.method, call.path, call.body, accept=call.accept or "*/*")
        if said.status_code >= 500:
            raise WorldError(f"{call}: {said.status_code} {said.text[:300]}")
        answers.append({"method": call.method, "path": call.path, "accept": call.accept, "anonymous": call.is_anonymous,
                        **({"request": call.body} if call.body is not None and not call.for_any_body else {}),
                        "status": said.status_code, "content_type": said.headers["Content-Type"],
                        "body": base64.b64encode(said.content).decode()})
    nodes = kube.api.ask("GET", PATH, accept=PROTOBUF).content
    file.touch(mode=0o600)
    file.write_text(json.dumps({"tokens": [kube.tokens[ADMIN], *tokens], "answers": answers, "nodes": base64.b64encode(nodes).decode()}))
    return file


def uuid_in(number: int, text: str) -> str:
    """What a recorded text with uuids (a uid, a providerID) is in a replayed cluster."""
    def other(found: re.Match[str]) -> str:
        digits = f"{int(found[0], 16) ^ number:08x}"
        return digits.upper() if re.search("[A-F]", text) else digits

    return UUID.sub(other, text)


def name_in(number: int, name: str) -> str:
    return f"c{number:03}-{name}" if number else name


class Replay:
    """Running when made; a context manager. The certificate and the admin's token are those of the recorded cluster, which need not run any
    more. Cluster 0, if it is the first, says what was recorded to the letter."""

    def __init__(self, scratch: Scratch, kube: Kube, recording: Path, *, first: int = 1, count: int = COUNT,
                 name: str = "kubereplay") -> None:
        self.ca_file = kube.ca_file
        self.token = kube.tokens[ADMIN]
        cert = kube.ca.issue(name, hosts=("127.0.0.1", "localhost"))
        ready_file = scratch.path / f"{name}.json"
        self.process = Process(name, [kube_program("kubereplay", "replay"), "--recording", recording, "--first", str(first),
                                      "--count", str(count), "--cert", cert.cert_file, "--key", cert.key_file, "--ready-file", ready_file],
                               scratch.log)
        self.process.wait_until(ready_file.exists, "the ready file")
        ready = json.loads(ready_file.read_text())
        self.urls = {int(number): str(url) for number, url in ready["clusters"].items()}
        self._control_url = str(ready["control"])
        self._control = client()

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.stop()

    def api(self, number: int, token: str | None = "") -> KubeClient:
        """As the recorded admin, unless there is another token, or None."""
        return KubeClient(lambda: self.urls[number], self.ca_file, self.token if token == "" else token)

    def kubeconfig(self, number: int) -> str:
        return kubeconfig_of(f"replayed-{number}", self.urls[number], self.ca_file, ADMIN, {"token": self.token})

    # what a test does to a cluster; number "all" is each of them

    def _act(self, method: str, number: int | str, what: str, body: Any = None) -> None:
        answer = self._control.request(method, f"{self._control_url}/clusters/{number}/{what}", json=body, timeout=READY_LIMIT_S)
        if not answer.ok:
            raise WorldError(f"kubereplay: {method} {number}/{what}: {answer.status_code} {answer.text}")

    def add(self, number: int | str, node: dict[str, Any]) -> None:
        """Makes a node, or replaces it: ADDED or MODIFIED."""
        self._act("POST", number, "nodes", node)

    def patch(self, number: int | str, name: str, change: dict[str, Any]) -> None:
        """A strategic merge patch of a node, by its replayed name: MODIFIED."""
        self._act("PATCH", number, f"nodes/{name}", change)

    def condition(self, number: int | str, name: str, kind: str, status: str) -> None:
        self.patch(number, name, {"status": {"conditions": [condition_of(kind, status)]}})

    def delete(self, number: int | str, name: str) -> None:
        self._act("DELETE", number, f"nodes/{name}")

    def bookmark(self, number: int | str) -> None:
        """One to all watches; they get one each minute anyway."""
        self._act("POST", number, "bookmark")

    def cut(self, number: int | str) -> None:
        """Ends all watches, without an error."""
        self._act("POST", number, "cut")

    def expire(self, number: int | str) -> None:
        """Forgets all that has changed: watches are told so (ERROR, 410), as is who begins with an older version."""
        self._act("POST", number, "expire")

    def close(self, number: int | str) -> None:
        """Breaks all connections and refuses further ones."""
        self._act("POST", number, "close")

    def open(self, number: int | str) -> None:
        """Listens again, at the same port."""
        self._act("POST", number, "open")

    def say(self, number: int | str, method: str, path: str, status: int, body: bytes, *, content_type: str = JSON,
            is_anonymous: bool = False) -> None:
        """Another answer than the recorded one, until `forget`."""
        self._act("POST", number, "answers", {"method": method, "path": path, "status": status, "content_type": content_type,
                                              "anonymous": is_anonymous, "body": base64.b64encode(body).decode()})

    def forget(self, number: int | str) -> None:
        self._act("DELETE", number, "answers")

    def state(self) -> dict[int, dict[str, Any]]:
        """Of each cluster: nodes, version, watches (open now), calls (how often each), unknown (what was asked and is on no tape)."""
        told = self._control.get(f"{self._control_url}/clusters", timeout=READY_LIMIT_S).json()
        return {int(number): one for number, one in told.items()}

    def unknown(self) -> list[str]:
        return [one for told in self.state().values() for one in told["unknown"]]
