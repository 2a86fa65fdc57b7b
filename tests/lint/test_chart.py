"""The Helm chart by the real helm: it lints, renders, refuses wrong values by its schema, and holds no secret."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from csource import TOP
from env.places import program

CHART = TOP / "chart"
VALUES = {name: TOP / f"tests/chart/{name}.yaml" for name in ("least", "everything")}


def helm(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOP / "scripts/kube", "helm", *map(str, arguments)], input=stdin, capture_output=True, text=True, check=False)


@cache
def rendered(name: str) -> tuple[dict[str, Any], ...]:
    told = helm("template", "kaas", CHART, "--namespace", "kaas", "--values", VALUES[name])
    assert told.returncode == 0, told.stderr
    return tuple(one for one in yaml.safe_load_all(told.stdout) if one)


def one_of(name: str, kind: str, called: str = "kaas") -> dict[str, Any]:
    (found,) = (one for one in rendered(name) if (one["kind"], one["metadata"]["name"]) == (kind, called))
    return found


def pods(name: str) -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in rendered(name) if "template" in one.get("spec", {})]


def strings(thing: Any) -> list[str]:
    if isinstance(thing, dict):
        return [text for value in thing.values() for text in strings(value)]
    if isinstance(thing, list):
        return [text for value in thing for text in strings(value)]
    return [thing] if isinstance(thing, str) else []


@pytest.mark.parametrize("name", VALUES)
def test_it_lints(name: str) -> None:
    told = helm("lint", "--strict", CHART, "--values", VALUES[name])
    assert told.returncode == 0, told.stdout + told.stderr
    assert "WARNING" not in told.stdout, told.stdout


def test_its_version_is_that_of_the_program() -> None:
    version = re.search(r"AC_INIT\(\[harmony-kaas\], \[(.*)\]\)", (TOP / "configure.ac").read_text())
    assert version
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version.group(1), version.group(1))


def test_its_schema_has_the_options_of_kaasd() -> None:
    said = subprocess.run([TOP / "scripts/chart-schema"], capture_output=True, text=True, check=True).stdout
    assert (CHART / "values.schema.json").read_text() == said, "make it again as scripts/chart-schema says"


def test_values_and_schema_have_the_same_names() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values) == set(schema["properties"]) - {"global"}
    for name in set(values) - {"config", "nodeSelector", "resources"}:
        if isinstance(values[name], dict) and "properties" in schema["properties"][name]:
            assert set(values[name]) == set(schema["properties"][name]["properties"]), name


def objects(schema: Any) -> list[dict[str, Any]]:
    inner = [one for value in (schema.values() if isinstance(schema, dict) else ()) for one in objects(value)]
    return [schema, *inner] if isinstance(schema, dict) and schema.get("type") == "object" else inner


def test_the_schema_is_closed() -> None:
    """But for labels and the like, and where Kubernetes itself says what may be there."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    with_members = [one for one in objects(schema) if "properties" in one]
    assert len(with_members) > 20
    assert not [one for one in with_members if one["additionalProperties"] is not False]


