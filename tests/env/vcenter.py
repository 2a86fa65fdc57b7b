"""vCenters: the strict one of tests/vcenter with its control port, and the unmodified simulator."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .api import client
from .places import TOP, Scratch, WorldError, free_port, program
from .process import READY_LIMIT_S, Process, pause

DEFAULT_WORLD = TOP / "tests/vcenter/worlds/default.json"
CONTROL_LIMIT_S = READY_LIMIT_S + 30  # of its own waits too


class Control:
    """The control port of the strict vCenter; tests/vcenter/README.md has the reference of every call."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = client()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, **query: str) -> Any:
        answer = self._client.request(method, self.url + path, json=body, params=query, timeout=CONTROL_LIMIT_S)
        if not answer.ok:
            raise WorldError(f"the vCenter's control port: {method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    def state(self) -> dict[str, Any]:
        return self.call("GET", "/state")

    def calls(self, **query: str) -> list[dict[str, Any]]:
        """The call log; op=, user= and after= choose."""
        return self.call("GET", "/calls", **query)["calls"]

    def pending(self) -> list[dict[str, Any]]:
        """The calls that the vCenter is working on now: idle is one WaitForUpdatesEx for each watch."""
        return self.call("GET", "/calls/pending")["calls"]

    def call_sums(self, bucket_s: int = 3600, after: int = 0) -> dict[str, Any]:
        """The call log in sums: total, by_operation, buckets (of the vCenter's clock), by_session."""
        return self.call("GET", "/calls/summary", bucket_s=str(bucket_s), after=str(after))

    def last_call(self) -> int:
        """The number of the latest call, for after=."""
        listed = self.calls()
        return listed[-1]["seq"] if listed else 0

    def forget_calls(self) -> None:
        self.call("DELETE", "/calls")

    def fault(self, op: str, kind: str, **more: Any) -> int:
        """Orders a fault for an operation; hands back its id."""
        return self.call("POST", "/faults", {"op": op, "kind": kind, **more})["id"]

    def hold(self, op: str, *, executed: bool, **more: Any) -> int:
        """Orders that calls of an operation are held: before they are executed or after; hands back the rule's id."""
        return self.fault(op, "hold-after" if executed else "hold-before", **more)

    def await_held(self, rule: int, held: int = 1, limit_s: float = READY_LIMIT_S) -> int:
        """Waits until a rule holds so many calls."""
        return self.call("POST", "/faults/wait", {"id": rule, "held": held, "timeout_ms": int(limit_s * 1000)})["held"]

    def release(self, rule: int, *, drop: bool = False) -> None:
        """Lets held calls go, or closes their connections without an answer."""
        self.call("POST", "/faults/release", {"id": rule, "drop": drop})

    def break_answer(self, op: str, k: int = 1, after_bytes: int = 0) -> int:
        """Orders that the k-th answer breaks off after so many bytes."""
        return self.fault(op, "close", skip=k - 1, bytes=after_bytes, count=1)

    def close_port(self, port: str = "front", *, for_ms: int = 0, disconnect: bool = True) -> None:
        """Closes a port, so that connecting is refused, until open_port() or for some time."""
        self.call("POST", "/ports", {"port": port, "closed_ms": for_ms, "disconnect": disconnect})

    def open_port(self, port: str = "front") -> None:
        self.call("POST", "/ports", {"port": port, "open": True})

    def disconnect(self) -> None:
        """Closes all connections and keeps the sessions."""
        self.call("POST", "/disconnect")

    def churn(self, per_second: int, *, what: str = "power", seconds: float = 0, ids: tuple[str, ...] = ()) -> None:
        """Begins a flood of changes of machines (power or name); they are at the end as they were before."""
        self.call("POST", "/churn", {"per_second": per_second, "what": what, "seconds": seconds, "ids": list(ids)})

    def stop_churn(self) -> int:
        """Ends the flood; hands back how many changes there were."""
        self.call("DELETE", "/churn")
        return self.call("GET", "/churn")["changes"]

    def settings(self, **values: Any) -> dict[str, Any]:
        return self.call("POST", "/settings", values)

    def clear_faults(self) -> None:
        self.call("DELETE", "/faults")

    def permit(self, entity: str, principal: str, role: str = "ReadOnly", **more: Any) -> None:
        self.call("POST", "/permissions", {"entity": entity, "principal": principal, "role": role, **more})

    def forbid(self, entity: str, principal: str, **more: Any) -> None:
        self.call("POST", "/permissions", {"entity": entity, "principal": principal, "remove": True, **more})

    def role(self, name: str, *privileges: str) -> None:
        """Adds a role or replaces its privileges."""
        self.call("POST", "/roles", {"name": name, "privileges": list(privileges)})

    def drop_role(self, name: str) -> None:
        """Removes a role with the permissions that use it."""
        self.call("POST", "/roles", {"name": name, "remove": True})

    def put_user(self, name: str, password: str, **more: Any) -> str:
        """Adds or replaces a user; hands back the stored name."""
        return self.call("POST", "/users", {"name": name, "password": password, **more})["user_name"]

    def drop_user(self, name: str, **more: Any) -> None:
        self.call("POST", "/users", {"name": name, "remove": True, **more})

    def post_event(self, kind: str = "EventEx", **more: Any) -> None:
        """Posts events: event_type_id=, message=, entity= (moref), user=, count=."""
        self.call("POST", "/events", {"type": kind, **more})

    def login(self, user: str) -> dict[str, str]:
        """A session without a password: {cookie, key, user_name}."""
        return self.call("POST", "/sessions", {"user": user})

    def login_extension(self, key: str) -> dict[str, str]:
        return self.call("POST", "/sessions", {"extension": key})

    def sessions(self) -> list[dict[str, Any]]:
        return self.call("GET", "/sessions")

    def expire(self, **which: Any) -> int:
        """Ends sessions: key=, user= or all=True."""
        return self.call("POST", "/sessions/expire", which)["ended"]

    def extensions(self) -> dict[str, dict[str, Any]]:
        return {row["key"]: row for row in self.call("GET", "/extensions")}

    def plugin(self, key: str) -> dict[str, Any] | None:
        """What became of the plug-in of a record: state (in-progress, deployed, failed), reason, version, url, when, fetches."""
        return self.extensions()[key].get("plugin")

    def await_plugin(self, key: str, version: str | None = None, limit_s: float = READY_LIMIT_S) -> dict[str, Any]:
        """Waits until the manifest of a record was fetched (deployed) or refused (failed), of a version if one is given."""
        begin = time.monotonic()
        while time.monotonic() < begin + limit_s:
            found = self.extensions().get(key, {}).get("plugin")
            if found and found["state"] != "in-progress" and version in (None, found["version"]):
                return found
            pause(begin)
        raise WorldError(f"the vCenter has not looked at the manifest of {key} within {limit_s} s")

    def solution_install(self, key: str, **more: str) -> dict[str, str]:
        """Deploys an appliance, as it were: token, endpoint, thumbprint_sha256, ovf_environment (XML text)."""
        return self.call("POST", "/solution-install", {"plugin_id": key, **more})

    def plugin_token(self, user: str, token: str = "") -> str:
        """A plug-in token of a person who is signed in to the vSphere Client; `token`: that of a linked vCenter, to be good here, too."""
        return self.call("POST", "/plugin-token", {"user": user, **({"token": token} if token else {})})["token"]

    def put_extension(self, **record: Any) -> None:
        self.call("POST", "/extensions", record)

    def drop_extension(self, key: str) -> None:
        self.call("DELETE", "/extensions", key=key)

    def change_certificate(self, mode: str) -> None:
        self.call("POST", "/certificate", {"mode": mode})

    def restart(self, down_ms: int = 0, tasks: str = "undone") -> None:
        """Restarts the vCenter service; `tasks`: how much of the work of running tasks is done (undone, half, done)."""
        self.call("POST", "/restart", {"down_ms": down_ms, "tasks": tasks})

    def tasks(self) -> list[dict[str, Any]]:
        """The tasks that are there: id, op, entity, entity_name, user, state, progress, cancelable, cancelled, error, result."""
        return self.call("GET", "/tasks")["tasks"]

    def plan_tasks(self, op: str = "*", **more: Any) -> int:
        """Orders what becomes of coming tasks (entity=, count=, skip=, duration_ms=, hold_at=, fail_at=, fault=, text=, work=,
        cancelable=); hands back the rule's id."""
        return self.call("POST", "/tasks", {"op": op, **more})["id"]

    def await_tasks(self, rule: int, held: int = 1, limit_s: float = READY_LIMIT_S) -> int:
        """Waits until a rule holds so many tasks."""
        return self.call("POST", "/tasks/wait", {"id": rule, "held": held, "timeout_ms": int(limit_s * 1000)})["held"]

    def release_tasks(self, rule: int) -> None:
        """Lets the tasks that a rule holds go on, and ends the rule."""
        self.call("POST", "/tasks/release", {"id": rule})

    def forget_task_rules(self) -> None:
        self.call("DELETE", "/tasks")

    def vms(self, after: int = 0, wait_s: float = 0, moref: str = "") -> tuple[int, list[dict[str, Any]]]:
        """The machines that changed after a number, as they are now, and the number for the next call; waits for one if there is none."""
        answer = self.call("GET", "/vms", after=str(after), wait_s=str(wait_s), **({"id": moref} if moref else {}))
        return answer["seq"], answer["vms"]

    def vm(self, moref: str) -> dict[str, Any]:
        """One machine as it is now."""
        rows = self.vms(moref=moref)[1]
        if not rows:
            raise WorldError(f"the vCenter has no machine {moref}")
        return rows[0]

    def guest_says(self, moref: str, **report: Any) -> None:
        """What VMware Tools in a machine say: boot=, tools_running_status=, host_name=, ip_address=, net=, guestinfo=, shut_down=,
        rebooted=."""
        self.call("POST", f"/vms/{moref}/guest", report)

    def advance_clock(self, seconds: float) -> None:
        self.call("POST", "/clock", {"advance_s": seconds})

    def skew_clock(self, seconds: float) -> None:
        """Makes the clock wrong for all that is told, without touching the life of sessions."""
        self.call("POST", "/clock", {"skew_s": seconds})

    def objects(self, kind: str = "") -> list[dict[str, str]]:
        """The inventory: type, id, name, parent, and host of machines."""
        return [row for row in self.call("GET", "/objects") if kind in ("", row["type"])]

    def object(self, action: str, **more: Any) -> Any:
        return self.call("POST", "/objects", {"action": action, **more})

    def create_machines(self, cluster: str, name: str, **vm: Any) -> list[str]:
        """Makes machines in a cluster (count= for a row); hands back their morefs."""
        return self.object("create", id=cluster, vm={"name": name, **vm})["ids"]

    def create_template(self, cluster: str, name: str, **vm: Any) -> str:
        """Makes a template with a disk, a network card and a snapshot, from which machines can be cloned; hands back its moref."""
        usual = {"disks_gb": [20], "nics": ["VM Network"], "snapshot": "base", "template": True}
        return self.create_machines(cluster, name, **{**usual, **vm})[0]

    def create_network(self, datacenter: str, name: str) -> str:
        """Makes a port group; hands back its moref."""
        return self.object("create", id=datacenter, network=name)["id"]

    def set_room(self, datastore: str, **room: int) -> None:
        """Sets capacity_bytes= or free_bytes= of a datastore."""
        self.object("room", id=datastore, **room)

    def create_host(self, cluster: str, name: str, **host: Any) -> str:
        return self.object("create", id=cluster, host={"name": name, **host})["id"]

    def rename(self, moref: str, name: str) -> None:
        self.object("rename", id=moref, name=name)

    def remove(self, moref: str) -> None:
        """Removes an object with all below it."""
        self.object("remove", id=moref)

    def power(self, moref: str, on: bool) -> None:
        self.object("power", id=moref, state="poweredOn" if on else "poweredOff")

    def connection(self, moref: str, state: str) -> None:
        """Sets the connection state of a machine or of a host with its machines."""
        self.object("connection", id=moref, state=state)

    def identify(self, moref: str, **uuids: str) -> None:
        """Changes uuid= or instance_uuid= of a machine."""
        self.object("identify", id=moref, **uuids)

    def migrate(self, machine: str, host: str) -> None:
        self.object("migrate", id=machine, to=host)

    def move(self, moref: str, to: str) -> None:
        """Moves a host with its machines to another cluster, or an object to another folder."""
        self.object("move", id=moref, to=to)


@dataclass
class User:
    name: str
    password: str
    domain: str = "vsphere.local"

    @property
    def login(self) -> str:
        return f"{self.name}@{self.domain}"


@dataclass
class Vcenter:
    """What a client must know of a vCenter."""

    process: Process
    host: str
    port: int
    tunnel_port: int | None
    ca_file: Path | None
    sha256: str
    instance_uuid: str
    api_version: str
    admin: User
    users: dict[str, User] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.address}/sdk"

    def stop(self) -> None:
        self.process.stop()


