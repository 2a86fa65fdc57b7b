"""Whom we trust to be a vCenter: its certificate replaced, its address moved, another one in its place; and when certificates end."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from cryptography import x509
from env.full import World, add_vcenter, register
from env.logins import ours, rescan, until, vcenter_json, wait_connected
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from env.watching import samples

pytestmark = pytest.mark.slow
OTHER_UUID = "22222222-3333-4444-8555-666666666666"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def whole() -> Iterator[World]:
    with World("trust") as world:
        add_vcenter(world.kaasd, world.vcenter, "--name", "East")
        register(world.kaasd, world.vcenter)
        yield world


@pytest.fixture
def joined(whole: World) -> Iterator[World]:
    wait_connected(whole)
    yield whole
    mend(whole)


def mend(world: World) -> None:
    """As the next test wants it: one vCenter, of that name, at that address, its certificate trusted by its SHA-256."""
    for row in world.admin.items("/v2/vcenters"):
        if row["id"] != world.vcenter.instance_uuid:
            world.admin.expect(204, "DELETE", f"/v2/vcenters/{row['id']}")
    replace_certificate(world)
    world.vcenter.sha256 = seen_sha256(world)
    body = {"name": "East", "address": world.vcenter.host, "port": world.vcenter.port, "thumbprint_sha256": world.vcenter.sha256}
    assert patch(world, body).status_code == 200


@pytest.fixture
def other(joined: World, tmp_path: Path) -> Iterator[StrictVcenter]:
    world = json.loads(DEFAULT_WORLD.read_text()) | {"instance_uuid": OTHER_UUID}
    (tmp_path / "other.json").write_text(json.dumps(world))
    server = start_strict(joined.scratch, "other", world=tmp_path / "other.json")
    yield server
    server.stop()


def path_of(world: World, verb: str = "") -> str:
    return f"/v2/vcenters/{world.vcenter.instance_uuid}{verb}"


def seen_sha256(world: World) -> str:
    return world.vcenter.control.state()["thumbprint_sha256"]


def replace_certificate(world: World, mode: str = "new") -> None:
    """Another certificate, on connections that are not open yet; none is."""
    world.vcenter.control.change_certificate(mode)
    world.vcenter.control.call("POST", "/disconnect")


def patch(world: World, body: dict[str, Any], **more: Any) -> requests.Response:
    headers = {**MERGE, **more.pop("headers", {})}
    return world.admin.call("PATCH", path_of(world), data=json.dumps(body), headers=headers, **more)


# -- a new certificate ---------------------------------------------------------------------------------------------------------


def test_a_new_certificate_is_refused_and_both_are_told(joined: World) -> None:
    trusted = vcenter_json(joined)["trust"]["thumbprint_sha256"]
    replace_certificate(joined)
    control = joined.vcenter.control
    until(lambda: not control.pending(), "the end of what was asked over the old connections")
    before = control.last_call()
    until(lambda: rescan(joined) != 0, "the refusal")
    until(lambda: "kaasctl vcenter trust" in (vcenter_json(joined)["state_reason"] or ""), "the whole reason")
    shown = vcenter_json(joined)
    assert shown["state"] == "unreachable"
    for text in (trusted, seen_sha256(joined), "localhost", "valid 20"):
        assert text in shown["state_reason"]
    assert control.calls(after=str(before)) == []  # not a single request
    status = joined.admin.get(path_of(joined, "/status"))["vcenter_certificate"]
    assert (status["sha256"], status["trusted"]) == (seen_sha256(joined), False)


def test_trust_shows_both_and_asks(joined: World) -> None:
    trusted = vcenter_json(joined)["trust"]["thumbprint_sha256"]
    replace_certificate(joined)
    until(lambda: rescan(joined) != 0, "the refusal")
    asked = joined.kaasd.ctl.run("vcenter", "trust", "East")
    assert asked.returncode == 6  # nobody there to say yes
    assert trusted in asked.stderr and seen_sha256(joined) in asked.stderr and "--sha256" in asked.stderr
    assert vcenter_json(joined)["trust"]["thumbprint_sha256"] == trusted
    assert "trusted; kaasd connects" in joined.kaasd.ctl.ok("vcenter", "trust", "East", "--yes-after-look")
    wait_connected(joined)
    assert vcenter_json(joined)["trust"]["thumbprint_sha256"] == seen_sha256(joined)
    until(lambda: len(ours(joined)) == 1, "a single session")
    assert "nothing to do" in joined.kaasd.ctl.ok("vcenter", "trust", "East")


def test_trust_by_a_sha256_compared_beforehand(joined: World) -> None:
    replace_certificate(joined)
    wrong = joined.kaasd.ctl.run("vcenter", "trust", "East", "--sha256", "AB" * 32)
    assert wrong.returncode and seen_sha256(joined) in wrong.stderr
    joined.kaasd.ctl.ok("vcenter", "trust", "East", "--sha256", seen_sha256(joined).lower())
    wait_connected(joined)


@pytest.mark.parametrize(("mode", "words"), [("expired", "expired"), ("wrong-name", "mismatch"), ("other-ca", "issuer"),
                                             ("not-yet", "not yet valid")])
def test_trust_by_ca_gives_the_exact_reason(joined: World, mode: str, words: str) -> None:
    joined.kaasd.ctl.ok("vcenter", "trust", "East", "--ca-file", str(joined.vcenter.ca_file))
    assert vcenter_json(joined)["trust"]["mode"] == "ca"
    wait_connected(joined)
    replace_certificate(joined, mode)
    until(lambda: rescan(joined) != 0, "the refusal")
    until(lambda: "kaasctl vcenter trust" in (vcenter_json(joined)["state_reason"] or ""), "the whole reason")
    reason = vcenter_json(joined)["state_reason"]
    assert words in reason.lower() and seen_sha256(joined) in reason


def test_trust_of_another_vcenter_is_refused(joined: World, other: StrictVcenter) -> None:
    problem = joined.admin.refused(409, "conflict", "PATCH", path_of(joined), headers=MERGE, data=json.dumps(
        {"address": other.host, "port": other.port, "thumbprint_sha256": other.sha256}))
    assert OTHER_UUID in problem["detail"] and joined.vcenter.instance_uuid in problem["detail"]
    assert vcenter_json(joined)["port"] == joined.vcenter.port
    assert rescan(joined) == 0


# -- name, address, ports --------------------------------------------------------------------------------------------------------


def test_the_vcenter_moves_to_another_address(joined: World) -> None:
    said = joined.kaasd.ctl.ok("vcenter", "set", "East", "--address", f"localhost:{joined.vcenter.port}", "--name", "Berlin")
    assert "localhost" in said and "Berlin" in said
    wait_connected(joined)
    assert rescan(joined) == 0
    until(lambda: len(ours(joined)) == 1, "a single session")


def test_nothing_is_stored_for_an_address_that_does_not_answer(joined: World) -> None:
    failed = joined.kaasd.ctl.run("vcenter", "set", "East", "--address", "127.0.0.1:1")
    assert failed.returncode and "127.0.0.1:1 " in failed.stderr
    assert vcenter_json(joined)["port"] == joined.vcenter.port


def test_ports_of_the_login_ways_change(joined: World) -> None:
    joined.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", "0")
    until(lambda: "neither a tunnel port nor a direct port" in (vcenter_json(joined)["state_reason"] or ""), "the reason")
    joined.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", str(joined.vcenter.tunnel_port))
    wait_connected(joined)


def test_add_of_a_known_vcenter_offers_the_move(joined: World) -> None:
    failed = joined.kaasd.ctl.run("vcenter", "add", f"localhost:{joined.vcenter.port}", "--thumbprint", joined.vcenter.sha256)
    assert failed.returncode
    assert "kaasctl vcenter set East --address localhost" in failed.stderr


def test_remove_and_add_again(joined: World) -> None:
    ctl, admin = joined.kaasd.ctl, joined.vcenter.admin
    ctl.ok("vcenter", "unregister", "East", "--user", admin.login, "--password-file", "-", "--yes", stdin=admin.password + "\n")
    ctl.ok("vcenter", "rm", "East", "--yes")
    add_vcenter(joined.kaasd, joined.vcenter, "--name", "East")
    register(joined.kaasd, joined.vcenter)
    wait_connected(joined)
    until(lambda: len(ours(joined)) == 1, "a single session")


def test_the_entity_tag_is_of_what_is_stored(joined: World) -> None:
    before = joined.admin.call("GET", path_of(joined)).headers["ETag"]
    rescan(joined)  # another time of the last contact
    assert joined.admin.call("GET", path_of(joined)).headers["ETag"] == before
    changed = patch(joined, {"name": "Berlin"}, headers={"If-Match": before})
    assert changed.status_code == 200 and changed.headers["ETag"] != before
    assert changed.headers["ETag"] == joined.admin.call("GET", path_of(joined)).headers["ETag"]
    late = patch(joined, {"name": "Bonn"}, headers={"If-Match": before})
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    assert vcenter_json(joined)["name"] == "Berlin"


def test_names_and_addresses_stay_unique(joined: World, other: StrictVcenter) -> None:
    add_vcenter(joined.kaasd, other, "--name", "West")
    assert patch(joined, {"name": "west"}).json()["code"] == "exists"
    assert patch(joined, {"port": other.port}).json()["code"] == "exists"


@pytest.mark.parametrize("body", [{"port": 0}, {"port": "443"}, {"address": "a b"}, {"name": ""}, {"state": "connected"}, {"name": None},
                                  {"thumbprint_sha256": "AB"}, {"tunnel_port": 65536}])
def test_a_change_that_cannot_be_is_refused(joined: World, body: dict[str, Any]) -> None:
    assert patch(joined, body).status_code == 422


# -- when certificates end -------------------------------------------------------------------------------------------------------


def metrics(world: World) -> dict[str, float]:
    ends = samples(world.admin, "kaas_certificate_not_after_seconds")
    return {labels.split('what="', 1)[1].split('"', 1)[0]: float(value) for labels, value in ends.items()}


def test_metrics_and_health_tell_when_certificates_end(joined: World) -> None:
    until(lambda: set(metrics(joined)) == {"server", "vcenter", "login"}, "all three certificates")
    ends = metrics(joined)
    shown = x509.load_pem_x509_certificate(joined.kaasd.tls.cert_file.read_bytes())
    assert ends["server"] == shown.not_valid_after_utc.timestamp()
    checks = {check["name"]: check for check in joined.admin.get("/v2/health")["checks"]}
    warned = checks["server_certificate"]  # those of the tests live for a month at most
    assert warned["status"] == "warning" and "days left" in warned["detail"] and "systemctl reload kaasd" in warned["remedy"]
    assert not [name for name in checks if name.startswith("login_certificate")]
