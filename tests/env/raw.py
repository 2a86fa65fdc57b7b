"""HTTP byte by byte, for what no proper client sends."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

LIMIT_S = 60


class Answer:
    def __init__(self, data: bytes) -> None:
        head, _, self.rest = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.data = data
        words = lines[0].split()
        self.status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        self.headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}

    @property
    def body(self) -> bytes:
        return self.rest[: int(self.headers.get("content-length", "0"))]

    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def count(self) -> int:
        """How many answers came on the connection."""
        return self.data.count(b"HTTP/1.1 ")


def split(data: bytes) -> list[Answer]:
    """The answers on a connection, one behind the other, as a client reads them. What is no answer stays in `data` of a last one with
    status 0."""
    answers: list[Answer] = []
    while data:
        head, mark, rest = data.partition(b"\r\n\r\n")
        first = Answer(data)
        if not mark or not head.startswith(b"HTTP/1.") or first.status == 0:
            broken = Answer(data)
            broken.status = 0
            return [*answers, broken]
        told = first.headers.get("content-length", "")
        length = 0 if first.status in (204, 304) or first.status < 200 else int(told) if told.isdigit() else len(rest)
        first.data, data = head + mark + rest[:length], rest[length:]
        first.rest = rest[:length]
        answers.append(first)
    return answers


def talk(port: int, ca_file: Path, request: bytes) -> Answer:
    """Sends bytes over TLS and reads until the server closes the connection."""
    context = ssl.create_default_context(cafile=str(ca_file))
    got = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as tls,
    ):
        with suppress(OSError):  # the server may refuse before it has read everything; what counts is its answer
            tls.sendall(request)
        while True:
            try:
                part = tls.recv(65536)
            except (ConnectionError, ssl.SSLError):
                break
            if not part:
                break
            got += part
    return Answer(got)
