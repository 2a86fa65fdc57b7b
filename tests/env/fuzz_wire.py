"""Sends requests of schemathesis over one kept TLS connection per person, and hands answers back in its terms."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import gzip
import http.client
import itertools
import ssl
import time
import zlib
from pathlib import Path

import requests
from schemathesis.core.transport import Response
from schemathesis.generation.case import Case

LIMIT_S = 120


class Unsendable(Exception):
    """The HTTP client of the test refuses to send it."""


def prepare(case: Case, base: str, noise: dict[str, str]) -> requests.PreparedRequest:
    kwargs = case.as_transport_kwargs(base_url=base, headers=noise)
    try:
        prepared = requests.Request(**kwargs).prepare()
    except (requests.RequestException, UnicodeError, ValueError) as error:
        raise Unsendable(str(error)) from error
    prepared.headers.pop("Authorization", None)
    return prepared


class Wire:
    """A connection that is opened again when the server has closed it. Each request comes from an address of its own, told by
    X-Forwarded-For, so that the throttle of failed sign-ons, which counts by address, does not hide what lies behind it."""

    addresses = itertools.count(1)

    def __init__(self, port: int, ca_file: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca_file))
        self._kept: http.client.HTTPSConnection | None = None

    def _connection(self) -> http.client.HTTPSConnection:
        if self._kept is None:
            self._kept = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=LIMIT_S, context=self._context)
        return self._kept

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _once(self, prepared: requests.PreparedRequest, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connection()
        connection.request(prepared.method or "GET", prepared.path_url, body=prepared.body, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()

    def send(self, prepared: requests.PreparedRequest, authorization: str) -> Response:
        request = prepared.copy()
        number = next(self.addresses)
        request.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        if authorization:
            request.headers["Authorization"] = authorization
        headers = {name: value.decode("latin-1") if isinstance(value, bytes) else value for name, value in request.headers.items()}
        began = time.monotonic()
        try:
            answer, body = self._once(request, headers)
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLError):
            self.close()  # an answer before the end of the request closes the connection; then it is sent once more, as clients do
            answer, body = self._once(request, headers)
        except (ValueError, UnicodeError) as error:
            self.close()
            raise Unsendable(str(error)) from error
        named: dict[str, list[str]] = {}
        for name, value in answer.getheaders():
            named.setdefault(name, []).append(value)
        if answer.will_close:
            self.close()
        return Response(status_code=answer.status, headers=named, content=plain(body, answer.getheader("Content-Encoding")),
                        request=request, elapsed=time.monotonic() - began, verify=True, message=answer.reason)


def plain(body: bytes, coding: str | None) -> bytes:
    if coding in ("gzip", "x-gzip"):
        return gzip.decompress(body) if body else body
    return zlib.decompress(body) if coding == "deflate" and body else body
