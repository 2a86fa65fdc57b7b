"""docs/admin/vcenter.md tells the vSphere administrator what the code does: its tables are held against the code's own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

from csource import TOP

PAGE = (TOP / "docs/admin/vcenter.md").read_text()
ROLE = re.findall(r'ROLE_PRIVILEGE\("([^"]+)", \w+, "([^"]+)"\)', (TOP / "extension/role.def").read_text())


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_privileges_are_those_of_the_role() -> None:
    assert re.findall(r"^\| `([A-Z][\w.]+)` \| (.+) \|$", section("Privileges"), re.M) == ROLE


def test_the_faults_are_those_of_the_code_and_of_the_contract() -> None:
    table = (TOP / "src/vcenter/link/vc_faults.def").read_text()
    rows = re.findall(r'^VC_FAULT\(\w+, "(\w+)", (\w+), "([^"]+)",\s+"([^"]+)"\)$', table, re.M)
    told = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \| (.+) \|$", section("Verdicts"), re.M)
    assert told == [(word, kind.lower(), text, remedy.replace("%s", "VCENTER")) for word, kind, text, remedy in rows]
    enum = re.search(r"enum: \[(name_unresolved[^\]]*), null\]", (TOP / "docs/openapi.yaml").read_text())
    assert enum
    assert enum[1].split(", ") == [word for word, *_ in rows]


def test_every_login_way_is_told() -> None:
    names = re.findall(r'\[VIM_STRATEGY_\w+\] = "(\w+)"', "".join(path.read_text() for path in (TOP / "src/vim").rglob("*.c")))
    assert names
    assert re.findall(r"^\| `(\w+)` \|", section("Login ways"), re.M) == names


def test_the_commands_and_options_are_real() -> None:
    commands = (TOP / "src/cli/commands/cli_commands.c").read_text()
    known = {(group, verb) for group, verb in re.findall(r'\{"(\w+)", "([\w-]+)", "', commands)}
    for group, verb in re.findall(r"kaasctl\s+(vcenter)\s+([a-z-]+)", PAGE):
        assert (group, verb) in known, f"kaasctl {group} {verb}"
    options = set(re.findall(r'\{"([\w-]+)",', commands))
    assert {option for option in re.findall(r"`[^`]*?--([a-z][a-z-]+)[^`]*`", PAGE)} <= options


def test_the_settings_are_real() -> None:
    known = set(re.findall(r'"([a-z_]+(?:\.[a-z_]+)+)"', (TOP / "src/config/options.def").read_text()))
    named = set(re.findall(r"`((?:auth|server|vcenter)\.[a-z_.]+)`", PAGE))
    assert named
    assert named <= known


def test_the_steps_of_the_doctor_are_real() -> None:
    """docs/admin/compatibility.md names the step that settles an assumption."""
    rows = [line for line in (TOP / "docs/admin/compatibility.md").read_text().splitlines() if line.startswith("|")]
    told = {word for row in rows for words in re.findall(r"doctor ((?:`\w+`[^`;|]*?,? ?(?:and )?)+)", row.split("|")[-2])
            for word in re.findall(r"`(\w+)`", words)}
    real = set(re.findall(r'\[DOCTOR_\w+\] = \{"(\w+)"', (TOP / "src/vcenter/doctor/doctor.c").read_text()))
    assert len(told) > 8
    assert told <= real
