"""Whatever reads an answer of a vCenter is reached by a fuzz target, and its coverage is measured, or it is said why not."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import runpy
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
READS = re.compile(r"\bVIM_CALL\(|struct _?vim25__(?:ObjectContent|\w+Response)\b")


def test_each_reader_of_answers_is_measured_or_says_why_not() -> None:
    table = runpy.run_path(str(TOP / "scripts/decoder-coverage"))
    measured = {name for names in table["DECODERS"].values() for name in names}
    readers = {str(path.relative_to(TOP)) for path in sorted((TOP / "src/vim").rglob("*.c")) if READS.search(path.read_text())}
    asking = set(table["ASKING"])
    assert readers and readers - measured - asking == set(), "neither in DECODERS nor in ASKING of scripts/decoder-coverage"
    assert asking - readers == set() and asking & measured == set(), "ASKING names what it need not"


def test_calls_that_are_named_are_there() -> None:
    table = runpy.run_path(str(TOP / "scripts/decoder-coverage"))
    source = (TOP / "tests/fuzz/fuzz_vim.c").read_text()
    calls = {word for why in table["ASKING"].values() for word in re.findall(r"\bcall_\w+", why)}
    assert calls and not [call for call in sorted(calls) if f"static void {call}(" not in source]