@dataclass
class StrictVcenter(Vcenter):
    control: Control = field(default_factory=lambda: Control(""))


def users_of(world: Path) -> dict[str, User]:
    listed = json.loads(world.read_text())["users"]
    return {user["name"]: User(user["name"], user["password"]) for user in listed if "domain" not in user}


def start_strict(scratch: Scratch, name: str = "vcenter", *, world: Path = DEFAULT_WORLD, flags: tuple[str, ...] = (),
                 inside: Sequence[str] = ()) -> StrictVcenter:
    """Starts a strict vCenter; it is ready when its ready file is there. `inside` as of netns.Network."""
    ready_file = scratch.path / f"{name}.json"
    ready_file.unlink(missing_ok=True)
    command = [*inside, program("strictvc"), "--world", world, "--ready-file", ready_file, "--names", "localhost", *flags]
    # it is small: collecting garbage less often is a seventh of the time that it takes to start
    process = Process(name, command, scratch.log, env={"TMPDIR": str(scratch.path), "GOGC": "400"})
    process.wait_until(ready_file.exists, "the ready file")
    ready = json.loads(ready_file.read_text())
    host, port = ready["address"].rsplit(":", 1)
    tunnel = ready.get("tunnel", "")
    users = users_of(world)
    return StrictVcenter(
        process=process, host=host, port=int(port), tunnel_port=int(tunnel.rsplit(":", 1)[1]) if tunnel else None,
        ca_file=Path(ready["ca_file"]) if ready.get("ca_file") else None, sha256=ready["thumbprint_sha256"],
        instance_uuid=ready["instance_uuid"], api_version=ready["api_version"], admin=users["Administrator"], users=users,
        control=Control(ready["control"]))


def _answers(port: int) -> str:
    """The certificate a TLS server shows, or nothing while it is not up."""
    try:
        return ssl.get_server_certificate(("127.0.0.1", port), timeout=5)
    except OSError:
        return ""


def start_vcsim(scratch: Scratch, name: str = "vcsim", *, flags: tuple[str, ...] = ()) -> Vcenter:
    """Starts the unmodified simulator of govmomi."""
    from cryptography import x509

    from .certs import thumbprint

    port = free_port()
    process = Process(name, [program("vcsim"), "-l", f"127.0.0.1:{port}", "-username", "administrator@vsphere.local",
                             "-password", "sim-Pass1", *flags], scratch.log, env={"TMPDIR": str(scratch.path)})
    process.wait_until(lambda: _answers(port), "an answer on its port")
    pem = _answers(port)
    ca_file = scratch.path / f"{name}.pem"
    ca_file.write_text(pem)
    admin = User("administrator", "sim-Pass1")
    return Vcenter(process=process, host="127.0.0.1", port=port, tunnel_port=None, ca_file=ca_file,
                   sha256=thumbprint(x509.load_pem_x509_certificate(pem.encode())), instance_uuid="", api_version="",
                   admin=admin, users={"administrator": admin})
