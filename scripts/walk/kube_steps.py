"""The steps of the walk that need a real Kubernetes: a cluster is connected, falls ill and gets well, and is left as it was. What is in it
is read by kubectl."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from env import vimclient
from env.kube import Kube, Nodes
from env.kube.nodes import machine, uuid_of
from env.kube.server import CONTROLLERS_OF_USE, NODE_LIFECYCLE
from env.places import program
from env.wait import until

from .steps import Steps, Walk, deaf_threads, must, with_more

NAME = "live-1"  # of the cluster in kaasd
CONTROL_PLANES, WORKERS = ("cp-1", "cp-2", "cp-3"), ("w-1", "w-2")
NODES = sorted(CONTROL_PLANES + WORKERS)
STOPS = "w-1"
HOST = "hx-east-1.example.test"  # two of the control planes are on it
HOST_PATH = f"/DC0/host/HX-East/{HOST}"
CLERK = "clerk"  # a person who is signed in at Kubernetes and may nothing
KINDS = "clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,namespaces"
LIMIT_S = 60.0


def kubernetes(walk: Walk) -> Kube:
    if walk.kube is None:
        raise AssertionError("the walk has no Kubernetes")
    return walk.kube


def start_kubernetes(walk: Walk) -> None:
    """Three members of etcd, an API server, controllers; nodes as their kubelets write them, each with a machine at the vCenter. Names of
    nodes are no names of machines: only the UUID leads from the one to the other."""
    for n, name in enumerate(NODES):
        walk.vcenter.control.create_machines("domain-c7", f"{NAME}-{n}", host=f"hx-east-{n % 2 + 1}.example.test", uuid=uuid_of(name))
    # Nobody writes what kubelets write every few seconds, so nobody calls nodes unknown that are silent.
    walk.kube = walk.stack.enter_context(Kube(walk.scratch, NAME, members=3, people={CLERK: ()}, has_controllers=True,
                                              controllers=[name for name in CONTROLLERS_OF_USE if name != NODE_LIFECYCLE]))
    with deaf_threads():
        walk.kubelets = walk.stack.enter_context(Nodes(walk.kube))
        walk.kubelets.write(machine(name, is_control_plane=name in CONTROL_PLANES) for name in NODES)
    walk.kubeconfig = write_config(walk, "admin.conf", walk.kube.kubeconfig())
    walk.next_kubeconfig = write_config(walk, "admin-certificate.conf", walk.kube.kubeconfig(kind="certificate"))


def write_config(walk: Walk, name: str, text: str) -> Path:
    path = walk.scratch.path / name
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def kubernetes_answers(walk: Walk) -> None:
    names = kubernetes(walk).kubectl("get", "nodes", "-o", "name").split()
    must(names == [f"node/{name}" for name in NODES], f"kubectl get nodes: {names}")


def of_cluster(walk: Walk, expression: str, below: str = "") -> Any:
    """What a jq expression finds in what the administrator is told of the cluster."""
    return walk.curl.ok(200, "GET", f"/v2/clusters/{walk.live_id}{below}", token=walk.admin_token).jq(expression)


def wait_for(wanted: object, look: Callable[[], object], what: str) -> None:
    """Waits until a look finds what is wanted, or tells what it found instead."""
    seen: list[object] = []

    def is_there() -> bool:
        seen[:] = [look()]
        return seen[0] == wanted

    try:
        until(is_there, what, LIMIT_S)
    except AssertionError as error:
        raise AssertionError(f"{what}: still {seen[0]} after {LIMIT_S:.0f} s, not {wanted}") from error


def wait_state(walk: Walk, state: str) -> None:
    """Waits until the list says so, because Kubernetes was asked."""
    row = f'.items[] | select(.id == "{walk.live_id}") | [.state, .state_source]'
    wait_for([state, "asked"], lambda: walk.curl.ok(200, "GET", "/v2/clusters", token=walk.admin_token).jq(row), f"the state of {NAME}")


def reasons(walk: Walk) -> list[str]:
    return list(of_cluster(walk, "[.reasons[].reason]", "/health"))


def names_of_nodes(walk: Walk) -> list[str]:
    return list(of_cluster(walk, "[.items[].name] | sort", "/nodes"))


def connect(walk: Walk) -> None:
    """kaasctl cluster connect: one command and a kubeconfig, and the list has the cluster as it is."""
    told = walk.kaasd.ctl.json("cluster", "connect", NAME, "--kubeconfig", str(walk.kubeconfig))
    bad = [step for step in told["steps"] if step["status"] != "ok"]
    must(not bad, f"kaasctl cluster connect: {bad}")
    walk.live_id = told["cluster_id"]
    wait_state(walk, "ready")
    must(of_cluster(walk, "[.name, .api_endpoint]") == [NAME, kubernetes(walk).url], "the record is of another cluster")
    said = kubernetes(walk).kubectl("version", "-o", "json")
    must(f'"gitVersion": "v{of_cluster(walk, ".kubernetes_version")}"' in said, f"kubectl version says {said}")


def nodes_with_machines(walk: Walk) -> None:
    """The nodes that kubectl lists, each with the machine and the host that the vCenter has for it."""
    paths = "[.items[] | [.name, .vm.bios_uuid, .host.name]] | sort"
    hosts = {row["id"]: row["name"] for row in walk.vcenter.control.objects("HostSystem")}
    machines = {row["name"]: hosts[row["host"]] for row in walk.vcenter.control.objects("VirtualMachine")}
    wanted = [[name, uuid_of(name), machines[f"{NAME}-{n}"]] for n, name in enumerate(NODES)]
    wait_for(wanted, lambda: of_cluster(walk, paths, "/nodes"), "nodes, their machines and hosts")
    counted = of_cluster(walk, "[.control_plane.ready, .workers.ready]")
    must(counted == [len(CONTROL_PLANES), len(WORKERS)], f"ready control planes and workers: {counted}")


def node_stops(walk: Walk) -> None:
    """Its kubelet says so, as before a shutdown; the list names it; then it is back."""
    walk.kubelets.condition(STOPS, "Ready", "False", "KubeletNotReady", "node is shutting down")
    seen = kubernetes(walk).kubectl("get", "node", STOPS)
    must("NotReady" in seen, f"kubectl get node: {seen}")
    wait_state(walk, "degraded")
    reason = of_cluster(walk, ".state_reason")
    must(STOPS in reason, f"the reason does not name {STOPS}: {reason}")
    must(of_cluster(walk, ".workers.ready") == len(WORKERS) - 1, "the workers that are ready are counted wrongly")
    walk.kubelets.condition(STOPS, "Ready", "True")
    wait_state(walk, "ready")


def api_server_dies(walk: Walk) -> None:
    """And comes back: what is known stays in the lists meanwhile, and what changed until then is seen."""
    kubernetes(walk).kill()
    wait_state(walk, "unreachable")
    must("no_answer" in reasons(walk), f"the health says {reasons(walk)}")
    must(names_of_nodes(walk) == NODES, f"without an API server the nodes are {names_of_nodes(walk)}")
    kubernetes(walk).start()
    wait_state(walk, "ready")


def etcd_without_quorum(walk: Walk) -> None:
    """Two of three members end. All nodes still seem Ready then, so nobody but the readiness checks knows."""
    lost = kubernetes(walk).etcd.members[:2]
    for member in lost:
        member.kill()
    wait_state(walk, "unreachable")
    until(lambda: "no_quorum" in reasons(walk), "the reason no_quorum", LIMIT_S)
    kubernetes(walk).etcd.start()
    wait_state(walk, "ready")


def nodes_on_host(walk: Walk) -> list[str]:
    """Those whose machines govc finds there."""
    (host,) = vimclient.govc(walk.vcenter, "host.info", HOST_PATH)["hostSystems"]
    machines = vimclient.govc(walk.vcenter, "vm.info", f"/DC0/vm/{NAME}-*")["virtualMachines"]
    names = [machine["name"] for machine in machines if machine["runtime"]["host"]["value"] == host["self"]["value"]]
    return sorted(NODES[int(name.removeprefix(f"{NAME}-"))] for name in names)


def impact(walk: Walk) -> dict[str, Any]:
    """What kaasctl says becomes of the cluster without the host; its exit status tells whether any loses its quorum."""
    said = walk.kaasd.ctl.run("--output", "json", "impact", "host", HOST)
    must(said.returncode in (0, 1) and said.stdout, f"kaasctl impact host: {said.stderr}")
    told = json.loads(said.stdout)
    loses = any(row["verdict"] == "loses_quorum" for row in told["clusters"])
    must(said.returncode == int(loses), f"kaasctl impact host: status {said.returncode} for {told}")
    return next((row for row in told["clusters"] if row["cluster"]["name"] == NAME), {"nodes": []})


def host_impact(walk: Walk) -> None:
    """Its control planes share a host: the health says so, kaasctl impact host that their majority goes with it, and an event tells whoever
    is about to put it into maintenance mode."""
    on_host = nodes_on_host(walk)
    wait_for(on_host, lambda: sorted(node["name"] for node in impact(walk)["nodes"]), f"nodes on {HOST}")
    told = impact(walk)
    control_planes = [name for name in on_host if name in CONTROL_PLANES]
    must(told["verdict"] == "loses_quorum" and told["control_plane"]["on_host"] == len(control_planes),
         f"kaasctl impact host: {told['verdict']}, {told['control_plane']}; on it are {on_host}")
    must("control_planes_share_host" in reasons(walk), f"the health says {reasons(walk)}")
    said = vimclient.attempt_govc(walk.vcenter, "host.maintenance.enter", "-timeout", "1", HOST_PATH)
    must("timed out" in said.lower(), f"the machines that run there do not keep it out: {said}")
    wanted = f"{NAME} ({' and '.join(control_planes)}; no majority without this host)"
    until(lambda: any(wanted in line and "is about to enter maintenance mode" in line
                      for line in vimclient.run_govc(walk.vcenter, "events", "-n", "50", HOST_PATH).splitlines()),
          f"an event at {HOST} that names {wanted}", LIMIT_S)


def failed_steps(walk: Walk) -> list[str]:
    """Of the connection with the token that is kept."""
    tested = walk.curl.ok(200, "POST", f"/v2/clusters/{walk.live_id}/connection/test", token=walk.admin_token)
    return list(tested.jq('[.steps[] | select(.status == "failed").step]'))


def delete_account(walk: Walk) -> None:
    """An administrator of the cluster deletes our service account: its token is no good any more, ten seconds later."""
    kubernetes(walk).kubectl("delete", "serviceaccount", account(walk), "-n", "kaas-system")
    wait_for(["signed_in"], lambda: failed_steps(walk), "steps that fail with a token of no account")


def credentials_replaced(walk: Walk) -> None:
    """kaasctl cluster reconnect with another administrator's kubeconfig: the same record, a token that is good."""
    told = walk.kaasd.ctl.json("cluster", "reconnect", NAME, "--kubeconfig", str(walk.next_kubeconfig))
    must(told["cluster_id"] == walk.live_id, f"another record: {told['cluster_id']}")
    must(not failed_steps(walk), f"with the new token these steps fail: {failed_steps(walk)}")
    wait_state(walk, "ready")
    must(names_of_nodes(walk) == NODES, f"the nodes are {names_of_nodes(walk)}")


