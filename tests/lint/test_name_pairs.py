"""The letters that are one without case (src/model/core/names.c) against Unicode, as Python has it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import unicodedata
from functools import cache

from csource import TOP

RUN = re.compile(r"\{(0x[0-9a-f]{4}), (0x[0-9a-f]{4}), (\d), (-?\d+)\}")
TURNED = {"ⱥ": "Ⱥ", "ⱦ": "Ⱦ"}  # from the small letter to the capital, so that no name grows


@cache
def table() -> dict[str, str]:
    text = (TOP / "src/model/core/names.c").read_text()
    body = text[text.index("letter_runs[]"):]
    runs = [(int(first, 16), int(last, 16), int(step), int(add)) for first, last, step, add in RUN.findall(body[:body.index("};")])]
    assert runs == sorted(runs) and all(one[1] < other[0] for one, other in zip(runs, runs[1:], strict=False)), "found by bisection"
    return {chr(point): chr(point + add) for first, last, step, add in runs for point in range(first, last + 1, step)}


def small_of(capital: str) -> str | None:
    """The small letter of a pair: each is the simple case mapping of the other: that of titles where the full one has several letters."""
    small = capital.lower()
    if small == capital or len(small) != 1:
        return None
    return small if small.upper() == capital or (len(small.upper()) > 1 and small.title() == capital) else None


def test_each_pair_is_one_of_unicode() -> None:
    assert len(table()) == 947
    for taken, kept in table().items():
        capital, small = (kept, taken) if taken in TURNED else (taken, kept)
        assert TURNED.get(taken, kept) == kept
        assert small_of(capital) == small, f"U+{ord(taken):04X}"


def test_no_pair_of_old_is_missing() -> None:
    """Of what Unicode 3.2 had already; later ones are in if Windows has them."""
    for point in (*range(0x80, 0xD800), *range(0xE000, 0x10000)):
        small = small_of(chr(point))
        if small and all(unicodedata.ucd_3_2_0.category(letter) != "Cn" for letter in (chr(point), small)):
            assert table().get(chr(point)) == small or table().get(small) == chr(point), f"U+{point:04X}"
