"""A cluster that kaasd has made: its connection heals by itself from the CA that is kept, and its administrators get kubeconfigs."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from env.clock import Clock, clocked_world
from env.connected import ADMINS, OPTIONS, Connected
from env.full import World
from env.kube import Kube
from env.kube.nodes import machine
from env.places import TOP
from env.process import run
from env.wait import until

HOUR_S = 3600


@pytest.fixture(scope="module")
def clocked() -> Iterator[tuple[World, Clock]]:
    with clocked_world("m", options=OPTIONS) as both:
        yield both


@pytest.fixture(scope="module")
def world(clocked: tuple[World, Clock]) -> World:
    return clocked[0]


@pytest.fixture(scope="module")
def clock(clocked: tuple[World, Clock]) -> Clock:
    return clocked[1]


@pytest.fixture(scope="module")
def kube(world: World) -> Iterator[Kube]:
    with Kube(world.scratch, "made", has_controllers=True) as cluster:
        yield cluster


@pytest.fixture
def connected(world: World, kube: Kube, clock: Clock) -> Iterator[Connected]:
    with Connected(world, kube, clock) as both:
        yield both


def status(connected: Connected, cluster_id: str) -> dict[str, Any]:
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")["status"]
    return told


def account(connected: Connected) -> str:
    """Of ours in the cluster; "": there is none."""
    names = [name for name in connected.account_objects() if name.startswith("ServiceAccount/")]
    return names[0].split("/")[1] if names else ""


def delete_account(connected: Connected) -> None:
    connected.kube.kubectl("delete", "serviceaccount", account(connected), "-n", "kaas-system")


def is_well(connected: Connected, cluster_id: str) -> bool:
    return bool(account(connected)) and status(connected, cluster_id)["state"] == "ok"


def set_by_itself(connected: Connected) -> int:
    """How often kaasd connected something without a person."""
    ((count,),) = connected.world.db.query(
        "SELECT COUNT(*) FROM audit WHERE action = 'kube_connection.set' AND source = 'system' AND result = 'ok'", database="kaas")
    return int(count)


# a kubeconfig


def ask(connected: Connected, config: str, *words: str) -> tuple[int, str]:
    """As a person with kubectl."""
    file = Path(connected.world.scratch.path, "person.conf")
    file.touch(mode=0o600)
    file.write_text(config)
    told = run([TOP / "scripts/kube", "kubectl", f"--kubeconfig={file}", *words])
    return told.returncode, told.stdout + told.stderr


def kept_anywhere(connected: Connected, secret: str) -> list[str]:
    found = ["the database"] if secret.encode() in connected.world.db.dump() else []
    logs = connected.world.scratch.path.rglob("*.log")
    return found + [str(file) for file in logs if secret in file.read_text(errors="replace")]


def test_a_person_gets_an_hour_under_their_own_name(connected: Connected, clock: Clock) -> None:
    cluster_id = connected.make()
    answer = connected.ask({"admin": True}, f"/v2/clusters/{cluster_id}/kubeconfig")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store"), answer.text
    told = answer.json()
    user = yaml.safe_load(told["kubeconfig"])["users"][0]["user"]
    (cert,) = x509.load_pem_x509_certificates(base64.b64decode(user["client-certificate-data"]))
    assert cert.subject.rfc4514_string() == f"CN={told['user']},O={ADMINS}"
    assert abs(cert.not_valid_after_utc.timestamp() - time.time() - clock.ahead_s - HOUR_S) < 60
    assert told["until"] == cert.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    code, said = ask(connected, told["kubeconfig"], "auth", "whoami", "-o", "json")
    assert code == 0, said
    info = json.loads(said)["status"]["userInfo"]
    assert info["username"] == told["user"] and ADMINS in info["groups"]
    assert ask(connected, told["kubeconfig"], "get", "secrets", "-A")[0] == 0
    assert kept_anywhere(connected, user["client-key-data"]) == []
    (line,) = list(connected.admin.items("/v2/audit", action="kubeconfig.issue"))
    assert (line["principal_name"], line["object_id"], line["result"]) == (told["user"], cluster_id, "ok")
    assert line["reason"] == f"until {told['until']}"
    connected.unbind_admins()  # which system:masters would not notice
    until(lambda: "Forbidden" in ask(connected, told["kubeconfig"], "get", "secrets", "-A")[1], "a refusal")


def test_the_command_prints_it_for_a_file(connected: Connected) -> None:
    connected.make()
    ctl = connected.world.kaasd.ctl
    code, said = ask(connected, ctl.ok("cluster", "kubeconfig", "prod", "--admin"), "auth", "can-i", "*", "*")
    assert (code, said.strip().splitlines()[-1]) == (0, "yes"), said
    assert ctl.run("cluster", "kubeconfig", "prod").returncode == 2
    assert ctl.json("cluster", "kubeconfig", "prod", "--admin")["cluster"]["name"] == "prod"


def test_a_connection_that_trusts_one_certificate_has_no_ca_to_hand_on(connected: Connected) -> None:
    """It is the cluster's own then, which is kept."""
    path = f"/v2/clusters/{connected.make()}"
    config = connected.kubeconfig_without_ca()
    shown = connected.ask({"kubeconfig": config}, f"{path}/connection", "PUT").json()
    confirmed = {"kubeconfig": config, "thumbprint_sha256": shown["remedy"].rsplit(" ", 1)[1]}
    assert connected.ask(confirmed, f"{path}/connection", "PUT").status_code == 200
    told = connected.ask({"admin": True}, f"{path}/kubeconfig").json()
    assert ask(connected, told["kubeconfig"], "get", "secrets", "-A")[0] == 0


