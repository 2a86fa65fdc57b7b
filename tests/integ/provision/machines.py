"""A daemon that makes machines by jobs of its own (machine_kaasd), a strict vCenter, and guests that say what a test has them say."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from env.dying import Dying
from env.full import World, add_vcenter, register
from env.logins import until, wait_connected
from env.places import WorldError
from env.vcenter import StrictVcenter, User

NETWORK = "Nodes"
LIMIT_S = 30
ALL = ("VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Inventory.Delete", "VirtualMachine.Provisioning.DeployTemplate",
       "VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Annotation", "VirtualMachine.Config.CPUCount",
       "VirtualMachine.Config.ManagedBy", "VirtualMachine.Config.Memory", "VirtualMachine.Config.Settings",
       "VirtualMachine.Config.AddRemoveDevice", "VApp.ApplicationConfig", "VirtualMachine.Interact.PowerOn",
       "VirtualMachine.Interact.PowerOff",
       "Resource.AssignVMToPool", "Datastore.AllocateSpace", "Network.Assign", "Folder.Create", "Folder.Delete")
OWN = ("Sessions.ValidateSession", "Sessions.TerminateSession", "Extension.Update", "Extension.Register", "Extension.Unregister",
       "Global.LogEvent")
BUILDER = User("builder", "builder-Pass1")

Say = Callable[[dict[str, Any], str], list[dict[str, Any]]]


def good(vm: dict[str, Any], address: str) -> list[dict[str, Any]]:
    """A guest that becomes a node."""
    net = [{"mac": vm["nics"][0]["mac"], "addresses": [f"{address}/24"]}]
    return [{"tools_running_status": "guestToolsRunning", "host_name": vm["name"], "guestinfo": {"guestinfo.kaas.phase": "checking"}},
            {"ip_address": address, "net": net, "guestinfo": {"guestinfo.kaas.phase": "join"}},
            {"guestinfo": {"guestinfo.kaas.phase": "done"}}]


class Guests:
    """The guests of all machines that run: each run of one says once what `say` gives, in order."""

    def __init__(self, vcenter: StrictVcenter, address_of: Callable[[str], str], say: Say = good) -> None:
        self._vcenter, self._address_of, self.say = vcenter, address_of, say
        self.seen_userdata: set[str] = set()
        self._runs: set[tuple[str, int]] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _play(self) -> None:
        seq = 0
        while not self._is_over.is_set():
            seq, vms = self._vcenter.control.vms(after=seq, wait_s=1)
            for vm in vms:
                self._look(vm)

    def _look(self, vm: dict[str, Any]) -> None:
        if vm.get("gone") or vm["power"] != "poweredOn" or not vm["nics"] or not (address := self._address_of(vm["name"])):
            return
        if (request := vm.get("request")) and request["what"] == "shutdown":
            self._tell(vm, {"shut_down": True})
            return
        if (run := (vm["moid"], vm["boot"])) in self._runs:
            return
        self._runs.add(run)
        if userdata := vm["guestinfo"].get("guestinfo.userdata"):
            self.seen_userdata.add(userdata)
        for report in self.say(vm, address):
            self._tell(vm, report)

    def _tell(self, vm: dict[str, Any], report: dict[str, Any]) -> None:
        with suppress(WorldError):  # it was switched off meanwhile
            self._vcenter.control.guest_says(vm["moid"], boot=vm["boot"], **report)

    def forget(self) -> None:
        self._runs.clear()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


class Jobs:
    """What the jobs of a world tell."""

    def __init__(self, world: World) -> None:
        self.world = world

    def job(self, job_id: str) -> dict[str, Any]:
        return self.world.admin.get(f"/v2/jobs/{job_id}")

    def steps(self, job_id: str) -> list[tuple[str, str]]:
        return [(step["name"], step["state"]) for step in self.job(job_id)["steps"]]

    def wait(self, job_id: str, *states: str) -> dict[str, Any]:
        """Waits for one of these states of a job."""
        after, state, end = 0, "", time.monotonic() + LIMIT_S
        while state not in states:
            assert time.monotonic() < end, self.told(job_id)
            answer = self.world.admin.get(f"/v2/jobs/{job_id}/lines", after=after, wait=5)
            after, state = after + len(answer["items"]), answer["state"]
            assert state in (*states, "queued", "running", "undoing"), self.told(job_id)
        return self.job(job_id)

    def told(self, job_id: str) -> list[str]:
        return [line["text"] for line in self.world.admin.get(f"/v2/jobs/{job_id}/lines")["items"]]

    def wait_line(self, job_id: str, text: str) -> None:
        until(lambda: any(text in line for line in self.told(job_id)), f"the job tells {text!r}", limit_s=LIMIT_S)


class Machines(Jobs):
    """A world in which machines can be made."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.vcenter = world.vcenter
        self.control = world.vcenter.control
        self.orders = world.scratch.path / "orders.json"
        world.kaasd.env = {**world.kaasd.env, "KAAS_ORDERS": str(self.orders)}
        self.dying = Dying(world.kaasd)
        self.network = self.control.create_network("datacenter-2", NETWORK)
        self.template = self.control.create_template("domain-c7", "node-v1", nics=["VM Network", "VM Network"])
        self.folder = next(o["id"] for o in self.control.objects("Folder") if o["name"] == "vm" and o.get("parent") == "datacenter-2")
        self.pool = next(o["id"] for o in self.control.objects("ResourcePool") if o.get("parent") == "domain-c7")
        self.datastore = next(o["id"] for o in self.control.objects("Datastore") if o["name"].startswith("DC0"))
        self.guests = Guests(world.vcenter, self.address_of)

    # -- what there is

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.world.db.query(sql, database="kaas")

    def address_of(self, name: str) -> str:
        rows = self.query(f"SELECT address FROM machines WHERE name = '{name}'")
        return rows[0][0] if rows else ""

    def rows(self) -> list[dict[str, Any]]:
        names = ("id", "name", "instance_uuid", "address", "moref", "state", "role")
        return [dict(zip(names, row, strict=True)) for row in self.query(f"SELECT {', '.join(names)} FROM machines ORDER BY id")]

    def built(self, cluster: str = "prod") -> list[dict[str, Any]]:
        """All machines at the vCenter with a name of the cluster, those that are being cloned, too."""
        known = {vm["moid"]: vm for vm in self.control.vms()[1] if not vm.get("gone")}
        return [known.get(o["id"], {"moid": o["id"], "name": o["name"], "guestinfo": {}, "power": "", "unborn": True})
                for o in self.control.objects("VirtualMachine") if o["name"].startswith(f"{cluster}-")]

    def folders(self) -> list[str]:
        return [o["name"] for o in self.control.objects("Folder") if o.get("parent") == self.folder]

    # -- orders

    def params(self, machines: list[str], cluster: str = "prod", **more: Any) -> dict[str, Any]:
        def place(kind: str, moref: str, name: str) -> dict[str, str]:
            return {"type": kind, "moref": moref, "name": name}

        return {"cluster_id": str(uuid.uuid5(uuid.NAMESPACE_DNS, cluster)), "cluster_name": cluster, "machines": machines,
                "provider_id": str(uuid.uuid5(uuid.NAMESPACE_DNS, "east")), "provider": "east", "vcenter_id": self.vcenter.instance_uuid,
                "addresses": "10.9.0.20-10.9.0.29", "workers": " ".join(machines[1:]),
                "resource_pool": place("ResourcePool", self.pool, "Resources"), "folder": place("Folder", self.folder, "vm"),
                "datastore": place("Datastore", self.datastore, "ds"), "network": place("Network", self.network, NETWORK),
                "template": place("VirtualMachine", self.template, "node-v1"), **more}

    def order(self, kind: str, params: dict[str, Any]) -> str:
        """The id of the job, or why there is none."""
        part, answer = self.orders.with_suffix(".part"), self.orders.with_name(self.orders.name + ".id")
        answer.unlink(missing_ok=True)
        part.write_text(json.dumps({"kind": kind, "params": params}))
        part.rename(self.orders)
        until(answer.exists, "the order was taken")
        return answer.read_text()

    def make(self, count: int = 1, **more: Any) -> str:
        return self.order("machines.make", self.params([str(uuid.uuid4()) for _ in range(count)], **more))

    def remove(self, cluster: str = "prod") -> str:
        return self.order("machines.remove", self.params([row["id"] for row in self.rows()], cluster))

    # -- what must hold

    def assert_made(self, count: int) -> None:
        """Exactly so many machines, each as it was wanted, none with user-data, and each with an address of its own."""
        rows, vms = self.rows(), {vm["instance_uuid"]: vm for vm in self.built()}
        assert len(rows) == len(vms) == count
        for row in rows:
            vm = vms[row["instance_uuid"]]
            assert (vm["name"], vm["moid"], vm["power"]) == (row["name"], row["moref"], "poweredOn")
            assert (vm["num_cpu"], vm["memory_mb"]) == (2, 3072)
            assert vm["managed_by"] == {"extension_key": "com.cisco.kaas", "type": "node"}
            assert [nic["network"] for nic in vm["nics"]] == [NETWORK]
            assert not {key for key in vm["guestinfo"] if "userdata" in key} and vm["guestinfo"]["guestinfo.metadata"]
            assert row["state"] == "ready"
        assert len({row["address"] for row in rows}) == count

    def assert_nothing(self) -> None:
        assert not self.rows() and not self.built() and "prod" not in self.folders()
        assert not self.query("SELECT address FROM address_leases WHERE owner IS NOT NULL")

    def assert_no_userdata(self) -> None:
        assert not [vm["name"] for vm in self.built() if vm["guestinfo"].get("guestinfo.userdata")]

    def assert_one_session(self) -> None:
        """A replica has one session, whatever happened."""
        until(lambda: len(self.control.sessions()) == 1, "one session is left")

    def close(self) -> None:
        self.guests.stop()


def joined(world: World) -> Machines:
    """Joins the vCenter of the world, and starts the daemon that makes machines."""
    add_vcenter(world.kaasd, world.vcenter)
    register(world.kaasd, world.vcenter)
    wait_connected(world)
    world.vcenter.control.role("Builder", *OWN, *ALL)
    world.vcenter.control.put_user(BUILDER.name, BUILDER.password)
    world.vcenter.control.permit("group-d1", f"VSPHERE.LOCAL\\{BUILDER.name}", "Builder")
    world.kaasd.ctl.ok("vcenter", "set-login-account", world.vcenter.instance_uuid, "--user", BUILDER.login, "--password-file", "-",
                       stdin=BUILDER.password + "\n")
    world.kaasd.stop()
    machines = Machines(world)
    world.kaasd.start()
    wait_connected(world)
    return machines
