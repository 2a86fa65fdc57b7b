"""A plain client of an API server, for tests: JSON, one identity, no cleverness that could hide what the server says."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import requests

from ..api import client
from ..places import WorldError

LIMIT_S = 60
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"  # lists are merged by the keys of their elements
APPLY = "application/apply-patch+yaml"


class Refused(WorldError):
    """An answer with another status than the caller asked for; `status` and `reason` are the server's."""

    def __init__(self, method: str, path: str, answer: requests.Response) -> None:
        super().__init__(f"{method} {path}: {answer.status_code}: {answer.text[:1000]}")
        self.status = answer.status_code
        try:
            self.reason = str(answer.json().get("reason", ""))
        except ValueError:
            self.reason = ""


class KubeClient:
    """Calls with one identity (or none). `where` is asked for the server's address each time, since servers of tests move. Threads may
    share it."""

    def __init__(self, where: Callable[[], str], ca_file: Path, token: str | None = None, cert: tuple[str, str] | None = None) -> None:
        self.where = where
        self._client = client(ca_file)
        self._client.cert = cert
        if token:
            self._client.headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Any = None, *, accept: str = "application/json", content_type: str = "application/json",
            limit_s: float = LIMIT_S, **more: Any) -> requests.Response:
        """Any call, its answer as it is."""
        data = json.dumps(body) if body is not None else None
        headers = {"Accept": accept, **({"Content-Type": content_type} if data else {})}
        return self._client.request(method, self.where() + path, data=data, headers=headers, timeout=limit_s, allow_redirects=False, **more)

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """A call that must succeed; hands back the JSON."""
        answer = self.ask(method, path, body, **more)
        if not answer.ok:
            raise Refused(method, path, answer)
        return answer.json()

    def get(self, path: str, **params: Any) -> Any:
        return self.call("GET", path, params=params)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self.call("POST", path, body)

    def patch(self, path: str, body: dict[str, Any], kind: str = STRATEGIC) -> Any:
        return self.call("PATCH", path, body, content_type=kind)

    def delete(self, path: str) -> Any:
        return self.call("DELETE", path)

    def watch(self, path: str, *, limit_s: float = LIMIT_S, **params: Any) -> Iterator[dict[str, Any]]:
        """Events as they come, until the server ends the watch; `limit_s` without any is an error (requests.exceptions.ConnectionError)."""
        answer = self.ask("GET", path, params={"watch": "1", **params}, stream=True, limit_s=limit_s)
        with closing(answer):
            if not answer.ok:
                raise Refused("GET", f"{path}?watch=1", answer)
            for line in answer.iter_lines(chunk_size=None):
                yield json.loads(line)

    def uid(self) -> str:
        """What a cluster is known by: the uid of its namespace kube-system."""
        return str(self.get("/api/v1/namespaces/kube-system")["metadata"]["uid"])
