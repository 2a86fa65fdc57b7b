"""Where the programs of tests/kube are: they are built into the cache by `scripts/kube build`, not by set-up."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from ..places import TOP, WorldError
from ..process import run


def tested_module() -> str:
    """Of the API servers of tests that name none: `scripts/check --full` has them run with the release before as well."""
    return os.environ.get("KAAS_KUBE_MODULE", "current")


def pinned(module: str) -> str:
    """The release of Kubernetes that a module is made of, as kubelets tell it: v1.36.3."""
    text = (TOP / "tests/kube" / module / "go.mod").read_text()
    return next(line.split()[-1] for line in text.splitlines() if "k8s.io/kubernetes v" in line)


@cache
def _folder(module: str) -> Path:
    asked = run([TOP / "scripts/kube", "where", module])
    if asked.returncode:
        raise WorldError(asked.stderr.strip())
    return Path(asked.stdout.strip())


def kube_program(name: str, module: str = "current") -> Path:
    """`module` is a folder of tests/kube."""
    return _folder(module) / name
