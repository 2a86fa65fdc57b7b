"""What a job asks of a cluster that kaasd has made, by a client certificate (kube_admin.h, bootstrap_token.h, k8s_objects.h), at a real
API server."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from env.kube import AdminProbe, Kube, Nodes, Refused
from env.kube.nodes import machine
from env.places import Scratch
from env.wait import until

ADMINS = "kubeadm:cluster-admins"
BOUND = f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{ADMINS}"
VOLUMES = "/api/v1/persistentvolumes"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
JOINERS = "system:bootstrappers:kubeadm:default-node-token"
LIFE_S = 900


def bind(kube: Kube) -> None:
    """As kubeadm does."""
    kube.kubectl("create", "clusterrolebinding", ADMINS, "--clusterrole=cluster-admin", f"--group={ADMINS}")


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    with Kube(scratch, "made", people={"kaas": (ADMINS,)}, options=["--enable-bootstrap-token-auth"]) as cluster:
        bind(cluster)
        yield cluster


@pytest.fixture
def probe(kube: Kube) -> Iterator[AdminProbe]:
    with AdminProbe(kube, kube.certificate("kaas")) as made:
        yield made


def test_a_node_is_found_by_its_name_and_removed(kube: Kube, probe: AdminProbe) -> None:
    with Nodes(kube) as nodes:
        nodes.write([machine("prod-cp-a"), machine("prod-cp-b", conditions={"Ready": "False"})])
        assert probe.do("node prod-cp-a") == {"name": "prod-cp-a", "version": f"v{kube.version}", "ready": "True"}
        assert probe.do("node prod-cp-b")["ready"] == "False"
        assert probe.do("node prod-cp")["code"] == "not_found"
        assert probe.do("delete prod-cp-b") == {}
        assert kube.kubectl("get", "nodes", "-o", "name").split() == ["node/prod-cp-a"]
        assert probe.do("delete prod-cp-b") == {}
        assert probe.do("node prod-cp-b")["code"] == "not_found"
        nodes.delete("prod-cp-a")


def test_volumes_are_told_by_name_with_whose_they_are(kube: Kube, probe: AdminProbe) -> None:
    def volume(name: str, **spec: object) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], **spec}}

    assert probe.do("volumes") == {"volumes": [], "is_cut": False}
    kube.api.post(VOLUMES, volume("pvc-1", csi={"driver": "csi.vsphere.vmware.com", "volumeHandle": "fcd-7"},
                                  claimRef={"namespace": "shop", "name": "data-db-0"}))
    kube.api.post(VOLUMES, volume("by-hand", hostPath={"path": "/srv"}))
    assert probe.do("volumes") == {"is_cut": False, "volumes": [
        {"name": "by-hand", "capacity": "10Gi"},
        {"name": "pvc-1", "claim": "shop/data-db-0", "capacity": "10Gi", "handle": "fcd-7"}]}


def ends_at(kube: Kube, token: str) -> float:
    secret = kube.api.get(f"{SECRETS}/bootstrap-token-{token.split('.')[0]}")
    return datetime.fromisoformat(base64.b64decode(secret["data"]["expiration"]).decode()).timestamp()


def refuses(kube: Kube, token: str) -> bool:
    try:
        kube.as_token(token).post(REVIEWS, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    except Refused as refused:
        return refused.status == 401
    return False


def test_a_bootstrap_token_lets_machines_in_until_it_ends(kube: Kube, probe: AdminProbe) -> None:
    token = str(probe.do("token")["token"])
    assert re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token)
    assert refuses(kube, token)
    before = time.time()
    assert probe.do("apply") == {}
    assert before + LIFE_S - 2 <= ends_at(kube, token) <= time.time() + LIFE_S
    review = until(lambda: None if refuses(kube, token) else kube.as_token(token).post(
        REVIEWS, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}), "a token that is taken")
    user = review["status"]["userInfo"]
    assert user["username"] == f"system:bootstrap:{token.split('.')[0]}" and JOINERS in user["groups"]
    secret = kube.api.get(f"{SECRETS}/bootstrap-token-{token.split('.')[0]}")
    assert secret["type"] == "bootstrap.kubernetes.io/token"
    assert base64.b64decode(secret["data"]["usage-bootstrap-signing"]) == b"true"

    assert probe.do("token")["token"] == token
    until(lambda: time.time() >= before + 1, "another second of the server's clock")
    assert probe.do("apply") == {}
    assert ends_at(kube, token) > before + LIFE_S

    assert probe.do("remove") == {}
    until(lambda: refuses(kube, token), "a token that is refused")
    assert kube.api.ask("GET", f"{SECRETS}/bootstrap-token-{token.split('.')[0]}").status_code == 404
    assert probe.do("remove") == {}
    assert probe.do("token")["token"] != token


def test_what_rbac_takes_away_is_gone(kube: Kube, probe: AdminProbe) -> None:
    """Unlike what is of system:masters."""
    kube.api.delete(BOUND)
    try:
        told = until(lambda: said if "code" in (said := probe.do("volumes")) else None, "a refusal")
        assert told["code"] == "upstream_denied" and "kaas" in told["text"]
    finally:
        bind(kube)
    until(lambda: "code" not in probe.do("volumes"), "the rights again")
