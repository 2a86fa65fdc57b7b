"""What was released: tests/releases names the commit of each version, CHANGELOG.md tells what came with it.

The version that is being made is the first section of CHANGELOG.md and that of configure.ac; every other one has been released."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^## (\d+\.\d+\.\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$", re.MULTILINE)
LINE = re.compile(r"(\d+\.\d+\.\d+) ([0-9a-f]{40})")


def releases() -> dict[str, str]:
    lines = [line for line in (TOP / "tests/releases").read_text().splitlines() if not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), f"lines that are not VERSION COMMIT: {lines}"
    return {match[1]: match[2] for match in found if match}


def version_in(configure: str) -> str:
    found = re.search(r"AC_INIT\(\[harmony-kaas\], \[([^\]]*)\]\)", configure)
    assert found
    return found[1]


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", TOP, *arguments], capture_output=True, text=True, check=False)


def test_the_changelog_tells_of_each_version() -> None:
    sections = SECTION.findall((TOP / "CHANGELOG.md").read_text())
    versions = [version for version, _ in sections]
    assert versions[0] == version_in((TOP / "configure.ac").read_text())
    assert sorted(versions, key=lambda version: [int(part) for part in version.split(".")], reverse=True) == versions
    assert versions[1:] == list(reversed(releases())), "all but the one that is being made are in tests/releases, the oldest first"
    assert not [version for version, date in sections[1:] if date == "unreleased"]


@pytest.mark.parametrize("version", releases())
def test_a_release_can_be_built_from_its_commit(version: str) -> None:
    """In a copy without the history, such as the source package, there is nothing to look at."""
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return
    configure = git("show", f"{releases()[version]}:configure.ac")
    assert configure.returncode == 0, configure.stderr
    assert version_in(configure.stdout) == version
