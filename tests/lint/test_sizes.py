"""Ceilings on functions, nesting and files: beyond them nobody follows. Below them length is the author's choice."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import csource
from csource import TOP

LIMITS = {"lines": 80, "nesting": 4, "file": 900}


def measures(path: Path) -> Iterator[tuple[str, str, int]]:
    name = str(path.relative_to(TOP))
    for function in csource.functions(path):
        yield f"{name} {function.name}", "lines", function.lines
        yield f"{name} {function.name}", "nesting", function.nesting
    yield name, "file", path.read_bytes().count(b"\n")


def test_nothing_is_over_the_ceilings() -> None:
    files = csource.tracked("src/**.c", "src/**.h", "tests/unit/**.c", "tests/integ/**.c", "tests/fuzz/**.c", "bench/**.c")
    over = [f"{where}: {measure} {value} (ceiling {LIMITS[measure]})"
            for path in files for where, measure, value in measures(path) if value > LIMITS[measure]]
    assert not over, "split these by concept:\n" + "\n".join(sorted(over))


def test_the_measures(tmp_path: Path) -> None:
    source = tmp_path / "sample.c"
    source.write_text("static int *deep(int a, int b, const char *c, void (*d)(void), int e, ...) {\n"
                      "    if (a) {\n        for (;;)\n            while (b)\n                if (c) d();\n"
                      "                else if (e) d();\n"
                      "    } else if (b) {\n        a++;\n    }\n    return 0;\n}\nvoid none(void) {}\n")
    found = {function.name: function for function in csource.functions(source)}
    assert (found["deep"].lines, found["deep"].nesting) == (11, 4)
    assert (found["none"].lines, found["none"].nesting) == (1, 0)
