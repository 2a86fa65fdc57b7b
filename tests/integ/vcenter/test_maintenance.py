"""A host with control planes that is about to enter maintenance mode, in the events of its vCenter."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from env import vimclient
from env.full import World, add_vcenter, register
from env.replicas import Pair
from env.wait import until
from env.watching import until_watching

EAST, WEST = "domain-c7", "domain-c70"
HOST_1, HOST_2, WEST_HOST = "host-11", "host-12", "host-71"
HOST_1_NAME, HOST_2_NAME = "hx-east-1.example.test", "hx-east-2.example.test"
MAINTENANCE = "host.maintenance"
ADVICE = "Migrate these machines one after the other, to different hosts; do not power them off together"
numbers = itertools.count()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("mm") as started:
        add_vcenter(started.kaasd, started.vcenter)
        register(started.kaasd, started.vcenter)
        until_watching(started)
        until(lambda: started.db.query("SELECT 1 FROM vcenters WHERE events_since_ms > 0", database="kaas"), "the vCenter counts")
        yield started


@pytest.fixture(autouse=True)
def nothing_left(world: World) -> Iterator[None]:
    yield
    world.vcenter.control.clear_faults()
    for cluster in world.admin.items("/v2/clusters"):
        world.admin.expect(204, "DELETE", f"/v2/clusters/{cluster['id']}")
    for machine in world.vcenter.control.objects("VirtualMachine"):
        if machine["name"].startswith("mm-"):
            world.vcenter.control.remove(machine["id"])
    for host in (HOST_1, HOST_2, WEST_HOST):
        vimclient.end_maintenance(world.vcenter, host)


def make(world: World, hosts: list[str], desired: int | None = None) -> str:
    """The name of a new cluster with a control plane on each of these hosts; kaasd sees them there."""
    name = f"mm-{next(numbers)}"
    named = {row["id"]: row["name"] for row in world.vcenter.control.objects("HostSystem")}
    places = sorted({WEST if host == WEST_HOST else EAST for host in hosts})
    for n, host in enumerate(hosts):
        world.vcenter.control.create_machines(WEST if host == WEST_HOST else EAST, f"{name}-cp-{n}", host=named[host])
    size = desired or len(hosts)
    cluster = world.admin.expect(201, "POST", "/v2/clusters", json={
        "name": name, "kubernetes_version": "1.31.2", "control_plane": {"desired": size}, "workers": {"desired": 0},
        "vsphere_clusters": [{"vcenter_id": world.vcenter.instance_uuid, "moref": moref} for moref in places]})["id"]
    world.admin.expect(200, "PUT", f"/v2/clusters/{cluster}/status", json={
        "state": "ready", "control_plane": {"ready": size, "desired": size},
        "nodes": [{"name": f"{name}-cp-{n}", "role": "control_plane"} for n in range(len(hosts))]})
    until(lambda: seen(world, cluster) == hosts, "where its nodes are")
    return name


def seen(world: World, cluster: str) -> list[str | None]:
    rows = sorted(world.admin.items(f"/v2/clusters/{cluster}/nodes"), key=lambda row: str(row["name"]))
    return [row["host"] and row["host"]["moref"] for row in rows]


def told(world: World, host: str, locale: str = "en") -> list[tuple[str, str, dict[str, str]]]:
    """Our events at a host."""
    return vimclient.our_events(world.vcenter, host, locale, kind="HostSystem")


def until_told(world: World, host: str, count: int = 1) -> list[tuple[str, str, dict[str, str]]]:
    until(lambda: len(told(world, host)) >= count, f"an event at {host}")
    return told(world, host)


def forget(world: World, host: str) -> int:
    """How many events were told there before."""
    return len(told(world, host))


def in_maintenance(world: World, host: str) -> bool:
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        return bool(vimclient.host_of(instance, host).runtime.inMaintenanceMode)


def waiting(world: World) -> int:
    ((count,),) = world.db.query("SELECT COUNT(*) FROM vcenter_events", database="kaas")
    return int(count)


def test_it_names_host_clusters_and_control_planes_before_they_leave(world: World) -> None:
    """Of the host entered first nothing is to be told; by the time that the second one is told of, that was known."""
    alone = make(world, [HOST_1], desired=3)
    lost = make(world, [HOST_2, HOST_2, HOST_1])
    shared = make(world, [HOST_2, HOST_2, HOST_1, HOST_1, WEST_HOST])
    before = forget(world, WEST_HOST), forget(world, HOST_2)
    vimclient.enter_maintenance(world.vcenter, WEST_HOST)
    vimclient.enter_maintenance(world.vcenter, HOST_2)
    ((kind, text, arguments),) = until_told(world, HOST_2, before[1] + 1)[before[1]:]
    assert not in_maintenance(world, HOST_2), "it is told before it is too late"
    clusters = f"{lost} ({lost}-cp-0 and {lost}-cp-1; no majority without this host), {shared} ({shared}-cp-0 and {shared}-cp-1)"
    assert (kind, arguments["host"], arguments["clusters"]) == (MAINTENANCE, HOST_2_NAME, clusters)
    assert text == (f"Host {HOST_2_NAME} is about to enter maintenance mode. "
                    f"Control planes of Kubernetes clusters on it: {clusters}. {ADVICE}")
    assert told(world, HOST_2, "de")[-1][1].startswith(f"Der Host {HOST_2_NAME} geht in den Wartungsmodus.")
    assert len(told(world, WEST_HOST)) == before[0] and alone not in text
    listed = vimclient.run_govc(world.vcenter, "events", "-n", "50", f"/DC0/host/HX-East/{HOST_2_NAME}")
    assert [line for line in listed.splitlines() if clusters in line and "warning" in line.lower()]
    for machine in world.vcenter.control.objects("VirtualMachine"):  # as DRS does
        if machine.get("host") == HOST_2:
            world.vcenter.control.migrate(machine["id"], HOST_1)
    until(lambda: in_maintenance(world, HOST_2), "the end of the task")
    assert len(told(world, HOST_2)) == before[1] + 1


def test_the_only_control_plane_is_a_majority_too(world: World) -> None:
    name = make(world, [HOST_1])
    before = forget(world, HOST_1)
    vimclient.enter_maintenance(world.vcenter, HOST_1)
    found = until_told(world, HOST_1, before + 1)[-1]
    assert found[2]["clusters"] == f"{name} ({name}-cp-0; no majority without this host)"


def test_of_two_replicas_one_tells_and_the_other_none_again(world: World) -> None:
    """Both hear of it. The one that is left takes the work over, and has kept what it heard."""
    make(world, [HOST_1, HOST_1, HOST_2, HOST_2])
    pair = Pair(world)
    try:
        until_watching(world, pair.both[1].api(pair.token))
        before = forget(world, HOST_1), forget(world, HOST_2)
        vimclient.enter_maintenance(world.vcenter, HOST_1)
        until_told(world, HOST_1, before[0] + 1)
        holder = until(lambda: pair.holder_of("events"), "who makes events")
        holder.kill()
        world.db.query("UPDATE leases SET expires_at_ms = 1 WHERE name = 'events' OR name LIKE 'post-events:%'", database="kaas")
        until(lambda: pair.holder_of("events") not in (None, holder), "the other's turn")
        vimclient.enter_maintenance(world.vcenter, HOST_2)  # judged and posted behind what it had kept
        until_told(world, HOST_2, before[1] + 1)
        assert len(told(world, HOST_1)) == before[0] + 1
    finally:
        pair.both[1].stop()
        if not world.kaasd.process:
            world.kaasd.start()


def test_what_begins_while_kaasd_is_away_is_told_once_it_is_back(world: World) -> None:
    make(world, [HOST_1, HOST_1, HOST_2])
    before = forget(world, HOST_1)
    world.kaasd.kill()
    vimclient.enter_maintenance(world.vcenter, HOST_1)
    world.kaasd.start()
    until_told(world, HOST_1, before + 1)
    world.kaasd.kill()  # and not again by the next start
    world.kaasd.start()
    until_watching(world)
    vimclient.end_maintenance(world.vcenter, HOST_1)
    vimclient.enter_maintenance(world.vcenter, HOST_1)
    until_told(world, HOST_1, before + 2)
    assert len(told(world, HOST_1)) == before + 2


@pytest.mark.parametrize("executed", [True, False], ids=["it has arrived", "it has not arrived"])
def test_an_event_of_a_host_under_way_at_a_kill_is_posted_once(world: World, executed: bool) -> None:
    name = make(world, [HOST_1, HOST_1, HOST_2])
    places = "SELECT name, told FROM cluster_places"
    until(lambda: world.db.query(places, database="kaas") == [(name, "ready")], "nothing else is to be told")
    until(lambda: not waiting(world), "what was before is posted")
    before = forget(world, HOST_1)
    rule = world.vcenter.control.hold("PostEvent", executed=executed)
    vimclient.enter_maintenance(world.vcenter, HOST_1)
    world.vcenter.control.await_held(rule)
    world.kaasd.kill()
    world.vcenter.control.release(rule, drop=True)
    world.vcenter.control.clear_faults()
    assert len(told(world, HOST_1)) == before + int(executed)
    world.kaasd.start()
    until(lambda: not waiting(world), "it is posted")
    assert len(told(world, HOST_1)) == before + 1
