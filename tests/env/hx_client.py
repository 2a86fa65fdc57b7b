"""examples/hx-client as a program of its own, which is how a service of HX would run it: it shares nothing with kaasd or the tests."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .places import TOP
from .process import run
from .vcenter import User, Vcenter

PROGRAM = TOP / "examples/hx-client/hx_client.py"


def command(vcenter: Vcenter, *arguments: str) -> list[str]:
    """Trusts the vCenter by its CA, unless the arguments say how."""
    trust = [] if "--sha256" in arguments or "--ca-file" in arguments else ["--ca-file", str(vcenter.ca_file)]
    return [sys.executable, str(PROGRAM), "--vcenter", vcenter.address, *trust, *arguments]


def ask(vcenter: Vcenter, secret: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One run to its end; `secret` is a password or a session id."""
    return run(command(vcenter, *arguments), stdin=secret + "\n")


def names(output: str) -> list[str]:
    """Of the clusters that it lists."""
    return [line.split("\t")[0] for line in output.splitlines() if "\t" in line]


@contextmanager
def following(vcenter: Vcenter, user: User, *arguments: str) -> Iterator[Iterator[list[str]]]:
    """Lists of names, the first one and one for each change; it is ended by its process id."""
    with subprocess.Popen(command(vcenter, "--user", user.login, *arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdin and process.stdout
            process.stdin.write(user.password + "\n")
            process.stdin.close()
            yield _lists(iter(process.stdout))
        finally:
            process.terminate()


def _lists(lines: Iterator[str]) -> Iterator[list[str]]:
    for title in lines:
        count = int(title.split()[0])
        yield [next(lines).split("\t")[0] for _ in range(count)]
