"""The walk of a cluster's whole life: made of machines that boot, used, hurt, and gone without a trace. A world of its own: a vCenter with
a template, and a network that only the walk is in."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from env.guest.made import MadeCluster, Traffic, is_within, until_answers_outside
from env.guest.making import PROVIDER, apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.places import Scratch, WorldError
from env.wait import until

from .steps import Steps, Walk, must, setup

NAME = "prod"  # of the cluster
CONTROL_PLANES, WORKERS = 3, 2
SIZES = ("--control-plane-memory", "2048", "--worker-memory", "1024", "--worker-cpus", "1")
CREATE_LIMIT_S = 1800.0
BACK_LIMIT_S = 180.0


class Creation:
    """What the steps hand on to each other."""

    def __init__(self, walk: Walk, site: Site) -> None:
        self.site = site
        self.kaasd = walk.stack.enter_context(kaasd_on(site))
        self.before = site.inventory()
        self.cluster = MadeCluster(site, self.kaasd, NAME)
        self.traffic: Traffic

    def first(self) -> str:
        """Name of the control plane that the cluster began with, which is the oldest node."""
        names = self.cluster.kubectl("get", "nodes", "--sort-by=.metadata.creationTimestamp", "-o", "name")
        return names.split()[0].removeprefix("node/")


def creation(walk: Walk) -> Creation:
    if walk.creation is None:
        raise WorldError("the walk has no place where clusters are made")
    return walk.creation


def start_site(walk: Walk) -> None:
    """The node image, which is made the first time; a vCenter, a network, kaasd."""
    image = node_image(has_dns=True)
    walk.scratch = Scratch("demo")
    walk.stack.callback(walk.scratch.remove)
    walk.creation = Creation(walk, walk.stack.enter_context(site_of(walk.scratch, image)))


def site_answers(walk: Walk) -> None:
    site = creation(walk).site
    status = creation(walk).kaasd.ctl.json("vcenter", "status", site.vcenter.host)
    must(status["state"] == "connected", f"the vCenter is {status['state']}: {status['state_reason']}")


def provider(walk: Walk) -> None:
    """kaasctl provider apply and check: clusters can be made there."""
    made = creation(walk)
    apply_provider(made.site, made.kaasd)
    checked = made.kaasd.ctl.json("provider", "check", PROVIDER["name"])
    bad = [f"{one['title']}: {one['text']}" for one in checked["findings"] if one["status"] == "failed"]
    must(checked["findings"] and not bad, f"kaasctl provider check: {bad}")


def create(walk: Walk) -> None:
    """kaasctl cluster create, until Kubernetes calls all nodes Ready."""
    made = creation(walk)
    done = made.kaasd.ctl.run("cluster", "create", NAME, "--provider", PROVIDER["name"], "--control-planes", str(CONTROL_PLANES),
                              "--workers", str(WORKERS), *SIZES, limit_s=CREATE_LIMIT_S)
    must(done.returncode == 0, f"kaasctl cluster create: {(done.stdout + done.stderr)[-500:]}")


def nodes(walk: Walk) -> None:
    made = creation(walk)
    seen, version = made.cluster.nodes(), made.site.image.description()["kubernetes"]
    must([node.is_control_plane for node in seen] == [True] * CONTROL_PLANES + [False] * WORKERS, f"kubectl get nodes: {seen}")
    must(all(node.is_ready and node.version == version for node in seen), f"not all are Ready, and of {version}: {seen}")
    until(lambda: made.cluster.record()["state"] == "ready", "the state ready in the list", BACK_LIMIT_S)
    made.cluster.kubectl("rollout", "status", "deployment/coredns", "--namespace=kube-system", "--timeout=170s", limit_s=200)


def etcd(walk: Walk) -> None:
    cluster = creation(walk).cluster
    wanted = [node.name for node in cluster.nodes() if node.is_control_plane]
    voters = cluster.voters(wanted[0])
    must(voters == wanted, f"members of etcd that have a vote: {voters}, not {wanted}")


def pods(walk: Walk) -> None:
    """A pod runs on one worker, and is reached from pods on another one."""
    made = creation(walk)
    here, there = made.cluster.nodes()[-2:]
    made.traffic = Traffic(made.cluster, here=here.name, there=there.name)
    for who in ("friend", "stranger"):
        made.traffic.until_answered(who, "guarded")


def policy(walk: Walk) -> None:
    """What a NetworkPolicy does not let in is denied, and nothing else is."""
    traffic = creation(walk).traffic
    traffic.allow_friends()
    traffic.until_denied("stranger", "guarded")
    traffic.until_answered("friend", "guarded")  # kube-router denies all for a moment, until its sets are filled
    must("curl:" in traffic.knock("stranger", "guarded"), "the stranger is let in with the friend")
    must(traffic.knock("stranger", "open") == "200", "what no policy guards is denied, too")


def service(walk: Walk) -> None:
    """A Service of type LoadBalancer answers where the walk is, outside of the cluster."""
    address = creation(walk).traffic.expose()
    must(is_within(address, PROVIDER["service_addresses"]), f"{address} is not of the provider's service_addresses")
    until_answers_outside(address)


def api_answers(cluster: MadeCluster) -> bool:
    try:
        return cluster.kubectl("get", "--raw", "/readyz", "--request-timeout=5s") == "ok"
    except WorldError:
        return False


def power_off(walk: Walk) -> None:
    """The first control plane's machine, at the vCenter: the API answers again at its address, and the list says what is wrong."""
    made = creation(walk)
    first = made.first()
    made.site.power(first, "off")
    until(lambda: not made.site.guests.leader(first), "the end of the machine")
    until(lambda: api_answers(made.cluster), f"the API without {first}", BACK_LIMIT_S)
    said: list[str] = []

    def is_told() -> bool:
        row = made.cluster.record()
        said[:] = [f"{row['state']}: {row['state_reason']}"]
        return row["state"] == "degraded" and first in (row["state_reason"] or "")

    try:
        until(is_told, "the list", BACK_LIMIT_S)
    except AssertionError as error:
        raise AssertionError(f"the list does not say that {first} is away, but {said[0]}") from error


def delete(walk: Walk) -> None:
    """kaasctl cluster delete: neither kaasd nor the vCenter, as govc sees it, has anything of it."""
    made = creation(walk)
    must(len(made.site.inventory() - made.before) > CONTROL_PLANES + WORKERS, "machines and their folder are not all there before")
    done = made.kaasd.ctl.run("cluster", "delete", NAME, "--yes", limit_s=CREATE_LIMIT_S)
    must(done.returncode == 0, f"kaasctl cluster delete: {(done.stdout + done.stderr)[-500:]}")
    left = made.site.inventory() - made.before
    must(not left, f"left at the vCenter: {sorted(left)}")
    must(not list(made.kaasd.kept_admin().items("/v2/clusters")), "it is still in the list")


CREATE_STEPS: Steps = (
    ("setup", None, setup),
    ("create-site", start_site, site_answers),
    ("create-provider", None, provider),
    ("create-cluster", None, create),
    ("create-nodes", None, nodes),
    ("create-etcd", None, etcd),
    ("create-pods", None, pods),
    ("create-policy", None, policy),
    ("create-service", None, service),
    ("create-power-off", None, power_off),
    ("create-delete", None, delete),
)
