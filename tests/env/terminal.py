"""A program on a terminal of its own, for what is asked of a person."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .places import WorldError

LIMIT_S = 120.0


class Terminal:
    """Context manager; `screen` is everything that the person has seen."""

    def __init__(self, argv: Sequence[str | Path], columns: int = 80) -> None:
        self._master, self._slave = os.openpty()
        termios.tcsetwinsize(self._slave, (50, columns))
        self.screen = ""
        self._popen = subprocess.Popen([str(word) for word in argv], stdin=self._slave, stdout=self._slave, stderr=self._slave,
                                       start_new_session=True, preexec_fn=self._take_terminal)

    @staticmethod
    def _take_terminal() -> None:
        """As a login shell would: a test run in the background may have these signals switched off, and children inherit that."""
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()
        os.close(self._slave)
        os.close(self._master)

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._slave)[3] & termios.ECHO)

    def _read(self, limit_s: float) -> None:
        if select.select([self._master], [], [], limit_s)[0]:
            self.screen += os.read(self._master, 65536).decode(errors="replace")

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + LIMIT_S
        while text not in self.screen:
            if time.monotonic() > end or (self._popen.poll() is not None and not select.select([self._master], [], [], 0)[0]):
                raise WorldError(f"the terminal never showed {text!r}:\n{self.screen}")
            self._read(0.05)

    def wait_for_silence(self) -> None:
        """Until what is typed is not echoed."""
        end = time.monotonic() + LIMIT_S
        while self.echoes:
            if time.monotonic() > end:
                raise WorldError("the echo stays on")
            time.sleep(0.01)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def end(self, answer: Callable[[str], str | None] = lambda screen: None) -> int:
        """Exit status; negative after a signal. What `answer` says to what stands on the screen is typed, once to each screen."""
        end = time.monotonic() + LIMIT_S
        answered = ""
        while self._popen.poll() is None:
            if time.monotonic() > end:
                raise WorldError(f"the program does not end:\n{self.screen}")
            self._read(0.05)
            if self.screen != answered and (said := answer(self.screen)) is not None:
                answered = self.screen
                self.type(said + "\n")
        while select.select([self._master], [], [], 0)[0]:
            self._read(0)
        return self._popen.returncode
