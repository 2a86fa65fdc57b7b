"""What of the plug-in the vSphere Client shows at an object (`POST /plugin/items`): by the rights of whoever opens it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from env import vimclient
from env.clock import clocked_world
from env.full import World, add_vcenter, register, sample_arguments
from env.samples import PLAIN, Sample
from env.watching import add_cluster, drop_hx, nodes, placed, present, until, until_watching, vsphere
from pyVmomi import vim

pytestmark = pytest.mark.slow
Json = dict[str, Any]
HEADER = "vmware-api-session-id"
EAST_MOREF, PLAIN_MOREF = "domain-c7", "domain-c40"
CARDS = {"VirtualMachine": "kaas.vm", "HostSystem": "kaas.host", "Datacenter": "kaas.datacenter"}


def client_session(world: World, user: str) -> str:
    """What the vSphere Client sends along for somebody who is signed in there."""
    return world.vcenter.control.plugin_token(f"{user}@vsphere.local")


def shown(world: World, session: str | None, kind: str, moref: str, vcenter: str | None = None) -> list[Any]:
    urn = f"urn:vmomi:{kind}:{moref}:{vcenter or world.vcenter.instance_uuid}"
    asked = {"apiVersion": "1.0.0", "objectIds": [urn], "locale": "de-DE", "new": 1}
    headers = {} if session is None else {HEADER: session}
    answer = world.kaasd.api().expect(200, "POST", "/plugin/items", json=asked, headers=headers)
    return [(item["id"], item["visible"]) for item in answer["dynamicItems"]]


def add_nodes(world: World, name: str, morefs: tuple[str, str], number: int) -> Json:
    """A cluster of two nodes, control plane and worker, that are virtual machines on these vSphere clusters; the nodes by name."""
    uuids = {node: f"50010000-0000-4000-8000-00000000{number + i}" for i, node in enumerate(("cp-0", "w-0"))}
    for (node, uuid), moref in zip(uuids.items(), morefs, strict=True):
        world.vcenter.control.create_machines(moref, f"{name}-{node}", instance_uuid=uuid)
    known = add_cluster(world, name, [
        {"name": node, "role": "worker" if node[0] == "w" else "control_plane", "vm_instance_uuid": uuid} for node, uuid in uuids.items()])
    until(lambda: all(node["vm"] and node["host"] for node in nodes(world, known).values()), "the machines of the nodes")
    return nodes(world, known)


def placed_on(world: World, name: str) -> set[str]:
    return next(placed(world, row["id"]) for row in world.admin.items("/v2/clusters") if row["name"] == name)


@pytest.fixture(scope="module")
def east(world: World) -> Json:
    return add_nodes(world, "items-east", (EAST_MOREF, EAST_MOREF), 8101)


@pytest.fixture(scope="module")
def plain(world: World) -> Json:
    return add_nodes(world, "items-plain", (PLAIN_MOREF, PLAIN_MOREF), 8201)


@pytest.fixture(scope="module")
def datacenter(world: World) -> str:
    """Managed object id of the one that all of the world lies in, as vCenter has it."""
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        return next(moref for moref, row in vimclient.read_all(instance, vim.Datacenter, "name").items() if row["name"] == "DC0")


@pytest.fixture(scope="module")
def objects(east: Json, plain: Json, datacenter: str) -> list[tuple[str, str]]:
    """Of each type some that carry something, and one that does not exist."""
    return [("ClusterComputeResource", EAST_MOREF), ("ClusterComputeResource", PLAIN_MOREF), ("ClusterComputeResource", "domain-c999"),
            *(("VirtualMachine", node["vm"]["moref"]) for node in (east["cp-0"], plain["w-0"])), ("VirtualMachine", "vm-999"),
            *(("HostSystem", node["host"]["moref"]) for node in (east["cp-0"], plain["w-0"])), ("HostSystem", "host-999"),
            ("Datacenter", datacenter), ("Datacenter", "datacenter-999")]


def test_who_sees_it_is_shown_it(world: World, east: Json, datacenter: str) -> None:
    session = client_session(world, "viewer-dc")

    def see(kind: str, moref: str) -> list[Any]:
        return shown(world, session, kind, moref)

    assert see("ClusterComputeResource", EAST_MOREF) == [("kaas.cluster", True)]
    assert see("ClusterComputeResource", "domain-c999") == [("kaas.cluster", False)]
    assert see("VirtualMachine", east["cp-0"]["vm"]["moref"]) == [("kaas.vm", True)]
    assert see("VirtualMachine", "vm-999") == [("kaas.vm", False)]
    assert see("HostSystem", east["w-0"]["host"]["moref"]) == [("kaas.host", True)]
    assert see("HostSystem", "host-999") == [("kaas.host", False)]
    assert see("Datacenter", datacenter) == [("kaas.datacenter", True)]
    assert see("Datacenter", "datacenter-999") == [("kaas.datacenter", False)]
    assert see("Datastore", "datastore-1") == []
    assert see("x" * 90, "a") == []


def test_each_is_shown_what_that_person_may_see(world: World, east: Json, plain: Json, datacenter: str) -> None:
    """viewer-east has HX-East alone, no-rights nothing."""
    for user, sees_east in (("viewer-east", True), ("no-rights", False)):
        session = client_session(world, user)
        for cluster, found, sees in ((EAST_MOREF, east, sees_east), (PLAIN_MOREF, plain, False)):
            assert shown(world, session, "ClusterComputeResource", cluster) == [("kaas.cluster", sees)], user
            for node in found.values():
                assert shown(world, session, "VirtualMachine", node["vm"]["moref"]) == [("kaas.vm", sees)], user
                assert shown(world, session, "HostSystem", node["host"]["moref"]) == [("kaas.host", sees)], user
        assert shown(world, session, "Datacenter", datacenter) == [("kaas.datacenter", sees_east)], user


def test_of_a_cluster_in_two_places_each_is_shown_where_that_person_may_look(world: World) -> None:
    found = add_nodes(world, "items-both", (EAST_MOREF, PLAIN_MOREF), 8301)
    until(lambda: placed_on(world, "items-both") == {EAST_MOREF, PLAIN_MOREF}, "the placement that is observed")
    for user, sees_plain in (("viewer-dc", True), ("viewer-east", False)):
        session = client_session(world, user)
        assert shown(world, session, "VirtualMachine", found["cp-0"]["vm"]["moref"]) == [("kaas.vm", True)], user
        assert shown(world, session, "VirtualMachine", found["w-0"]["vm"]["moref"]) == [("kaas.vm", sees_plain)], user
        assert shown(world, session, "ClusterComputeResource", PLAIN_MOREF) == [("kaas.cluster", sees_plain)], user


@pytest.mark.parametrize("session", [None, "", "short", "0" * 40, "x" * 600, "blank in it 0123456789"])
def test_strangers_learn_nothing(world: World, objects: list[tuple[str, str]], session: str | None) -> None:
    """All objects of a type are answered alike, those that there are not, too, and those of a vCenter that is not known."""
    for vcenter in (world.vcenter.instance_uuid, "00000000-0000-4000-8000-000000000000"):
        for kind, moref in objects:
            wanted = [(CARDS[kind], False)] if kind in CARDS else [("kaas.cluster", True)]
            assert shown(world, session, kind, moref, vcenter) == wanted, (kind, moref)


def test_the_session_of_another_vcenter_counts_for_nothing_here(world: World, east: Json) -> None:
    """An object is named with its vCenter, and so nobody can show a session where it is not from."""
    session = client_session(world, "viewer-dc")
    unknown = "00000000-0000-4000-8000-000000000000"
    assert shown(world, session, "VirtualMachine", east["cp-0"]["vm"]["moref"], unknown) == [("kaas.vm", False)]


def test_a_grant_counts_as_well(world: World, plain: Json) -> None:
    session, machine = client_session(world, "no-rights"), plain["w-0"]["vm"]["moref"]
    assert shown(world, session, "VirtualMachine", machine) == [("kaas.vm", False)]
    cluster = next(row["id"] for row in world.admin.items("/v2/clusters") if row["name"] == "items-plain")
    principal = f"vc:{world.vcenter.instance_uuid}:vsphere.local\\no-rights"
    grant = world.admin.expect(201, "POST", "/v2/grants", json={
        "principal_id": principal, "object_kind": "cluster", "object_id": cluster, "role": "viewer"})["id"]
    assert shown(world, session, "VirtualMachine", machine) == [("kaas.vm", True)]
    assert shown(world, session, "ClusterComputeResource", PLAIN_MOREF) == [("kaas.cluster", True)]
    world.admin.expect(204, "DELETE", f"/v2/grants/{grant}")
    assert shown(world, session, "VirtualMachine", machine) == [("kaas.vm", False)]


def test_what_is_wrong_with_the_question_is_said(world: World) -> None:
    for status, ids in ((200, ["x"]), (200, ["urn:vmomi:VirtualMachine:vm-1"]), (422, []), (422, [7]), (422, ["x", 7]), (422, "x")):
        for headers in ({}, {HEADER: "0" * 40}):
            assert world.kaasd.api().call("POST", "/plugin/items", json={"objectIds": ids}, headers=headers).status_code == status, ids


def tickets(world: World) -> int:
    """How often the vCenter was asked who somebody is."""
    return len(world.vcenter.control.calls(op="rest.clone-ticket"))


def test_the_vcenter_is_asked_about_a_session_once_a_minute() -> None:
    with clocked_world("items") as (world, clock):
        world.join()
        until_watching(world)  # what it finds first of permissions counts at once
        session, other = client_session(world, "viewer-east"), client_session(world, "no-rights")

        def sees(who: str) -> bool:
            return shown(world, who, "ClusterComputeResource", EAST_MOREF) == [("kaas.cluster", True)]

        before = tickets(world)
        assert [sees(session) for _ in range(5)] == [True] * 5
        assert tickets(world) == before + 1
        assert [sees(other) for _ in range(5)] == [False] * 5
        assert tickets(world) == before + 2
        clock.advance(61)
        assert sees(session)
        assert tickets(world) == before + 3
        # permissions that change count at once, as for those who are signed in
        world.vcenter.control.forbid(EAST_MOREF, "VSPHERE.LOCAL\\viewer-east")
        until(lambda: not sees(session), "the view to go with the right")
        world.vcenter.control.permit(EAST_MOREF, "VSPHERE.LOCAL\\viewer-east")
        until(lambda: sees(session), "the view to come with the right")
        assert not list(world.admin.items("/v2/sessions", principal="VSPHERE.LOCAL\\viewer-east"))  # nobody has signed in here


def test_while_the_vcenter_is_away_nobody_is_made_out(fresh_world: World) -> None:
    world = fresh_world
    world.join()
    session = client_session(world, "viewer-dc")
    world.vcenter.control.fault("rest.clone-ticket", "close")
    assert shown(world, session, "ClusterComputeResource", "domain-c999") == [("kaas.cluster", True)]
    assert shown(world, session, "Datacenter", "datacenter-2") == [("kaas.datacenter", False)]
    world.vcenter.control.clear_faults()
    until(lambda: shown(world, session, "ClusterComputeResource", "domain-c999") == [("kaas.cluster", False)], "the word of the vCenter")


def test_an_hx_cluster_or_a_kubernetes_cluster_is_enough(fresh_world: World) -> None:
    """Of vSphere clusters that exist: one with HX alone, one with nothing, and that with Kubernetes alone."""
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    register(fresh_world.kaasd, fresh_world.vcenter)
    until(lambda: {EAST_MOREF, PLAIN_MOREF} <= vsphere(fresh_world).keys() and EAST_MOREF in present(fresh_world), "the inventory")
    session = client_session(fresh_world, "viewer-dc")

    def is_shown(moref: str) -> bool:
        return shown(fresh_world, session, "ClusterComputeResource", moref) == [("kaas.cluster", True)]

    assert (is_shown(EAST_MOREF), is_shown(PLAIN_MOREF)) == (True, False)
    fresh_world.kaasd.ctl.ok(*sample_arguments(Sample("plain-1", (PLAIN,))))
    until(lambda: is_shown(PLAIN_MOREF), "the view where Kubernetes is")
    fresh_world.kaasd.ctl.ok("cluster", "rm", "plain-1", "--yes")
    until(lambda: not is_shown(PLAIN_MOREF), "nothing where Kubernetes was")
    for key in (EAST_MOREF, f"uuid.{EAST_MOREF}"):
        drop_hx(fresh_world, key)
    until(lambda: not is_shown(EAST_MOREF), "nothing where HX was")


def test_what_is_kept_of_a_person_says_nothing_about_a_vsphere_cluster_that_is_new(fresh_world: World) -> None:
    world = fresh_world
    world.join()
    session, new = client_session(world, "viewer-dc"), "domain-c5000"
    assert shown(world, session, "ClusterComputeResource", new) == [("kaas.cluster", False)]
    world.vcenter.control.object("create", datacenter="DC0", cluster={"name": "Fresh", "moref": new})
    until(lambda: new in vsphere(world), "the new vSphere cluster")
    world.kaasd.ctl.ok(*sample_arguments(Sample("fresh-1", ("DC0/Fresh",))))
    until(lambda: shown(world, session, "ClusterComputeResource", new) == [("kaas.cluster", True)], "the view there", limit_s=45)
