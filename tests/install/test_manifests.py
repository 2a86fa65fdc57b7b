"""The manifests of the chart by the API server's own rules: unknown fields, defaults, validation, warnings (tests/chart/rules)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess

import pytest
from env.places import TOP
from env.process import run

BUILD_LIMIT_S = 1800.0
# How each may be broken, and what is to be said of it.
BROKEN = {
    "a field that is not there": ("maxUnavailable: 1", "maxUnavailble: 1", 'unknown field "spec.maxUnavailble"'),
    "a value that is not allowed": ("scheme: HTTPS", "scheme: TLS", "livenessProbe.httpGet.scheme: Unsupported value"),
    "a volume that is not there": ("name: run\n", "name: other\n", 'volumeMounts[2].name: Not found: "run"'),
}


def judged(manifests: str) -> subprocess.CompletedProcess[str]:
    return run([TOP / "scripts/kube", "rules"], stdin=manifests, limit_s=BUILD_LIMIT_S)


def rendered(values: str) -> str:
    told = run([TOP / "scripts/kube", "helm", "template", "kaas", TOP / "chart", "--values", TOP / f"tests/chart/{values}.yaml"])
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.mark.parametrize("values", ["least", "everything"])
def test_an_api_server_takes_them_without_a_warning(values: str) -> None:
    manifests = rendered(values)
    told = judged(manifests)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count(": good\n") == manifests.count("\nkind: ") == 9


@pytest.mark.parametrize("how", BROKEN)
def test_the_rules_find_what_is_wrong(how: str) -> None:
    old, new, expected = BROKEN[how]
    manifests = rendered("least")
    assert old in manifests
    told = judged(manifests.replace(old, new))
    assert told.returncode == 1
    assert expected in told.stdout
