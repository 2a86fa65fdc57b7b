"""Clusters that cannot be made, as a person has them who works with kaasctl: what it says, what retry and delete do."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from typing import Any

import pymysql
from env.guest.made import MadeCluster, Node
from env.kaasd import Kaasd
from env.wait import until
from nodes import told

LIMIT_S = 600.0
SMALL = ("--control-plane-memory", "2048", "--worker-memory", "1024", "--worker-cpus", "1", "--network", "bridge", "--no-wait")
ENDED = ("done", "failed", "canceled")


def held(kaasd: Kaasd) -> list[str]:
    """The addresses that belong to somebody."""
    with pymysql.connect(unix_socket=str(kaasd.database_socket), user="root", database="kaas", ssl_disabled=True) as server, \
            server.cursor() as cursor:
        cursor.execute("SELECT address FROM address_leases WHERE owner IS NOT NULL")
        return [str(row[0]) for row in cursor.fetchall()]


class Patient(MadeCluster):
    """One of them. Its machines are named after it."""

    job_id = ""

    def begin(self, provider: str = "east", *words: str) -> None:
        said = self.kaasd.ctl.ok("cluster", "create", self.name, "--provider", provider, *SMALL, *words)
        found = re.match(r"job (\S+) has begun", said)
        assert found, said
        self.job_id = found[1]

    # its job

    def job(self) -> dict[str, Any]:
        told: dict[str, Any] = self.kaasd.ctl.json("job", "show", self.job_id)
        return told

    def until_state(self, *states: str) -> dict[str, Any]:
        """Another end than one of these is told at once."""
        job = until(lambda: (told := self.job())["state"] in (*states, *ENDED) and told, f"{self.name} {states}", LIMIT_S)
        assert job["state"] in states, f"{job['state']}: {job.get('reason')}\n{self.explain()}"
        return job

    def is_done(self, step: str) -> bool:
        return all(one["state"] == "done" for one in self.job()["steps"] if one["name"] == step)

    def waiting(self, step: str = "boot") -> dict[str, Any]:
        """The step that has begun and is not done, if there is one."""
        return next((one for one in self.job()["steps"] if one["name"] == step and one["state"] in ("running", "waiting")), {})

    def until_waits(self, what: str) -> dict[str, Any]:
        def is_said() -> dict[str, Any]:
            told = self.waiting()
            return told if what in (told.get("reason") or "") else {}

        return until(is_said, f"{self.name}: {what}", LIMIT_S)

    def until_drawn(self) -> str:
        """The address of its first machine, before that boots."""
        def drawn() -> str:
            lines = self.kaasd.kept_admin().get(f"/v2/jobs/{self.job_id}/lines")["items"]
            found = re.search(r"gets the address (\S+)", "\n".join(line["text"] for line in lines))
            return found[1] if found else ""

        return until(drawn, f"an address for {self.name}", LIMIT_S)

    def end_as_told(self) -> str:
        """What kaasctl shows of its failure, behind the job's lines."""
        said = self.kaasd.ctl.run("job", "watch", self.job_id)
        assert said.returncode == 1, said.stdout + said.stderr
        told = said.stdout.rpartition("\n\n")[2].rstrip("\n")
        assert told.endswith(f"\nthen:   kaasctl job retry {self.job_id}"), told
        return told.rpartition("\nthen:")[0]

    def retry(self) -> None:
        self.kaasd.ctl.ok("job", "retry", self.job_id)

    def until_made(self) -> list[Node]:
        self.until_state("done")
        nodes = self.nodes()
        assert nodes and all(node.is_ready for node in nodes), nodes
        return nodes

    # its machines

    def machines(self) -> list[str]:
        """Their names, as the vCenter has them."""
        return sorted(path.rpartition("/")[2] for path in self.site.inventory() if path.rpartition("/")[2].startswith(f"{self.name}-"))

    def until_one(self) -> str:
        """The name of its only machine."""
        return until(lambda: (found := self.machines()) and found[0], f"a machine of {self.name}", LIMIT_S)

    def until_goes_on(self) -> None:
        """Its only machine, by itself."""
        name = self.until_one()
        until(lambda: told(self.site, name)[0] not in ("", "checking"), f"{name} goes on", LIMIT_S)

    def delete(self) -> str:
        said = self.kaasd.ctl.run("cluster", "delete", self.name, "--yes", limit_s=LIMIT_S)
        assert said.returncode == 0, said.stdout + said.stderr
        return said.stdout

    def assert_no_user_data(self) -> None:
        for name in self.machines():
            settings = {one["key"]: one["value"] for one in self.site.info(name)["config"]["extraConfig"]}
            assert settings.get("guestinfo.userdata", "") in ("", "---"), name
