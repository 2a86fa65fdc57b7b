"""A page of the documentation with commands and what they print, run as it stands: each command in a shell on a terminal, by whom a person
would answer its questions, and what it prints compared line by line."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .terminal import Terminal

INDENT = "    "
PROMPT = f"{INDENT}$ "
ERASED = re.compile(r".*\x1b\[K")  # a line of progress that the next one took the place of
ANY = "..."  # within a line any text, alone on it any lines


@dataclass
class Step:
    line: int
    command: str
    expected: list[str] = field(default_factory=list)


def steps_of(page: Path) -> list[Step]:
    """An indented line that begins with `$` is a command, goes on behind a backslash, and the indented lines below are what it prints."""
    steps: list[Step] = []
    is_open = goes_on = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if goes_on:
            steps[-1].command += "\n" + line.strip()
        elif line.startswith(PROMPT):
            steps.append(Step(number, line.removeprefix(PROMPT)))
            is_open = True
        elif is_open and line.startswith(INDENT):
            steps[-1].expected.append(line.strip())
        else:
            is_open = is_open and not line  # a blank line may stand within what is printed
        goes_on = bool(steps) and is_open and steps[-1].command.endswith("\\")
    return steps


def squeezed(text: str) -> list[str]:
    """Lines as they stand in the end, without what depends on the width of columns."""
    return [" ".join(ERASED.sub("", line).split()) for line in text.split("\n") if line.strip()]


def fits(expected: list[str], printed: str) -> bool:
    lines = [r"(?:[^\n]*\n)*" if line == ANY else re.escape(line).replace(re.escape(ANY), r"[^\n]*") + r"\n"
             for line in squeezed("\n".join(expected))]
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in squeezed(printed))) is not None


class Shell:
    """Runs commands of a page. `names`: what the page calls something, and what it is here; both ways, longest first. `answers`: the end of
    a question, and what is typed. `programs`: a name and what is run in its place."""

    def __init__(self, folder: Path, names: dict[str, str], answers: dict[str, str], programs: dict[str, str]) -> None:
        self._names = dict(sorted(names.items(), key=lambda pair: -len(pair[0])))
        self._answers = answers
        self._folder = folder
        (folder / "bin").mkdir()
        for name, text in programs.items():
            path = folder / "bin" / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, command: str) -> tuple[int, str]:
        """Exit status, and what was printed, in the words of the page."""
        for ours, here in self._names.items():
            command = command.replace(ours, here)
        path = f"{self._folder / 'bin'}:{os.environ['PATH']}"
        with Terminal(["env", f"PATH={path}", "bash", "-c", f"cd {self._folder}; {command}"], columns=400) as terminal:
            status = terminal.end(lambda screen: self._answer(terminal))
            printed = terminal.screen
        for ours, here in self._names.items():
            printed = printed.replace(here, ours)
        return status, printed

    def _answer(self, terminal: Terminal) -> str | None:
        found = next((one for one in self._answers.items() if terminal.screen.endswith(one[0])), None)
        if found and "assword" in found[0]:
            terminal.wait_for_silence()
        return found and found[1]


def play(page: Path, shell: Shell, seen: Callable[[Step, str], None] = lambda step, printed: None) -> int:
    """Runs all commands in their order; the number of them."""
    steps = steps_of(page)
    for step in steps:
        status, printed = shell.run(step.command)
        seen(step, printed)
        where = f"{page.name}:{step.line}: $ {step.command}"
        assert status == 0, f"{where}\nends with {status}:\n{printed}"
        assert fits(step.expected, printed), f"{where}\nprints\n{printed}\nand not\n" + "\n".join(step.expected)
    return len(steps)
