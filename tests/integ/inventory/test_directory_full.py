"""As many clusters as can be served: one more is refused, whoever asks, and lists stay fresh."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from env import fill
from env.api import Api
from env.filled import filled
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.wait import until

MOST = 50000
# The transactions are in test_store_audit_log.c as well.
pytestmark = [pytest.mark.slow, pytest.mark.users_build("instrumented, 50,000 clusters take minutes")]


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[Mariadb, Kaasd]]:
    with filled("df", lambda db: fill.fill(db, clusters=MOST - 1, nodes_per_cluster=0)) as stage:
        yield stage


def record(name: str) -> dict[str, Any]:
    return {"name": name, "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
            "vsphere_clusters": [{"vcenter_id": fill.FILLED_VCENTER, "moref": "domain-c1"}]}


def results(api: Api, *names: str, **query: str) -> list[str]:
    answer = api.expect(200, "POST", "/v2/clusters:import", params=query, data="\n".join(json.dumps(record(name)) for name in names),
                        headers={"Content-Type": "application/x-ndjson"})
    return [item["code"] if item["result"] == "failed" else item["result"] for item in answer["items"]]


def kaasctl_stops_at_the_first(kaasd: Kaasd) -> None:
    """A file of several parts: nothing is sent behind the one that was full."""
    known = kaasd.admin().get("/v2/clusters", limit=1)["items"][0]["name"]
    lines = [json.dumps(record(known))] + [json.dumps(record(f"file-{n}")) for n in range(2500)]
    said = kaasd.ctl.run("cluster", "import", "-", stdin="\n".join(lines))
    assert said.returncode == 1
    assert "inventory is full: it holds at most 50000" in said.stderr and "of 2501 lines" in said.stderr and "line 2 " in said.stderr
    assert said.stdout.splitlines()[-1] == "1 exists, 1 failed, 998 skipped"  # of the part that was sent
    assert len(said.stdout.splitlines()) == 4  # a title, the one that exists, the one without room, the sum


def test_one_too_many_is_refused(stage: tuple[Mariadb, Kaasd]) -> None:
    db, kaasd = stage
    admin = kaasd.admin()
    last = admin.expect(201, "POST", "/v2/clusters", json=record("last"))
    problem = admin.refused(409, "directory_full", "POST", "/v2/clusters", json=record("more"))
    assert "50000" in problem["detail"] and "remove" in problem["remedy"]
    assert results(admin, "more", "and-more") == ["directory_full", "skipped"]
    assert results(admin, *(f"more-{n}" for n in range(300))) == ["directory_full"] + ["skipped"] * 299
    kaasctl_stops_at_the_first(kaasd)
    admin.expect(200, "PATCH", f"/v2/clusters/{last['id']}", json={"description": "changed"},
                 headers={"Content-Type": "application/merge-patch+json"})
    admin.expect(204, "DELETE", f"/v2/clusters/{last['id']}")
    assert results(admin, "more", "and-more", atomic="true") == ["skipped", "directory_full"]
    assert results(admin, "more", "and-more", "last-more") == ["created", "directory_full", "skipped"]
    assert db.query("SELECT COUNT(*) FROM clusters", database=fill.DATABASE)[0][0] == MOST
    until(lambda: (answer := admin.call("GET", "/v2/clusters", params={"limit": 1})).status_code == 200
          and "KaaS-Stale" not in answer.headers, "a list without a mark")


def test_more_than_may_be_held_is_said(stage: tuple[Mariadb, Kaasd]) -> None:
    """One that came in by another way: at start nothing is served rather than a part."""
    db, kaasd = stage
    health = kaasd.admin()
    db.query("INSERT INTO clusters (id, name, state, created_at_ms, updated_at_ms, version_no, state_source, placement_source,"
             " kubernetes_version) SELECT UUID(), CONCAT('beyond-', seq), 'ready', 1, 1, 1, 'declared', 'declared', '1' FROM seq_1_to_2",
             database=fill.DATABASE)
    kaasd.stop()
    process = kaasd.spawn()

    def refused() -> bool:
        try:
            answer = health.call("GET", "/readyz")
        except OSError:
            return False
        return answer.status_code == 503 and f"{MOST} Kubernetes clusters" in answer.text

    process.wait_until(refused, "a word about the size")
    assert f"{MOST} Kubernetes clusters" in process.log
    db.query("DELETE FROM clusters WHERE name LIKE 'beyond-%'", database=fill.DATABASE)
    process.wait_until(kaasd.ready, "readiness")
