"""The documents tell the truth: error codes, options and files are all in them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess

import csource
from csource import TOP
from world.contract import contract
from world.places import program


def error_rows() -> dict[str, int]:
    """Slug and status of the codes that leave the daemon; those that src/api/problem.c turns into others do not."""
    inner = set(re.findall(r"case ERR_(\w+):", (TOP / "src/api/problem.c").read_text()))
    rows = re.findall(r"^ERR\((\w+), (\w+), (\d+),", (TOP / "src/base/err_codes.def").read_text(), re.M)
    return {slug: int(status) for symbol, slug, status in rows if symbol not in inner}


def test_every_error_code_is_in_the_contract() -> None:
    listed = set(contract().document["components"]["schemas"]["ErrorCode"]["enum"])
    assert listed == set(error_rows())


def test_error_codes_have_the_status_of_the_contract() -> None:
    text = contract().document["components"]["schemas"]["ErrorCode"]["description"]
    table = {slug: int(status) for slug, status in re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.M)}
    assert table == error_rows()


def test_every_source_has_its_line_in_the_architecture() -> None:
    text = (TOP / "docs/ARCHITECTURE.md").read_text()
    files = csource.tracked("src/**.c", "src/**.h", "src/**.def", "wsdl/**.wsdl", "wsdl/**.xsd", "wsdl/**.dat", "sql/**.sql")
    missing = [str(path.relative_to(TOP)) for path in files if not re.search(rf"(?<![\w.-]){re.escape(path.name)}(?![\w-])", text)]
    assert not missing, "give each a line:\n" + "\n".join(missing)


def test_the_architecture_names_no_file_that_is_gone() -> None:
    text = (TOP / "docs/ARCHITECTURE.md").read_text()
    present = {path.name for path in csource.tracked()}
    gone = sorted({name for name in re.findall(r"`([\w-]+\.(?:c|h|def|sql|wsdl|xsd))`", text) if name not in present})
    assert not gone, f"no such file any more: {gone}"


def test_the_reference_of_options_is_that_of_the_program() -> None:
    said = subprocess.run([program("kaasd"), "--print-reference"], capture_output=True, text=True, check=True).stdout
    written = (TOP / "docs/admin/configuration.md").read_text()
    assert written == said, "make it again: build/src/main/kaasd --print-reference > docs/admin/configuration.md"
