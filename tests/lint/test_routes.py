"""The route table and docs/openapi.yaml name the same methods and paths, and agree on who may call without signing in, and bounds."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from env.contract import contract

TOP = Path(__file__).resolve().parents[2]
ROUTES = TOP / "src/api/core/routes.def"
METHODS = {"get", "post", "put", "patch", "delete"}
ROUTE = re.compile(r'^ROUTE\((\w+), "([^"]+)", \w+, \w+, \w+, \w+, ([\w |]+), [\w |]+, \w+, (\w+(?:\([^)]*\))?), (\w+)\)$', re.MULTILINE)


def rows() -> dict[tuple[str, str], tuple[str, str, str]]:
    """Flags, query and body of each route."""
    text = ROUTES.read_text(encoding="utf-8")
    found = {(method.lower(), path): (flags, query, body) for method, path, flags, query, body in ROUTE.findall(text)}
    assert len(found) == len(re.findall(r"^ROUTE\(", text, re.MULTILINE)), "a line of the table is not understood, or stands twice"
    return found


def table() -> dict[tuple[str, str], str]:
    return {route: flags for route, (flags, _query, _body) in rows().items()}


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {(method, path): node[method] for path, node in contract().document["paths"].items() for method in node if method in METHODS}


def test_every_route_is_in_the_contract() -> None:
    assert sorted(set(table()) - set(operations())) == []


def test_everything_in_the_contract_is_a_route() -> None:
    assert sorted(set(operations()) - set(table())) == []


def test_public_routes_are_the_same() -> None:
    default = contract().document.get("security", [])
    public = {route for route, node in operations().items() if not node.get("security", default)}
    assert sorted(public ^ {route for route, flags in table().items() if "API_PUBLIC" in flags}) == []


def test_the_sign_on_header_is_in_the_contract() -> None:
    for route, flags in table().items():
        assert ("API_SIGNON" in flags or "API_COOKIE" in flags) == ("X-KaaS" in str(parameters(*route))), route


def parameters(method: str, path: str) -> list[Any]:
    """The parameters of an operation and of its path, references followed."""
    document = contract().document
    node = document["paths"][path]
    found = []
    for item in [*node.get("parameters", []), *node[method].get("parameters", [])]:
        name = item.get("$ref", "").rsplit("/", 1)[-1]
        found.append(document["components"]["parameters"][name] if name else item)
    return found


def test_query_parameters_are_the_same() -> None:
    for route, (_flags, query, _body) in rows().items():
        if query != "ANY_QUERY":
            names = set(re.findall(r'"(\w+)"', query)) | ({"limit", "cursor"} if "PAGE" in query else set())
            assert names == {item["name"] for item in parameters(*route) if item["in"] == "query"}, route


def test_bodies_are_of_the_same_type() -> None:
    types = {"NO_BODY": [], "JSON": ["application/json"], "ANY_JSON": ["application/json"], "PATCH": ["application/merge-patch+json"]}
    for route, (_flags, _query, body) in rows().items():
        if body != "OWN_BODY":
            assert list(operations()[route].get("requestBody", {}).get("content", {})) == types[body], route


BOUND = re.compile(r"^BOUND\((\w+), (\d+), (\d+), (\d+), (\d+)\)", re.MULTILINE)
TOLD = re.compile(r"^\| `(\w+)` \| .* \| ([\d,]+); ([\d,]+) \| ([\d,]+); ([\d,]+) \|$", re.MULTILINE)


def test_what_is_bounded_may_be_answered_429() -> None:
    """NONE is for what memory answers; what takes a worker does not build with it (routes.def)."""
    for method, path, bound in re.findall(r'^ROUTE\((\w+), "([^"]+)", \w+, \w+, (\w+),', ROUTES.read_text(encoding="utf-8"), re.MULTILINE):
        assert bound == "NONE" or "429" in operations()[method.lower(), path]["responses"], path


def test_the_bounds_stand_in_the_documents_as_they_are() -> None:
    defined = BOUND.findall((TOP / "src/api/core/bounds.def").read_text(encoding="utf-8"))
    told = TOLD.findall((TOP / "docs/http.md").read_text(encoding="utf-8"))
    assert defined and [tuple(figure.replace(",", "") for figure in row) for row in told] == defined
    assert all(1000 % int(figure) == 0 for row in defined for figure in (row[2], row[4]) if figure != "0")


def test_a_worker_is_reached_past_the_bounds_only() -> None:
    """Whoever puts a request into a worker pool goes by api_go_slow, which wants a bound. What else waits has limits of its own: lists that
    are watched, sign-ons at a vCenter, looks at machines, answers that are compressed."""
    goes = re.compile(r"\b(http_request_go_\w+|api_run_in)\(")
    users = {file.name for file in (TOP / "src/api").rglob("*.c") if goes.search(file.read_text(encoding="utf-8"))}
    assert users == {"api.c", "api_call.c", "reply.c", "list_wait.c", "h_clusters.c", "login_call.c"}
