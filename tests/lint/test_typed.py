"""What people are told to type can be typed: options, kaasctl with its own, scripts; in pages, remedies, comments, events, alerts."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from functools import cache

import csource
import pytest
from csource import TOP
from env.places import program

NOT_OURS = re.compile(r"^(tests/(fuzz|fixtures|recipes|path)/|ui-plugin/package|tests/vcenter/.*\.(sum|xml)|wsdl/|COPYING)")
# commands that give up without one of these, whatever else is given
NEEDS = {"vcenter register": ["--user", "--ovf-env", "--dry-run", "--help"]}
# what follows a command and belongs to it: a word, an option, a value; in prose no word of lower case
VALUE = r"""(?:'[^']*'|"[^"]*"|<[^>]*>|[\w%./:*@~-]*[\w%/*])"""
WORD = rf"""(?: +(?:--[a-z][\w-]*(?:[= ]{VALUE})?|-[a-z]\b|'[^'\n]*'|'?(?:%\.?\d*s)+'?|[A-Z][\w:./=-]*\w|[A-Z]+\b|-(?=\s)))"""


def texts() -> dict[str, str]:
    found = {}
    for path in csource.tracked():
        name, data = str(path.relative_to(TOP)), path.read_bytes()
        if not NOT_OURS.match(name) and b"\0" not in data[:8000]:
            found[name] = data.decode(errors="replace")
    return found


def joined(name: str, text: str) -> str:
    """Literals of C that stand behind each other are one text; a manual page loses its markup; a line goes on behind a backslash."""
    if name.endswith((".c", ".h", ".def", ".py")):
        text = re.sub(r'"\s*\n\s*f?"', "", text)
    if re.search(r"\.[158]$", name):
        text = re.sub(r"\\f[BIR]|^\.[A-Z]+ ", "", text, flags=re.M).replace("\\-", "-")
    return re.sub(r"\\\n\s*", "", text)


@cache
def commands() -> dict[str, str]:
    """The commands, and the arguments of each."""
    said = subprocess.run([program("kaasctl"), "--help"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^  ([a-z].*?)(?:  |$)", said.split("Commands:\n")[1].split("\n\n")[0], re.M)
    known = {}
    for row in rows:
        words = re.match(r"((?:[a-z][\w-]* ?)+)(.*)", row)
        assert words
        known[words[1].strip()] = words[2]
    return known


@cache
def options_of(command: str) -> set[str]:
    said = [subprocess.run([program("kaasctl"), *words, "--help"], capture_output=True, text=True, check=True).stdout
            for words in (command.split(), [])]
    return {name for text in said for name in re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.M)} | {"--help", "--version"}


def calls(text: str) -> list[tuple[str, str]]:
    """Command and what is given with it, of each mention of kaasctl that is more than its name."""
    names = sorted(commands(), key=len, reverse=True)
    pattern = re.compile(rf"\bkaasctl((?: --?[a-z][\w-]*(?:[ =][^\s`'\"]+)?)*) ({'|'.join(map(re.escape, names))})(?![\w-])({WORD}*)")
    return [(match[2], f"{match[1]}{match[3]}") for match in pattern.finditer(text)]


def test_options_of_commands_are_known() -> None:
    seen, wrong = 0, []
    for name, text in texts().items():
        for command, given in calls(joined(name, text)):
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", given):
                seen += 1
                if option not in options_of(command):
                    wrong.append(f"{name}: kaasctl {command}{given}: {option}")
    assert seen > 200
    assert not wrong, "kaasctl does not know these options there:\n" + "\n".join(sorted(set(wrong)))


GROUPS_OK = {"and", "is", "to", "on", "in", "of", "or", "with", "for", "does", "the", "from", "itself"}


def test_commands_are_known() -> None:
    """Where a group is followed by a word in code: kaasctl vcenter remove."""
    groups = {name.split()[0] for name in commands() if " " in name}
    read = ("docs/", "src/", "README", "etc/", "debian/", "examples/", "chart/")
    wrong = [f"{name}: kaasctl {group} {verb}" for name, text in texts().items() if name.startswith(read)
             for group, verb in re.findall(rf"\bkaasctl ({'|'.join(groups)}) ([a-z][\w-]+)", joined(name, text))
             if f"{group} {verb}" not in commands() and verb not in GROUPS_OK]
    assert not wrong, "\n".join(sorted(set(wrong)))


def strings_of(name: str) -> list[str]:
    return [text for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined(name, (TOP / name).read_text()))]


