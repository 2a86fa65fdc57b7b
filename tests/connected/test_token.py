"""The account's token: renewed, replaced, refused, and in no place where it could be read."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import yaml
from env.clock import Clock
from env.connected import Connected
from env.kube.nodes import machine
from env.kube.proxy import H1, Proxy, refusing
from env.wait import until

HOUR_S, DAY_S = 3600, 24 * 3600


def status(connected: Connected, cluster_id: str) -> dict[str, Any]:
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def wait_connection(connected: Connected, cluster_id: str) -> None:
    """The cluster is not called ready here: its clock is hours behind the daemon's."""
    until(lambda: status(connected, cluster_id)["state"] == "ok", "a good connection")


def test_it_is_renewed_at_half_its_life(connected: Connected, clock: Clock) -> None:
    cluster_id = connected.connect()["cluster_id"]
    wait_connection(connected, cluster_id)
    before = status(connected, cluster_id)["token_until"]
    clock.advance(11 * HOUR_S, HOUR_S)
    assert status(connected, cluster_id)["token_until"] == before
    clock.advance(2 * HOUR_S, HOUR_S)
    until(lambda: status(connected, cluster_id)["token_until"] > before, "another end of the token")
    wait_connection(connected, cluster_id)


def test_an_account_that_somebody_deletes_is_told_with_the_command_that_helps(connected: Connected, clock: Clock) -> None:
    cluster_id = connected.connect()["cluster_id"]
    wait_connection(connected, cluster_id)
    name = next(name for name in connected.account_objects() if name.startswith("ServiceAccount/")).split("/")[1]
    connected.kube.kubectl("delete", "serviceaccount", name, "-n", "kaas-system")
    told = clock.hasten(lambda: found if (found := status(connected, cluster_id))["state"] == "refused" else None, "the state refused")
    assert told["reason"] == "token_refused"
    assert f"kaasctl cluster reconnect {cluster_id}" in told["remedy"]
    answer = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{cluster_id}/connection", "PUT")
    assert answer.status_code == 200, answer.text
    wait_connection(connected, cluster_id)


def test_a_clock_that_is_a_day_off_neither_wears_a_token_out_nor_lets_it_end(connected: Connected, clock: Clock) -> None:
    """Ours: whose of the two it is makes no difference."""
    clock.advance(DAY_S, HOUR_S)
    cluster_id = connected.connect()["cluster_id"]
    wait_connection(connected, cluster_id)
    before = status(connected, cluster_id)["token_until"]
    left_s = datetime.fromisoformat(before).timestamp() - time.time() - clock.ahead_s
    assert DAY_S - HOUR_S < left_s < DAY_S + HOUR_S
    clock.advance(60)
    assert status(connected, cluster_id)["token_until"] == before
    health = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/health")
    assert "clock" in {reason["reason"] for reason in health["reasons"]}, health


def logs(connected: Connected) -> str:
    return "".join(file.read_text(errors="replace") for file in connected.world.scratch.path.rglob("*.log"))


def test_no_secret_is_in_a_log_or_an_answer(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    wait_connection(connected, cluster_id)
    connected.admin.expect(200, "POST", f"/v2/clusters/{cluster_id}/connection/test")
    asked = f"/v2/clusters/{cluster_id}/connection/test"  # the line of a call is written when its answer is on the way
    log = until(lambda: text if asked in (text := logs(connected)) else None, "the call's line in the log")
    for secret in (connected.kube.tokens["admin"], "eyJhbGciOi"):  # a JSON Web Token begins so
        assert secret not in log


def test_the_watch_goes_on_with_the_new_token(connected: Connected, clock: Clock) -> None:
    """A proxy says of the first token what an API server says of one that has ended."""
    with Proxy(connected.kube, [H1]) as proxy:
        config = yaml.safe_load(connected.kube.kubeconfig())
        config["clusters"][0]["cluster"]["server"] = proxy.url
        cluster_id = connected.connect(kubeconfig=yaml.safe_dump(config))["cluster_id"]
        wait_connection(connected, cluster_id)
        first = until(lambda: next((asked.header for asked in proxy.asked if "watch=1" in asked.path and asked.header), None), "a watch")
        old = next(line for line in until(lambda: proxy.asked[-1].header, "a header").split("\r\n") if line.startswith("Authorization"))
        before = status(connected, cluster_id)["token_until"]
        assert old in first
        clock.advance(13 * HOUR_S, HOUR_S)
        until(lambda: status(connected, cluster_id)["token_until"] > before, "another end of the token")
        proxy.rule = refusing(401, old)
        proxy.cut()
        connected.nodes.write([machine("w-1")])
        clock.hasten(lambda: "w-1" in connected.node_rows(cluster_id), "the node")
        wait_connection(connected, cluster_id)
