"""How the daemon applies bundles (src/kubernetes/bundles.h), at a real API server: those that KaaS brings, and those with a mistake."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from env.kube import Kube
from env.places import TOP, program
from env.process import run

PODS, SERVICES, ADDRESSES = "10.244.0.0/16", "10.96.0.0/12", ["10.9.0.200-10.9.0.210"]
METALLB = "metallb-system"
Apply = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def apply(kube: Kube, tmp_path: Path) -> Apply:
    """The probe, as an administrator by certificate."""
    config = tmp_path / "kubeconfig"
    config.touch(mode=0o600)
    config.write_text(kube.kubeconfig(kind="certificate"))

    def act(folder: Path, *, services: str = SERVICES, addresses: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        return run([program("tests/integ/bundle_probe"), config, folder, PODS, services, *(ADDRESSES if addresses is None else addresses)])

    return act


def of_kaas(name: str) -> Path:
    return TOP / "etc/bundles" / name


def read(kube: Kube, *what: str) -> Any:
    return json.loads(kube.kubectl("get", *what, "--output=json", "--show-managed-fields"))


def made_up(folder: Path, *manifests: str) -> Path:
    """A site's own bundle."""
    (folder / "manifests").mkdir(parents=True)
    (folder / "bundle.yaml").write_text("kind: Bundle\nname: made-up\nversion: v1\n")
    for number, text in enumerate(manifests):
        (folder / f"manifests/{number}.yaml").write_text(text)
    files = ["bundle.yaml", *(f"manifests/{number}.yaml" for number in range(len(manifests)))]
    (folder / "SHA256SUMS").write_text("".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in files))
    return folder


@pytest.fixture(scope="module")
def clean(kube: Kube) -> Iterator[None]:
    yield
    kube.kubectl("delete", "crd", "--all")


@pytest.mark.usefixtures("clean")
def test_what_kaas_brings_is_applied_and_may_be_again(kube: Kube, apply: Apply) -> None:
    for name in ("kube-router", "metallb"):
        done = apply(of_kaas(name))
        assert done.returncode == 0, done.stdout
        assert "created DaemonSet" in done.stdout
    assert read(kube, "ipaddresspools", f"--namespace={METALLB}", "provider")["spec"]["addresses"] == ADDRESSES
    daemons = read(kube, "daemonset", "--namespace=kube-system", "kube-router")
    assert f"--service-cluster-ip-range={SERVICES}" in daemons["spec"]["template"]["spec"]["containers"][0]["args"]
    for row in (daemons, read(kube, "deployment", f"--namespace={METALLB}", "controller"), read(kube, "namespace", METALLB)):
        assert {(one["manager"], one["operation"]) for one in row["metadata"]["managedFields"]} == {("kaas", "Apply")}
    for name in ("kube-router", "metallb"):
        again = apply(of_kaas(name))
        assert again.returncode == 0, again.stdout
        assert "created" not in again.stdout
    assert read(kube, "daemonset", "--namespace=kube-system", "kube-router")["metadata"]["generation"] == daemons["metadata"]["generation"]


@pytest.mark.usefixtures("clean")
def test_another_pool_takes_the_place_of_the_one_before(kube: Kube, apply: Apply) -> None:
    others = ["10.9.1.0-10.9.1.9", "10.9.1.20"]
    assert apply(of_kaas("metallb"), addresses=others).returncode == 0
    assert read(kube, "ipaddresspools", f"--namespace={METALLB}", "provider")["spec"]["addresses"] == others


@pytest.mark.usefixtures("clean")
def test_a_field_of_somebody_else_is_left_to_him(kube: Kube, apply: Apply) -> None:
    assert apply(of_kaas("metallb")).returncode == 0
    where = ("deployment/controller", f"--namespace={METALLB}")
    kube.kubectl("patch", *where, "--field-manager=somebody", "--type=merge", "--patch", '{"spec": {"replicas": 0}}')
    refused = apply(of_kaas("metallb"))
    assert refused.returncode == 1
    last = refused.stdout.splitlines()[-2:]
    assert last[0].startswith("conflict: bundle metallb: manifests/20-programs.yaml:")
    assert "Deployment metallb-system/controller" in last[0]
    assert 'conflict with "somebody"' in last[0] and ".spec.replicas" in last[0]
    assert "take these fields out" in last[1]
    assert read(kube, *where)["spec"]["replicas"] == 0
    kube.kubectl("delete", *where)
    assert apply(of_kaas("metallb")).returncode == 0


def test_values_that_a_cluster_has_not_are_told_before_anything_is_sent(kube: Kube, apply: Apply) -> None:
    refused = apply(of_kaas("metallb"), addresses=[])
    assert refused.returncode == 1
    assert "it wants ${kaas.service_addresses}, and the cluster has none" in refused.stdout
    assert "created" not in refused.stdout and "applied" not in refused.stdout


MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made-up, namespace: default}\n"
MISTAKES = {
    "a field that nobody knows": (MAP + "datum: {a: b}\n", "datum"),
    "a field twice in a list": ("apiVersion: v1\nkind: Service\nmetadata: {name: made-up, namespace: default}\n"
                                "spec: {ports: [{port: 80}, {port: 80}]}\n", "ports"),
    "a value of another type": (MAP + "data: [a]\n", "data"),
    "a kind that nobody knows": ("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n", "knows no kind Thing of example.com/v1"),
    "no namespace": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made-up}\n", "no metadata.namespace"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_the_api_server_judges_a_bundle_of_a_site(apply: Apply, tmp_path: Path, what: str) -> None:
    text, said = MISTAKES[what]
    refused = apply(made_up(tmp_path / "bundle", "# the first line\n---\n" + text))
    assert refused.returncode == 1
    last = refused.stdout.splitlines()[-2:]
    assert last[0].startswith("unprocessable: bundle made-up: manifests/0.yaml:2: ") and said in last[0], refused.stdout
    assert last[1]


def test_kinds_are_there_before_what_is_of_them(kube: Kube, apply: Apply, tmp_path: Path) -> None:
    """In whatever order they are written; another namespace and what is in it as well."""
    thing = ("apiVersion: made-up.example.com/v1\nkind: Thing\nmetadata: {name: one, namespace: made-up}\n"
             "spec: {pods: \"${kaas.pod_network}\"}\n")
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: made-up}\n"
    schema = "{type: object, properties: {spec: {type: object, properties: {pods: {type: string}}}}}"
    definition = ("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
                  "metadata: {name: things.made-up.example.com}\nspec:\n  group: made-up.example.com\n  scope: Namespaced\n"
                  "  names: {kind: Thing, plural: things}\n"
                  f"  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}]\n")
    done = apply(made_up(tmp_path / "bundle", thing, definition, space))
    assert done.returncode == 0, done.stdout
    assert read(kube, "things.made-up.example.com", "--namespace=made-up", "one")["spec"] == {"pods": PODS}
    kube.kubectl("delete", "crd", "things.made-up.example.com")
