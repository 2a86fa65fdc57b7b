"""What docs/openapi.yaml declares as a default is taken when it is sent: clients that others generate send them all."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.contract import METHODS, contract
from env.full import World

UNKNOWN = "00000000-0000-4000-8000-000000000000"
PASSWORD = "Correct-horse-7"
# By operation, a body with what is required. A user in the path is unknown: 404 shows that the body was good.
BODIES: dict[str, dict[str, Any]] = {
    "loginPassword": {"username": "nobody", "password": "wrong"},
    "rotateSigningKey": {},
    "addVcenter": {"address": "127.0.0.1"},
    "setVcenterLoginAccount": {"username": "kaas@vsphere.local", "password": PASSWORD},
    "registerVcenter": {},  # with ADMIN
    "unregisterVcenter": {},  # likewise
    "installSolution": {"ovf_environment": "<Environment/>"},
    "createService": {"name": "of-defaults", "subject": "CN=of-defaults"},
    "createDirectory": {"name": "defaults", "kind": "openldap", "urls": ["ldaps://127.0.0.1"], "search_base": "dc=x",
                        "bind_dn": "cn=kaas,dc=x", "bind_password": PASSWORD},
    "connectCluster": {"address": "https://127.0.0.1:6443", "token": "of-defaults"},  # kaasd does not connect there
    "setClusterConnection": {"address": "https://127.0.0.1:6443", "token": "of-defaults"},
    "createUser": {"name": "of-defaults", "role": "user", "password": PASSWORD},
    "resetPassword": {"password": PASSWORD},
}


def defaults_of(schema: Any) -> dict[str, Any]:
    members = contract().resolve(schema).get("properties", {})
    return {name: contract().resolve(member)["default"] for name, member in members.items() if "default" in contract().resolve(member)}


def operations() -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    for path, item in contract().document["paths"].items():
        for method in METHODS:
            if found := contract().find(method, path) if method in item else None:
                yield method.upper(), path, found[0], found[1]


QUERIES = {operation["operationId"]: (method, path, {one["name"]: one["schema"]["default"] for one in parameters
                                                      if one["in"] == "query" and "default" in one["schema"]})
           for method, path, operation, parameters in operations()}
IN_BODIES = {operation["operationId"]: (method, path, media, defaults_of(content["schema"]))
             for method, path, operation, _ in operations()
             for media, content in operation.get("requestBody", {}).get("content", {}).items() if defaults_of(content.get("schema", {}))}


REFUSED = {"installSolution"}  # 422 whatever else is sent: it is no environment of a vCenter
OF_VCENTER = {"registerVcenter", "unregisterVcenter"}


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    with World("df") as whole:
        whole.join()
        yield whole


@pytest.mark.parametrize("name", [name for name, (_, _, query) in QUERIES.items() if query])
def test_of_parameters(world: World, name: str) -> None:
    method, path, query = QUERIES[name]
    needed = {"vcenter": world.vcenter.instance_uuid, "vm": "vm-1"} if name == "listNodesOn" else {}
    lines: dict[str, Any] = {"data": b'{"name": "x"}\n', "headers": {"Content-Type": "application/x-ndjson"}}
    more = lines if name == "importClusters" else {}
    for key, value in query.items():
        answer = world.admin.call(method, path.replace("{id}", UNKNOWN), params={**needed, key: str(value).lower()}, **more)
        assert answer.status_code in (200, 404), (key, answer.text)


def test_each_body_with_defaults_is_here() -> None:
    assert set(BODIES) == set(IN_BODIES)


@pytest.mark.parametrize("name", BODIES)
def test_of_members(own: World, name: str) -> None:
    """With all defaults a body is no worse than without them."""
    method, path, media, defaults = IN_BODIES[name]
    admin = own.vcenter.admin
    known = BODIES[name] | ({"username": admin.login, "password": admin.password} if name in OF_VCENTER else {})
    where = path.replace("{id}", own.vcenter.instance_uuid if "vcenters" in path else UNKNOWN)
    api = own.kaasd.api() if name == "loginPassword" else own.admin
    headers = {"X-KaaS": "1", "Content-Type": media}
    without, with_all = (api.call(method, where, json=body, headers=headers) for body in (known, known | defaults))
    assert (without.status_code == 422) == (name in REFUSED), without.text
    assert without.status_code != 400, without.text
    assert with_all.status_code not in (400, 422) or name in REFUSED, with_all.text
    assert with_all.status_code != 422 or with_all.json()["detail"] == without.json()["detail"], with_all.text
