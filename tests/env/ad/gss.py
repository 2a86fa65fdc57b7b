"""Clients of Kerberos, in a process whose environment names the realm's files: /usr/bin/python3 gss.py, JSON lines.

Tokens come from python-gssapi (MIT's library), so they are those of any client. Run under faketime the clock is another one."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import sys
from typing import Any

import gssapi
from gssapi.raw import ChannelBindings

SPNEGO = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
CHANNEL_BOUND = 2048  # GSS_C_CHANNEL_BOUND_FLAG
KRB5 = gssapi.OID.from_int_seq("1.2.840.113554.1.2.2")
gssapi.SecurityContext.__DEFER_STEP_ERRORS__ = False
contexts: dict[str, gssapi.SecurityContext] = {}


def initiate(ccache: str, spn: str, mech: str = "spnego", mutual: bool = True, bindings: str | None = None, delegate: bool = False,
             keep: str = "") -> str:
    """First token for a service ("HTTP@host" or a full principal with a slash), base64. `keep` names the context for step()."""
    kind = gssapi.NameType.kerberos_principal if "/" in spn else gssapi.NameType.hostbased_service
    flags = [gssapi.RequirementFlag.integrity]
    if mutual:
        flags.append(gssapi.RequirementFlag.mutual_authentication)
    if delegate:
        flags.append(gssapi.RequirementFlag.delegate_to_peer)
    creds = gssapi.Credentials(usage="initiate", store={b"ccache": ccache.encode()})
    context = gssapi.SecurityContext(
        name=gssapi.Name(spn, kind), creds=creds, mech={"spnego": SPNEGO, "krb5": KRB5}[mech], usage="initiate", flags=flags,
        channel_bindings=ChannelBindings(application_data=base64.b64decode(bindings)) if bindings else None)
    token = context.step()
    if keep:
        contexts[keep] = context
    return base64.b64encode(token).decode()


def step(keep: str, token: str) -> dict[str, Any]:
    """The server's answer to a kept context: the next token, and whether the client is content (the server proved itself)."""
    context = contexts[keep]
    made = context.step(base64.b64decode(token) if token else None)
    return {"token": base64.b64encode(made).decode() if made else "", "complete": context.complete}


def accept(keytab: str, token: str, bindings: str | None = None, tell: bool = False) -> dict[str, Any]:
    """What MIT's own acceptor says of a token: for trying the tokens themselves. `tell`: a refusal is what it would tell the client."""
    creds = gssapi.Credentials(usage="accept", store={b"keytab": keytab.encode(), b"rcache": b"none:"})
    channel = ChannelBindings(application_data=base64.b64decode(bindings)) if bindings else None
    context = gssapi.SecurityContext(creds=creds, usage="accept", channel_bindings=channel)
    try:
        answer = context.step(base64.b64decode(token))
    except gssapi.exceptions.GSSError as error:
        if not tell or not error.token:
            raise
        return {"refused": str(error), "token": base64.b64encode(error.token).decode()}
    attributes: dict[str, str] = {}
    name = context.initiator_name
    for wanted in (b"urn:mspac:logon-info", b"urn:mspac:client-info", b"urn:mspac:"):
        try:
            values = name.attributes[wanted].values
            attributes[wanted.decode()] = base64.b64encode(next(iter(values))).decode()
        except (KeyError, gssapi.exceptions.GSSError):
            continue
    return {"name": str(name), "attributes": attributes, "token": base64.b64encode(answer or b"").decode(), "complete": context.complete,
            "bound": bool(int(context.actual_flags) & CHANNEL_BOUND), "delegated": context.delegated_creds is not None}


def main() -> None:
    questions = {"initiate": initiate, "step": step, "accept": accept}
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer: dict[str, Any] = {"done": questions[asked.pop("do")](**asked)}
        except Exception as error:  # told to who asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
