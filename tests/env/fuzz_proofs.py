"""Real proofs of who one is, for some of the made-up requests of the operations by which people and programs sign on: what is made up
proves nothing, so without these nobody would ever come in."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from schemathesis.core import NOT_SET

from . import vimclient
from .ad import LdapWorld, MitWorld, openldap
from .ad.joined import add_openldap
from .api import Api
from .full import World
from .fuzz_cases import Fuzzed

# The ways in, by operation: each must have let somebody in.
WAYS = {
    "loginVcenter": ("session id", "clone ticket", "plug-in's header", "session key, shown by a program"),
    "addSessionVcenter": ("session id", "clone ticket", "plug-in's header"),
    "loginPassword": ("local user", "user of a vCenter", "user of a directory"),
    "loginKerberos": ("ticket in the header", "ticket in the body"),
    "loginService": ("ticket in the header", "ticket in the body", "ticket, for a user"),
    "refreshToken": ("token",),
    "loginCode": ("code for another window",),
}
# How often a request that the contract allows gets one; passwords take the server long.
SHARE = {"loginPassword": 0.2}
VIEWER = "viewer-east@vsphere.local"
STORED_VIEWER = "VSPHERE.LOCAL\\viewer-east"
PERSON, PROGRAM = "bob", "svc-hx-east"
CHANGE = {"X-KaaS": "1", "Content-Type": "application/merge-patch+json"}


class People:
    """A Kerberos realm and the directory that serves it. `join` makes kaasd know both, and the people in them."""

    def __init__(self) -> None:
        self._stack, self._giver = ExitStack(), ExitStack()
        self.mit = self._stack.enter_context(MitWorld())
        self.ldap = self._stack.enter_context(LdapWorld())
        self._caches: dict[str, Path] = {}
        self.world: World
        self.password = "correct horse battery 0"

    def close(self) -> None:
        self._giver.close()
        self._stack.close()

    @property
    def options(self) -> dict[str, Any]:
        return {"keytab": str(self.mit.keytab("service")), "replay_cache": str(self.mit.scratch.path / "rcache"),
                "realms": [self.mit.realm]}

    def join(self, world: World, hx_cluster: str) -> None:
        self.world = world
        admin = world.admin
        add_openldap(admin, self.ldap)
        admin.expect(200, "PATCH", "/v2/ldap/lab", json={"realms": [self.mit.realm]}, headers=CHANGE)
        group = f"ldap:lab:{self.ldap.uuid(openldap.group_dn('kaas-viewers'))}"
        admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": group, "role": "user"})
        admin.expect(201, "POST", "/v2/services", json={"name": PROGRAM, "kerberos": f"{PROGRAM}@{self.mit.realm}", "may_delegate": True,
                                                        "hx_clusters": [hx_cluster]})
        admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"},
                     json={"name": "signer", "role": "user", "password": self.password, "must_change_password": False})

    def ticket(self, name: str) -> str:
        """A token that works once, in base64."""
        if name not in self._caches:
            self._caches[name] = self.mit.kinit(name)
        return base64.b64encode(self.mit.kerberos.token(self._caches[name])).decode()

    def program(self) -> Api:
        """Signed in as the service account."""
        api = self.world.kaasd.api()
        made = api.expect(200, "POST", "/v2/login/service", json={"token": self.ticket(PROGRAM)}, headers={"X-KaaS": "1"})
        return api.as_token(made["access_token"])

    def clone_ticket(self) -> str:
        """It is good while the session lives that gave it: until the next one."""
        self._giver.close()
        giver = vimclient.session(self.world.vcenter, self.world.vcenter.users["viewer-east"])
        return vimclient.clone_ticket(self._giver.enter_context(giver))


class Prover:
    """Puts proofs into the requests of one operation, each way in turn."""

    def __init__(self, people: People, operation: str, dice: random.Random) -> None:
        self.people = people
        self.operation = operation
        self.dice = dice
        self.count = 0

    def prove(self, fuzzed: Fuzzed) -> None:
        ways = WAYS.get(self.operation, ())
        if not ways or not fuzzed.positive or self.dice.random() >= SHARE.get(self.operation, 0.5):
            return
        fuzzed.way = ways[self.count % len(ways)]
        self.count += 1
        by = {"loginPassword": self.password, "loginKerberos": self.kerberos, "loginService": self.kerberos,
              "loginCode": self.code}.get(self.operation)
        if by:
            by(fuzzed)
        elif self.operation != "refreshToken":  # people's own tokens prove who they are
            self.vcenter(fuzzed)

    def vcenter(self, fuzzed: Fuzzed) -> None:
        case, vcenter = fuzzed.case, self.people.world.vcenter
        case.headers.pop("vmware-api-session-id", None)
        case.body = {"vcenter": vcenter.instance_uuid}
        match fuzzed.way:
            case "session id":
                case.body["session_id"] = vcenter.control.login(VIEWER)["cookie"]
            case "clone ticket":
                case.body["clone_ticket"] = self.people.clone_ticket()
            case "plug-in's header":
                case.headers["vmware-api-session-id"] = vcenter.control.plugin_token(VIEWER)
            case _:
                case.body |= {"session_id": vcenter.control.login(VIEWER)["key"], "user_name": STORED_VIEWER}
                fuzzed.proof = f"Bearer {self.people.program().token}"

    def password(self, fuzzed: Fuzzed) -> None:
        people = self.people
        fuzzed.case.body = {
            "local user": {"username": "signer", "password": people.password},
            "user of a vCenter": {"username": VIEWER, "password": people.world.vcenter.users["viewer-east"].password,
                                  "source": f"vcenter:{people.world.vcenter.instance_uuid}"},
            "user of a directory": {"username": PERSON, "password": people.ldap.passwords[PERSON], "source": "lab"},
        }[fuzzed.way]

    def code(self, fuzzed: Fuzzed) -> None:
        """It works once: the first of those who bring it comes in."""
        made = self.people.world.admin.expect(200, "POST", "/v2/session/code", headers={"X-KaaS": "1"})
        fuzzed.case.body = {"code": made["code"]}

    def kerberos(self, fuzzed: Fuzzed) -> None:
        is_program = self.operation == "loginService"
        token = self.people.ticket(PROGRAM if is_program else PERSON)
        user = {"on_behalf_of": {"vcenter": self.people.world.vcenter.instance_uuid, "user_name": STORED_VIEWER}}
        if fuzzed.way == "ticket in the header":
            fuzzed.proof = f"Negotiate {token}"
            fuzzed.case.body = {} if is_program else NOT_SET
        else:
            fuzzed.case.body = {"token": token, **(user if fuzzed.way == "ticket, for a user" else {})}
            fuzzed.case.media_type = "application/json"
