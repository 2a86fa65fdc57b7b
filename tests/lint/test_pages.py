"""The pages as they are installed: what they, messages, units, samples and alerts name is there, sections included."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import csource
import pytest
from csource import TOP
from env.places import USERS_BUILD

PAGE = re.compile(r"\bdocs/[\w/-]+\.(?:md|yaml)\b")
# texts that are read by programs, of which pages are made (scripts/tables, kaasd --print-reference)
MADE_PAGES = {"src/config/options.def", "src/daemon/events.def"}
SENT_OUT = ("etc/kaasd.service.in", "etc/kaas-backup.service.in", "etc/kaas-backup.timer", "etc/appliance/*", "etc/bash-completion/*",
            "debian/*")


@cache
def docdir() -> str:
    values = dict(re.findall(r"^(prefix|datarootdir|docdir) = (.*)$", (USERS_BUILD / "Makefile").read_text(), re.M))
    path = values["docdir"]
    while "${" in path:
        path = re.sub(r"\$\{(\w+)\}", lambda m: values[m[1]], path)
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, as `make install DESTDIR=FOLDER` makes it."""
    to = tmp_path_factory.mktemp("installed")
    made = subprocess.run(["make", "-C", USERS_BUILD, "install-docs", f"DESTDIR={to}"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return to / docdir().lstrip("/")


def strings(path: Path) -> list[str]:
    return [csource.text_of(node) for node in csource.walk(csource.tree(path), "string_literal")]


def test_what_installed_pages_name_is_installed(pages: Path) -> None:
    files = [path for path in pages.rglob("*") if path.is_file()]
    named = {(path.relative_to(pages), name) for path in files for name in re.findall(rf"{docdir()}/([\w./-]*\w)", path.read_text())}
    gone = sorted(f"{path}: {name}" for path, name in named if not (pages / name).exists())
    assert len({name for _, name in named}) > 20
    assert not gone, "named in an installed page, and not installed (docs/local.mk):\n" + "\n".join(gone)


def test_no_installed_page_names_one_of_the_source_tree(pages: Path) -> None:
    """But for the contracts, which are the same bytes that kaasd hands out."""
    wrong = sorted(f"{path.relative_to(pages)}: {name}" for path in pages.rglob("*") if path.is_file() and path.suffix != ".yaml"
                   for name in re.findall(r"(?<![\w./-])docs/[\w./-]+", path.read_text()))
    assert not wrong, "\n".join(wrong)


def test_messages_name_installed_pages() -> None:
    """By DOC_PAGE (src/base/core/err.h); nobody who installed the packages has a folder docs."""
    sources = [path for path in csource.tracked("src/**.c", "src/**.h", "src/**.def") if str(path.relative_to(TOP)) not in MADE_PAGES]
    wrong = [f"{path.relative_to(TOP)}: {text}" for path in sources for text in strings(path) if PAGE.search(text)]
    wrong += [f"{path.relative_to(TOP)}: {name}" for path in csource.tracked(*SENT_OUT) for name in PAGE.findall(path.read_text())]
    assert not wrong, "\n".join(wrong)


def test_pages_and_sections_of_messages_are_there(pages: Path) -> None:
    texts = {path: path.read_text() for path in csource.tracked("src/**.c", "src/**.h")}
    named = [(path, page) for path, text in texts.items() for page in re.findall(r'DOC_PAGE\(\s*"([^"]+)"\)', text)]
    named += [(path, page) for path in csource.tracked("debian/*")
              for page in re.findall(r"/usr/share/doc/kaas/([\w./-]*\w)", path.read_text()) if Path(page).suffix]
    assert len(named) > 20
    assert not (gone := [f"{path.relative_to(TOP)}: {page}" for path, page in named if not (pages / page).exists()]), gone
    for path, text in texts.items():
        for page, title in re.findall(r'DOC_PAGE\(\s*"([^"]+)"\)\s*"[^"]*?, \\"([^\\"]+)\\"', text):
            assert re.search(rf"^#+ {re.escape(title)}$", (pages / page).read_text(), re.M), f"{path.name}: {page} has no section {title!r}"
