"""Connecting a real cluster: what it takes, what is made there, what the lists show, what is kept."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from env.connected import STEPS, Connected, steps_of
from env.kube import Refused
from env.kube.nodes import machine
from env.wait import until

CP_BIOS, W0_BIOS = "42010000-0000-4000-8000-000000000101", "42010000-0000-4000-8000-000000000102"
TURNED_W0_BIOS = "00000142-0000-0040-8000-000000000102"  # as kernels tell it of some hardware versions


def test_every_step_is_told_and_the_nodes_are_listed(connected: Connected) -> None:
    connected.nodes.write([machine("cp-1", is_control_plane=True), machine("w-1"), machine("w-2")])
    told = connected.connect("prod")
    assert [step["step"] for step in told["steps"]] == STEPS
    assert set(steps_of(told).values()) == {"ok"}, told["steps"]
    rows = until(lambda: rows if len(rows := connected.node_rows(told["cluster_id"])) == 3 else None, "three nodes")
    assert {name: row["role"] for name, row in rows.items()} == {"cp-1": "control_plane", "w-1": "worker", "w-2": "worker"}
    cluster = connected.wait_state(told["cluster_id"], "ready")
    assert (cluster["name"], cluster["kubernetes_version"], cluster["api_endpoint"]) == ("prod", connected.kube.version, connected.kube.url)
    assert (cluster["control_plane"]["ready"], cluster["workers"]["ready"]) == (1, 2)


def test_a_dry_run_makes_nothing(connected: Connected) -> None:
    answer = connected.ask({"name": "prod", "kubeconfig": connected.kube.kubeconfig(), "dry_run": True})
    assert answer.status_code == 200, answer.text
    assert steps_of(answer.json()) == {step: "skipped" if step == "account" else "ok" for step in STEPS}
    assert connected.account_objects() == []
    assert connected.admin.names() == []


def test_a_client_certificate_is_as_good_as_a_token(connected: Connected) -> None:
    told = connected.connect("prod", kubeconfig=connected.kube.kubeconfig(kind="certificate"))
    assert set(steps_of(told).values()) == {"ok"}


def test_address_ca_and_token_do_as_well(connected: Connected) -> None:
    kube = connected.kube
    answer = connected.ask({"name": "prod", "address": kube.url, "ca_pem": kube.ca_file.read_text(), "token": kube.tokens["admin"]})
    assert answer.status_code == 201, answer.text


def test_our_account_has_the_least_rights(connected: Connected) -> None:
    connected.connect()
    ours = connected.as_account()
    assert ours.get("/api/v1/nodes")["kind"] == "NodeList"
    assert ours.get("/api/v1/namespaces/kube-system/pods")["kind"] == "PodList"
    for path in ("/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/default/pods", "/api/v1/namespaces",
                 "/api/v1/namespaces/default", "/apis/rbac.authorization.k8s.io/v1/clusterroles"):
        with pytest.raises(Refused, match="403"):
            ours.get(path)


def test_a_node_that_comes_or_goes_is_followed(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    connected.nodes.write([machine("w-1")])
    until(lambda: "w-1" in connected.node_rows(cluster_id), "the new node")
    connected.nodes.delete("w-1")
    until(lambda: "w-1" not in connected.node_rows(cluster_id), "its end")


def test_the_same_cluster_again_is_refused_with_its_record(connected: Connected) -> None:
    cluster_id = connected.connect("prod")["cluster_id"]
    before = connected.account_objects()
    answer = connected.ask({"name": "prod-2", "kubeconfig": connected.kube.kubeconfig()})
    assert answer.status_code == 409
    assert cluster_id in answer.json()["detail"]
    assert f"kaasctl cluster reconnect {cluster_id} --kubeconfig FILE" in answer.json()["remedy"]
    assert connected.admin.names() == ["prod"]
    assert connected.account_objects() == before


def test_a_name_that_is_taken_leaves_nothing_in_the_cluster(connected: Connected) -> None:
    connected.typed("prod")
    answer = connected.ask({"name": "prod", "kubeconfig": connected.kube.kubeconfig()})
    assert (answer.status_code, answer.json()["code"]) == (409, "exists")
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")


def test_who_may_not_make_our_account_is_told_so(connected: Connected) -> None:
    answer = connected.ask({"name": "prod", "kubeconfig": connected.kube.kubeconfig("ada")})
    assert answer.status_code in (403, 422, 502), answer.text
    statuses = steps_of(answer.json())
    assert (statuses["signed_in"], statuses["identity"]) == ("ok", "failed")
    assert "kubeconfig of an administrator" in answer.json()["remedy"]
    assert connected.account_objects() == []


def test_a_typed_cluster_is_connected_in_place(connected: Connected) -> None:
    known = connected.typed("typed", nodes=[{"name": "w-1", "role": "worker"}, {"name": "only-typed", "role": "worker"}])
    connected.nodes.write([machine("w-1"), machine("w-2")])
    before = {name: row["id"] for name, row in connected.node_rows(known).items()}
    answer = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{known}/connection", "PUT")
    assert answer.status_code in (200, 201), answer.text
    rows = until(lambda: rows if len(rows := connected.node_rows(known)) == 3 else None, "three nodes")
    assert {name: rows[name]["id"] for name in before} == before
    assert rows["only-typed"]["kubernetes"] is None
    assert rows["w-1"]["kubernetes"]["ready"] is True
    until(lambda: connected.cluster(known)["kubernetes_version"] == connected.kube.version, "the version that Kubernetes tells")


def test_a_connected_cluster_is_not_deleted(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    problem = connected.admin.refused(409, "conflict", "DELETE", f"/v2/clusters/{cluster_id}")
    assert "disconnect" in problem["remedy"]


def test_disconnecting_leaves_nothing(connected: Connected) -> None:
    connected.nodes.write([machine("w-1")])
    cluster_id = connected.connect()["cluster_id"]
    until(lambda: connected.node_rows(cluster_id), "the node")
    assert len(connected.account_objects()) == 6
    connected.admin.expect(200, "DELETE", f"/v2/clusters/{cluster_id}/connection")
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")
    assert connected.node_rows(cluster_id) == {}
    connected.admin.refused(404, "not_found", "GET", f"/v2/clusters/{cluster_id}/connection")


def test_credentials_are_replaced_in_place(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    answer = connected.ask({"kubeconfig": connected.kube.kubeconfig(kind="certificate")}, f"/v2/clusters/{cluster_id}/connection", "PUT")
    assert answer.status_code == 200, answer.text
    connected.wait_state(cluster_id, "ready")


def test_the_machine_behind_a_node_is_found_by_its_uuid(connected: Connected) -> None:
    """The names of the nodes are no names of machines."""
    connected.nodes.write([machine("first", provider_id=f"vsphere://{CP_BIOS}", system_uuid=CP_BIOS),
                           machine("second", provider_id="", system_uuid=TURNED_W0_BIOS)])
    cluster_id = connected.connect()["cluster_id"]
    until(lambda: [bool(row["vm"]) for row in connected.node_rows(cluster_id).values()] == [True, True], "both machines")
    rows = connected.node_rows(cluster_id)
    assert (rows["first"]["vm"]["bios_uuid"], rows["second"]["vm"]["bios_uuid"]) == (CP_BIOS, W0_BIOS)
    assert connected.cluster(cluster_id)["placement"]["source"] == "observed"
