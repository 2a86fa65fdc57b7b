"""A landing leaves out `browser` and `kube` if nothing differs that their tests load: their parts in scripts/checks/suites.py name all of
that."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from checks.suites import SUITES
from env.places import TOP

TESTS = TOP / "tests"
SERVED = re.compile(r'TOP / "([^"]+)"')


def module(base: Path, name: str) -> set[Path]:
    """Of a dotted name below a folder, and the packages that it is in."""
    words = name.split(".")
    found = {base.joinpath(*words[:end]) / "__init__.py" for end in range(1, len(words) + 1)}
    return {path for path in {*found, base.joinpath(*words).with_suffix(".py")} if path.exists()}


def imported(path: Path, tests: Path) -> set[Path]:
    """Modules of ours that one names in its imports; those of the tests lie beside them."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names, bases = [alias.name for alias in node.names], [tests, TESTS]
        elif isinstance(node, ast.ImportFrom):
            first = f"{node.module}." if node.module else ""
            names = [first + alias.name for alias in node.names] + ([node.module] if node.module else [])
            bases = [path.parents[node.level - 1]] if node.level else [tests, TESTS]
        else:
            continue
        for base in bases:
            for name in names:
                found |= module(base, name)
    return found


def loaded(tests: Path) -> set[Path]:
    found = {*tests.glob("*.py"), TESTS / "conftest.py"}
    new = found
    while new:
        new = {path for module in new for path in imported(module, tests)} - found
        found |= new
    return found


@pytest.mark.parametrize(("suite", "folder", "example"), [
    ("browser", "ui", "hx/host_page.py"), ("browser", "ui", "env/wait.py"), ("kube", "kube", "env/client_certs.py")])
def test_what_tests_load_belongs_to_the_parts_of_their_suite(suite: str, folder: str, example: str) -> None:
    parts = next(one.parts for one in SUITES if one.name == suite)
    modules = loaded(TESTS / folder)
    assert TESTS / example in modules
    names = {str(path.relative_to(TOP)) for path in modules}
    names |= {name for path in modules for name in SERVED.findall(path.read_text()) if (TOP / name).is_file()}
    assert sorted(name for name in names | {"pytest.ini"} if not name.startswith(parts)) == []
