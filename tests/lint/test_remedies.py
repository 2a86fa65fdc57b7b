"""What people are told to type can be typed: commands about a vCenter name it, and a registration names an account."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JOINED = re.compile(r'"\s*\n\s*"')
COMMAND = re.compile(r"kaasctl vcenter (register|trust|set-password|rotate-certificate|unregister)\b(?P<rest>[^;,\n]*)")
NAMED = re.compile(r" (?:'?%[.0-9]*s'?|%s%s%s|VCENTER|NAME)")


def told() -> list[tuple[str, str, str]]:
    """Where, which verb, and what follows it, of all texts in the C sources but descriptions of commands and options."""
    found = []
    for path in sorted([*(TOP / "src").rglob("*.c"), *(TOP / "src").rglob("*.def")]):
        if path.name in ("cli_commands.c", "options.def"):
            continue
        for text in LITERAL.findall(JOINED.sub("", path.read_text())):
            found += [(str(path.relative_to(TOP)), m[1], m["rest"]) for m in COMMAND.finditer(text)]
    return found


def test_the_vcenter_is_named() -> None:
    commands = told()
    assert len(commands) > 20, commands
    wrong = [one for one in commands if not NAMED.match(one[2])]
    assert not wrong, wrong


def test_a_registration_names_an_account() -> None:
    wrong = [one for one in told() if one[1] == "register" and not re.search(r"--user (?!NAME)|--ovf-env|VCENTER --user NAME", one[2])]
    assert not wrong, wrong
