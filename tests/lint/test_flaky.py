"""tests/FLAKY stays short and young, and a second look is given to what deserves one only."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from checks import again

SEEN_MAX = 2
ENTRIES_MAX = 10


def problems(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [f"not an entry: {line}" for line in lines if not again.ENTRY.fullmatch(line)]
    entries = [match for line in lines if (match := again.ENTRY.fullmatch(line))]
    found += [f"seen {one['count']} times, name its cause and mend it: {one['name']}" for one in entries if int(one["count"]) > SEEN_MAX]
    names = [entry["name"] for entry in entries]
    found += [f"twice: {name}" for name in sorted(set(names)) if names.count(name) > 1]
    return found + ([f"{len(entries)} entries, {ENTRIES_MAX} at most"] if len(entries) > ENTRIES_MAX else [])


def test_the_list() -> None:
    assert not problems(again.LIST.read_text())


def test_what_the_list_must_not_hold() -> None:
    entry = "{} 2026-11-01 2026-11-20 tests.integ.test_a::test_{} | AssertionError: no"
    assert problems(entry.format(2, "b")) == []
    assert "seen 3 times" in problems(entry.format(3, "b"))[0]
    assert problems("\n".join(entry.format(1, n) for n in range(11))) == ["11 entries, 10 at most"]
    assert problems(f"{entry.format(1, 'b')}\n{entry.format(1, 'b')}") == ["twice: tests.integ.test_a::test_b"]
    assert "not an entry" in problems("tests.integ.test_a::test_b fails at times")[0]


CASE = '<testcase classname="tests.lint.{file}" name="{name}">{properties}<failure message="{message}">in detail</failure></testcase>'


def report(folder: Path, *cases: str) -> Path:
    path = folder / "r.xml"
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def case(message: str = "AssertionError: no", *, file: str = "test_flaky", name: str = "test_x", properties: str = "") -> str:
    return CASE.format(file=file, name=name, message=message, properties=properties)


@pytest.fixture(autouse=True)
def two_files_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "_left", again.FILES_A_RUN)


def test_red_files_are_run_again(tmp_path: Path) -> None:
    reds = again.reds(report(tmp_path, case(), case(name="test_y"), case(file="test_counts")))
    assert again.worth_it(reds) == ["tests/lint/test_counts.py", "tests/lint/test_flaky.py"]


def test_two_files_a_run_at_most(tmp_path: Path) -> None:
    three = [case(file=name) for name in ("test_flaky", "test_counts", "test_lanes")]
    assert again.worth_it(again.reds(report(tmp_path, *three))) == []
    assert len(again.worth_it(again.reds(report(tmp_path, *three[:2])))) == 2
    assert again.worth_it(again.reds(report(tmp_path, case()))) == []


@pytest.mark.parametrize("message", [
    "WorldError: kaasd: ERROR: AddressSanitizer: use-after-free", "WARNING: ThreadSanitizer: data race", "x.c:3:1: runtime error: shift",
    "WorldError: kaasd ended with status -11", "worker 'gw1' crashed while running"])
def test_a_report_of_a_sanitizer_or_a_crash_is_final(tmp_path: Path, message: str) -> None:
    assert again.worth_it(again.reds(report(tmp_path, case(message)))) == []


def test_what_a_test_calls_final_is(tmp_path: Path) -> None:
    marked = case(properties='<properties><property name="final" value="True"/></properties>')
    assert again.worth_it(again.reds(report(tmp_path, marked))) == []


def test_a_file_that_cannot_be_read_is_found_by_its_name(tmp_path: Path) -> None:
    reds = again.reds(report(tmp_path, '<testcase classname="" name="tests.lint.test_flaky"><error message="SyntaxError"/></testcase>'))
    assert [red.file for red in reds] == ["tests/lint/test_flaky.py"]


def test_an_entry_counts_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "FLAKY"
    listed.write_text("1 2020-01-02 2020-01-03 tests.lint.test_flaky::test_x | AssertionError: no\n")
    monkeypatch.setattr(again, "LIST", listed)
    old, new = again.reds(report(tmp_path, case("AssertionError: yes"), case(name="test_new")))
    assert again.entry_for(old).startswith("2 2020-01-02 20") and again.entry_for(old).endswith("test_x | AssertionError: yes")
    assert again.entry_for(new).startswith("1 ") and not problems(again.entry_for(new))
