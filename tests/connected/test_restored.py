"""A token that is dead although nobody has taken it away: an older backup was put back, kaasd was off for too long. One command helps."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from env.clock import Clock, clocked_world
from env.connected import OPTIONS, Connected
from env.full import World
from env.kube import Kube
from env.kube.nodes import machine
from env.kube.proxy import H1, Asked, Proxy, answer
from env.places import Scratch
from env.wait import until

HOUR_S = 3600
SHORTENED = "--service-account-max-token-expiration=1h"
COMMAND = re.compile(r"(kaasctl cluster reconnect \S+ --kubeconfig) FILE")


@pytest.fixture(scope="module")
def clocked() -> Iterator[tuple[World, Clock]]:
    """By less than an hour ahead, for which a token lasts here."""
    with clocked_world("b", options=OPTIONS) as both:
        yield both


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    """One that grants an hour at most."""
    with Kube(scratch, "brief", has_controllers=True, options=[SHORTENED]) as cluster:
        yield cluster


def status(connected: Connected, cluster_id: str) -> dict[str, Any]:
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def is_ok(connected: Connected, cluster_id: str) -> bool:
    return status(connected, cluster_id)["state"] == "ok"


def printed_command(connected: Connected, name: str) -> list[str]:
    """The one that `kaasctl cluster connection` says; FILE is what an administrator puts in."""
    said = connected.world.kaasd.ctl.ok("cluster", "connection", name)
    (command,) = set(COMMAND.findall(" ".join(said.split())))
    return shlex.split(command)[1:]


def reconnect_as_told(connected: Connected, cluster_id: str, config: str) -> None:
    file = Path(connected.world.scratch.path, "admin.conf")
    file.touch(mode=0o600)
    file.write_text(config)
    connected.world.kaasd.ctl.ok(*printed_command(connected, "prod"), str(file))
    until(lambda: is_ok(connected, cluster_id), "a good connection")
    connected.nodes.write([machine("after")])
    until(lambda: "after" in connected.node_rows(cluster_id), "a node that came after")


def put_back(world: World, backup: str) -> None:
    """As docs/admin/backup.md says: the database is lost, the host is not."""
    kaasd = world.kaasd
    kaasd.stop()
    world.db.query("DROP DATABASE kaas")
    kaasd.ctl.ok("restore", backup, "--master-key", str(kaasd.folder / "master.key"), "--database-socket", str(world.db.socket),
                 "--database-admin", "root", "--also", str(kaasd.tls.cert_file.parent))
    kaasd.spawn()
    until(lambda: "audit" in kaasd.why_not_ready() or kaasd.ready(), "an answer")
    kaasd.ctl.ok("--yes", "audit", "accept-restore")
    until(kaasd.ready, "readiness")
    kaasd._kept = None  # noqa: SLF001 - its session is no longer


def test_an_older_backup_is_put_back(connected: Connected, clock: Clock) -> None:
    """Meanwhile somebody has deleted the account, and it was connected again in place: the token of the backup is dead."""
    kaasd = connected.world.kaasd
    connected.nodes.write([machine("w-1")])
    cluster_id = connected.connect("prod")["cluster_id"]
    until(lambda: connected.node_rows(cluster_id), "the node")
    backup = str(kaasd.ctl.json("backup", f"{connected.world.scratch.path}/backups/")["path"])
    account = next(name for name in connected.account_objects() if name.startswith("ServiceAccount/")).split("/")[1]
    connected.kube.kubectl("delete", "serviceaccount", account, "-n", "kaas-system")
    again = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{cluster_id}/connection", "PUT")
    assert again.status_code == 200, again.text
    until(lambda: is_ok(connected, cluster_id), "a good connection")

    put_back(connected.world, backup)
    connected._signed_in_at = -1.0  # noqa: SLF001 - nor is this one's session
    told = clock.hasten(lambda: found if (found := status(connected, cluster_id))["state"] == "refused" else None, "the state refused")
    assert told["reason"] == "token_refused"
    assert set(connected.node_rows(cluster_id)) == {"w-1"}
    health = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/health")
    assert "refused" in {reason["reason"] for reason in health["reasons"]}, health
    reconnect_as_told(connected, cluster_id, connected.kube.kubeconfig())


def ends_at(header: str) -> float:
    """Of the token in a request's header, if it is one of an account."""
    told = re.search(r"^authorization: bearer [\w-]+\.([\w-]+)\.", header, re.I | re.M)
    return float(json.loads(base64.urlsafe_b64decode(told[1] + "=="))["exp"]) if told else float("inf")


@contextmanager
def with_clock(kube: Kube, clock: Clock) -> Iterator[Proxy]:
    """The API server as it is when its clock goes like the daemon's: it takes no token whose end has come."""
    def refuse(asked: Asked) -> bytes | None:
        if ends_at(asked.header) > time.time() + clock.ahead_s:
            return None
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}
        return answer(401, json.dumps(body), "Content-Type: application/json")

    with Proxy(kube, [H1], refuse) as proxy:
        yield proxy


def test_after_a_long_outage_the_token_has_ended(connected: Connected, clock: Clock) -> None:
    kaasd, kube = connected.world.kaasd, connected.kube
    connected.nodes.write([machine("w-1")])
    with with_clock(kube, clock) as proxy:
        config = yaml.safe_load(kube.kubeconfig())
        config["clusters"][0]["cluster"]["server"] = proxy.url
        text = yaml.safe_dump(config)
        cluster_id = connected.connect("prod", kubeconfig=text)["cluster_id"]
        until(lambda: connected.node_rows(cluster_id), "the node")
        kaasd.stop()
        clock.advance(2 * HOUR_S, HOUR_S)
        kube.options = ()  # so that a token lasts for longer than the clocks of the test differ
        kube.kill()
        kube.start()
        kaasd.start()
        told = until(lambda: found if (found := status(connected, cluster_id))["state"] == "refused" else None, "the state refused")
        assert told["reason"] == "token_refused"
        assert set(connected.node_rows(cluster_id)) == {"w-1"}
        reconnect_as_told(connected, cluster_id, text)
        assert status(connected, cluster_id)["token_until"] > told["token_until"]
