"""The actions of the audit log: the list in the code is what the code writes, what the contract takes as a filter, what the page tells."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

import csource
import yaml
from csource import TOP

LISTED = re.findall(r'^AUDIT_ACTION\("([\w.]+)", "([^"]+)"\)', (TOP / "src/model/access/audit_actions.def").read_text(), re.M)
WORDS = [word for word, _ in LISTED]
# A action's word stands behind a member or macro of that name, or is handed to a function that makes the line.
WRITTEN = re.compile(r'(?:\.action = (?:\w+ \? "([\w.]+)" : )?|_ACTION(?:_\w+)? |make_line\(actor, |jobs_order\(jobs, id, )"([\w.]+)"')


def test_what_is_written_is_listed() -> None:
    text = "\n".join(path.read_text() for path in csource.tracked("src/**.c", "src/**.h"))
    written = {word for match in WRITTEN.finditer(text) for word in match.groups() if word}
    assert written == set(WORDS)
    assert len(WORDS) == len(set(WORDS)) > 40


def test_the_contract_lists_them() -> None:
    contract = yaml.safe_load((TOP / "docs/openapi.yaml").read_text())
    (parameter,) = [p for p in contract["paths"]["/v2/audit"]["get"]["parameters"] if p.get("name") == "action"]
    assert parameter["schema"]["enum"] == WORDS


def test_the_page_lists_them() -> None:
    section = (TOP / "docs/admin/audit.md").read_text().split("\n## Actions\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([\w.]+)` \| ([^|]+) \|$", section, re.M) == LISTED
