"""A source that a comment or a page names is there: whoever follows a name that is gone has lost the way."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import csource
from csource import TOP

# Of MariaDB, Lightwave, Linux, glibc, gSOAP and autoconf, and the pattern of a bench's name.
OTHERS = {"mysql.h", "vmdir/server/schema/matchingrule.c", "fs/smb/client/winucase.c", "posix-timers.h", "sysexits.h", "stdsoap2.h",
          "config.h", "bench/NAME.py"}
NAME = re.compile(r"(?<![\w/.<*$-])((?:\.{0,2}/)?(?:[\w-]+/)*[\w-]+\.(?:c|h|def|py|wsdl|xsd))\b(?![\w/.(-]*[\w/(])")
QUOTED = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:sql|sh|txt))[`:]")  # pages alone: elsewhere such a name is often a file of somebody else
PATTERNS = {"sql/NNNN_what.sql", "NNNN_what.sql", "build/logs/full.txt"}
STRING = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\''
COMMENTS = {
    (".c", ".h", ".def", ".go", ".ts", ".js"): re.compile(rf"{STRING}|(//[^\n]*|/\*.*?\*/)", re.S),
    (".py", "scripts"): re.compile(rf'("""(?:.|\n)*?""")|{STRING}|(#[^\n]*)'),
    (".sh", ".mk", ".am", ".ac", ".yaml", ".toml"): re.compile(r"^[ \t]*(#[^\n]*)", re.M),
    (".md",): re.compile(r"(.*)", re.S),
}


def kind_of(path: Path) -> str:
    return path.suffix or ("scripts" if path.is_relative_to(TOP / "scripts") else "")


def said_in(path: Path, text: str) -> Iterator[str]:
    """Comments and docstrings; all of a page."""
    for kinds, comment in COMMENTS.items():
        if kind_of(path) in kinds:
            yield from ("".join(part for part in found.groups() if part) for found in comment.finditer(text))


def named_in(path: Path, text: str) -> set[str]:
    found = {name for comment in said_in(path, text) for name in NAME.findall(comment)}
    if path.suffix == ".md":
        found |= set(QUOTED.findall(text)) - PATTERNS
    included = set(re.findall(r"^[ \t]*#[ \t]*include[ \t]+<(?:[\w-]+/)*([\w-]+\.h)>", text, re.M))  # headers of libraries
    return found - OTHERS - included


def is_there(name: str, path: Path, present: Iterable[str]) -> bool:
    """Beside the file or from the top where it has a path of ours, else anywhere."""
    if name.startswith("."):
        return (path.parent / name).exists()
    return f"/{name}" in present if name.startswith(("src/", "tests/", "scripts/", "sql/")) else any(
        one.endswith(f"/{name}") for one in present)


def test_no_comment_or_page_names_a_file_that_is_gone() -> None:
    present = {f"/{path.relative_to(TOP).as_posix()}" for path in csource.tracked()}
    # the changelog tells of what was; tests of lints name files that they make up
    told = [path for path in csource.tracked() if path.name != "CHANGELOG.md" and path.parent != TOP / "tests/lint" and path.is_file()]
    read = [path for path in told if any(kind_of(path) in kinds for kinds in COMMENTS)]
    named = {(path, name) for path in read for name in named_in(path, path.read_text())}
    gone = sorted(f"{path.relative_to(TOP)}: {name}" for path, name in named if not is_there(name, path, present))
    assert len(named) > 500
    assert not gone, "no such file any more:\n" + "\n".join(gone)


def test_names_are_found() -> None:
    source = ('#include <zlib.h>\n/* As a.c and "x/b.h" do; zlib.h. Not c.h5, d.py.in, <e.h>, *.h or ldap.conf. */\n'
              'const char *f = "g.c"; // h.def, see i_j.py\n')
    assert named_in(Path("x.c"), source) == {"a.c", "x/b.h", "h.def", "i_j.py"}
    assert named_in(Path("x.py"), '"""See a.py.\n"""\nb = "b.c"  # as c.h:12\n') == {"a.py", "c.h"}
    assert named_in(Path("x.md"), "`a.c:work` and `b.sql`, not sql/c.sql; [d](../d.py)\n") == {"a.c", "b.sql", "../d.py"}


def test_a_path_is_followed() -> None:
    present = {"/src/a/b.c"}
    names = ("b.c", "a/b.c", "src/a/b.c", "src/b.c", "c.c")
    assert [name for name in names if is_there(name, TOP / "x.md", present)] == ["b.c", "a/b.c", "src/a/b.c"]
