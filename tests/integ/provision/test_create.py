"""Creating and deleting clusters, as far as it goes without machines that boot: what is refused and how, what is left, and who goes on.

The vCenter's control port plays the guests. None of them becomes a node here: what is behind that needs a real API server (tests/guest)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from env import search
from env.full import World
from env.logins import until, wait_connected
from env.places import TOP
from env.vcenter import DEFAULT_WORLD, start_strict

from .machines import Guests, Jobs, Say, good
from .providers import ALL, CONTRACT, ROLE, document, prepare

pytestmark = [pytest.mark.slow, pytest.mark.long(120)]
RECORD = "look whether it can be built, and enter it in the list"
BOOT = "start the machine, until it is a node: control plane 1"
NOBODY = "00000000-0000-4000-8000-000000000000"
FAULT = re.compile(r'^NODE_FAULT\(\w+, "([^"]+)", ([01]), "([^"]+)", "(.*)"\)$', re.M)
OPTIONS = {"kubernetes": {"allowed_networks": ["127.77.0.0/24"], "bundles": str(TOP / "etc/bundles")}}
RUNNING = ("queued", "running", "undoing")


def working(vm: dict[str, Any], address: str) -> list[dict[str, Any]]:
    """A guest in which kubeadm does not come to an end."""
    return good(vm, address)[:2]


def ill(error: str) -> Say:
    """A guest that gives up."""
    return lambda vm, address: [*good(vm, address)[:1], {"guestinfo": {"guestinfo.kaas.error": error, "guestinfo.kaas.phase": "failed"}}]


class Place(Jobs):
    """A world in which clusters can be made, with the provider `east`."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.control, self.ctl, self.admin = world.vcenter.control, world.kaasd.ctl, world.admin
        self.folder = next(o["id"] for o in self.control.objects("Folder") if o["name"] == "vm" and o.get("parent") == "datacenter-2")
        self.put()
        self.guests = Guests(world.vcenter, self.address_of, working)

    def put(self, **changes: Any) -> None:
        body = document(**changes)
        assert self.admin.call("PUT", f"/v2/providers/{body['name']}", json=body).ok

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.world.db.query(sql, database="kaas")

    def address_of(self, name: str) -> str:
        rows = self.query(f"SELECT address FROM machines WHERE name = '{name}'")
        return rows[0][0] if rows else ""

    # -- clusters

    def create(self, **wanted: Any) -> tuple[str, str]:
        """The ids of cluster and job."""
        begun = self.admin.expect(202, "POST", "/v2/clusters:create", json={"name": "prod", "provider": "east", **wanted})
        return begun["cluster_id"], begun["job_id"]

    def record(self, cluster_id: str) -> dict[str, Any]:
        return self.admin.get(f"/v2/clusters/{cluster_id}")

    def order(self, job_id: str, verb: str) -> None:
        self.admin.expect(200, "POST", f"/v2/jobs/{job_id}/{verb}")

    def end(self, job_id: str) -> None:
        """Takes back what a creation did."""
        self.order(job_id, "cancel")
        self.wait(job_id, "canceled")

    def until_working(self, job_id: str) -> None:
        self.wait_line(job_id, "kubeadm joins it to the cluster")

    def delete(self, cluster_id: str) -> str:
        return str(self.admin.expect(202, "POST", f"/v2/clusters/{cluster_id}/deletion", json={"name": "prod"})["job_id"])

    # -- what there is

    def built(self) -> list[dict[str, Any]]:
        known = {vm["moid"]: vm for vm in self.control.vms()[1] if not vm.get("gone")}
        return [known.get(o["id"], {"name": o["name"], "guestinfo": {}, "power": "", "unborn": True})
                for o in self.control.objects("VirtualMachine") if o["name"].startswith("prod-")]

    def left(self) -> dict[str, list[Any]]:
        """Whatever a cluster has, or had."""
        tables = {"machines": "name", "made_clusters": "spec", "machine_folders": "moref", "cluster_pki": "cluster_id",
                  "kube_connections": "address", "clusters": "name"}
        found: dict[str, list[Any]] = {table: self.query(f"SELECT {column} FROM {table}") for table, column in tables.items()}
        found["leases"] = self.query("SELECT address FROM address_leases WHERE owner IS NOT NULL")
        found["secrets"] = self.query("SELECT owner_kind, purpose FROM secrets WHERE owner_kind NOT LIKE 'vcenter%'")
        found["vms"] = [vm["name"] for vm in self.built()]
        found["folders"] = [o["name"] for o in self.control.objects("Folder") if o.get("parent") == self.folder]
        return {what: rows for what, rows in found.items() if rows}

    def assert_no_userdata(self) -> None:
        assert not [vm["name"] for vm in self.built() if vm["guestinfo"].get("guestinfo.userdata")]

    # -- as a person does it

    def refused(self, *words: str, status: int = 1) -> str:
        """What kaasctl says of a command that it does not do."""
        said = self.ctl.run(*words)
        assert said.returncode == status, said.stdout + said.stderr
        return said.stderr.removeprefix("kaasctl: ").rstrip("\n")

    def not_created(self, *words: str, name: str = "prod", status: int = 1) -> str:
        said = self.refused("cluster", "create", name, "--no-wait", *words, status=status)
        assert not self.jobs()
        return said

    def jobs(self, *states: str) -> list[str]:
        return [row["id"] for row in self.admin.items("/v2/jobs") if row["state"] in (states or RUNNING)]

    def failed(self, *words: str) -> str:
        """What kaasctl shows of a creation that fails, behind the job's lines. The job is canceled."""
        said = self.ctl.run("cluster", "create", "prod", "--provider", "east", *words)
        assert said.returncode == 1, said.stdout + said.stderr
        told, _, then = said.stdout.partition("\n\n")
        job_id = re.search(r"^job (\S+) has begun; it goes on by itself", told)
        assert job_id and then.endswith(f"then:   kaasctl job retry {job_id[1]}\n")
        self.end(job_id[1])
        return then.rpartition("then:")[0].rstrip()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("create", options=OPTIONS) as whole:
        prepare(whole)
        yield whole


