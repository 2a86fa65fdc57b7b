"""Three lanes. In front the suites one after another. Beside them, one after another too, suites that mostly wait, for what real programs
do in their own time: they take little from those in front. Behind both what only computes: builds, in the order in which the others need
them, and suites marked `behind`. A machine that waits could compile; whoever is behind is nice and takes only that time, so that no test
meets more load for it."""
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
    """Builds in the order in which the others need them, then the suites."""

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

    def one_after_another(self, suites: list[Suite]) -> Count:
        """For the other lanes: each suite as soon as its build is there."""
        count = Count()
        for suite in suites:
            if suite.build:
                self.builds[suite.name].wait()
            count += timed(suite, self.report)
        return count


class Beside(threading.Thread):
    def __init__(self, behind: Behind) -> None:
        super().__init__(name="beside", daemon=True)
        self.behind = behind
        self.count = Count()

    def run(self) -> None:
        self.count = self.behind.one_after_another([suite for suite in self.behind.suites if suite.beside])


def run_in_lanes(suites: list[Suite], report: Callable[[Suite, Count, float], None]) -> Count:
    """Runs all, tells each when it is done, returns the sum."""
    behind = Behind(suites, report)
    beside = Beside(behind)
    try:
        behind.start()
        beside.start()
        total = behind.one_after_another([suite for suite in suites if not suite.behind and not suite.beside])
        beside.join()
        behind.join()
    except BaseException:
        run.end_all()
        raise
    total += beside.count
    total += behind.count
    return total
