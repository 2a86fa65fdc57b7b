"""The wrong ways to answer that a test can ask for: which fault meets which call, and what becomes of a good answer."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

HUGE_BYTES = 11 * 1024 * 1024
DEPTH = 100_000
OTHER_UUID = "1111111111111111111:2222222222222222222"

# The call is not carried out, and this is said (or nothing, "hang").
INSTEAD = ("redirect", "rate", "hang")
# The call is carried out, a token is given or taken, and the answer to it goes wrong.
BROKEN = ("not_json", "cut", "drip", "huge", "deep", "wrong_type", "lie")
STATUS = re.compile(r"status:([2-5]\d\d)")


def begins(targets: Iterable[str], prefix: str) -> bool:
    """Whether one of the ways to write what was asked for begins so; `$` ends a path, so that what is below it is not meant."""
    if prefix.endswith("$"):
        return any(target.partition("?")[0] == prefix[:-1] for target in targets)
    return any(target.startswith(prefix) for target in targets)


@dataclass
class Fault:
    """`prefix` is that of a path with its query; with `$` at its end it is a whole path without query. `left`: how often, None for ever."""

    prefix: str
    kind: str
    left: int | None
    location: str = ""
    retry_after_s: int = 60

    def __post_init__(self) -> None:
        if self.kind not in INSTEAD + BROKEN and not STATUS.fullmatch(self.kind):
            raise ValueError(f"no such fault: {self.kind}")

    @property
    def status(self) -> int | None:
        found = STATUS.fullmatch(self.kind)
        return int(found[1]) if found else None

    @property
    def is_instead(self) -> bool:
        return self.kind in INSTEAD or self.status is not None

    def meets(self, targets: Iterable[str]) -> bool:
        return begins(targets, self.prefix)


def _with(value: Any, text: str) -> bytes:
    """The answer with one thing more in it, of any name: only the size or the shape of that can be held against it."""
    whole = json.dumps(value)
    more = text if isinstance(value, list) else f'"more": {text}'
    return f"{whole[:-1]}{', ' if value else ''}{more}{whole[-1]}".encode()


def _lie(value: Any) -> Any:
    if isinstance(value, list):
        return [_lie(one) for one in value]
    return {**value, "uuid": OTHER_UUID} if isinstance(value, dict) and "uuid" in value else value


def spoiled(kind: str, value: Any) -> bytes:
    """The bytes of the answer `value`, as this fault makes them. Cut and drip are faults of sending and leave them as they are."""
    match kind:
        case "not_json":
            return b"<!doctype html><title>HX Connect</title><p>The service starts.\n"
        case "huge":
            return _with(value, '"' + "x" * HUGE_BYTES + '"')
        case "deep":
            return _with(value, "[" * DEPTH + "]" * DEPTH)
        case "wrong_type":
            return json.dumps({"items": value} if isinstance(value, list) else [value]).encode()
        case "lie":
            return json.dumps(_lie(value)).encode()
    return json.dumps(value).encode()
