"""What changes at a vCenter shows by itself, and comes back after everything that can go wrong."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from env.clock import Clock, clocked_world
from env.full import World, add_vcenter, register
from env.watching import (
    add_cluster,
    drop_hx,
    metric,
    nodes,
    our_sessions,
    placed,
    present,
    put_hx,
    until,
    until_watching,
    vsphere,
    watch_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.long(107)]
CP, WORKER = "50010000-0000-4000-8000-000000000101", "50010000-0000-4000-8000-000000000102"
EAST, WEST, PLAIN = "domain-c7", "domain-c70", "domain-c40"
SAVE_GAP_S = 0.2  # at least, between two saves
EAST_HOST, WEST_HOST, PLAIN_HOST = "host-12", "host-71", "host-41"


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[World, Clock]]:
    with clocked_world("l") as (whole, clock):
        join(whole)
        yield whole, clock


@pytest.fixture(scope="module")
def place(site: tuple[World, Clock]) -> World:
    return site[0]


@pytest.fixture(scope="module")
def clock(site: tuple[World, Clock]) -> Clock:
    return site[1]


@pytest.fixture
def mended(place: World, clock: Clock) -> Iterator[World]:
    """A world in which the watch works again after the test."""
    yield place
    place.vcenter.control.clear_faults()
    clock.hasten(lambda: watch_of(place)["since"], "the watch")
    until_watching(place)


def join(world: World) -> None:
    add_vcenter(world.kaasd, world.vcenter)
    register(world.kaasd, world.vcenter)
    until_watching(world)


# -- clusters and records ---------------------------------------------------------------------------------------------------------


def test_a_new_hx_record_shows_and_a_removed_one_goes(place: World) -> None:
    put_hx(place, PLAIN)
    until(lambda: present(place).get(PLAIN) == "C-Plain", "the new HX cluster")
    drop_hx(place, PLAIN)
    until(lambda: PLAIN not in present(place), "its end")


def test_a_renamed_cluster_shows(place: World) -> None:
    place.vcenter.control.object("rename", id=WEST, name="HX-Wild-West")
    until(lambda: vsphere(place)[WEST][0] == "HX-Wild-West" and present(place)[WEST] == "HX-Wild-West", "the new name")
    place.vcenter.control.object("rename", id=WEST, name="HX-West")
    until(lambda: present(place)[WEST] == "HX-West", "the old name")


def test_a_renamed_datacenter_shows(place: World) -> None:
    place.vcenter.control.object("rename", id="datacenter-3", name="Elsewhere")
    until(lambda: vsphere(place)["domain-c26"][1] == "Elsewhere", "the new name")
    place.vcenter.control.object("rename", id="datacenter-3", name="DC1")
    until(lambda: vsphere(place)["domain-c26"][1] == "DC1", "the old name")


def watch_check(world: World) -> dict[str, Any]:
    return next(one for one in world.admin.get("/v2/health")["checks"] if one["name"] == "watch")


def test_a_name_that_is_too_long_costs_that_object_only(place: World) -> None:
    """It keeps the name that it had; the others go on, and health and log tell which one it is."""
    place.vcenter.control.rename(WEST, "L" * 299 + "\u00e4")
    place.vcenter.control.rename(PLAIN, "C-Other")
    until(lambda: vsphere(place)[PLAIN][0] == "C-Other", "the other one's name")
    assert vsphere(place)[WEST][0] == "HX-West" and present(place)[WEST] == "HX-West"
    check = until(lambda: (c := watch_check(place))["status"] == "warning" and c, "a warning")
    assert WEST in check["detail"] and "300 characters, 255 are the most" in check["detail"] and "/DC0/host/" in check["detail"], check
    assert "shorter name" in check["remedy"]
    assert place.kaasd.process
    assert f"({WEST}): a name of it has 300 characters" in place.kaasd.process.log
    place.vcenter.control.object("create", datacenter="DC1", cluster={"name": "N" * 256, "moref": "domain-c4001"})
    place.vcenter.control.object("create", datacenter="DC1", cluster={"name": "N" * 255, "moref": "domain-c4002"})
    until(lambda: "domain-c4002" in vsphere(place), "the new one beside it")
    assert "domain-c4001" not in vsphere(place)
    assert "2 objects" in watch_check(place)["detail"]
    place.kaasd.ctl.ok("vcenter", "rescan", place.vcenter.instance_uuid)
    for moref in ("domain-c4001", "domain-c4002"):
        place.vcenter.control.object("remove", id=moref)
    place.vcenter.control.rename(WEST, "HX-West")
    place.vcenter.control.rename(PLAIN, "C-Plain")
    until(lambda: watch_check(place)["status"] == "ok" and vsphere(place)[PLAIN][0] == "C-Plain", "all as before")


def test_a_new_cluster_shows_and_goes(place: World) -> None:
    place.vcenter.control.object("create", datacenter="DC1", cluster={"name": "New", "moref": "domain-c4000"})
    until(lambda: vsphere(place).get("domain-c4000") == ("New", "DC1"), "the new cluster")
    place.vcenter.control.object("remove", id="domain-c4000")
    until(lambda: "domain-c4000" not in vsphere(place), "its end")


# -- nodes ------------------------------------------------------------------------------------------------------------------------


def node_is(world: World, cluster: str, name: str, **wanted: Any) -> bool:
    """Whether members of the node's VM, its host (host_...) and its state are these."""
    node = nodes(world, cluster)[name]
    seen = {"state": node["state"], **{f"host_{key}": value for key, value in (node["host"] or {}).items()}, **(node["vm"] or {})}
    return all(seen.get(key) == value for key, value in wanted.items())


