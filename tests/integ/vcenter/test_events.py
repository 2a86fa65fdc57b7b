"""Kubernetes clusters and access to them in the events of the vSphere clusters they are on."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.api import Api
from env.clock import Clock, clocked_world
from env.full import World, add_vcenter, register
from env.many import Many
from env.wait import until
from env.watching import samples, until_watching

EAST, WEST = "domain-c7", "domain-c70"
EAST_PATH = "/DC0/host/HX-East"
LOG_EVENT = "Global.LogEvent"
numbers = itertools.count()


def begun(world: World) -> bool:
    return bool(world.db.query("SELECT 1 FROM vcenters WHERE events_since_ms > 0", database="kaas"))


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[World, Clock]]:
    with clocked_world("ev") as (world, clock):
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        until_watching(world)
        until(lambda: begun(world), "the vCenter counts")
        yield world, clock


@pytest.fixture
def world(site: tuple[World, Clock]) -> Iterator[World]:
    """With a minute in which nothing was posted, and nothing left to post afterwards."""
    world, clock = site
    clock.advance(61, 20)
    admin = world.admin  # by whose token the daemon's time counts
    admin.token = admin.expect(200, "POST", "/v2/token/refresh")["access_token"]
    yield world
    world.vcenter.control.clear_faults()
    for cluster in world.admin.items("/v2/clusters"):
        world.admin.expect(204, "DELETE", f"/v2/clusters/{cluster['id']}")
    clock.hasten(lambda: idle(world), "all is posted")


def waiting(world: World) -> int:
    ((count,),) = world.db.query("SELECT COUNT(*) FROM vcenter_events", database="kaas")
    return int(count)


def idle(world: World) -> bool:
    """Nothing is to be told any more, and all that was told is posted."""
    ((places,),) = world.db.query("SELECT COUNT(*) FROM cluster_places", database="kaas")
    return len(list(world.admin.items("/v2/clusters"))) == 0 and int(places) == 0 and waiting(world) == 0


def add(world: World, *morefs: str, name: str | None = None) -> tuple[str, str]:
    """A Kubernetes cluster on these vSphere clusters: id and name."""
    body = record(world, *morefs, name=name)
    return world.admin.expect(201, "POST", "/v2/clusters", json=body)["id"], body["name"]


def record(world: World, *morefs: str, name: str | None = None) -> dict[str, Any]:
    places = [{"vcenter_id": world.vcenter.instance_uuid, "moref": moref} for moref in morefs]
    return {"name": name or f"prod-{next(numbers)}", "kubernetes_version": "1.31.2", "control_plane": {"desired": 1},
            "workers": {"desired": 1}, "vsphere_clusters": places}


def report(world: World, cluster: str, state: str, reason: str | None = None) -> None:
    body: dict[str, Any] = {"state": state}
    if reason:
        body["reason"] = reason
    world.admin.expect(200, "PUT", f"/v2/clusters/{cluster}/status", json=body)


def events(world: World, name: str, moref: str = EAST, locale: str = "en") -> list[tuple[str, str, dict[str, str]]]:
    """Those that name this cluster, as somebody reads them at a vSphere cluster."""
    found = vimclient.our_events(world.vcenter, moref, locale)
    return [event for event in found if name in (event[2].get("cluster"), event[2].get("object"))]


def until_told(world: World, name: str, *kinds: str, moref: str = EAST) -> list[tuple[str, str, dict[str, str]]]:
    """Waits until exactly these are there."""
    until(lambda: [event[0] for event in events(world, name, moref)] == list(kinds), f"the events {kinds} of {name}")
    return events(world, name, moref)


# -- what is told ------------------------------------------------------------------------------------------------------------------


def test_each_change_shows_at_the_vsphere_cluster_it_belongs_to(world: World) -> None:
    cluster, name = add(world, EAST)
    until_told(world, name, "cluster.added")
    report(world, cluster, "ready")
    until_told(world, name, "cluster.added", "cluster.ready")
    report(world, cluster, "updating")
    report(world, cluster, "degraded", "one node is away")
    until_told(world, name, "cluster.added", "cluster.ready", "cluster.degraded")
    grant = world.admin.expect(201, "POST", "/v2/grants", json={
        "principal_id": f"vc:{world.vcenter.instance_uuid}:vsphere.local\\viewer-east", "object_kind": "cluster", "object_id": cluster})
    world.admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")
    world.admin.expect(204, "DELETE", f"/v2/clusters/{cluster}")
    found = until_told(world, name, "cluster.added", "cluster.ready", "cluster.degraded", "access.granted", "access.removed",
                       "cluster.removed")
    assert [text for _, text, _ in found] == [
        f"Kubernetes cluster {name} was added to this vSphere cluster", f"Kubernetes cluster {name} is ready",
        f"Kubernetes cluster {name} is degraded: one node is away",
        rf"vsphere.local\viewer-east was given the role viewer on {name}",
        rf"The role viewer on {name} was taken from vsphere.local\viewer-east",
        f"Kubernetes cluster {name} is no longer on this vSphere cluster"]
    assert len({arguments["eventId"] for _, _, arguments in found}) == 6
    assert events(world, name, WEST) == []
    seen = vimclient.run_govc(world.vcenter, "events", "-n", "50", EAST_PATH)
    assert [line for line in seen.splitlines() if name in line and "is degraded: one node is away" in line]
    assert [text for _, text, _ in events(world, name, locale="de")][1:3] == [
        f"Der Kubernetes-Cluster {name} ist bereit", f"Der Kubernetes-Cluster {name} ist beeinträchtigt: one node is away"]


def test_a_cluster_on_two_vsphere_clusters_shows_at_both(world: World) -> None:
    cluster, name = add(world, EAST, WEST)
    report(world, cluster, "failed")
    for moref in (EAST, WEST):
        found = until_told(world, name, "cluster.added", "cluster.failed", moref=moref)
        assert found[1][2]["reason"] == "failed"


def test_the_reason_names_no_machine_to_those_who_may_see_another_place_only(world: World) -> None:
    """An event is read by all who see its vSphere cluster, whatever they may see of the others."""
    control, prefix = world.vcenter.control, f"apart-{next(numbers)}"
    machines = {moref: control.create_machines(moref, f"{prefix}-{moref}")[0] for moref in (EAST, WEST)}
    cluster, name = add(world, EAST, WEST)
    for moref in machines:
        until_told(world, name, "cluster.added", moref=moref)
    nodes = [{"name": f"{prefix}-{moref}", "role": "worker"} for moref in machines]
    world.admin.expect(200, "PUT", f"/v2/clusters/{cluster}/status", json={
        "state": "ready", "control_plane": {"ready": 1, "desired": 1}, "nodes": nodes})
    for moref in machines:
        until_told(world, name, "cluster.added", "cluster.ready", moref=moref)
    control.power(machines[EAST], on=False)
    for moref in machines:
        found = until_told(world, name, "cluster.added", "cluster.ready", "cluster.degraded", moref=moref)
        assert found[2][2]["reason"] == "1 of its virtual machines is not running", moref
    for machine in machines.values():
        control.remove(machine)


def test_each_further_machine_that_goes_is_told(world: World) -> None:
    control, prefix = world.vcenter.control, f"lost-{next(numbers)}"
    machines = [control.create_machines(EAST, f"{prefix}-{n}")[0] for n in range(4)]
    nodes = [{"name": f"{prefix}-{n}", "role": "control_plane" if n < 3 else "worker"} for n in range(4)]
    cluster, name = add(world, EAST)
    until_told(world, name, "cluster.added")
    world.admin.expect(200, "PUT", f"/v2/clusters/{cluster}/status", json={
        "state": "ready", "control_plane": {"ready": 3, "desired": 3}, "nodes": nodes})
    kinds = ["cluster.added", "cluster.ready"]
    until_told(world, name, *kinds)
    for n, kind in ((3, "degraded"), (0, "degraded"), (1, "failed"), (2, "failed")):
        control.power(machines[n], on=False)
        kinds.append(f"cluster.{kind}")
        until_told(world, name, *kinds)
    reasons = [arguments.get("reason", "") for _, _, arguments in events(world, name)][2:]
    assert reasons == [
        f"VM {prefix}-3 is powered off", f"VM {prefix}-0 is powered off; VM {prefix}-3 is powered off",
        "2 of 3 of its control plane are not running: no majority, the API cannot work; "
        f"VM {prefix}-0 is powered off; VM {prefix}-1 is powered off; VM {prefix}-3 is powered off",
        "3 of 3 of its control plane are not running: no majority, the API cannot work; "
        f"VM {prefix}-0 is powered off; VM {prefix}-1 is powered off; VM {prefix}-2 is powered off; and 1 more"]
    control.power(machines[0], on=True)  # less bad, and as bad as before: that is no further loss
    until(lambda: world.db.query("SELECT down FROM cluster_places WHERE name = %s", name, database="kaas") == [(3,)], "three are off")
    control.power(machines[0], on=False)
    kinds.append("cluster.failed")
    until_told(world, name, *kinds)
    for machine in machines:
        control.remove(machine)


def test_more_than_people_can_read_becomes_one_summary(world: World) -> None:
    """They come at once: one by one, on a slow machine, some are told before the others are there, and there is room for all."""
    records = [record(world, EAST) for _ in range(15)]
    world.admin.expect(200, "POST", "/v2/clusters:import", params={"atomic": "true"}, data="\n".join(map(json.dumps, records)),
                       headers={"Content-Type": "application/x-ndjson"})

    def told() -> dict[str, str] | None:
        found = vimclient.our_events(world.vcenter, EAST)
        return found[-1][2] if found and found[-1][0] == "summary" and not waiting(world) else None

    summary = until(told, "a summary")
    assert sum(len(events(world, one["name"])) for one in records) == 5
    assert (summary["count"], summary["url"]) == ("10", f"{world.kaasd.url}/ui/")


# -- once --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("executed", [True, False], ids=["it has arrived", "it has not arrived"])
def test_an_event_under_way_at_a_kill_is_posted_once(world: World, executed: bool) -> None:
    rule = world.vcenter.control.hold("PostEvent", executed=executed)
    _, name = add(world, EAST)
    world.vcenter.control.await_held(rule)
    world.kaasd.kill()
    world.vcenter.control.release(rule, drop=True)
    world.vcenter.control.clear_faults()
    assert waiting(world) == 1
    assert len(events(world, name)) == int(executed)
    world.kaasd.start()
    until(lambda: not waiting(world), "it is posted")
    until_told(world, name, "cluster.added")


def runs(api: Api) -> int:
    """How often a replica has looked for events to post."""
    return sum(count for labels, count in samples(api, "kaas_link_work_total").items() if '"events"' in labels)


def test_of_two_replicas_one_posts(world: World) -> None:
    control = world.vcenter.control
    other = world.kaasd.beside("kaasd-2")
    other.start()
    try:
        apis = (world.admin, other.api().login_password("admin", world.kaasd.admin_password))
        rule = control.hold("PostEvent", executed=False)
        control.forget_calls()
        _, name = add(world, EAST)
        control.await_held(rule)  # one is at it
        before = sum(map(runs, apis))
        until(lambda: sum(map(runs, apis)) > before + 1, "the other one looks")
        control.release(rule)
        control.clear_faults()
        until(lambda: not waiting(world), "it is posted")
        until_told(world, name, "cluster.added")
        assert len(control.calls(op="PostEvent")) == 1
    finally:
        other.stop()


# -- without the privilege ----------------------------------------------------------------------------------------------------------


def warning(world: World) -> dict[str, Any] | None:
    return next((check for check in world.admin.get("/v2/health")["checks"] if check["name"].startswith("vcenter_events")), None)


def test_without_the_privilege_health_warns_and_nothing_is_lost(site: tuple[World, Clock], world: World) -> None:
    control = world.vcenter.control
    granted = control.settings()["extension_privileges"]
    control.settings(extension_privileges=[name for name in granted if name != LOG_EVENT])
    try:
        _, name = add(world, EAST)
        found = site[1].hasten(lambda: warning(world), "a warning")
        assert LOG_EVENT in str(found)
        assert found["remedy"]
        assert events(world, name) == []
    finally:
        control.settings(extension_privileges=granted)
    site[1].hasten(lambda: not waiting(world), "it is posted")
    until_told(world, name, "cluster.added")
    until(lambda: not warning(world), "the warning is gone")


# -- what a vCenter refuses ----------------------------------------------------------------------------------------------------------


def test_an_event_that_is_refused_holds_up_no_other(site: tuple[World, Clock], world: World) -> None:
    control = world.vcenter.control
    rule = control.hold("PostEvent", executed=False)
    _, refused = add(world, EAST)
    control.await_held(rule)
    _, other = add(world, EAST)
    until(lambda: waiting(world) == 2, "both wait")
    control.fault("PostEvent", "fault", fault="InvalidEvent", text="nothing of that kind", count=1)
    control.release(rule, drop=True)
    site[1].hasten(lambda: not waiting(world), "both are posted")
    told = [event[2].get("cluster") for event in vimclient.our_events(world.vcenter, EAST)]
    assert [name for name in told if name in (refused, other)] == [other, refused]


def test_an_event_that_is_refused_for_an_hour_is_given_up(site: tuple[World, Clock], world: World) -> None:
    control, hasten = world.vcenter.control, site[1].hasten
    control.fault("PostEvent", "fault", fault="InvalidEvent", text="nothing of that kind", count=0)
    _, name = add(world, EAST)
    found = hasten(lambda: warning(world), "a warning")
    assert "InvalidEvent" in str(found)
    asked = len(control.calls(op="PostEvent"))
    hasten(lambda: len(control.calls(op="PostEvent")) > asked + 1 or not waiting(world), "it is tried again")
    assert waiting(world) == 1, "not given up yet"
    world.db.query("UPDATE vcenter_events SET refused_at_ms = refused_at_ms - 3600000", database="kaas")
    hasten(lambda: not waiting(world), "it is given up")
    control.clear_faults()
    assert events(world, name) == []
    assert world.kaasd.process
    (line,) = [line for line in world.kaasd.process.log.splitlines() if "event=vcenter_event_refused" in line]
    assert "type=com.cisco.kaas.cluster.added" in line and f"cluster={EAST}" in line and "nothing of that kind" in line
    assert sum(samples(world.admin, "kaas_vcenter_events_dropped_total").values()) == 1


def test_without_events_nothing_is_kept_to_be_told(site: tuple[World, Clock], world: World) -> None:
    kaasd = world.kaasd
    rule = world.vcenter.control.hold("PostEvent", executed=False)
    cluster, name = add(world, EAST)
    world.vcenter.control.await_held(rule)
    kaasd.kill()
    world.vcenter.control.clear_faults()
    kaasd.write_config({"vcenter": {"events": False}})
    kaasd.start()
    try:
        assert waiting(world) == 0
        world.admin.expect(201, "POST", "/v2/grants", json={
            "principal_id": f"vc:{world.vcenter.instance_uuid}:vsphere.local\\viewer-east", "object_kind": "cluster", "object_id": cluster})
        assert waiting(world) == 0
    finally:
        kaasd.stop()
        kaasd.write_config({})
        kaasd.start()
    until(lambda: begun(world), "the vCenter counts again")
    assert events(world, name) == []
    report(world, cluster, "ready")
    until_told(world, name, "cluster.ready")


def test_a_vcenter_that_is_not_registered_is_told_nothing() -> None:
    """Nobody could post it, and it would be told all at once when it is registered again."""
    with Many(2) as many:
        first, second = many.vcenters
        until(lambda: many.db.query("SELECT COUNT(*) FROM vcenters WHERE events_since_ms > 0", database="kaas") == [(2,)], "both count")
        until(lambda: many.db.query("SELECT COUNT(*) FROM vcenter_events", database="kaas") == [(0,)], "all that was before is told")
        waits = "SELECT COUNT(*) FROM vcenter_events WHERE vcenter_id = %s"
        second.control.fault("PostEvent", "fault", fault="InvalidEvent", text="nothing of that kind", count=0)
        many.add_cluster(many.admin, "before", second)
        until(lambda: many.db.query(waits, second.instance_uuid, database="kaas") != [(0,)], "an event that waits")
        who = second.admin
        many.kaasd.ctl.ok("vcenter", "unregister", "vc1", "--user", who.login, "--password-file", "-", "--yes", stdin=who.password + "\n")
        for number, vcenter in ((1, second), (0, first)):
            many.add_cluster(many.admin, f"later-{number}", vcenter)
        until(lambda: any(event[2].get("cluster") == "later-0" for event in vimclient.our_events(first, EAST)), "the event at the other")
        told = many.db.query("SELECT vcenter_id FROM cluster_places WHERE name LIKE 'later-%%'", database="kaas")
        assert told == [(first.instance_uuid,)]
        until(lambda: many.db.query(waits, second.instance_uuid, database="kaas") == [(0,)], "what waited is forgotten")


# -- jobs --------------------------------------------------------------------------------------------------------------------------


def test_a_job_is_told_where_its_cluster_is(world: World) -> None:
    """One that waits for a cluster that is away, until it is canceled."""
    cluster, name = add(world, EAST)
    until_told(world, name, "cluster.added")
    world.db.query("INSERT INTO kube_connections (cluster_id, address, cluster_uid, created_at_ms, updated_at_ms, version_no)"
                   " VALUES (%s, 'https://192.0.2.1:6443', 'u', 1, 1, 1)", cluster, database="kaas")
    world.db.query("INSERT INTO kube_statuses (cluster_id, state, since_ms, checked_at_ms, token_until_ms, token_renew_at_ms, health,"
                   " health_since_ms, version_no) VALUES (%s, 'unknown', 1, 0, 0, 0, 'unknown', 1, 1)", cluster, database="kaas")
    job_id = world.admin.expect(202, "DELETE", f"/v2/clusters/{cluster}/connection", params={"when_back": "true"})["job_id"]
    until_told(world, name, "cluster.added", "job.begun")
    world.admin.expect(200, "POST", f"/v2/jobs/{job_id}/cancel")
    found = until_told(world, name, "cluster.added", "job.begun", "job.canceled")
    assert [text for _, text, _ in found[1:]] == [
        f"The job cluster.disconnect on Kubernetes cluster {name} has begun",
        f"The job cluster.disconnect on Kubernetes cluster {name} was canceled"]
    assert [text for _, text, _ in events(world, name, locale="de")][1:] == [
        f"Der Auftrag cluster.disconnect am Kubernetes-Cluster {name} hat begonnen",
        f"Der Auftrag cluster.disconnect am Kubernetes-Cluster {name} wurde abgebrochen"]
    assert found[1][2]["clusterId"] == cluster
    world.admin.expect(200, "DELETE", f"/v2/clusters/{cluster}/connection", params={"forget": "true"})
    until_told(world, name, "cluster.added", "job.begun", "job.canceled")
