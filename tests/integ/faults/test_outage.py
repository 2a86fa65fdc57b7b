"""A vCenter that is away for minutes: who is signed in goes on reading for a while, nobody else gets in."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.api import Api
from env.clock import Clock, clocked_world
from env.full import World
from env.samples import visible_to
from env.wait import until
from env.watching import until_watching

pytestmark = [pytest.mark.slow, pytest.mark.long(200)]
HARD_S = 120  # no answer of the vCenter is used longer, but in grace
GRACE_S = 300
RETRY_S = 80  # at the latest, a vCenter that was away for long is tried again


@pytest.fixture
def outage() -> Iterator[tuple[World, Clock]]:
    with clocked_world("o") as (whole, clock):
        whole.join()
        until_watching(whole)  # what the registration itself brings about drops rights once more
        yield whole, clock


def stale(viewer: Api) -> list[str]:
    """What a list is marked with; it shows what it always has."""
    answer = viewer.call("GET", "/v2/clusters")
    assert answer.status_code == 200, answer.text
    assert [item["name"] for item in answer.json()["items"]] == visible_to("viewer-east")
    return answer.headers.get("KaaS-Stale", "").split(", ")


def come_back(world: World, clock: Clock) -> None:
    world.vcenter.control.open_port()
    clock.advance(RETRY_S)


def noted(world: World) -> list[tuple[Any, ...]]:
    return world.db.query("SELECT principal_id FROM audit WHERE action = 'rights.grace'", database="kaas")


def test_grace_in_an_outage(outage: tuple[World, Clock]) -> None:
    """Reads of people who are signed in go on for five minutes, marked and noted once; refresh and sign-on do not."""
    world, clock = outage
    viewer = world.by_ticket("viewer-east")
    assert viewer.names() == visible_to("viewer-east")
    kept = viewer.call("POST", "/v2/session/cookie", headers={"X-KaaS": "1"}).headers["Set-Cookie"].split(";")[0]
    by_cookie = {"X-KaaS": "1", "Cookie": kept}
    world.vcenter.control.close_port()
    until(lambda: "vcenter" in stale(viewer), "the mark of the vCenter")
    clock.advance(HARD_S / 4)
    assert "rights" not in stale(viewer)  # half of the time and more is left
    clock.advance(HARD_S)
    assert "rights" in stale(viewer)
    assert viewer.get("/v2/whoami")["vcenters"][0]["rights"] == "grace"
    viewer.refused(503, "rights_unknown", "POST", "/v2/token/refresh")
    world.kaasd.api().refused(503, "rights_unknown", "POST", "/v2/token/refresh", headers=by_cookie)  # nor by loading the page again
    until(lambda: noted(world), "the line in the audit log")
    assert "rights" in stale(viewer)
    come_back(world, clock)
    until(lambda: stale(viewer) == [""], "the vCenter again")
    assert len(noted(world)) == 1
    assert viewer.get("/v2/whoami")["vcenters"][0]["rights"] in {"fresh", "aging"}
    world.kaasd.api().expect(200, "POST", "/v2/token/refresh", headers=by_cookie)
    viewer.expect(200, "POST", "/v2/token/refresh")


def test_grace_ends(outage: tuple[World, Clock]) -> None:
    world, clock = outage
    viewer = world.by_ticket("viewer-east")
    assert viewer.names() == visible_to("viewer-east")
    world.vcenter.control.close_port()
    until(lambda: "vcenter" in stale(viewer), "the mark of the vCenter")
    clock.advance(GRACE_S)
    viewer.refused(503, "rights_unknown", "GET", "/v2/clusters")
    come_back(world, clock)
    until(lambda: viewer.call("GET", "/v2/clusters").status_code == 200, "the vCenter again")