@pytest.fixture(scope="module")
def shop(place: World) -> str:
    """A cluster with two nodes, given by instance UUID and by name."""
    cluster = add_cluster(place, "shop", [{"name": "cp", "role": "control_plane", "vm_instance_uuid": CP},
                                          {"name": "k8s-prod-w-0", "role": "worker"}])
    until(lambda: node_is(place, cluster, "cp", match="instance_uuid") and node_is(place, cluster, "k8s-prod-w-0", match="name"), "nodes")
    return cluster


def test_nodes_are_found_by_uuid_and_by_name(place: World, shop: str) -> None:
    assert placed(place, shop) == {EAST}
    assert node_is(place, shop, "cp", moref="vm-101", power="on", connection="connected", host_moref="host-11", host_connection="connected")
    assert node_is(place, shop, "k8s-prod-w-0", moref="vm-102", instance_uuid=WORKER, host_moref=EAST_HOST)


def test_a_machine_is_shown_by_the_vsphere_client_as_long_as_it_is_there(place: World) -> None:
    moref = place.vcenter.control.create_machines("domain-c7", "shown")[0]
    cluster = add_cluster(place, "shown", [{"name": "shown", "role": "worker"}])
    until(lambda: node_is(place, cluster, "shown", moref=moref), "its machine")
    where = f"https://{place.vcenter.address}/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:{moref}:{place.vcenter.instance_uuid}/summary"
    assert nodes(place, cluster)["shown"]["vm"]["client_url"] == where
    place.vcenter.control.remove(moref)
    until(lambda: node_is(place, cluster, "shown", match="none"), "its end")
    assert "client_url" not in nodes(place, cluster)["shown"]["vm"]


def test_a_node_that_moves_to_another_cluster_takes_the_placement_along(place: World, shop: str) -> None:
    place.vcenter.control.object("migrate", id="vm-102", to=WEST_HOST)
    until(lambda: placed(place, shop) == {EAST, WEST} and node_is(place, shop, "k8s-prod-w-0", host_moref=WEST_HOST), "the move")
    place.vcenter.control.object("migrate", id="vm-102", to=EAST_HOST)
    until(lambda: placed(place, shop) == {EAST}, "the way back")


