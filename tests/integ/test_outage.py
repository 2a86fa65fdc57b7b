"""A vCenter that is away for minutes: who is signed in goes on reading for a while, nobody else gets in."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from world.full import World
from world.samples import visible_to
from world.wait import until
from world.watching import until_watching

HARD_S = 120  # no answer of the vCenter is used longer, but in grace


@pytest.fixture
def world() -> Iterator[World]:
    with World("o") as whole:
        whole.join()
        until_watching(whole)  # what the registration itself brings about drops rights once more
        yield whole


@pytest.mark.unsanitized  # minutes of waiting for real time to pass: the plain build is enough
def test_grace_in_a_real_outage(world: World) -> None:
    """Reads of people who are signed in go on for five minutes, marked and noted once; refresh and sign-on do not."""
    viewer = world.by_ticket("viewer-east")
    assert viewer.names() == visible_to("viewer-east")
    world.vcenter.control.restart(down_ms=(HARD_S + 40) * 1000)
    begin = time.monotonic()

    def stale() -> str:
        answer = viewer.call("GET", "/v2/clusters")
        assert answer.status_code == 200, answer.text
        assert [item["name"] for item in answer.json()["items"]] == visible_to("viewer-east")
        return answer.headers.get("KaaS-Stale", "")

    until(lambda: "vcenter" in stale(), "the mark of the vCenter")
    until(lambda: "rights" in stale().split(", "), "the mark of grace", HARD_S + 30)
    assert time.monotonic() - begin > HARD_S - 40
    assert viewer.get("/v2/whoami")["vcenters"][0]["rights"] == "grace"
    viewer.refused(503, "rights_unknown", "POST", "/v2/token/refresh")

    def noted() -> list[tuple[Any, ...]]:
        return world.db.query("SELECT principal_id FROM audit WHERE action = 'rights.grace'", database="kaas")

    until(noted, "the line in the audit trail")
    for _ in range(5):
        stale()
    until(lambda: (again := viewer.call("GET", "/v2/clusters")).status_code == 200 and "KaaS-Stale" not in again.headers,
          "the vCenter again", 120)
    assert len(noted()) == 1
    assert viewer.names() == visible_to("viewer-east")
    assert viewer.get("/v2/whoami")["vcenters"][0]["rights"] in {"fresh", "aging"}
    viewer.expect(200, "POST", "/v2/token/refresh")
