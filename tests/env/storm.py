"""Clients in numbers, bad ones and a few that behave well: the program tests/integ/storm_clients, and what a daemon uses meanwhile."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from .places import program

BAD_ADDRESS, GOOD_ADDRESS = "127.0.0.3", "127.0.0.2"


@dataclass
class Served:
    """What clients got. `answers`: by status, and under "closed" the connections that ended."""

    seconds: float
    p50_ms: float
    p99_ms: float
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return self.answers["200"] / self.seconds

    @property
    def not_ok(self) -> int:
        return sum(count for status, count in self.answers.items() if status not in {"200", "closed"})


class Clients:
    """Context manager: `count` of one kind (storm_kinds.c) that are all connected when it is entered."""

    def __init__(self, kind: str, port: int, count: int, *, address: str, per_second: float = 0, token: str | None = None) -> None:
        self.count = count
        self.answers: dict[str, int] = {}
        self._argv = [str(program("tests/integ/storm_clients")), kind, address, str(port), str(count), str(per_second)]
        self._token = token or ""

    def __enter__(self) -> Clients:
        self._process = subprocess.Popen(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         env={**os.environ, "STORM_TOKEN": self._token})
        assert self._process.stdout and self._process.stdout.readline() == "up\n", "the clients did not come up"
        return self

    def begin(self) -> None:
        """What was counted so far does not count."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> Served:
        said, _ = self._process.communicate()
        told = json.loads(said)
        self.answers = told["answers"]
        return Served(told["seconds"], told["p50_ms"], told["p99_ms"], Counter(self.answers))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.returncode is None:
            self.end()


class BadClients(Clients):
    def __init__(self, kind: str, port: int, count: int, *, per_second: float = 1000, token: str | None = None) -> None:
        super().__init__(kind, port, count, address=BAD_ADDRESS, per_second=per_second, token=token)


class GoodClients:
    """Eight clients at one address that ask for their list again and again over connections they keep, all together at a pace (0: as soon
    as they have the answer)."""

    def __init__(self, port: int, token: str, count: int = 8, per_second: float = 0) -> None:
        self.port, self.token, self.count, self.per_second = port, token, count, per_second

    def come(self) -> Clients:
        return Clients("good", self.port, self.count, address=GOOD_ADDRESS, per_second=self.per_second, token=self.token)

    def work(self, seconds: float) -> Served:
        with self.come() as clients:
            clients.begin()
            time.sleep(seconds)
            return clients.end()


@dataclass(frozen=True)
class Use:
    """What a process uses now."""

    rss_kb: int
    descriptors: int
    cpu_s: float


def use_of(pid: int) -> Use:
    status = Path(f"/proc/{pid}/status").read_text()
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return Use(int(status.split("VmRSS:")[1].split()[0]), len(list(Path(f"/proc/{pid}/fd").iterdir())),
               (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"))