def test_a_node_that_is_switched_off_shows(place: World, shop: str) -> None:
    place.vcenter.control.object("power", id="vm-102", state="poweredOff")
    until(lambda: node_is(place, shop, "k8s-prod-w-0", power="off", state="not_ready"), "off")
    place.vcenter.control.object("power", id="vm-102", state="poweredOn")
    until(lambda: node_is(place, shop, "k8s-prod-w-0", power="on"), "on")


def test_a_host_that_is_lost_shows(place: World, shop: str) -> None:
    place.vcenter.control.object("connection", id=EAST_HOST, state="notResponding")
    until(lambda: node_is(place, shop, "k8s-prod-w-0", host_connection="not_responding", state="not_ready"), "the loss")
    place.vcenter.control.object("connection", id=EAST_HOST, state="connected")
    until(lambda: node_is(place, shop, "k8s-prod-w-0", host_connection="connected", connection="connected"), "its return")


def test_a_machine_that_is_removed_and_made_again_is_found_again(place: World) -> None:
    vm = {"name": "again-0", "moref": "vm-5001", "instance_uuid": "50010000-0000-4000-8000-000000005001"}
    place.vcenter.control.object("create", id=PLAIN, vm=vm)
    cluster = add_cluster(place, "again", [{"name": "n", "role": "worker", "vm_instance_uuid": vm["instance_uuid"]}])
    until(lambda: node_is(place, cluster, "n", moref="vm-5001"), "the machine")
    place.vcenter.control.object("remove", id="vm-5001")
    until(lambda: node_is(place, cluster, "n", match="none", state="not_ready"), "its end")
    place.vcenter.control.object("create", id=WEST, vm={**vm, "moref": "vm-5002"})
    until(lambda: node_is(place, cluster, "n", match="instance_uuid", moref="vm-5002") and placed(place, cluster) == {WEST}, "its return")
    place.vcenter.control.object("remove", id="vm-5002")


def test_a_name_that_two_machines_have_is_no_answer(place: World) -> None:
    control = place.vcenter.control
    control.object("create", id=PLAIN, vm={"name": "twin", "moref": "vm-5011"})
    control.object("create", id=WEST, vm={"name": "twin", "moref": "vm-5012"})
    rename_shows(place, "Both-Twins-Are-There")  # what comes before it in order has been seen
    cluster = add_cluster(place, "twins", [{"name": "twin", "role": "worker"}])
    until(lambda: watch_of(place)["ambiguous_nodes"] == 1 and nodes(place, cluster)["twin"]["vm"] is None, "the doubt")
    control.object("remove", id="vm-5011")
    until(lambda: node_is(place, cluster, "twin", match="name", moref="vm-5012"), "the one that is left")
    control.object("remove", id="vm-5012")


# -- what can go wrong ------------------------------------------------------------------------------------------------------------


def rename_shows(world: World, name: str) -> None:
    """The proof that the watch works."""
    world.vcenter.control.rename(PLAIN, name)
    until(lambda: vsphere(world)[PLAIN][0] == name, f"the name {name}")


def recovers(world: World, clock: Clock, name: str) -> None:
    """The proof that it works again, after pauses of which nothing is waited out."""
    world.vcenter.control.rename(PLAIN, name)
    clock.hasten(lambda: vsphere(world)[PLAIN][0] == name, f"the name {name}")


def test_a_restart_of_the_vcenter_is_survived(mended: World, clock: Clock) -> None:
    before = watch_of(mended)["restarts"]
    mended.vcenter.control.restart(down_ms=500)
    recovers(mended, clock, "After-Restart")
    assert watch_of(mended)["restarts"] > before
    clock.hasten(lambda: len(our_sessions(mended.vcenter)) == 1, "one session")


