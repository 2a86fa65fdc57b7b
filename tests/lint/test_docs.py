"""The documents tell the truth: error codes, options and functions that they name are there, and no page is forgotten."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess

import csource
from csource import TOP
from env.contract import contract
from env.places import program


def error_rows() -> dict[str, int]:
    """Slug and status of the codes that leave the daemon; those that src/api/core/problem.c turns into others do not."""
    inner = set(re.findall(r"case ERR_(\w+):", (TOP / "src/api/core/problem.c").read_text()))
    rows = re.findall(r"^ERR\((\w+), (\w+), (\d+),", (TOP / "src/base/core/err_codes.def").read_text(), re.M)
    return {slug: int(status) for symbol, slug, status in rows if symbol not in inner}


def test_every_error_code_is_in_the_contract() -> None:
    listed = set(contract().document["components"]["schemas"]["ErrorCode"]["enum"])
    assert listed == set(error_rows())


def test_error_codes_have_the_status_of_the_contract() -> None:
    text = contract().document["components"]["schemas"]["ErrorCode"]["description"]
    table = {slug: int(status) for slug, status in re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.M)}
    assert table == error_rows()


DESIGN = [TOP / "docs/ARCHITECTURE.md", *sorted((TOP / "docs/design").glob("*.md"))]


def test_the_architecture_is_read_in_ten_minutes() -> None:
    text = DESIGN[0].read_text()
    assert text.count("\n") <= 250
    assert len(text.split()) <= 2500


def test_the_example_is_as_short_as_it_is_said_to_be() -> None:
    assert "in less than 200 lines" in (TOP / "docs/hx-integration.md").read_text()
    assert (TOP / "examples/hx-client/hx_client.py").read_text().count("\n") < 200


def test_the_architecture_names_no_function_that_is_gone() -> None:
    defined = {f"{path.name}:{function.name}" for path in csource.tracked("src/**.c") for function in csource.functions(path)}
    named = {step for page in DESIGN for step in re.findall(r"`(\w+\.c:\w+)`", page.read_text())}
    assert len(named) > 60
    assert not named - defined, "no such function there any more: " + ", ".join(sorted(named - defined))


def test_the_files_to_touch_are_there() -> None:
    recipes = (TOP / "docs/CONTRIBUTING.md").read_text().split("\n## How to add\n")[1].split("\n## ")[0]
    named = {name for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", recipes) if not re.search(r"NNNN|NOUN", name)}
    built = {"build/src/daemon/kaasd"}
    assert len(named) > 40
    assert not (gone := sorted(name for name in named - built if not (TOP / name).exists())), f"no such file any more: {gone}"


def test_every_page_that_is_named_is_there() -> None:
    page = re.compile(r"\bdocs/[\w/-]+\.(?:md|yaml)\b(?!\.)")
    named = {(path, name) for path in csource.tracked() for name in page.findall(path.read_text(errors="replace"))}
    gone = sorted(f"{path.relative_to(TOP)}: {name}" for path, name in named if not (TOP / name).exists())
    assert not gone, "no such page:\n" + "\n".join(gone)


def test_the_readme_lists_every_page() -> None:
    listed = re.findall(r"`([\w/.-]+)`", (TOP / "README.md").read_text().split("\n## Read on\n")[1])
    pages = {str(path.relative_to(TOP)) for path in csource.tracked("docs/*", "*.md") if path.suffix not in (".svg", ".mk")} - {"README.md"}
    assert sorted(set(listed) - {"COPYING"}) == sorted(pages)


def test_the_reference_of_options_is_that_of_the_program() -> None:
    said = subprocess.run([program("kaasd"), "--print-reference"], capture_output=True, text=True, check=True).stdout
    written = (TOP / "docs/admin/configuration.md").read_text()
    assert written == said, "make it again: build/src/daemon/kaasd --print-reference > docs/admin/configuration.md"


def test_the_manual_page_has_the_exit_statuses() -> None:
    table = re.findall(r'^EXIT_STATUS\(\w+, (\d+), "([^"]+)"\)$', (TOP / "src/cli/core/exit_status.def").read_text(), re.M)
    section = (TOP / "docs/man/kaasctl.1").read_text().split("\n.SH EXIT STATUS\n")[1].split("\n.SH ")[0]
    assert re.findall(r"^\.B (\d+)\n(.*)$", section, re.M) == table
    said = subprocess.run([program("kaasctl"), "--help"], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  (\d)  (.*)$", said.split("\nExit status:\n")[1], re.M) == table


def test_pages_of_tables_are_made_of_them() -> None:
    said = subprocess.run([TOP / "scripts/tables", "--check"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
