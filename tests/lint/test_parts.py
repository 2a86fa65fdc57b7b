"""A landing leaves out `browser` if nothing differs that its tests load: its parts in scripts/checks/suites.py name all of that."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import re
from pathlib import Path

from checks.suites import SUITES
from env.places import TOP

TESTS = TOP / "tests"
UI = TESTS / "ui"
BROWSER = next(suite for suite in SUITES if suite.name == "browser")
SERVED = re.compile(r'TOP / "([^"]+)"')


def module(base: Path, name: str) -> set[Path]:
    """Of a dotted name below a folder, and the packages that it is in."""
    words = name.split(".")
    found = {base.joinpath(*words[:end]) / "__init__.py" for end in range(1, len(words) + 1)}
    return {path for path in {*found, base.joinpath(*words).with_suffix(".py")} if path.exists()}


def imported(path: Path) -> set[Path]:
    """Modules of ours that one names in its imports."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names, bases = [alias.name for alias in node.names], [UI, TESTS]
        elif isinstance(node, ast.ImportFrom):
            first = f"{node.module}." if node.module else ""
            names = [first + alias.name for alias in node.names] + ([node.module] if node.module else [])
            bases = [path.parents[node.level - 1]] if node.level else [UI, TESTS]
        else:
            continue
        for base in bases:
            for name in names:
                found |= module(base, name)
    return found


def loaded() -> set[Path]:
    found = {*UI.glob("*.py"), TESTS / "conftest.py"}
    new = found
    while new:
        new = {path for module in new for path in imported(module)} - found
        found |= new
    return found


def test_what_the_browser_tests_load_belongs_to_their_parts() -> None:
    modules = loaded()
    assert TESTS / "hx/host_page.py" in modules and TESTS / "env/wait.py" in modules
    names = {str(path.relative_to(TOP)) for path in modules}
    names |= {name for path in modules for name in SERVED.findall(path.read_text()) if (TOP / name).is_file()}
    assert sorted(name for name in names | {"pytest.ini"} if not name.startswith(BROWSER.parts)) == []
