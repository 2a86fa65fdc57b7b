"""A short run of random faults against three vCenters; the long one is scripts/faults."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections import Counter

import pytest
from faults.__main__ import run
from faults.checks import growth
from faults.plan import WEIGHTS, make_plan

pytestmark = [pytest.mark.slow, pytest.mark.long(45), pytest.mark.final]
SHORT = 60


def test_the_same_seed_makes_the_same_plan() -> None:
    assert make_plan(7, 300, 3) == make_plan(7, 300, 3)
    assert make_plan(7, 300, 3) != make_plan(8, 300, 3)


def test_a_long_plan_has_every_kind_of_fault() -> None:
    kinds = Counter(fault.kind for fault in make_plan(1, 2000, 3))
    assert set(kinds) == set(WEIGHTS)
    assert all(kinds[kind] >= 2 for kind in WEIGHTS)


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
