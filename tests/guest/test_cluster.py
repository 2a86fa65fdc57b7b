"""Two clones of the node image become a cluster by kubeadm, with govc as the hand: what the product's create stands on is there."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.places import TOP, Scratch, WorldError
from env.process import run
from env.wait import until
from kubeadm import first, user_data, worker
from seed import guestinfo, seed

pytestmark = pytest.mark.full("proves the ground that creating a cluster stands on; the create itself lands")

CONTROL_PLANE, WORKER = "10.77.0.31", "10.77.0.32"
PODS = {"cp": "10.244.31.0/24", "worker": "10.244.32.0/24"}
ROUTES = {"cp": [{"to": PODS["worker"], "via": WORKER}], "worker": [{"to": PODS["cp"], "via": CONTROL_PLANE}]}
SYSCTLS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys")
JOIN = re.compile(r"kubeadm join (\S+) --token (\S+) --discovery-token-ca-cert-hash (\S+)")
SET_UP_LIMIT_S = 600.0
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "still"},
       "spec": {"nodeName": "worker", "automountServiceAccountToken": False, "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "still", "image": "registry.k8s.io/pause:3.10.2", "imagePullPolicy": "Never"}]}}


def sysctls() -> dict[str, str]:
    return {name: Path("/proc/sys", name).read_text() for name in SYSCTLS}


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as made:
        yield made


def build(site: Site, name: str, address: str, documents: list[dict[str, Any]], *, cpus: int, memory_mb: int) -> None:
    site.clone(name, cpus=cpus, memory_mb=memory_mb)
    seed(site, name, address, user_data(documents, PODS[name]), redact=("userdata",), routes=ROUTES[name])
    site.power(name, "on")


def until_done(site: Site, name: str) -> None:
    phase = until(lambda: guestinfo(site, name).get("guestinfo.phase"), f"the end of kubeadm on {name}", SET_UP_LIMIT_S)
    if phase != "done":
        raise WorldError(f"{name}: {guestinfo(site, name).get('guestinfo.kubelet')}\n"
                         f"{site.guests.run(name, 'tail -40 /var/log/kubeadm.log; journalctl -u kubelet -n 20 --no-pager').stdout}")


def kubectl(site: Site, *arguments: str, stdin: str = "") -> Any:
    """From where people are, outside of the cluster."""
    config = site.scratch.path / "admin.conf"
    if not config.exists():
        config.touch(mode=0o600)
        config.write_text(site.guests.ok("cp", "cat /etc/kubernetes/admin.conf"))
    told = run([TOP / "scripts/kube", "kubectl", f"--kubeconfig={config}", *arguments, "--output=json"], stdin=stdin)
    if told.returncode:
        raise WorldError(f"kubectl {' '.join(arguments)}: {told.stderr.strip()}")
    return json.loads(told.stdout)


def ready(site: Site) -> dict[str, dict[str, Any]]:
    """What the nodes say of themselves that are Ready, by name."""
    def is_ready(node: dict[str, Any]) -> bool:
        return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])

    return {node["metadata"]["name"]: node["status"]["nodeInfo"] for node in kubectl(site, "get", "nodes")["items"] if is_ready(node)}


def address_of_pod(site: Site) -> str:
    """Once it runs."""
    status = kubectl(site, "get", "pod", "still")["status"]
    return str(status["podIP"]) if status["phase"] == "Running" else ""


def test_a_control_plane_and_a_worker_are_ready_and_a_pod_runs(place: Site) -> None:
    before = sysctls()
    version = json.loads(Path(node_image().layers[0], "etc/kaas-node.json").read_text())["kubernetes"]
    build(place, "cp", CONTROL_PLANE, first("cp", CONTROL_PLANE, version), cpus=2, memory_mb=2048)
    until_done(place, "cp")
    found = JOIN.search(place.guests.ok("cp", "kubeadm token create --print-join-command"))
    assert found
    build(place, "worker", WORKER, worker("worker", WORKER, *found.groups()), cpus=1, memory_mb=1024)
    until_done(place, "worker")
    nodes = until(lambda: (seen := ready(place)) and len(seen) == 2 and seen, "two nodes that are Ready", SET_UP_LIMIT_S)
    for name, node in nodes.items():
        assert node["kubeletVersion"] == version
        assert node["systemUUID"].replace("-", "") == place.info(name)["config"]["uuid"].replace("-", ""), "kubelet knows its machine"
    kubectl(place, "create", "--filename=-", stdin=json.dumps(POD))
    pod = until(lambda: address_of_pod(place), "the pod", SET_UP_LIMIT_S)
    knock = place.guests.run("cp", f"timeout 30 bash -c 'exec 3<>/dev/tcp/{pod}/9'")
    assert "Connection refused" in knock.stderr, "the pod itself answers, from another node"
    assert sysctls() == before, "kubelet writes into files of its machine"


def test_limits_of_a_machine_are_those_of_its_pods(place: Site) -> None:
    assert place.guests.memory_limit("worker") == 1024 << 20
    groups = place.guests.ok("worker", "cat /proc/$(pgrep -x pause | head -1)/cgroup")
    assert "/kubepods" in groups, "below the machine's own control group, which is the root inside"
