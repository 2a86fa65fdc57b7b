"""The stand-in itself: which call gets which answer, what was called, and what a test can set and ask."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import math
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypedDict, Unpack
from urllib.parse import unquote

from . import forms
from .cluster import Cluster
from .faults import Fault, begins, spoiled
from .forms import CLUSTERS, REGISTRATION, VCENTER, Refused, Request
from .host_page import HostPage
from .registration import Registrations
from .tokens import Accounts, Denied, Limited, Tokens, canonical
from .wire import Answer, Server

ALIAS = "1"  # of the one cluster
HOST = "127.0.0.1"


class Call(NamedTuple):
    """One call, noted just before it is answered. `path` is as it came, with the query; `status` 0: it is not answered; `user`: the account
    that is named in it, whether that is believed or not."""

    method: str
    path: str
    status: int
    user: str


class State(TypedDict, total=False):
    version: str
    state: str
    resiliency: str
    messages: list[str]
    space: str
    capacity: int
    used: int
    nodes_configured: int
    nodes_online: int
    alarms: list[dict[str, Any]]


def _context(certificate: Path | str, key: Path | str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # the library reads files only
        files = [Path(folder, "certificate.pem"), Path(folder, "key.pem")]
        for file, given in zip(files, (certificate, key), strict=True):
            file.touch(mode=0o600)
            file.write_text(given.read_text() if isinstance(given, Path) else given)
        context.load_cert_chain(str(files[0]), str(files[1]))
    return context


class HxConnect:
    """Context manager. Certificate and key are PEM texts, or Paths of files. `now` tells the time in seconds; what passes by itself is
    little, so tests move it by advance()."""

    def __init__(self, certificate_pem: Path | str, key_pem: Path | str, name: str = "HX-East",
                 uuid: str = "9004183636114227531:5445300663653806560", vcenter_datacenter: str = "DC0", vcenter_cluster: str = "DC0_C0",
                 now: Callable[[], float] = time.monotonic, port: int = 0) -> None:
        self.cluster = Cluster(name, uuid, vcenter_datacenter, vcenter_cluster)
        self.accounts = Accounts()
        self.page: HostPage | None = None  # what browsers are shown
        self.clock = 0.0  # seconds ahead of `now`
        self.tells_retry_after = True  # with the limits of sign-on
        self.registrations = Registrations()
        self._now = now
        self._tokens = Tokens(self.time_s, self.accounts)
        self._changed = threading.Condition(threading.RLock())
        self._calls: list[tuple[Call, frozenset[str]]] = []
        self._violations: list[str] = []
        self._faults: list[Fault] = []
        self._context = _context(certificate_pem, key_pem)
        self._server: Server | None = None
        self._port = port
        self._broken = 0

    # -- life --------------------------------------------------------------------------------------------------------------

    def start(self) -> HxConnect:
        """After a stop: on the same port again, with the same accounts, tokens and faults."""
        if self._server is None:
            self._server = Server(self._port, lambda: self._context, self._answered, self._refused, self._complain)
            self._port = int(self._server.server_address[1])
        return self

    def stop(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            server.end()
            self._broken += server.handshakes_broken

    def __enter__(self) -> HxConnect:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self._port

    @property
    def address(self) -> str:
        return f"{HOST}:{self._port}"

    @property
    def url(self) -> str:
        return f"https://{self.address}"

    def use_certificate(self, certificate_pem: Path | str, key_pem: Path | str) -> None:
        """For connections made from now on."""
        self._context = _context(certificate_pem, key_pem)

    # -- what the cluster is -----------------------------------------------------------------------------------------------

    @property
    def uuid(self) -> str:
        return self.cluster.uuid

    @uuid.setter
    def uuid(self, uuid: str) -> None:
        with self._changed:
            self.cluster.uuid = uuid

    def rename(self, name: str) -> None:
        with self._changed:
            self.cluster.name = name

    def move(self, vcenter_datacenter: str, vcenter_cluster: str) -> None:
        with self._changed:
            self.cluster.vcenter_datacenter, self.cluster.vcenter_cluster = vcenter_datacenter, vcenter_cluster

    def set(self, **state: Unpack[State]) -> None:
        if unknown := state.keys() - State.__annotations__.keys():
            raise TypeError(f"not of the state: {', '.join(sorted(unknown))}")
        with self._changed:
            for name, value in state.items():
                setattr(self.cluster, name, value)

    # -- time and sign-on --------------------------------------------------------------------------------------------------

    def time_s(self) -> float:
        return self._now() + self.clock

    def advance(self, seconds: float) -> None:
        with self._changed:
            self.clock += seconds

    @property
    def logins(self) -> int:
        """Successful ones; refreshing is none."""
        with self._changed:
            return self._tokens.logins

    @property
    def failures(self) -> int:
        """Passwords that were refused, of sign-ons and of Basic."""
        with self._changed:
            return self._tokens.failures

    def tokens_held(self, user: str | None = None) -> int:
        with self._changed:
            return self._tokens.held(user)

    def revoke_all(self) -> None:
        with self._changed:
            self._tokens.revoke_all()

    def evict_when_full(self, evicts: bool) -> None:
        """What becomes of the 17th token of the system is not documented: refused, unless this is set."""
        with self._changed:
            self._tokens.evicts_when_full = evicts

    # -- what was called ---------------------------------------------------------------------------------------------------

    @property
    def calls(self) -> list[Call]:
        with self._changed:
            return [call for call, _ in self._calls]

    @property
    def violations(self) -> list[str]:
        """What a client has sent that it must not; never with a secret."""
        with self._changed:
            return list(self._violations)

    @property
    def handshakes_broken(self) -> int:
        """How often TLS did not come about, as with a client that does not trust the certificate."""
        return self._broken + (self._server.handshakes_broken if self._server else 0)

    def _matching(self, path_prefix: str, method: str | None) -> list[Call]:
        return [call for call, ways in self._calls if begins(ways, path_prefix) and method in (None, call.method)]

    def count(self, path_prefix: str, method: str | None = None) -> int:
        """Encoded or not, by uuid or by alias; with `$` at its end the whole path."""
        with self._changed:
            return len(self._matching(path_prefix, method))

    def wait_for(self, path_prefix: str, count: int = 1, timeout: float = 60, method: str | None = None) -> list[Call]:
        """Until there were so many calls since the beginning; returns them."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._matching(path_prefix, method)) >= count, timeout):
                raise TimeoutError(f"no {count} calls of {path_prefix} in {timeout} s; there were {self.calls[-20:]}")
            return self._matching(path_prefix, method)

    def wait_until_quiet(self, timeout: float = 60) -> None:
        """Until every client has closed its connections."""
        if self._server is not None:
            self._server.wait_until_quiet(timeout)

    def _note(self, method: str, target: str, status: int, user: str) -> None:
        with self._changed:
            self._calls.append((Call(method, target, status, user), forms.ways_to_write(target, self.uuid)))
            self._changed.notify_all()

    def _complain(self, text: str) -> None:
        with self._changed:
            self._violations.append(text)

    # -- faults ------------------------------------------------------------------------------------------------------------

    def fault(self, path_prefix: str, kind: str, times: int | None = None, *, location: str = "", retry_after_s: int = 60) -> None:
        """`location`: of a redirect; without it one to this server, so that a client that follows is noticed. The newest fault that fits
        is taken."""
        with self._changed:
            self._faults.insert(0, Fault(path_prefix, kind, times, location or f"{self.url}/elsewhere", retry_after_s))

    def clear_faults(self) -> None:
        """Answers that hang or drip go on doing so."""
        with self._changed:
            self._faults.clear()

    def _take_fault(self, target: str) -> Fault | None:
        ways = forms.ways_to_write(target, self.uuid)
        for fault in self._faults:
            if fault.meets(ways):
                if fault.left is not None:
                    fault.left -= 1
                    if fault.left <= 0:
                        self._faults.remove(fault)
                return fault
        return None

    # -- answers -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def _json(status: int, body: bytes, **headers: str) -> Answer:
        return Answer(status, body, {"Content-Type": "application/json", **headers})

    def _error(self, status: int, text: str, **headers: str) -> Answer:
        return self._json(status, json.dumps({"code": status, "message": text}).encode(), **headers)

    def _refusal(self, method: str, target: str, no: Refused) -> Answer:
        if no.is_violation:
            self._complain(f"{method} {target}: {no}")
        if no.status == 401:
            no.headers.setdefault("WWW-Authenticate", 'Bearer realm="HX"')
        return self._error(no.status, str(no), **no.headers)

    def _refused(self, method: str, target: str, no: Refused) -> Answer:
        answer = self._refusal(method, target, no)
        answer.ends = True
        self._note(method, target, answer.status, "")
        return answer

    def _answered(self, request: Request) -> Answer:
        page = self.page.answer(request) if self.page else None  # beside the interface, at the same address
        if page is not None:
            return page
        with self._changed:
            try:
                answer = self._judged(request)
            except Refused as no:
                answer = self._refusal(request.method, request.target, no)
            self._note(request.method, request.target, 0 if answer.way == "none" else answer.status, request.user)
        return answer

    def _judged(self, request: Request) -> Answer:
        """First whether the call is well-formed, then faults, then whether it is allowed."""
        if request.path == REGISTRATION and self.registrations.way is None:
            raise Refused(404, "there is no such path", is_violation=False)
        forms.check_method(request)
        forms.check_headers(request)
        query = forms.check_query(request)
        members = forms.read_body(request) if request.method == "POST" else {}
        told = self._read_registration(request, query) if request.path == REGISTRATION else {}
        request.user = canonical(members.get("username", ""))
        fault = self._take_fault(request.target)
        if fault and fault.is_instead:
            return self._instead(fault)
        headers: dict[str, str] = {}
        try:
            if told:
                status, value = self._register(request, told, headers)
            else:
                status, value = self._signed_on(request, query, members) if members else (200, self._resource(request))
        except Denied as no:
            raise Refused(401, str(no), is_violation=False) from None
        except Limited as no:
            more = {"Retry_After": str(math.ceil(no.wait_s))} if self.tells_retry_after else {}
            raise Refused(429, str(no), is_violation=False, **more) from None
        answer = self._json(status, spoiled(fault.kind if fault else "", value), **headers)
        if fault:
            answer.way = {"cut": "cut", "drip": "drip", "huge": "endless"}.get(fault.kind, "whole")
        return answer

    def _instead(self, fault: Fault) -> Answer:
        match fault.kind:
            case "redirect":
                return self._error(302, "elsewhere", Location=fault.location)
            case "rate":
                return self._error(429, "too many requests", **{"Retry-After": str(fault.retry_after_s)})
            case "hang":
                return Answer(0, b"", way="none")
        status = fault.status or 500
        known = {one.value: one.phrase for one in HTTPStatus}
        return self._error(status, known.get(status, "a fault"))

    def _signed_on(self, request: Request, query: dict[str, str], members: dict[str, str]) -> tuple[int, dict[str, Any]]:
        tokens, access, refresh = self._tokens, members.get("access_token", ""), members.get("refresh_token", "")
        match request.path:
            case "/aaa/v1/auth":
                revoke = query.get("revoke_prev_tokens") == "true"
                return 201, tokens.login(members["username"], members["password"], revoke_previous=revoke).members()
            case "/aaa/v1/token":
                token = tokens.refresh(access, refresh)
                request.user = token.user
                return 201, token.members()
            case "/aaa/v1/validate":
                request.user = tokens.find(access).user
            case "/aaa/v1/revoke":
                request.user = tokens.revoke(access, refresh)
        return 200, {}

    def _read_registration(self, request: Request, query: dict[str, str]) -> dict[str, str]:
        return self.registrations.read(request) if request.method == "PUT" else self.registrations.read_query(query)

    def _register(self, request: Request, told: dict[str, str], headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """By the one proof that is demanded: what else is sent does not count."""
        match self.registrations.way:
            case "token":
                scheme, given, _ = forms.credentials(request)
                if scheme != "bearer":
                    raise Denied("a token is wanted")
                request.user = self._tokens.find(given).user
            case "kerberos":
                answer = self.registrations.prove_by_ticket(request)
                headers["WWW-Authenticate"] = f"Negotiate {base64.b64encode(answer).decode()}"
            case "callback":
                self.registrations.prove_by_callback(told, request.body)
        return (self.registrations.put if request.method == "PUT" else self.registrations.delete)(told), {}

    def _resource(self, request: Request) -> Any:
        scheme, given, password = forms.credentials(request)
        if scheme == "bearer":
            request.user = self._tokens.find(given).user
        else:
            request.user = canonical(given)
            self._tokens.check_password(given, password)
        if request.path == CLUSTERS:
            return self.cluster.listed()
        if request.path == VCENTER:
            return self.cluster.vcenter()
        found = forms.VIEW.fullmatch(request.path)
        assert found is not None  # check_method has seen to it
        if unquote(found[1]) not in (self.uuid, ALIAS):
            raise Refused(404, "there is no such cluster", is_violation=False)
        return self.cluster.view(found[2], HOST, int(self.time_s()))
