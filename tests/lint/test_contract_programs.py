"""What programs that generate clients out of docs/openapi.yaml stumble over is not in it; tests/generators tries them themselves."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from csource import TOP
from openapi_spec_validator import validate

DOCUMENTS = {path.name: path for path in (TOP / "docs/openapi.yaml", TOP / "docs/hx-publish.yaml")}
COMPOSED = ("oneOf", "anyOf", "allOf")
NULL = {"type": "null"}


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(DOCUMENTS[name].read_text(encoding="utf-8"), yaml.CSafeLoader)
    return loaded


def nodes(node: Any, place: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield place, node
        for key, value in node.items():
            if key not in ("example", "examples", "value"):  # data
                yield from nodes(value, f"{place}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nodes(value, f"{place}/{index}")


def schemas(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node that is a schema, by its place: below `schema`, and what schemas hold."""
    for place, node in nodes(document(name)):
        if "/schemas/" in place or "/schema" in place:
            yield place, node


@pytest.mark.parametrize("name", DOCUMENTS)
def test_it_is_openapi(name: str) -> None:
    validate(document(name))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_text_was_torn_at_a_comma(name: str) -> None:
    """`{description: One, two}` is a description and a member that is called `two`: YAML says null to it."""
    assert [place for place, node in nodes(document(name)) for key, value in node.items() if value is None] == []
    assert [place for place, node in nodes(document(name)) for key in node if " " in str(key)
            and not place.endswith(("/callbacks", "/callbacks/proof"))] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_one_value_is_an_enum_of_one(name: str) -> None:
    """openapi-python-client leaves out every operation that has a `const` in a header."""
    assert [place for place, node in schemas(name) if "const" in node and not place.endswith("/properties")] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_chosen_from_has_a_name(name: str) -> None:
    """Generators make a type of each, and some stop where it has no name of its own. Or null is a word of the language."""
    for place, node in schemas(name):
        for word in COMPOSED:
            if isinstance(node.get(word), list):
                unnamed = [one for one in node[word] if set(one) != {"$ref"} and one != NULL]
                assert unnamed == [], f"{place}/{word}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_required_is_defined_beside_it(name: str) -> None:
    for place, node in schemas(name):
        if isinstance(node.get("required"), list):
            assert set(node["required"]) <= set(node.get("properties", {})), place


@pytest.mark.parametrize("name", DOCUMENTS)
def test_everything_named_is_used(name: str) -> None:
    whole = document(name)
    used = {node["$ref"] for _, node in nodes(whole) if "$ref" in node} | {
        f"#/components/securitySchemes/{one}" for _, node in nodes(whole) for demand in node.get("security", ()) for one in demand}
    assert {f"#/components/{kind}/{one}" for kind, named in whole["components"].items() for one in named} - used == set()
