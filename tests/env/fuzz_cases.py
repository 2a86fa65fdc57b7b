"""Requests for every operation of docs/openapi.yaml, made by schemathesis: what the contract allows and what it forbids. The same each
time for the same seed. Knows no server; real ids and names are put in by fuzz_fill.py."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, SerializationContext
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.case import Case
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.schemas import OpenApiSchema

from .contract import contract

REFUSED = [400, 401, 403, 404, 405, 409, 412, 413, 414, 415, 422, 429, 431]
COVERAGE_SHARE = 0.3  # of the cases of an operation: boundary values in a fixed order; the rest is drawn
NOISE = (
    ("Accept", "*/*"), ("Accept", "application/json"), ("Accept", "text/html;q=0.5, */*;q=0.1"), ("Accept", ""),
    ("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=0, identity"), ("Accept-Encoding", "br, zstd"), ("Accept-Encoding", "*"),
    ("Accept-Language", "de-CH, de;q=0.9"), ("Range", "bytes=0-9"), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("Cookie", "session=abc; vmware_soap_session=x"), ("Origin", "https://example.com"), ("Referer", "https://example.com/x"),
    ("X-HTTP-Method-Override", "DELETE"), ("X-Request-ID", "not-from-a-proxy"), ("Forwarded", "for=192.0.2.1;proto=http"),
    ("X-Forwarded-Host", "example.com"), ("X-Original-URL", "/metrics"), ("Content-Language", "en"), ("Pragma", "no-cache"),
    ("Cache-Control", "no-cache, max-age=0"), ("TE", "trailers"), ("Upgrade-Insecure-Requests", "1"), ("DNT", "1"), ("Priority", "u=1"),
)


@schemathesis.serializer("application/x-ndjson")
def ndjson(_: SerializationContext, value: Any) -> bytes:
    """A text is sent as it is; what is none, since that is wrong, as JSON."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@dataclass
class Fuzzed:
    """One request: the case of schemathesis, and harmless header fields beside it, which must change nothing. With a real proof in it:
    the way by which it signs on, and the header Authorization if the proof stands there."""

    case: Case
    noise: dict[str, str] = field(default_factory=dict)
    way: str = ""
    proof: str = ""

    @property
    def positive(self) -> bool:
        return self.case.meta is None or self.case.meta.generation.mode.is_positive

    def free(self, location: ParameterLocation) -> bool:
        """May this part be replaced by another one that the contract allows? Not if it is what the contract forbids."""
        meta = self.case.meta
        return meta is None or not meta.is_negative_at(location)


def load() -> OpenApiSchema:
    # No text holds U+0000: a ground rule of the document, so not in each of its schemas.
    generation = {"with-security-parameters": False, "allow-x00": False}
    config = SchemathesisConfig.from_dict({"generation": generation, "checks": {"negative_data_rejection": {"expected-statuses": REFUSED}}})
    return schemathesis.openapi.from_dict(contract().document, config=config)


def operations(schema: OpenApiSchema) -> dict[str, APIOperation]:
    found = (result.ok() for result in schema.get_all_operations())
    return {operation.definition.raw["operationId"]: operation for operation in found}


def drawn(operation: APIOperation, mode: GenerationMode, count: int, seed: int) -> list[Case]:
    """Up to so many cases out of the strategy; fewer where there are no more."""
    cases: list[Case] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def collect(case: Case) -> None:
        cases.append(case)

    try:
        collect()
    except Unsatisfiable:  # nothing can be wrong in a request without parameters
        return []
    return cases[:count]


def boundaries(operation: APIOperation, count: int, dice: random.Random) -> list[Case]:
    """Values at the edges of what is allowed, and just beyond."""
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    config = operation.schema.config.generation_for(operation=operation, phase="coverage")
    every = list(operation.schema.iter_coverage_cases(
        operation, generation_modes=modes, generation_config=config, extra_data_source=None, error_feedback=None, session=None))
    return every if len(every) <= count else dice.sample(every, count)


def cases(operation: APIOperation, count: int, seed: int) -> Iterator[Fuzzed]:
    """At least `count` different requests. Where parameters give too few, the same ones come with other header fields beside."""
    dice = random.Random(f"{seed} {operation.label}")
    found = boundaries(operation, int(count * COVERAGE_SHARE), dice)
    left = count - len(found)
    wrong = drawn(operation, GenerationMode.NEGATIVE, left // 2, seed)
    found += wrong + drawn(operation, GenerationMode.POSITIVE, left - len(wrong), seed)
    dice.shuffle(found)
    proper = [case for case in found if case.method.upper() == operation.method.upper()]
    for index in range(max(count, len(found))):
        again = index >= len(found)
        noise = dict(dice.sample(NOISE, dice.randrange(1, 5))) if again or dice.random() < 0.3 else {}
        yield Fuzzed(dice.choice(proper) if again else found[index], noise)