def test_who_gets_none(connected: Connected) -> None:
    cluster_id = connected.connect("theirs")["cluster_id"]
    path = f"/v2/clusters/{cluster_id}/kubeconfig"
    problem = connected.admin.refused(409, "conflict", "POST", path, json={"admin": True})
    assert "was not made by KaaS" in problem["detail"] and problem["remedy"]
    connected.admin.refused(422, "unprocessable", "POST", path, json={"admin": False})
    connected.admin.refused(422, "unprocessable", "POST", path, json={})
    connected.admin.refused(404, "not_found", "POST", "/v2/clusters/00000000-0000-4000-8000-000000000000/kubeconfig", json={"admin": True})
    lines = list(connected.admin.items("/v2/audit", action="kubeconfig.issue", result="conflict"))
    assert [line["object_id"] for line in lines] == [cluster_id]


# a deletion


VOLUME = """{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "%s"}, "spec": {"capacity": {"storage": "1Gi"},
"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}%s}}"""


def test_a_deletion_names_the_volumes_that_stay(connected: Connected) -> None:
    """Asked of the cluster itself; where it does not answer, that is said."""
    cluster_id, db = connected.make(), connected.world.db
    told: dict[str, Any] = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/connection")
    for name, claim in (("disk-1", ', "claimRef": {"namespace": "shop", "name": "data"}'), ("disk-2", "")):
        connected.kube.kubectl("apply", "-f", "-", stdin=VOLUME % (name, claim))
    try:
        db.query("INSERT INTO made_clusters (cluster_id, provider_id, spec) VALUES (%s, %s, '{}')", cluster_id, cluster_id, database="kaas")
        db.query("UPDATE clusters SET api_endpoint = %s WHERE id = %s", told["address"], cluster_id, database="kaas")
        steps = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/deletion")["steps"]
        assert sorted((step["title"], step.get("server", ""), step["finding"]) for step in steps) == \
            [("stays: the volume", "disk-1", "shop/data"), ("stays: the volume", "disk-2", "")]
        db.query("UPDATE clusters SET api_endpoint = 'https://127.0.0.1:9' WHERE id = %s", cluster_id, database="kaas")
        (step,) = connected.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/deletion")["steps"]
        assert step["title"] == "stay: volumes, which could not be listed" and step["status"] == "warning"
    finally:
        db.query("DELETE FROM made_clusters", database="kaas")
        connected.kube.kubectl("delete", "pv", "disk-1", "disk-2", "--ignore-not-found", "--wait=false")


# healing; the last of the file, since certificates of a clock that is five minutes ahead are good for nobody


def until_healed(connected: Connected, clock: Clock, cluster_id: str, before: int) -> None:
    clock.hasten(lambda: set_by_itself(connected) == before + 1, "it is connected anew")
    until(lambda: is_well(connected, cluster_id), "a good connection")


def test_a_token_that_is_lost_is_asked_for_anew_at_once(connected: Connected) -> None:
    """As where the master key that had sealed it was given up."""
    cluster_id, before = connected.make(), set_by_itself(connected)
    until(lambda: is_well(connected, cluster_id), "a good connection")
    connected.world.kaasd.stop()
    connected.world.db.query("DELETE FROM secrets WHERE purpose = 'kube-token'", database="kaas")
    connected.world.kaasd.start()
    until(lambda: set_by_itself(connected) == before + 1, "it is connected anew")
    until(lambda: is_well(connected, cluster_id), "a good connection")


def test_an_account_that_somebody_deletes_is_made_again(connected: Connected, clock: Clock) -> None:
    """Each time after a longer pause, and where that fails the connection says why."""
    cluster_id, before = connected.make(), set_by_itself(connected)
    until(lambda: is_well(connected, cluster_id), "a good connection")
    delete_account(connected)
    until_healed(connected, clock, cluster_id, before)
    connected.nodes.write([machine("after")])
    until(lambda: "after" in connected.node_rows(cluster_id), "a node that came after")

    delete_account(connected)
    until(lambda: status(connected, cluster_id)["reason"] == "token_refused", "the token is refused")
    clock.advance(10)
    assert (account(connected), set_by_itself(connected)) == ("", before + 1)
    connected.unbind_admins()
    clock.advance(45)
    told = clock.hasten(lambda: found if "own CA" in ((found := status(connected, cluster_id))["detail"] or "") else None, "why not")
    assert told["reason"] == "token_refused"
    assert f"create clusterrolebinding {ADMINS}" in told["remedy"]
    connected.bind_admins()
    assert set_by_itself(connected) == before + 1
    clock.advance(115)
    until_healed(connected, clock, cluster_id, before + 1)
