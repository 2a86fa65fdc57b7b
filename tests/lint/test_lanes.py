"""The three lanes of scripts/check: what waits for what, who is nice, and that nothing that failed behind is lost."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from checks.counts import Count
from checks.lanes import run_in_lanes
from checks.run import NICE, Result
from checks.suites import Suite, once


class Story:
    """What happened, in order, and how nice who did it was."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.nice: dict[str, int] = {}

    def tell(self, event: str) -> None:
        self.nice[event] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        self.events.append(event)

    def suite(self, name: str, **more: object) -> Suite:
        def run() -> Count:
            self.tell(name)
            return Count(1)

        return Suite(name, "", run, "landing", **more)  # type: ignore[arg-type]

    def build(self, name: str) -> Callable[[], tuple[Path, Result]]:
        def run() -> tuple[Path, Result]:
            self.tell(name)
            return Path(), Result(0, Path())

        return run

    def before(self, first: str, second: str) -> bool:
        return self.events.index(first) < self.events.index(second)


@pytest.fixture
def story() -> Story:
    return Story()


def nothing(*_: object) -> None:
    pass


def test_builds_come_before_their_suites_and_before_what_is_behind(story: Story) -> None:
    suites = [story.suite("first"), story.suite("asan", build=story.build("asan-build")), story.suite("slow"),
              story.suite("tsan", build=story.build("tsan-build")), story.suite("tidy", behind=True)]
    assert run_in_lanes(suites, nothing) == Count(5)
    assert story.before("asan-build", "asan") and story.before("tsan-build", "tsan")
    assert story.before("first", "asan") and story.before("asan", "slow") and story.before("slow", "tsan")
    assert story.before("tsan-build", "tidy")


def test_only_what_is_behind_is_nice(story: Story) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    run_in_lanes([story.suite("slow"), story.suite("asan", build=story.build("asan-build")), story.suite("tidy", behind=True)], nothing)
    assert story.nice["tidy"] == story.nice["asan-build"] == max(own, NICE)
    assert story.nice["slow"] == story.nice["asan"] == own


def test_what_is_beside_runs_meanwhile_once_its_build_is_there(story: Story) -> None:
    """Each of the two in front and beside ends when the other has begun."""
    begun = {"integration": threading.Event(), "kube": threading.Event()}

    def meets(own: str, other: str) -> Callable[[], Count]:
        def run() -> Count:
            story.tell(own)
            begun[own].set()
            return Count(1) if begun[other].wait(60) else Count(failed=[own])

        return run

    suites = [Suite("integration", "", meets("integration", "kube"), "landing"),
              Suite("kube", "", meets("kube", "integration"), "landing", build=story.build("kube-build"), beside=True),
              story.suite("connected", beside=True), story.suite("tidy", behind=True)]
    assert run_in_lanes(suites, nothing) == Count(4)
    assert story.before("kube-build", "kube") and story.before("kube", "connected")
    assert story.nice["connected"] == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_build_that_two_ask_for_is_made_once() -> None:
    made: list[int] = []
    is_asked = threading.Event()

    def build() -> tuple[Path, Result]:
        made.append(1)
        is_asked.wait(60)
        return Path(), Result(0, Path())

    asked = once(build)
    both = [threading.Thread(target=asked) for _ in range(2)]
    for one in both:
        one.start()
    is_asked.set()
    for one in both:
        one.join()
    assert asked()[1].ok and made == [1]


def test_what_is_behind_runs_alone_too(story: Story) -> None:
    assert run_in_lanes([story.suite("tidy", behind=True)], nothing) == Count(1)


def test_what_fails_behind_counts(story: Story) -> None:
    def broken() -> Count:
        raise ValueError("broken on purpose")

    told: list[str] = []
    suites = [story.suite("slow"), Suite("tidy", "", broken, "landing", behind=True), story.suite("fuzz", behind=True)]
    total = run_in_lanes(suites, lambda suite, count, seconds: told.append(suite.name))
    assert total.passed == 2 and len(total.failed) == 1 and "broken on purpose" in total.failed[0]
    assert sorted(told) == ["fuzz", "slow", "tidy"]


def test_a_build_that_breaks_does_not_hold_its_suite_up(story: Story) -> None:
    def broken() -> tuple[Path, Result]:
        raise ValueError("broken on purpose")

    assert run_in_lanes([story.suite("asan", build=broken)], nothing) == Count(1)
