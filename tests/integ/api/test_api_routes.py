"""The daemon and its contract: every route of the document is there and answers what the document says, for everybody."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random
import string
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from env import contract
from env.api import Api
from env.full import World
from env.wait import until

DOCUMENT = contract.contract()
ROUTES = [(method.upper(), path) for _, path, operations, _ in DOCUMENT.routes for method in operations]
WRITES = [(method, path) for method, path in ROUTES if method in ("POST", "PATCH")]
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    2**62,
    1.5,
    "",
    " ",
    "x" * 3000,
    "\x01",
    "\u202e",
    "🚢",
    [],
    {},
    [[]],
    {"": ""},
    "' OR 1=1 --",
    "%00",
]


@pytest.fixture(scope="module")
def people(world: World) -> dict[str, Api]:
    cookie = world.vcenter.control.login("viewer-east@vsphere.local")["cookie"]
    return {
        "nobody": world.kaasd.api(),
        "admin": world.admin,
        "viewer": world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie),
    }


def fill(path: str, known: str) -> str:
    return path.replace("{id}", known).replace("{name}", known).replace("{nonce}", known).replace("{file}", "index.html")


def media_of(method: str, path: str) -> str | None:
    found = DOCUMENT.find(method, fill(path, "x"))
    assert found
    content = found[0].get("requestBody", {}).get("content", {})
    return next(iter(content), None)


def is_public(method: str, path: str) -> bool:
    found = DOCUMENT.find(method, fill(path, "x"))
    assert found
    return found[0].get("security", DOCUMENT.document["security"]) == []


def test_the_daemon_serves_the_document_it_is_tested_against(people: dict[str, Api]) -> None:
    assert contract.parse(people["nobody"].call("GET", "/openapi.yaml").text) == DOCUMENT.document


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_of_the_document_is_there(people: dict[str, Api], method: str, path: str) -> None:
    answer = people["nobody"].call(method, fill(path, str(uuid.uuid4())), headers={"X-KaaS": "1"})
    assert answer.status_code != 405
    if path in ("/v2/token/refresh", "/v2/logout"):  # a browser may come by a cookie, and does not know whether it has one
        assert (answer.status_code, answer.content) == (204, b"")
    elif is_public(method, path):
        assert answer.status_code not in (401, 403)
    else:
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if not is_public(*route)])
def test_every_route_refuses_a_token_that_is_none(people: dict[str, Api], method: str, path: str) -> None:
    answer = people["nobody"].as_token("not.a.token").call(method, fill(path, str(uuid.uuid4())), headers={"X-KaaS": "1"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


NOWHERE = "ldaps://directory.invalid"  # RFC 2606: there is none
DIRECTORY = {"name": "routes", "kind": "ad", "urls": [NOWHERE], "search_base": "DC=a", "bind_dn": "reader", "bind_password": "routes"}
PROVIDER = {"kind": "Provider", "name": "routes", "vsphere_cluster": "domain-c7", "folder": "/DC0/vm", "datastore": "DC0-DS",
            "network": "VM Network", "template": "web-0", "nodes": {"addresses": ["192.0.2.9"], "prefix": 24, "gateway": "192.0.2.1"}}
JOB = "6a6f6273-0000-4000-8000-000000000001"
NONCE = "0123456789abcdef" * 2  # as if an HX cluster had just been told something


def connect_by_hand(world: World, cluster: str) -> None:
    """As if a Kubernetes cluster had answered once; nobody listens there."""
    reason = '[{"reason":"cordoned","severity":"info","text":"node n1","since":null,"remedy":"uncordon it"}]'
    world.db.query("INSERT INTO kube_connections (cluster_id, address, sha256, cluster_uid, created_at_ms, updated_at_ms, version_no)"
                   " VALUES (%s, 'https://127.0.0.1:9', %s, 'routes', 1, 1, 1)", cluster, "ab" * 32, database="kaas")
    world.db.query("INSERT INTO kube_statuses (cluster_id, state, since_ms, checked_at_ms, token_until_ms, token_renew_at_ms, health,"
                   " health_since_ms, health_json, version_no) VALUES (%s, 'ok', 1, 1, 1, 1, 'ready', 1, %s, 1)",
                   cluster, reason, database="kaas")


@pytest.fixture(scope="module")
def made(people: dict[str, Api], world: World) -> Iterator[dict[str, str]]:
    """One of each thing that a world does not have by itself, by the path below which it is found."""
    admin = people["admin"]
    cluster = next(admin.items("/v2/clusters"))["id"]
    bodies = {
        "/v2/grants": {"principal_id": "svc:reader-of-routes", "object_kind": "cluster", "object_id": cluster},
        "/v2/role-mappings": {"subject_id": "sid:S-1-5-21-1-2-3-4", "role": "user"},
        "/v2/services": {"name": "routes", "certificates": ["ab" * 32]},
    }
    ids = {path: admin.expect(201, "POST", path, json=body)["id"] for path, body in bodies.items()}
    ids["/v2/ldap"] = admin.expect(201, "POST", "/v2/ldap", json=DIRECTORY, headers={"X-KaaS": "1"})["name"]
    wanted = {**PROVIDER, "vcenter": world.vcenter.instance_uuid}
    ids["/v2/providers"] = admin.expect(201, "PUT", "/v2/providers/routes", json=wanted)["name"]
    hx_id, other_hx_id = [row["id"] for row in admin.items("/v2/hx-clusters")][:2]
    hx = f"/v2/hx-clusters/{hx_id}"
    nobody = {"address": "127.0.0.1", "port": 9, "user_name": "admin", "password": "x", "thumbprint_sha256": "ab" * 32}
    admin.expect(201, "PUT", f"{hx}/peer", json={"url": "https://127.0.0.1:9/", "thumbprint_sha256": "ab" * 32})  # nobody listens there
    admin.expect(201, "PUT", f"{hx}/connection", json=nobody)
    credential = f"/v2/vcenters/{next(admin.items('/v2/vcenters'))['id']}/hx-credential"
    admin.expect(201, "PUT", credential, json={"user_name": "admin", "password": "x"})
    operator, account = world.vcenter.users["operator"], f"/v2/vcenters/{world.vcenter.instance_uuid}/login-account"
    admin.expect(200, "PUT", account, json={"username": operator.login, "password": operator.password}, headers={"X-KaaS": "1"})
    world.db.query("REPLACE INTO hx_publications (hx_cluster_id, is_wanted, state, since_ms, tried_at_ms, published_at_ms, expires_at_ms,"
                   " next_at_ms, failures, nonce_digest, nonce_until_ms, body_sha256, version_no)"
                   " VALUES (%s, 0, 'withdrawn', 1, 1, 1, 0, 0, 0, SHA2(%s, 256), %s, SHA2('', 256), 1)",
                   other_hx_id, NONCE, 1 << 50, database="kaas")
    connect_by_hand(world, cluster)
    world.db.query("REPLACE INTO jobs (id, kind, title, params, state, created_at_ms, started_at_ms, ended_at_ms, is_cancel_asked,"
                   " lease_until_ms, generation, lines_count) VALUES (%s, 'routes', 'of routes', '{}', 'done', 1, 1, 1, 0, 0, 1, 0)",
                   JOB, database="kaas")
    world.db.query("INSERT INTO made_clusters (cluster_id, provider_id, spec) SELECT %s, id, '{}' FROM providers", cluster, database="kaas")
    yield {**ids, "/v2/jobs": JOB}
    world.db.query("DELETE FROM made_clusters", database="kaas")
    world.db.query("DELETE FROM jobs WHERE id = %s", JOB, database="kaas")
    world.db.query("DELETE FROM kube_connections WHERE cluster_id = %s", cluster, database="kaas")
    for path in (account, credential, f"{hx}/peer", f"{hx}/connection", *(f"{path}/{known}" for path, known in ids.items())):
        until(lambda path=path: admin.call("DELETE", path).ok, f"{path} to go, once there is room in the bound that the tests have used up")


@pytest.mark.parametrize("who", ["admin", "viewer"])
@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "GET"])
def test_every_read_answers_what_the_document_says(people: dict[str, Api], world: World, made: dict[str, str], who: str, path: str) -> None:
    known = {
        **made,
        "/v2/clusters": next(people["admin"].items("/v2/clusters"))["id"],
        "/v2/vcenters": world.vcenter.instance_uuid,
        "/v2/hx-clusters": next(people["admin"].items("/v2/hx-clusters"))["id"],
        "/v2/publications": NONCE,
        "/v2/users": next(people["admin"].items("/v2/users", name="admin"))["id"],
    }
    wanted = next((one for prefix, one in known.items() if path.startswith(prefix)), "x")
    vcenter = {"vcenter": world.vcenter.instance_uuid}
    asked = {"/v2/nodes": vcenter | {"vm": "vm-1"}, "/v2/impact/hosts": vcenter | {"host": "host-11"}}.get(path, {})
    answer = people[who].call("GET", fill(path, wanted), params=asked)
    assert answer.status_code < 500
    assert who == "viewer" or answer.status_code in (200, 302, 308) or path == "/v2/impact/hosts"  # no node runs here


MADE_UP = pytest.mark.full("`contract` makes 300 such requests up for each operation and person, under the same sanitizers")


@MADE_UP
@pytest.mark.parametrize(
    "path", [path for method, path in ROUTES if method == "GET" and path.startswith("/v2/") and path not in ("/v2/version", "/v2/health")]
)
def test_every_read_refuses_a_parameter_that_it_does_not_know(people: dict[str, Api], world: World, path: str) -> None:
    known = world.vcenter.instance_uuid if "vcenters" in path else next(people["admin"].items("/v2/clusters"))["id"]
    problem = people["admin"].call("GET", fill(path, known), params={"colour": "red"}).json()
    assert (problem["code"], "colour" in problem["detail"]) == ("invalid_request", True)


NO_MEMBERS = ("/v2/logout", "/v2/clusters:import")  # it would end the session; lines, not members: test_cluster_import.py


@MADE_UP
@pytest.mark.parametrize(("method", "path"), [route for route in WRITES if route[1] not in NO_MEMBERS])
def test_no_strange_body_is_a_fault_of_the_service(people: dict[str, Api], world: World, method: str, path: str) -> None:
    """Every member of the schema in turn with values of every kind; what cannot be done is refused, never 500."""
    dice, media = random.Random(path), media_of(method, path)
    if not media:
        assert people["admin"].call(method, fill(path, str(uuid.uuid4())), data=b"x").status_code == 400
        return
    found = DOCUMENT.find(method, fill(path, "x"))
    assert found
    schema = DOCUMENT.resolve(found[0]["requestBody"]["content"][media]["schema"])
    schema = DOCUMENT.resolve(schema.get("oneOf", [schema])[0])
    names = list(schema["properties"])
    for name in [*names, "".join(dice.choices(string.printable, k=8))]:
        for value in dice.sample(STRANGE, 6):
            body = {one: dice.choice(STRANGE) for one in dice.sample(names, dice.randrange(len(names)))} | {name: value}
            answer = people["admin"].call(method, fill(path, str(uuid.uuid4())), json=body, headers={"X-KaaS": "1", "Content-Type": media})
            assert 400 <= answer.status_code < 500, body


def test_the_document_names_every_code_that_it_speaks_of() -> None:
    codes = DOCUMENT.document["components"]["schemas"]["ErrorCode"]
    table = [line.split("`")[1] for line in codes["description"].splitlines() if line.startswith("| `")]
    assert table == codes["enum"]
