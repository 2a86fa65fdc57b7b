"""From each released version to the present one, in one step: everything is there, and works. The tests of a version go on where
the one before has left it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from env.places import Scratch
from env.releases import VERSIONS, Installation, replace
from env.samples import SAMPLES
from env.wait import until

PASSWORD = "correct horse battery staple"
P256_HALF = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551 >> 1  # of the order of the group, SEC 2, 2.4.2
TOKENS = 8


def has_smaller_s(token: str) -> bool:
    """Of the two signatures that ECDSA has for each text, the one with the smaller s; the other is written by 0.1 alone."""
    signature = token.rsplit(".", 1)[1]
    return int.from_bytes(base64.urlsafe_b64decode(signature + "==")[32:]) <= P256_HALF


@dataclass
class Upgraded:
    at: Installation
    tokens: list[str] = field(default_factory=list)  # of the version before
    clusters: dict[str, Any] = field(default_factory=dict)
    certificate: str = ""
    applied: int = 0

    @property
    def is_first(self) -> bool:
        """Of a schema two releases older than the present one."""
        return self.at.version == VERSIONS[0]


def clusters(at: Installation, token: str) -> dict[str, dict[str, Any]]:
    answer = at.wire(token).call("GET", "/v2/clusters")
    assert answer and answer.status_code == 200, answer and answer.text
    kept = ("id", "kubernetes_version", "labels", "description")
    return {item["name"]: {name: item[name] for name in kept} for item in answer.json()["items"]}


def certificate(at: Installation) -> str:
    """The one that kaasd logs in with."""
    ((pem,),) = at.db.query("SELECT cert_pem FROM vcenter_credentials WHERE state = 'active'", database="kaas")
    return str(pem)


@pytest.fixture(scope="module", params=VERSIONS)
def place(request: pytest.FixtureRequest) -> Iterator[Upgraded]:
    folder = Scratch("v")
    made = Upgraded(Installation(folder, request.param))
    at = made.at
    at.kaasd.ctl.ok("user", "add", "anna", "--password-file", "-", "--keep-password", stdin=f"{PASSWORD}\n")
    made.tokens = [at.admin() for _ in range(TOKENS)]
    made.clusters = clusters(at, made.tokens[0])
    made.certificate = certificate(at)
    yield made
    at.stop()
    folder.remove()


def test_the_present_program_waits_for_the_schema_and_says_so(place: Upgraded) -> None:
    at = place.at
    at.vcenter.control.forget_calls()
    replace(at.kaasd, None)
    process = at.kaasd.spawn()
    process.wait_until(lambda: "kaasctl db migrate" in at.kaasd.why_not_ready(), "why it is not ready", why_not=at.kaasd.why_not_ready)
    at.kaasd.ctl.ok("db", "migrate")
    process.wait_until(at.kaasd.ready, "readiness once the schema is there", why_not=at.kaasd.why_not_ready)


def test_clusters_and_users_are_there(place: Upgraded) -> None:
    at = place.at
    assert {sample.name for sample in SAMPLES} == set(place.clusters)
    assert clusters(at, at.admin()) == place.clusters
    assert clusters(at, at.sign_in("anna", PASSWORD)) == {}


def test_who_was_signed_in_still_is(place: Upgraded) -> None:
    """But for the half of the tokens of 0.1 that docs/admin/upgrade.md tells of."""
    for token in place.tokens:
        answer = place.at.wire(token).call("GET", "/v2/whoami")
        assert answer
        assert answer.status_code == (200 if has_smaller_s(token) else 401), answer.text
    assert place.is_first or all(has_smaller_s(token) for token in place.tokens)


def test_the_vcenter_is_logged_in_to_as_before_and_not_registered_anew(place: Upgraded) -> None:
    at = place.at
    until(lambda: at.kaasd.ctl.json("vcenter", "list")[0]["state"] == "connected", "the connection to the vCenter")
    calls = {call["op"] for call in at.vcenter.control.calls()}
    assert "LoginExtensionByCertificate" in calls
    assert not calls & {"RegisterExtension", "SetExtensionCertificate", "Login"}
    assert certificate(at) == place.certificate


def test_the_audit_log_is_whole(place: Upgraded) -> None:
    verified = place.at.kaasd.ctl.run("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_going_back_works_by_one_release_of_the_schema(place: Upgraded) -> None:
    """The real older program beside the present schema. One that is older than that says what to install, and serves nobody."""
    at = place.at
    replace(at.kaasd, at.version)
    process = at.kaasd.spawn()
    if place.is_first:
        process.wait_until(lambda: "schema_mismatch" in at.kaasd.why_not_ready(), "the refusal", why_not=at.kaasd.why_not_ready)
        assert "install" in at.kaasd.why_not_ready()
    else:
        process.wait_until(at.kaasd.ready, "readiness", why_not=at.kaasd.why_not_ready)
        assert clusters(at, at.admin()) == place.clusters
        assert clusters(at, at.sign_in("anna", PASSWORD)) == {}
    replace(at.kaasd, None)
    at.kaasd.start()
    assert clusters(at, at.admin()) == place.clusters
    assert at.kaasd.ctl.run("audit", "verify").returncode == 0
