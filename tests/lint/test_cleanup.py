"""A local with a cleanup attribute is cleaned up on every return, so it must hold something defined before the first one."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

import csource
import pytest
from csource import TOP

BARE = re.compile(r"_cleanup_\w+_?\s+(?:const\s+)?(?:struct\s+)?\w+\s*\**\s*(\w+)\s*;|\b\w+\s+\**(\w+)\s+_cleanup_\w+_?\s*;")


def undefined_cleanups(path: Path) -> list[str]:
    """Locals declared without a value where a return comes before their address or name is used."""
    text = re.sub(r"/\*.*?\*/", lambda m: " " * len(m.group()), path.read_text(), flags=re.S)
    found = []
    for match in BARE.finditer(text):
        name = match.group(1) or match.group(2)
        use = re.search(rf"&{name}\b|\b{name}\s*=[^=]", text[match.end():])
        before = text[match.end():match.end() + use.start()] if use else text[match.end():match.end() + 2000]
        if re.search(r"\b(return|goto)\b", before):
            found.append(f"{path.relative_to(TOP)}:{text.count(chr(10), 0, match.start()) + 1}: {name}")
    return found


def test_what_is_cleaned_up_is_defined() -> None:
    found = [line for path in csource.tracked("src/**.c") for line in undefined_cleanups(path)]
    assert not found, "give these a value, or declare them after the return:\n" + "\n".join(found)


@pytest.mark.parametrize(("body", "count"), [
    ("_cleanup_strbuf_ struct strbuf s;\n strbuf_init(&s, 10);\n return 0;", 0),
    ("_cleanup_strbuf_ struct strbuf s;\n if (a)\n  return 1;\n strbuf_init(&s, 10);", 1),
    ("_cleanup_free_ char *s = NULL;\n if (a)\n  return 1;", 0),
    ("_cleanup_free_ char *s;\n if (a)\n  return 1;\n s = f();", 1),
    ("int fd _cleanup_close_;\n if (a)\n  return 1;", 1),
])
def test_the_rule_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, count: int) -> None:
    monkeypatch.setattr("test_cleanup.TOP", tmp_path)
    source = tmp_path / "c.c"
    source.write_text(f"int f(int a) {{\n {body}\n}}\n")
    assert len(undefined_cleanups(source)) == count
