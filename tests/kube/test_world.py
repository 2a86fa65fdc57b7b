"""One etcd and one API server hold what tests of kaasd lean on: who gets in, what nodes look like, and what breaks when it is broken."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from env.kube import Kube, Nodes, NodeShape, Refused
from env.kube.nodes import PATH, machine, uuid_of
from env.kube.programs import pinned
from env.kube.server import ADDRESSES
from env.places import TOP, Scratch
from env.wait import until

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="module")
def nodes(kube: Kube) -> Iterator[Nodes]:
    with Nodes(kube) as made:
        made.write([
            machine("cp-1", is_control_plane=True, address="192.0.2.11"),
            machine("worker-1", labels={"zone": "east"}, taints=(("dedicated", "NoExecute"),), conditions={"DiskPressure": "True"}),
            NodeShape("worker-2", system_uuid="422E4956-AD22-1139-6D72-59CC8F26BC90", is_cordoned=True, conditions={"Ready": "False"})])
        yield made


def config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


# who gets in


def test_it_says_the_version_that_is_pinned(kube: Kube) -> None:
    told = kube.as_token(None).get("/version")
    assert told["gitVersion"] == pinned("current")
    assert f"v{told['major']}.{told['minor']}" == pinned("current").rpartition(".")[0]
    assert told["gitTreeState"] == "clean"


def test_readiness_names_etcd(kube: Kube) -> None:
    status, text = kube.readyz()
    assert status == 200 and "[+]etcd ok" in text


@pytest.mark.parametrize(("token", "status"), [(None, 403), ("wrong", 401)])
def test_strangers_do_not_see_nodes(kube: Kube, token: str | None, status: int) -> None:
    with pytest.raises(Refused) as refused:
        kube.as_token(token).get(PATH)
    assert refused.value.status == status


def test_people_are_known_by_token_and_by_certificate(kube: Kube) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    for client in (kube.as_person("ada"), kube.as_cert(kube.certificate("ada"))):
        user = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)["status"]["userInfo"]
        assert user["username"] == "ada" and set(user["groups"]) == {"viewers", "system:authenticated"}
        with pytest.raises(Refused) as refused:
            client.get(PATH)
        assert (refused.value.status, refused.value.reason) == (403, "Forbidden")


@pytest.mark.parametrize("kind", ["token", "certificate"])
def test_kubectl_takes_both_kinds_of_kubeconfig(kube: Kube, kind: str) -> None:
    assert "system:masters" in kube.kubectl("auth", "whoami", kind=kind)


# nodes


def test_kubectl_sees_what_was_chosen(nodes: Nodes) -> None:
    listed = {one["metadata"]["name"]: one for one in json.loads(nodes.kube.kubectl("get", "nodes", "--output=json"))["items"]}
    conditions = {name: {row["type"]: row["status"] for row in one["status"]["conditions"]} for name, one in listed.items()}
    assert listed["cp-1"]["spec"]["providerID"] == f"vsphere://{uuid_of('cp-1')}"
    assert listed["cp-1"]["status"]["nodeInfo"]["systemUUID"] == uuid_of("cp-1")
    assert listed["cp-1"]["spec"]["taints"] == [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    assert listed["worker-1"]["metadata"]["labels"]["zone"] == "east"
    assert listed["worker-1"]["spec"]["taints"] == [{"key": "dedicated", "effect": "NoExecute"}]
    assert conditions["worker-1"] == {"MemoryPressure": "False", "DiskPressure": "True", "PIDPressure": "False", "Ready": "True"}
    assert "providerID" not in listed["worker-2"]["spec"]
    assert listed["worker-2"]["status"]["nodeInfo"]["systemUUID"] == "422E4956-AD22-1139-6D72-59CC8F26BC90"
    table = {row.split()[0]: row.split() for row in nodes.kube.kubectl("get", "nodes", "--no-headers").splitlines()}
    assert table["cp-1"][1:3] == ["Ready", "control-plane"]
    assert table["worker-2"][1] == "NotReady,SchedulingDisabled"


def test_a_watch_tells_each_change(nodes: Nodes) -> None:
    at = nodes.kube.api.get(PATH)["metadata"]["resourceVersion"]
    nodes.condition("worker-1", "Ready", "False", "KubeletNotReady", "container runtime is down")
    nodes.spec("worker-1", unschedulable=True)
    nodes.write([machine("worker-3")])
    nodes.delete("worker-3")
    events = nodes.kube.api.watch(PATH, resourceVersion=at)
    told = [next(events) for _ in range(4)]
    assert [(one["type"], one["object"]["metadata"]["name"]) for one in told] == [
        ("MODIFIED", "worker-1"), ("MODIFIED", "worker-1"), ("ADDED", "worker-3"), ("DELETED", "worker-3")]
    ready = {row["type"]: row for row in told[0]["object"]["status"]["conditions"]}["Ready"]
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "KubeletNotReady", "container runtime is down")
    assert told[1]["object"]["spec"]["unschedulable"] is True


def heartbeats(nodes: Nodes, name: str) -> set[str]:
    return {row["lastHeartbeatTime"] for row in nodes.get(name)["status"]["conditions"]}


def test_heartbeats_go_on_until_a_node_is_hushed(kube: Kube) -> None:
    with Nodes(kube, heartbeat_s=1) as quick:
        quick.write([machine("beats"), machine("silent")])
        quick.hush("silent")
        quick.refresh("silent", ago_s=3600)
        old, first = heartbeats(quick, "silent"), heartbeats(quick, "beats")
        until(lambda: max(heartbeats(quick, "beats")) > max(first), "a further heartbeat")
        assert heartbeats(quick, "silent") == old and max(old) < min(first)
        quick.delete("beats", "silent")


def test_a_thousand_nodes_are_as_large_as_real_ones(kube: Kube) -> None:
    with Nodes(kube) as many:
        names = many.write_many(1000, "many")
        size = len(kube.api.ask("GET", f"{PATH}/{names[500]}").content)
        assert 6000 < size < 10000
        listed = kube.kubectl("get", "nodes", "--output=name").split()
        assert {f"node/{name}" for name in names} <= set(listed)
        many.delete(*names)


# what is broken


def test_it_comes_back_after_a_kill(kube: Kube) -> None:
    uid, url, at = kube.api.uid(), kube.url, kube.api.get(NAMESPACES)["metadata"]["resourceVersion"]
    watching = kube.api.watch(NAMESPACES, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")
    next(watching)
    kube.api.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "before-the-kill"}})
    kube.kill()
    with pytest.raises(requests.RequestException):
        list(watching)  # it breaks off, and does not end
    assert kube.readyz()[0] == 0
    kube.start()
    assert (kube.api.uid(), kube.url) == (uid, url)
    events = list(kube.api.watch(NAMESPACES, resourceVersion=at))  # what came before its start it has forgotten
    assert [(one["type"], one["object"]["code"]) for one in events] == [("ERROR", 410)]


def test_it_moves_to_another_address(kube: Kube) -> None:
    uid, old = kube.api.uid(), kube.url
    kube.move(ADDRESSES[1])
    assert kube.url.startswith("https://127.0.0.2:") and kube.url != old
    assert kube.api.uid() == uid
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{old}/version", verify=str(kube.ca_file), timeout=30)
    kube.move(ADDRESSES[0])


def test_a_frozen_one_takes_connections_and_never_answers(kube: Kube) -> None:
    kube.freeze()
    try:
        with pytest.raises(requests.Timeout):
            requests.get(f"{kube.url}/version", verify=str(kube.ca_file), timeout=1)
    finally:
        kube.thaw()
    kube.wait_ready()


def test_a_full_etcd_refuses_what_takes_room(kube: Kube) -> None:
    kube.etcd.fill()
    try:
        with pytest.raises(Refused, match="database space exceeded"):
            kube.api.post(f"{NAMESPACES}/default/configmaps", config_map("too-much"))
        assert kube.api.uid()
    finally:
        kube.etcd.make_room()
    kube.api.post(f"{NAMESPACES}/default/configmaps", config_map("enough-room"))


def test_what_is_compacted_is_gone(kube: Kube) -> None:
    """The next page, and a watch from then on, are refused with 410."""
    for number in range(3):
        kube.api.post(f"{NAMESPACES}/default/configmaps", config_map(f"compacted-{number}"))
    path = f"{NAMESPACES}/default/configmaps"
    page = kube.api.get(path, limit="1")["metadata"]
    kube.api.post(path, config_map("compacted-later"))
    kube.etcd.compact()

    def refused() -> bool:
        answer = kube.api.ask("GET", path, params={"limit": "1", "continue": page["continue"]})
        return answer.status_code == 410 and answer.json()["reason"] == "Expired"

    until(refused, "a page that has expired")


def test_a_second_cluster_in_the_same_etcd_is_another_one(kube: Kube, scratch: Scratch, nodes: Nodes) -> None:
    with Kube(scratch, "second", etcd=kube.etcd, prefix="/second") as second:
        assert second.api.uid() != kube.api.uid()
        assert second.api.get(PATH)["items"] == []
        with pytest.raises(Refused) as refused:
            second.as_token(kube.tokens["admin"]).uid()
        assert refused.value.status == 401
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(f"{second.url}/version", verify=str(kube.ca_file), timeout=30)
    assert kube.readyz()[0] == 200  # its etcd is still there


STARTER = """
import sys, time
from env.kube import Kube
from env.places import Scratch
kube = Kube(Scratch("orphans"))
print(kube.process.pid, kube.etcd.members[0].process.pid, kube.folder.parent, flush=True)
time.sleep(600)
"""


def test_nothing_is_left_when_the_runner_is_killed() -> None:
    runner = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(TOP / "tests")})
    assert runner.stdout
    *pids, folder = runner.stdout.readline().split()
    assert all(Path("/proc", pid).exists() for pid in pids)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    until(lambda: not any(is_alive(pid) for pid in pids), "the end of both")
    subprocess.run(["rm", "-rf", folder], check=True)


def is_alive(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
