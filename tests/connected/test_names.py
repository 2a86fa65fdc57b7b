"""A name that means something else from one look to the next: each connection is judged by the address that it is opened to."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from env.clock import Clock, clocked_world
from env.connected import Connected, steps_of
from env.full import World
from env.kube import Kube
from env.kube.nodes import machine
from env.names import Names
from env.wait import until

NAME = "kubernetes.default.svc"  # one that the API server's certificate is for
ALLOWED, FORBIDDEN = "127.0.0.1", "127.0.0.9"
OPTIONS = {"kubernetes": {"allowed_networks": [f"{ALLOWED}/32"]}}
CACHED_S = 60  # libcurl asks again for a name no earlier (CURLOPT_DNS_CACHE_TIMEOUT)


@pytest.fixture(scope="module")
def clocked() -> Iterator[tuple[World, Clock]]:
    with clocked_world("n", options=OPTIONS) as both:
        yield both


@pytest.fixture(scope="module")
def names(clocked: tuple[World, Clock]) -> Iterator[Names]:
    """kaasd asks there."""
    world = clocked[0]
    with Names(world.scratch) as server:
        world.kaasd.stop()
        process = world.kaasd.spawn(server.inside)
        process.wait_until(world.kaasd.ready, "readiness", why_not=world.kaasd.why_not_ready)
        yield server


@contextmanager
def never_reached(port: int) -> Iterator[None]:
    """Somebody listens where kaasd must not connect to, and nobody comes."""
    with socket.create_server((FORBIDDEN, port)) as listener:
        yield
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def by_name(kube: Kube) -> str:
    config = yaml.safe_load(kube.kubeconfig())
    config["clusters"][0]["cluster"]["server"] = f"https://{NAME}:{kube.port}"
    return yaml.safe_dump(config)


@pytest.mark.parametrize(("looks", "step"), [(0, "name"), (1, "tls"), (2, "tls"), (3, "signed_in"), (4, "account"), (5, "list")])
def test_a_name_that_changes_while_a_cluster_is_connected(connected: Connected, names: Names, looks: int, step: str) -> None:
    names.addresses[NAME] = [ALLOWED] * looks + [FORBIDDEN]
    names.asked.clear()
    with never_reached(connected.kube.port):
        answer = connected.ask({"name": "bad", "kubeconfig": by_name(connected.kube)})
    told: dict[str, Any] = answer.json()
    assert answer.status_code >= 400, told
    assert steps_of(told)[step] == "failed", told
    assert names.asked.count(NAME) > looks
    assert f"{FORBIDDEN}, where kaasd does not connect to" in told["detail"], told
    assert "kubernetes.allowed_networks" in told["remedy"], told
    assert connected.admin.names() == []


def test_a_name_that_changes_later(connected: Connected, names: Names, clock: Clock) -> None:
    """All connections are lost, and nobody knows by then what the name meant before."""
    names.addresses[NAME] = [ALLOWED]
    clock.advance(CACHED_S + 5)  # what the name meant in another test is forgotten
    connected.nodes.write([machine("w-1")])
    cluster_id = connected.connect("prod", kubeconfig=by_name(connected.kube))["cluster_id"]
    until(lambda: connected.node_rows(cluster_id), "the node")

    def status() -> dict[str, Any]:
        told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
        return told

    names.addresses[NAME] = [FORBIDDEN]
    with never_reached(connected.kube.port):
        connected.kube.kill()
        clock.advance(CACHED_S + 5)
        connected.kube.start()
        told = until(lambda: found if FORBIDDEN in (found := status())["detail"] else None, "the address that is not allowed")
        assert (told["state"], told["reason"]) == ("failing", "unreachable")
        assert f"{FORBIDDEN}, where kaasd does not connect to" in told["detail"]
        assert "kubernetes.allowed_networks" in told["remedy"]
        tested = connected.admin.expect(200, "POST", f"/v2/clusters/{cluster_id}/connection/test")
        assert steps_of(tested)["name"] == "failed", tested
    names.addresses[NAME] = [ALLOWED]
    clock.advance(CACHED_S + 5)
    until(lambda: status()["state"] == "ok", "a good connection")
