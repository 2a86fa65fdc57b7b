"""The contract checker of the tests itself: answers that break docs/openapi.yaml are found out."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from env import contract

PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404, "code": "not_found", "detail": "no", "request_id": "12345678-1"}
VERSION = {"name": "Harmony KaaS", "version": "0.1.0", "api": "v2"}


def answer(method: str, path: str, status: int, body: Any = None, media: str = "application/json", **headers: str) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made.request = requests.Request(method, "https://127.0.0.1" + path).prepare()
    made._content = b"" if body is None else json.dumps(body).encode()
    made.headers.update({"Content-Type": media, **headers})
    return made


@pytest.mark.parametrize("good", [
    answer("GET", "/v2/version", 200, VERSION),
    answer("HEAD", "/v2/version", 200),
    answer("GET", "/v2/clusters?limit=2", 200, {"items": [], "total": 0, "next_cursor": None}, ETag='W/"x"'),
    answer("GET", "/v2/clusters/x", 404, PROBLEM, "application/problem+json"),
    answer("POST", "/v2/logout", 204),
    answer("GET", "/v2/nowhere", 404, PROBLEM, "application/problem+json"),
])
def test_good_answers_pass(good: requests.Response) -> None:
    assert contract.problems(good) == []


@pytest.mark.parametrize(("bad", "why"), [
    (answer("GET", "/v2/version", 200, {**VERSION, "more": 1}), "more"),
    (answer("GET", "/v2/version", 200, {"name": "Harmony KaaS"}), "version"),
    (answer("GET", "/v2/version", 200, VERSION, "text/plain"), "Content-Type"),
    (answer("GET", "/v2/version", 418, VERSION), "must not answer 418"),
    (answer("PUT", "/v2/version", 200, VERSION), "not in the contract"),
    (answer("GET", "/v2/nowhere", 200, VERSION), "not in the contract"),
    (answer("POST", "/v2/logout", 204, {"a": 1}), "has a body"),
    (answer("GET", "/v2/clusters", 200, {"items": [], "total": 0, "next_cursor": None}, ETag='"strong"'), "ETag"),
    (answer("GET", "/v2/clusters/x", 404, {**PROBLEM, "code": "lost"}, "application/problem+json"), "lost"),
])
def test_bad_answers_are_found_out(bad: requests.Response, why: str) -> None:
    assert why in " ".join(contract.problems(bad))


def test_schema_by_name() -> None:
    assert contract.schema_errors("Version", VERSION) == []
    assert contract.schema_errors("Thumbprint", "zz")
