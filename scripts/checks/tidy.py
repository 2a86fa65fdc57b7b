"""clang-tidy over src/. The compile command of each file is asked of make (a dry run in an empty build folder), so that no flag is
told twice; the checks run in the real build folder, where the generated headers are."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import shlex
from concurrent.futures import ThreadPoolExecutor

from . import changed
from .counts import Count
from .run import BUILD, JOBS, TOP, run

SOURCE = re.compile(r"test -f '([^']+\.c)'|-c -o \S+ (\S+\.c)")
WITH_VALUE = ("-iquote", "-include", "-isystem")
# The analyzer at its full depth takes five times as long, and what it finds beyond is what sanitizers and fuzzers are for.
SHALLOW = ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")
# In a landing it follows so many states of a function, in `tidy-all` as many as there are: that takes two fifths of the time, most of it
# for a few long functions.
BOUNDED = ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=4000")


def source_and_flags(command: str) -> tuple[str, list[str]] | None:
    """Source file, relative to the top, and preprocessor flags; None if the command compiles nothing of src/."""
    found = SOURCE.search(command)
    if not found:
        return None
    source = (found.group(1) or found.group(2)).removeprefix(f"{TOP}/")
    if not source.startswith("src/"):
        return None
    flags: list[str] = []
    words = shlex.split(command.split(" -c -o ")[0])
    for word, following in zip(words, words[1:] + [""], strict=True):
        if word in WITH_VALUE:
            flags += [word, following]
        elif word.startswith(("-I", "-D", "-U", "-std=")):
            flags.append(word)
    return source, flags


def compile_commands() -> dict[str, list[str]]:
    folder = BUILD / "tidy"
    folder.mkdir(exist_ok=True)
    dry = run("tidy-commands", "bash", "-ec", f'[ -f Makefile ] || "{TOP}/configure" -q CC=clang-14\nmake -n V=1 all', cwd=folder)
    lines = re.split(r";|&&|\n", dry.output.replace("\\\n", " "))
    found = filter(None, (source_and_flags(line) for line in lines if " -c -o " in line))
    # what a generator wrote lies in the build folder only
    return {source: flags for source, flags in found if (TOP / source).exists()}


def check_one(source: str, flags: list[str], analyzer: tuple[str, ...]) -> tuple[str, bool]:
    result = run("tidy-" + source.replace("/", "-"), "clang-tidy-14", "--quiet", str(TOP / source), "--", *flags, *analyzer, cwd=BUILD)
    findings = [line for line in result.output.splitlines() if re.search(r": (warning|error): ", line)]
    return "\n".join([f"{source}:", *("    " + line for line in findings[:10])]), result.ok


def run_on(commands: dict[str, list[str]], *analyzer: str) -> Count:
    count = Count()
    with ThreadPoolExecutor(int(JOBS)) as pool:
        for name, ok in pool.map(lambda item: check_one(*item, (*SHALLOW, *analyzer)), sorted(commands.items())):
            count.add(name, ok)
    return count


def run_all(*analyzer: str) -> Count:
    commands = compile_commands()
    return run_on(commands, *analyzer) if commands else Count(failed=["make named no compile command"])


def read_by() -> dict[str, set[str]]:
    """For each source file the files it includes, itself among them, as the compiler noted them in the build that users get."""
    found: dict[str, set[str]] = {}
    for note in (BUILD / "src").rglob("*.Po"):
        words = note.read_text().replace("\\\n", " ").split("\n", 1)[0].split()
        names = {os.path.relpath(BUILD / word, TOP) for word in words[1:]}
        for name in names:
            if name.endswith(".c"):
                found.setdefault(name, set()).update(names)
    return found


def run_changed() -> Count:
    """The files that differ from main, or include one that does."""
    known = changed.files()
    if known is None or changed.touches(".clang-tidy", "scripts/checks/tidy.py"):
        return run_all(*BOUNDED)
    reads = read_by()
    return run_on({source: flags for source, flags in compile_commands().items() if reads.get(source, {source}) & known}, *BOUNDED)
