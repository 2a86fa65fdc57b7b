"""What kaasctl doctor prints, without what differs from run to run, held against text files that people can read."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
from pathlib import Path

from .places import TOP

FOLDER = TOP / "tests/fixtures/doctor"
SHA256 = re.compile(r"\b(?:[0-9A-F]{2}:){7,31}[0-9A-F]{2}\b")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
KAAS = re.escape(re.search(r"AC_INIT\(\[harmony-kaas\], \[([^\]]*)\]", (TOP / "configure.ac").read_text())[1])  # type: ignore[index]
# what is found and what stands for it; of the same length, since the text is a table
REST = [(TIME, "2026-01-31 12:00:00 UTC"), (re.compile(rf"(?<=version ){KAAS}\.\d+"), "0.0.0.N"),
        (re.compile(r"(?<=version )(\d+\.\d+\.\d+)\.\d+"), r"\1.N"),
        (re.compile(r"\b\d+ s (?=ahead|behind)"), "600 s "), (re.compile(r"in \d+ days"), "in 9 days"),
        (re.compile(r"/(?:tmp|dev/shm)/[^ ]*/"), "/etc/kaas/"), (re.compile(r"(?<=\()/\S*/doc/kaas/"), "docs/")]


def normalised(text: str, ports: dict[int, int]) -> str:
    """Ports as told (five digits, like those of the world); certificates and ids by letters in the order in which they come; times,
    versions and counts by fixed ones."""
    for port, shown in ports.items():
        text = re.sub(rf"\b{port}\b", str(shown), text)
    for pattern, make in ((SHA256, _thumbprint), (UUID, _uuid)):
        for number, found in enumerate(dict.fromkeys(m.group(0)[:23] for m in pattern.finditer(text))):
            text = re.sub(re.escape(found) + (r"[0-9A-F:]*" if pattern is SHA256 else r"[0-9a-f-]*"),
                          lambda m, n=number, f=make: f(n, len(m.group(0))), text)  # type: ignore[misc]
    for what, shown_as in REST:
        text = what.sub(shown_as, text)
    return text


def _thumbprint(number: int, length: int) -> str:
    return ":".join([f"{'ABCDEF'[number]}{number + 1}"] * 32)[:length]


def _uuid(number: int, length: int) -> str:
    return (f"{number + 1}" * 8 + "-0000-4000-8000-" + f"{number + 1}" * 12)[:length]


def hold_against_fixture(name: str, text: str) -> None:
    """The text must be that of the file; KAAS_WRITE_FIXTURES=1 writes it, for reading before it is committed."""
    path: Path = FOLDER / f"{name}.txt"
    if os.environ.get("KAAS_WRITE_FIXTURES"):
        path.write_text(text)
    assert text == path.read_text(), f"kaasctl doctor says something else than {path.relative_to(TOP)}"