@pytest.fixture(scope="module")
def made(world: World) -> Iterator[Place]:
    place = Place(world)
    yield place
    place.guests.stop()


@pytest.fixture
def place(made: Place) -> Iterator[Place]:
    yield made
    made.control.clear_faults()
    made.control.forget_task_rules()
    made.control.role(ROLE, "Global.LogEvent", *ALL)
    made.guests.say = working
    made.put()
    for job_id in made.jobs(*RUNNING, "failed"):
        made.admin.call("POST", f"/v2/jobs/{job_id}/cancel")
        made.wait(job_id, "canceled", "failed", "done")
    for row in list(made.admin.items("/v2/clusters")):
        made.wait(made.delete(row["id"]), "done")
    made.query("DELETE FROM address_leases")
    made.query("DELETE FROM jobs")
    assert made.left() == {}


@pytest.fixture
def alone() -> Iterator[Place]:
    """Of a world of its own."""
    with World("alone", options=OPTIONS) as whole:
        prepare(whole)
        place = Place(whole)
        yield place
        place.guests.stop()


# -- what is refused at once ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "said"), [
    (["--control-plane-cpus", "1"], "a control plane needs at least 2 CPUs: kubeadm refuses a machine with fewer"),
    (["--control-plane-memory", "1024"], "a control plane needs at least 2048 MiB of memory"),
    (["--control-planes", "2"],
     "2 control planes bear no more failures than 1; ask for an odd number: 1, 3 or 5 (3 bear the loss of one)"),
    (["--control-planes", "0"], "control_planes.count must be 1 to 7, not 0"),
    (["--workers", "5000"], "workers.count must be 0 to 100, not 5000"),
    (["--control-planes", "3", "--workers", "8"],
     "11 machines need an address each, and the provider east has 10 left; "
     "add addresses to nodes.addresses of the provider; one that was given back is free after ten minutes"),
    (["--pod-network", "10.9.0.0/16"],
     "pod_network 10.9.0.0/16 meets the network of the machines, 10.9.0.0/24; give another --pod-network or --service-network"),
    (["--service-network", "10.9.0.0/20"], "service_network 10.9.0.0/20 meets the network of the machines, 10.9.0.0/24; "
     "give another --pod-network or --service-network"),
    (["--pod-network", "10.96.0.0/16"], "pod_network 10.96.0.0/16 and service_network 10.96.0.0/12 share addresses"),
    (["--pod-network", "10.244.1.0/16"], "pod_network: 10.244.1.0/16 is an address in a network, not the network; "
     "write 10.244.0.0/16"),
    (["--pod-network", "fd00::/64"], "pod_network must be an IPv4 network such as 10.244.0.0/16"),
    (["--api-address", "10.9.0.99"], "10.9.0.99 is not among the api_addresses of the provider east"),
    (["--api-address", "10.9.0.10", "--api-external", "api.example.com:6443"], "give api_address or api_external, not both"),
    (["--api-external", "api.example.com"], "api_external must be HOST:PORT, such as api.prod.example.com:6443"),
    (["--api-external", "::1:6443"], "api_external must be HOST:PORT, such as api.prod.example.com:6443"),
    (["--pod-network", "10.244.0.0/22", "--workers", "4"],
     "pod_network 10.244.0.0/22 has room for 4 machines, not 5: each takes a /24; give a larger --pod-network"),
    (["--network", "bridge", "--workers", "17"],
     "the network bridge holds at most 17 machines, not 18; ask for fewer, or for --network kube-router"),
    *[(["--pod-network", network], f"pod_network {network} meets addresses that no machine may have, {met}; "
       "give another --pod-network or --service-network")
      for network, met in (("0.0.0.0/8", "0.0.0.0/8"), ("127.1.0.0/16", "127.0.0.0/8"), ("169.254.0.0/16", "169.254.0.0/16"),
                           ("224.0.0.0/8", "224.0.0.0/3"), ("255.0.0.0/8", "224.0.0.0/3"))],
])
def test_what_cannot_be_made_is_refused(place: Place, words: list[str], said: str) -> None:
    assert place.not_created("--provider", "east", *words) == said


@pytest.mark.parametrize("name", ["Prod", "prod.", "-prod", "prod-", "prod_1", "p" * 51])
def test_names_that_are_no_dns_label(place: Place, name: str) -> None:
    said = place.refused("cluster", "create", "--provider", "east", "--no-wait", "--", name)
    assert said == f"the name \"{name}\" cannot be that of machines; " \
        "use up to 50 of a-z, 0-9 and -, not - at either end: it becomes part of host names"


def test_providers_that_are_not_there(place: Place) -> None:
    assert place.not_created("--provider", "west") == \
        "there is no provider west; see: kaasctl provider list, or GET /v2/providers"
    assert place.not_created(status=2) == "give --provider, or --file with a document that names one"
    place.put(api_addresses=None)
    assert place.not_created("--provider", "east") == "the provider east has no addresses for APIs; " \
        "add api_addresses to it, or give --api-external"


