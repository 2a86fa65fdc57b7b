"""Holds requests and answers against docs/openapi.yaml: path, method, status, media type, headers and body must be what the contract
says. Knows the contract only, no data."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import requests
import yaml
from jsonschema import Draft202012Validator

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
HOME = "urn:kaas:contract"  # of the document, for schemas that lead into it
Node = dict[str, Any]
METHODS = ("get", "post", "patch", "delete", "put")
# Answers that any route may give; the contract writes them once (see its introduction).
ANYWHERE = {"400", "404", "405", "406", "413", "414", "417", "429", "431", "500", "503"}


def parse(text: str) -> Node:
    """By the parser in C: the one in Python takes more than a second, in each process that runs tests."""
    document: Node = yaml.load(text, yaml.CSafeLoader)
    return document


class Contract:
    """The document, and what it says about requests and answers."""

    def __init__(self, document: Path = DOCUMENT) -> None:
        self.document = parse(document.read_text(encoding="utf-8"))
        self._registry = jsonschema_rs.Registry([(HOME, {"components": self.document["components"]})])
        self._compiled: dict[str, jsonschema_rs.Draft202012Validator] = {}
        self.routes = []
        for path, item in self.document["paths"].items():
            pattern = re.compile("^" + re.sub(r"\\{[a-z_]+\\}", "([^/]+)", re.escape(path)) + "$")
            operations = {m: item[m] for m in METHODS if m in item}
            self.routes.append((pattern, path, operations, item.get("parameters", [])))

    def resolve(self, thing: Any) -> Any:
        """Follows a $ref, once or more."""
        while isinstance(thing, dict) and "$ref" in thing and thing["$ref"].startswith("#/"):
            node = self.document
            for part in thing["$ref"][2:].split("/"):
                node = node[part]
            thing = node
        return thing

    def find(self, method: str, path: str) -> tuple[Node, list[Node]] | None:
        """(operation, parameters) of a request, or None."""
        for pattern, _, operations, shared in self.routes:
            if pattern.match(path) and method.lower() in operations:
                operation = operations[method.lower()]
                return operation, [self.resolve(p) for p in [*shared, *operation.get("parameters", [])]]
        return None

    def errors(self, schema: Node, value: Any) -> list[str]:
        """What is wrong with `value`, as short texts. A validator in Rust tells at once that nothing is, which is so of almost all answers;
        the one in Python, fifty times as slow, finds the words for what is."""
        quick = self._quick(schema)
        if quick.is_valid(value):
            return []
        whole = {"components": self.document["components"], **schema}
        validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
        found = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(value)]
        return found or [e.message[:200] for e in quick.iter_errors(value)]

    def _quick(self, schema: Node) -> jsonschema_rs.Draft202012Validator:
        text = json.dumps(schema)
        if text not in self._compiled:
            at_home = json.loads(text.replace('"#/components/', f'"{HOME}#/components/'))
            self._compiled[text] = jsonschema_rs.Draft202012Validator(at_home, registry=self._registry, validate_formats=True)
        return self._compiled[text]

    def check_request(self, method: str, path: str, query: dict[str, list[str]], headers: Mapping[str, str], body: bytes) -> list[str]:
        """Texts for everything in a request that the contract does not allow."""
        found = self.find(method, path)
        if found is None:
            return [f"{method} {path} is not in the contract"]
        operation, parameters = found
        wrong = self._check_query(parameters, query) + self._check_headers(operation, parameters, headers)
        wrong += self._check_body(operation, headers, body)
        return [f"{method} {path}: {text}" for text in wrong]

    def _check_query(self, parameters: list[Node], query: dict[str, list[str]]) -> list[str]:
        known = {p["name"]: p for p in parameters if p["in"] == "query"}
        wrong: list[str] = []
        for name, values in query.items():
            if name not in known:
                wrong.append(f"unknown query parameter {name}")
                continue
            if len(values) != 1:
                wrong.append(f"query parameter {name} is repeated")
            wrong += [f"query parameter {name}: {e}" for e in self.errors(known[name]["schema"], self._typed(known[name], values[0]))]
        return wrong

    def _typed(self, parameter: Node, text: str) -> Any:
        kind = self.resolve(parameter["schema"]).get("type")
        if kind == "integer":
            return int(text) if re.fullmatch(r"-?\d+", text) else text
        if kind == "boolean":
            return {"true": True, "false": False}.get(text, text)
        return text.split(",") if kind == "array" else text

    def _check_headers(self, operation: Node, parameters: list[Node], headers: Mapping[str, str]) -> list[str]:
        wrong = []
        for parameter in parameters:
            if parameter["in"] != "header":
                continue
            value = headers.get(parameter["name"])
            if value is None and parameter.get("required"):
                wrong.append(f"header {parameter['name']} is missing")
            elif value is not None:
                wrong += self.errors(parameter["schema"], value)
        security = operation.get("security", self.document["security"])
        bearer = headers.get("Authorization", "").startswith("Bearer ")
        by_cookie = {"refreshCookie": []} in security and headers.get("X-KaaS") == "1"  # which the page cannot know to be there
        if security and not bearer and not by_cookie:
            wrong.append("no bearer token")
        if not security and bearer:
            wrong.append("a token where none belongs")
        return wrong

    def _check_body(self, operation: Node, headers: Mapping[str, str], body: bytes) -> list[str]:
        wanted = operation.get("requestBody")
        if wanted is None:
            return ["a body where none belongs"] if body else []
        if not body and not wanted.get("required"):
            return []
        media = headers.get("Content-Type", "").split(";")[0]
        if media not in wanted["content"]:
            return [f"Content-Type {media!r} instead of {list(wanted['content'])}"]
        try:
            value = json.loads(body)
        except ValueError as error:
            return [f"body is not JSON: {error}"]
        return self.errors(wanted["content"][media]["schema"], value)

    def check_answer(self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> list[str]:
        """The same for an answer."""
        found = self.find("GET" if method == "HEAD" else method, path)
        if found is None and str(status) not in ANYWHERE:
            return [f"{method} {path} is not in the contract"]
        responses = found[0]["responses"] if found else {}
        if str(status) not in responses and str(status) not in ANYWHERE:
            return [f"{method} {path} must not answer {status}"]
        problem = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        response = self.resolve(responses.get(str(status), problem))
        wrong = self._check_answer_headers(response, headers)
        if method == "HEAD" or "content" not in response:
            return wrong + ([f"{status} has a body"] if body else [])
        return wrong + self._check_content(response["content"], status, headers, body)

    def _check_answer_headers(self, response: Node, headers: Mapping[str, str]) -> list[str]:
        # whether a header must be there is told by its description only, so absent ones pass
        wrong = []
        for name, header in response.get("headers", {}).items():
            schema = self.resolve(header)["schema"]
            if name in headers and schema.get("type") == "string":
                wrong += [f"header {name}{e}" for e in self.errors(schema, headers[name])]
        return wrong

    def _check_content(self, content: Node, status: int, headers: Mapping[str, str], body: bytes) -> list[str]:
        media = headers.get("Content-Type", "").split(";")[0]
        if media not in content:
            return [f"{status} has Content-Type {media!r}"]
        if not media.endswith("json"):
            return []
        try:
            value = json.loads(body)
        except ValueError as error:
            return [f"body is not JSON: {error}"]
        return self.errors(content[media]["schema"], value)


@cache
def contract() -> Contract:
    return Contract()


def problems(answer: requests.Response) -> list[str]:
    """How an answer breaks the contract; empty when it does not."""
    method, path = answer.request.method or "GET", urlsplit(answer.request.url or "").path
    return contract().check_answer(method, path, answer.status_code, answer.headers, answer.content)


def schema_errors(name: str, value: Any) -> list[str]:
    """How a value breaks a schema of components/schemas."""
    return contract().errors({"$ref": f"#/components/schemas/{name}"}, value)
