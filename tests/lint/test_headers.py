"""A header is what a newcomer opens first: each prototype says what it does."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import csource
import pytest
from csource import TOP, Node

HEADERS = csource.tracked("src/**.h")


def prototypes(node: Node) -> list[Node]:
    return [child for child in csource.walk(node, "declaration") if csource.declarator(child)]


def bare_prototypes(path: Path) -> list[str]:
    """Prototypes without a comment directly above, on their own line, or above the unbroken group of lines they stand in."""
    root = csource.tree(path)
    comments = list(csource.walk(root, "comment"))
    covered = {row for comment in comments for row in range(comment.start_point[0], comment.end_point[0] + 1)}
    filled = {number for number, line in enumerate(path.read_text().splitlines()) if line.strip()}
    bare = []
    for node in prototypes(root):
        row = node.start_point[0]
        while row in filled and row not in covered:
            row -= 1
        after = node.end_point[0]
        if row not in covered and after not in covered:
            bare.append(f"{path.relative_to(TOP)}:{node.start_point[0] + 1}: {csource.text_of(node).splitlines()[0]}")
    return bare


def test_every_prototype_has_a_comment() -> None:
    bare = [line for path in HEADERS for line in bare_prototypes(path)]
    assert not bare, "say what these do, need, return, and who frees:\n" + "\n".join(bare)


def test_every_source_begins_with_what_it_is() -> None:
    wanting = []
    for path in csource.tracked("src/**.c", "src/**.h", "src/**.def"):
        head = "\n".join(path.read_text().splitlines()[:4])
        if not head.startswith("/*") or "SPDX-License-Identifier: GPL-3.0-or-later" not in head:
            wanting.append(str(path.relative_to(TOP)))
    assert not wanting, "begin with a comment (what lives here, which layer) and the licence line:\n" + "\n".join(wanting)


@pytest.mark.parametrize(("body", "bare"), [
    ("/* Does it. */\nint f(void);\n", 0),
    ("int f(void); /* does it */\n", 0),
    ("/* Both of them. */\nint f(void);\nchar *g(int a);\n", 0),
    ("/* About f. */\nint f(void);\n\nint g(void);\n", 1),
    ("int f(void)\n    __attribute__((sentinel));\n", 1),
])
def test_the_rule_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, bare: int) -> None:
    monkeypatch.setattr("test_headers.TOP", tmp_path)
    header = tmp_path / "h.h"
    header.write_text(body)
    assert len(bare_prototypes(header)) == bare
