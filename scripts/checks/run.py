"""Runs one command of a suite: output into a log, no terminal, a time limit, and the whole process group ended with it.

Called by a thread that made itself nice, the command takes only the time that others leave."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
LOGS = BUILD / "logs"
GRACE_S = 60
JOBS = str(os.cpu_count() or 2)
NICE = 10
_running: set[subprocess.Popen[bytes]] = set()
_stopping = threading.Event()


@dataclass
class Result:
    status: int
    log: Path

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def tail(self, lines: int = 25) -> str:
        return "\n".join("    " + line for line in self.output.splitlines()[-lines:])


def run(name: str, *command: str, cwd: Path = TOP, env: dict[str, str] | None = None, limit_s: int = 1200) -> Result:
    """Runs the command into build/logs/check-NAME.log; a command over its time limit fails."""
    log = LOGS / f"check-{name}.log"
    if _stopping.is_set():
        raise InterruptedError("ended")
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        _running.add(process)
        pass_niceness(process)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            out.write(f"\nended: over the limit of {limit_s} s\n".encode())
            os.killpg(process.pid, signal.SIGTERM)  # lets it stop the servers it has started
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
            status = -1
        finally:
            end_group(process)
            _running.discard(process)
    return Result(status, log)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends what the command may have left behind in its own process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def be_nice() -> None:
    """For the calling thread, the threads and the commands it starts; Linux keeps niceness for each thread (setpriority(2))."""
    me = threading.get_native_id()
    os.setpriority(os.PRIO_PROCESS, me, max(NICE, os.getpriority(os.PRIO_PROCESS, me)))


def pass_niceness(process: subprocess.Popen[bytes]) -> None:
    """A session is a scheduling group of its own, in which niceness counts for nothing outside (sched(7), autogroup)."""
    nice = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    with contextlib.suppress(OSError):  # not there, or just ended
        Path(f"/proc/{process.pid}/autogroup").write_text(str(nice))


def end_all() -> None:
    """Ends the commands of all threads, and lets none begin any more."""
    _stopping.set()
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
