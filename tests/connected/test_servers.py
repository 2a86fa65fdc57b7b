"""API servers that do not behave: one that never answers while kaasd is to stop, another cluster's, answers that are none."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import yaml
from env.connected import OPTIONS, Connected, steps_of
from env.full import World
from env.kube.nodes import machine
from env.kube.proxy import H1, Asked, Proxy, answer
from env.wait import until

OTHER_UID = "5d3c2f0e-1111-4222-8333-944444444444"
STOPPED_S = 20.0  # by far less than the limits of the calls under way


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Its calls have all the time in the world, so that it is no time-out that ends them."""
    with World("v", options={"kubernetes": {**OPTIONS["kubernetes"], "call_timeout": "60s"}}) as started:
        yield started


def by(proxy: Proxy) -> str:
    """The administrator's kubeconfig, by way of this proxy."""
    config = yaml.safe_load(proxy.kube.kubeconfig())
    config["clusters"][0]["cluster"]["server"] = proxy.url
    return yaml.safe_dump(config)


def namespace(asked: Asked) -> bytes | None:
    """The identity of another cluster."""
    body = json.dumps({"kind": "Namespace", "metadata": {"uid": OTHER_UID}})
    return answer(200, body, "Content-Type: application/json") if asked.path.endswith("/namespaces/kube-system") else None


def test_a_server_that_never_answers_does_not_hold_up_a_stop(connected: Connected) -> None:
    asked = threading.Event()

    def silent(request: Asked) -> bytes | None:
        if request.path.endswith("/version"):
            asked.set()
            ended.wait(60)
        return None

    ended = threading.Event()
    with Proxy(connected.kube, [H1], silent) as proxy:
        body = {"name": "prod", "kubeconfig": by(proxy)}
        said: list[Any] = []

        def ask() -> None:
            try:
                said.append(connected.ask(body).status_code)
            except requests.RequestException as error:
                said.append(error)

        caller = threading.Thread(target=ask)
        connected.admin.names()
        caller.start()
        assert asked.wait(60)
        begin = time.monotonic()
        connected.world.kaasd.stop()
        took = time.monotonic() - begin
        ended.set()
        caller.join()
        connected.world.kaasd.start()
    assert took < STOPPED_S
    assert said != [201]
    assert connected.account_objects() == []


def test_what_was_made_is_taken_back_when_kaasd_stops(connected: Connected) -> None:
    """The last object but one has been made when the server falls silent for all but the taking back."""
    asked, ended = threading.Event(), threading.Event()

    def silent(request: Asked) -> bytes | None:
        if request.method == "PATCH" and "/rolebindings/" in request.path:
            asked.set()
            ended.wait(60)
            return answer(500)
        return None

    with Proxy(connected.kube, [H1], silent) as proxy:
        body = {"name": "prod", "kubeconfig": by(proxy)}

        def ask() -> None:
            with pytest.raises(requests.RequestException):
                raise requests.RequestException(str(connected.ask(body).status_code))

        caller = threading.Thread(target=ask)
        caller.start()
        assert asked.wait(60)
        connected.world.kaasd.stop()
        ended.set()
        caller.join()
        connected.world.kaasd.start()
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")
    assert connected.admin.names() == []


def test_another_cluster_behind_the_address_is_told_and_its_nodes_are_not_taken(connected: Connected) -> None:
    connected.nodes.write([machine("w-1")])
    with Proxy(connected.kube, [H1]) as proxy:
        cluster_id = connected.connect("prod", kubeconfig=by(proxy))["cluster_id"]
        until(lambda: set(connected.node_rows(cluster_id)) == {"w-1"}, "the node")
        proxy.shut()
        connected.wait_state(cluster_id, "unreachable", 60)
        connected.nodes.write([machine("of-another")])
        proxy.rule = namespace
        proxy.open()
        until(lambda: OTHER_UID in (connected.cluster(cluster_id)["state_reason"] or ""), "the other cluster in the reason")
        told = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
        assert (told["state"], told["reason"]) == ("refused", "other_cluster")
        assert "--forget" in told["remedy"]
        assert set(connected.node_rows(cluster_id)) == {"w-1"}
        proxy.rule = None
        until(lambda: set(connected.node_rows(cluster_id)) == {"w-1", "of-another"}, "the right cluster again")


