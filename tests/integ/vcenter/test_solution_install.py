"""Registering with the one-time token that a vCenter gives to an appliance it deploys: no administrator's password."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.full import EXTENSION_KEY, World, register

pytestmark = pytest.mark.slow
PATH = "/v2/solution-installs"
X_KAAS = {"X-KaaS": "1"}


@pytest.fixture(scope="module")
def whole() -> Iterator[World]:
    with World("o") as made:
        yield made


@pytest.fixture
def place(whole: World) -> Iterator[World]:
    """Nothing is added yet."""
    yield whole
    whole.part()


def environment(place: World) -> str:
    return place.vcenter.control.solution_install(EXTENSION_KEY)["ovf_environment"]


def install(place: World, text: str) -> dict[str, Any]:
    return place.admin.expect(200, "POST", PATH, json={"ovf_environment": text, "tunnel_port": place.vcenter.tunnel_port}, headers=X_KAAS)


def refused(place: World, text: str, status: int, code: str) -> dict[str, Any]:
    return place.admin.refused(status, code, "POST", PATH, json={"ovf_environment": text}, headers=X_KAAS)


def test_the_record_is_there_and_the_vcenter_is_added_pinned(place: World) -> None:
    answer = install(place, environment(place))
    assert (answer["added"], answer["vcenter_id"]) == (True, place.vcenter.instance_uuid)
    assert answer["vcenter"]["trust"]["thumbprint_sha256"] == place.vcenter.sha256
    assert any("certificate" in sentence for sentence in answer["remaining"])
    record = vimclient.read_extension(place.vcenter, EXTENSION_KEY)
    assert record is not None
    assert [(server.type, server.serverThumbprint) for server in record.server][-1] == ("KAAS_API", place.kaasd.tls.sha256)
    assert "Login" not in [call["op"] for call in place.vcenter.control.calls() if call.get("user_agent", "").startswith("Harmony")]


def test_one_sign_in_then_finishes_it(place: World) -> None:
    install(place, environment(place))
    register(place.kaasd, place.vcenter)
    status = place.admin.get(f"/v2/vcenters/{place.vcenter.instance_uuid}/status")
    assert (status["state"], status["extension"]["record"]) == ("connected", "ours")


def test_a_token_is_good_once(place: World) -> None:
    text = environment(place)
    install(place, text)
    place.vcenter.control.drop_extension(EXTENSION_KEY)
    problem = refused(place, text, 401, "invalid_credentials")
    assert "--user" in problem["remedy"]


def test_a_vcenter_that_is_known_is_found_by_its_instance_uuid(place: World) -> None:
    body = {"address": "localhost", "port": place.vcenter.port, "name": "mine", "thumbprint_sha256": place.vcenter.sha256}
    place.admin.expect(201, "POST", "/v2/vcenters", json=body)
    answer = install(place, environment(place))
    assert (answer["added"], answer["vcenter"]["name"]) == (False, "mine")


def test_a_registered_vcenter_is_left_alone(place: World) -> None:
    text = environment(place)
    install(place, text)
    register(place.kaasd, place.vcenter)
    refused(place, environment(place), 409, "conflict")


def test_another_certificate_than_the_one_named_gets_no_token(place: World) -> None:
    text = environment(place).replace(place.vcenter.sha256, ":".join(["AB"] * 32))
    refused(place, text, 502, "tls_untrusted")
    assert place.vcenter.control.calls(op="solution-install") == []


def test_what_the_endpoint_says_is_told(place: World) -> None:
    text = environment(place)
    place.vcenter.control.fault("solution-install", "status", status=503)
    problem = refused(place, text, 502, "upstream_error")
    assert "503" in problem["detail"]


def test_what_is_no_environment_is_refused(place: World) -> None:
    for text in ("x", "<Environment/>", "<!DOCTYPE x []><Environment/>"):
        refused(place, text, 422, "unprocessable")


def test_kaasctl_reads_a_file_or_standard_input_and_tells_what_remains(place: World) -> None:
    text = environment(place)
    said = place.kaasd.ctl.ok("vcenter", "register", "--ovf-env", "-", stdin=text)
    assert "remains to be done" in said
    assert "kaasctl vcenter register" in said
    path = place.scratch.path / "env.xml"
    path.write_text(text)
    path.chmod(0o644)
    result = place.kaasd.ctl.run("vcenter", "register", "--ovf-env", str(path))
    assert result.returncode != 0
    assert "chmod" in result.stderr


def test_the_token_is_written_nowhere(place: World) -> None:
    made = place.vcenter.control.solution_install(EXTENSION_KEY)
    install(place, made["ovf_environment"])
    assert place.kaasd.process
    assert made["token"] not in place.kaasd.process.log_path.read_text()
