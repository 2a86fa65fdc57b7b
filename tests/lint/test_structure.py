"""The shape of src: no circle of files or folders but those of circles.txt, and names of static functions that occur once."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

import csource
from csource import TOP

Graph = dict[str, set[str]]
SUFFIXES = (".c", ".h", ".def")

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\\\n]|\\.)*', re.S | re.M)
KNOWN = TOP / "tests/lint/circles.txt"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.M)
CALL = re.compile(r"(?<![.>\w])[a-zA-Z_]\w*(?=\()")  # not what is called through a member
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


def module_of(path: str) -> str:
    """A source, its header and its private header are one module: the path without suffix and `_private`."""
    return path.rsplit(".", 1)[0].removesuffix("_private")


def includes(texts: Mapping[str, str]) -> Graph:
    """Which file includes which. A header is looked for beside the file, then in all of src, as with -iquote."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in texts:
        places[PurePosixPath(path).name].append(path)
    graph: Graph = {}
    for path, text in texts.items():
        beside = [(str(PurePosixPath(path).parent / name), PurePosixPath(name).name) for name in INCLUDE.findall(text)]
        graph[path] = {found for here, name in beside for found in ([here] if here in texts else places[name])}
    return graph


def calls(texts: Mapping[str, str]) -> Graph:
    """Which file calls a function of which: through a private header or a prototype in a third file it needs no include of its own."""
    homes = {name: path for path, text in texts.items() for name, is_static in functions(text) if not is_static and name != "main"}
    called = {path: set(CALL.findall(NOT_CODE.sub(" ", text))) for path, text in texts.items() if path.endswith(".c")}
    return {path: {homes[name] for name in called.get(path, set()) & homes.keys()} for path in texts}


def folded(graph: Graph, fold: Callable[[str], str]) -> Graph:
    """The same with several files as one node."""
    nodes: Graph = defaultdict(set)
    for path, needed in graph.items():
        nodes[fold(path)] |= {fold(other) for other in needed}
    for needed in list(nodes.values()):
        for other in needed:
            nodes.setdefault(other, set())
    return {node: needed - {node} for node, needed in nodes.items()}


def reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - found
        found |= new
        ahead.extend(new)
    return found


def circles(graph: Graph) -> set[frozenset[str]]:
    """Groups of nodes that need each other."""
    reach = {node: reachable(graph, node) for node in graph}
    return {frozenset(other for other in reach[node] if node in reach[other]) for node in graph if node in reach[node]}


def all_circles(texts: Mapping[str, str]) -> set[tuple[str, frozenset[str]]]:
    """Circles of files by includes and by calls, and of folders by either, each with its kind."""
    by_include, by_call = includes(texts), calls(texts)
    either = {path: by_include[path] | by_call[path] for path in texts}
    graphs = {"includes": folded(by_include, module_of), "calls": folded(by_call, module_of),
              "folders": folded(either, lambda path: str(PurePosixPath(path).parent))}
    return {(kind, circle) for kind, graph in graphs.items() for circle in circles(graph)}


def told(found: Iterable[tuple[str, frozenset[str]]]) -> str:
    return "".join(f"{kind} {' '.join(sorted(circle))}\n" for kind, circle in sorted(found, key=lambda one: (one[0], sorted(one[1]))))


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


def known_circles() -> set[tuple[str, frozenset[str]]]:
    lines = [line.split("#")[0].split() for line in KNOWN.read_text().splitlines()]
    return {(words[0], frozenset(words[1:])) for words in lines if words}


def test_no_new_circle() -> None:
    known = known_circles()
    new = [(kind, circle) for kind, circle in all_circles(sources()) if not any(kind == other and circle <= old for other, old in known)]
    assert not new, ("files that need each other cannot be understood one by one; move what both need into a file below them, "
                     "hand it in as a parameter, or join them:\n" + told(new))


def test_the_list_of_circles_shrinks() -> None:
    gone = known_circles() - all_circles(sources())
    assert not gone, f"these circles are smaller or gone; write what is left of them into {KNOWN.name}:\n" + told(gone)


def test_static_names_occur_once() -> None:
    said = ambiguous_statics(sources())
    assert not said, "a backtrace must be unambiguous; give the static function the prefix of its file:\n" + "\n".join(said)


def test_a_circle_of_includes_is_found() -> None:
    texts = {"src/a/one.h": "", "src/a/one.c": '#include "one.h"\n#include "two.h"\n', "src/a/two.h": "",
             "src/a/two.c": '#include "two.h"\n#include "three.h"\n', "src/a/three.h": "/* #include */\n",
             "src/b/four.c": '#include "one.h"\n'}
    assert all_circles(texts) == set()
    assert told(all_circles(texts | {"src/a/three.h": '#  include "one.h"\n'})) == "includes src/a/one src/a/three src/a/two\n"


def test_a_circle_through_another_folder_is_found() -> None:
    texts = {"src/a/one.h": "", "src/a/one.c": '#include "one.h"\n#include "two.h"\n', "src/a/deep/two.h": "",
             "src/a/deep/two.c": '#include "two.h"\n#include "one.h"\n'}
    assert told(all_circles(texts)) == "folders src/a src/a/deep\nincludes src/a/deep/two src/a/one\n"


def test_a_file_beside_it_comes_first() -> None:
    texts = {"src/a/x.c": '#include "x.h"\n', "src/a/x.h": "", "src/b/x.h": '#include "x.h"\n', "src/b/y.c": '#include "x.h"\n'}
    assert all_circles(texts) == set()


def test_a_definition_file_is_part_of_a_circle() -> None:
    texts = {"src/a/table.def": '#include "row.h"\n', "src/a/row.h": '#include "table.def"\n'}
    assert told(all_circles(texts)) == "includes src/a/row src/a/table\n"


def test_a_circle_of_calls_is_found() -> None:
    """Behind a private header that declares the functions of all."""
    texts = {"src/a/all_private.h": "void one(void);\nvoid two(void);\n",
             "src/a/one.c": '#include "all_private.h"\nvoid one(void) {\n    two();\n}\n',
             "src/a/two.c": '#include "all_private.h"\nvoid two(void) {\n    it->one();\n    say("one()");\n}\n'}
    assert all_circles(texts) == set()
    texts["src/a/two.c"] += "static void again(void) {\n    one();\n}\n"
    assert told(all_circles(texts)) == "calls src/a/one src/a/two\n"


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
