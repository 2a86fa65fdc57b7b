"""Reads how many tests passed and failed from what the test runners write. A skipped test counts as failed:
here every test is meant to run."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Count:
    """Tests that passed, and the names of those that did not."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list, compare=False)  # what failed programs wrote, and what tests warn of
    flaky: list[str] = field(default_factory=list)  # failed first and passed when run again: what tests/FLAKY is to hold

    def add(self, name: str, ok: bool) -> None:
        if ok:
            self.passed += 1
        else:
            self.failed.append(name)

    def __iadd__(self, other: Count) -> Count:
        self.passed += other.passed
        self.failed += other.failed
        self.said += other.said
        self.flaky += other.flaky
        return self


CMOCKA_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.M)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] (?!\d+ test)(?:\w+: )?(\S+)$", re.M)
CMOCKA_NOISE = re.compile(r"^\[( RUN  |       OK)")


def last_lines(text: str, lines: int = 30) -> str:
    return "\n".join("    " + line[:300] for line in text.splitlines()[-lines:])


def of_trs(trs: Path, base: Path) -> Count:
    """One automake test: its .trs tells the verdict; if it is a cmocka program, its .log tells the single tests."""
    count = Count()
    name = str(trs.relative_to(base).with_suffix(""))
    verdicts = re.findall(r"^:test-result: (\w+)", trs.read_text(), re.M)
    log = trs.with_suffix(".log")
    text = log.read_text(errors="replace") if log.exists() else ""
    inner = sum(int(n) for n in CMOCKA_PASSED.findall(text))
    failed = sorted({f"{name}: {test}" for test in CMOCKA_FAILED.findall(text)})
    if verdicts and all(verdict == "PASS" for verdict in verdicts) and not failed:
        count.passed = inner or len(verdicts)
    else:
        # a crash or a sanitizer report ends the program before cmocka names anything
        count.passed = inner
        count.failed = failed or [f"{name}: {verdicts[0] if verdicts else 'no verdict'}"]
        count.said.append(last_lines("\n".join(line for line in text.splitlines() if not CMOCKA_NOISE.match(line))))
    return count


def of_automake(folder: Path, prefix: str) -> Count:
    """All automake tests below folder/prefix."""
    count = Count()
    for trs in sorted((folder / prefix).rglob("*.trs")):
        count += of_trs(trs, folder)
    return count


def said_of(bad: ElementTree.Element) -> str:
    """What was wrong comes first: whoever reads only the beginning of a long report still sees it."""
    message, text = bad.get("message") or "", bad.text or ""
    return "\n".join(f"    {line[:600]}" for line in message.splitlines()[:4]) + "\n" + last_lines(text)


def of_junit(report: Path) -> Count:
    """A pytest report in JUnit form."""
    count = Count()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        bad = [found for kind in ("failure", "error", "skipped") if (found := case.find(kind)) is not None]
        count.add(f"{case.get('classname')}::{case.get('name')}", not bad)
        count.said += [said_of(found) for found in bad[:1]]
        count.said += [f"  warning: {told.get('value')}" for told in case.iter("property") if told.get("name") == "warning"]
    return count


def of_go(output: str) -> Count:
    """The events of `go test -json`; a package that does not build or crashes outside a test counts as one failure."""
    count = Count()
    named: set[str] = set()
    packages: list[str] = []
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        action, package, test = event.get("Action"), event.get("Package", ""), event.get("Test")
        if test and action in ("pass", "fail", "skip"):
            count.add(f"{package}.{test}", action == "pass")
            if action != "pass":
                named.add(package)
        elif not test and action == "fail" and package:
            packages.append(package)
    count.failed += [package for package in packages if package not in named]
    return count


def of_vitest(report: Path) -> Count:
    """The JSON report of vitest; a file that cannot be loaded counts as one failure."""
    count = Count()
    for file in json.loads(report.read_text())["testResults"]:
        cases = file["assertionResults"]
        for case in cases:
            count.add(case["fullName"], case["status"] == "passed")
        if not cases and file["status"] != "passed":
            count.failed.append(file["name"])
    return count


def of_steps(output: str) -> Count:
    """The lines `ok STEP` and `FAILED STEP` of scripts/demo --once."""
    count = Count()
    for line in output.splitlines():
        if line.startswith("ok "):
            count.passed += 1
        elif line.startswith("FAILED "):
            count.failed.append(line)
    return count