def test_networks_that_hold_what_machines_send_to(place: Place) -> None:
    place.put(nodes__dns=["fd00::53", "10.100.0.53"])
    assert place.not_created("--provider", "east") == "service_network 10.96.0.0/12 meets the name server of the machines, " \
        "10.100.0.53/32; give another --pod-network or --service-network"
    place.put(service_addresses=["10.244.7.0/28"])
    assert place.not_created("--provider", "east") == "pod_network 10.244.0.0/16 meets service_addresses, 10.244.7.0/32; " \
        "give another --pod-network or --service-network"


def test_networks_that_nobody_has_made(place: Place) -> None:
    said = place.not_created("--provider", "east", "--network", "nowhere")
    assert "nowhere" in said and said.endswith("a bundle has bundle.yaml, manifests and SHA256SUMS: "
                                               "/usr/local/share/doc/kaas/admin/network.md")


def test_an_address_that_another_cluster_has(place: Place) -> None:
    _, job_id = place.create()
    place.until_working(job_id)
    then = "; choose another one, or add some to the provider; one that was given back is free after ten minutes"
    wanted = ("cluster", "create", "test", "--provider", "east", "--no-wait")
    assert place.refused(*wanted) == "other clusters have all api_addresses of the provider east" + then
    assert place.refused(*wanted, "--api-address", "10.9.0.10") == "another cluster has the address 10.9.0.10" + then
    assert place.jobs() == [job_id]


def services(place: Place) -> dict[str, list[str]]:
    """By name: which addresses its Services get."""
    specs = (json.loads(row[0]) for row in place.query("SELECT spec FROM made_clusters"))
    return {spec["name"]: spec["service_addresses"] for spec in specs}


def test_each_cluster_has_a_share_of_the_addresses_for_services(place: Place) -> None:
    """Eight that are free; those of a cluster stay its own, whatever becomes of the provider."""
    place.put(api_addresses=["10.9.0.10-10.9.0.14"], service_addresses=["10.9.0.207", "10.9.0.192-10.9.0.202"])
    _, job_id = place.create()
    place.until_working(job_id)
    place.wait_line(job_id, "its Services get addresses of 10.9.0.192-10.9.0.198")
    wanted = ("cluster", "create", "--provider", "east", "--no-wait")
    place.ctl.ok(*wanted, "test")
    until(lambda: len(services(place)) == 2, "the second cluster")
    assert services(place) == {"prod": ["10.9.0.207", "10.9.0.192-10.9.0.198"], "test": ["10.9.0.199-10.9.0.202"]}
    assert place.refused(*wanted, "third") == "other clusters have all service_addresses of the provider east; " \
        "add some to the provider, or give --service-addresses \"\" for none"
    place.ctl.ok(*wanted, "none", "--service-addresses", "")
    place.put(api_addresses=["10.9.0.10-10.9.0.14"], service_addresses=["10.9.0.195-10.9.0.204"])
    place.ctl.ok(*wanted, "third")
    until(lambda: len(services(place)) == 4, "the fourth cluster")
    assert services(place)["none"] == [] and services(place)["third"] == ["10.9.0.203-10.9.0.204"]


def test_no_two_clusters_have_an_address_for_services(place: Place) -> None:
    """Both would answer for it."""
    place.put(api_addresses=["10.9.0.10-10.9.0.12"])
    _, job_id = place.create(service_addresses=["10.9.0.192/29"])
    place.until_working(job_id)
    wanted = ("cluster", "create", "test", "--provider", "east", "--no-wait")
    then = "; give others of service_addresses, or leave --service-addresses out: it gets some that are free"
    for words in (["10.9.0.199"], ["10.9.0.207", "10.9.0.198-10.9.0.201"]):
        said = place.refused(*wanted, *(f"--service-addresses={word}" for word in words))
        assert re.fullmatch(r"the cluster \"prod\" has 10\.9\.0\.19[89] for its Services already", said.removesuffix(then)), said
    assert place.refused(*wanted, "--service-addresses", "10.9.0.208") == \
        "10.9.0.208 is not among the service_addresses of the provider east"
    assert place.refused(*wanted, "--service-addresses", "10.9.0.200-") == \
        "service_addresses: \"10.9.0.200-\" is no range of IPv4 addresses; write 10.9.0.20-10.9.0.99, 10.9.0.20 or 10.9.0.64/28"
    assert place.jobs() == [job_id]


def test_two_clusters_that_come_in_the_same_moment(place: Place) -> None:
    """Who comes second looks again."""
    place.put(api_addresses=["10.9.0.10-10.9.0.12"])
    held = place.control.hold("HasPrivilegeOnEntities", executed=True, count=1)
    _, job_id = place.create()
    place.control.await_held(held)
    place.ctl.ok("cluster", "create", "test", "--provider", "east", "--no-wait")
    until(lambda: services(place), "the one that came first")
    place.control.release(held)
    place.wait_line(job_id, "another cluster has come since its addresses were looked at")
    place.until_working(job_id)
    assert services(place) == {"test": ["10.9.0.192-10.9.0.199"], "prod": ["10.9.0.200-10.9.0.207"]}


