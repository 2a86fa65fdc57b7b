"""One cluster from its creation to its deletion, under the faults of a plan, and what must hold of it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from typing import Any

import requests
from env.api import Unexpected
from env.places import WorldError
from env.wait import until

from .checks import Broken, eventually, quietly
from .job_place import KEPT_SECRETS, LEFT_TABLES, Place, query
from .job_plan import Cut, Faults, Life, Restart

OVER = ("done", "failed", "canceled")
HELD_AT = 50  # percent of a task that a restart meets
LOOK_S = 0.03
REDACTED = "---"  # what cloud-init itself writes over user-data
TOLD = ("state", "state_source", "control_plane", "workers", "api_endpoint", "kubernetes_version")  # of the record
KEYS = {"ca.crt": "ca_pem", "etcd/ca.crt": "etcd_ca_pem", "front-proxy-ca.crt": "front_proxy_ca_pem", "sa.pub": "accounts_public_pem"}


class ClusterLife:
    """`counts` is added to: deaths by place, restarts, cuts."""

    def __init__(self, place: Place, name: str, life: Life, counts: Counter[str]) -> None:
        self.place, self.name, self.life, self.counts = place, name, life, counts
        self.cluster_id = ""

    # -- what there is

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return query(self.place.kaasd, sql, *values)

    def built(self) -> list[dict[str, Any]]:
        """All machines at the vCenter with a name of the cluster, those that are being cloned, too."""
        known = {vm["moid"]: vm for vm in self.place.control.vms()[1] if not vm.get("gone")}
        return [known.get(o["id"], {"name": o["name"], "unborn": True})
                for o in self.place.control.objects("VirtualMachine") if o["name"].startswith(f"{self.name}-")]

    def folders(self) -> list[str]:
        return [o["name"] for o in self.place.control.objects("Folder") if o.get("parent") == self.place.folder]

    def left(self) -> dict[str, list[Any]]:
        """Whatever a cluster has, or had."""
        found: dict[str, list[Any]] = {table: self.query(f"SELECT {column} FROM {table}") for table, column in LEFT_TABLES.items()}
        found["leases"] = self.query("SELECT address FROM address_leases WHERE owner IS NOT NULL")
        found["secrets"] = self.query(f"SELECT owner_kind, purpose FROM secrets WHERE {KEPT_SECRETS}")
        found["vms"] = [vm["name"] for vm in self.built()]
        found["folders"] = [name for name in self.folders() if name == self.name]
        found["operations"] = self.query("SELECT action FROM audit_deeds")
        return {what: rows for what, rows in found.items() if rows}

    # -- faults

    def _begin_faults(self, faults: Faults) -> list[Any]:
        """Those that kaasd meets by itself; hands back what is to be done later: deaths, one behind the other."""
        control = self.place.control
        if faults.restart and faults.restart.op:
            control.plan_tasks(faults.restart.op, hold_at=HELD_AT, skip=faults.restart.skip, count=1)
        if faults.cut and faults.cut.op:
            cut = faults.cut
            control.fault(cut.op, "close", bytes=cut.after_bytes, count=cut.count, skip=cut.skip)
            self.counts["answers cut"] += 1
        self.place.leaderless = {}
        if faults.leaderless:
            self.place.leaderless = {faults.leaderless.part: faults.leaderless.count}
            self.counts["etcd without a leader"] += 1
        deaths = list(faults.deaths)
        if deaths:
            self.place.dying.order(deaths.pop(0))
        return deaths

    def _restart_vcenter(self, restart: Restart) -> None:
        self.place.control.restart(restart.down_ms, restart.tasks)
        self.place.control.forget_task_rules()
        self.counts["restarts of the vCenter" + (" in a task" if restart.op else "")] += 1

    def _disconnect(self, cut: Cut | None) -> None:
        if cut and not cut.op:
            self.place.control.disconnect()
            self.counts["disconnected"] += 1

    def _revive(self, faults: Faults, deaths: list[Any]) -> None:
        kaasd, where = self.place.kaasd, self.place.dying.place()
        if not where:
            assert kaasd.process
            raise Broken(f"kaasd ended by itself:\n{kaasd.process.tail()}")
        self.counts[f"killed at {where}"] += 1
        self.place.dying.is_ordered = False
        kaasd.kill()
        if faults.restart and not faults.restart.op and len(faults.deaths) - len(deaths) == 1:
            self._restart_vcenter(faults.restart)
        if deaths:
            self.place.dying.order(deaths.pop(0))
        kaasd.spawn()
        if not deaths:
            self._disconnect(faults.cut)

    def _is_dead(self) -> bool:
        process = self.place.kaasd.process
        return process is not None and not process.alive

    def _end_faults(self) -> None:
        if not self.place.dying.forget():  # by the very last commit
            until(self._is_dead, "its death")
            self._revive(Faults(), [])
        self.place.control.clear_faults()
        self.place.control.forget_task_rules()

    def _is_held(self) -> bool:
        return any(task["state"] == "running" and task["progress"] == HELD_AT for task in self.place.control.tasks())

    # -- jobs

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        """Nobody may be there to answer."""
        with suppress(Unexpected, WorldError, requests.RequestException):
            answer = self.place.kaasd.kept_admin().call(method, path, json=body)
            if answer.status_code not in (200, 202, 409, 503):
                raise Broken(f"{method} {path}: {answer.status_code} {answer.text[:500]}")

    def _job(self, kind: str) -> list[tuple[Any, ...]]:
        return self.query("SELECT id, state, reason, object_id, is_cancel_asked FROM jobs WHERE kind = %s", kind)

    def _follow(self, kind: str, path: str, body: dict[str, Any], faults: Faults, *, is_canceled: bool = False) -> str:
        """To the end of the job: it is done, or canceled if that is asked for once kaasd has died; hands back which. Whoever gets no answer
        looks whether the job is there, and asks again if not."""
        deaths, end = self._begin_faults(faults), time.monotonic() + self.place.limit_s
        has_died = is_restarted = False
        while True:
            if self._is_dead():
                self._revive(faults, deaths)
                has_died = True
            rows = self._job(kind)
            if len(rows) > 1:
                raise Broken(f"{len(rows)} jobs of kind {kind}: {rows}")
            if rows and rows[0][1] in OVER:
                break
            if time.monotonic() > end:
                raise Broken(f"{kind} is {rows} after {self.place.limit_s:.0f} s\n{self.told()}")
            if not rows:
                self._ask("POST", path, body)
            elif is_canceled and has_died and not rows[0][4]:
                self._ask("POST", f"/v2/jobs/{rows[0][0]}/cancel")
            if faults.restart and faults.restart.op and not is_restarted and self._is_held():
                self._disconnect(faults.cut)
                self._restart_vcenter(faults.restart)
                is_restarted = True
            time.sleep(LOOK_S)
        self._end_faults()
        if rows[0][1] not in (("canceled", "done") if rows[0][4] else ("done",)):
            raise Broken(f"{kind} is {rows[0][1]}: {rows[0][2]}\n{self.told()}")
        self.cluster_id = rows[0][3]
        return str(rows[0][1])

    def told(self) -> str:
        lines = self.query("SELECT text FROM job_lines ORDER BY at_ms, seq")
        return "\n".join(f"    {text}" for (text,) in lines[-25:])

    # -- the life

    def make(self) -> bool:
        """False: it was canceled meanwhile."""
        self.place.begin(self.name)
        counts = {"control_planes": self.life.shape.control_planes, "workers": self.life.shape.workers}
        machines = {what: {"count": count, **self.place.sizes.get(what, {})} for what, count in counts.items()}
        body = {"name": self.name, "provider": "east", **machines}
        return self._follow("cluster.create", "/v2/clusters:create", body, self.life.making, is_canceled=self.life.is_canceled) == "done"

    def remove(self) -> None:
        self._follow("cluster.delete", f"/v2/clusters/{self.cluster_id}/deletion", {"name": self.name}, self.life.removing)

    # -- what must hold

    def _record(self) -> dict[str, Any]:
        found: dict[str, Any] = self.place.kaasd.kept_admin().get(f"/v2/clusters/{self.cluster_id}")
        return found

    def _is_calm(self) -> str:
        """One session is left, no task is under way, and the list calls the cluster ready."""
        sessions, record = len(self.place.control.sessions()), self._record()
        tasks = [task["op"] for task in self.place.control.tasks() if task["state"] in ("queued", "running")]
        return "" if (sessions, record["state"], tasks) == (1, "ready", []) else f"{sessions} sessions, {record['state']}, tasks {tasks}"

    def _one_session(self) -> str:
        sessions = self.place.control.sessions()
        return "" if len(sessions) == 1 else f"{len(sessions)} sessions: {[row['user_agent'] for row in sessions]}"

    def _check_machine(self, row: dict[str, Any], vm: dict[str, Any]) -> None:
        facts = (vm["name"], vm["moid"], vm["power"], vm["managed_by"]["extension_key"], vm["managed_by"]["type"], len(vm["nics"]))
        wanted = (row["name"], row["moref"], "poweredOn", "com.cisco.kaas", "node", 1)
        if facts != wanted or row["state"] != "ready" or not vm["guestinfo"].get("guestinfo.metadata"):
            raise Broken(f"a machine is {facts}, state {row['state']}, where {wanted} is expected")
        if vm["guestinfo"].get("guestinfo.userdata", "") not in ("", REDACTED):
            raise Broken(f"{row['name']} still has its user-data")

    def _machines(self) -> list[dict[str, Any]]:
        """Exactly those that were wanted, and no other one ever ran."""
        names = ("name", "role", "instance_uuid", "address", "moref", "state")
        rows = [dict(zip(names, row, strict=True)) for row in self.query(f"SELECT {', '.join(names)} FROM machines")]
        built, count = self.built(), self.life.shape.machines
        if len(rows) != count or len(built) != count or any("unborn" in vm for vm in built):
            raise Broken(f"{count} machines were wanted: {rows}, at the vCenter {built}")
        if self.place.seen() != {row["name"] for row in rows}:
            raise Broken(f"{sorted(self.place.seen())} ran, the machines are {rows}")
        vms = {vm["instance_uuid"]: vm for vm in built}
        for row in rows:
            if row["instance_uuid"] not in vms:
                raise Broken(f"{row['name']} has another UUID at the vCenter")
            self._check_machine(row, vms[row["instance_uuid"]])
        return [{**row, "cpus": vms[row["instance_uuid"]]["num_cpu"], "memory": vms[row["instance_uuid"]]["memory_mb"]} for row in rows]

    def _keys(self) -> dict[str, str]:
        rows = self.query(f"SELECT {', '.join(KEYS.values())} FROM cluster_pki WHERE cluster_id = %s", self.cluster_id)
        if len(rows) != 1:
            raise Broken(f"{len(rows)} sets of keys")
        return dict(zip(KEYS, rows[0], strict=True))

    def portrait(self) -> dict[str, Any]:
        """The cluster, but for what is chance or time: that of another life has the same. Raises Broken for what no cluster may be."""
        eventually(quietly(self._is_calm), "calm", self.place.settle_s)
        machines, record = self._machines(), self._record()
        steps = self.query("SELECT s.no, s.name, s.state FROM job_steps s JOIN jobs j ON j.id = s.job_id WHERE j.kind = 'cluster.create'"
                           " ORDER BY s.no")
        return {
            "record": {key: record[key] for key in TOLD}, "steps": steps, "folders": self.folders().count(self.name),
            "machines": sorted((row["role"], row["cpus"], row["memory"]) for row in machines),
            "node addresses": sorted(row["address"] for row in machines),
            "leases": sorted(row[0] for row in self.query("SELECT address FROM address_leases WHERE owner IS NOT NULL")),
            "secrets": sorted(self.query(f"SELECT owner_kind, purpose FROM secrets WHERE {KEPT_SECRETS}")),
            "audit": sorted(self.query("SELECT action, result FROM audit WHERE object_id = %s AND action = 'cluster.make'",
                                       self.cluster_id)),
            "inside": self.place.look_inside(machines, self._keys())}

    def check_gone(self) -> None:
        eventually(quietly(self._one_session), "one session", self.place.settle_s)
        if left := self.left():
            raise Broken(f"behind the deletion there is {left}\n{self.told()}")

    def forget(self) -> None:
        """So that the next life begins as this one did: addresses that were given back are nobody's for ten minutes."""
        self.place.end()
        self.query("DELETE FROM address_leases")
        self.query("DELETE FROM jobs")
