"""Functions, nesting, parameter lists and files stay small; what is over the limit stands in size_exceptions.txt, which may only shrink."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import csource
from csource import TOP

LIMITS = {"lines": 60, "nesting": 4, "parameters": 5, "file_lines": 500, "header_lines": 150, "test_lines": 700}
LIST = Path(__file__).with_name("size_exceptions.txt")
Key = tuple[str, str, str]


def measures(path: Path) -> Iterator[tuple[Key, int]]:
    name = str(path.relative_to(TOP))
    for function in csource.functions(path):
        for measure in ("lines", "nesting", "parameters"):
            yield (name, function.name, measure), getattr(function, measure)
    whole = path.read_bytes().count(b"\n")
    kind = "test_lines" if name.startswith("tests/") else "header_lines" if path.suffix == ".h" else "file_lines"
    yield (name, "-", kind), whole


@cache
def over_limit() -> dict[Key, int]:
    found = {}
    for path in csource.tracked("src/**.c", "src/**.h", "tests/unit/**.c", "tests/fuzz/**.c", "bench/**.c"):
        found.update({key: value for key, value in measures(path) if value > LIMITS[key[2]]})
    return found


def excepted() -> dict[Key, int]:
    rows = (line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#"))
    return {(path, function, measure): int(value) for path, function, measure, value in rows}


def test_nothing_new_is_over_the_limits() -> None:
    known = excepted()
    new = [f"{' '.join(key)}: {value} (limit {LIMITS[key[2]]})" for key, value in over_limit().items() if value > known.get(key, 0)]
    assert not new, "split these by concept:\n" + "\n".join(sorted(new))


def test_the_list_of_exceptions_only_shrinks() -> None:
    present = over_limit()
    stale = [f"{' '.join(key)}: {value} in the list, {present.get(key, 'within the limits')} now"
             for key, value in excepted().items() if present.get(key) != value]
    assert not stale, "bring size_exceptions.txt up to date:\n" + "\n".join(stale)


def test_the_measures(tmp_path: Path) -> None:
    source = tmp_path / "sample.c"
    source.write_text("static int *deep(int a, int b, const char *c, void (*d)(void), int e, ...) {\n"
                      "    if (a) {\n        for (;;)\n            while (b)\n                if (c) d();\n"
                      "                else if (e) d();\n"
                      "    } else if (b) {\n        a++;\n    }\n    return 0;\n}\nvoid none(void) {}\n"
                      "int g(int a, struct err *err) { return 0; }\n")
    found = {function.name: function for function in csource.functions(source)}
    assert (found["deep"].lines, found["deep"].nesting, found["deep"].parameters) == (11, 4, 5)
    assert (found["none"].lines, found["none"].nesting, found["none"].parameters) == (1, 0, 0)
    assert found["g"].parameters == 1
