"""Runs the faults of a seeded plan, with a look at everything now and then. Exit status 0 if all promises were kept."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import requests
from env import reports
from env.api import Unexpected
from env.places import USERS_BUILD, WorldError, build, use_memory

from .acts import apply
from .checks import Broken, Watcher, growth, report, settle, usage
from .jobs import run_jobs, tell
from .plan import WEIGHTS, Fault, make_plan
from .trio import VCENTERS, Trio

SLACK = {"rss_kb": 16 * 1024, "descriptors": 12, "threads": 4}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=2000)
    parser.add_argument("--look-every", type=int, default=25, help="faults between two looks at everything")
    parser.add_argument("--minutes", type=float, default=45, help="the run fails if it is not done by then")
    parser.add_argument("--pause", type=float, default=0.15, help="seconds between two faults")
    parser.add_argument("--without", action="append", default=[], choices=sorted(WEIGHTS), help="leave out a kind of fault")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each fault")
    jobs = parser.add_argument_group("clusters that are made", "kaasd is killed at each commit while it makes and deletes clusters, the "
                                     "vCenter restarted, connections cut, etcd without a leader; needs root; of the options above "
                                     "--seed, --minutes and -v count")
    jobs.add_argument("--jobs", action="store_true", help="this, in place of faults against three vCenters")
    jobs.add_argument("--runs", type=int, default=500, help="clusters of machines that only report (default: %(default)s)")
    jobs.add_argument("--booted", type=int, default=8, help="clusters of machines that boot (default: %(default)s)")
    jobs.add_argument("--run", type=int, action="append", default=[], metavar="K", help="only the cluster of this number; may be repeated")
    jobs.add_argument("--booted-run", type=int, action="append", default=[], metavar="K", help="the same of --booted")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> tuple[list[int], list[int]]:
    """Numbers of the clusters of machines that only report, and that boot."""
    if options.run or options.booted_run:
        return options.run, options.booted_run
    return list(range(options.runs)), list(range(options.booted))


def _jobs(options: argparse.Namespace) -> int:
    use_memory()
    reports.watch()
    try:
        tally, figures = run_jobs(options.seed, *_chosen(options), of_booted=options.booted, limit_s=60 * options.minutes,
                                  verbose=options.verbose)
        tell(tally, figures)
        reports.refuse()
    except WorldError as error:
        print(f"FAILED with seed {options.seed}: {error}", file=sys.stderr)
        return 1
    finally:
        reports.forget()
    return 1 if tally.troubles else 0


def _hit(trio: Trio, fault: Fault, verbose: bool) -> None:
    if verbose:
        print(fault, flush=True)
    try:
        apply(trio, fault)
    except Broken as broken:
        raise Broken(f"after fault {fault}: {broken}") from broken
    except (Unexpected, requests.RequestException) as error:
        if verbose:
            print(f"      {error}"[:200], flush=True)


def run(seed: int, count: int, *, look_every: int = 25, pause_s: float = 0.15, leave_out: frozenset[str] = frozenset(),
        verbose: bool = False, limit_s: float = 2700) -> dict[str, Any]:
    """The whole run; raises Broken with the number of the last fault. Hands back its figures."""
    started, longest = time.monotonic(), 0.0
    samples: list[dict[str, int]] = []
    with Trio() as trio, Watcher(trio) as watcher:
        settle(trio, {})
        for fault in make_plan(seed, count, VCENTERS, leave_out):
            _hit(trio, fault, verbose)
            time.sleep(pause_s)
            if time.monotonic() - started > limit_s:
                raise Broken(f"only {fault.number} of {count} faults in {limit_s / 60:.0f} minutes")
            if fault.number % look_every and fault.number != count:
                continue
            try:
                longest = max(longest, settle(trio, dict(watcher.kept)))
            except Broken as broken:
                raise Broken(f"after fault {fault}: {broken}") from broken
            assert trio.kaasd.process
            samples.append(usage(trio.kaasd.process.pid))
            if watcher.wrong:
                raise Broken(f"after fault {fault}: a wrong yes: {watcher.wrong[0]}")
            print(f"{fault.number:5} of {count}: {report(samples[-1])}", flush=True)
        # a sanitizer keeps what was freed
        slack = SLACK if build() == USERS_BUILD else {what: most for what, most in SLACK.items() if what != "rss_kb"}
        complaints = growth(samples, slack) if len(samples) >= 8 else []
        if complaints:
            raise Broken("; ".join(complaints))
        return {"faults": count, "seconds": round(time.monotonic() - started), "longest_recovery_s": round(longest, 1),
                "answers_watched": watcher.answers, **samples[-1], "operations": trio.actions}


def main() -> int:
    options = _arguments()
    if options.jobs:
        return _jobs(options)
    reports.watch()
    try:
        figures = run(options.seed, options.faults, look_every=options.look_every, pause_s=options.pause,
                      leave_out=frozenset(options.without), verbose=options.verbose, limit_s=60 * options.minutes)
        reports.refuse()
    except (Broken, WorldError) as error:
        print(f"FAILED with seed {options.seed}: {error}", file=sys.stderr)
        return 1
    finally:
        reports.forget()
    actions = figures.pop("operations")
    print("an administrator " + (", ".join(f"{what} {n} times" for what, n in actions.items()) or "did nothing"))
    print(f"kept: {report(figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
