"""What people are told to type can be typed: commands about one thing name it, and a registration names an account."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

import csource
from csource import TOP

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JOINED = re.compile(r'"\s*(?:\\\n\s*)?\n?\s*"')
PAGE = re.compile(r'DOC_PAGE\(\s*("[^"]*")\s*\)')
TABLE = re.findall(r'\{"([a-z-]+)", (?:NULL|"([a-z-]+)"), "([^"]*)"', (TOP / "src/cli/commands/cli_commands.c").read_text())
# commands with an argument that is needed, and those whose remedies are about one vCenter though they do without
OF_ONE = {f"{group} {verb}" if verb else group for group, verb, arguments in TABLE if arguments[:1].isupper()} | {
    "vcenter register", "doctor --vcenter"}
COMMAND = re.compile(rf"kaasctl ({'|'.join(sorted(OF_ONE, key=len, reverse=True))})(?![\w-])(?P<rest>[^;,\n]*)")
NAMED = re.compile(r" %[.0-9]*s\b")
# where it is not there yet, or nobody knows which one is meant: file, command, place-holder
OPEN = {
    ("src/auth/accounts/access.c", "ldap set", "NAME"),
    ("src/auth/login/kerberos.c", "ldap set", "NAME"),
    ("src/auth/ldapdir/ldapdir_login.c", "ldap set", "NAME"),
    ("src/cli/commands/cmd_access.c", "vcenter clusters", "VCENTER"),
    ("src/cli/commands/cmd_cluster.c", "vcenter add", "ADDRESS"),
    ("src/cli/commands/cmd_doctor.c", "doctor --vcenter", "VCENTER"),
    ("src/cli/commands/cmd_vcenter_register.c", "vcenter register", "VCENTER"),
    ("src/cli/commands/cmd_vcenter_status.c", "vcenter add", "ADDRESS"),
    ("src/config/ovf_env.c", "vcenter register", "VCENTER"),
    ("src/inventory/query.c", "hx connect", "HX"),
    ("src/inventory/resolve.c", "vcenter add", "ADDRESS"),
    ("src/pilot/pilot_hx.c", "hx publish", "HX"),
    ("src/pilot/pilot_inventory.c", "hx connect", "HX"),
    ("src/setup/backup/backup_health.c", "backup", "FOLDER"),
    ("src/setup/first/setup_files.c", "key remove-master", "KEY"),
    ("src/vcenter/extension/ovf_install.c", "vcenter register", "VCENTER"),
    ("src/vcenter/link/vc_faults.def", "cluster set", "CLUSTER"),
}


def told() -> list[tuple[str, str, str]]:
    """Where, which command, and what follows it, of all texts in the C sources but descriptions of commands, options and events."""
    found = []
    for path in csource.tracked("src/**.c", "src/**.def"):
        if path.name in ("cli_commands.c", "options.def", "events.def"):
            continue
        for text in LITERAL.findall(JOINED.sub("", PAGE.sub(r"\1", path.read_text()))):
            found += [(str(path.relative_to(TOP)), m[1], m["rest"]) for m in COMMAND.finditer(text)]
    return found


def test_the_thing_is_named() -> None:
    """By its name or id: never by a word that people have to replace, and never between apostrophes, which a name may have itself."""
    commands = told()
    assert len(commands) > 60 and len({command for _, command, _ in commands}) > 20, commands
    open_ones = {(where, command, rest.strip().split(" ")[0].strip("'):")) for where, command, rest in commands if not NAMED.match(rest)}
    assert not open_ones - OPEN, sorted(open_ones - OPEN)
    assert not OPEN - open_ones, "no such text any more"


def test_a_registration_names_an_account() -> None:
    wrong = [one for one in told() if one[1] == "vcenter register" and
             not re.search(r"--user (?!NAME)|--ovf-env|VCENTER --user NAME", one[2])]
    assert not wrong, wrong


def test_alerts_name_the_vcenter_by_its_label() -> None:
    rules = (TOP / "etc/prometheus/kaas-alerts.yaml").read_text()
    named = [(m[1], m["rest"]) for m in re.finditer(COMMAND.pattern.replace("[^;,\\n]", "[^;,`\\n]"), rules)]
    wrong = [one for one in named if not one[1].startswith(" {{ $labels.") and one[0] != "backup"]
    assert len(named) > 5 and not wrong, wrong
