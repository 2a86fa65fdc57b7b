"""A role that somebody trims: exactly what the guide's row names is gone, and health names the rule."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from env.clock import Clock
from env.connected import Connected
from env.kube import Kube
from env.kube.nodes import machine
from env.places import TOP, Scratch
from env.wait import until

JSON = dict[str, Any]
# They give everybody who is signed in what our rule gives; a cluster may be without them.
DEFAULTS = ("system:public-info-viewer", "system:discovery", "system:monitoring")
POD = ("kube-scheduler-cp-1", "-n", "kube-system")
RULES = {"nodes": "nodes", "control plane": "pods", "identity": "namespaces", "readiness": "/readyz", "token": "serviceaccounts/token",
         "disconnect": "clusterrolebindings"}


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    """Of these tests alone: they take rights from everybody."""
    with Kube(scratch, "trimmed", has_controllers=True) as cluster:
        cluster.kubectl("create", "clusterrolebinding", "discovery-of-controllers", "--clusterrole=system:discovery",
                        "--user=system:kube-controller-manager", "--group=system:serviceaccounts:kube-system")
        for name in DEFAULTS:
            cluster.kubectl("delete", "clusterrolebinding", name, "--ignore-not-found")
        yield cluster


def roles(connected: Connected) -> list[JSON]:
    """ClusterRole and Role of our account."""
    told = connected.kube.kubectl("get", "clusterroles,roles", "-A", "-l", "app.kubernetes.io/managed-by=kaas", "-o", "json")
    return list(json.loads(told)["items"])


def drop(connected: Connected, about: str) -> None:
    """The rule about this resource or path."""
    for role in roles(connected):
        for number, rule in enumerate(role["rules"]):
            if about in rule.get("resources", rule.get("nonResourceURLs")):
                where = ("-n", "kube-system") if role["kind"] == "Role" else ()
                change = json.dumps([{"op": "remove", "path": f"/rules/{number}"}])
                connected.kube.kubectl("patch", role["kind"], role["metadata"]["name"], *where, "--type=json", "-p", change)
                return
    raise AssertionError(f"no rule is about {about}")


def reasons(connected: Connected, cluster_id: str) -> dict[str, JSON]:
    health = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/health")
    return {reason["reason"]: reason for reason in health["reasons"]}


def status(connected: Connected, cluster_id: str) -> JSON:
    told: JSON = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def wait_missing(connected: Connected, cluster_id: str, about: str) -> None:
    until(lambda: about in reasons(connected, cluster_id).get("rights_missing", {"text": ""})["text"], f"the missing rule: {about}")


def begin_anew(connected: Connected, cluster_id: str) -> None:
    """A holder that knows nothing yet, to whom the token is due."""
    connected.world.kaasd.stop()
    connected.world.db.query("UPDATE kube_statuses SET token_renew_at_ms = 1, token_until_ms = token_until_ms - 1000 WHERE cluster_id = %s",
                             cluster_id, database="kaas")
    connected.world.kaasd.start()


def lost(connected: Connected, cluster_id: str, token_until: str) -> set[str]:
    """The features that do not work; that of the identity has no sign but that nothing else is lost."""
    gone = set()
    told = reasons(connected, cluster_id)
    if "nodes_unknown" in told:
        gone.add("nodes")
    if "control_plane_pods" not in told:
        gone.add("control plane")
    if "never_asked" in told:
        gone.add("readiness")
    if status(connected, cluster_id)["token_until"] == token_until:
        gone.add("token")
    if connected.admin.call("DELETE", f"/v2/clusters/{cluster_id}/connection").status_code != 200:
        gone.add("disconnect")
    return gone


@pytest.mark.parametrize("feature", RULES)
def test_each_rule_takes_away_what_the_guide_says(connected: Connected, feature: str) -> None:
    connected.nodes.write([machine("cp-1", is_control_plane=True)])
    connected.kube.kubectl("run", *POD, "--image=none", "--labels=tier=control-plane,component=kube-scheduler")
    try:
        cluster_id = connected.connect()["cluster_id"]
        until(lambda: "control_plane_pods" in reasons(connected, cluster_id), "the pod that does not run")
        drop(connected, RULES[feature])
        begin_anew(connected, cluster_id)
        before = status(connected, cluster_id)["token_until"]
        wait_missing(connected, cluster_id, f"{feature}: ")
        until(lambda: status(connected, cluster_id)["state"] == "ok", "a connection that goes on")
        until(lambda: feature == "token" or status(connected, cluster_id)["token_until"] != before, "a fresh token")
        until(lambda: feature == "control plane" or "control_plane_pods" in reasons(connected, cluster_id), "the pods")
        until(lambda: ("nodes_unknown" in reasons(connected, cluster_id)) == (feature == "nodes"), "nodes, or none")
        assert lost(connected, cluster_id, before) == {feature} - {"identity"}
    finally:
        connected.kube.kubectl("delete", "pod", *POD, "--ignore-not-found", "--force", "--grace-period=0")


def test_a_pod_of_the_control_plane_that_starts_is_looked_at_again_soon(connected: Connected) -> None:
    """Not only after the minute in which they are looked at otherwise."""
    connected.nodes.write([machine("cp-1", is_control_plane=True)])
    connected.kube.kubectl("run", *POD, "--image=none", "--labels=tier=control-plane,component=kube-scheduler")
    try:
        cluster_id = connected.connect()["cluster_id"]
        until(lambda: "control_plane_pods" in reasons(connected, cluster_id), "the pod that does not run")
        ready = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        connected.kube.kubectl("patch", "pod", *POD, "--subresource=status", "--type=merge", "-p", ready)
        until(lambda: "control_plane_pods" not in reasons(connected, cluster_id), "the pod that runs", limit_s=25)
    finally:
        connected.kube.kubectl("delete", "pod", *POD, "--ignore-not-found", "--force", "--grace-period=0")


def test_a_refused_watch_asks_at_once_which_right_is_missing(connected: Connected) -> None:
    connected.nodes.write([machine("w-1")])
    cluster_id = connected.connect()["cluster_id"]
    until(lambda: connected.node_rows(cluster_id), "the node")
    drop(connected, "nodes")
    connected.kube.kill()
    connected.kube.start()
    wait_missing(connected, cluster_id, "nodes: list watch")
    # a server that has just started says 403 to the readiness checks, too, until it has read its rules
    until(lambda: "nodes_unknown" in reasons(connected, cluster_id), "nodes that are not known")
    assert set(connected.node_rows(cluster_id)) == {"w-1"}


def test_a_right_that_is_lost_in_silence_is_named_within_minutes(connected: Connected, clock: Clock) -> None:
    cluster_id = connected.connect()["cluster_id"]
    until(lambda: status(connected, cluster_id)["state"] == "ok", "a good connection")
    drop(connected, "clusterrolebindings")
    clock.advance(360, 20)
    wait_missing(connected, cluster_id, "disconnect: delete clusterrolebindings")


def row_of(role: JSON, rule: JSON) -> str:
    """As the guide writes a rule."""
    about = ", ".join(f"`{name}`" for name in rule.get("resources", rule.get("nonResourceURLs")))
    named = rule.get("resourceNames", [""])[0]
    whose = " of our own" if named.startswith("kaas-") else f" named `{named}`" if named else ""
    return f"{about}{' in `kube-system`' if role['kind'] == 'Role' else ''}{whose}: {', '.join(rule['verbs'])}"


def test_the_guide_has_a_row_for_each_rule(connected: Connected) -> None:
    connected.connect()
    guide = (TOP / "docs/admin/kubernetes.md").read_text()
    table = guide.split("| rule | for | without it |")[1].split("\n\n")[0]
    rows = [re.sub(r"( of our own) (account|name)", r"\1", line.split("|")[1].strip()) for line in table.splitlines()[2:]]
    assert sorted(rows) == sorted(row_of(role, rule) for role in roles(connected) for rule in role["rules"])
