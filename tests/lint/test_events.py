"""Each event of the log stands in src/daemon/events.def, with the levels and keys that the code gives it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import csource
from csource import TOP

ROWS = re.findall(r'^EVENT\((\w+), (\w+), "([\w ]*)"', (TOP / "src/daemon/events.def").read_text(), re.M)
OF_ALL_LINES = {"time", "level", "event", "request_id", "cut"}
OF_ERRORS = {"error", "text", "detail", "place"}  # what log_error adds
LEVELS = ["ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"]


@dataclass
class Call:
    place: str
    event: str
    levels: set[str]  # empty: chosen elsewhere
    keys: list[str]
    has_error: bool


def arguments(text: str, at: int) -> list[str]:
    """Those of the call whose opening bracket stands at this place."""
    depth, found, begin, in_text = 0, [], at + 1, False
    for i in range(at, len(text)):
        letter = text[i]
        if letter == '"' and text[i - 1] != "\\":
            in_text = not in_text
        if in_text:
            continue
        depth += (letter in "([{") - (letter in ")]}")
        if (letter == "," and depth == 1) or not depth:
            found.append(text[begin:i].strip())
            begin = i + 1
        if not depth:
            return found
    raise AssertionError(text[at:at + 80])


def calls() -> Iterator[Call]:
    for path in csource.tracked("src/**.c"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for m in re.finditer(r"\b(log_event|log_error)\(", text):
            given = arguments(text, m.end() - 1)
            if path.name == "log.c" or "enum log_level level" in given:
                continue
            first = 3 if m[1] == "log_error" else 2
            yield Call(f"{path.relative_to(TOP)}: {given[1]}", given[1].strip('"'), set(re.findall(r"LOG_LEVEL_(\w+)", given[0])),
                       [key.strip('"') for key in given[first:-1:2]], m[1] == "log_error")


def test_each_event_has_a_row_and_each_row_an_event() -> None:
    used, rows = {call.event for call in calls()}, [name for name, _, _ in ROWS]
    assert len(used) > 40 and len(set(rows)) == len(rows)
    assert not (unknown := sorted(used - set(rows))), f"no row in src/daemon/events.def: {unknown}"
    assert not (unused := sorted(set(rows) - used)), f"logged nowhere: {unused}"


def test_rows_have_the_levels_and_keys_of_the_code() -> None:
    levels: dict[str, set[str]] = {}
    keys: dict[str, set[str]] = {}
    for call in calls():
        levels.setdefault(call.event, set()).update(call.levels)
        keys.setdefault(call.event, set()).update(call.keys, OF_ERRORS if call.has_error else ())
    for name, told_levels, told_keys in ROWS:
        told = told_levels.split("_")
        assert told == [level for level in LEVELS if level in told], f"{name}: levels by urgency, joined by _"
        assert levels[name] <= set(told), f"{name}: also at {levels[name] - set(told)}"
        assert sorted(told_keys.split()) == sorted(keys[name]), f"{name}: keys are {' '.join(sorted(keys[name]))}"


def test_no_key_stands_in_a_line_twice() -> None:
    for call in calls():
        reserved = OF_ALL_LINES | (OF_ERRORS if call.has_error else set())
        assert len(set(call.keys)) == len(call.keys) and not reserved & set(call.keys), f"{call.place}: {call.keys}"
