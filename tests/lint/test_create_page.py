"""docs/admin/create.md tells the administrator what the code does: its tables are held against the code's own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

from csource import TOP

PAGE = (TOP / "docs/admin/create.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_keys_are_those_of_a_document() -> None:
    source = (TOP / "src/model/provision/provider.c").read_text().split("static const struct row rows[] = {")[1].split("};")[0]
    keys = re.findall(r'^    (?:\{|PLACE_ROW\()"([a-z_.]+)",', source, re.M)
    assert re.findall(r"^\| `([a-z_.]+)` \|", section("Providers"), re.M) == keys
    assert len(keys) > 15


def test_the_privileges_are_those_of_the_check_and_of_the_role() -> None:
    table = (TOP / "extension/provision_role.def").read_text()
    rows = re.findall(r'PROVISION_PRIVILEGE\("([^"]+)", (\w+), "([^"]+)"\)', table)
    told = re.findall(r"^\| `([A-Z][\w.]+)` \| (\w+) \| (.+) \|$", section("Privileges"), re.M)
    assert rows
    assert told == [(one, where.lower(), why) for one, where, why in rows]


def test_the_steps_are_those_of_the_check() -> None:
    source = (TOP / "src/provision/provider_check.c").read_text()
    steps = re.findall(r"^\| `(\w+)` \|", section("The check"), re.M)
    assert set(steps) == set(re.findall(r'finding_of(?:_place)?\("(\w+)"', source))
    enum = re.search(r"step: \{type: string, enum: \[(vcenter, place, [^\]]*)\]", (TOP / "docs/openapi.yaml").read_text())
    assert enum
    assert enum[1].split(", ") == steps