def ours(walk: Walk, kinds: str = KINDS) -> list[str]:
    """What of these kinds kubectl finds whose name or namespace is one of ours: namespace/name."""
    columns = "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name"
    listed = kubernetes(walk).kubectl("get", kinds, "-A", "--no-headers", "-o", columns).splitlines()
    return ["/".join(line.split()) for line in listed if "kaas" in line]


def account(walk: Walk) -> str:
    """The name that our service account and its role have."""
    return ours(walk, "clusterroles")[0].split("/")[1]


def disconnect(walk: Walk) -> None:
    """kaasctl cluster disconnect: kubectl finds nothing of ours in the cluster, and the record can go."""
    must(len(ours(walk)) >= 6, f"before it kubectl finds only {ours(walk)}")
    walk.kaasd.ctl.ok("cluster", "disconnect", NAME, "--yes")
    wait_for([], lambda: ours(walk), "what kubectl finds of ours")
    walk.curl.ok(404, "GET", f"/v2/clusters/{walk.live_id}/connection", token=walk.admin_token)
    must(names_of_nodes(walk) == [], f"nodes are left: {names_of_nodes(walk)}")
    walk.curl.ok(204, "DELETE", f"/v2/clusters/{walk.live_id}", token=walk.admin_token)


def how_to_look(walk: Walk) -> str:
    kaasctl = f"{program('kaasctl')} --config {walk.kaasd.config}"
    kubectl = f"scripts/kube kubectl --kubeconfig {walk.kubeconfig}"
    not_ready = '{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}'
    return f"""Kubernetes cluster {NAME}   {kubernetes(walk).url}   connected; the demo writes its nodes in place of kubelets
  {kaasctl} cluster health {NAME} --watch
  {kaasctl} cluster nodes {NAME}
  {kubectl} get nodes
a node that stops, with kubectl as above:   patch node {STOPS} --subresource status -p '{not_ready}'"""


# after the step of this name
AFTER: dict[str, Steps] = {
    "cluster-add": (("kubernetes", start_kubernetes, kubernetes_answers), ("kube-connect", None, connect),
                    ("kube-nodes", None, nodes_with_machines), ("kube-node-stops", None, node_stops),
                    ("kube-api-server-dies", None, api_server_dies), ("kube-quorum", None, etcd_without_quorum),
                    ("kube-host-impact", None, host_impact),
                    ("kube-credentials", delete_account, credentials_replaced), ("kube-disconnect", None, disconnect))}


def with_kubernetes(steps: Steps) -> Steps:
    return with_more(steps, AFTER)