# What somebody might write, where the message must point, and what it must say.
WRONG = {
    "nothing at all": ({}, ("/image/repository", "/secrets/masterKey", "/config/server/public_url", "/authorities/database")),
    "an option that kaasd has not": ({"config": {"server": {"listn": "*:443"}}}, ("/config/server", "'listn'")),
    "an option that the chart sets": ({"config": {"secrets": {"master_key_file": "/key"}}}, ("/config", "'secrets'")),
    "a number out of bounds": ({"config": {"database": {"pool_size": 100}}}, ("/config/database/pool_size", "maximum", "64")),
    "a duration without a unit": ({"config": {"auth": {"token_lifetime": 900}}}, ("/config/auth/token_lifetime", "want string")),
    "a secret in the values": ({"secrets": {"masterKeyValue": "0123456789abcdef"}}, ("/secrets", "'masterKeyValue'")),
    "a public address without TLS": ({"config": {"server": {"public_url": "http://kaas.example.com"}}}, ("/config/server/public_url",)),
    "a policy that keeps kaasd from its database": ({"networkPolicy": {"database": []}}, ("/networkPolicy/database", "minItems")),
    "a policy that keeps kaasd from vCenter": ({"config": {"vcenter": {"allowed_networks": []}}},
                                               ("/config/vcenter/allowed_networks", "minItems")),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_values_are_refused(what: str) -> None:
    values, expected = WRONG[what]
    base = ("--values", VALUES["least"]) if values else ()
    told = helm("template", "kaas", CHART, *base, "--values", "-", stdin=yaml.safe_dump(values))
    assert told.returncode != 0, what
    assert "values don't meet the specifications of the schema" in told.stderr
    for part in expected:
        assert part in told.stderr, told.stderr


def test_without_a_policy_no_networks_are_needed() -> None:
    values = yaml.safe_load(VALUES["least"].read_text())
    del values["config"]["vcenter"]
    values["networkPolicy"] = {"enabled": False}
    told = helm("template", "kaas", CHART, "--values", "-", stdin=yaml.safe_dump(values))
    assert told.returncode == 0, told.stderr
    assert "kind: NetworkPolicy" not in told.stdout


@pytest.mark.parametrize("name", VALUES)
def test_every_pod_is_as_closed_as_can_be(name: str) -> None:
    """What the level `restricted` of Pod Security Standards asks for, and a root file system that cannot be written."""
    assert len(pods(name)) == 2
    for pod in pods(name):
        assert pod["automountServiceAccountToken"] is False
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"], security["seccompProfile"]) == (True, 10001, {"type": "RuntimeDefault"})
        for container in [*pod["initContainers"], *pod["containers"]]:
            assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                    "capabilities": {"drop": ["ALL"]}}
            assert "env" not in container
            assert container["resources"]["limits"]["memory"]


@pytest.mark.parametrize("name", VALUES)
def test_only_the_job_sees_the_password_of_the_owner_of_the_tables(name: str) -> None:
    of_replicas = one_of(name, "StatefulSet")["spec"]["template"]["spec"]["volumes"]
    of_job = one_of(name, "Job", "kaas-migration")["spec"]["template"]["spec"]["volumes"]
    assert "kaas-database-owner" not in strings(of_replicas)
    assert {text for text in strings(of_job) if text.startswith("kaas-")} >= {"kaas-database-owner"}
    assert not {"kaas-master-key", "kaas-tls", "kaas-database"} & set(strings(of_job))


@pytest.mark.parametrize("name", VALUES)
def test_the_configuration_is_good_for_kaasd(name: str, tmp_path: Path) -> None:
    """Its options by the real program, which names each that it does not know or that is wrong; the files are those of the image's test."""
    config = one_of(name, "ConfigMap")["data"]["kaasd.yaml"]
    assert config == one_of(name, "ConfigMap", "kaas-migration")["data"]["kaasd.yaml"]
    options = yaml.safe_load(config)
    everywhere = yaml.safe_load(VALUES[name].read_text())["config"]
    for section, given in everywhere.items():
        for option, value in given.items():
            found = options[section][option]
            assert found == value or value.items() <= found.items(), f"{section}.{option}"
    file = tmp_path / "kaasd.yaml"
    file.write_text(config)
    told = subprocess.run([program("kaasd"), "--config", file, "--check-config"], capture_output=True, text=True, check=False).stderr
    assert [line for line in told.splitlines() if not re.search(r"/(etc/kaas|run/kaas-secrets)/", line)] == []
    assert "/run/kaas-secrets/master.key" in told, "the options were good, and the files were looked for"


def test_each_mounted_volume_is_there_and_each_copied_file_was_given() -> None:
    for pod in pods("everything"):
        volumes = {volume["name"]: volume for volume in pod["volumes"]} | {"state": {}}
        for container in [*pod["initContainers"], *pod["containers"]]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)
        given = {item["path"] for source in volumes["given"]["projected"]["sources"] for item in source["secret"]["items"]}
        copied = {Path(word).name for word in pod["initContainers"][0]["command"] if word.startswith("/run/kaas-given/")}
        assert copied == given


