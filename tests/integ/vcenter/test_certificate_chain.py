"""The server's certificate with its issuers in the file, as an issuing CA gives it: served whole, and known by the certificate alone."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env import hx_client, vimclient
from env.certs import ServerCert, make_issued_cert, make_server_cert
from env.full import EXTENSION_KEY, World, ctl
from env.kaasd import Kaasd
from env.process import run
from env.samples import visible_to
from env.wait import until
from hx import HxConnect

pytestmark = [pytest.mark.slow, pytest.mark.long(30)]
PASSWORD = "S3cret of HX"
EAST = "DC0/HX-East"
BAG = "Bag Attributes\n    friendlyName: kaas\n    localKeyID: 01\nsubject=CN = kaas.example.test\n\nissuer=CN = World issuer\n\n"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("cc", options={"hx": {"read_interval": "0s"}}) as made:
        made.join()
        yield made


@pytest.fixture
def issued(tmp_path: Path) -> tuple[ServerCert, str]:
    return make_issued_cert(tmp_path / "issued")


def install(kaasd: Kaasd, cert: ServerCert, text: str, outcome: str = "reloaded") -> None:
    """`text` becomes the file of server.tls_certificate; our clients trust the root alone."""
    process = kaasd.process
    assert process
    before = process.log.count(f"event={outcome}")
    kaasd.tls.cert_file.write_bytes(text.encode())
    kaasd.tls.key_file.write_bytes(cert.key_file.read_bytes())
    kaasd.tls.ca_file.write_bytes(cert.ca_file.read_bytes())
    process.signal(signal.SIGHUP)
    process.wait_until(lambda: process.log.count(f"event={outcome}") > before, outcome)


def await_record(world: World, cert: ServerCert) -> None:
    """The record at the vCenter holds the certificate alone, as vCenter takes it, and nothing is amiss."""
    def record() -> list[tuple[str, str]]:
        found = vimclient.read_extension(world.vcenter, EXTENSION_KEY)
        return [(server.serverThumbprint, server.serverCertificate) for server in found.server]

    until(lambda: all(one == (cert.sha256, cert.cert_file.read_text()) for one in record()), "the certificate in the record")
    until(lambda: world.admin.get(f"/v2/vcenters/{world.vcenter.instance_uuid}/status")["extension"]["record"] == "ours", "our record")


def check_curl(world: World, cert: ServerCert) -> None:
    """Who has the root alone gets there."""
    result = run(["curl", "--silent", "--show-error", "--fail", "--cacert", cert.ca_file, f"{world.kaasd.url}/healthz"])
    assert result.returncode == 0, result.stderr


def texts(cert: ServerCert, issuer: str) -> dict[str, str]:
    leaf, root = cert.cert_file.read_text(), cert.ca_file.read_text()
    return {
        "leaf_and_issuer": leaf + issuer, "with_root": leaf + issuer + root, "wrong_order": root + issuer + leaf,
        "text_headers": BAG + leaf + BAG + issuer, "crlf": (leaf + issuer).replace("\n", "\r\n"), "mark": "\ufeff" + leaf + issuer,
        "blank_lines": (leaf + issuer).replace("\n", "\n\n"), "key": cert.key_file.read_text() + leaf + issuer,
    }


@pytest.mark.parametrize("form", ["leaf_and_issuer", "with_root", "wrong_order", "text_headers", "crlf", "mark", "blank_lines", "key"])
def test_a_reload_from_one_certificate_to_a_chain(world: World, issued: tuple[ServerCert, str], form: str) -> None:
    cert, issuer = issued
    install(world.kaasd, cert, texts(cert, issuer)[form])
    check_curl(world, cert)
    await_record(world, cert)
    doctor = ctl_doctor(world)
    assert "shows the certificate that the record at the vCenter names" in doctor, doctor


def ctl_doctor(world: World) -> str:
    result = world.kaasd.ctl.run("doctor", "--vcenter", world.vcenter.instance_uuid)
    return result.stdout


def test_a_first_registration_with_a_chain(world: World, issued: tuple[ServerCert, str]) -> None:
    cert, issuer = issued
    install(world.kaasd, cert, cert.cert_file.read_text() + issuer)
    ctl(world, "unregister")
    assert "would" in ctl(world, "register", "--dry-run")
    ctl(world, "register")
    await_record(world, cert)
    viewer = world.vcenter.users["viewer-east"]
    listed = hx_client.ask(world.vcenter, viewer.password, "--user", viewer.login, EAST)
    assert listed.returncode == 0, listed.stderr
    assert hx_client.names(listed.stdout) == visible_to("viewer-east", EAST)


def test_hx_is_told_of_the_certificate_alone(world: World, issued: tuple[ServerCert, str], tmp_path: Path) -> None:
    cert, issuer = issued
    shown = make_server_cert(tmp_path / "hx")
    install(world.kaasd, cert, issuer + cert.cert_file.read_text())
    await_record(world, cert)
    with HxConnect(shown.cert_file, shown.key_file, "HX-East", "1:2", "DC0", "HX-East") as hx:
        hx.accounts["admin"] = PASSWORD
        hx.registrations.demand("token")
        world.kaasd.ctl.ok("hx", "connect", EAST, "--address", "127.0.0.1", "--port", str(hx.port), "--sha256", shown.sha256,
                           "--password-file", "-", stdin=PASSWORD + "\n")
        east = next(one["id"] for one in world.admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
        world.admin.expect(200, "POST", f"/v2/hx-clusters/{east}/connection/test")
        got = world.admin.expect(200, "POST", f"/v2/hx-clusters/{east}/publication")
        assert got["state"] == "published", got
        held = hx.registrations.kept
        assert held and held["certificate_pem"] == cert.cert_file.read_text()
        world.admin.call("DELETE", f"/v2/hx-clusters/{east}/connection")


def record_check(world: World) -> dict[str, Any] | None:
    return next((one for one in world.admin.get("/v2/health")["checks"] if one["name"].startswith("vcenter_record")), None)


def test_the_doctor_looks_at_the_record_of_the_vcenter(world: World, issued: tuple[ServerCert, str]) -> None:
    """While the record cannot be repaired it names the certificate of before, and health says what to do."""
    cert, issuer = issued
    world.vcenter.control.fault("UpdateExtension", "fault", fault="InvalidArgument", user=EXTENSION_KEY)
    try:
        install(world.kaasd, cert, cert.cert_file.read_text() + issuer)
        check = until(lambda: record_check(world), "a warning")
        assert "kaasctl doctor --vcenter" in check["remedy"], check
        doctor = ctl_doctor(world)
        assert f"shows the certificate {cert.sha256}, but the record at the vCenter names " in doctor.replace("\n", " "), doctor
    finally:
        world.vcenter.control.clear_faults()
    install(world.kaasd, cert, cert.cert_file.read_text() + issuer)


def refused(world: World, *words: str) -> None:
    result = world.kaasd.check_config()
    assert result.returncode != 0
    assert not [word for word in words if word not in result.stderr], result.stderr


def test_what_a_file_may_not_hold(world: World, issued: tuple[ServerCert, str], tmp_path: Path) -> None:
    """--check-config says so, and a reload does not take it."""
    cert, issuer = issued
    good = cert.cert_file.read_text() + issuer
    install(world.kaasd, cert, good)
    stranger, other_issuer = make_issued_cert(tmp_path / "other")
    for text, words in ((good + stranger.cert_file.read_text(), ("server.tls_certificate: ", "did not issue", "take it out")),
                        (cert.cert_file.read_text() + other_issuer, ("server.tls_certificate: ", "CN=World issuer", "did not issue")),
                        (good + "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", ("certificate 3 of", "copy it anew")),
                        (stranger.cert_file.read_text() + other_issuer, ("server.tls_key: ", "does not belong"))):
        install(world.kaasd, cert, text, outcome="reload_failed")
        refused(world, *words)
    install(world.kaasd, cert, good)
    check_curl(world, cert)


def test_an_issuer_that_has_ended(world: World, issued: tuple[ServerCert, str], tmp_path: Path) -> None:
    cert, issuer = issued
    install(world.kaasd, cert, cert.cert_file.read_text() + issuer)
    late, ended = make_issued_cert(tmp_path / "late", issuer_days=-1)
    install(world.kaasd, late, late.cert_file.read_text() + ended, outcome="reload_failed")
    refused(world, "the issuer CN=World issuer in ", "expired at")
    soon, ending = make_issued_cert(tmp_path / "soon", issuer_days=20)
    install(world.kaasd, soon, soon.cert_file.read_text() + ending)
    result = world.kaasd.check_config()
    assert result.returncode == 0 and "warning: the issuer CN=World issuer in " in result.stderr, result.stderr


def test_what_is_put_right_is_told(world: World, issued: tuple[ServerCert, str]) -> None:
    cert, issuer = issued
    told = {"wrong_order": "kaasd sends them in the right order", "key": "holds a private key"}
    for form, words in ((form, ("warning: ", text)) for form, text in told.items()):
        install(world.kaasd, cert, texts(cert, issuer)[form])
        result = world.kaasd.check_config()
        assert result.returncode == 0 and not [word for word in words if word not in result.stderr], result.stderr
        assert world.kaasd.process
        assert words[1] in world.kaasd.process.log
