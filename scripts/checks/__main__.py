"""Picks the suites, runs them, prints a line for each, their times and the sum last."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
from pathlib import Path

from . import again, changed, full, stress
from .counts import Count
from .lanes import run_in_lanes
from .suites import SUITES, Suite


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/check")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--quick", action="store_true")
    choice.add_argument("--full", action="store_true")
    choice.add_argument("--only", metavar="SUITES")
    choice.add_argument("--stress", metavar="N", type=int)
    choice.add_argument("--list", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    if options.files and options.stress is None:
        parser.error("only --stress takes files")
    if options.resume and not options.full:
        parser.error("only --full resumes (--stress always does)")
    return options


def chosen(options: argparse.Namespace) -> list[Suite]:
    """What was asked for; of a landing only the suites whose parts differ from main."""
    if options.only:
        names = options.only.split(",")
        unknown = set(names) - {suite.name for suite in SUITES}
        if unknown:
            sys.exit(f"scripts/check: unknown suite {', '.join(sorted(unknown))}; see --list")
        return [suite for suite in SUITES if suite.name in names]
    if options.full:
        return [suite for suite in SUITES if suite.tier != "quick only" and suite.name != "tidy"]
    if options.quick:
        return [suite for suite in SUITES if suite.tier in ("quick", "quick only")]
    landing = [suite for suite in SUITES if suite.tier in ("quick", "landing")]
    for suite in landing:
        if suite.parts and not changed.touches(*suite.parts):
            print(f"{suite.name:<18} left out: nothing of {' '.join(suite.parts)} differs from {changed.MAIN}", flush=True)
    return [suite for suite in landing if not suite.parts or changed.touches(*suite.parts)]


times: list[str] = []


def report(suite: Suite, count: Count, seconds: float) -> None:
    times.append(f"{suite.name} {seconds:.0f} s")
    print(f"{suite.name:<18} {count.passed:>5} passed {len(count.failed):>4} failed {seconds:>6.0f} s", flush=True)
    for name in count.failed:
        print(f"  FAILED {name}", flush=True)
    for text in count.said[:10]:
        print(text, flush=True)
    for entry in count.flaky:
        print(f"  flaky: {again.ENTRY.fullmatch(entry)['name']}\n    for tests/FLAKY: {entry}", flush=True)
    if count.failed or count.flaky:
        print(f"  more in build/logs/check-{suite.name}*", flush=True)


def main() -> int:
    options = parse()
    if options.list:
        for suite in SUITES:
            print(f"{suite.name:<18} {suite.tier:<11} {suite.about}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that running commands are ended too
    if options.stress is not None:
        return stress.run_rounds(options.stress, options.files)
    start = time.monotonic()
    total = full.run_suites(chosen(options), report, resume=options.resume) if options.full else run_in_lanes(chosen(options), report)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (used.ru_utime + used.ru_stime) / 60
    print(f"{(time.monotonic() - start) / 60:.1f} minutes after set-up, {cpu:.1f} of CPU: {', '.join(times)}")
    if total.flaky:
        print(f"{len(total.flaky)} flaky")
    print(f"{total.passed} passed, {len(total.failed)} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
