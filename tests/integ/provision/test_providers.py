"""Providers as an administrator meets them: applied from a file, resolved at the vCenter, shown, checked, removed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.full import World
from env.logins import until, wait_connected
from env.vcenter import User
from pyVmomi import vim

from .providers import ALL, CONTRACT, DOCUMENT, LOGIN, NEEDED, ROLE, document, prepare

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("providers", options={"kubernetes": {"allowed_networks": ["127.77.0.0/24"]}}) as whole:
        prepare(whole)
        yield whole


@pytest.fixture
def place(world: World) -> Iterator[World]:
    yield world
    world.vcenter.control.role(ROLE, "Global.LogEvent", *ALL)
    for row in list(world.admin.items("/v2/providers")):
        world.admin.expect(204, "DELETE", f"/v2/providers/{row['name']}")


def put(world: World, status: int = 201, **changes: Any) -> dict[str, Any]:
    body = document(**changes)
    return world.admin.expect(status, "PUT", f"/v2/providers/{body['name']}", json=body)


def refused(world: World, status: int, code: str, **changes: Any) -> dict[str, Any]:
    body = document(**changes)
    return world.admin.refused(status, code, "PUT", f"/v2/providers/{body['name']}", json=body)


def check(world: World, name: str = "east") -> dict[str, Any]:
    return world.admin.expect(200, "POST", f"/v2/providers/{name}/check")


def findings(world: World, step: str, name: str = "east") -> list[dict[str, Any]]:
    return [one for one in check(world, name)["findings"] if one["step"] == step]


def one_finding(world: World, step: str, place: str | None = None, name: str = "east") -> dict[str, Any]:
    (found,) = [one for one in findings(world, step, name) if place is None or one["place"] == place]
    return found


def in_file(world: World, text: str, name: str = "east.yaml") -> str:
    file = world.scratch.path / name
    file.write_text(text)
    return str(file)


def not_applied(world: World, path: str) -> str:
    said = world.kaasd.ctl.run("provider", "apply", "-f", path)
    assert said.returncode == 1
    return said.stderr


# -- applying ----------------------------------------------------------------------------------------------------------------------


def test_a_document_is_applied_from_a_file_and_shown_with_paths_and_ids(place: World) -> None:
    path = in_file(place, json.dumps(DOCUMENT))  # JSON is YAML
    said = place.kaasd.ctl.ok("provider", "apply", "-f", path)
    assert "/DC0/host/HX-East (domain-c7)" in said and "/DC0/vm/kaas-node (vm-" in said and "/DC0/datastore/DC0-DS (" in said
    shown = place.admin.get("/v2/providers/east")
    assert shown["document"] == DOCUMENT and shown["vcenter_name"] == "East" and shown["vcenter_id"] == place.vcenter.instance_uuid
    assert shown["places"]["vsphere_cluster"] == {
        "type": "ClusterComputeResource", "name": "HX-East", "path": "/DC0/host/HX-East", "moref": "domain-c7"}
    assert shown["places"]["resource_pool"]["path"] == "/DC0/host/HX-East/Resources"
    assert shown["places"]["network"]["path"] == "/DC0/network/VM Network"
    again = place.kaasd.ctl.ok("provider", "apply", "-f", path)
    assert again == said and place.admin.get("/v2/providers/east")["updated_at"] == shown["updated_at"]
    assert "east" in place.kaasd.ctl.ok("provider", "list")
    (line,) = [one for one in place.admin.items("/v2/audit", action="provider.apply")]
    assert (line["object_name"], line["result"]) == ("east", "ok")


def test_a_file_that_is_wrong_is_refused_with_line_and_column(place: World) -> None:
    path = in_file(place, "kind: Provider\nname: east\nvcentre: East\n")
    assert f"{path}:3:1: unknown key \"vcentre\", did you mean \"vcenter\"" in not_applied(place, path)
    path = in_file(place, json.dumps(document(name="East!")))
    assert "name is no DNS label" in not_applied(place, path)
    assert not list(place.admin.items("/v2/providers"))


@pytest.mark.parametrize(("changes", "said"), [
    ({"nodes__gateway": "10.8.0.1"}, "10.9.0.20 is not in the subnet of the gateway"),
    ({"nodes__gateway": "10.9.0.21"}, "10.9.0.21 is the gateway"),
    ({"api_addresses": ["10.9.0.20"]}, "10.9.0.20 is also in nodes.addresses"),
    ({"api_addresses": ["10.8.0.5"]}, "10.8.0.5 is not in the subnet"),
    ({"proxy": {"http": "http://me:pw@proxy:3128"}}, "holds no credentials"),
    ({"ssh_keys": ["secret"]}, "ssh_keys[0] is no public SSH key"),
    ({"vsphere_cluster": None}, "vsphere_cluster is missing"),
    ({"password": "x"}, "unknown key"),
    ({"folder": "/DC0/vm/nowhere"}, "folder: vCenter East has no folder of virtual machines \"/DC0/vm/nowhere\""),
    ({"folder": "/DC0/host"}, "has no folder of virtual machines"),
    ({"template": "vm-424242"}, "template: vCenter East has no template \"vm-424242\""),
    ({"datastore": "/DC1/datastore/DC1-DS"}, "is in datacenter DC1, the vSphere cluster in DC0"),
    ({"vsphere_cluster": "/DC0/host/HX"}, "has no vSphere cluster"),
])
def test_what_cannot_be_is_refused(place: World, changes: dict[str, Any], said: str) -> None:
    assert said in refused(place, 422, "unprocessable", **changes)["detail"]
    assert not list(place.admin.items("/v2/providers"))


def test_names_that_several_have_are_named(place: World) -> None:
    problem = refused(place, 409, "ambiguous", vsphere_cluster="HX-East")
    assert "/DC0/host/HX-East (domain-c7)" in problem["detail"] and "/DC1/host/HX-East (domain-c26)" in problem["detail"]
    assert put(place, vsphere_cluster="domain-c26", name="far", folder="vm", datastore="DC1-DS", template="kaas-node")["places"]["network"][
        "path"] == "/DC1/network/VM Network"  # the one in the cluster's datacenter


def test_near_misses_and_what_there_is_are_told(place: World) -> None:
    assert "did you mean /DC0/datastore/DC0-DS" in refused(place, 422, "unprocessable", datastore="dc0-ds")["remedy"]
    assert "there is /DC0/network/VM Network" in refused(place, 422, "unprocessable", network="Other")["remedy"]


def test_a_pool_stands_for_its_cluster(place: World) -> None:
    shown = put(place, vsphere_cluster=None, resource_pool="/DC0/host/HX-East/Resources")
    assert shown["places"]["vsphere_cluster"]["moref"] == "domain-c7"


def test_vcenters_that_are_not_there(place: World) -> None:
    assert refused(place, 404, "not_found", vcenter="nowhere")["remedy"]


def test_name_and_path_are_one_and_writes_are_guarded(place: World) -> None:
    place.admin.refused(422, "unprocessable", "PUT", "/v2/providers/west", json=DOCUMENT)
    put(place)
    etag = place.admin.call("GET", "/v2/providers/east").headers["ETag"]
    put(place, 200, nodes__prefix=23)
    place.admin.refused(412, "precondition_failed", "PUT", "/v2/providers/east", json=DOCUMENT, headers={"If-Match": etag})
    place.admin.refused(412, "precondition_failed", "DELETE", "/v2/providers/east", headers={"If-Match": etag})
    place.admin.refused(412, "precondition_failed", "PUT", "/v2/providers/new", json=document(name="new"), headers={"If-Match": etag})
    assert place.admin.get("/v2/providers/east")["document"]["nodes"]["prefix"] == 23


def test_only_administrators(place: World) -> None:
    viewer = place.sign_in("viewer-east")
    for method, path in (("GET", ""), ("PUT", "/east"), ("POST", "/east/check"), ("DELETE", "/east")):
        viewer.refused(403, "forbidden", method, f"/v2/providers{path}", json=DOCUMENT if method == "PUT" else None)


# -- in use ------------------------------------------------------------------------------------------------------------------------


def test_one_in_use_keeps_its_vcenter_and_stays(place: World) -> None:
    made = put(place)
    network = place.vcenter.control.create_network("datacenter-2", "Other")
    place.db.query("INSERT INTO machines (id, cluster_id, provider_id, vcenter_id, network, name, role, instance_uuid, address, state,"
                   " created_at_ms) VALUES (UUID(), UUID(), %s, %s, %s, 'prod-cp-aaaaa', 'worker', UUID(), '10.9.0.20', 'ready', 1)",
                   made["id"], place.vcenter.instance_uuid, made["places"]["network"]["moref"], database="kaas")
    place.db.query("INSERT INTO address_leases VALUES (%s, %s, '10.9.0.20', UUID(), 0)", place.vcenter.instance_uuid,
                   made["places"]["network"]["moref"], database="kaas")
    try:
        assert "delete what it built first" in place.admin.refused(409, "conflict", "DELETE", "/v2/providers/east")["remedy"]
        assert "cannot change" in refused(place, 409, "conflict", network=network)["detail"]
        put(place, 200, nodes__addresses=["10.9.0.20-10.9.0.40"])  # other things may
        assert "; 37 not looked at" in one_finding(place, "ports")["finding"]  # of 38: what kaasd itself has given out does not count
    finally:
        place.db.query("DELETE FROM machines", database="kaas")
        place.db.query("DELETE FROM address_leases", database="kaas")
    assert place.kaasd.ctl.ok("provider", "remove", "east", "--yes").strip() == "removed provider east"


# -- checking ----------------------------------------------------------------------------------------------------------------------


def test_a_good_place_is_found_good(place: World) -> None:
    put(place)
    found = check(place)
    assert [one for one in found["findings"] if one["status"] == "failed"] == []
    assert found["kubernetes_version"] == "v1.36.3"
    assert [one["place"] for one in found["findings"] if one["step"] == "place"] == [
        "vsphere_cluster", "resource_pool", "folder", "datastore", "network", "template"]
    assert {one["step"] for one in found["findings"]} == {
        "vcenter", "place", "privileges", "reach", "template", "room", "addresses", "ports", "api_addresses", "service_addresses"}
    said = place.kaasd.ctl.ok("provider", "check", "east")
    assert "node image with Kubernetes v1.36.3" in said


@pytest.mark.parametrize(("where", "privilege"), [(where, one) for where in NEEDED for one in sorted(NEEDED[where])])
def test_each_privilege_that_is_missing_is_named(place: World, where: str, privilege: str) -> None:
    put(place)
    place.vcenter.control.role(ROLE, "Global.LogEvent", *(one for one in ALL if one != privilege))
    lacking = [one for one in findings(place, "privileges") if one["status"] == "failed"]
    assert [one["place"] for one in lacking] == [where] and privilege in lacking[0]["finding"]
    assert place.kaasd.ctl.run("provider", "check", "east").returncode == 1


def test_templates_that_are_none(place: World) -> None:
    control = place.vcenter.control
    control.create_template("domain-c7", "no-contract", disks_gb=[1])
    control.create_template("domain-c7", "next-contract", disks_gb=[1], extra_config={"guestinfo.kaas.node": CONTRACT.replace("1,", "2,")})
    put(place, template="no-contract")
    assert "guestinfo.kaas.node is not set" in one_finding(place, "template")["finding"]
    put(place, 200, template="next-contract")
    assert "contract 2" in one_finding(place, "template")["finding"]
    put(place, 200, template="web-0")  # a machine that runs
    assert "is a virtual machine, and no template" in one_finding(place, "template")["finding"]
    assert check(place)["status"] == "failed" and check(place)["kubernetes_version"] is None


def test_old_hardware(place: World) -> None:
    place.vcenter.control.create_template("domain-c7", "old", hardware="vmx-13", extra_config={"guestinfo.kaas.node": CONTRACT})
    put(place, template="old")
    assert "virtual hardware of version 13" in one_finding(place, "template")["finding"]


def test_things_that_went_since(place: World) -> None:
    control = place.vcenter.control
    moref = control.create_template("domain-c7", "short-lived", disks_gb=[1], extra_config={"guestinfo.kaas.node": CONTRACT})
    put(place, template="short-lived")
    control.rename(moref, "renamed")
    assert one_finding(place, "template")["status"] == "ok"  # it is known by its id
    control.remove(moref)
    gone = one_finding(place, "place", "template")
    assert gone["status"] == "failed" and "is not at vCenter East any more" in gone["finding"]


def test_a_network_that_the_hosts_do_not_have(place: World) -> None:
    place.vcenter.control.create_network("datacenter-2", "Lonely")
    put(place, network="Lonely")
    reach = one_finding(place, "reach", "network")
    assert reach["status"] == "failed" and "is on no host of HX-East" in reach["finding"]
    assert one_finding(place, "reach", "datastore")["status"] == "ok"


def test_too_little_room(place: World) -> None:
    made = put(place)
    store = made["places"]["datastore"]["moref"]
    place.vcenter.control.set_room(store, free_bytes=10 << 30)
    try:
        room = one_finding(place, "room")
        assert room["status"] == "failed" and "machine of the template may take" in room["finding"]
    finally:
        place.vcenter.control.set_room(store, free_bytes=10 << 40)
    assert one_finding(place, "room")["status"] == "ok"


def test_addresses_that_stand_in_a_guest(place: World) -> None:
    (moref,) = place.vcenter.control.create_machines("domain-c7", "squatter", guest_net={"VM Network": "10.9.0.25"})
    put(place)
    taken = one_finding(place, "addresses")
    assert taken["status"] == "failed" and "10.9.0.25 of nodes.addresses (squatter)" in taken["finding"]
    place.vcenter.control.remove(moref)
    assert one_finding(place, "addresses")["status"] == "ok"


def test_addresses_that_answer(place: World) -> None:
    near = {"nodes__addresses": ["127.77.0.20"], "nodes__gateway": "127.77.0.1", "api_addresses": ["127.77.0.10"],
            "service_addresses": None}
    with socket.create_server(("127.77.0.20", 6443)):
        put(place, **near)
        taken = one_finding(place, "ports")
    assert taken["status"] == "failed" and "127.77.0.20 (port 6443 accepts)" in taken["finding"]
    assert "127.77.0.10 (refuses connections, so somebody is there)" in taken["finding"]


def test_what_could_not_be_looked_at_is_said(place: World) -> None:
    put(place, nodes__addresses=["192.168.7.20"], nodes__gateway="192.168.7.1", api_addresses=["192.168.7.10"], service_addresses=None)
    ports = one_finding(place, "ports")
    assert ports["status"] == "warning" and "2 not looked at, since kubernetes.allowed_networks keeps kaasd from them" in ports["finding"]


def test_a_provider_without_api_addresses_or_with_far_services_warns(place: World) -> None:
    put(place, api_addresses=None, service_addresses=["10.10.0.0/28"])
    assert one_finding(place, "api_addresses")["status"] == "warning"
    assert one_finding(place, "service_addresses")["status"] == "warning"


def test_a_vcenter_that_is_away(place: World) -> None:
    put(place)
    place.vcenter.control.close_port(for_ms=60000)
    try:
        assert one_finding(place, "vcenter")["status"] == "failed"
    finally:
        place.vcenter.control.open_port()
        wait_connected(place)


# -- the role ----------------------------------------------------------------------------------------------------------------------


def wait(task: vim.Task) -> Any:
    until(lambda: task.info.state in ("success", "error"), "the task to end")
    if task.info.state == "error":
        raise task.info.error
    return task.info.result


def build_one(world: World, account: User) -> None:
    """The calls by which kaasd makes and removes a machine, by a client that is not ours."""
    places = world.admin.get("/v2/providers/east")["places"]
    with vimclient.session(world.vcenter, account) as instance:
        def found(kind: str) -> Any:
            return getattr(vim, places[kind]["type"])(places[kind]["moref"], instance._stub)

        folder = found("folder").CreateFolder("prod")
        source, network = found("template"), found("network")
        devices = vimclient.read_property(instance, source, "config.hardware.device")
        card = next(one for one in devices if isinstance(one, vim.vm.device.VirtualVmxnet3))
        backing = vim.vm.device.VirtualEthernetCard.NetworkBackingInfo(deviceName=places["network"]["name"], network=network)
        own = vim.vm.device.VirtualVmxnet3(key=-1, backing=backing)
        cards = [vim.vm.device.VirtualDeviceSpec(operation=how, device=one) for how, one in (("remove", card), ("add", own))]
        location = vim.vm.RelocateSpec(datastore=found("datastore"), pool=found("resource_pool"), deviceChange=cards,
                                       diskMoveType="moveAllDiskBackingsAndConsolidate")
        config = vim.vm.ConfigSpec(instanceUuid=str(uuid.uuid4()), vAppConfigRemoved=True)
        machine = wait(source.CloneVM_Task(folder=folder, name="prod-cp-aaaaa", spec=vim.vm.CloneSpec(
            location=location, config=config, template=False, powerOn=False)))
        wait(machine.ReconfigVM_Task(vim.vm.ConfigSpec(
            numCPUs=1, memoryMB=512, annotation="of prod", managedBy=vim.ext.ManagedByInfo(extensionKey="com.cisco.kaas", type="node"),
            extraConfig=[vim.option.OptionValue(key="guestinfo.metadata", value="e30=")])))
        wait(machine.PowerOnVM_Task())
        wait(machine.PowerOffVM_Task())
        wait(machine.Destroy_Task())
        wait(folder.Destroy_Task())


def clear(world: World) -> None:
    """What a build that was refused half-way has left, by an administrator."""
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        for moref, one in vimclient.read_all(instance, vim.VirtualMachine, "name").items():
            if one["name"] == "prod-cp-aaaaa":
                if world.vcenter.control.vm(moref)["power"] == "poweredOn":
                    world.vcenter.control.power(moref, on=False)
                wait(vim.VirtualMachine(moref, instance._stub).Destroy_Task())
        for moref, one in vimclient.read_all(instance, vim.Folder, "name").items():
            if one["name"] == "prod":
                wait(vim.Folder(moref, instance._stub).Destroy_Task())


def test_with_the_role_a_machine_is_made_and_removed(place: World) -> None:
    put(place)
    build_one(place, LOGIN)


@pytest.mark.parametrize("privilege", ALL)
def test_none_of_the_role_can_be_left_out(place: World, privilege: str) -> None:
    put(place)
    place.vcenter.control.role(ROLE, "Global.LogEvent", *(one for one in ALL if one != privilege))
    try:
        with pytest.raises(vim.fault.NoPermission) as refusal:
            build_one(place, LOGIN)
        assert refusal.value.privilegeId == privilege
    finally:
        clear(place)
