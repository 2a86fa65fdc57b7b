"""curl and jq, as a person at a shell would use them. Secrets go through curl's configuration on standard input, never through
arguments."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env.process import run


class WalkError(Exception):
    """A step did not come out as it should; the text is for the reader of the demo."""


@dataclass
class Answer:
    status: int
    body: str

    def jq(self, expression: str) -> Any:
        """The value of a jq expression over the body."""
        result = run(["jq", "-c", expression], stdin=self.body)
        if result.returncode:
            raise WalkError(f"jq {expression}: {result.stderr.strip()}: {self.body[:300]}")
        return json.loads(result.stdout) if result.stdout.strip() else None


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Curl:
    """Calls of one base address."""

    def __init__(self, base: str, ca_file: Path) -> None:
        self.base = base
        self.ca_file = ca_file

    def call(self, method: str, path: str, *, token: str = "", body: dict[str, Any] | None = None) -> Answer:
        lines = [f"url = {_quoted(self.base + path)}", f"request = {method}", "silent", "show-error", 'header = "X-KaaS: 1"',
                 f"cacert = {_quoted(str(self.ca_file))}", 'write-out = "\\n%{http_code}"', "max-time = 120"]
        if token:
            lines.append(f"header = {_quoted('Authorization: Bearer ' + token)}")
        if body is not None:
            lines += ['header = "Content-Type: application/json"', f"data-binary = {_quoted(json.dumps(body))}"]
        result = run(["curl", "--config", "-"], stdin="\n".join(lines) + "\n")
        if result.returncode:
            raise WalkError(f"{method} {path}: {result.stderr.strip()}")
        text, _, status = result.stdout.rpartition("\n")
        return Answer(int(status), text)

    def ok(self, status: int, method: str, path: str, **more: Any) -> Answer:
        answer = self.call(method, path, **more)
        if answer.status != status:
            raise WalkError(f"{method} {path}: {answer.status} where {status} is expected: {answer.body[:400]}")
        return answer