def test_selectors_fit_the_pods() -> None:
    labels = one_of("least", "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    job = one_of("least", "Job", "kaas-migration")["spec"]["template"]["metadata"]["labels"]
    chosen = [one_of("least", "Service")["spec"]["selector"], one_of("least", "Service", "kaas-replicas")["spec"]["selector"],
              one_of("least", "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
              one_of("least", "NetworkPolicy")["spec"]["podSelector"]["matchLabels"]]
    for selector in chosen:
        assert selector.items() <= labels.items()
        assert not selector.items() <= job.items(), "the Job is no replica"
    assert one_of("least", "NetworkPolicy", "kaas-migration")["spec"]["podSelector"]["matchLabels"].items() <= job.items()


def test_a_policy_lets_kaasd_go_where_it_is_told_to_and_nowhere_else() -> None:
    rules = one_of("everything", "NetworkPolicy")["spec"]["egress"]
    found = {(block["ipBlock"]["cidr"], port["port"]) for rule in rules for block in rule.get("to", []) for port in rule["ports"]}
    assert found == {("192.0.2.20/32", 3307), ("192.0.2.21/32", 3307), ("192.0.2.0/24", 443), ("2001:db8::10/128", 443),
                     ("203.0.113.7/32", 443), ("203.0.113.64/27", 443), ("203.0.113.128/26", 6443), ("192.0.2.30/32", 389),
                     ("192.0.2.30/32", 636), ("192.0.2.30/32", 88), ("192.0.2.40/32", 3128)}
    assert [rule["ports"] for rule in rules if "to" not in rule] == [[{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]]


def test_another_configuration_is_another_pod() -> None:
    def checksum(values: dict[str, Any]) -> str:
        told = helm("template", "kaas", CHART, "--show-only", "templates/statefulset.yaml", "--values", "-", stdin=yaml.safe_dump(values))
        assert told.returncode == 0, told.stderr
        return str(yaml.safe_load(told.stdout)["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    values = yaml.safe_load(VALUES["least"].read_text())
    changed = copy.deepcopy(values)
    changed["config"]["log"] = {"level": "debug"}
    assert checksum(values) == checksum(values) != checksum(changed)


# -- what an administrator relies on, as it is rendered

def test_one_replica_at_most_goes_at_a_time() -> None:
    budget = dict(one_of("everything", "PodDisruptionBudget")["spec"])
    del budget["selector"]
    assert budget == {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    assert one_of("everything", "StatefulSet")["spec"]["podManagementPolicy"] == "Parallel"


def test_a_replica_ends_in_peace() -> None:
    """The longest server.drain, and the 5 s that requests under way get behind it."""
    longest = re.search(r'"server\.drain", "\w+", 0, (\d+) \* SECOND', (TOP / "src/config/options.def").read_text())
    assert longest
    assert one_of("least", "StatefulSet")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= int(longest[1]) + 5


@pytest.mark.parametrize(("name", "called"), [(name, called) for name in VALUES for called in ("kaas", "kaas-migration")])
def test_policies_are_in_force_both_ways(name: str, called: str) -> None:
    assert sorted(one_of(name, "NetworkPolicy", called)["spec"]["policyTypes"]) == ["Egress", "Ingress"]


def test_only_who_is_named_may_connect() -> None:
    given = yaml.safe_load(VALUES["everything"].read_text())
    assert [rule["from"] for rule in one_of("everything", "NetworkPolicy")["spec"]["ingress"]] == [given["networkPolicy"]["from"]]
    assert one_of("everything", "Service")["spec"]["loadBalancerSourceRanges"] == given["service"]["loadBalancerSourceRanges"]
    assert "ingress" not in one_of("everything", "NetworkPolicy", "kaas-migration")["spec"], "nobody connects to the Job"


def test_the_schema_is_migrated_before_an_upgrade_as_well() -> None:
    hooks = [one for one in rendered("everything") if one["metadata"]["name"] == "kaas-migration"]
    assert sorted(one["kind"] for one in hooks) == ["ConfigMap", "Job", "NetworkPolicy"]
    for one in hooks:
        assert set(one["metadata"]["annotations"]["helm.sh/hook"].split(",")) == {"pre-install", "pre-upgrade"}


def test_monitoring_finds_replicas_that_are_not_ready() -> None:
    service = one_of("least", "Service", "kaas-replicas")["spec"]
    assert (service["publishNotReadyAddresses"], service["clusterIP"]) == (True, "None")
    assert one_of("least", "StatefulSet")["spec"]["serviceName"] == "kaas-replicas"