def test_a_provider_that_changes_while_it_is_looked_at(place: Place) -> None:
    """It is looked at once more, as it is now; one that has gone ends it."""
    held = place.control.hold("HasPrivilegeOnEntities", executed=True, count=1)
    _, job_id = place.create()
    place.control.await_held(held)
    place.put(nodes__addresses=["10.9.0.40-10.9.0.49"])
    place.control.release(held)
    place.wait_line(job_id, "the provider has changed since it was looked at")
    place.until_working(job_id)
    assert [row[0] for row in place.query("SELECT address FROM machines")] == ["10.9.0.40"]
    place.end(job_id)
    place.query("DELETE FROM address_leases")
    held = place.control.hold("HasPrivilegeOnEntities", executed=True, count=1)
    _, job_id = place.create()
    place.control.await_held(held)
    place.ctl.ok("provider", "remove", "east", "--yes")
    place.control.release(held)
    place.wait(job_id, "failed")
    assert place.left() == {}


def test_two_of_one_name_at_once(place: Place) -> None:
    """Neither is in the list yet while the other one is judged: one of them gets the name."""
    rule = place.control.plan_tasks("CloneVM_Task", hold_at=10)
    held = place.control.hold("HasPrivilegeOnEntities", executed=False)
    begun = [place.create()[1] for _ in range(2)]
    place.control.await_held(held, 2)
    place.control.release(held)
    until(lambda: len([job_id for job_id in begun if place.job(job_id)["state"] == "failed"]) == 1, "one that fails")
    (loser,) = place.jobs("failed")
    assert place.job(loser)["reason"] == f"{RECORD}: a cluster named \"prod\" exists already"
    place.control.await_tasks(rule)
    assert len(list(place.admin.items("/v2/clusters"))) == 1 and len(place.query("SELECT id FROM machines")) == 1
    place.end(loser)
    assert len(list(place.admin.items("/v2/clusters"))) == 1 and len(place.query("SELECT id FROM machines")) == 1
    place.control.release_tasks(rule)


def test_a_name_that_is_taken(place: Place) -> None:
    cluster_id, job_id = place.create()
    place.until_working(job_id)
    assert place.refused("cluster", "create", "prod", "--provider", "east", "--no-wait") == \
        "there is a cluster \"prod\" already; choose another name"
    assert place.record(cluster_id)["state"] == "creating"


# -- documents -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "said"), [
    ("kind: Provider\nprovider: east\n", "{} is not the document of a cluster; it begins with the line  kind: Cluster"),
    ("- kind: Cluster\n", "{} is not the document of a cluster; it begins with the line  kind: Cluster"),
    ("kind: Cluster\nprovider: east\n  workers: 1\n", "{}:3:10: not valid YAML: mapping values are not allowed in this context"),
    ("kind: Cluster\nprovider: east\nworker: {count: 1}\n", "{}:3:1: unknown member \"worker\", did you mean \"workers\"?"),
    ("kind: Cluster\nprovider: east\nworkers:\n  cont: 1\n", "{}:4:3: unknown member \"workers.cont\", did you mean \"count\"?"),
    ("kind: Cluster\nprovider: east\nworkers: 1\n", "{}:3:1: member \"workers\" must be an object"),
    ("kind: Cluster\nkind: Cluster\n", "{}:2:1: key \"kind\" is given twice; remove one"),
    ('{"kind": "Cluster", "provider": "east", "control_planes": {"count": 2}}',
     "2 control planes bear no more failures than 1; ask for an odd number: 1, 3 or 5 (3 bear the loss of one)"),
])
def test_a_document_that_is_wrong(place: Place, text: str, said: str) -> None:
    path = place.world.scratch.path / "cluster.yaml"
    path.write_text(text)
    assert place.not_created("--file", str(path)) == said.format(path)


def test_a_document_that_is_not_there(place: Place) -> None:
    assert place.not_created("--file", "/nowhere/cluster.yaml") == "there is no file /nowhere/cluster.yaml"


@pytest.mark.parametrize("written", ["yaml", "json"])
def test_a_document_says_what_is_wanted_and_options_go_before_it(place: Place, written: str) -> None:
    path = place.world.scratch.path / f"cluster.{written}"
    told = {"kind": "Cluster", "provider": "east", "workers": {"count": 2, "memory_mib": 2048}, "pod_network": "10.200.0.0/16"}
    path.write_text(json.dumps(told) if written == "json" else yaml.safe_dump(told))
    said = place.ctl.ok("cluster", "create", "prod", "-f", str(path), "--workers", "1", "--no-wait")
    (job_id,) = place.jobs()
    assert said == f"job {job_id} has begun; it goes on by itself, also without this command: kaasctl job watch {job_id}\n"
    place.until_working(job_id)
    ((spec,),) = place.query("SELECT spec FROM made_clusters")
    wanted = json.loads(spec)
    assert wanted["workers"] == {"count": 1, "cpus": 2, "memory_mib": 2048} and wanted["pod_network"] == "10.200.0.0/16"
    assert wanted["kubernetes_version"] == "1.36.3"


# -- what the vCenter has not --------------------------------------------------------------------------------------------------------


def test_a_release_that_the_template_has_not(place: Place) -> None:
    assert place.failed("--kubernetes-version", "1.35.0") == \
        f"{RECORD}: the template of the provider east has Kubernetes 1.36.3, not 1.35.0\n" \
        "remedy: name a template with that release in the provider, or leave the version out"


def test_a_release_that_is_too_old(place: Place) -> None:
    place.control.create_template("domain-c7", "old-node", disks_gb=[20], nics=["VM Network"],
                                  extra_config={"guestinfo.kaas.node": '{"contract":1,"kubernetes":"v1.28.9"}'})
    place.put(template="old-node")
    assert place.failed() == f"{RECORD}: kubernetes_version: 1.28.9 is older than 1.29, the first that clusters are made of"
    assert place.left() == {}


