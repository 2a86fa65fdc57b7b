"""What scripts/package makes."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

from env.places import WorldError
from env.process import run

ARTEFACTS = ("deb", "image", "chart")
LIMIT_S = 1800.0


def make(tree: Path, **environment: str) -> Path:
    """The folder with everything that is made of a tree."""
    made = run([tree / "scripts/package", *ARTEFACTS], limit_s=LIMIT_S, env=environment)
    if made.returncode:
        raise WorldError(f"scripts/package failed:\n{made.stdout[-3000:]}{made.stderr[-2000:]}")
    return tree / "build/packages"
