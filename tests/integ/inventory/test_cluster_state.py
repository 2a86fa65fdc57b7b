"""Placement and state of clusters: what provisioners report, what a watched vCenter shows, and what becomes of both."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from env import vimclient
from env.api import Api
from env.full import World, add_vcenter, register
from env.wait import until

pytestmark = pytest.mark.slow
EAST, WEST, PLAIN = "domain-c7", "domain-c70", "domain-c40"
WEST_HOST, EAST_HOST, EAST_HOST_2, PLAIN_HOST = "host-71", "host-11", "host-12", "host-41"
CP_VM, W0_VM = "vm-101", "vm-102"
CP_UUID, CP_BIOS = "50010000-0000-4000-8000-000000000101", "42010000-0000-4000-8000-000000000101"
W0_UUID, W0_BIOS = "50010000-0000-4000-8000-000000000102", "42010000-0000-4000-8000-000000000102"
TWO = [{"name": "cp-0", "role": "control_plane", "vm_instance_uuid": CP_UUID}, {"name": "w-0", "role": "worker", "vm_bios_uuid": W0_BIOS}]
MERGE = {"Content-Type": "application/merge-patch+json"}
Make = Callable[..., str]


def record(world: World, name: str, moref: str = EAST, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kubernetes_version": "1.31.2",
        "control_plane": {"desired": 1},
        "workers": {"desired": 1},
        "vsphere_clusters": [{"vcenter_id": world.vcenter.instance_uuid, "moref": moref}],
        **more,
    }


@pytest.fixture(scope="module")
def joined() -> Iterator[World]:
    with World("state", options={"auth": {"rights_fresh": "1s"}}) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        yield world


@pytest.fixture(scope="module")
def admin(joined: World) -> Api:
    return joined.admin


@pytest.fixture
def make(joined: World, admin: Api) -> Iterator[Make]:
    """Adds clusters, declared on HX-East unless said otherwise, that go away with the test."""
    made: list[str] = []

    def add(moref: str = EAST, **more: Any) -> str:
        body = record(joined, f"t-{uuid.uuid4().hex[:12]}", moref, **more)
        made.append(admin.expect(201, "POST", "/v2/clusters", json=body)["id"])
        return made[-1]

    yield add
    for known in made:
        assert admin.call("DELETE", f"/v2/clusters/{known}").status_code in (204, 404)


@pytest.fixture
def change(joined: World) -> Iterator[Callable[..., None]]:
    """Changes objects of the vCenter; machines are put back where they were."""

    def do(action: str, **more: Any) -> None:
        joined.vcenter.control.object(action, **more)

    yield do
    for machine, host in ((CP_VM, EAST_HOST), (W0_VM, EAST_HOST_2)):
        do("power", id=machine, state="poweredOn")
        do("connection", id=machine, state="connected")
        do("migrate", id=machine, to=host)


def sign_in(world: World, name: str) -> Api:
    """By password, so that the rights can be asked for again later on."""
    user = world.vcenter.users[name]
    return world.kaasd.api().login_password(user.login, user.password, f"vcenter:{world.vcenter.instance_uuid}")


def show(api: Api, known: str) -> dict[str, Any]:
    return api.get(f"/v2/clusters/{known}")


def nodes(api: Api, known: str) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in api.get(f"/v2/clusters/{known}/nodes")["items"]}


def report(api: Api, known: str, state: str = "ready", **more: Any) -> dict[str, Any]:
    return api.expect(200, "PUT", f"/v2/clusters/{known}/status", json={"state": state, **more})


def places(cluster: dict[str, Any]) -> list[str]:
    return [place["moref"] for place in cluster["placement"]["vsphere_clusters"]]


def wait_for(api: Api, known: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    last: list[dict[str, Any]] = []

    def look() -> dict[str, Any] | None:
        last[:] = [show(api, known)]
        return last[0] if fits(last[0]) else None

    return until(look, last)


def is_observed(cluster: dict[str, Any]) -> bool:
    return cluster["placement"]["source"] == "observed"


def changes(world: World) -> int:
    return int(world.db.query("SELECT COUNT(*) FROM kaas.change_log")[0][0])


# -- reports --------------------------------------------------------------------------------------------------------------------


def test_a_report_sets_state_reason_and_counts(admin: Api, make: Make) -> None:
    known = make()
    shown = report(admin, known, "degraded", reason="a worker is late", control_plane={"ready": 1, "desired": 1}, workers={"ready": 0},
                   kubernetes_version="1.32.0", api_endpoint="https://10.0.0.1:6443")
    assert (shown["state"], shown["state_reason"], shown["state_source"]) == ("degraded", "a worker is late", "reported")
    assert (shown["control_plane"], shown["workers"]) == ({"ready": 1, "desired": 1}, {"ready": 0, "desired": 1})
    assert (shown["kubernetes_version"], shown["api_endpoint"]) == ("1.32.0", "https://10.0.0.1:6443")
    assert shown == show(admin, known)


def test_what_a_report_leaves_out_stays_but_for_the_reason(admin: Api, make: Make) -> None:
    known = make()
    first = report(admin, known, "creating", reason="step 2", workers={"ready": 1, "desired": 4}, nodes=TWO)
    second = report(admin, known, "ready")
    assert (second["state"], second["state_reason"]) == ("ready", None)
    assert second["workers"] == first["workers"]
    assert set(nodes(admin, known)) == {"cp-0", "w-0"}


def test_the_same_report_again_changes_nothing(joined: World, admin: Api, make: Make) -> None:
    known = make()
    first = admin.call("PUT", f"/v2/clusters/{known}/status", json={"state": "ready", "nodes": TWO})
    settled = wait_for(admin, known, is_observed)
    tag = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    before = changes(joined)
    for _ in range(20):
        again = admin.call("PUT", f"/v2/clusters/{known}/status", json={"state": "ready", "nodes": TWO})
        assert (again.status_code, again.json(), again.headers["ETag"]) == (200, settled, tag)
    assert changes(joined) == before
    assert first.status_code == 200


def test_only_changes_of_the_reported_state_are_audited(joined: World, admin: Api, make: Make) -> None:
    known = make()
    for state, workers in (("creating", 0), ("creating", 1), ("ready", 1), ("ready", 2)):
        report(admin, known, state, workers={"ready": workers})
    lines = joined.db.query("SELECT COUNT(*) FROM kaas.audit WHERE action = 'cluster.report' AND object_id = %s", known)
    assert lines[0][0] == 2


def test_a_declared_state_counts_until_the_next_report(admin: Api, make: Make) -> None:
    known = make()
    report(admin, known, "failed")
    patched = admin.expect(200, "PATCH", f"/v2/clusters/{known}", json={"state": "updating"}, headers=MERGE)
    assert (patched["state"], patched["state_source"]) == ("updating", "declared")
    assert report(admin, known, "failed")["state_source"] == "reported"


def test_a_report_may_ask_for_the_version_it_has_seen(admin: Api, make: Make) -> None:
    known = make()
    old = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    report(admin, known, "creating")
    new = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    stale = admin.call("PUT", f"/v2/clusters/{known}/status", json={"state": "ready"}, headers={"If-Match": old})
    fresh = admin.call("PUT", f"/v2/clusters/{known}/status", json={"state": "ready"}, headers={"If-Match": new})
    assert (stale.status_code, fresh.status_code) == (412, 200)


@pytest.mark.parametrize("body", [
    {}, {"state": "fine"}, {"state": "ready", "more": 1}, {"state": "ready", "reason": "x" * 1001}, {"state": "ready", "workers": {}},
    {"state": "ready", "workers": {"ready": -1}}, {"state": "ready", "kubernetes_version": "v1"}, {"state": "ready",
                                                                                                   "api_endpoint": "http://x"},
    {"state": "ready", "nodes": [{"name": "a"}]}, {"state": "ready", "nodes": [{"name": "a", "role": "worker", "vm_bios_uuid": "x"}]},
    {"state": "ready", "nodes": [{"name": "a", "role": "worker", "secret": "x"}]},
    {"state": "ready", "nodes": [{"name": "a", "role": "worker"}, {"name": "a", "role": "worker"}]},
])
def test_a_report_that_breaks_the_contract_changes_nothing(admin: Api, make: Make, body: dict[str, Any]) -> None:
    known = make()
    admin.refused(422, "unprocessable", "PUT", f"/v2/clusters/{known}/status", json=body)
    assert (show(admin, known)["state"], show(admin, known)["state_source"]) == ("unknown", "declared")


def test_a_report_needs_the_role_and_a_cluster(joined: World, admin: Api, make: Make) -> None:
    known = make()
    sign_in(joined, "viewer-east").refused(403, "forbidden", "PUT", f"/v2/clusters/{known}/status", json={"state": "failed"})
    admin.refused(404, "not_found", "PUT", f"/v2/clusters/{uuid.uuid4()}/status", json={"state": "ready"})
    assert show(admin, known)["state"] == "unknown"


def test_kaasctl_reports_by_hand(joined: World, admin: Api, make: Make) -> None:
    name = show(admin, make())["name"]
    said = joined.kaasd.ctl.ok("cluster", "status", name, "--state", "degraded", "--reason", "by hand", "--workers", "0/1")
    assert said.splitlines()[0] == f"cluster {name} is degraded (entered by hand): by hand"
    assert "It stays so until" in said
    (typed,) = admin.items("/v2/clusters", q=name)
    who = typed["state_by"]
    assert typed["state_source"] == "declared"
    assert typed["state_since"]
    assert f"entered by hand by {who}, less than 1 min ago" in joined.kaasd.ctl.ok("cluster", "show", name)
    assert "degraded (by hand)" in joined.kaasd.ctl.ok("cluster", "list")
    said = joined.kaasd.ctl.ok("cluster", "status", name, "--state", "ready", "--periodic")
    assert said.splitlines()[0] == f"cluster {name} is ready (reported)"
    assert "becomes unknown" in said
    assert "(by hand)" not in [line for line in joined.kaasd.ctl.ok("cluster", "list").splitlines() if name in line][0]


# -- what is seen ---------------------------------------------------------------------------------------------------------------


def test_nodes_are_joined_to_their_machines(admin: Api, make: Make) -> None:
    known = make(moref=PLAIN)
    report(admin, known, nodes=[*TWO, {"name": "k8s-prod-w-1", "role": "worker"}, {"name": "w-9", "role": "worker"}])
    wait_for(admin, known, is_observed)
    names = ("cp-0", "w-0", "k8s-prod-w-1")
    until(lambda: all(nodes(admin, known)[name]["vm"] for name in names), "all matched")
    seen = nodes(admin, known)
    assert [seen[name]["vm"]["match"] for name in names] == ["instance_uuid", "bios_uuid", "name"]
    machine = seen["cp-0"]["vm"]
    assert (machine["name"], machine["power"], machine["connection"]) == ("k8s-prod-cp-0", "on", "connected")
    assert (seen["cp-0"]["host"]["name"], seen["cp-0"]["vsphere_cluster"]["moref"]) == ("hx-east-1.example.test", EAST)
    assert (seen["w-0"]["vm"]["instance_uuid"], seen["w-0"]["vm_instance_uuid"]) == (W0_UUID, None)  # observed beside declared
    assert (seen["w-9"]["vm"], seen["w-9"]["host"], seen["w-9"]["vsphere_cluster"]) == (None, None, None)
    assert seen["k8s-prod-w-1"]["state"] == "not_ready"


@pytest.mark.parametrize("told", ["00000142-0000-0040-8000-000000000102", "vsphere://42010000-0000-4000-8000-000000000102",
                                  "VMware-42 01 00 00 00 00 40 00-80 00 00 00 00 00 01 02"], ids=["turned", "providerID", "serial"])
def test_a_bios_uuid_is_taken_as_a_node_tells_it(admin: Api, make: Make, told: str) -> None:
    known = make()
    report(admin, known, nodes=[{"name": "w-0", "role": "worker", "vm_bios_uuid": told}])
    wait_for(admin, known, is_observed)
    machine = nodes(admin, known)["w-0"]["vm"]
    assert (machine["match"], machine["moref"], machine["bios_uuid"]) == ("bios_uuid", W0_VM, W0_BIOS)


def test_the_declared_placement_gives_way_to_the_observed_one(admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make(moref=PLAIN)
    assert (places(show(admin, known)), show(admin, known)["placement"]["source"]) == ([PLAIN], "declared")
    report(admin, known, nodes=TWO)
    shown = wait_for(admin, known, is_observed)
    assert places(shown) == [EAST]
    assert [hx["name"] for hx in shown["placement"]["hx_clusters"]] == ["HX-East"]
    assert shown["observed_at"]
    change("migrate", id=W0_VM, to=WEST_HOST)
    wait_for(admin, known, lambda c: places(c) == [EAST, WEST])
    report(admin, known, nodes=[])
    assert places(show(admin, known)) == [PLAIN]


def test_a_machine_that_is_off_degrades_and_is_named(admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make()
    report(admin, known, nodes=TWO)
    wait_for(admin, known, is_observed)
    change("power", id=W0_VM, state="poweredOff")
    shown = wait_for(admin, known, lambda c: c["state"] == "degraded")
    assert (shown["state_source"], shown["state_reason"]) == ("observed", "VM k8s-prod-w-0 is powered off")
    assert known in [cluster["id"] for cluster in admin.items("/v2/clusters", state="degraded")]
    assert known not in [cluster["id"] for cluster in admin.items("/v2/clusters", state="ready")]
    change("power", id=W0_VM, state="poweredOn")
    wait_for(admin, known, lambda c: (c["state"], c["state_source"], c["state_reason"]) == ("ready", "reported", None))


def test_without_its_control_plane_a_cluster_is_unreachable(admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make()
    report(admin, known, nodes=TWO)
    wait_for(admin, known, is_observed)
    change("connection", id=CP_VM, state="disconnected")
    shown = wait_for(admin, known, lambda c: c["state"] == "unreachable")
    assert shown["state_reason"] == ("1 of 1 of its control plane is not running: no majority, the API cannot work; "
                                     "VM k8s-prod-cp-0 is disconnected")
    assert nodes(admin, known)["cp-0"]["state"] == "not_ready"


def test_without_a_majority_of_its_control_plane_a_cluster_is_unreachable(joined: World, admin: Api, make: Make) -> None:
    """Powered off by somebody else's program, one after the other: who was told that all are ready sees how many can be, everywhere."""
    control, prefix = joined.vcenter.control, f"q{uuid.uuid4().hex[:8]}"
    names = [f"{prefix}-cp-{n}" for n in range(3)]
    machines = [control.create_machines(EAST, name)[0] for name in names]
    known = make(control_plane={"desired": 3})
    report(admin, known, control_plane={"ready": 3}, workers={"ready": 1},
           nodes=[{"name": name, "role": "control_plane"} for name in names])
    wait_for(admin, known, is_observed)

    vimclient.run_govc(joined.vcenter, "vm.power", "-dc", "DC0", "-off", names[0])
    shown = wait_for(admin, known, lambda c: c["state"] == "degraded")
    assert shown["state_reason"] == f"VM {names[0]} is powered off"
    assert shown["control_plane"] == {"ready": 2, "desired": 3}

    vimclient.run_govc(joined.vcenter, "vm.power", "-dc", "DC0", "-off", names[1])
    shown = wait_for(admin, known, lambda c: c["state"] == "unreachable")
    assert shown["state_reason"] == ("2 of 3 of its control plane are not running: no majority, the API cannot work; "
                                     f"VM {names[0]} is powered off; VM {names[1]} is powered off")
    assert (shown["control_plane"], shown["workers"]) == ({"ready": 1, "desired": 3}, {"ready": 1, "desired": 1})
    (listed,) = [cluster for cluster in admin.items("/v2/clusters", state="unreachable") if cluster["id"] == known]
    assert listed == shown
    told = joined.kaasd.ctl.ok("cluster", "show", known)
    assert "unreachable" in told and "1/3" in told
    assert report(admin, known, control_plane={"ready": 3})["control_plane"]["ready"] == 1  # what is told again is kept beside
    for machine in machines[:2]:
        control.power(machine, on=True)
    shown = wait_for(admin, known, lambda c: c["state"] == "ready")
    assert (shown["control_plane"]["ready"], shown["state_reason"]) == (3, None)
    for machine in machines:
        control.remove(machine)


