"""Our C sources as syntax trees (tree-sitter), and the measures the house rules speak of."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tree_sitter_c
from tree_sitter import Language, Node, Parser

TOP = Path(__file__).resolve().parents[2]
NESTING = {"if_statement", "for_statement", "while_statement", "do_statement", "switch_statement"}


@cache
def tracked(*patterns: str) -> tuple[Path, ...]:
    """Files of the project that fit the patterns of git, those not added yet included."""
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=TOP)
    paths = (TOP / name for name in listed.decode().split("\0") if name)
    return tuple(sorted({path for path in paths if path.is_file()}))


@cache
def tree(path: Path) -> Node:
    # attribute and cleanup macros hide declarations from the grammar; lengths are kept
    text = re.sub(rb"_cleanup_\(\w+\)", lambda m: b" " * len(m.group()), path.read_bytes())
    return Parser(Language(tree_sitter_c.language())).parse(text).root_node


def walk(node: Node, kind: str) -> Iterator[Node]:
    if node.type == kind:
        yield node
    for child in node.children:
        yield from walk(child, kind)


def text_of(node: Node | None) -> str:
    return node.text.decode(errors="replace") if node and node.text else ""


def declarator(node: Node) -> Node | None:
    """The function declarator below a definition or declaration, through pointers."""
    inner = node.child_by_field_name("declarator")
    while inner and inner.type in ("pointer_declarator", "parenthesized_declarator", "attributed_declarator"):
        inner = inner.child_by_field_name("declarator") or (inner.named_children[0] if inner.named_children else None)
    return inner if inner and inner.type == "function_declarator" else None


@dataclass
class Function:
    name: str
    lines: int
    nesting: int


def depth(node: Node, level: int = 0) -> int:
    """How deep statements are nested; `else if` is no level of its own."""
    deepest = level
    for child in node.children:
        step = child.type in NESTING and not (child.type == "if_statement" and node.type == "else_clause")
        deepest = max(deepest, depth(child, level + 1 if step else level))
    return deepest


@cache
def functions(path: Path) -> tuple[Function, ...]:
    return tuple(functions_of(tree(path)))


def functions_of(root: Node) -> Iterator[Function]:
    for node in walk(root, "function_definition"):
        head = declarator(node)
        body = node.child_by_field_name("body")
        if not head or not body:
            continue
        yield Function(text_of(head.child_by_field_name("declarator")), node.end_point[0] - node.start_point[0] + 1, depth(body))
