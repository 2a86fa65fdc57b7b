"""What a call may look like. Whatever is not documented is refused here, since the real interface promises nothing for it: a client that
passes has sent what Cisco's pages list, and nothing else."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl, unquote

from .cluster import VIEWS
from .tokens import TOKEN_TYPE

BODY_MAX_BYTES = 64 * 1024
CLUSTERS = "/coreapi/v1/clusters"
VCENTER = "/coreapi/v1/hypervisor/vcenter"
REGISTRATION = "/kaas/v1/registration"  # registration.py; nothing of Cisco's
VIEW = re.compile(rf"{CLUSTERS}/([^/]+)/({'|'.join(VIEWS)})")


class Refused(Exception):
    """An answer that is an error. `is_violation`: the client has sent what it must not; a wrong password or an old token is none."""

    def __init__(self, status: int, text: str, *, is_violation: bool = True, **headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.is_violation = is_violation
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass
class Request:
    method: str
    target: str
    headers: Message
    body: bytes
    user: str = ""  # who is named in it, once that is known

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True)
class Form:
    """Members of a body, all of them texts; of a query, with the values that are known."""

    members: tuple[str, ...]
    optional_members: tuple[str, ...] = ()
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional_query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# client_id and its kin: sent by Cisco's own samples, left out by the current documents.
FORMS = {
    "/aaa/v1/auth": Form(("username", "password"), ("client_id", "client_secret", "redirect_uri"),
                         {"grant_type": ("password",)}, {"revoke_prev_tokens": ("true", "false")}),
    "/aaa/v1/token": Form(("access_token", "refresh_token", "token_type"), query={"grant_type": ("refresh",)}),
    "/aaa/v1/validate": Form(("access_token", "scope", "token_type")),
    "/aaa/v1/revoke": Form(("access_token", "refresh_token", "token_type")),
}
VALUES = {"token_type": (TOKEN_TYPE,), "scope": ("READ", "MODIFY")}


def check_method(request: Request) -> None:
    if request.path in FORMS:
        allowed = "POST"
    elif request.path == REGISTRATION and request.method in ("PUT", "DELETE"):
        return
    elif request.path in (CLUSTERS, VCENTER) or VIEW.fullmatch(request.path):
        allowed = "GET"
    else:
        raise Refused(404, "there is no such path")
    if request.method != allowed:
        raise Refused(405, f"the method is {request.method}, not {allowed}", Allow=allowed)


def check_headers(request: Request) -> None:
    for name in ("Authorization", "Host", "Content-Type", "Content-Length"):
        if len(request.headers.get_all(name, [])) > 1:
            raise Refused(400, f"{name} is there twice")
    wanted = [one.partition(";")[0].strip().lower() for one in request.headers.get("Accept", "*/*").split(",")]
    if not {"*/*", "application/*", "application/json"} & {*wanted}:
        raise Refused(406, f"the answer is JSON, and only {', '.join(wanted)} is accepted")
    media = request.headers.get("Content-Type", "")
    if request.method in ("POST", "PUT") and not re.fullmatch(r"application/json(; *charset=utf-8)?", media, re.I):
        raise Refused(415, f"the body is of type {media}")
    if request.method in ("GET", "DELETE") and request.body:
        raise Refused(400, "there is a body")


def check_query(request: Request) -> dict[str, str]:
    form = FORMS.get(request.path, Form(()))
    is_ours = request.path == REGISTRATION and request.method == "DELETE"
    try:
        pairs = parse_qsl(request.query, keep_blank_values=True, strict_parsing=bool(request.query))
    except ValueError:
        raise Refused(400, "the query is none") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise Refused(400, "the query has a member twice")
    known = {**form.query, **form.optional_query}
    for name, value in () if is_ours else pairs:
        if value not in known.get(name, ()):
            raise Refused(400, f"the query has an unknown member or value: {name}")
    if missing := form.query.keys() - given.keys():
        raise Refused(400, f"the query lacks {', '.join(sorted(missing))}")
    return given


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a member is there twice")
    return dict(pairs)


def read_body(request: Request) -> dict[str, str]:
    """The members of a POST. Messages name members, never values: those are secrets."""
    form = FORMS[request.path]
    try:
        value = json.loads(request.body.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON, or has a member twice") from None
    if not isinstance(value, dict):
        raise Refused(400, "the body is not an object")
    if missing := {*form.members} - value.keys():
        raise Refused(400, f"the body lacks {', '.join(sorted(missing))}")
    if unknown := value.keys() - {*form.members, *form.optional_members}:
        raise Refused(400, f"the body has unknown members: {', '.join(sorted(unknown))}")
    for name, text in value.items():
        if not isinstance(text, str) or text not in VALUES.get(name, (text,)):
            raise Refused(400, f"the body has a wrong value of {name}")
    return value


def credentials(request: Request) -> tuple[str, str, str]:
    """Scheme, in small letters, and what it brings: (bearer, token, "") or (basic, user, password)."""
    text = request.headers.get("Authorization")
    if text is None:
        raise Refused(401, "there is no Authorization", is_violation=False)
    scheme, _, rest = text.partition(" ")
    if scheme == TOKEN_TYPE and rest and rest == rest.strip():
        return "bearer", rest, ""
    if scheme == "Basic":
        try:
            user, colon, password = base64.b64decode(rest, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            colon = ""
        if colon:
            return "basic", user, password
    raise Refused(401, f"the Authorization is not well-formed, its scheme is {scheme!r}" if len(scheme) < 12 else "there is no scheme")


def ways_to_write(target: str, uuid: str) -> frozenset[str]:
    """As it came, without percent-encoding, and with either name of the cluster: what a test may call it by."""
    plain = unquote(target)
    ways = {target, plain}
    found = re.fullmatch(rf"{CLUSTERS}/([^/?]+)(.*)", plain)
    if found and found[1] in ("1", uuid):
        ways |= {f"{CLUSTERS}/{name}{found[2]}" for name in ("1", uuid)}
    return frozenset(ways)