def test_as_many_as_a_provider_may_have_reach_the_machine(place: Place) -> None:
    place.put(proxy={"http": "http://10.9.0.3:3128", "no_proxy": [f"host-{i}.example.com" for i in range(64)]})
    _, job_id = place.create()
    place.until_working(job_id)


def test_sources_that_are_no_template(place: Place) -> None:
    place.control.create_template("domain-c7", "no-contract", disks_gb=[1])
    place.put(template="no-contract")
    assert re.sub("vm-[0-9]+", "vm-N", place.failed()) == f"{RECORD}: template, contract: /DC0/vm/no-contract (vm-N): " \
        "guestinfo.kaas.node is not set, so it is no node image; nor has vCenter seen VMware Tools in it\n" \
        "remedy: take a template of a node image, and set it as /usr/local/share/doc/kaas/admin/node-image.md says"
    place.put(template="web-0")
    assert re.sub("vm-[0-9]+", "vm-N", place.failed()) == f"{RECORD}: template, contract: /DC0/vm/web-0 (vm-N) is a virtual machine, " \
        "and no template\nremedy: make it one: power it off, take a snapshot, then: govc vm.markastemplate -vm.ipath PATH"


def test_what_went_since_the_provider_was_applied(place: Place) -> None:
    moref = place.control.create_template("domain-c7", "short-lived", disks_gb=[1], extra_config={"guestinfo.kaas.node": CONTRACT})
    place.put(template="short-lived")
    place.control.remove(moref)
    assert place.failed() == f"{RECORD}: template: /DC0/vm/short-lived ({moref}) is not at vCenter East any more\n" \
        "remedy: name another one in the document and apply it again: kaasctl provider apply -f FILE"


def test_a_template_of_another_vcenter(place: Place) -> None:
    described = json.loads(DEFAULT_WORLD.read_text())
    described["instance_uuid"] = "a2220000-0000-4000-8000-00000000000b"
    file = place.world.scratch.path / "second-world.json"
    file.write_text(json.dumps(described))
    second = start_strict(place.world.scratch, "second", world=file)
    try:
        known = {one["id"] for one in place.control.objects()}
        moref = next(one for one in (second.control.create_template("domain-c7", f"far-node-{i}") for i in count()) if one not in known)
        for template in ("far-node-0", moref):  # each vCenter numbers for itself
            body = document(name="far", template=template)
            problem = place.admin.refused(422, "unprocessable", "PUT", "/v2/providers/far", json=body)
            assert problem["detail"] == f"template: vCenter East has no template \"{template}\" that kaasd may see"
    finally:
        second.stop()


def test_a_privilege_that_is_missing(place: Place) -> None:
    place.control.role(ROLE, "Global.LogEvent", *(one for one in ALL if one != "VirtualMachine.Interact.PowerOn"))
    assert "VirtualMachine.Interact.PowerOn" in place.failed()
    assert not place.built()


def test_a_check_that_got_no_answer_is_done_again(place: Place) -> None:
    """It says nothing of the place."""
    place.control.fault("HasPrivilegeOnEntities", "close", bytes=0, count=3)
    _, job_id = place.create()
    place.until_working(job_id)
    assert any(line.startswith(f"{RECORD}: ") and line.endswith(" broke") for line in place.told(job_id))
    place.end(job_id)


# -- jobs ----------------------------------------------------------------------------------------------------------------------------


def test_jobs_that_are_not_there(place: Place) -> None:
    for verb in ("show", "watch", "cancel", "retry"):
        assert place.refused("job", verb, NOBODY, status=4) == f"there is no job {NOBODY}; see: kaasctl job list, or GET /v2/jobs; " \
            "jobs are kept for 90 days after their end"


def test_a_job_that_has_ended_and_one_that_runs(place: Place) -> None:
    cluster_id, job_id = place.create()
    place.until_working(job_id)
    said = "the job is running: only one that has failed or was canceled is tried again"
    assert place.admin.refused(409, "conflict", "POST", f"/v2/jobs/{job_id}/retry")["detail"] == said
    assert place.refused("job", "retry", job_id) == said
    place.end(job_id)
    assert place.left() == {}
    said = "the job is canceled: there is nothing left to cancel"
    assert place.admin.refused(409, "conflict", "POST", f"/v2/jobs/{job_id}/cancel")["detail"] == said
    assert place.refused("job", "cancel", job_id) == said
    place.admin.refused(404, "not_found", "GET", f"/v2/clusters/{cluster_id}")


def test_only_administrators(place: Place) -> None:
    cluster_id, job_id = place.create()
    place.until_working(job_id)
    viewer, stranger = place.world.sign_in("viewer-east"), place.world.sign_in("no-rights")
    for method, path, body in (("POST", ":create", {"name": "more", "provider": "east"}), ("GET", f"/{cluster_id}/deletion", None),
                               ("POST", f"/{cluster_id}/deletion", {"name": "prod"})):
        viewer.refused(403, "forbidden", method, f"/v2/clusters{path}", json=body)
    assert viewer.get(f"/v2/jobs/{job_id}")["state"] == "running"
    for verb in ("cancel", "retry"):
        viewer.refused(403, "forbidden", "POST", f"/v2/jobs/{job_id}/{verb}")
    assert stranger.refused(404, "not_found", "GET", f"/v2/jobs/{job_id}")["detail"] == f"there is no job {job_id}"
    stranger.refused(404, "not_found", "GET", f"/v2/jobs/{job_id}/lines")
    assert not list(stranger.items("/v2/jobs"))