def test_a_session_that_expires_is_replaced(mended: World, clock: Clock) -> None:
    for row in our_sessions(mended.vcenter):
        mended.vcenter.control.expire(key=row["key"])
    recovers(mended, clock, "After-Expiry")
    clock.hasten(lambda: len(our_sessions(mended.vcenter)) == 1, "one session")


def test_a_version_that_is_not_known_any_more_is_survived(mended: World, clock: Clock) -> None:
    mended.vcenter.control.fault("WaitForUpdatesEx", "fault", fault="InvalidCollectorVersion", count=1)
    mended.vcenter.control.object("rename", id=PLAIN, name="Nudge")  # ends the wait that goes on
    recovers(mended, clock, "After-Version")


@pytest.mark.parametrize("kind", [{"kind": "close", "bytes": 0}, {"kind": "close", "bytes": 700}, {"kind": "truncated", "bytes": 700},
                                  {"kind": "status", "status": 503}, {"kind": "html"}, {"kind": "empty"}])
def test_an_answer_that_is_no_answer_is_survived(mended: World, clock: Clock, kind: dict[str, Any]) -> None:
    mended.vcenter.control.fault("WaitForUpdatesEx", count=2, **kind)
    mended.vcenter.control.object("rename", id=PLAIN, name="Nudge")
    recovers(mended, clock, f"After-{kind['kind']}-{kind.get('bytes', 0)}")


def test_what_changed_while_connections_were_lost_is_found(mended: World, clock: Clock) -> None:
    mended.vcenter.control.fault("WaitForUpdatesEx", "status", status=503)
    mended.vcenter.control.call("POST", "/disconnect")
    mended.vcenter.control.object("rename", id=WEST, name="Meanwhile")
    mended.vcenter.control.clear_faults()
    clock.hasten(lambda: vsphere(mended)[WEST][0] == "Meanwhile", "what changed meanwhile")
    mended.vcenter.control.object("rename", id=WEST, name="HX-West")
    until(lambda: vsphere(mended)[WEST][0] == "HX-West", "the old name")


# -- economy ----------------------------------------------------------------------------------------------------------------------


def test_a_full_read_finds_nothing_else(place: World) -> None:
    result = place.admin.expect(200, "POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/rescan")
    assert result["differed_from_watch"] is False
    assert watch_of(place)["differences"] == 0


def test_a_flood_of_changes_is_few_saves_and_ends_right(place: World) -> None:
    began = time.monotonic()
    before = metric(place.admin, "kaas_watch_saves_total")
    for i in range(300):
        place.vcenter.control.object("rename", id=PLAIN, name=f"Flood-{i}")
    until(lambda: vsphere(place)[PLAIN][0] == "Flood-299", "the last name")
    assert metric(place.admin, "kaas_watch_saves_total") - before <= 2 + (time.monotonic() - began) / SAVE_GAP_S


def test_machines_that_are_no_nodes_cost_the_database_nothing(place: World, shop: str) -> None:
    """What moves elsewhere is taken over in memory only. In the end it is elsewhere, since moves may be told together."""
    question = "SELECT MAX(observed_at_ms) FROM node_observations WHERE vm_moref IN ('vm-101', 'vm-102')"
    first = place.db.query(question, database="kaas")
    updates = metric(place.admin, "kaas_watch_updates_total")
    for i in range(20):
        place.vcenter.control.object("migrate", id="vm-171", to=(WEST_HOST, PLAIN_HOST)[i % 2])
    until(lambda: metric(place.admin, "kaas_watch_updates_total") > updates, "news")
    rename_shows(place, "After-Moves")
    assert place.db.query(question, database="kaas") == first


