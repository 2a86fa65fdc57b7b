"""The sums of scripts/check: what the runners write is counted, and nothing that failed is lost."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from pathlib import Path

import pytest
from checks import counts, suites
from checks.run import Result
from checks.suites import judged


def trs(folder: Path, verdict: str, log: str) -> counts.Count:
    (folder / "t.trs").write_text(f":test-result: {verdict}\n:recheck: no\n")
    (folder / "t.log").write_text(log)
    return counts.of_trs(folder / "t.trs", folder)


def test_a_plain_script_counts_once(tmp_path: Path) -> None:
    assert trs(tmp_path, "PASS", "fine\n") == counts.Count(1, [])
    assert trs(tmp_path, "FAIL", "bad\n") == counts.Count(0, ["t: FAIL"])
    assert trs(tmp_path, "SKIP", "").failed == ["t: SKIP"]


def test_cmocka_tests_are_counted_one_by_one(tmp_path: Path) -> None:
    good = "[       OK ] a\n[       OK ] b\n[==========] tests: 2 test(s) run.\n[  PASSED  ] 2 test(s).\n"
    assert trs(tmp_path, "PASS", good) == counts.Count(2, [])
    bad = "[  FAILED  ] b\n[  PASSED  ] 1 test(s).\n[  FAILED  ] tests: 1 test(s), listed below:\n[  FAILED  ] b\n"
    assert trs(tmp_path, "FAIL", bad) == counts.Count(1, ["t: b"])


def test_a_crash_after_all_tests_is_a_failure(tmp_path: Path) -> None:
    assert trs(tmp_path, "FAIL", "[  PASSED  ] 2 test(s).\nLeakSanitizer: leaks\n") == counts.Count(2, ["t: FAIL"])


def test_junit(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_text('<testsuites><testsuite><testcase classname="m" name="a"/><testcase classname="m" name="b"><failure/></testcase>'
                      '<testcase classname="m" name="c"><skipped/></testcase></testsuite></testsuites>')
    assert counts.of_junit(report) == counts.Count(1, ["m::b", "m::c"])


def test_warnings_of_tests_that_passed_are_told(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_text('<testsuites><testsuite><testcase classname="m" name="a"><properties><property name="warning" value="a.c is long"/>'
                      '<property name="other" value="x"/></properties></testcase></testsuite></testsuites>')
    count = counts.of_junit(report)
    assert (count.passed, count.said) == (1, ["  warning: a.c is long"])


def test_go_events() -> None:
    events = [{"Action": "pass", "Package": "p", "Test": "A"}, {"Action": "fail", "Package": "p", "Test": "B"},
              {"Action": "fail", "Package": "p"}, {"Action": "fail", "Package": "broken"}, {"Action": "pass", "Package": "q"}]
    text = "\n".join(["# build output", *map(json.dumps, events)])
    assert counts.of_go(text) == counts.Count(1, ["p.B", "broken"])


def test_vitest(tmp_path: Path) -> None:
    report = tmp_path / "v.json"
    report.write_text(json.dumps({"testResults": [
        {"name": "a.ts", "status": "failed",
         "assertionResults": [{"fullName": "x", "status": "passed"}, {"fullName": "y", "status": "failed"}]},
        {"name": "broken.ts", "status": "failed", "assertionResults": []}]}))
    assert counts.of_vitest(report) == counts.Count(1, ["y", "broken.ts"])


def test_steps() -> None:
    assert counts.of_steps("set-up:\nok world\nFAILED login: 401\n") == counts.Count(1, ["FAILED login: 401"])


def test_nothing_found_is_a_failure() -> None:
    assert judged(counts.Count()).failed == ["no tests were found"]


def test_no_tests_at_all_are_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, log = tmp_path / "r.xml", tmp_path / "log"
    report.write_text("<testsuites><testsuite/></testsuites>")
    log.write_text("no tests ran")
    monkeypatch.setattr(suites, "pytest_once", lambda *_, **__: (report, Result(5, log)))
    (found,) = suites.pytest("x", "integ", choice=("-m", "a word that no test has")).failed
    assert "no tests ran" in found


def test_a_report_of_a_program_that_was_to_fail_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit program starts another, expects it to fail, and is content: the report of that one is in the folder all the same."""
    monkeypatch.setattr(suites, "LOGS", tmp_path)

    def make(*_: object, env: dict[str, str], **__: object) -> Result:
        (tmp_path / "t.trs").write_text(":test-result: PASS\n")
        folder = env["ASAN_OPTIONS"].rpartition("log_path=")[2]
        Path(f"{folder}.4711").write_text("==4711==ERROR: AddressSanitizer: heap-use-after-free\n")
        return Result(0, tmp_path / "log")

    monkeypatch.setattr(suites, "run", make)
    count = suites.make_check("unit", tmp_path, "check-units", "")
    assert count.passed == 1
    assert "heap-use-after-free" in count.failed[0]
