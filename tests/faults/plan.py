"""The plan of a run: which fault hits which vCenter, how; the same for the same seed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

# What is asked often enough to be hit; "*" hits whatever comes next.
OPERATIONS = ("*", "WaitForUpdatesEx", "RetrievePropertiesEx", "HasPrivilegeOnEntities", "LoginExtensionByCertificate", "CreateFilter",
              "CurrentTime", "FindExtension", "UpdateExtension", "SetExtensionCertificate", "RetrieveServiceContent", "versions", "CONNECT")
VIEWERS = ("viewer-east", "viewer-dc", "no-rights")
GRANTABLE = ("domain-c7", "domain-c70", "domain-c26")  # never domain-c40: whoever shows it to a viewer has said a wrong yes
CLUSTERS = (*GRANTABLE, "domain-c40")
# How often each kind of fault comes, relative to the others. A killed daemon costs a start, so it is rare.
WEIGHTS = {
    "drop": 30, "status": 10, "slow": 8, "hang": 4, "soap_fault": 8, "garbage": 6, "disconnect": 6, "expire": 8, "restart": 5, "clock": 4,
    "record_gone": 3, "record_changed": 4, "permission": 14, "rename": 6, "hx_record": 6, "migrate": 14, "power": 8, "certificate": 2,
    "rotate": 2, "kill": 1,
}


@dataclass(frozen=True)
class Fault:
    number: int
    vcenter: int
    kind: str
    values: dict[str, Any]

    def __str__(self) -> str:
        words = " ".join(f"{key}={value}" for key, value in self.values.items())
        return f"{self.number:5} vc{self.vcenter} {self.kind} {words}".rstrip()


def _values(rng: random.Random, kind: str) -> dict[str, Any]:
    op = rng.choice(OPERATIONS)
    match kind:
        case "drop":  # at every byte: the head, the middle, just before the end
            return {"op": op, "bytes": rng.choice((0, 1, rng.randrange(2, 400), rng.randrange(400, 20000))), "count": rng.randrange(1, 4)}
        case "status":
            return {"op": op, "status": rng.choice((429, 500, 502, 503, 504)), "count": rng.randrange(1, 5)}
        case "slow":
            return {"op": op, "delay_ms": rng.randrange(50, 3000), "count": rng.randrange(1, 4)}
        case "hang":
            return {"op": op, "count": 1}
        case "soap_fault":
            return {"op": op, "fault": rng.choice(("SystemError", "NotAuthenticated", "NoPermission", "InvalidCollectorVersion",
                                                   "ManagedObjectNotFound", "RequestCanceled")), "count": rng.randrange(1, 3)}
        case "garbage":
            return {"op": op, "kind": rng.choice(("html", "empty", "deep", "truncated")), "count": rng.randrange(1, 3)}
        case "restart":
            return {"down_ms": rng.randrange(0, 1500)}
        case "clock":
            return {"advance_s": rng.choice((30, 600, 1900, 7200))}
        case "permission":
            return {"viewer": rng.choice(VIEWERS), "entity": rng.choice(GRANTABLE), "granted": rng.random() < 0.5}
        case "rename":
            return {"entity": rng.choice(CLUSTERS), "name": f"Renamed-{rng.randrange(10**6)}"}
        case "hx_record":
            return {"entity": rng.choice(CLUSTERS), "there": rng.random() < 0.6}
        case "migrate" | "power":
            return {"pick": rng.random(), "to": rng.random(), "on": rng.random() < 0.6}
        case "record_gone":  # and what the repair meets
            op = rng.choice(("", "RegisterExtension", "SetExtensionCertificate", "FindExtension"))
            return {"op": op, "how": rng.choice(("close", "status")), "count": rng.randrange(1, 4)}
        case "record_changed":
            return {"how": rng.choice(("version", "address", "text"))}
    return {}


def make_plan(seed: int, count: int, vcenters: int, leave_out: frozenset[str] = frozenset()) -> list[Fault]:
    """`count` faults, drawn by their weights."""
    rng = random.Random(seed)
    kinds = [kind for kind in WEIGHTS if kind not in leave_out]
    weights = [WEIGHTS[kind] for kind in kinds]
    plan = []
    for number in range(1, count + 1):
        kind = rng.choices(kinds, weights)[0]
        plan.append(Fault(number, rng.randrange(vcenters), kind, _values(rng, kind)))
    return plan
