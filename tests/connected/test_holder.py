"""What the holder of a connection makes of odd answers, ends of its watch, a lease that it loses, and its own end."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import yaml
from env.connected import Connected
from env.full import World
from env.kube import Kube, Nodes
from env.kube.nodes import machine
from env.kube.proxy import H1, Asked, Proxy, refusing
from env.wait import until
from env.watching import samples

LATER_S = 8  # twice the time from one look to the next


@pytest.fixture
def connected(world: World, kube: Kube) -> Iterator[Connected]:
    with Connected(world, kube) as both:
        both.nodes.close()
        both.nodes = Nodes(kube, heartbeat_s=10)  # some tests last longer than the controller manager is patient
        yield both


@pytest.fixture
def proxy(kube: Kube) -> Iterator[Proxy]:
    with Proxy(kube, [H1]) as between:
        yield between


@pytest.fixture
def prod(connected: Connected, proxy: Proxy) -> str:
    """By way of the proxy, and ready."""
    config = yaml.safe_load(connected.kube.kubeconfig())
    config["clusters"][0]["cluster"]["server"] = proxy.url
    connected.nodes.write([machine("cp-1", is_control_plane=True), machine("w-1")])
    cluster_id: str = connected.connect("prod", kubeconfig=yaml.safe_dump(config))["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    return cluster_id


def status(connected: Connected, cluster_id: str) -> dict[str, Any]:
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def watches(proxy: Proxy) -> int:
    return sum("watch=1" in asked.path for asked in proxy.asked)


def follows(connected: Connected, cluster_id: str, name: str) -> None:
    connected.nodes.write([machine(name)])
    until(lambda: name in connected.node_rows(cluster_id), f"the node {name}")


def judges_anew(connected: Connected, cluster_id: str) -> None:
    """A verdict that has not changed is not written; this one has, by a node more, and whoever holds the connection now has written it."""
    before = connected.cluster(cluster_id)["workers"]["ready"]
    follows(connected, cluster_id, f"w-{before + 1}")
    until(lambda: connected.cluster(cluster_id)["workers"]["ready"] == before + 1, "a verdict with the node")


@pytest.mark.parametrize("said", [503, 404])
def test_who_answers_in_its_place_is_no_api_server(connected: Connected, prod: str, proxy: Proxy, said: int) -> None:
    proxy.rule = refusing(said, "/")
    proxy.cut()
    cluster = connected.wait_state(prod, "unreachable", 60)
    assert str(said) in cluster["state_reason"]
    proxy.rule = None
    connected.wait_state(prod, "ready", 60)


@pytest.mark.parametrize("said", [401, 403])
def test_a_watch_that_was_refused_begins_again(connected: Connected, prod: str, proxy: Proxy, said: int) -> None:
    """A server that starts says 401, too; a right that was taken may come back."""
    before = watches(proxy)
    proxy.rule = refusing(said, "watch=1")
    proxy.cut()
    until(lambda: watches(proxy) > before + 1, "a second try")
    proxy.rule = None
    follows(connected, prod, "w-2")
    connected.wait_state(prod, "ready", 60)


def test_a_watch_that_fails_is_told_and_not_begun_again_each_second(connected: Connected, prod: str, proxy: Proxy) -> None:
    proxy.rule = refusing(500, "watch=1")
    proxy.cut()
    told = until(lambda: now if (now := status(connected, prod))["state"] == "failing" else None, "a failing connection", 120)
    assert told["reason"] == "bad_answer"
    assert "watch of nodes" in told["detail"]
    assert connected.cluster(prod)["state"] == "ready"  # all else is told
    proxy.rule = None
    until(lambda: status(connected, prod)["state"] == "ok", "a good connection", 180)
    follows(connected, prod, "w-2")


def test_the_server_says_when_to_ask_again(connected: Connected, prod: str, proxy: Proxy) -> None:
    proxy.rule = refusing(429, "/readyz", header=[f"Retry-After: {LATER_S}"])
    told = until(lambda: now if (now := status(connected, prod))["reason"] == "busy" else None, "a busy server")
    asked = len(proxy.asked)
    proxy.rule = None
    again = until(lambda: now if (now := status(connected, prod))["state"] == "ok" else None, "a good connection")
    assert len(proxy.asked) > asked
    assert seconds(again["checked_at"]) - seconds(told["checked_at"]) >= LATER_S


def test_a_lease_that_is_lost_and_taken_again(connected: Connected, prod: str) -> None:
    was = connected.cluster(prod)
    connected.world.db.query("UPDATE leases SET fence = fence + 1 WHERE name = %s", f"kube:{prod}", database="kaas")
    judges_anew(connected, prod)
    now = connected.cluster(prod)
    assert (now["state"], now["state_since"]) == ("ready", was["state_since"])


def test_a_restart_changes_no_state(connected: Connected, prod: str) -> None:
    was = connected.cluster(prod)
    connected.world.kaasd.stop()
    connected.world.kaasd.start()
    judges_anew(connected, prod)
    now = connected.cluster(prod)
    assert (now["state"], now["state_since"]) == ("ready", was["state_since"])


def test_nor_does_one_while_its_server_is_away(connected: Connected, prod: str, proxy: Proxy) -> None:
    proxy.rule = lambda asked: b""  # hangs up
    proxy.cut()
    was = connected.wait_state(prod, "unreachable", 60)
    connected.world.kaasd.stop()
    tries = len(proxy.asked)
    connected.world.kaasd.start()
    until(lambda: len(proxy.asked) > tries + 1, "a second try, behind what came of the first")
    now = connected.cluster(prod)
    assert (now["state"], now["state_since"]) == ("unreachable", was["state_since"])
    proxy.rule = None
    connected.wait_state(prod, "ready", 60)


def test_a_stop_is_no_failure_of_the_cluster(connected: Connected, prod: str, proxy: Proxy) -> None:
    asked, ended = threading.Event(), threading.Event()

    def silent(request: Asked) -> bytes | None:
        if "/readyz" in request.path:
            asked.set()
            ended.wait(60)
        return None

    was = status(connected, prod)
    proxy.rule = silent
    assert asked.wait(60)
    connected.world.kaasd.stop()
    proxy.rule = None
    ended.set()
    row = connected.world.db.query("SELECT state, reason, since_ms FROM kube_statuses", database="kaas")
    connected.world.kaasd.start()
    assert "bad_answer" not in str(row)
    judges_anew(connected, prod)
    now = status(connected, prod)
    assert (now["state"], now["since"]) == ("ok", was["since"])


def test_metrics_count_connections_and_nodes(connected: Connected, prod: str) -> None:
    api = connected.world.admin
    until(lambda: samples(api, "kaas_kubernetes_connections").get('{state="ok"}') == 1, "the connection")
    assert samples(api, "kaas_kubernetes_connections")['{state="refused"}'] == 0
    assert samples(api, "kaas_kubernetes_nodes") == {'{ready="true"}': 2, '{ready="false"}': 0, '{ready="unknown"}': 0}
    assert list(samples(api, "kaas_kubernetes_up").values()) == [1]
    connected.nodes.condition("w-1", "Ready", "False")
    until(lambda: samples(api, "kaas_kubernetes_nodes")['{ready="false"}'] == 1, "the node that is not Ready")


def test_keys_beside_a_ca_are_not_kept(connected: Connected, kube: Kube) -> None:
    given = kube.ca_file.read_text() + "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
    told = connected.ask({"name": "prod", "address": kube.url, "ca_pem": given, "token": kube.tokens["admin"]})
    assert told.status_code == 201, told.text
    assert "PRIVATE KEY" not in connected.admin.expect(200, "GET", f"/v2/clusters/{told.json()['cluster_id']}/connection")["ca_pem"]


def test_declared_nodes_that_are_not_there_are_missing(connected: Connected) -> None:
    known = connected.typed("typed", workers={"desired": 3})
    connected.nodes.write([machine("w-1"), machine("w-2")])
    said = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{known}/connection", "PUT")
    assert said.status_code == 201, said.text
    cluster = connected.wait_state(known, "degraded")
    assert "2 of 3 workers" in cluster["state_reason"]
    follows(connected, known, "w-3")
    connected.wait_state(known, "ready")


def test_forgetting_without_a_token_tells_what_stays(connected: Connected, prod: str) -> None:
    connected.world.db.query("DELETE FROM secrets WHERE owner_id = %s", prod, database="kaas")
    refused = connected.admin.call("DELETE", f"/v2/clusters/{prod}/connection")
    assert refused.status_code >= 400
    assert "--forget" in refused.json()["remedy"]
    told = connected.admin.expect(200, "DELETE", f"/v2/clusters/{prod}/connection", params={"forget": "true"})
    failed = [step for step in told["steps"] if step["status"] == "failed"]
    assert [step["title"] for step in failed] == ["cluster role binding"]
    assert failed[0]["server"].startswith("kaas-")


def test_two_who_connect_one_cluster_at_once(connected: Connected, kube: Kube, proxy: Proxy) -> None:
    """The second finds the first's connection when it is about to write its own; the account stays whole."""
    config = yaml.safe_load(kube.kubeconfig())
    config["clusters"][0]["cluster"]["server"] = proxy.url
    asked, ended = threading.Event(), threading.Event()

    def late(request: Asked) -> bytes | None:
        if request.method == "POST" and request.path.endswith("/token"):
            asked.set()
            ended.wait(60)
        return None

    proxy.rule = late
    said: list[int] = []
    second = threading.Thread(target=lambda: said.append(connected.ask({"name": "two", "kubeconfig": yaml.safe_dump(config)}).status_code))
    connected.admin.names()
    second.start()
    assert asked.wait(60)
    first = connected.connect("one")["cluster_id"]
    proxy.rule = None
    ended.set()
    second.join()
    assert said == [409]
    assert len(connected.account_objects()) == 6
    connected.wait_state(first, "ready")
