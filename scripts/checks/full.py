"""The full check: every suite by itself, its result kept under the hash of the tree it was run on, so that a run may be resumed.
The table of kept results is the proof."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .counts import Count
from .lanes import count_of
from .run import LOGS, TOP
from .suites import Suite


def cache() -> Path:
    """The folder that scripts/lib/common.sh names."""
    return Path(os.environ["KAAS_CACHE"])


def git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=TOP, text=True).strip()


def kept_folder() -> Path:
    """Where the results of the committed tree are kept."""
    if git("status", "--porcelain"):
        sys.exit("scripts/check: there are changes that are not committed; results are kept by the committed tree, so commit them first")
    folder = cache() / "full" / git("rev-parse", "HEAD^{tree}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def table(suites: list[Suite], folder: Path) -> str:
    lines = [f"{'suite':<18} {'result':<26} {'minutes':>7}  commit"]
    for suite in suites:
        kept = folder / f"{suite.name}.json"
        row = json.loads(kept.read_text()) if kept.exists() else None
        result = f"{row['passed']} passed, {row['failed']} failed" if row else "not run"
        lines.append(f"{suite.name:<18} {result:<26} {row['minutes'] if row else 0:>7.1f}  {row['commit'] if row else '-'}")
    return "\n".join(lines)


def run_suites(suites: list[Suite], report: Callable[[Suite, Count, float], None], *, resume: bool) -> Count:
    """Runs one after the other; with `resume` not those that have passed on this tree already, which count as kept."""
    folder = kept_folder()
    total = Count()
    for suite in suites:
        kept = folder / f"{suite.name}.json"
        row = json.loads(kept.read_text()) if resume and kept.exists() else None
        if row and not row["failed"]:
            total += Count(row["passed"])
            continue
        start = time.monotonic()
        count = count_of(suite)
        seconds = time.monotonic() - start
        report(suite, count, seconds)
        kept.write_text(json.dumps({"passed": count.passed, "failed": len(count.failed), "flaky": count.flaky,
                                    "minutes": round(seconds / 60, 1), "commit": git("rev-parse", "--short", "HEAD")}))
        total += count
    told = table(suites, folder)
    (LOGS / "full.txt").write_text(told + "\n")
    print(told, flush=True)
    return total
