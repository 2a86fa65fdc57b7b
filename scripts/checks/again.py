"""A red file of pytest is run once more, alone and in a fresh world, two files a run. Passed then, it does not hold a landing up, but it is
told, and whoever sees it enters it in tests/FLAKY. What is a bug however rare it is, is not run again."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from .run import TOP

FILES_A_RUN = 2
LIST = TOP / "tests/FLAKY"
ENTRY = re.compile(r"(?P<count>\d+) (?P<first>\d{4}-\d\d-\d\d) (?P<last>\d{4}-\d\d-\d\d) (?P<name>\S.*?) \| (?P<error>.+)")
# Reports of sanitizers, and the ends of programs that were not told to end (tests/env/process.py, kaasd.py; pytest-xdist).
FINAL = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer|: runtime error: |\bended with status\b|worker '\w+' crashed"
                   r"|core dumped")
FINAL_PROPERTY = "final"  # tests/integ/conftest.py: the marker of that name
_lock = threading.Lock()
_left = FILES_A_RUN


@dataclass(frozen=True)
class Red:
    """A test that failed."""

    name: str
    file: str
    error: str
    is_final: bool


def file_of(classname: str, name: str) -> str:
    """The file of a test case of a JUnit report; a file that could not be read stands there by its name alone."""
    parts = (classname or name).split(".")
    while parts:
        path = Path(*parts).with_suffix(".py")
        if (TOP / path).is_file():
            return str(path)
        parts.pop()
    return ""


def reds(report: Path) -> list[Red]:
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        bad = next((part for kind in ("failure", "error", "skipped") if (part := case.find(kind)) is not None), None)
        if bad is None:
            continue
        text = f"{bad.get('message') or ''}\n{bad.text or ''}"
        marked = any(part.get("name") == FINAL_PROPERTY for part in case.iter("property"))
        classname, name = case.get("classname") or "", case.get("name") or ""
        found.append(Red(f"{classname}::{name}", file_of(classname, name), text.strip().split("\n")[0][:200],
                         marked or bool(FINAL.search(text))))
    return found


def worth_it(found: list[Red]) -> list[str]:
    """The files to run again: none if there are too many, or one of them is final."""
    global _left
    files = sorted({red.file for red in found})
    with _lock:
        if not files or "" in files or any(red.is_final for red in found) or len(files) > _left:
            return []
        _left -= len(files)
        return files


def entries() -> dict[str, re.Match[str]]:
    """tests/FLAKY by the tests' names."""
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")] if LIST.exists() else []
    return {match["name"]: match for line in lines if (match := ENTRY.fullmatch(line))}


def entry_for(red: Red) -> str:
    """The line for tests/FLAKY: the one that is there counted up, or a new one."""
    today = time.strftime("%Y-%m-%d", time.gmtime())
    known = entries().get(red.name)
    count, first = (int(known["count"]) + 1, known["first"]) if known else (1, today)
    return f"{count} {first} {today} {red.name} | {red.error or 'no text'}"
