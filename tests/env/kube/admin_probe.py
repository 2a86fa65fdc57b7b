"""What a job that builds a cluster asks of it as its administrator: the program tests/integ/kube_admin_probe."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
from types import TracebackType
from typing import Any

from ..client_certs import ClientCert
from ..places import WorldError, program
from ..process import READY_LIMIT_S
from .server import Kube


class AdminProbe:
    """Runs when made, with this client certificate; a context manager."""

    def __init__(self, kube: Kube, cert: ClientCert) -> None:
        self._popen = subprocess.Popen(
            [program("tests/integ/kube_admin_probe"), kube.url, kube.ca_file, cert.cert_file, cert.key_file], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> AdminProbe:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._popen.stdin and self._popen.stdout
        self._popen.stdin.close()
        status = self._popen.wait(READY_LIMIT_S)
        self._popen.stdout.close()
        if not kind and status:
            raise WorldError(f"kube_admin_probe ended with status {status}")

    def do(self, command: str) -> dict[str, Any]:
        """A command of the program; what it found, or the error (code, text)."""
        assert self._popen.stdin and self._popen.stdout
        self._popen.stdin.write(command + "\n")
        told: dict[str, Any] = json.loads(self._popen.stdout.readline())
        return told