def test_one_known_machine_of_three_is_no_majority_lost(admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make(control_plane={"desired": 3})
    report(admin, known, control_plane={"ready": 3}, nodes=TWO)
    wait_for(admin, known, is_observed)
    change("power", id=CP_VM, state="poweredOff")
    shown = wait_for(admin, known, lambda c: c["state"] != "ready")
    assert (shown["state"], shown["control_plane"]["ready"]) == ("degraded", 2)


def test_work_under_way_is_not_painted_over(admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make()
    report(admin, known, "updating", reason="node by node", nodes=TWO)
    wait_for(admin, known, is_observed)
    change("power", id=W0_VM, state="poweredOff")
    shown = wait_for(admin, known, lambda c: c["state_reason"] == "node by node; VM k8s-prod-w-0 is powered off")
    assert (shown["state"], shown["state_source"]) == ("updating", "reported")


def test_a_machine_belongs_to_one_node(admin: Api, make: Make) -> None:
    first, second = make(), make()
    report(admin, first, nodes=[{"name": "a", "role": "worker", "vm_name": "k8s-prod-w-0"}])
    until(lambda: (nodes(admin, first)["a"]["vm"] or {}).get("match") == "name", "matched by name")
    report(admin, second, nodes=[{"name": "b", "role": "worker", "vm_name": "k8s-prod-w-0"}])
    until(lambda: (nodes(admin, second)["b"]["vm"] or {}).get("match") == "mismatch", "taken already")
    assert show(admin, second)["placement"]["source"] == "declared"
    report(admin, second, nodes=[{"name": "b", "role": "worker", "vm_instance_uuid": W0_UUID}])  # who names its identity has it
    until(lambda: nodes(admin, second)["b"]["vm"] and nodes(admin, second)["b"]["vm"]["match"] == "instance_uuid", "declared")
    until(lambda: nodes(admin, first)["a"]["vm"]["match"] == "mismatch", "gives way")


def test_a_namesake_is_not_taken_for_the_node(joined: World, admin: Api, make: Make) -> None:
    """Removed and made anew under the same name, a machine is another one until the declaration allows it."""
    control = joined.vcenter.control
    name, fresh = f"vm-{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    born = control.object("create", id=EAST, vm={"name": name, "host": "hx-east-1.example.test"})["ids"][0]
    known = make()
    report(admin, known, nodes=[{"name": name, "role": "worker"}])
    wait_for(admin, known, lambda c: c["state"] == "ready" and is_observed(c))  # not while it is still off
    control.object("remove", id=born)
    shown = wait_for(admin, known, lambda c: c["state"] == "degraded")
    assert (shown["state_reason"], shown["placement"]["source"]) == (f"VM {name} is gone", "declared")
    assert nodes(admin, known)[name]["vm"]["match"] == "none"
    born = control.object("create", id=EAST, vm={"name": name, "host": "hx-east-1.example.test", "instance_uuid": fresh})["ids"][0]
    until(lambda: nodes(admin, known)[name]["vm"]["match"] == "mismatch", "a mismatch")
    assert nodes(admin, known)[name]["vm"]["instance_uuid"] == fresh
    assert show(admin, known)["state_reason"] == f"VM {name} is gone; another has its name"
    report(admin, known, nodes=[{"name": name, "role": "worker", "vm_instance_uuid": fresh}])
    wait_for(admin, known, lambda c: c["state"] == "ready" and is_observed(c))
    control.object("remove", id=born)


# -- who sees it ----------------------------------------------------------------------------------------------------------------


def test_a_node_that_moves_out_of_sight_takes_its_cluster_along(joined: World, admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make()
    report(admin, known, nodes=TWO)
    wait_for(admin, known, is_observed)
    viewer = sign_in(joined, "viewer-east")
    assert set(nodes(viewer, known)) == {"cp-0", "w-0"}

    change("migrate", id=W0_VM, to=WEST_HOST)
    wait_for(admin, known, lambda c: places(c) == [EAST, WEST])
    part = show(viewer, known)
    listed = viewer.get(f"/v2/clusters/{known}/nodes")
    assert (places(part), part["placement"]["hidden"]) == ([EAST], 1)
    assert ([node["name"] for node in listed["items"]], listed["hidden"]) == (["cp-0"], 1)

    change("power", id=W0_VM, state="poweredOff")
    wait_for(admin, known, lambda c: c["state"] == "degraded")
    assert show(viewer, known)["state_reason"] == "1 of its virtual machines is not running"  # names are not for this viewer

    change("migrate", id=CP_VM, to=WEST_HOST)
    until(lambda: viewer.call("GET", f"/v2/clusters/{known}").status_code == 404, "out of sight")
    assert known not in [cluster["id"] for cluster in viewer.items("/v2/clusters")]
    viewer.refused(404, "not_found", "GET", f"/v2/clusters/{known}/nodes")

    change("migrate", id=CP_VM, to=EAST_HOST)
    until(lambda: viewer.call("GET", f"/v2/clusters/{known}").status_code == 200, "in sight again")


def impact(api: Api, host: str, known: str) -> dict[str, Any]:
    """What is told of one cluster, if its nodes are there."""
    told = api.get("/v2/impact/hosts", host=host)
    return next((row for row in told["clusters"] if row["cluster"]["id"] == known), {})


def reasons(api: Api, known: str) -> list[str]:
    return [reason["reason"] for reason in api.get(f"/v2/clusters/{known}/health")["reasons"]]


def test_the_impact_of_a_host_follows_the_machines(joined: World, admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make()
    report(admin, known, nodes=TWO)
    wait_for(admin, known, is_observed)
    told = impact(admin, EAST_HOST, known)
    assert (told["verdict"], told["workers_on_host"]) == ("loses_quorum", 0)
    assert told["control_plane"] == {"size": 1, "running": 1, "left": 0, "on_host": 1}
    assert [(node["name"], node["vm"]["moref"]) for node in told["nodes"]] == [("cp-0", CP_VM)]
    assert impact(admin, EAST_HOST_2, known)["verdict"] == "workers_only"
    name = nodes(admin, known)["cp-0"]["host"]["name"]
    assert admin.get("/v2/impact/hosts", host=name.upper(), vcenter=joined.vcenter.instance_uuid)["host"]["moref"] == EAST_HOST

    viewer = sign_in(joined, "viewer-east")
    assert impact(viewer, EAST_HOST, known)["verdict"] == "loses_quorum"
    change("migrate", id=W0_VM, to=WEST_HOST)
    wait_for(admin, known, lambda c: places(c) == [EAST, WEST])
    assert impact(admin, WEST_HOST, known)["workers_on_host"] == 1
    for api, host in ((admin, EAST_HOST_2), (viewer, WEST_HOST)):
        api.refused(404, "not_found", "GET", "/v2/impact/hosts", params={"host": host})


def test_a_name_that_fits_several_hosts_is_answered_with_them(joined: World, admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make()
    report(admin, known, nodes=TWO)
    twins = [joined.vcenter.control.create_host(EAST, f"twin.{site}.example.com") for site in ("north", "south")]
    for machine, host in zip((CP_VM, W0_VM), twins, strict=True):
        change("migrate", id=machine, to=host)
    until(lambda: [node["host"] and node["host"]["moref"] for node in nodes(admin, known).values()] == twins, "both to have moved")
    problem = admin.refused(409, "ambiguous", "GET", "/v2/impact/hosts", params={"host": "twin"})
    assert [(one["moref"], one["path"]) for one in problem["candidates"]] == [(host, "DC0/HX-East") for host in twins]
    assert impact(admin, "twin.south.example.com", known)["verdict"] == "workers_only"


def test_control_planes_that_share_a_host_are_in_the_health(admin: Api, make: Make, change: Callable[..., None]) -> None:
    known = make(control_plane={"desired": 3})
    both = [TWO[0], {**TWO[1], "role": "control_plane"}]
    report(admin, known, nodes=both)
    wait_for(admin, known, is_observed)
    assert reasons(admin, known) == []
    assert impact(admin, EAST_HOST, known)["verdict"] == "keeps_quorum"
    change("migrate", id=W0_VM, to=EAST_HOST)
    until(lambda: reasons(admin, known) == ["control_planes_share_host"], "what vCenter shows")
    assert (show(admin, known)["state"], impact(admin, EAST_HOST, known)["verdict"]) == ("ready", "loses_quorum")


def test_rights_are_asked_for_where_nodes_are(joined: World, admin: Api, make: Make, change: Callable[..., None]) -> None:
    """Nothing is declared on C-Plain and no HX cluster is there: only a node makes it one that rights are asked for."""
    known = make()
    report(admin, known, nodes=[TWO[0]])
    wait_for(admin, known, is_observed)
    viewer = sign_in(joined, "viewer-dc")
    change("migrate", id=CP_VM, to=PLAIN_HOST)
    wait_for(admin, known, lambda c: places(c) == [PLAIN])
    assert sign_in(joined, "viewer-dc").get(f"/v2/clusters/{known}")["placement"]["hidden"] == 0
    until(lambda: viewer.call("GET", f"/v2/clusters/{known}").status_code == 200, "the rights of an older session follow")


# -- silence --------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hasty() -> Iterator[World]:
    with World("hasty", options={"clusters": {"report_stale_after": "3s"}}) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        yield world


def test_a_silent_cluster_becomes_unknown_and_wakes_up_again(hasty: World) -> None:
    admin = hasty.admin
    known = admin.expect(201, "POST", "/v2/clusters", json=record(hasty, "silent"))["id"]
    assert report(admin, known)["state"] == "ready"
    hasty.db.stop()  # the time passes without the database
    try:
        shown = wait_for(admin, known, lambda c: c["state"] == "unknown")
    finally:
        hasty.db.start()
    assert shown["state_source"] == "observed"
    assert shown["state_reason"].startswith("no report since ")
    assert shown["state_reason"].endswith(", when it was ready")
    until(lambda: admin.call("PUT", f"/v2/clusters/{known}/status", json={"state": "ready"}).status_code == 200, "the database is back")
    wait_for(admin, known, lambda c: c["state"] in ("ready", "unknown"))
    assert report(admin, known)["state"] == "ready"


def test_what_a_person_typed_does_not_age_and_is_shown_as_typed(hasty: World) -> None:
    """By each way there is; a program's report on another cluster ages meanwhile, and so does its first one on the same."""
    admin, ctl = hasty.admin, hasty.kaasd.ctl
    known = admin.expect(201, "POST", "/v2/clusters", json=record(hasty, "typed"))["id"]
    other = admin.expect(201, "POST", "/v2/clusters", json=record(hasty, "told"))["id"]
    report(admin, known)
    wait_for(admin, known, lambda c: c["state"] == "unknown")
    for way in (lambda: ctl.ok("cluster", "status", "typed", "--state", "ready"), lambda: report(admin, known, by_hand=True),
                lambda: admin.expect(200, "PATCH", f"/v2/clusters/{known}", json={"state": "ready"}, headers=MERGE)):
        way()
        report(admin, other)
        wait_for(admin, other, lambda c: c["state"] == "unknown")
        typed = show(admin, known)
        assert (typed["state"], typed["state_source"], typed["state_reason"]) == ("ready", "declared", None)
        assert typed["state_by"] and typed["state_since"]
    report(admin, known, by_hand=True)  # once more, and so looked at again
    assert show(admin, known)["state_since"] > typed["state_since"]
    ctl.ok("cluster", "status", "typed", "--state", "ready", "--periodic")
    wait_for(admin, known, lambda c: (c["state"], c["state_source"], c["state_by"]) == ("unknown", "observed", None))


def test_a_cluster_that_nobody_reported_on_does_not_age(hasty: World) -> None:
    admin = hasty.admin
    known = admin.expect(201, "POST", "/v2/clusters", json=record(hasty, "declared", state="ready"))["id"]
    other = admin.expect(201, "POST", "/v2/clusters", json=record(hasty, "reported"))["id"]
    report(admin, other)
    wait_for(admin, other, lambda c: c["state"] == "unknown")
    assert (show(admin, known)["state"], show(admin, known)["state_source"]) == ("ready", "declared")


def test_times_of_reports_are_written_in_batches(joined: World, admin: Api, make: Make) -> None:
    known = make()
    report(admin, known)
    first = joined.db.query("SELECT reported_at_ms FROM kaas.clusters WHERE id = %s", known)[0][0]
    report(admin, known)  # with nothing new: kept in memory, written with the next batch
    until(lambda: joined.db.query("SELECT reported_at_ms FROM kaas.clusters WHERE id = %s", known)[0][0] > first, "the batch")


# -- what Kubernetes tells of nodes ---------------------------------------------------------------------------------------------

UPPER_TURNED_W0 = "00000142-0000-0040-8000-000000000102".upper()
LEASE = "kube:"  # and the id of the cluster (src/kubernetes/kubernetes_private.h)
Tell = Callable[..., str]


@pytest.fixture
def tell(joined: World, admin: Api, make: Make) -> Iterator[Tell]:
    """Adds a connected cluster, and writes what Kubernetes tells of its nodes, as the holder of the lease, which kaasd is not."""
    db = joined.db
    connected: list[str] = []

    def sql(statement: str, *values: Any) -> None:
        db.query(statement, *values, database="kaas")

    def write_nodes(known: str, nodes: tuple[dict[str, Any], ...]) -> None:
        """Each with its facts or not at all: a look at the vCenter between the two would bind a machine by the name alone."""
        with db.connection() as client, client.cursor() as cursor:
            client.select_db("kaas")
            client.begin()
            for node in nodes:
                mine = node.get("id") or str(uuid.uuid4())
                cursor.execute("INSERT IGNORE INTO nodes (id, cluster_id, name, role) VALUES (%s, %s, %s, 'worker')",
                               (mine, known, node["name"]))
                cursor.execute(
                    "INSERT INTO kube_nodes (node_id, cluster_id, is_made, uid, provider_id, system_uuid, version, address,"
                    " is_control_plane, is_cordoned, ready, reason, ready_since_ms, pressure, created_at_ms)"
                    " VALUES (%s, %s, 1, %s, %s, %s, 'v1.36.3', '10.0.0.7', 0, 0, %s, %s, 1000, %s, 1)",
                    (mine, known, mine, node.get("provider_id"), node.get("system_uuid"), node.get("ready", "true"), node.get("reason"),
                     node.get("pressure")))
            client.commit()

    def do(state: str, *nodes: dict[str, Any], known: str | None = None) -> str:
        if known is None:
            known = make()
            connected.append(known)
            sql("INSERT INTO leases (name, holder, expires_at_ms) VALUES (%s, 'test', 9999999999999)", LEASE + known)
            sql("INSERT INTO kube_connections (cluster_id, address, cluster_uid, created_at_ms, updated_at_ms, version_no)"
                " VALUES (%s, 'https://k.test', %s, 1, 1, 1)", known, known)
            sql("INSERT INTO kube_statuses (cluster_id, state, since_ms, checked_at_ms, token_until_ms, token_renew_at_ms, health,"
                " health_since_ms, version_no) VALUES (%s, 'ok', 1, 1, 1, 1, 'ready', 1, 1)", known)
        sql("UPDATE kube_statuses SET state = %s WHERE cluster_id = %s", state, known)
        write_nodes(known, nodes)
        admin.expect(200, "PATCH", f"/v2/clusters/{known}", json={"description": uuid.uuid4().hex}, headers=MERGE)
        return known

    yield do
    for known in connected:
        sql("DELETE FROM kube_connections WHERE cluster_id = %s", known)
        sql("DELETE FROM leases WHERE name = %s", LEASE + known)


def test_the_machine_of_a_node_is_the_one_that_kubernetes_tells(admin: Api, tell: Tell) -> None:
    """k8s-prod-w-1 is the name of a third machine."""
    known = tell("ok", {"name": "k8s-prod-w-1", "provider_id": f"vsphere://{CP_BIOS}"}, {"name": "other", "system_uuid": UPPER_TURNED_W0})
    until(lambda: all(node["vm"] for node in nodes(admin, known).values()), "both matched")
    seen = nodes(admin, known)
    assert {name: (node["vm"]["moref"], node["vm"]["match"]) for name, node in seen.items()} == {
        "k8s-prod-w-1": (CP_VM, "bios_uuid"), "other": (W0_VM, "bios_uuid")}


def test_a_declared_node_gets_its_machine_when_kubernetes_tells_it(admin: Api, tell: Tell) -> None:
    known = tell("ok")
    report(admin, known, nodes=[{"name": "said", "role": "worker"}, {"name": "k8s-prod-w-1", "role": "worker"}])
    until(lambda: nodes(admin, known)["k8s-prod-w-1"]["vm"], "the look at the vCenter")
    declared = nodes(admin, known)["said"]
    assert declared["vm"] is None
    tell("ok", {"name": "said", "id": declared["id"], "system_uuid": W0_BIOS}, known=known)
    found = until(lambda: nodes(admin, known)["said"]["vm"], "its machine")
    assert (found["moref"], found["match"]) == (W0_VM, "bios_uuid")


def test_a_node_is_as_bad_as_the_worse_of_kubernetes_and_vcenter(admin: Api, tell: Tell, change: Callable[..., None]) -> None:
    known = tell("ok", {"name": "good", "system_uuid": W0_BIOS}, {"name": "mute", "ready": "unknown", "reason": "NodeStatusUnknown"},
                 {"name": "bad", "ready": "false", "reason": "KubeletNotReady", "pressure": "DiskPressure PIDPressure"})
    until(lambda: nodes(admin, known)["good"]["vm"], "its machine")
    seen = nodes(admin, known)
    assert {name: node["state"] for name, node in seen.items()} == {"good": "ready", "mute": "not_ready", "bad": "not_ready"}
    assert seen["bad"]["kubernetes"] == {
        "ready": False, "reason": "KubeletNotReady", "since": "1970-01-01T00:00:01.000Z", "cordoned": False, "version": "v1.36.3",
        "address": "10.0.0.7", "provider_id": None, "system_uuid": None, "control_plane": False,
        "pressure": ["DiskPressure", "PIDPressure"], "as_of": None}
    assert (seen["mute"]["kubernetes"]["ready"], seen["mute"]["kubernetes_version"]) == (None, "v1.36.3")
    change("power", id=W0_VM, state="poweredOff")
    until(lambda: nodes(admin, known)["good"]["state"] == "not_ready", "vCenter's word")
    change("power", id=W0_VM, state="poweredOn")
    until(lambda: nodes(admin, known)["good"]["state"] == "ready", "vCenter's word")
    tell("failing", known=known)  # one try, which says nothing of today
    good = nodes(admin, known)["good"]
    assert (good["state"], good["kubernetes"]["as_of"]) == ("ready", "1970-01-01T00:00:00.001Z")
    tell("refused", known=known)
    assert nodes(admin, known)["good"]["state"] == "unknown"


def test_reports_leave_nodes_that_kubernetes_has_and_write_nothing_anew(admin: Api, tell: Tell) -> None:
    known = tell("ok", {"name": "theirs"})
    mine = nodes(admin, known)["theirs"]["id"]
    for _ in range(2):
        report(admin, known, nodes=[{"name": "said", "role": "worker"}])
        assert set(nodes(admin, known)) == {"theirs", "said"}
    etag = admin.call("GET", f"/v2/clusters/{known}").headers["ETag"]
    report(admin, known, nodes=[{"name": "said", "role": "worker"}])
    assert admin.call("GET", f"/v2/clusters/{known}").headers["ETag"] == etag
    declared = {"nodes": [{"name": "theirs", "role": "worker", "vm_name": "x"}]}
    admin.expect(200, "PATCH", f"/v2/clusters/{known}", json=declared, headers=MERGE)
    seen = nodes(admin, known)
    assert (set(seen), seen["theirs"]["id"], seen["theirs"]["vm_name"]) == ({"theirs"}, mine, "x")


def test_a_connected_cluster_is_not_deleted(admin: Api, tell: Tell) -> None:
    known = tell("ok")
    refused = admin.call("DELETE", f"/v2/clusters/{known}")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "kaasctl cluster disconnect t-" in refused.json()["remedy"]
