"""One program of the world: started with its output in a log, awaited by event, stopped by its process id."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .places import WorldError

READY_LIMIT_S = 120.0  # generous: sanitizer builds on a busy machine
STOP_LIMIT_S = 60.0
# A function between fork and exec would do the same, but wants a copy of this process for each start; without one Python takes vfork(2).
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")
REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", ": runtime error: ")


def pause(since: float) -> None:
    """Between two looks at what was waited for since then (monotonic): a tenth of the time so far, since each look costs the looked at."""
    time.sleep(min(0.25, max(0.02, (time.monotonic() - since) / 10)))


class Process:
    """A running program. `stop` is safe to repeat."""

    def __init__(self, name: str, argv: Sequence[str | Path], log_dir: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.argv = [str(word) for word in argv]
        self.log_path = log_dir / f"{name}.log"
        self._log = self.log_path.open("ab")
        self._popen = subprocess.Popen([*DIE_WITH_PARENT, *self.argv], stdin=subprocess.DEVNULL, stdout=self._log,
                                       stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, cwd=log_dir, start_new_session=True)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def tail(self, lines: int = 20) -> str:
        """The end of the log, without the questions of who waits for readiness: they would fill it."""
        told = [line for line in self.log.splitlines() if "path=/readyz" not in line]
        return "\n".join(told[-lines:])

    def wait_until(self, happened: Callable[[], object], what: str, limit_s: float = READY_LIMIT_S, *,
                   why_not: Callable[[], str] = lambda: "") -> None:
        """Waits for an event, at the same time for the death of the program. `why_not` is asked when it did not come: one line."""
        begin = time.monotonic()
        while not happened():
            if not self.alive:
                raise WorldError(f"{self.name} ended with status {self._popen.returncode} before {what}:\n{self.tail()}")
            if time.monotonic() > begin + limit_s:
                raise WorldError(f"{self.name}: no sign of {what} after {limit_s:.0f} s: {why_not()}\n{self.tail()}")
            pause(begin)

    def wait_end(self, limit_s: float = STOP_LIMIT_S) -> int:
        """Exit status of a program that ends by itself."""
        try:
            return self._popen.wait(limit_s)
        except subprocess.TimeoutExpired as late:
            raise WorldError(f"{self.name} did not end within {limit_s:.0f} s:\n{self.tail()}") from late

    def signal(self, number: signal.Signals) -> None:
        if self.alive:
            self._popen.send_signal(number)

    def freeze(self) -> None:
        """It stops answering but keeps its connections; returns when all of its threads stand still. Each goes on until it runs next and
        takes the signal: a request may still be answered when the signal has been sent."""
        self.signal(signal.SIGSTOP)
        self.wait_until(lambda: not any(state in "RSD" for state in self._states()), "its standing still")

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def _states(self) -> list[str]:
        """Of its threads, as in ps(1)."""
        states = []
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # just ended
                states.append((thread / "stat").read_text().rpartition(")")[2].split()[0])
        return states

    def stop(self, limit_s: float = STOP_LIMIT_S) -> int:
        """TERM, then a wait; a program that does not end is killed, and that is an error."""
        self.signal(signal.SIGTERM)
        try:
            return self._popen.wait(limit_s)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise WorldError(f"{self.name} had to be killed {limit_s:.0f} s after TERM:\n{self.tail()}") from late
        finally:
            self._log.close()

    def kill(self) -> None:
        """As power loss would."""
        self.signal(signal.SIGKILL)
        self._popen.wait()
        self._log.close()

    def sanitizer_reports(self) -> list[str]:
        return [line for line in self.log.splitlines() if any(mark in line for mark in REPORTS)]


def run(argv: Sequence[str | Path], *, stdin: str = "", limit_s: float = READY_LIMIT_S,
        env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end and hands back status and output; never a terminal, never for ever."""
    return subprocess.run([str(word) for word in argv], input=stdin, capture_output=True, text=True, timeout=limit_s, check=False,
                          env={**os.environ, **(env or {})})
