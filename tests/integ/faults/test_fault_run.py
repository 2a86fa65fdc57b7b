"""A short run of random faults against three vCenters, and what the plans have in them; the long runs are scripts/faults."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections import Counter

import pytest
from faults.__main__ import run
from faults.checks import growth
from faults.job_plan import LARGE, SMALL, WHENS, Commits, make_life
from faults.plan import WEIGHTS, make_plan

pytestmark = [pytest.mark.slow, pytest.mark.long(45), pytest.mark.final]
SHORT = 60
COMMITS = {SMALL: Commits(95, 55), LARGE: Commits(195, 95)}  # about what is measured


def test_the_same_seed_makes_the_same_plan() -> None:
    assert make_plan(7, 300, 3) == make_plan(7, 300, 3)
    assert make_plan(7, 300, 3) != make_plan(8, 300, 3)


def test_a_long_plan_has_every_kind_of_fault() -> None:
    kinds = Counter(fault.kind for fault in make_plan(1, 2000, 3))
    assert set(kinds) == set(WEIGHTS)
    assert all(kinds[kind] >= 2 for kind in WEIGHTS)


def test_a_plan_of_clusters_kills_at_each_commit() -> None:
    lives = [make_life(1, number, COMMITS) for number in range(500)]
    assert lives == [make_life(1, number, COMMITS) for number in range(500)]
    for when in WHENS:
        killed = {shape: {life.making.deaths[0].number for life in lives if life.shape == shape and life.making.deaths[0].when == when}
                  for shape in (SMALL, LARGE)}
        assert killed[SMALL] == set(range(1, COMMITS[SMALL].making + 1))
        assert len(killed[LARGE]) > 50
    assert {life.making.restart.tasks for life in lives if life.making.restart} == {"undone", "half", "done"}
    assert len([life for life in lives if life.removing.deaths]) > 100
    assert len([life for life in lives if life.is_canceled]) > 50


def test_few_clusters_are_killed_at_places_that_lie_evenly() -> None:
    lives = [make_life(1, number, COMMITS, only=SMALL, of=8) for number in range(8)]
    assert [life.making.deaths[0].number for life in lives] == [6, 18, 30, 42, 54, 66, 78, 90]


def test_growth_is_told_from_ups_and_downs() -> None:
    steady = [{"rss_kb": 100 + i % 3} for i in range(16)]
    rising = [{"rss_kb": 100 + 10 * i} for i in range(16)]
    assert growth(steady, {"rss_kb": 5}) == []
    assert growth(rising, {"rss_kb": 20}) == ["rss_kb grew from 130 to 220"]


@pytest.mark.slow
def test_every_promise_is_kept_through_random_faults() -> None:
    figures = run(seed=1, count=SHORT, look_every=20)
    assert figures["faults"] == SHORT
    assert figures["answers_watched"] > 0
