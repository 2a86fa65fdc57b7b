"""The probes of kaasctl pilot and the rows of docs/admin/compatibility.md name one another."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

from csource import TOP

PROBE = re.compile(r'^PROBE\((\w+), "[^"]*", \w+, "([^"]*)"\)$', re.M)
NAMED = re.compile(r"pilot `(\w+)`")


def probes() -> dict[str, str]:
    """Each with how its row begins, "" for none."""
    return dict(PROBE.findall((TOP / "src/pilot/probes.def").read_text()))


def rows() -> list[str]:
    return [line for line in (TOP / "docs/admin/compatibility.md").read_text().splitlines() if line.startswith("| ")]


def test_the_row_of_each_probe_names_it() -> None:
    assert len(probes()) > 40
    for probe, begin in probes().items():
        if begin:
            fits = [row for row in rows() if row.startswith(f"| {begin}")]
            assert len(fits) == 1, f"{probe}: {len(fits)} rows begin with {begin}"
            assert probe in NAMED.findall(fits[0].rsplit(" | ", 1)[1]), f"the row of {probe} does not name it in its last column"


def test_each_probe_that_a_row_names_is_there() -> None:
    named = [probe for row in rows() for probe in NAMED.findall(row)]
    assert sorted(named) == sorted(probe for probe, begin in probes().items() if begin)
