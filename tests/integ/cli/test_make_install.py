"""What `make` and `make install` do about the web page: built if it can be, never left out without a word."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from env.places import TOP, build

NPM = """#!/bin/sh
echo "$*" >>"$0.log"
[ "$1" != run ] || { mkdir -p dist && echo built >dist/index.html; }
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The sources of the page, nothing built."""
    folder = tmp_path / "ui-plugin"
    shutil.copytree(TOP / "ui-plugin", folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    return folder


def make(page: Path, *words: str, npm: bool = True) -> subprocess.CompletedProcess[str]:
    """`make` in the build under test for the sources in `page`; `npm` notes its calls, or is not there."""
    tools = page.parent / "bin"
    shutil.rmtree(tools, ignore_errors=True)
    tools.mkdir()
    for name in ("sh", "sed", "make", "test", "find", "head", "mkdir", "rm", "rmdir", "install", "touch", "cat", "dirname"):
        (tools / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    if npm:
        (tools / "npm").write_text(NPM)
        (tools / "npm").chmod(0o755)
    return subprocess.run(["make", "-C", str(build()), *words, f"page_source={page}", f"DESTDIR={page.parent}/root", "pagedir=/ui"],
                          env={**os.environ, "PATH": str(tools)}, capture_output=True, text=True, check=False, timeout=300)


def calls(page: Path) -> list[str]:
    log = page.parent / "bin/npm.log"
    return log.read_text().splitlines() if log.exists() else []


def installed(page: Path) -> list[str]:
    return sorted(path.name for path in (page.parent / "root/ui").glob("*"))


def test_make_builds_the_page_once(page: Path) -> None:
    made = make(page, "page")
    assert made.returncode == 0, made.stderr
    assert [call.split()[0] for call in calls(page)] == ["ci", "run"]
    make(page, "page")
    assert not calls(page)


def test_make_builds_the_page_anew_when_its_sources_are_newer(page: Path) -> None:
    make(page, "page")
    os.utime(page / "dist/index.html", (0, 0))
    make(page, "page")
    assert [call.split()[0] for call in calls(page)] == ["ci", "run"]


def test_without_npm_the_lack_is_told_and_not_installed(page: Path) -> None:
    made = make(page, "page", npm=False)
    assert made.returncode == 0
    assert "npm was not found" in made.stderr
    refused = make(page, "install-page", npm=False)
    assert refused.returncode != 0
    assert "install Node 18 and npm" in refused.stderr
    assert "PAGEDIR=FOLDER" in refused.stderr
    assert "--without-page" in refused.stderr
    assert not installed(page)


def test_a_page_that_is_there_needs_no_npm(page: Path) -> None:
    make(page, "page")
    os.utime(page / "dist/index.html", (0, 0))
    made = make(page, "page", "install-page", npm=False)
    assert (made.returncode, made.stderr) == (0, "")
    assert installed(page) == ["index.html"]


def test_a_page_of_elsewhere_is_installed(page: Path) -> None:
    other = page.parent / "built"
    other.mkdir()
    (other / "index.html").write_text("other\n")
    made = make(page, "page", "install-page", f"PAGEDIR={other}", npm=False)
    assert (made.returncode, made.stderr) == (0, "")
    assert (page.parent / "root/ui/index.html").read_text() == "other\n"


def test_no_file_of_an_older_page_stays(page: Path) -> None:
    make(page, "page", "install-page")
    (page.parent / "root/ui/index-old.js").touch()
    make(page, "install-page")
    assert installed(page) == ["index.html"]


def test_a_page_that_is_not_wanted_is_neither_built_nor_installed(page: Path) -> None:
    made = make(page, "page", "install-page", "WITH_PAGE=no")
    assert (made.returncode, made.stderr, calls(page), installed(page)) == (0, "", [], [])
