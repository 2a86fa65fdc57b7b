"""The status of a vCenter: each state with its reason, and what an administrator did to our record."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.full import EXTENSION_KEY, World, add_vcenter
from env.wait import until

pytestmark = pytest.mark.slow


def status_of(world: World) -> dict[str, Any]:
    return world.admin.get(f"/v2/vcenters/{world.vcenter.instance_uuid}/status")


def until_status(world: World, state: str, record: str) -> dict[str, Any]:
    """What another thread was told before a change may be written down after it."""

    def reached() -> dict[str, Any] | None:
        status = status_of(world)
        return status if (status["state"], status["extension"]["record"]) == (state, record) else None

    return until(reached, f"the state {state} with the record {record}")


def until_state(world: World, state: str) -> dict[str, Any]:
    return until(lambda: (status := status_of(world))["state"] == state and status, f"the state {state}")


def body_of(world: World, **more: Any) -> dict[str, Any]:
    return {"json": {"username": world.vcenter.admin.login, "password": world.vcenter.admin.password, **more}, "headers": {"X-KaaS": "1"}}


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("u") as whole:
        add_vcenter(whole.kaasd, whole.vcenter)
        yield whole


@pytest.fixture
def joined(place: World) -> World:
    place.vcenter.control.clear_faults()
    place.admin.expect(200, "POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/register", **body_of(place, take_over=True))
    return place


def edit_record(world: World, **changes: Any) -> None:
    """An administrator changes our record with a client of their own."""
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        for name, value in changes.items():
            setattr(record, name, value)
        manager.UpdateExtension(record)


def test_a_vcenter_that_was_only_added_is_not_registered(fresh_world: World) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    status = until_status(fresh_world, "not_registered", "unknown")
    assert status["product"]["api_version"] == "8.0.3.0"
    assert [attempt["works"] for attempt in status["login"]["strategies"]] == [True]


def test_a_registered_vcenter_is_connected(joined: World) -> None:
    status = until_status(joined, "connected", "ours")
    assert (status["state_reason"], status["missing_privileges"], status["extension"]["differences"]) == (None, [], [])
    assert status["login"]["strategy"] == "certificate_tunnel"
    assert sorted(hx["vsphere_cluster"]["moref"] for hx in status["hx_clusters"]) == ["domain-c26", "domain-c7", "domain-c70"]


def test_kaasctl_shows_the_same(joined: World) -> None:
    until_status(joined, "connected", "ours")
    said = joined.kaasd.ctl.ok("vcenter", "status")
    for word in ("connected", "certificate_tunnel", EXTENSION_KEY, "none is missing", "DC0/HX-East (domain-c7)"):
        assert word in said


@pytest.mark.parametrize(("member", "value", "told"), [("version", "0.0.1", "version"), ("company", "Somebody", "company"),
                                                       ("server", [], "server"), ("privilegeList", [], "privilegeList"),
                                                       ("eventList", [], "eventList")])
def test_a_record_that_an_administrator_edited_is_outdated(joined: World, member: str, value: Any, told: str) -> None:
    joined.vcenter.control.fault("UpdateExtension", "fault", fault="NoPermission", user=EXTENSION_KEY)  # or kaasd repairs it before we look
    edit_record(joined, **{member: value})
    assert told in until_status(joined, "connected", "outdated")["extension"]["differences"]


def test_registering_repairs_a_record_that_was_edited(joined: World) -> None:
    edit_record(joined, company="Somebody", server=[])
    joined.admin.expect(200, "POST", f"/v2/vcenters/{joined.vcenter.instance_uuid}/register", **body_of(joined))
    until_status(joined, "connected", "ours")


def test_a_record_that_an_administrator_removed_is_missing(joined: World) -> None:
    joined.vcenter.control.drop_extension(EXTENSION_KEY)
    until_status(joined, "connected", "missing")


def test_a_record_of_somebody_else_is_foreign(joined: World) -> None:
    joined.vcenter.control.put_extension(key=EXTENSION_KEY, version="9", company="Other", label="Other", summary="Other")
    until_status(joined, "connected", "foreign")


def test_a_login_that_is_refused_is_told_with_the_way_out(joined: World) -> None:
    joined.vcenter.control.drop_extension(EXTENSION_KEY)
    joined.vcenter.control.expire(user=EXTENSION_KEY)
    assert "register" in until_state(joined, "refused")["state_reason"]


def test_a_vcenter_that_went_away_is_unreachable_and_back_again(joined: World) -> None:
    joined.vcenter.control.fault("front", "refuse")
    joined.vcenter.control.call("POST", "/disconnect")
    assert joined.vcenter.host in until_state(joined, "unreachable")["state_reason"]
    joined.vcenter.control.clear_faults()
    until_state(joined, "connected")


def test_a_certificate_that_was_replaced_is_told(joined: World) -> None:
    joined.vcenter.control.change_certificate("new")
    try:
        joined.vcenter.control.disconnect()
        assert "certificate" in until_state(joined, "unreachable")["state_reason"]
        assert joined.kaasd.ctl.run("vcenter", "status").returncode == 1
    finally:  # for the tests behind this one
        joined.kaasd.ctl.ok("vcenter", "trust", joined.vcenter.host, "--sha256", joined.vcenter.control.state()["thumbprint_sha256"])
    until_state(joined, "connected")


def test_a_stranger_may_not_ask(place: World) -> None:
    place.kaasd.api().refused(401, "unauthenticated", "GET", f"/v2/vcenters/{place.vcenter.instance_uuid}/status")


def test_an_unknown_vcenter_has_no_status(place: World) -> None:
    place.admin.refused(404, "not_found", "GET", "/v2/vcenters/00000000-0000-4000-8000-000000000000/status")
