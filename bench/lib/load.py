"""Load: wrk for TCP and TLS, h2load for unix sockets, which wrk cannot."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .cpu import cpu_ns

CONNECTIONS = 64
ATTEMPTS = 3


@dataclass
class Target:
    """A server, what is asked of it, and the processes that work for the answer."""

    url: str
    pids: Callable[[], list[int]]
    headers: Mapping[str, str] = field(default_factory=dict)
    unix: Path | None = None
    status: int = 200


def _wrk(target: Target, seconds: int) -> tuple[float, float]:
    words = [word for name, value in target.headers.items() for word in ("-H", f"{name}: {value}")]
    said = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", *words, target.url], capture_output=True, text=True,
                          check=True).stdout
    done, rate = re.search(r"(\d+) requests in", said), re.search(r"Requests/sec:\s+([\d.]+)", said)
    if "Non-2xx" in said and target.status < 300 or "Socket errors" in said or not done or not rate:
        raise SystemExit(f"{target.url}: not what was expected:\n{said}")
    return float(done[1]), float(rate[1])


def _h2load(target: Target, seconds: int) -> tuple[float, float]:
    words = [word for name, value in target.headers.items() for word in ("-H", f"{name}: {value}")]
    said = subprocess.run(["h2load", "--h1", "-t1", f"-c{CONNECTIONS}", f"-D{seconds}s", *words, "-B", f"unix:{target.unix}", target.url],
                          capture_output=True, text=True, check=True).stdout
    done = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", said)
    rate = re.search(r"([\d.]+) req/s", said)
    counts = [int(word) for word in done.groups()] if done else []
    wanted = counts[target.status // 100 - 2] if counts else 0
    if not rate or not wanted or sum(counts) != wanted:
        raise SystemExit(f"{target.url}: not what was expected:\n{said}")
    return float(wanted), float(rate[1])


def run(target: Target, seconds: int) -> dict[str, float]:
    """Requests per second, and microseconds of the server's CPU time per request. A load that was over before its handshakes were (the
    library spins on half a handshake, so the bare program can need longer than a second on a busy machine) is repeated."""
    for _ in range(ATTEMPTS):
        before = cpu_ns(target.pids())
        done, rate = (_h2load if target.unix else _wrk)(target, seconds)
        if done:
            return {"per_s": rate, "cpu_us": (cpu_ns(target.pids()) - before) / 1000 / done}
    raise SystemExit(f"{target.url}: no answer within {seconds} s, {ATTEMPTS} times")
