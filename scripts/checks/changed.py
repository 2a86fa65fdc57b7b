"""What differs from main: a suite about one part of the project is left out of the landing check when nothing of that part does."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
from functools import cache

from .run import TOP

MAIN = "origin/main"


def _git(*arguments: str) -> list[str]:
    return subprocess.check_output(["git", *arguments], cwd=TOP, text=True, stderr=subprocess.DEVNULL).splitlines()


@cache
def files() -> frozenset[str] | None:
    """Paths that differ from the merge base with main, also those not committed; None, for everything, where that is HEAD or unknown."""
    try:
        base, head = _git("merge-base", "HEAD", MAIN)[0], _git("rev-parse", "HEAD")[0]
        if base == head:
            return None
        return frozenset(_git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard"))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None


def touches(*parts: str) -> bool:
    """Whether a file is, or lies below, one of the parts."""
    known = files()
    return known is None or any(path.startswith(parts) for path in known)
