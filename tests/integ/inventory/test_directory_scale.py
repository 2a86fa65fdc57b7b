"""Many clusters in memory: the check of the change feed finds what was changed behind it, and nothing else; sizes are bounded."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest
from env import fill
from env.api import Api
from env.filled import filled
from env.kaasd import Kaasd
from env.mariadb import Mariadb

CLUSTERS, HX = 600, 30
QUICK = {"directory": {"check_interval": "1s"}}


class Stage:
    """A daemon over a filled database, without a vCenter to talk to."""

    def __init__(self, db: Mariadb, kaasd: Kaasd) -> None:
        self.db, self.kaasd = db, kaasd
        self.admin = kaasd.admin()

    def sql(self, statement: str, *values: object) -> None:
        self.db.query(statement, *values, database=fill.DATABASE)

    def metric(self, name: str) -> int:
        text = self.admin.call("GET", "/metrics").text
        found = re.search(rf"^{name} (\d+)$", text, re.M)
        return int(found[1]) if found else 0

    @property
    def checks(self) -> int:
        return self.metric("kaas_inventory_checks_total")

    @property
    def differences(self) -> int:
        return self.metric("kaas_inventory_differences_total")

    def run_check(self) -> None:
        """Asks for a check and waits for the end of one."""
        before = self.checks
        assert self.kaasd.process
        self.kaasd.process.signal(signal.SIGHUP)
        self.kaasd.process.wait_until(lambda: self.checks > before, "the end of a check")

    def check(self) -> int:
        """The number of differences now. Asks twice: the first check that ends may have begun before."""
        before = self.differences
        self.run_check()
        self.run_check()
        return self.differences - before

    def told(self) -> list[str]:
        assert self.kaasd.process
        return [line for line in self.kaasd.process.log.splitlines() if "inventory_difference" in line]


def write(db: Mariadb) -> None:
    fill.fill(db, clusters=CLUSTERS, nodes_per_cluster=2, hx_clusters=HX, observed=True)
    fill.add_users(db, 1, [1])


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with filled("ds", write) as (db, kaasd):
        yield Stage(db, kaasd)


def shown(api: Api, number: int) -> dict[str, object]:
    found: dict[str, object] = api.get(f"/v2/clusters/{fill.cluster_id(number)}")
    return found


def test_a_filled_database_is_served(stage: Stage) -> None:
    person = stage.kaasd.api().login_password("person-1", stage.kaasd.admin_password)
    assert person.names("/v2/clusters", hx_cluster=fill.FIRST_HX) == [f"k8s-{n:06d}" for n in range(1, 21)]
    assert len(stage.admin.names("/v2/clusters", limit=500)) == CLUSTERS
    assert stage.check() == 0


def test_a_row_changed_behind_the_feed(stage: Stage) -> None:
    stage.sql("UPDATE clusters SET description = 'by hand' WHERE id = %s", fill.cluster_id(7))
    assert shown(stage.admin, 7)["description"] != "by hand"
    told = len(stage.told())
    assert stage.check() == 1
    assert shown(stage.admin, 7)["description"] == "by hand"
    line = stage.told()[told]
    assert fill.cluster_id(7) in line
    assert "member=description" in line
    assert stage.check() == 0


def test_rows_that_came_and_went_behind_the_feed(stage: Stage) -> None:
    stage.sql("DELETE FROM clusters WHERE id = %s", fill.cluster_id(8))
    stage.sql("DELETE FROM nodes WHERE cluster_id = %s LIMIT 1", fill.cluster_id(9))
    stage.sql("UPDATE hx_clusters SET name = 'HX-Hand' WHERE id = %s", fill.hx_id(2))
    stage.sql("UPDATE node_observations o JOIN nodes n ON n.id = o.node_id SET o.vm_power = 'off' WHERE n.cluster_id = %s",
              fill.cluster_id(10))
    assert stage.check() == 4
    stage.admin.refused(404, "not_found", "GET", f"/v2/clusters/{fill.cluster_id(8)}")
    assert shown(stage.admin, 21)["placement"]["hx_clusters"][0]["name"] == "HX-Hand"  # type: ignore[index]
    assert stage.check() == 0


def test_a_grant_made_behind_the_feed(stage: Stage) -> None:
    person = stage.kaasd.api().login_password("person-1", stage.kaasd.admin_password)
    before = len(person.names("/v2/clusters"))
    fill.add_grants(stage.db, f"local:{fill.user_id(1)}", [3])
    assert stage.check() == 1
    assert len(person.names("/v2/clusters")) > before


def test_changes_that_arrive_meanwhile_are_no_differences(stage: Stage) -> None:
    """Checks, one each second, beside a stream of changes."""
    stage.kaasd.stop()
    stage.kaasd.write_config(QUICK)
    stage.kaasd.start()
    stage.admin = admin = stage.kaasd.admin()
    checks, round_no = stage.checks, 0
    while stage.checks < checks + 3:
        round_no += 1
        for number in range(30, 60):
            admin.expect(200, "PATCH", f"/v2/clusters/{fill.cluster_id(number)}", json={"description": f"round {round_no}"},
                         headers={"Content-Type": "application/merge-patch+json", "If-Match": "*"})
    assert stage.differences == 0
    assert shown(admin, 30)["description"] == f"round {round_no}"
