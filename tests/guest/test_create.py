"""One command makes a cluster, of machines that boot; pods in it talk, and another command takes it away."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env.guest.made import MadeCluster, Traffic, is_within, until_answers_outside
from env.guest.making import PROVIDER, apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.kaasd import Kaasd
from env.places import Scratch
from env.wait import until

LIMIT_S = 900.0
STATE_LIMIT_S = 150.0  # pods of the control plane are looked at each minute


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as made:
        yield made


@pytest.fixture(scope="module")
def kaasd(place: Site) -> Iterator[Kaasd]:
    with kaasd_on(place) as started:
        apply_provider(place, started)
        yield started


@pytest.fixture(scope="module")
def before(place: Site) -> set[str]:
    return place.inventory()


@pytest.fixture(scope="module")
def cluster(place: Site, kaasd: Kaasd, before: set[str]) -> MadeCluster:
    assert before
    cluster = MadeCluster(place, kaasd, "prod")
    made = kaasd.ctl.run("cluster", "create", "prod", "--provider", "east", "--workers", "1", "--control-plane-memory", "2048",
                         "--worker-memory", "1024", "--worker-cpus", "1", limit_s=LIMIT_S)
    assert made.returncode == 0, made.stdout + made.stderr + cluster.explain()
    return cluster


@pytest.fixture(scope="module")
def traffic(cluster: MadeCluster) -> Traffic:
    control_plane, worker = cluster.nodes()
    return Traffic(cluster, here=worker.name, there=control_plane.name)


def test_create(place: Site, cluster: MadeCluster) -> None:
    nodes = cluster.nodes()
    assert [node.is_control_plane for node in nodes] == [True, False]
    assert all(node.is_ready and node.version == place.image.description()["kubernetes"] for node in nodes)
    assert cluster.voters(nodes[0].name) == [nodes[0].name]
    row = until(lambda: (found := cluster.record())["state"] == "ready" and found, "the state ready", STATE_LIMIT_S)
    assert (row["control_plane"], row["workers"]) == ({"ready": 1, "desired": 1}, {"ready": 1, "desired": 1})


def test_no_key_stays_at_a_machine(place: Site, cluster: MadeCluster) -> None:
    paths = place.govc("find", "/", "-type", "m", "-name", "prod-*").split()
    assert len(paths) == len(cluster.nodes())
    for path in paths:
        settings = {one["key"]: one["value"] for one in place.info(path)["config"]["extraConfig"]}
        assert settings.get("guestinfo.userdata", "") in ("", "---"), "removed, or what cloud-init itself writes over it"


def test_pods_of_two_nodes_reach_each_other(place: Site, cluster: MadeCluster, traffic: Traffic) -> None:
    for who in ("friend", "stranger", "neighbour"):
        traffic.until_answered(who, "guarded")
    control_plane, worker = cluster.nodes()
    way = place.guests.ok(control_plane.name, f"ip route get {traffic.at['guarded']}")
    assert f"via {worker.address} dev eth0" in way, "routed, not tunnelled"


def test_a_policy_denies_and_lets_through(cluster: MadeCluster, traffic: Traffic) -> None:
    traffic.allow_friends()
    for who in ("stranger", "neighbour"):  # of another node, and of the same
        traffic.until_denied(who, "guarded")
        assert traffic.knock(who, "open") == "200", "only the guarded one is"
    traffic.until_answered("friend", "guarded")  # kube-router denies all for a moment, until its sets are filled
    assert "curl:" in traffic.knock("stranger", "guarded")
    cluster.kubectl("delete", "networkpolicy", "friends")
    traffic.until_answered("stranger", "guarded")


def test_a_service_answers_outside_of_the_cluster(place: Site, cluster: MadeCluster, traffic: Traffic) -> None:
    address = traffic.expose()
    assert is_within(address, PROVIDER["service_addresses"])
    until_answers_outside(address)
    control_plane, worker = cluster.nodes()
    for node in (control_plane, worker):
        assert f" {address}/" not in place.guests.ok(node.name, "ip address"), "no card has it: a speaker answers for it by ARP"
    (said,) = cluster.get("servicel2statuses", "--namespace=metallb-system")["items"]
    assert said["status"]["node"] == worker.name, "control planes do not answer: kubeadm labels them so"


def test_what_the_bundles_may_is_what_they_need(cluster: MadeCluster) -> None:
    """Nothing that they ask for is refused; nobody but kaas has written into what the bundles own."""
    for namespace, name in (("kube-system", "daemonset/kube-router"), ("metallb-system", "deployment/controller"),
                            ("metallb-system", "daemonset/speaker")):
        cluster.kubectl("rollout", "status", name, f"--namespace={namespace}", "--timeout=120s", limit_s=150)
        said = cluster.kubectl("logs", f"--namespace={namespace}", "--all-pods=true", "--prefix", name)
        assert said
        assert "forbidden" not in said.lower()
        metadata = cluster.get(name, f"--namespace={namespace}", "--show-managed-fields")["metadata"]
        managers = {one["manager"] for one in metadata["managedFields"] if one.get("subresource") != "status"}
        assert managers - {"kube-controller-manager"} == {"kaas"}


def test_what_is_in_use_cannot_be_removed(kaasd: Kaasd, cluster: MadeCluster) -> None:
    for words in (("cluster", "rm", cluster.name), ("provider", "remove", "east")):
        refused = kaasd.ctl.run(*words, "--yes")
        assert refused.returncode != 0 and f"kaasctl cluster delete {cluster.name}" in refused.stderr, refused.stderr


def test_delete_leaves_nothing(place: Site, kaasd: Kaasd, cluster: MadeCluster, before: set[str]) -> None:
    deleted = kaasd.ctl.run("cluster", "delete", cluster.name, "--yes", limit_s=LIMIT_S)
    assert deleted.returncode == 0, deleted.stdout + deleted.stderr
    assert place.inventory() == before
    assert not list(kaasd.kept_admin().items("/v2/clusters"))
    kaasd.ctl.ok("provider", "remove", "east", "--yes")
