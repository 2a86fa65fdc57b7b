"""Where the programs of tests/kube are: they are built into the cache by `scripts/kube build`, not by set-up."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from functools import cache
from pathlib import Path

from ..places import TOP, WorldError
from ..process import run


@cache
def _folder(module: str) -> Path:
    asked = run([TOP / "scripts/kube", "where", module])
    if asked.returncode:
        raise WorldError(asked.stderr.strip())
    return Path(asked.stdout.strip())


def kube_program(name: str, module: str = "current") -> Path:
    """`module` is a folder of tests/kube."""
    return _folder(module) / name
