"""vimpeer (bench/govmomi): built by scripts/bench into build/bin, run with its input on standard input."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable

from env.places import program
from env.process import run
from env.vcenter import Vcenter


def vimpeer(vcenter: Vcenter, *words: str, lines: Iterable[str] = ()) -> tuple[int, int]:
    """As the administrator. How many things were done, and the CPU time they took in microseconds."""
    result = run([program("vimpeer"), vcenter.url, vcenter.ca_file or "", vcenter.api_version, vcenter.admin.login, *words],
                 stdin="\n".join((vcenter.admin.password, *lines)) + "\n")
    if result.returncode:
        raise SystemExit(f"vimpeer {' '.join(words)}: {result.stderr}")
    count, micros = result.stdout.split()
    return int(count), int(micros)
