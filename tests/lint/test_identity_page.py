"""What the identity page says is what the service does: its tables, commands and settings are held against the code."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess

from csource import TOP
from env.places import program

PAGE = (TOP / "docs/admin/identity.md").read_text()
README = (TOP / "README.md").read_text()
ROLES = ["admin", "provisioner", "user", "service"]
MASKS = {"ADMIN": ROLES[:1], "WRITERS": ROLES[:2], "PERSONS": ROLES[:3], "ANY": ROLES}


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_roles_may_do_what_the_table_says() -> None:
    rows = re.findall(r'^PERMISSION\(\w+, "([\w.]+)", (\w+)\)', (TOP / "src/model/access/permission.def").read_text(), re.M)
    real = {word: MASKS[mask] for word, mask in rows}
    told = re.findall(r"^\| `([\w.]+)` \| (yes|-) \| (yes|-) \| (yes|-) \| (yes|-) \|", section("Roles"), re.M)
    assert {row[0]: [role for role, may in zip(ROLES, row[1:], strict=True) if may == "yes"] for row in told} == real
    assert len(told) == len(real) > 10


def test_the_masks_are_those_of_the_policy() -> None:
    text = (TOP / "src/model/access/policy.c").read_text()
    defined = dict(re.findall(r"^#define (\w+) (?:\()?((?:\w+ \| )?ROLE_BIT\(ROLE_\w+\))\)?$", text, re.M))
    assert defined == {"ADMIN": "ROLE_BIT(ROLE_ADMIN)", "WRITERS": "ADMIN | ROLE_BIT(ROLE_PROVISIONER)",
                       "PERSONS": "WRITERS | ROLE_BIT(ROLE_USER)", "ANY": "PERSONS | ROLE_BIT(ROLE_SERVICE)"}


def test_every_reason_of_kerberos_has_its_remedy() -> None:
    words = set(re.findall(r'\[GSS_REASON_\w+\] = "(\w+)"', (TOP / "src/gss/gss_accept.c").read_text())) - {"none"}
    assert len(words) > 10
    words |= set(re.findall(r'"(pac_\w+|no_pac)"', (TOP / "src/auth/login/kerberos.c").read_text())) | {"realm"}
    words |= set(re.findall(r'"(no_groups|directory)"', (TOP / "src/api/handlers/auth/h_login.c").read_text()))
    words |= set(re.findall(r'"(account_name)"', (TOP / "src/api/handlers/auth/h_login.c").read_text()))
    told = {word for row in re.findall(r"^\| ([^|]+) \|", section("When it does not work"), re.M) for word in re.findall(r"`(\w+)`", row)}
    assert told == words


def test_every_reason_of_a_peer_has_its_remedy() -> None:
    text = (TOP / "src/hyperflex/peer_sign_in.c").read_text()
    words = set(re.findall(r'fail(?:_with)?\(v, "(\w+)"', text)) | set(re.findall(r'return "([a-z_]+)";', text))
    assert len(words) > 15
    words -= {"stopped"}  # is said of nobody
    rows = re.findall(r"^\| ([^|]+) \|", section("HX controllers that kaasd signs in to"), re.M)
    assert {word for row in rows for word in re.findall(r"`(\w+)`", row)} == words
    contract = re.search(r"enum: \[(no_keytab, .*), null\]", (TOP / "docs/openapi.yaml").read_text())
    assert contract and set(contract[1].split(", ")) == words


def commands_of(text: str) -> list[tuple[str, str, set[str]]]:
    """Each call of kaasctl: group, verb, options."""
    whole = text.replace("\\\n", " ")
    found = re.findall(r"kaasctl ([a-z-]+) ?([a-z-]*)([^\n`#]*)", whole)
    return [(group, verb, set(re.findall(r"--([a-z][a-z-]+)", rest))) for group, verb, rest in found]


def options_of(*words: str) -> set[str] | None:
    """What the program itself says; None: there is no such command."""
    said = subprocess.run([program("kaasctl"), *words, "--help"], capture_output=True, text=True, check=False)
    return set(re.findall(r"^ +--([a-z][a-z-]+)", said.stdout, re.M)) if said.returncode == 0 and "Commands:" not in said.stdout else None


def test_the_commands_and_options_are_real() -> None:
    calls = commands_of(PAGE) + [call for call in commands_of(README) if call[0] in ("ldap", "role-mapping", "kerberos")]
    named: dict[tuple[str, str], set[str]] = {}
    for group, verb, options in calls:
        named.setdefault((group, verb), set()).update(options)
    assert len(named) > 15
    for (group, verb), options in named.items():
        known = options_of(group, verb) if verb else options_of(group)
        assert known is not None, f"kaasctl {group} {verb}"
        assert options <= known, f"kaasctl {group} {verb}: {options - known}"


def test_the_settings_are_real() -> None:
    known = set(re.findall(r'"([a-z_]+(?:\.[a-z_]+)+)"', (TOP / "src/config/options.def").read_text()))
    named = set(re.findall(r"`((?:auth|peers|server|ui)\.[a-z_.]+)[:`]", PAGE))
    assert len(named) > 10
    assert named <= known
