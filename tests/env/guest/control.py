"""The keeper's side of the control port of the strict vCenter: what machines there are and what their guests say. Standard library only."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import json
import urllib.parse
from typing import Any

WAIT_S = 60.0
ANSWER_LIMIT_S = 30.0
OK = 200


class Refused(Exception):
    """The vCenter does not take it; the text says why."""


class Control:
    def __init__(self, url: str) -> None:
        self.url = url

    async def _ask(self, method: str, path: str, body: bytes = b"", limit_s: float = ANSWER_LIMIT_S) -> Any:
        """Raises OSError where nobody answers. Version 1.0: an answer ends with its connection and has no further form (RFC 1945)."""
        where = urllib.parse.urlsplit(self.url)
        async with asyncio.timeout(limit_s):
            reader, writer = await asyncio.open_connection(where.hostname, where.port)
            try:
                writer.write(f"{method} {path} HTTP/1.0\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
            finally:
                writer.close()
        if not answer:
            raise ConnectionError(f"{self.url}: the connection ended without an answer")
        if int(head.split()[1]) != OK:
            raise Refused(answer.decode(errors="replace").strip())
        return json.loads(answer)

    async def machines(self, after: int) -> tuple[int, list[dict[str, Any]]]:
        """What changed after that number, waiting for it, and the number to go on with."""
        told = await self._ask("GET", f"/vms?after={after}&wait_s={WAIT_S}", limit_s=WAIT_S + ANSWER_LIMIT_S)
        return told["seq"], told["vms"]

    async def says(self, moid: str, boot: int, **what: Any) -> None:
        """Raises Refused also when that boot is over."""
        await self._ask("POST", f"/vms/{moid}/guest", json.dumps({"boot": boot, **what}).encode())
