"""The plan of a cluster's life under faults: where kaasd is killed, what becomes of the vCenter; the same for the same seed and number."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from env.dying import Death

# Whose calls jobs wait for, and what they look at meanwhile.
MAKING = ("CreateFolder", "CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task", "RetrievePropertiesEx", "WaitForUpdatesEx",
          "FindAllByUuid", "ModifyListView", "LoginByToken", "Login", "*")
REMOVING = ("PowerOffVM_Task", "ShutdownGuest", "Destroy_Task", "RetrievePropertiesEx", "WaitForUpdatesEx", "FindAllByUuid", "Login", "*")
MAKING_TASKS = ("CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task")
REMOVING_TASKS = ("PowerOffVM_Task", "Destroy_Task")
ENDS = ("undone", "half", "done")
WHENS = ("before", "after")
LARGE_EVERY = 4  # of so many clusters one is large
SECOND_DEATH, DEATH_IN_DELETION, CANCELED, LEADERLESS = 0.2, 0.35, 0.15, 0.3
LEADERLESS_PARTS = ("kaas-system", "clusterrole", "/token", "/bootstrap-token-", "/configmaps/")  # connecting, joining, the network
RESTARTS = {"no": 4, "dead": 3, "task": 4}
GOLDEN = 0.6180339887  # parts of a line at multiples of it lie evenly
CUTS = {"no": 5, "disconnect": 2, "close": 4}


@dataclass(frozen=True)
class Shape:
    control_planes: int
    workers: int

    @property
    def machines(self) -> int:
        return self.control_planes + self.workers

    def __str__(self) -> str:
        return f"{self.control_planes}+{self.workers}"


SMALL, LARGE = Shape(1, 1), Shape(3, 2)


@dataclass(frozen=True)
class Restart:
    """Of the vCenter, which loses its tasks: while kaasd is dead ("" for `op`), or when a task of that operation is half-way."""

    op: str
    skip: int
    tasks: str
    down_ms: int

    def __str__(self) -> str:
        when = f"in {self.op} {self.skip + 1}" if self.op else "while kaasd is dead"
        return f"vCenter restarts {when}, tasks {self.tasks}, {self.down_ms} ms away"


@dataclass(frozen=True)
class Cut:
    """Answers that break off after so many bytes; or all connections at once ("" for `op`), when kaasd has started again or a task is
    half-way."""

    op: str
    skip: int
    after_bytes: int
    count: int

    def __str__(self) -> str:
        return f"{self.op} cut after {self.after_bytes} bytes {self.count} times behind {self.skip}" if self.op else "connections cut"


@dataclass(frozen=True)
class Leaderless:
    """So many requests with this part in their path are answered by Kubernetes as by one whose etcd has no leader."""

    part: str
    count: int

    def __str__(self) -> str:
        return f"no leader of etcd at {self.part} {self.count} times"


@dataclass(frozen=True)
class Faults:
    """What happens to one job."""

    deaths: tuple[Death, ...] = ()  # each counts from the start behind the one before
    restart: Restart | None = None
    cut: Cut | None = None
    leaderless: Leaderless | None = None

    def __str__(self) -> str:
        what = [f"killed {death}" for death in self.deaths] + [str(one) for one in (self.restart, self.cut, self.leaderless) if one]
        return "; ".join(what) or "no faults"


@dataclass(frozen=True)
class Life:
    number: int
    shape: Shape
    making: Faults
    removing: Faults
    is_canceled: bool = False  # as soon as kaasd is there again: nobody wants it any more

    def __str__(self) -> str:
        then = "canceled" if self.is_canceled else f"deleted: {self.removing}"
        return f"run {self.number}: {self.shape}: {self.making}; then {then}"


@dataclass(frozen=True)
class Commits:
    """How many a job has without faults."""

    making: int
    removing: int


def _restart(rng: random.Random, ops: tuple[str, ...], most: int, *, dies: bool) -> Restart | None:
    kind = rng.choices(list(RESTARTS), list(RESTARTS.values()))[0]
    if kind == "no" or (kind == "dead" and not dies):
        return None
    op = rng.choice(ops) if kind == "task" else ""
    return Restart(op, rng.randrange(most), rng.choice(ENDS), rng.choice((0, 0, rng.randrange(1, 1500))))


def _cut(rng: random.Random, ops: tuple[str, ...]) -> Cut | None:
    kind = rng.choices(list(CUTS), list(CUTS.values()))[0]
    if kind == "no":
        return None
    after_bytes = rng.choice((0, 1, rng.randrange(2, 4000)))
    return Cut(rng.choice(ops) if kind == "close" else "", rng.randrange(6), after_bytes, rng.randrange(1, 4))


def _leaderless(rng: random.Random) -> Leaderless | None:
    return Leaderless(rng.choice(LEADERLESS_PARTS), rng.randrange(1, 4)) if rng.random() < LEADERLESS else None


def _place_of(number: int, commits: int) -> Death:
    """One behind the other, before and after each commit, so that none is left out."""
    at = number % (2 * commits)
    return Death(WHENS[at % 2], at // 2 + 1)


def _any(rng: random.Random, commits: int) -> Death:
    """By chance; how many there are may differ a little from measurement to measurement, and the rest of the plan not."""
    return Death(rng.choice(WHENS), 1 + int(rng.random() * commits))


def make_life(seed: int, number: int, commits: Mapping[Shape, Commits], *, only: Shape | None = None, of: int = 0) -> Life:
    """The cluster of this number, from 0 on. `only` clusters of this shape, and the places of `of` of them lie evenly."""
    rng = random.Random(f"{seed}:{number}")
    groups, place = divmod(number, LARGE_EVERY)
    shape = only or (LARGE if place == LARGE_EVERY - 1 else SMALL)
    counted = commits[shape]
    if of:
        nth = (2 * number + 1) * counted.making // of
    elif shape == LARGE:
        nth = int(groups * GOLDEN % 1 * 2 * counted.making)  # however many there are, they spread
    else:
        nth = groups * (LARGE_EVERY - 1) + place
    deaths = [_place_of(nth, counted.making)]
    if rng.random() < SECOND_DEATH:
        deaths.append(_any(rng, counted.making // 2))
    making = (_restart(rng, MAKING_TASKS, shape.machines, dies=True), _cut(rng, MAKING), _leaderless(rng))
    gone = (_any(rng, counted.removing),) if rng.random() < DEATH_IN_DELETION else ()
    is_calm = not gone and rng.random() < 0.5
    removing = Faults() if is_calm else Faults(gone, _restart(rng, REMOVING_TASKS, shape.machines, dies=bool(gone)), _cut(rng, REMOVING))
    is_canceled = not of and rng.random() < CANCELED
    if is_canceled and len(deaths) == 1:
        deaths.append(_any(rng, counted.removing))  # taking it back has about as many as its deletion
    return Life(number, shape, Faults(tuple(deaths), *making), removing, is_canceled)