# -- guests that lie -----------------------------------------------------------------------------------------------------------------


def test_what_an_evil_guest_says_is_shown_tamed(place: Place) -> None:
    place.guests.say = lambda vm, address: good(vm, address)[:1]
    cluster_id, job_id = place.create()
    place.wait_line(job_id, "it looks whether it can become a node")
    (vm,) = place.built()
    said = {"guestinfo.kaas.phase": "join\n\x1b[31m", "guestinfo.kaas.error": "no-route: \u202ered\x07\x1b[2J " + "A" * 60000}
    place.control.guest_says(vm["moid"], guestinfo=said)
    place.wait_line(job_id, "AAAA")
    assert all(len(line) <= 600 and line.isprintable() for line in place.told(job_id)), place.told(job_id)
    assert place.ctl.ok("job", "show", job_id).replace("\n", "").isprintable()
    other = [{"mac": vm["nics"][0]["mac"], "addresses": ["10.9.0.29/24", "10.9.0.10/24"]}]
    place.control.guest_says(vm["moid"], ip_address="10.9.0.29", net=other,
                             guestinfo={"guestinfo.kaas.phase": "done", "guestinfo.kaas.error": "{\"done\": "})
    place.wait_line(job_id, f"{vm['name']} does not report its address 10.9.0.20 yet; VMware Tools report 10.9.0.29, 10.9.0.10")
    assert place.record(cluster_id)["state"] == "creating"
    place.end(job_id)
    assert place.left() == {}


# -- what is secret ------------------------------------------------------------------------------------------------------------------


