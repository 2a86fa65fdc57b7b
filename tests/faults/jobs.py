"""Many clusters made and deleted under faults, at several places side by side: each as without faults, and none leaves anything."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import requests
from env.api import Unexpected
from env.dying import Death
from env.places import WorldError

from .checks import Broken, report
from .job_booted import booted_place
from .job_life import ClusterLife
from .job_place import Place, scripted_place
from .job_plan import LARGE, SMALL, Commits, Faults, Life, Shape, make_life

LANES = 4
NEVER = Death("after", 1_000_000)  # so that commits are counted
TROUBLES_MAX = 20
WRONG = (Broken, WorldError, Unexpected, requests.RequestException, AssertionError)
CHECKED = ("machines and no other ever ran", "their sizes, cards, owner and UUIDs", "no user-data", "one session", "no task", "record",
           "keys", "addresses and leases", "secrets", "steps", "audit", "the cluster inside", "nothing left behind it")


@dataclass
class Tally:
    """What all lanes found; they share it."""

    counts: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, counts: Counter[str], trouble: str) -> None:
        with self.lock:
            self.done[kind] += 1
            self.counts += counts
        if trouble:
            self.complain(trouble)

    def complain(self, trouble: str) -> None:
        with self.lock:
            self.troubles.append(trouble)
            print(trouble, file=sys.stderr, flush=True)

    @property
    def is_enough(self) -> bool:
        return len(self.troubles) >= TROUBLES_MAX


@dataclass(frozen=True)
class Kind:
    """Of clusters: by machines that only report, or that boot."""

    name: str
    option: str  # that chooses one of it
    place: Callable[[], AbstractContextManager[Place]]
    shapes: tuple[Shape, ...]
    is_even: bool  # few: their deaths lie evenly


SCRIPTED = Kind("reporting", "--run", scripted_place, (SMALL, LARGE), is_even=False)
BOOTED = Kind("booted", "--booted-run", booted_place, (SMALL,), is_even=True)


class Lane:
    """One place after another: a place in which something went wrong is left."""

    def __init__(self, kind: Kind, seed: int, count: int, tally: Tally, *, verbose: bool) -> None:
        self._kind, self._seed, self._count, self._tally, self._verbose = kind, seed, count, tally, verbose
        self._stack = ExitStack()
        self._place: Place | None = None
        self._like: dict[Shape, dict[str, Any]] = {}  # the cluster without faults
        self._commits: dict[Shape, Commits] = {}

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _measure(self, place: Place, shape: Shape) -> None:
        """A life without faults: how the cluster is, and how many commits it takes."""
        life = ClusterLife(place, "prod", Life(-1, shape, Faults((NEVER,)), Faults((NEVER,))), Counter())
        life.make()
        making = len(place.dying.met())
        self._like[shape] = life.portrait()
        life.remove()
        removing = len(place.dying.met())
        life.check_gone()
        life.forget()
        self._commits[shape] = Commits(making, removing)
        print(f"{self._kind.name}, {shape} without faults: {making} commits to make it, {removing} to delete it", flush=True)

    def _ready(self) -> Place:
        if not self._place:
            self._place = self._stack.enter_context(self._kind.place())
            for shape in self._kind.shapes:
                self._measure(self._place, shape)
        return self._place

    def _leave(self) -> None:
        self._place = None
        try:
            self._stack.close()
        except WRONG as error:
            print(f"while a place was left: {error}"[:300], file=sys.stderr, flush=True)
        self._stack = ExitStack()

    @staticmethod
    def _compare(found: dict[str, Any], like: dict[str, Any]) -> None:
        differences = [f"{key} is {found[key]}, without faults {like[key]}" for key in like if found[key] != like[key]]
        if differences:
            raise Broken("; ".join(differences))

    def _live(self, place: Place, life: Life, counts: Counter[str]) -> None:
        cluster = ClusterLife(place, "prod", life, counts)
        if cluster.make():
            self._compare(cluster.portrait(), self._like[life.shape])
            cluster.remove()
        else:
            counts["canceled"] += 1
        cluster.check_gone()
        cluster.forget()

    def run(self, number: int) -> None:
        counts: Counter[str] = Counter()
        trouble, life, begin = "", None, time.monotonic()
        try:
            place = self._ready()
            even = {"only": self._kind.shapes[0], "of": self._count} if self._kind.is_even else {}
            life = make_life(self._seed, number, self._commits, **even)
            self._live(place, life, counts)
        except WRONG as error:
            trouble = f"FAILED {life or number}: {type(error).__name__}: {error}\n" \
                f"  again: scripts/faults --jobs --seed {self._seed} {self._kind.option} {number}"
            self._leave()
        if self._verbose:
            print(f"{life}: {time.monotonic() - begin:.1f} s", flush=True)
        self._tally.add(self._kind.name, counts, trouble)


def _work(kind: Kind, seed: int, count: int, numbers: Iterator[int], tally: Tally, until: float, *, verbose: bool) -> None:
    with Lane(kind, seed, count, tally, verbose=verbose) as lane:
        for number in numbers:
            if tally.is_enough or time.monotonic() > until:
                return
            lane.run(number)


class _Shared:
    """Numbers that several threads take."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers, self._lock = iter(numbers), threading.Lock()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._numbers)


def run_jobs(seed: int, runs: list[int], booted: list[int], *, of_booted: int = 0, limit_s: float = 2700,
             verbose: bool = False) -> tuple[Tally, dict[str, Any]]:
    """All of them; hands back what was found, and the figures."""
    begin, tally = time.monotonic(), Tally()
    shared = _Shared(runs)
    lanes = [(SCRIPTED, len(runs), shared)] * min(LANES, len(runs)) + [(BOOTED, of_booted or len(booted), iter(booted))] * bool(booted)
    threads = [threading.Thread(target=_work, args=(kind, seed, count, numbers, tally, begin + limit_s), kwargs={"verbose": verbose})
               for kind, count, numbers in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = {SCRIPTED.name: len(runs), BOOTED.name: len(booted)}
    for kind, count in wanted.items():
        if tally.done[kind] != count and not tally.is_enough:
            tally.complain(f"only {tally.done[kind]} of {count} {kind} runs in {limit_s / 60:.0f} minutes")
    return tally, {**{f"{kind}_runs": count for kind, count in wanted.items()}, "seconds": round(time.monotonic() - begin)}


def tell(tally: Tally, figures: dict[str, Any]) -> None:
    deaths = {what.removeprefix("killed at "): n for what, n in tally.counts.items() if what.startswith("killed at ")}
    other = {what: n for what, n in tally.counts.items() if not what.startswith("killed at ")}
    print(f"kaasd was killed {sum(deaths.values())} times: " + ", ".join(f"{where} {n}" for where, n in sorted(deaths.items())))
    print("the vCenter: " + ", ".join(f"{what} {n}" for what, n in sorted(other.items())))
    print("looked at in each run: " + ", ".join(CHECKED))
    print(report({**figures, "failed": len(tally.troubles)}))
