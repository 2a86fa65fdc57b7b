"""What cannot be connected, with the step that fails and a remedy; nothing is left behind."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
import yaml
from env.connected import Connected, steps_of


def changed(connected: Connected, part: str, **members: Any) -> str:
    config = yaml.safe_load(connected.kube.kubeconfig())
    config[f"{part}s"][0][part].update(members)
    return yaml.safe_dump(config)


def refused(connected: Connected, step: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = connected.ask({"name": "bad", **body})
    problem: dict[str, Any] = answer.json()
    assert answer.status_code >= 400 and answer.status_code != 500, problem
    statuses = steps_of(problem)
    assert statuses[step] == "failed", problem
    assert all(status == "ok" for name, status in list(statuses.items())[:list(statuses).index(step)])
    assert problem["remedy"], problem
    assert connected.admin.names() == []
    assert connected.account_objects() == []
    return problem


@pytest.mark.parametrize(("step", "members"), [
    ("text", {"exec": {"command": "aws", "apiVersion": "client.authentication.k8s.io/v1"}}),
    ("text", {"auth-provider": {"name": "gcp"}}),
    ("text", {"client-certificate": "/etc/kubernetes/admin.crt"}),
    ("signed_in", {"token": "nobody-knows-this-one"}),
])
def test_users(connected: Connected, step: str, members: dict[str, Any]) -> None:
    refused(connected, step, {"kubeconfig": changed(connected, "user", **members)})


@pytest.mark.parametrize(("step", "members"), [
    ("text", {"server": "http://127.0.0.1:8080"}),
    ("text", {"proxy-url": "http://proxy.example.com:3128"}),
    ("text", {"insecure-skip-tls-verify": True}),
    ("address", {"server": "https://192.0.2.1:6443"}),
    ("name", {"server": "https://no-such-name.invalid:6443"}),
    ("tls", {"server": "https://127.0.0.1:1"}),
    ("tls", {"tls-server-name": "another.example.com"}),
])
def test_servers(connected: Connected, step: str, members: dict[str, Any]) -> None:
    refused(connected, step, {"kubeconfig": changed(connected, "cluster", **members)})


def test_a_server_that_takes_the_connection_and_never_answers(connected: Connected) -> None:
    connected.kube.freeze()
    try:
        answer = connected.ask({"name": "bad", "kubeconfig": connected.kube.kubeconfig()})
    finally:
        connected.kube.thaw()
    problem = answer.json()
    assert problem["code"] == "upstream_timeout", problem
    assert steps_of(problem)["tls"] == "failed", problem
    assert problem["remedy"]
    assert (connected.admin.names(), connected.account_objects()) == ([], [])


def test_no_ca_shows_what_is_to_be_confirmed(connected: Connected) -> None:
    problem = refused(connected, "tls", {"kubeconfig": connected.kubeconfig_without_ca()})
    assert "issued by" in problem["detail"]
    sha256 = problem["remedy"].rsplit(" ", 1)[1]
    assert sha256 in problem["detail"]
    answer = connected.ask({"name": "prod", "kubeconfig": connected.kubeconfig_without_ca(), "thumbprint_sha256": sha256})
    assert answer.status_code == 201, answer.text
    connected.wait_state(answer.json()["cluster_id"], "ready")


def test_another_clusters_ca(connected: Connected) -> None:
    other = connected.kube.etcd.ca.ca_file.read_text()
    refused(connected, "tls", {"address": connected.kube.url, "ca_pem": other, "token": connected.kube.tokens["admin"]})


def test_another_clusters_kubeconfig_for_a_record(connected: Connected) -> None:
    second = connected.typed("second")
    first = connected.connect("first")["cluster_id"]
    answer = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{second}/connection", "PUT")
    assert answer.status_code == 409
    assert first in answer.json()["detail"]