def test_remedies_can_be_typed_as_they_are_printed() -> None:
    """Behind a colon stands a command as it is: with its arguments, and with what it does not do without."""
    wrong = []
    for path in csource.tracked("src/**.c", "src/**.def", "src/**.h"):
        name = str(path.relative_to(TOP))
        for text in strings_of(name):
            for match in re.finditer(r"(?:: |^'?)(kaasctl [^;,)]*)", text):
                for command, given in calls(match[1]):
                    words = [word for word in re.sub(r"--[a-z][\w-]*(?:[= ](?![A-Z-]*$)\S+)?", " ", given).split()]
                    needed = len([word for word in commands()[command].split() if not word.startswith("[")])
                    if len(words) < needed and "--help" not in given:
                        wrong.append(f"{name}: {match[1]}: {command} {commands()[command]}")
                    if command in NEEDS and not any(option in given for option in NEEDS[command]):
                        wrong.append(f"{name}: {match[1]}: without {' or '.join(NEEDS[command])}")
    assert not wrong, "\n".join(sorted(set(wrong)))


# of a manifest of vCenter, of the answer of a call, of an example that is not taken in (tests/recipes)
OTHER_NAMES = {"vcenter.server", "clusters.total", "server.idle_timeout"}


def known_names() -> tuple[set[str], set[str]]:
    options = set(re.findall(r'^OPTION\(\w+, \w+, "([\w.]+)"', (TOP / "src/config/options.def").read_text(), re.M))
    others = {name for table in ("audit_actions.def", "permission.def")
              for name in re.findall(r'"([\w.]+)"', (TOP / "src/model/access" / table).read_text())}
    return options, others


def test_options_of_the_configuration_are_known() -> None:
    options, others = known_names()
    sections = sorted({name.partition(".")[0] for name in options if "." in name})
    prefixes = {name[:at] for name in options for at in (i for i, c in enumerate(name) if c == ".")}
    pattern = re.compile(rf"`((?:{'|'.join(sections)})(?:\.[a-z_]+)+)(?::[^`]*)?`")
    comment = re.compile(rf"(?<![\w./$-])((?:{'|'.join(sections)})(?:\.[a-z_]+)+)(?![\w(=/-]|\.\w)")
    files = re.compile(r"\.(crt|key|pem|c|h|py|def|yaml|yml|sock|md|service|example|com|json|ts|password|conf|socket|go|log|sh|"
                       r"html|css|js|toml|txt|timer|target|d|svg)$")
    wrong = []
    for name, text in texts().items():
        if name.startswith(("docs/", "README", "etc/", "chart/", "examples/", "CHANGELOG")):
            named = pattern.findall(text)
        elif name.startswith("src/") and name.endswith((".c", ".h", ".def")):
            named = [word for literal in strings_of(name) for word in comment.findall(literal)]
        else:
            continue
        wrong += [f"{name}: {word}" for word in named if word not in options | others | prefixes | OTHER_NAMES and not files.search(word)]
    assert not wrong, "options.def does not know:\n" + "\n".join(sorted(set(wrong)))


def test_scripts_are_there() -> None:
    named = {(name, script) for name, text in texts().items() if not name.startswith("tests/lint/")
             for script in re.findall(r"(?<![\w/.-])scripts/[\w/.-]*\w", text)}
    gone = sorted(f"{name}: {script}" for name, script in named if not (TOP / script).exists())
    assert len(named) > 50
    assert not gone, "\n".join(gone)


@pytest.mark.parametrize(("text", "command", "given"), [
    ("run: kaasctl service set %s --add-hx-cluster HX", "service set", " %s --add-hx-cluster HX"),
    ("`sudo kaasctl -c F vcenter trust VC`, then", "vcenter trust", " -c F VC"),
    ("kaasctl health tells", "health", ""),
])
def test_the_reader_of_commands_reads(text: str, command: str, given: str) -> None:
    assert calls(text) == [(command, given)]