def test_an_idle_watch_is_one_pending_call(place: World) -> None:
    """No call but the wait itself between two changes. Other work of the daemon may fall between them, but not each time."""
    names = (f"Idle-{number}" for number in itertools.count())

    def nothing_else() -> bool:
        rename_shows(place, next(names))
        after = str(place.vcenter.control.last_call())
        rename_shows(place, next(names))
        rename_shows(place, next(names))
        ours = [call["op"] for call in place.vcenter.control.calls(after=after) if "Harmony-KaaS" in call["user_agent"]]
        return set(ours) <= {"WaitForUpdatesEx"} and len(ours) <= 5

    until(nothing_else, "two changes between which there is only the wait")


def test_the_command_line_shows_the_watch(place: World) -> None:
    said = place.kaasd.ctl.ok("vcenter", "status", place.vcenter.instance_uuid)
    assert "Watched since" in said and "this replica" in said


# -- the end, other replicas, size ------------------------------------------------------------------------------------------------


def test_a_vcenter_that_hangs_does_not_hold_up_the_end() -> None:
    with World("h", options={"vcenter": {"call_timeout": "10m"}}) as world:  # far longer than a stop may take
        join(world)
        world.vcenter.control.fault("*", "hang")
        world.kaasd.stop()


def test_the_session_ends_with_the_daemon(fresh_world: World) -> None:
    world = fresh_world
    join(world)
    world.kaasd.stop()
    until(lambda: not our_sessions(world.vcenter), "the logout")


def test_of_two_replicas_one_saves_and_the_other_takes_over() -> None:
    with clocked_world("h") as (world, clock):
        join(world)
        two_replicas(world, clock)


def two_replicas(world: World, clock: Clock) -> None:
    until(lambda: watch_of(world)["saving"], "the lease")
    second = world.kaasd.beside("second")
    second.start()
    try:
        api = second.api().login_password("admin", world.kaasd.admin_password)
        assert not until_watching(world, api)["saving"]
        assert watch_of(world)["saving"]
        world.vcenter.control.object("rename", id=PLAIN, name="Both-See-It")
        until(lambda: vsphere(world)[PLAIN][0] == vsphere(world, api)[PLAIN][0] == "Both-See-It", "the name on both")
        assert metric(api, "kaas_watch_saves_total") == 0
        world.kaasd.kill()
        world.db.query("UPDATE leases SET expires_at_ms = 0", database="kaas")  # by the database's clock, which cannot be put forward
        world.vcenter.control.object("rename", id=PLAIN, name="Second-Took-Over")
        clock.hasten(lambda: vsphere(world, api)[PLAIN][0] == "Second-Took-Over", "the name by the second")
        assert watch_of(world, api)["saving"]
    finally:
        second.stop()


def test_what_changed_while_the_database_was_away_is_saved(fresh_world: World) -> None:
    world = fresh_world
    join(world)
    api = world.admin
    until(lambda: watch_of(world, api)["saving"], "the lease")
    world.db.kill()  # at once: an orderly stop may outlast the lease on a busy machine, and without it nothing is saved, so nothing fails
    world.vcenter.control.object("rename", id=PLAIN, name="Meanwhile")
    until(lambda: metric(api, "kaas_watch_save_failures_total"), "a save that failed")
    world.db.start()
    until(lambda: vsphere(world, api)[PLAIN][0] == "Meanwhile", "the new name")
    until(lambda: not watch_of(world, api)["reason"], "the end of the trouble")


def test_ten_thousand_machines_are_told_at_once(fresh_world: World) -> None:
    world = fresh_world
    control = world.vcenter.control
    for i in range(10):
        control.object("create", id=PLAIN, vm={"name": f"bulk{i}", "moref": f"vm-{20000 + 1000 * i}", "count": 1000})
    add_vcenter(world.kaasd, world.vcenter)
    register(world.kaasd, world.vcenter)
    assert until_watching(world)["objects"] > 10000
    cluster = add_cluster(world, "big", [{"name": f"bulk{i}-0999", "role": "worker"} for i in range(10)])
    until(lambda: all(node["vm"] and node["vm"]["match"] == "name" for node in nodes(world, cluster).values()), "all nodes")
    assert placed(world, cluster) == {PLAIN}