def secrets_of(userdata: str) -> set[bytes]:
    """The token of a machine, and its keys."""
    plain = gzip.decompress(base64.b64decode(userdata)).decode()
    (token,) = set(re.findall(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", plain))
    keys = re.findall(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\\n(.{60})", plain)
    assert len(keys) == 4
    return {token.partition(".")[2].encode(), *(key[-30:].encode() for key in keys), userdata[2000:2060].encode()}


def test_no_key_is_told(place: Place) -> None:
    place.guests.seen_userdata.clear()
    _, job_id = place.create()
    place.until_working(job_id)
    (userdata,) = place.guests.seen_userdata
    needles, world = secrets_of(userdata), place.world
    told = json.dumps(place.job(job_id)) + "".join(place.told(job_id)) + json.dumps(list(place.admin.items("/v2/audit")))
    assert search.find(told.encode(), needles, "what is told") == []
    assert search.database(world.db, needles) + search.folder(world.kaasd.folder, needles) == []
    for log in sorted(Path(world.scratch.log).glob("kaasd*")):
        assert search.find(log.read_bytes(), needles, str(log)) == []


@pytest.mark.users_build("memory images: a sanitizer keeps what was freed")
def test_no_key_is_kept(alone: Place) -> None:
    alone.guests.say = ill("init-failed: no")
    _, job_id = alone.create()
    alone.wait(job_id, "failed")
    (userdata,) = alone.guests.seen_userdata
    needles = secrets_of(userdata)
    alone.end(job_id)
    assert alone.world.kaasd.process
    pid = alone.world.kaasd.process.pid
    until(lambda: not search.memory(pid, needles), "a memory without them")


# -- what is left --------------------------------------------------------------------------------------------------------------------


def test_one_whose_guest_never_reports_is_canceled(place: Place) -> None:
    place.guests.say = lambda vm, address: []
    cluster_id, job_id = place.create(workers={"count": 2})
    place.wait_line(job_id, "it has told nothing yet")
    assert len(place.built()) == 3 and [vm["power"] for vm in place.built()].count("poweredOn") == 1
    assert place.record(cluster_id)["api_endpoint"] == "https://10.9.0.10:6443"
    assert {"machines", "made_clusters", "machine_folders", "cluster_pki", "secrets", "leases", "clusters", "vms", "folders"} == \
        set(place.left())
    place.end(job_id)
    assert place.left() == {}


def test_each_word_of_a_guest_that_gives_up_is_the_reason(place: Place) -> None:
    """Retry makes another machine in its place."""
    rows = FAULT.findall((TOP / "src/provision/node_phases.def").read_text())
    faults = [found for found in rows if found[0] not in ("none", "silent", "unknown", "cut-off")]
    assert len(faults) > 10
    place.guests.say = lambda vm, address: []
    cluster_id, job_id = place.create()
    place.wait_line(job_id, "it has told nothing yet")
    seen: set[str] = set()
    for word, _, text, remedy in faults:
        (vm,) = place.built()
        assert vm["instance_uuid"] not in seen
        seen.add(vm["instance_uuid"])
        place.control.guest_says(vm["moid"], **ill(f"{word}: so it is")(vm, "")[1])
        job = place.wait(job_id, "failed")
        assert (job["reason"], job["remedy"]) == (f"{BOOT}: {vm['name']}: {text}: so it is", remedy)
        record = until(lambda: (one := place.record(cluster_id))["state"] == "failed" and one, "the state failed")
        assert record["state_reason"] == f"create the cluster prod: {BOOT}: {vm['name']}: {text}: so it is"
        place.assert_no_userdata()
        place.order(job_id, "retry")
        until(lambda vm=vm: [one["power"] for one in place.built() if one["name"] != vm["name"]] == ["poweredOn"], "another machine")
        until(lambda: place.record(cluster_id)["state"] == "creating", "the state creating")


@pytest.mark.parametrize("network", ["kube-router", "bridge"])
def test_an_address_that_the_provider_has_not_any_more_is_left(place: Place, network: str) -> None:
    """By the next try, since somebody else has it; of a network of routes the others have been told of it."""
    place.guests.say = ill("address-taken: 10.9.0.20 is at 02:00:00:00:00:01, too")
    _, job_id = place.create(network=network)
    assert "take it out of the provider's range; then retry" in place.wait(job_id, "failed")["remedy"]
    ((name, address),) = place.query("SELECT name, address FROM machines")
    place.put(nodes__addresses=["10.9.0.25-10.9.0.29"])
    place.guests.say = working
    place.order(job_id, "retry")
    place.wait_line(job_id, f"{name} is gone")
    ((now,),) = place.query("SELECT address FROM machines")
    assert now == ("10.9.0.25" if network == "kube-router" else address)
    assert place.query("SELECT address FROM address_leases WHERE owner IN (SELECT id FROM machines)") == [(now,)]


def test_what_a_guest_waits_for_is_told_with_what_helps(place: Place) -> None:
    place.guests.say = lambda vm, address: [*good(vm, address)[:1], {"guestinfo": {"guestinfo.kaas.error": "no-gateway: nobody answers"}}]
    _, job_id = place.create()
    place.wait_line(job_id, "the gateway does not answer: nobody answers")
    (step,) = [one for one in place.job(job_id)["steps"] if one["name"] == "boot"]
    assert step["state"] == "waiting" and step["remedy"].startswith("correct nodes.gateway in the provider")


def test_deleting_after_a_creation_that_failed(place: Place) -> None:
    place.guests.say = ill("init-failed: no")
    cluster_id, job_id = place.create(workers={"count": 1})
    place.wait(job_id, "failed")
    until(lambda: place.record(cluster_id)["state"] == "failed", "the state failed")
    said = place.ctl.run("cluster", "delete", "prod", "--yes")
    assert said.returncode == 0, said.stdout + said.stderr
    for vm in ("prod-cp-", "prod-worker-"):
        assert f"goes: the machine, with its disks {vm}" in said.stdout
    assert "stay: volumes, which could not be listed" in said.stdout
    assert place.left() == {}


def test_deleting_while_the_creation_runs(place: Place) -> None:
    cluster_id, job_id = place.create()
    place.until_working(job_id)
    problem = place.admin.refused(409, "exists", "POST", f"/v2/clusters/{cluster_id}/deletion", json={"name": "prod"})
    assert problem["job_id"] == job_id
    assert place.refused("cluster", "delete", "prod", "--yes") == f"the job {job_id} is at work on it; " \
        f"wait for it, or end it: kaasctl job watch {job_id}, kaasctl job cancel {job_id}"


def test_a_deletion_that_is_canceled_is_begun_again(place: Place) -> None:
    """What it has removed is gone; the list does not say for ever that it is being deleted."""
    place.guests.say = ill("init-failed: no")
    cluster_id, job_id = place.create(workers={"count": 1})
    place.wait(job_id, "failed")
    rule = place.control.plan_tasks("Destroy_Task", hold_at=10)
    deleting = place.delete(cluster_id)
    place.control.await_tasks(rule)
    until(lambda: place.record(cluster_id)["state"] == "deleting", "the state deleting")
    place.order(deleting, "cancel")
    place.control.release_tasks(rule)
    place.wait(deleting, "canceled")
    record = until(lambda: (one := place.record(cluster_id))["state"] != "deleting" and one, "another state")
    assert (record["state"], record["state_reason"]) == ("failed", "its deletion was canceled")
    place.order(deleting, "retry")
    place.wait(deleting, "done")
    assert place.left() == {}


def test_deleting_goes_on_when_the_vcenter_is_back(place: Place) -> None:
    place.guests.say = ill("init-failed: no")
    cluster_id, job_id = place.create(workers={"count": 1})
    place.wait(job_id, "failed")
    rule = place.control.plan_tasks("Destroy_Task", hold_at=10)
    deleting = place.delete(cluster_id)
    place.control.await_tasks(rule)
    place.control.close_port()
    try:
        place.wait_line(deleting, "at vCenter East, which is away")
        place.control.release_tasks(rule)
        assert place.job(deleting)["state"] == "running" and place.record(cluster_id)["state"] == "deleting"
    finally:
        place.control.open_port()
    place.wait(deleting, "done")
    assert place.left() == {}


def test_what_others_have_put_into_the_folder_stays(place: Place) -> None:
    place.guests.say = ill("init-failed: no")
    cluster_id, job_id = place.create()
    place.wait(job_id, "failed")
    (folder,) = [o["id"] for o in place.control.objects("Folder") if o.get("parent") == place.folder]
    stranger = place.control.create_template("domain-c7", "of-others", disks_gb=[1])
    place.control.move(stranger, folder)
    deleting = place.delete(cluster_id)
    place.wait(deleting, "done")
    assert any("its folder at vCenter East stays: there is something in it" in line for line in place.told(deleting))
    assert place.left() == {"folders": ["prod"]}
    place.control.remove(stranger)
    place.control.remove(folder)


def test_nobody_deletes_the_wrong_one(place: Place) -> None:
    cluster_id, job_id = place.create()
    place.until_working(job_id)
    problem = place.admin.refused(422, "unprocessable", "POST", f"/v2/clusters/{cluster_id}/deletion", json={"name": "test"})
    assert problem["detail"] == "the cluster is called \"prod\", not \"test\": nothing was done"
    assert place.refused("cluster", "delete", "prod", status=6) == \
        "this needs a confirmation, and there is no terminal to ask on; add --yes"


def test_deleting_what_was_not_made(place: Place) -> None:
    place.ctl.ok("cluster", "add", "--name", "by-hand", "--kubernetes-version", "1.36.3", "--vsphere-cluster", "domain-c7")
    try:
        assert place.refused("cluster", "delete", "by-hand", "--yes", status=4) == "kaasd has not made the cluster \"by-hand\"; " \
            "what made it must delete it; its record goes by: kaasctl cluster rm by-hand"
        problem = place.admin.refused(404, "not_found", "POST", f"/v2/clusters/{NOBODY}/deletion", json={"name": "prod"})
        assert problem["detail"] == f"there is no cluster {NOBODY}"
    finally:
        place.ctl.ok("cluster", "rm", "by-hand", "--yes")


# -- what is in use ------------------------------------------------------------------------------------------------------------------


def test_nothing_is_removed_from_under_a_cluster(place: Place) -> None:
    rule = place.control.plan_tasks("CloneVM_Task", hold_at=10)
    cluster_id, job_id = place.create()
    place.control.await_tasks(rule)
    assert place.refused("cluster", "rm", "prod", "--yes") == "the cluster \"prod\" was made by kaasd, and its machines are there; " \
        "delete it with them: kaasctl cluster delete prod"
    assert place.refused("provider", "remove", "east", "--yes") == "the cluster \"prod\" was made with the provider east; " \
        "delete it first: kaasctl cluster delete prod"
    assert place.refused("vcenter", "rm", "East", "--yes") == \
        "the provider east builds at this vCenter; remove it first: kaasctl provider remove east"
    assert place.refused("vcenter", "unregister", "East", "--yes") == \
        "the provider east builds at this vCenter; remove it first: kaasctl provider remove east"
    assert place.refused("vcenter", "unregister", "East", "--dry-run").startswith("the provider east builds at this vCenter")
    assert place.admin.get("/v2/providers/east")["clusters"] == [{"id": cluster_id, "name": "prod"}]
    assert re.search(r"^Clusters +prod$", place.ctl.ok("provider", "show", "east"), re.M)


def test_uninstalling_stops_at_clusters_that_were_made(place: Place) -> None:
    _, job_id = place.create()
    place.until_working(job_id)
    for words in (["--dry-run"], ["--yes"], ["--yes", "--dry-run", "--force"]):
        said = place.ctl.run("uninstall", *words)
        assert said.returncode == 1
        assert said.stdout.splitlines()[1] == \
            "Kubernetes cluster prod: made by KaaS with the provider east: NOT POSSIBLE until it is deleted"
        assert said.stderr.rstrip("\n") == "kaasctl: 1 Kubernetes cluster was made by KaaS, nothing was changed: prod; " \
            "delete it first: kaasctl cluster delete prod; with --force its machines stay, and its keys are lost"
    assert "machines of Kubernetes cluster prod" in place.ctl.ok("uninstall", "--records").splitlines()


def test_uninstalling_by_force_goes_past_them(alone: Place) -> None:
    """Their machines stay, and are named; a provider alone holds nobody up."""
    alone.guests.say = ill("init-failed: no")
    _, job_id = alone.create()
    alone.wait(job_id, "failed")
    who = alone.world.vcenter.admin
    words = ("uninstall", "--user", who.login, "--password-file", "-", "--yes", "--force")
    said = alone.ctl.run(*words, stdin=f"{who.password}\n")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "made by KaaS with the provider east: its machines STAY, and its keys are lost" in said.stdout
    assert "kaasctl: the machines of Kubernetes cluster prod stay at the vCenter, in the folder prod where the provider east says" \
        in said.stderr
    assert "vCenter East: extension com.cisco.kaas removed" in said.stdout
    assert len(alone.built()) == 1 and alone.control.extensions().keys().isdisjoint({"com.cisco.kaas"})


# -- kaasd is killed -----------------------------------------------------------------------------------------------------------------


def restart(place: Place) -> None:
    place.world.kaasd.kill()
    place.world.kaasd.start()
    wait_connected(place.world)


def test_killed_while_machines_are_cloned(place: Place) -> None:
    rule = place.control.plan_tasks("CloneVM_Task", hold_at=40)
    cluster_id, job_id = place.create(workers={"count": 2})
    place.control.await_tasks(rule, held=3)
    restart(place)
    place.control.release_tasks(rule)
    place.until_working(job_id)
    until(lambda: len(place.built()) == 3 and not any("unborn" in vm for vm in place.built()), "three machines")
    assert {vm["instance_uuid"] for vm in place.built()} == {row[0] for row in place.query("SELECT instance_uuid FROM machines")}
    assert place.record(cluster_id)["state"] == "creating"
    place.end(job_id)
    assert place.left() == {}


def test_killed_while_the_first_one_boots(place: Place) -> None:
    _, job_id = place.create(workers={"count": 1})
    place.until_working(job_id)
    before = {vm["instance_uuid"]: vm["boot"] for vm in place.built()}
    restart(place)
    (first,) = [vm for vm in place.built() if vm["power"] == "poweredOn"]
    place.control.guest_says(first["moid"], **ill("join-failed: late")(first, "")[1])
    assert "kubeadm join failed: late" in place.wait(job_id, "failed")["reason"]
    assert {vm["instance_uuid"]: vm["boot"] for vm in place.built()} == before
    place.assert_no_userdata()
    place.end(job_id)
    assert place.left() == {}
