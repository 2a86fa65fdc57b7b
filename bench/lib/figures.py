"""From raw rounds to medians, intervals and the table of goals."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "out"
RESAMPLES = 2000
SEED = 1  # the same rounds give the same interval
Rows = dict[str, list[dict[str, float]]]  # by who was measured, each round


@dataclass(frozen=True)
class Estimate:
    """A median with its 95 % interval (bootstrap, percentile method)."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


def estimate(values: Sequence[float]) -> Estimate:
    chance = random.Random(SEED)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Estimate(statistics.median(values), medians[RESAMPLES * 25 // 1000], medians[RESAMPLES * 975 // 1000 - 1])


def ratio(rows: Sequence[dict[str, float]], base: Sequence[dict[str, float]], key: str) -> Estimate:
    """Of each round by itself, since both halves of a round met the same machine."""
    return estimate([mine[key] / other[key] for mine, other in zip(rows, base, strict=True)])


def in_turns(number: int, names: list[str]) -> list[str]:
    """The order of a round: another one begins each time."""
    return names if number % 2 == 0 else names[::-1]


def print_medians(part: str, rows: Rows) -> None:
    for name, values in rows.items():
        medians = ", ".join(f"{statistics.median(row[key] for row in values):10.2f} {key}" for key in values[0])
        print(f"{part:8} {name:10} {medians}")


@dataclass
class Report:
    """Goals met or missed, what has none, and everything that goes into the file."""

    name: str
    goals: list[tuple[str, Estimate, float | None, bool]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def goal(self, key: str, what: str, measured: Estimate, wanted: float, *, at_most: bool = False) -> None:
        self.values[key + "_goal"] = wanted
        self._add(key, what, measured, wanted, at_most)

    def figure(self, key: str, what: str, measured: Estimate) -> None:
        self._add(key, what, measured, None, False)

    def _add(self, key: str, what: str, measured: Estimate, wanted: float | None, at_most: bool) -> None:
        self.values[key] = measured.median
        self.values[key + "_interval"] = [measured.low, measured.high]
        self.goals.append((what, measured, wanted, at_most))

    def print(self) -> None:
        width = max((len(what) for what, *_ in self.goals), default=0)
        for what, measured, wanted, at_most in self.goals:
            if wanted is None:
                print(f"{what:{width}}  {measured!s:26} no goal")
                continue
            met = measured.median <= wanted if at_most else measured.median >= wanted
            print(f"{what:{width}}  {measured!s:26} goal {'at most' if at_most else 'at least'} {wanted:<6g} {'met' if met else 'MISSED'}")

    def write(self, rounds: Any) -> None:
        (OUT / f"{self.name}.json").write_text(json.dumps({**self.values, "rounds": rounds}, indent=1) + "\n")
