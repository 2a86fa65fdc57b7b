"""The shape of src: folders that can be overlooked, no circle of includes in a folder, and names of static functions that occur once."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

import csource
from csource import TOP

FILES_MAX = 35
SUFFIXES = (".c", ".h", ".def")

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\\\n]|\\.)*', re.S | re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.M)
# A definition begins in the first column (clang-format sees to it); a name in capitals is a macro, as in `STACK_OF(X509) *name(`.
DEFINITION = re.compile(r"""
    ^(?:__attribute__\(\([^;{}]*?\)\)\s*)?
    (?P<before>[A-Za-z_][\w\s*()]*?[\s*])
    (?P<name>(?![A-Z0-9_]+\()[A-Za-z]\w*)\((?P<parameters>[^;{}]*)\)[^;{}=]*\{
""", re.M | re.X)


@cache
def sources() -> dict[str, str]:
    """The text of each source, by its path below the top."""
    return {path.relative_to(TOP).as_posix(): path.read_text() for path in csource.tracked("src") if path.suffix in SUFFIXES}


def crowded_folders(paths: Iterable[str], limit: int = FILES_MAX) -> list[str]:
    count: dict[str, int] = defaultdict(int)
    for path in paths:
        count[str(PurePosixPath(path).parent)] += path.endswith(SUFFIXES)
    return [f"{folder}: {files} files (at most {limit})" for folder, files in sorted(count.items()) if files > limit]


def module_of(path: str) -> str:
    """A source, its header and its private header are one module: the path without suffix and `_private`."""
    return path.rsplit(".", 1)[0].removesuffix("_private")


def include_graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Which module needs which of its own folder."""
    graph: dict[str, set[str]] = {module_of(path): set() for path in texts}
    for path, text in texts.items():
        node = module_of(path)
        for name in INCLUDE.findall(text):
            included = str(PurePosixPath(path).parent / name)
            if included in texts:
                graph[node].add(module_of(included))
        graph[node].discard(node)
    return graph


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - found
        found |= new
        ahead.extend(new)
    return found


def include_circles(texts: Mapping[str, str]) -> list[str]:
    """Groups of files that need each other, one message each, with the includes that make the circle."""
    graph = include_graph(texts)
    reach = {node: reachable(graph, node) for node in graph}
    circles = {frozenset(other for other in reach[node] if node in reach[other]) for node in graph if node in reach[node]}
    said = []
    for circle in sorted(sorted(group) for group in circles):
        names = [PurePosixPath(node).name for node in circle]
        ties = [f"{PurePosixPath(node).name} -> {PurePosixPath(other).name}"
                for node in circle for other in sorted(graph[node] & set(circle))]
        said.append(f"{PurePosixPath(circle[0]).parent}: {', '.join(names)} ({'; '.join(ties)})")
    return said


def functions(text: str) -> Iterator[tuple[str, bool]]:
    """Name of each function that is defined, and whether it is static."""
    code = NOT_CODE.sub(lambda found: "\n" * found.group().count("\n"), text)
    for found in DEFINITION.finditer(code):
        yield found["name"], "static" in found["before"].split()


def ambiguous_statics(texts: Mapping[str, str]) -> list[str]:
    """Static functions of sources that share their name with a function of another file."""
    places: dict[str, dict[str, bool]] = defaultdict(dict)
    for path, text in texts.items():
        for name, is_static in functions(text):
            places[name][path] = is_static
    return [f"{name}: " + ", ".join(f"{path}{' (static)' if is_static else ''}" for path, is_static in sorted(where.items()))
            for name, where in sorted(places.items()) if len(where) > 1 and any(where.values())]


def test_folders_can_be_overlooked() -> None:
    said = crowded_folders(sources())
    assert not said, "make sub-folders of what belongs together, or join files that are read together:\n" + "\n".join(said)


def test_no_circle_of_includes() -> None:
    said = include_circles(sources())
    assert not said, ("files that need each other cannot be understood one by one; move what both need into a file below them, "
                      "hand it in as a parameter, or join them:\n" + "\n".join(said))


def test_static_names_occur_once() -> None:
    said = ambiguous_statics(sources())
    assert not said, "a backtrace must be unambiguous; give the static function the prefix of its file:\n" + "\n".join(said)


def test_a_crowded_folder_is_found() -> None:
    paths = [f"src/a/f{n}.{suffix}" for n in range(2) for suffix in ("c", "h")] + ["src/a/deep/g.c", "src/a/local.mk", "src/a/t.def"]
    assert crowded_folders(paths, 5) == []
    assert crowded_folders(paths, 4) == ["src/a: 5 files (at most 4)"]


def test_a_circle_is_found() -> None:
    texts = {"src/a/one.h": "", "src/a/one.c": '#include "one.h"\n#include "two.h"\n', "src/a/two.h": "",
             "src/a/two.c": '#include "two.h"\n#include "three.h"\n', "src/a/three.h": "/* #include */\n",
             "src/b/two.c": '#include "one.h"\n'}
    assert include_circles(texts) == []
    assert include_circles(texts | {"src/a/three.h": '#  include "one.h"\n'}) == [
        "src/a: one, three, two (one -> two; three -> one; two -> three)"]
    assert include_circles({"src/a/x.c": '#include "x.h"\n', "src/a/x.h": "", "src/b/x.h": '#include "x.h"\n'}) == []


def test_a_definition_file_is_part_of_a_circle() -> None:
    texts = {"src/a/table.def": '#include "row.h"\n', "src/a/row.h": '#include "table.def"\n'}
    assert include_circles(texts) == ["src/a: row, table (row -> table; table -> row)"]


def test_functions_are_found() -> None:
    text = ('DEFINE_CLEANUP(struct x, drop)\n\nstatic int plain(int a, void (*b)(void)) {\n    if (a) {\n    }\n}\n'
            "static const struct x *\nbroken(int a,\n       int b) {\n}\nstatic STACK_OF(X509) *stack(void) {\n}\n"
            "__attribute__((format(printf, 1, 2))) static void marked(const char *text, ...) {\n}\n"
            "int exported(void) {\n}\nstatic int declared(int a);\nstatic const struct row rows[] = {{called(1)}};\n"
            "struct s {\n    int (*member)(int);\n};\n/*\nstatic int comment(void) {\n}\n*/\n"
            'static void quoted(void) {\n    say("{");\n}\n#define M(a) \\\n    static int made(void) {\n')
    static = ["plain", "broken", "stack", "marked", "quoted"]
    assert sorted(functions(text)) == sorted([("exported", False)] + [(name, True) for name in static])


def test_an_ambiguous_static_is_found() -> None:
    static, exported = "static int finish(void) {\n}\n", "int finish(void) {\n}\n"
    assert ambiguous_statics({"src/a.c": static, "src/b.c": "static int b_finish(void) {\n    return finish(1);\n}\n"}) == []
    assert ambiguous_statics({"src/a.c": static, "src/b/b.c": static}) == ["finish: src/a.c (static), src/b/b.c (static)"]
    assert ambiguous_statics({"src/a.c": static, "src/b.c": exported}) == ["finish: src/a.c (static), src/b.c"]
