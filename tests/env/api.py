"""A client of kaasd's HTTP interface that trusts the world's CA and holds every answer against the contract."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import requests

from . import contract

LIMIT_S = 120


class Unexpected(AssertionError):
    """An answer with another status than the caller asked for, or one that breaks the contract."""


def client(ca_file: Path | None = None, *, keeps_connections: bool = True) -> requests.Session:
    """Keeps connections for further requests and shares them between threads: each takes a free one or opens another. Keeps nothing else:
    no cookies, and nothing of the environment such as proxies."""
    made = requests.Session()
    made.trust_env = False
    made.verify = str(ca_file) if ca_file else True
    made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    if not keeps_connections:
        made.headers["Connection"] = "close"
    return made


class Api:
    """Calls with one identity (or none). `as_token` makes another one for the same daemon, on the same connections: an identity is that of
    a request, and a daemon that mixes them up must be found out."""

    def __init__(self, base: str, ca_file: Path, token: str | None = None, *, shared: requests.Session | None = None) -> None:
        self.base = base
        self.ca_file = ca_file
        self.token = token
        self._client = shared or client(ca_file)

    def as_token(self, token: str | None) -> Api:
        return Api(self.base, self.ca_file, token, shared=self._client)

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        """Any call, its answer as it is."""
        return self._client.request(method, self.base + path, allow_redirects=False, **{"timeout": LIMIT_S, **more})

    def call(self, method: str, path: str, **more: Any) -> requests.Response:
        """Any call; the answer must fit the contract."""
        headers = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **more.pop("headers", {})}
        answer = self.ask(method, path, headers=headers, **more)
        broken = contract.problems(answer)
        if broken:
            raise Unexpected(f"{method} {path}: {answer.status_code} breaks the contract: {'; '.join(broken[:5])}\n{answer.text[:1000]}")
        return answer

    def expect(self, status: int, method: str, path: str, **more: Any) -> Any:
        """As call; the status must be this one. Hands back the JSON, or None without a body."""
        answer = self.call(method, path, **more)
        if answer.status_code != status:
            raise Unexpected(f"{method} {path}: {answer.status_code} where {status} is expected: {answer.text[:1000]}")
        return answer.json() if answer.content and "json" in answer.headers.get("Content-Type", "") else None

    def refused(self, status: int, code: str, method: str, path: str, **more: Any) -> dict[str, Any]:
        """A call that must end in this problem; hands it back."""
        problem = self.expect(status, method, path, **more)
        if problem["code"] != code:
            raise Unexpected(f"{method} {path}: code {problem['code']} where {code} is expected: {problem}")
        return problem

    def get(self, path: str, **params: Any) -> Any:
        return self.expect(200, "GET", path, params=params)

    def items(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """All items of a list, page by page."""
        while True:
            page = self.get(path, **params)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            params["cursor"] = page["next_cursor"]

    def names(self, path: str = "/v2/clusters", **params: Any) -> list[str]:
        return [item["name"] for item in self.items(path, **params)]

    def post_login(self, way: str, body: dict[str, Any]) -> requests.Response:
        return self.call("POST", f"/v2/login/{way}", json=body, headers={"X-KaaS": "1"})

    def _signed_in(self, way: str, body: dict[str, Any]) -> Api:
        answer = self.post_login(way, body)
        if answer.status_code != 200:
            raise Unexpected(f"sign-on by {way}: {answer.status_code} {answer.text[:1000]}")
        return self.as_token(answer.json()["access_token"])

    def login_session(self, vcenter: str, session_id: str) -> Api:
        return self._signed_in("vcenter", {"vcenter": vcenter, "session_id": session_id})

    def login_ticket(self, vcenter: str, clone_ticket: str) -> Api:
        return self._signed_in("vcenter", {"vcenter": vcenter, "clone_ticket": clone_ticket})

    def login_password(self, username: str, password: str, source: str | None = None) -> Api:
        return self._signed_in("password", {"username": username, "password": password, **({"source": source} if source else {})})
