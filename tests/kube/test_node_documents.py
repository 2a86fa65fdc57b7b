"""What machines are told to become, judged by kubeadm and by a real API server."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from env.kube import Kube, Refused
from env.kube.nodes import PATH
from env.kube.programs import kube_program, pinned
from env.node_plan import FULL, ROLES, node_documents
from env.places import Scratch
from env.process import run

VERSION = pinned("current").removeprefix("v")
OLD = "1.30.4"  # kubeadm's documents of before 1.31
DEPRECATED = "your configuration file uses a deprecated API spec"


@pytest.fixture(scope="module")
def keys(scratch: Scratch) -> Path:
    return scratch.path / "keys"


def judge(tmp_path: Path, documents: str) -> list[str]:
    """What kubeadm says of them beside ok: each line is a fault. It is strict: a member that it does not know is one."""
    path = tmp_path / "kubeadm.yaml"
    path.write_text(documents)
    told = run([kube_program("kubeadm"), "config", "validate", f"--config={path}"])
    return [line for line in (told.stdout + told.stderr).splitlines() if line not in ("ok", "")] + (
        [f"status {told.returncode}"] if told.returncode else [])


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("more", [{}, FULL,
                                  {"is_api_external": True, "api_host": "api.example.test", "api_port": 443}],
                         ids=["bare", "full", "external"])
def test_kubeadm_takes_the_documents(keys: Path, tmp_path: Path, role: str, more: dict[str, object]) -> None:
    assert judge(tmp_path, node_documents(keys, role, **{**more, "kubernetes_version": VERSION})["kubeadm"]) == []


def test_kubeadm_would_say_so(keys: Path, tmp_path: Path) -> None:
    documents = node_documents(keys, "init", kubernetes_version=VERSION)["kubeadm"].replace('"clusterName"', '"clusterNames"')
    assert any('unknown field "clusterNames"' in line for line in judge(tmp_path, documents))


@pytest.mark.parametrize("role", ROLES)
def test_kubeadm_takes_those_of_before_1_31(keys: Path, tmp_path: Path, role: str) -> None:
    """It reads their form, and says that it is an old one. The release is too old for it, so its own is put in."""
    documents = node_documents(keys, role, kubernetes_version=OLD)["kubeadm"]
    assert "kubeadm.k8s.io/v1beta3" in documents and "v1beta4" not in documents
    said = judge(tmp_path, documents.replace(f'"v{OLD}"', f'"v{VERSION}"'))
    assert said and all(DEPRECATED in line for line in said), said


def test_what_the_documents_say(keys: Path) -> None:
    init, cluster, kubelet, proxy = yaml.safe_load_all(node_documents(keys, "init")["kubeadm"])
    assert init["timeouts"]["kubernetesAPICall"] == "4m0s" and init["timeouts"]["controlPlaneComponentHealthCheck"] == "6m0s"
    assert init["bootstrapTokens"][0]["ttl"] == "900s" and "skipPhases" not in init
    assert cluster["controlPlaneEndpoint"] == "10.9.0.10:6443" and cluster["apiServer"]["certSANs"] == ["10.9.0.10"]
    assert kubelet["serverTLSBootstrap"] is False and proxy["mode"] == "nftables"
    (join,) = yaml.safe_load_all(node_documents(keys, "control-plane")["kubeadm"])
    (worker,) = yaml.safe_load_all(node_documents(keys, "worker")["kubeadm"])
    assert "controlPlane" not in worker and join["controlPlane"]["localAPIEndpoint"]["advertiseAddress"] == "10.9.0.21"
    assert "certificateKey" not in str(join) and join["discovery"]["bootstrapToken"]["caCertHashes"][0].startswith("sha256:")
    for document in (init, join, worker):
        assert document["patches"] == {"directory": "/etc/kubernetes/patches"}
        assert document["nodeRegistration"]["kubeletExtraArgs"] == [{"name": "node-ip", "value": "10.9.0.21"}]


def test_an_api_server_takes_a_configuration_without_issuers(keys: Path, scratch: Scratch) -> None:
    """Strangers are told its health as without the file, and people get in by certificate as before."""
    path = scratch.path / "authentication.yaml"
    path.write_text(node_documents(keys, "init", kubernetes_version=VERSION)["authentication"])
    with Kube(scratch, "issuers", people={"ada": ()}, options=[f"--authentication-config={path}"]) as kube:
        assert kube.readyz()[0] == 200
        with pytest.raises(Refused) as refused:
            kube.as_token(None).get(PATH)
        assert refused.value.status == 403, "a stranger is anonymous, not refused"
        kube.as_cert(kube.certificate("admin")).get(PATH)
        with pytest.raises(Refused) as refused:
            kube.as_token("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2thYXMudGVzdCJ9.AA").get(PATH)
        assert refused.value.status == 401, "no issuer is trusted"
