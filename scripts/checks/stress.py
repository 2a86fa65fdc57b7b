"""Files of tests/integ many times over beside busy loops, to find what fails rarely. A ledger tells what each has stood; rounds that stand
there for the present tree are not run again."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import again, full, suites
from .run import TOP

LOOPS = 4
PASSED, FAILED = "passed", "FAILED"
ROUND_LIMIT_S = 2 * 3600


@contextmanager
def busy() -> Iterator[None]:
    """Four programs that do nothing but compute."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Ledger:
    """A line for each file and round: tree, file, result, first line of the error."""

    def __init__(self) -> None:
        self.path = full.cache() / "stress.tsv"
        self.tree = full.git("rev-parse", "HEAD^{tree}") if not full.git("status", "--porcelain") else f"changed-{time.time_ns()}"

    def rows(self) -> list[list[str]]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [row for line in lines if (row := line.split("\t"))[0] == self.tree]

    def add(self, file: str, result: str, error: str) -> None:
        with self.path.open("a") as out:
            out.write("\t".join((self.tree, file, result, error)) + "\n")

    def counts(self, result: str) -> Counter[str]:
        return Counter(row[1] for row in self.rows() if row[2] == result)


def files_run(report: Path) -> set[str]:
    cases = ElementTree.parse(report).getroot().iter("testcase") if report.exists() else ()
    return {again.file_of(case.get("classname") or "", case.get("name") or "") for case in cases}


def one_round(files: list[str], ledger: Ledger) -> None:
    """Each test in the build that it has at a landing. The files come in another order each time, since several share a world."""
    folder, built = suites.asan_build()
    for one in (built, suites.plain_build()[1]):
        if not one.ok:
            sys.exit(f"the build failed:\n{one.tail()}")
    env = {**suites.sanitizer_env(folder), "KAAS_SHUFFLE": f"{len(ledger.rows())}"}
    report, result = suites.pytest_once("stress", *files, *suites.SIDE_BY_SIDE, env=env, limit_s=ROUND_LIMIT_S)
    reds = again.reds(report) if report.exists() else []
    if result.status not in (0, suites.TESTS_FAILED) or any(red.file not in files for red in reds):
        sys.exit(f"pytest ended with status {result.status}:\n{result.tail()}")
    errors = {red.file: f"{red.name}: {red.error}" for red in reds}
    if without := set(files) - files_run(report):
        sys.exit(f"no tests in {', '.join(sorted(without))}")
    for file in files:
        ledger.add(file, FAILED if file in errors else PASSED, errors.get(file, ""))
        if file in errors:
            print(f"  FAILED {errors[file]}", flush=True)


def run_rounds(rounds: int, chosen: list[Path]) -> int:
    paths = chosen or sorted((TOP / "tests/integ").rglob("test_*.py"))
    files = [str(path.resolve().relative_to(TOP)) for path in paths]
    ledger = Ledger()
    with busy():
        while left := [file for file in files if sum(1 for row in ledger.rows() if row[1] == file) < rounds]:
            start = time.monotonic()
            one_round(left, ledger)
            print(f"{len(left)} files, {time.monotonic() - start:.0f} s", flush=True)
    passed, failed = ledger.counts(PASSED), ledger.counts(FAILED)
    for file in files:
        print(f"{file:<55} {passed[file]:>3} passed {failed[file]:>3} failed")
    print(f"{sum(passed[file] for file in files)} passed, {sum(failed[file] for file in files)} failed")
    return 1 if any(failed[file] for file in files) else 0
