"""What may stand between a client and an API server: it ends TLS, knows only some protocols, refuses, cuts, and goes silent."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from ..places import free_port
from .server import Kube

T = TypeVar("T")
H2, H1 = "h2", "http/1.1"
HOST = "127.0.0.1"
LIMIT_S = 60
HEAD_BYTES_MAX = 65536
PIECE_BYTES = 65536
FRAME_GOAWAY = 7  # RFC 9113 6.8


@dataclass
class Asked:
    """A request of HTTP/1.1, all of its header behind the first line as one text. A rule may change the path, or let the header of the
    answer pass and never the body."""

    method: str
    path: str
    header: str
    only_header: bool = False


# Called for each request of HTTP/1.1, in a thread of its own: an answer in place of the server's, or None.
Rule = Callable[[Asked], bytes | None]


def answer(status: int, body: str = "", *header: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Said by the proxy", f"Content-Length: {len(body)}", "Connection: close", *header]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def refusing(status: int, *parts: str, header: Sequence[str] = ()) -> Rule:
    """Refuses requests with one of these parts in path or header."""
    def rule(asked: Asked) -> bytes | None:
        is_meant = any(part in asked.path or part in asked.header for part in parts)
        return answer(status, "no such thing here", *header) if is_meant else None

    return rule


@dataclass(eq=False)
class _Connection:
    protocol: str
    writer: asyncio.StreamWriter
    passes: asyncio.Event = field(default_factory=asyncio.Event)


class Proxy:
    """Open when made; a context manager. HTTP/2, if it is among `protocols`, passes as it is; of HTTP/1.1 each connection carries one
    request, which `rule` may look at. `spoken` has the protocol of each connection, `asked` each request of HTTP/1.1."""

    def __init__(self, kube: Kube, protocols: Sequence[str] = (H2, H1), rule: Rule | None = None) -> None:
        self.kube = kube
        self.rule = rule
        self.asked: list[Asked] = []
        self.spoken: list[str] = []
        self.passed = 0  # bytes of the server's, handed on
        self.hold_after: int | None = None  # so many, nothing passes any more
        self.port = free_port()
        cert = kube.ca.issue("kube-proxy", hosts=(HOST, "localhost"))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(cert.cert_file, cert.key_file)
        self._tls.set_alpn_protocols(list(protocols))
        self._open: set[_Connection] = set()
        self._is_deaf = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server | None = None
        self.open()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.shut()
        self._do(self._give_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    @property
    def connections(self) -> int:
        return len(self._open)

    # what a test does

    def open(self) -> None:
        """Takes connections, again after `shut` at the same port."""
        self._do(self._listen())

    def shut(self) -> None:
        """Takes no connections any more, and cuts those that there are."""
        self._do(self._unlisten())
        self.cut()

    def cut(self) -> None:
        """All connections break, without a farewell."""
        self._do(self._each(lambda one: one.writer.transport.abort()))

    def go_silent(self, *, for_all: bool = False) -> None:
        """Connections stay open and nothing passes any more: those that there are, or those to come as well until `speak`."""
        self._is_deaf = for_all
        self._do(self._each(lambda one: one.passes.clear()))

    def speak(self) -> None:
        """What was held back passes, and all else."""
        self._is_deaf = False
        self._do(self._each(lambda one: one.passes.set()))

    def say_goaway(self, last_stream: int = 2**31 - 1) -> None:
        """Tells clients of HTTP/2 that nothing is to be asked on this connection any more; streams above `last_stream` are not answered.
        Only while the server says nothing, or it would come in between its frames."""
        payload = last_stream.to_bytes(4, "big") + bytes(4)  # NO_ERROR
        frame = len(payload).to_bytes(3, "big") + bytes([FRAME_GOAWAY, 0]) + bytes(4) + payload
        self._do(self._each(lambda one: one.writer.write(frame) if one.protocol == H2 else None))

    # in the loop

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, self.port, ssl=self._tls, limit=HEAD_BYTES_MAX)

    async def _unlisten(self) -> None:
        if self._server:
            self._server.close()
            self._server = None

    async def _each(self, work: Callable[[_Connection], object]) -> None:
        for one in list(self._open):
            work(one)

    async def _give_up(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = writer.get_extra_info("ssl_object")
        one = _Connection(tls.selected_alpn_protocol() or H1, writer)
        if not self._is_deaf:
            one.passes.set()
        self.spoken.append(one.protocol)
        self._open.add(one)
        try:
            with contextlib.suppress(OSError, EOFError):  # either side may break off
                await self._carry(one, reader)
        finally:
            self._open.discard(one)
            writer.transport.abort()

    async def _carry(self, one: _Connection, reader: asyncio.StreamReader) -> None:
        asked, first = None, b""
        if one.protocol == H1:
            head = await reader.readuntil(b"\r\n\r\n")
            await one.passes.wait()
            asked = self._note(head)
            said = await asyncio.to_thread(self.rule, asked) if self.rule else None
            if said is not None:
                await self._say(one, said)
                return
            first = f"{asked.method} {asked.path} HTTP/1.1\r\nConnection: close\r\n{asked.header}".encode()
        await self._pass_on(one, reader, first, only_header=asked is not None and asked.only_header)

    def _note(self, head: bytes) -> Asked:
        line, _, header = head.decode().partition("\r\n")
        method, path, _ = line.split(" ")
        self.asked.append(Asked(method, path, header))
        return self.asked[-1]

    async def _say(self, one: _Connection, said: bytes) -> None:
        one.writer.write(said)
        await one.writer.drain()
        one.writer.close()
        await one.writer.wait_closed()

    async def _pass_on(self, one: _Connection, reader: asyncio.StreamReader, first: bytes, *, only_header: bool) -> None:
        """Until one of the two ends; the other is ended in the same way, but for what was cut."""
        tls = ssl.create_default_context(cafile=str(self.kube.ca_file))
        tls.set_alpn_protocols([one.protocol])
        server, server_writer = await asyncio.open_connection(self.kube.host, self.kube.port, ssl=tls)
        try:
            server_writer.write(first)
            up = asyncio.create_task(self._pump(one, reader, server_writer))
            down = asyncio.create_task(self._pump(one, server, one.writer, counts=True, only_header=only_header))
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            for task in (up, down):
                task.cancel()
            if down.done() and not down.cancelled() and not down.exception():
                one.writer.close()
                await one.writer.wait_closed()
        finally:
            server_writer.transport.abort()

    async def _pump(self, one: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool = False,
                    only_header: bool = False) -> None:
        while piece := await reader.read(PIECE_BYTES):
            await one.passes.wait()
            if only_header:
                head, _, _ = piece.partition(b"\r\n\r\n")  # a header is one piece of an API server
                piece = head + b"\r\n\r\n"
                one.passes.clear()
            writer.write(piece)
            await writer.drain()
            self.passed += len(piece) if counts else 0
            if self.hold_after is not None and self.passed >= self.hold_after:
                one.passes.clear()
