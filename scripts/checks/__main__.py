"""Picks the suites, runs them, prints a line for each and the sum last."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import signal
import sys

from .counts import Count
from .lanes import run_in_lanes
from .suites import SUITES, Suite


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/check")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--quick", action="store_true")
    choice.add_argument("--asan", action="store_true")
    choice.add_argument("--tsan", action="store_true")
    choice.add_argument("--only", metavar="SUITES")
    choice.add_argument("--list", action="store_true")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Suite]:
    if options.only:
        names = options.only.split(",")
        unknown = set(names) - {suite.name for suite in SUITES}
        if unknown:
            sys.exit(f"scripts/check: unknown suite {', '.join(sorted(unknown))}; see --list")
        return [suite for suite in SUITES if suite.name in names]
    if options.asan or options.tsan:
        return [suite for suite in SUITES if suite.name == ("asan" if options.asan else "tsan")]
    if options.quick:
        return [suite for suite in SUITES if suite.quick]
    return [suite for suite in SUITES if suite.group != "quick"]


def report(suite: Suite, count: Count, seconds: float) -> None:
    print(f"{suite.name:<18} {count.passed:>5} passed {len(count.failed):>4} failed {seconds:>6.0f} s", flush=True)
    for name in count.failed:
        print(f"  FAILED {name}", flush=True)
    for text in count.said[:10]:
        print(text, flush=True)
    if count.failed:
        print(f"  more in build/logs/check-{suite.name}*", flush=True)


def main() -> int:
    options = parse()
    if options.list:
        for suite in SUITES:
            print(f"{suite.name:<18} {'quick' if suite.quick else '':<6} {suite.about}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that running commands are ended too
    total = run_in_lanes(chosen(options), report)
    print(f"{total.passed} passed, {len(total.failed)} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
