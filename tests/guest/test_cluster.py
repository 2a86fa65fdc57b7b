"""Two clones of the node image become a cluster by what the product tells machines, with govc as the hand."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.places import Scratch, WorldError
from env.wait import until
from nodes import LIMIT_S, give, kubectl, ready, until_done, version
from seed import guestinfo

pytestmark = pytest.mark.full("proves the ground that creating a cluster stands on; the create itself lands")

API, CONTROL_PLANE, WORKER = "10.77.0.30", "10.77.0.31", "10.77.0.32"
PODS = {"cp": "10.244.31.0/24", "worker": "10.244.32.0/24"}
ROUTES = {"cp": [{"to": PODS["worker"], "via": WORKER}], "worker": [{"to": PODS["cp"], "via": CONTROL_PLANE}]}
SYSCTLS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys")
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "still"},
       "spec": {"nodeName": "worker", "automountServiceAccountToken": False, "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "still", "image": "registry.k8s.io/pause:3.10.2", "imagePullPolicy": "Never"}]}}


def sysctls() -> dict[str, str]:
    return {name: Path("/proc/sys", name).read_text() for name in SYSCTLS}


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as made:
        yield made


def build(site: Site, name: str, role: str, address: str, *, cpus: int, memory_mb: int) -> None:
    site.clone(name, cpus=cpus, memory_mb=memory_mb)
    give(site, name, role, api_host=API, address=address, bridge_pods=PODS[name], routes=ROUTES[name])
    site.power(name, "on")


def address_of_pod(site: Site) -> str:
    """Once it runs."""
    status = kubectl(site, API, "get", "pod", "still")["status"]
    return str(status["podIP"]) if status["phase"] == "Running" else ""


def test_a_control_plane_and_a_worker_are_ready_and_a_pod_runs(place: Site) -> None:
    before = sysctls()
    build(place, "cp", "init", CONTROL_PLANE, cpus=2, memory_mb=2048)
    until_done(place, "cp")
    build(place, "worker", "worker", WORKER, cpus=1, memory_mb=1024)
    until_done(place, "worker")
    nodes = until(lambda: (seen := ready(place, API)) and len(seen) == 2 and seen, "two nodes that are Ready", LIMIT_S)
    for name, node in nodes.items():
        assert node["kubeletVersion"] == f"v{version()}"
        assert node["systemUUID"].replace("-", "") == place.info(name)["config"]["uuid"].replace("-", ""), "kubelet knows its machine"
    kubectl(place, API, "create", "--filename=-", stdin=json.dumps(POD))
    pod = until(lambda: address_of_pod(place), "the pod", LIMIT_S)
    knock = place.guests.run("cp", f"timeout 30 bash -c 'exec 3<>/dev/tcp/{pod}/9'")
    assert "Connection refused" in knock.stderr, "the pod itself answers, from another node"
    assert sysctls() == before, "kubelet writes into files of its machine"


def test_no_key_and_no_token_is_left_where_it_is_not_needed(place: Site) -> None:
    for name in ("cp", "worker"):
        assert guestinfo(place, name)["guestinfo.userdata"] == "---", "cloud-init has overwritten it"
        assert place.guests.ok(name, "ls /etc/kaas").split() == (["authentication.yaml", "node.env"] if name == "cp" else ["node.env"])
        assert place.guests.run(name, "grep -r abcdef.0123456789abcdef /var/log /etc/kubernetes").returncode == 1
    assert place.guests.ok("worker", "find /etc /var/lib/kubelet -name '*ca.key'") == ""


def test_limits_of_a_machine_are_those_of_its_pods(place: Site) -> None:
    assert place.guests.memory_limit("worker") == 1024 << 20
    groups = place.guests.ok("worker", "cat /proc/$(pgrep -x pause | head -1)/cgroup")
    assert "/kubepods" in groups, "below the machine's own control group, which is the root inside"


def test_a_node_that_restarts_is_one_again(place: Site) -> None:
    """With its address, the address of the API and the routes to pods; kubeadm is not run again."""
    def is_back() -> bool:
        try:
            told = place.guests.run("cp", "cat /var/log/kaas-node.log").stdout
            return told.count(" done\n") == 2 and len(ready(place, API)) == 2
        except WorldError:  # the machine does not run yet, or the API
            return False

    place.power("cp", "reset")
    until(is_back, "the API at its address, and both nodes", LIMIT_S)
    assert PODS["worker"] in place.guests.ok("cp", "ip route")
    assert place.guests.ok("cp", "grep -c ' init$' /var/log/kaas-node.log").strip() == "1"
