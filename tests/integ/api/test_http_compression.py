"""Compressed answers: who gets them, what they say of themselves, entity tags, what is never compressed; HEAD and OPTIONS everywhere."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import gzip
import json
import re
import uuid
from collections.abc import Iterator

import pytest
import requests
from env import contract
from env.api import Api
from env.full import World

LIMIT_S = 60
MANY = 300  # more than a server thread compresses by itself


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    with World("gz") as whole:
        whole.join()
        place = {"vcenter": whole.vcenter.instance_uuid, "path": "DC0/C-Plain"}
        lines = [{"name": f"z-{n:04}", "description": str(uuid.uuid4()), "kubernetes_version": "1.31.2", "control_plane": {"desired": 3},
                  "workers": {"desired": 2}, "vsphere_clusters": [place]} for n in range(MANY)]
        whole.admin.expect(200, "POST", "/v2/clusters:import", data="\n".join(map(json.dumps, lines)),
                           headers={"Content-Type": "application/x-ndjson"})
        yield whole


@pytest.fixture(scope="module")
def admin(own: World) -> Api:
    return own.admin


def ask(api: Api, path: str, encoding: str | None = "gzip", method: str = "GET", **headers: str) -> requests.Response:
    """The body as it came, in `raw_body`."""
    if path.endswith("SCRIPT"):  # its name holds a digest
        page = requests.get(f"{api.base}/ui/", verify=str(api.ca_file), timeout=LIMIT_S).text
        path = path.replace("SCRIPT", re.findall(r'src="\./(main-[^"]+\.js)"', page)[0])
    given = {"Accept-Encoding": encoding, "Authorization": f"Bearer {api.token}" if api.token else None, **headers}
    answer = requests.request(method, api.base + path, headers=given, verify=str(api.ca_file), timeout=LIMIT_S, stream=True)
    answer.raw_body = answer.raw.read(decode_content=False)  # type: ignore[attr-defined]
    return answer


def body(answer: requests.Response) -> bytes:
    raw: bytes = answer.raw_body  # type: ignore[attr-defined]
    return gzip.decompress(raw) if answer.headers.get("Content-Encoding") == "gzip" else raw


PATHS = ["/v2/clusters?limit=20", "/v2/clusters?limit=500", "/v2/clusters?limit=500&watch=", "/openapi.yaml", "/ui/SCRIPT"]


@pytest.mark.parametrize("path", PATHS)
def test_the_compressed_form_says_the_same(admin: Api, path: str) -> None:
    plain = ask(admin, path, None)
    for _ in range(2):  # made, and kept
        packed = ask(admin, path)
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Content-Encoding" not in plain.headers
        assert body(packed) == body(plain)
        assert len(packed.raw_body) * 2 < len(plain.raw_body)  # type: ignore[attr-defined]
        assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
        assert int(packed.headers["Content-Length"]) == len(packed.raw_body)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", PATHS)
def test_entity_tags(admin: Api, path: str) -> None:
    """A weak one stands for both forms; strong ones differ, and either is known again."""
    tags = [ask(admin, path, encoding).headers["ETag"] for encoding in (None, "gzip")]
    assert (tags[0] == tags[1]) == tags[0].startswith("W/")
    if "watch" in path:
        return
    for tag in tags:
        for encoding in (None, "gzip"):
            again = ask(admin, path, encoding, **{"If-None-Match": tag})
            assert (again.status_code, again.headers["ETag"], again.raw_body) == (304, tag, b"")  # type: ignore[attr-defined]
            assert again.headers["Vary"] == "Accept-Encoding"
            assert "Content-Encoding" not in again.headers


@pytest.mark.parametrize(("accepted", "is_packed"), [
    ("gzip", True), ("GZIP", True), ("x-gzip", True), ("deflate, gzip;q=1.0, *;q=0.5", True), ("*", True), ("br, gzip;q=0.001", True),
    ("identity;q=0.5, gzip;q=0.5", True), ("gzip ; q=0.8", True), (",, gzip ,", True),
    ("", False), ("identity", False), ("br", False), ("gzip;q=0", False), ("gzip;q=0.000", False), ("*;q=0", False), ("*, gzip;q=0", False),
    ("identity, gzip;q=0.9", False), ("gzip;q=2", False), ("gzip;q=0.1234", False), ("gzip;q=", False), ("gzip;x=1", False),
    ("gzippy", False), ("gzip q=1", False),
])
def test_who_gets_it(admin: Api, accepted: str, is_packed: bool) -> None:
    assert ("Content-Encoding" in ask(admin, "/v2/clusters?limit=20", accepted).headers) == is_packed


def test_head_has_the_same_fields(admin: Api) -> None:
    changing = {"Date", "KaaS-Request-Id", "KaaS-As-Of"}
    for path in PATHS:
        for encoding in (None, "gzip"):
            get, head = (ask(admin, path, encoding, method) for method in ("GET", "HEAD"))
            fields = [{name: value for name, value in answer.headers.items() if name not in changing} for answer in (get, head)]
            assert fields[0] == fields[1]
            assert head.raw_body == b""  # type: ignore[attr-defined]


def test_what_is_never_compressed(own: World, admin: Api) -> None:
    """Secrets and what an attacker could choose the length of, tokens first; and what is too small."""
    login = requests.post(f"{admin.base}/v2/login/password", verify=str(admin.ca_file), timeout=LIMIT_S,
                          headers={"X-KaaS": "1", "Accept-Encoding": "gzip"},
                          json={"username": "admin", "password": own.kaasd.admin_password})
    cluster = next(admin.items("/v2/clusters"))
    answers = [login, ask(admin, f"/v2/clusters/{cluster['id']}"), ask(admin, "/v2/whoami"), ask(admin, "/v2/vcenters"),
               ask(admin, f"/v2/clusters?q={'x' * 3000}"), ask(admin, "/v2/clusters?limit=1")]
    for answer in answers:
        assert "Content-Encoding" not in answer.headers


def test_every_route_tells_what_it_allows(admin: Api) -> None:
    """OPTIONS, 405 and HEAD of all paths of the contract."""
    document = contract.contract().document
    for path, item in document["paths"].items():
        concrete = path.replace("{file}", "index.html").replace("{", "").replace("}", "")
        methods = {name.upper() for name in item if name in contract.METHODS}
        allowed = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
        options = ask(admin, concrete, None, "OPTIONS")
        assert options.status_code == 204, path
        assert set(options.headers["Allow"].split(", ")) == allowed, path
        refused = ask(admin, concrete, None, "TRACE")
        assert (refused.status_code, set(refused.headers["Allow"].split(", "))) == (405, allowed), path
        assert not any(name.startswith("Access-Control-") for name in {**options.headers, **refused.headers})
