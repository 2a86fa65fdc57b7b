"""A helper program that is spoken to in JSON lines: one question, one answer."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..places import WorldError
from ..process import DIE_WITH_PARENT

END_LIMIT_S = 20


class Lines:
    """Running when made; ends when its input closes, and with us. One that `outlives` us has only its input to tell it of our end, and may
    clean up then."""

    def __init__(self, name: str, argv: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None, *, outlives: bool = False,
                 end_limit_s: float = END_LIMIT_S) -> None:
        self.name = name
        self.log = log
        self._end_limit_s = end_limit_s
        self._turn = threading.Lock()
        with log.open("ab") as out:
            bond = () if outlives else DIE_WITH_PARENT
            self._popen = subprocess.Popen([*bond, *map(str, argv)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out,
                                           encoding="utf-8", env=env, start_new_session=True)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def read(self) -> dict[str, Any]:
        line = self._popen.stdout.readline() if self._popen.stdout else ""
        if not line:
            status = self._popen.wait(self._end_limit_s)
            raise WorldError(f"{self.name} ended with status {status}: {self.log.read_text(errors='replace')[-2000:].strip()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, do: str, **more: Any) -> Any:
        with self._turn:
            assert self._popen.stdin
            self._popen.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._popen.stdin.flush()
            answer = self.read()
        if "error" in answer:
            raise WorldError(f"{self.name}, {do}: {answer['error']}")
        return answer["done"]

    def close(self) -> None:
        if self._popen.stdin and not self._popen.stdin.closed:
            self._popen.stdin.close()
        try:
            self._popen.wait(self._end_limit_s)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        if self._popen.stdout:
            self._popen.stdout.close()
