"""The route table and docs/openapi.yaml name the same methods and paths, and agree on who may call without signing in."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from env.contract import contract

TOP = Path(__file__).resolve().parents[2]
METHODS = {"get", "post", "put", "patch", "delete"}
ROUTE = re.compile(r'^ROUTE\((\w+), "([^"]+)", \w+, \w+, \w+, ([\w |]+), [\w |]+, \w+\)$', re.MULTILINE)


def table() -> dict[tuple[str, str], str]:
    text = (TOP / "src/api/core/routes.def").read_text(encoding="utf-8")
    found = {(method.lower(), path): flags for method, path, flags in ROUTE.findall(text)}
    assert len(found) == len(re.findall(r"^ROUTE\(", text, re.MULTILINE)), "a line of the table is not understood, or stands twice"
    return found


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
        assert ("API_SIGNON" in flags) == ("X-KaaS" in str(parameters(*route))), route


def parameters(method: str, path: str) -> list[Any]:
    """The parameters of an operation and of its path, references followed."""
    document = contract().document
    node = document["paths"][path]
    found = []
    for item in [*node.get("parameters", []), *node[method].get("parameters", [])]:
        name = item.get("$ref", "").rsplit("/", 1)[-1]
        found.append(document["components"]["parameters"][name] if name else item)
    return found