def big(size: int) -> str:
    return json.dumps({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "n", "uid": "x" * size}}]})


@pytest.mark.parametrize(("step", "part", "body"), [
    ("version", "/version", big(10 << 20)),
    ("version", "/version", '{"gitVersion": 136}'),
    ("version", "/version", '{"gitVersion": "' + "v" * 5000 + '"}'),
    ("version", "/version", "[" * 100000),
    ("identity", "/namespaces/kube-system", '{"metadata": {"uid": ["a"]}}'),
    ("identity", "/namespaces/kube-system", '{"metadata": "no"}'),
    ("list", "/api/v1/nodes", big(10 << 20)),
    ("list", "/api/v1/nodes", '{"kind": "NodeList", "items": {"a": 1}}'),
    ("list", "/api/v1/nodes", '{"kind": "NodeList", "metadata": {"continue": "again", "resourceVersion": "1"}, "items": []}'),
    ("list", "/api/v1/nodes", '{"kind": "NodeList", "items": [{"metadata": {"name": 7}}]}'),
])
def test_answers_that_are_none(connected: Connected, step: str, part: str, body: str) -> None:
    def wrong(asked: Asked) -> bytes | None:
        return answer(200, body, "Content-Type: application/json") if part in asked.path else None

    with Proxy(connected.kube, [H1], wrong) as proxy:
        said = connected.ask({"name": "bad", "kubeconfig": by(proxy)})
    assert said.status_code >= 400, said.text
    assert steps_of(said.json())[step] == "failed", said.text
    assert said.json()["remedy"]
    assert connected.admin.names() == []
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")


def test_a_truncated_protobuf(connected: Connected) -> None:
    def wrong(asked: Asked) -> bytes | None:
        if "/api/v1/nodes" not in asked.path:
            return None
        return answer(200, "k8s\0\n\x0e\n\x02v1\x12\x08NodeList\x12\x7f\n\x01", "Content-Type: application/vnd.kubernetes.protobuf")

    with Proxy(connected.kube, [H1], wrong) as proxy:
        said = connected.ask({"name": "bad", "kubeconfig": by(proxy)})
    assert said.status_code >= 400, said.text
    assert steps_of(said.json())["list"] == "failed", said.text
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")


@pytest.mark.parametrize(("status", "body", "reason"), [
    (401, '{"kind": "Status", "code": 401, "reason": "Unauthorized"}', "token_refused"),  # as servers that start say
    (200, "k8s\0 and no protobuf of Kubernetes", "bad_answer"),
    (200, "\0\x98\x96\x80" + "x" * 1000, "bad_answer"),  # an object of 10 MB begins
    (200, '{"type": "ADDED", "object": {"metadata": {"name": ["w"], "uid": 7}}}\n', "bad_answer"),
])
def test_a_watch_that_is_answered_badly_is_told_and_begun_again(connected: Connected, status: int, body: str, reason: str) -> None:
    connected.nodes.write([machine("w-1")])
    told: list[dict[str, Any]] = []

    def wrong(asked: Asked) -> bytes | None:
        return answer(status, body, "Content-Type: application/vnd.kubernetes.protobuf") if "watch=1" in asked.path else None

    with Proxy(connected.kube, [H1]) as proxy:
        cluster_id = connected.connect("prod", kubeconfig=by(proxy))["cluster_id"]
        until(lambda: set(connected.node_rows(cluster_id)) == {"w-1"}, "the node")
        proxy.rule = wrong
        proxy.cut()

        def is_told() -> bool:
            told[:] = [connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]]
            return bool(told[0]["reason"] == reason)

        until(is_told, f"the reason {reason}")
        assert told[0]["state"] == "failing"
        assert told[0]["remedy"]
        assert set(connected.node_rows(cluster_id)) == {"w-1"}
        proxy.rule = None
        connected.nodes.write([machine("w-2")])
        until(lambda: set(connected.node_rows(cluster_id)) == {"w-1", "w-2"}, "a node that came after")
        until(lambda: not is_told() and told[0]["state"] == "ok", "a good connection")
