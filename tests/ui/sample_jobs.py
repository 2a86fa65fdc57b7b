"""Sample jobs for the stand-in: a cluster that is being made, one that could not be, one that is being deleted. Data only."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from sample import ago, ident

CREATE = [("record", "look whether it can be built, and enter it in the list"), ("keys", "make its certificate authorities"),
          ("folder", "make the folder of its machines"), ("address", "choose the address of its API")]
MACHINE = [("draw", "choose name and address"), ("clone", "clone the template")]
BOOT = ("boot", "start the machine, until it is a node")
REST = [("connect", "connect to its API"), ("network", "install the network of its pods")]
DELETE = [("state", "say in the list that it is being deleted"), ("off", "shut down"), ("destroy", "destroy"),
          ("release", "give its address back"), ("folder", "remove the folder of its machines"), ("record", "take it out of the list")]


def step(number: int, name: str, title: str, of: str | None = None) -> dict[str, Any]:
    return {"number": number, "name": name, "item": ident(of) if of else None, "title": f"{title}: {of}" if of else title,
            "state": "pending", "started_at": None, "ended_at": None, "tries": 0, "percent": None, "reason": None, "remedy": None}


def create_steps(machines: list[str]) -> list[dict[str, Any]]:
    plan = [(*row, None) for row in CREATE] + [(*row, of) for of in machines for row in MACHINE]
    plan += [(*BOOT, machines[0]), *[(*row, None) for row in REST], *[(*BOOT, of) for of in machines[1:]]]
    plan += [("ready", "wait until Kubernetes calls all nodes Ready", None)]
    return [step(n, *row) for n, row in enumerate(plan)]


def delete_steps(machines: list[str]) -> list[dict[str, Any]]:
    first, *each, folder, record = DELETE
    plan = [(*first, None), *[(*row, of) for of in machines for row in each], (*folder, None), (*record, None)]
    return [step(n, *row) for n, row in enumerate(plan)]


def done(steps: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The first so many are done, each in 14 seconds."""
    ended = [s | {"state": "done", "tries": 1, "started_at": ago(seconds=600 - 15 * n), "ended_at": ago(seconds=586 - 15 * n)}
             for n, s in enumerate(steps[:count])]
    return ended + steps[count:]


def change(steps: list[dict[str, Any]], number: int, state: str, **more: Any) -> list[dict[str, Any]]:
    begun = {"state": state, "tries": 1, "started_at": ago(seconds=40)}
    return [s | begun | more if s["number"] == number else s for s in steps]


def job(cluster: str, kind: str, state: str, steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    title = {"cluster.create": "create the cluster", "cluster.delete": "delete the cluster"}[kind]
    return {"id": ident(f"job {cluster} {kind}"), "kind": kind, "title": title, "object_kind": "cluster",
            "object_id": ident(f"cluster {cluster}"), "object_name": cluster, "state": state, "reason": None, "remedy": None,
            "created_by": "admin", "request_id": None, "created_at": ago(seconds=602), "started_at": ago(seconds=601), "ended_at": None,
            "cancel_asked": False, "owner": "kaas-1", "steps": steps} | more


MACHINES = ["control plane 1", "control plane 2", "control plane 3", "worker 1", "worker 2"]
NO_ADDRESS = "provider edge: no address is left in 10.9.0.20-10.9.0.21"
CREATING = job("lab-new", "cluster.create", "running", change(change(done(create_steps(MACHINES), 9), 9, "waiting", percent=40,
                                                                   reason="the vCenter clones the template"), 10, "running"))
FAILED = job("edge-berlin", "cluster.create", "failed",
             change(done(create_steps(["control plane 1", "worker 1"]), 4), 4, "failed", reason=NO_ADDRESS,
                    remedy="give the provider more addresses: kaasctl provider apply FILE", ended_at=ago(seconds=39)),
             reason=f"choose name and address: control plane 1: {NO_ADDRESS}",
             remedy="give the provider more addresses: kaasctl provider apply FILE", ended_at=ago(seconds=38))
DELETING = job("lab-old", "cluster.delete", "running", change(done(delete_steps(["lab-old-cp-1", "lab-old-worker-1"]), 3), 3, "running"))


def line(seq: int, text: str) -> dict[str, Any]:
    return {"seq": seq, "at": ago(seconds=100 - seq), "step": None, "text": text}
