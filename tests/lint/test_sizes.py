"""Sizes beyond which nobody follows. Nesting is a wall; functions, files and folders are told (below that length is the author's choice),
but for those that sizes.txt gives a reason for. A table of rows has no ceiling: it is read where it is searched."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import csource
from csource import TOP

NESTING_MAX = 4
LIMITS = {"function": 80, "file": 900, "folder": 35}  # lines, lines, files
REASONS = TOP / "tests/lint/sizes.txt"
SUFFIXES = (".c", ".h", ".def")
TABLES = {"src/cli/commands/cli_commands.c"}


def code() -> tuple[Path, ...]:
    return csource.tracked("src/**.c", "src/**.h", "src/**.def", "tests/unit/**.c", "tests/integ/**.c", "tests/fuzz/**.c", "bench/**.c")


def is_table(name: str) -> bool:
    return name in TABLES or name.endswith(".def")


def sizes(paths: tuple[Path, ...], top: Path) -> Iterator[tuple[str, str, int]]:
    """Kind, name and size of whatever has a ceiling."""
    names = {path: path.relative_to(top).as_posix() for path in paths}
    for path, name in names.items():
        if is_table(name):
            continue
        yield "file", name, path.read_bytes().count(b"\n")
        for function in csource.functions(path):
            yield "function", f"{name}:{function.name}", function.lines
    for folder, files in Counter(str(Path(name).parent) for name in names.values() if name.startswith("src/")).items():
        yield "folder", folder, files


def over(paths: tuple[Path, ...], top: Path = TOP) -> dict[str, int]:
    """What is over its ceiling, as "KIND NAME", with its size."""
    return {f"{kind} {name}": size for kind, name, size in sizes(paths, top) if size > LIMITS[kind]}


def reasons(text: str) -> dict[str, str]:
    """Lines "KIND NAME: why"."""
    return dict(re.findall(r"^(?!#)(\S+ \S+): ?(.*)$", text, re.M))


def test_sizes_are_told(record_property: Callable[[str, object], None]) -> None:
    known = reasons(REASONS.read_text())
    for what, size in sorted(over(code()).items()):
        if what not in known:
            limit = LIMITS[what.split()[0]]
            record_property("warning", f"{what}: {size}, over {limit}; split it by concept, or say in {REASONS.name} why not")


def test_the_list_of_reasons_shrinks() -> None:
    known = reasons(REASONS.read_text())
    gone = sorted(known.keys() - over(code()).keys())
    assert not gone, f"these are not over their ceiling any more; take them out of {REASONS.name}:\n" + "\n".join(gone)
    bare = [what for what, why in known.items() if not why]
    assert not bare, f"{REASONS.name} gives no reason for:\n" + "\n".join(bare)


def test_nothing_is_nested_deeper_than_the_ceiling() -> None:
    deep = [f"{path.relative_to(TOP)} {function.name}: {function.nesting} (ceiling {NESTING_MAX})"
            for path in code() if path.suffix != ".def" for function in csource.functions(path) if function.nesting > NESTING_MAX]
    assert not deep, "name what the inner part does:\n" + "\n".join(sorted(deep))


def test_what_is_too_large_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "src/a"
    folder.mkdir(parents=True)
    (folder / "long.c").write_text("void all(void) {\n" + "    step();\n" * LIMITS["file"] + "}\n")
    (folder / "rows.def").write_text("ROW(1)\n" * (LIMITS["file"] + 1))
    for number in range(LIMITS["folder"] - 2):
        (folder / f"f{number}.h").touch()
    files = LIMITS["file"] + 2
    assert over(tuple(sorted(folder.iterdir())), tmp_path) == {"file src/a/long.c": files, "function src/a/long.c:all": files}
    (folder / "more.h").touch()
    assert over(tuple(sorted(folder.iterdir())), tmp_path)["folder src/a"] == LIMITS["folder"] + 1


def test_reasons_are_read() -> None:
    assert reasons("# x\n\nfile src/a/b.c: one: two\nfolder src/c:\n") == {"file src/a/b.c": "one: two", "folder src/c": ""}


def test_the_measures(tmp_path: Path) -> None:
    source = tmp_path / "sample.c"
    source.write_text("static int *deep(int a, int b, const char *c, void (*d)(void), int e, ...) {\n"
                      "    if (a) {\n        for (;;)\n            while (b)\n                if (c) d();\n"
                      "                else if (e) d();\n"
                      "    } else if (b) {\n        a++;\n    }\n    return 0;\n}\nvoid none(void) {}\n")
    found = {function.name: function for function in csource.functions(source)}
    assert (found["deep"].lines, found["deep"].nesting) == (11, 4)
    assert (found["none"].lines, found["none"].nesting) == (1, 0)
