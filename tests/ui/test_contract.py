"""The contract itself: a valid OpenAPI document whose examples fit, whose objects are closed, and that the page's own types agree with."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.contract import METHODS, Contract
from openapi_spec_validator import validate

TYPES = Path(__file__).resolve().parents[2] / "ui-plugin/src/api/types.ts"


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract()


def walk(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the document with its place."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from walk(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from walk(value, f"{path}/{index}")


def test_is_valid_openapi(contract: Contract) -> None:
    validate(contract.document)


def test_examples_fit(contract: Contract) -> None:
    tried = 0
    for place, node in walk(contract.document):
        samples: list[tuple[dict[str, Any], Any]] = []
        if "schema" in node:
            samples += [(node["schema"], e["value"]) for e in (node.get("examples") or {}).values()]
            samples += [(node["schema"], node["example"])] if "example" in node else []
        elif isinstance(node.get("examples"), list):
            samples += [({k: v for k, v in node.items() if k != "examples"}, e) for e in node["examples"]]
        for schema, value in samples:
            tried += 1
            assert contract.errors(schema, value) == [], place
    assert tried >= 40


def test_objects_are_closed(contract: Contract) -> None:
    for place, node in walk(contract.document["components"]["schemas"]):
        if node.get("type") == "object":
            assert "additionalProperties" in node, place
            # A patch has no member that must be there.
            assert "required" in node or "properties" not in node or "Patch" in place, place


def test_operations_are_complete(contract: Contract) -> None:
    seen: set[str] = set()
    for path, item in contract.document["paths"].items():
        for method, operation in ((m, item[m]) for m in METHODS if m in item):
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert operation["summary"], path
            codes = set(operation["responses"])
            if operation.get("security") is None:
                assert "401" in codes, (method, path)
            if "requestBody" in operation:
                assert {"400", "413", "415", "422"} <= codes, (method, path)
            if "{" in path and path.startswith("/v2/"):
                assert "404" in codes, (method, path)


def test_error_codes_are_told_apart(contract: Contract) -> None:
    codes = contract.document["components"]["schemas"]["ErrorCode"]
    table = re.findall(r"^\| `(\w+)` \| (\d{3}) \| \S", codes["description"], re.MULTILINE)
    assert sorted(code for code, _ in table) == sorted(codes["enum"])


@pytest.mark.parametrize(("name", "fits"), [
    ("prod-1", True), ("/ % ' \" \\ 🐳", True), ("x" * 50, True), ("🐳" * 50, True), ("two  spaces", True),
    ("x" * 51, False), ("", False), (" x", False), ("x ", False), ("a\tb", False), ("a\x00b", False), ("a\x85b", False),
])
def test_names(contract: Contract, name: str, fits: bool) -> None:
    assert (contract.errors({"$ref": "#/components/schemas/Name"}, name) == []) is fits


@pytest.mark.parametrize(("body", "fits"), [
    ({"vcenter": "vc", "session_id": "0f1e2d3c4b5a69788796a5b4c3d2e1f001234567"}, True),
    ({"vcenter": "vc", "clone_ticket": "cst-VCT-52f7d1b2--tp-AA-BB"}, True),
    ({"vcenter": "vc"}, True),  # the proof may be in the header vmware-api-session-id
    ({"vcenter": "vc", "session_id": "x" * 40, "clone_ticket": "y" * 40}, False),
    ({"vcenter": "vc", "session_id": "x" * 40, "user": "y"}, False),
    ({"vcenter": "vc", "session_id": "two words"}, False),
    ({"vcenter": "vc", "session_id": '"quoted-value"'}, True),
])
def test_at_most_one_proof(contract: Contract, body: dict[str, str], fits: bool) -> None:
    assert (contract.errors({"$ref": "#/components/schemas/LoginVcenterRequest"}, body) == []) is fits


@pytest.mark.parametrize(("alias", "schema"), [("ClusterState", "ClusterState"), ("Role", "Role"), ("JobState", "JobState")])
def test_page_knows_the_words(contract: Contract, alias: str, schema: str) -> None:
    line = re.search(rf"export type {alias} = ([^;]+);", TYPES.read_text(encoding="utf-8"))
    assert line is not None
    assert sorted(re.findall(r"'(\w+)'", line[1])) == sorted(contract.document["components"]["schemas"][schema]["enum"])
