"""A cluster that kaasd has made on a site, as those see it who use it: kubectl from outside, pods on its nodes, members of its etcd."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..kaasd import Kaasd
from ..places import TOP, WorldError
from ..process import run
from ..wait import until
from .site import Site

PORT = 2379
CURL = "curl --silent --show-error --noproxy '*' --max-time 5"
STATUS = f"{CURL} --output /dev/null --write-out %{{http_code}}"
ETCD_PKI = "/etc/kubernetes/pki/etcd"
POD_LIMIT_S = 300.0
ANSWER_LIMIT_S = 120.0


@dataclass(frozen=True)
class Node:
    name: str
    address: str
    version: str  # of its kubelet
    is_control_plane: bool
    is_ready: bool


def _node(row: dict[str, Any]) -> Node:
    return Node(row["metadata"]["name"], next(one["address"] for one in row["status"]["addresses"] if one["type"] == "InternalIP"),
                row["status"]["nodeInfo"]["kubeletVersion"], "node-role.kubernetes.io/control-plane" in row["metadata"]["labels"],
                any(one["type"] == "Ready" and one["status"] == "True" for one in row["status"]["conditions"]))


@dataclass
class MadeCluster:
    site: Site
    kaasd: Kaasd
    name: str

    # from outside of it

    def kubectl(self, *arguments: str, stdin: str = "", limit_s: float = 60) -> str:
        """As its administrator, by the kubeconfig that kaasctl gives."""
        config = self.site.scratch.path / f"{self.name}.conf"
        if not config.exists():
            text = self.kaasd.ctl.ok("cluster", "kubeconfig", self.name, "--admin")
            config.touch(mode=0o600)
            config.write_text(text)
        told = run([TOP / "scripts/kube", "kubectl", f"--kubeconfig={config}", "--request-timeout=30s", *arguments], stdin=stdin,
                   limit_s=limit_s)
        if told.returncode:
            raise WorldError(f"kubectl {' '.join(arguments)}: {told.stderr.strip()}")
        return told.stdout

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def create(self, *objects: dict[str, Any]) -> None:
        self.kubectl("create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def nodes(self) -> list[Node]:
        """Control planes first, then by name."""
        return sorted(map(_node, self.get("nodes")["items"]), key=lambda node: (not node.is_control_plane, node.name))

    def record(self) -> dict[str, Any]:
        """As the list tells of it."""
        return next(row for row in self.kaasd.kept_admin().items("/v2/clusters") if row["name"] == self.name)

    def explain(self) -> str:
        """Why it could not be made, as one would look for it."""
        told = self.kaasd.ctl.run("job", "list").stdout
        for name in (name for name, row in self.site.guests.machines().items() if row["pid"]):
            logs = "tail -30 /var/log/kaas-node.log; journalctl -u kubelet -n 15 --no-pager"
            told += f"\n{name}: {self.site.guests.run(name, logs).stdout}"
        return told

    # etcd

    def ask_etcd(self, machine: str, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """By its gateway on that control plane: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/"""
        client = f"--cacert {ETCD_PKI}/ca.crt --cert {ETCD_PKI}/healthcheck-client.crt --key {ETCD_PKI}/healthcheck-client.key"
        told: dict[str, Any] = json.loads(self.site.guests.ok(
            machine, f"{CURL} --fail-with-body {client} --data '{json.dumps(body)}' https://127.0.0.1:{PORT}/v3/cluster/member/{call}"))
        return told

    def voters(self, machine: str) -> list[str]:
        """Names of the members that have a vote, as that one knows them."""
        return sorted(one["name"] for one in self.ask_etcd(machine, "list", {})["members"] if not one.get("isLearner"))

    # pods

    def image_named(self, part: str) -> str:
        """The image of its machines with that in its name."""
        return next(str(one["name"]) for one in self.site.image.description()["images"] if part in one["name"])

    def pod(self, name: str, node: str, image: str, *command: str, **labels: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
                "spec": {"nodeName": node, "automountServiceAccountToken": False, "tolerations": [{"operator": "Exists"}],
                         "containers": [{"name": name, "image": self.image_named(image), "command": list(command),
                                         "imagePullPolicy": "Never"}]}}

    def caller(self, name: str, node: str, role: str) -> dict[str, Any]:
        """Does nothing: what it asks is asked from its network (Traffic.knock)."""
        return self.pod(name, node, "/pause:", "/pause", role=role)

    def server(self, name: str, node: str) -> dict[str, Any]:
        """Something that answers HTTP at PORT, which each control plane has the image of."""
        return self.pod(name, node, "/etcd:", "etcd", "--data-dir=/tmp/data", f"--listen-client-urls=http://0.0.0.0:{PORT}",
                        f"--advertise-client-urls=http://0.0.0.0:{PORT}", app=name)

    def address_of_pod(self, name: str) -> str:
        """Once it runs."""
        def told() -> str:
            status = self.get("pod", name)["status"]
            return str(status.get("podIP", "")) if status["phase"] == "Running" else ""

        return until(told, f"the pod {name}", POD_LIMIT_S)


class Traffic:
    """Pods of a cluster that talk: `guarded` and `open` answer on one node; `friend` and `stranger` ask from another one, `neighbour` from
    the same."""

    def __init__(self, cluster: MadeCluster, here: str, there: str) -> None:
        self._cluster = cluster
        self.on = {"guarded": here, "open": here, "friend": there, "stranger": there, "neighbour": here}
        cluster.create(*(cluster.server(name, here) for name in ("guarded", "open")),
                       *(cluster.caller(name, self.on[name], name) for name in ("friend", "stranger", "neighbour")))
        self.at = {name: cluster.address_of_pod(name) for name in self.on}

    def knock(self, who: str, whom: str) -> str:
        """Status of an answer to a pod, or what curl says instead."""
        is_it = f"nsenter --target $pid --net ip -brief address | grep -q ' {self.at[who]}/'"
        inside = f"for pid in $(pgrep -x pause); do {is_it} && break; done"
        told = self._cluster.site.guests.run(
            self.on[who], f"{inside}; nsenter --target $pid --net {STATUS} http://{self.at[whom]}:{PORT}/health")
        return told.stdout if told.returncode == 0 else told.stderr.strip()

    def until_answered(self, who: str, whom: str) -> None:
        self._until(who, whom, lambda said: said == "200", "an answer")

    def until_denied(self, who: str, whom: str) -> None:
        self._until(who, whom, lambda said: "curl:" in said, "that it is denied")

    def _until(self, who: str, whom: str, is_wanted: Callable[[str], bool], what: str) -> None:
        said: list[str] = []

        def knocks() -> bool:
            said[:] = [self.knock(who, whom)]
            return is_wanted(said[0])

        try:
            until(knocks, what, ANSWER_LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{who} asks {whom}, and {what} does not come: {said[0]}") from error

    def allow_friends(self) -> None:
        """The policy that lets only those in to the guarded one."""
        friends = {"from": [{"podSelector": {"matchLabels": {"role": "friend"}}}], "ports": [{"protocol": "TCP", "port": PORT}]}
        guarded = {"podSelector": {"matchLabels": {"app": "guarded"}}, "policyTypes": ["Ingress"], "ingress": [friends]}
        self._cluster.create({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "friends"},
                              "spec": guarded})

    def expose(self) -> str:
        """The open one, by a Service of type LoadBalancer: the address that it gets."""
        self._cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "open"},
                              "spec": {"type": "LoadBalancer", "selector": {"app": "open"}, "ports": [{"port": 80, "targetPort": PORT}]}})

        def given() -> str:
            ingress = self._cluster.get("service", "open")["status"]["loadBalancer"].get("ingress", [])
            return str(ingress[0]["ip"]) if ingress else ""

        return until(given, "an address for the Service", ANSWER_LIMIT_S)


def until_answers_outside(address: str) -> None:
    """Where people are."""
    until(lambda: run([*STATUS.replace("'", "").split(), f"http://{address}/health"]).stdout == "200", f"an answer at {address}",
          ANSWER_LIMIT_S)


def is_within(address: str, ranges: Sequence[str]) -> bool:
    """Ranges as a provider has them, "10.9.0.200-10.9.0.220"."""
    bounds = [[ipaddress.ip_address(end) for end in one.split("-")] for one in ranges]
    return any(first <= ipaddress.ip_address(address) <= last for first, last in bounds)
