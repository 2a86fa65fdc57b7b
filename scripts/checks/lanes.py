"""Two lanes. In front the suites one after another. Behind them what only computes: builds for the suites in front, in the order in which
these need them, and suites marked `behind`. Waiting is what most tests in front do, and a machine that waits could compile; whoever is
behind is nice and takes only that time, so that no test in front meets more load than alone."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable

from . import run
from .counts import Count
from .suites import Suite

LOCK = threading.Lock()


def count_of(suite: Suite) -> Count:
    try:
        return suite.run()
    except Exception:  # the sum must be printed whatever a suite does
        return Count(failed=[traceback.format_exc()])


def timed(suite: Suite, report: Callable[[Suite, Count, float], None]) -> Count:
    start = time.monotonic()
    count = count_of(suite)
    with LOCK:
        report(suite, count, time.monotonic() - start)
    return count


class Behind(threading.Thread):
    """Builds in the order in which the front needs them, then the suites."""

    def __init__(self, suites: list[Suite], report: Callable[[Suite, Count, float], None]) -> None:
        super().__init__(name="behind", daemon=True)
        self.builds = {suite.name: threading.Event() for suite in suites if suite.build}
        self.suites = suites
        self.report = report
        self.count = Count()

    def run(self) -> None:
        run.be_nice()
        for suite in self.suites:
            if suite.build:
                try:
                    suite.build()  # the suite itself asks for the outcome again, and tells it
                except Exception:
                    traceback.print_exc()
                finally:
                    self.builds[suite.name].set()
        for suite in self.suites:
            if suite.behind:
                self.count += timed(suite, self.report)


def run_in_lanes(suites: list[Suite], report: Callable[[Suite, Count, float], None]) -> Count:
    """Runs all, tells each when it is done, returns the sum."""
    total = Count()
    behind = Behind(suites, report)
    try:
        behind.start()
        for suite in suites:
            if suite.behind:
                continue
            if suite.build:
                behind.builds[suite.name].wait()
            total += timed(suite, report)
        behind.join()
    except BaseException:
        run.end_all()
        raise
    total += behind.count
    return total
