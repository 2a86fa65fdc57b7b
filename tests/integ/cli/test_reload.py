"""A reload that fails changes nothing, and health tells of it until one succeeds. (What systemctl says of it: tests/install.)"""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import signal
import ssl
from collections.abc import Callable
from typing import Any

import pytest
from env.certs import ServerCert, make_server_cert
from env.kaasd import Kaasd
from env.wait import until


@pytest.fixture
def kaasd(make_kaasd: Callable[..., Kaasd]) -> Kaasd:
    made = make_kaasd()
    made.init()
    made.start()
    return made


def reload(kaasd: Kaasd, outcome: str) -> None:
    process = kaasd.process
    assert process
    before = process.log.count(f"event={outcome}")
    process.signal(signal.SIGHUP)
    process.wait_until(lambda: process.log.count(f"event={outcome}") > before, outcome)


def of_reload(kaasd: Kaasd) -> dict[str, Any] | None:
    checks = kaasd.kept_admin().get("/v2/health")["checks"]
    return next((check for check in checks if check["name"] == "reload"), None)


def replace(kaasd: Kaasd, new: ServerCert) -> None:
    kaasd.tls.cert_file.write_bytes(new.cert_file.read_bytes())
    kaasd.tls.key_file.write_bytes(new.key_file.read_bytes())


def served(kaasd: Kaasd) -> str:
    return ssl.get_server_certificate(("127.0.0.1", kaasd.port))


def test_a_failed_reload_is_told_by_health_until_a_good_one(kaasd: Kaasd) -> None:
    before = served(kaasd)
    good = kaasd.tls.cert_file.read_bytes()
    assert of_reload(kaasd) is None
    kaasd.tls.cert_file.write_bytes(make_server_cert(kaasd.folder / "other").cert_file.read_bytes())
    reload(kaasd, "reload_failed")
    check = of_reload(kaasd)
    assert check
    assert check["status"] == "warning"
    assert "private key does not belong to its certificate" in check["detail"]
    assert check["remedy"]
    assert served(kaasd) == before
    kaasd.tls.cert_file.write_text("server: nonsense\n")
    reload(kaasd, "reload_failed")
    again = of_reload(kaasd)
    assert again
    assert (again["since"], "PEM" in again["detail"]) == (check["since"], True)
    kaasd.tls.cert_file.write_bytes(good)
    reload(kaasd, "reloaded")
    assert of_reload(kaasd) is None


def test_a_configuration_with_a_fault_is_not_taken_over(kaasd: Kaasd) -> None:
    text = kaasd.config.read_text()
    kaasd.config.write_text(text.replace("level: debug", "level: loud"))
    reload(kaasd, "reload_failed")
    check = of_reload(kaasd)
    assert check
    assert "log.level" in check["detail"]
    kaasd.config.write_text(text)
    reload(kaasd, "reloaded")
    assert of_reload(kaasd) is None


def test_an_expired_certificate_does_not_take_the_place_of_a_good_one(kaasd: Kaasd) -> None:
    before = served(kaasd)
    replace(kaasd, make_server_cert(kaasd.folder / "old", expired=True))
    reload(kaasd, "reload_failed")
    assert served(kaasd) == before
    check = of_reload(kaasd)
    assert check
    assert "expired at" in check["detail"]


def test_a_good_certificate_is_served_at_once(kaasd: Kaasd) -> None:
    new = make_server_cert(kaasd.folder / "new")
    replace(kaasd, new)
    reload(kaasd, "reloaded")
    until(lambda: served(kaasd).strip() == new.cert_file.read_text().strip(), "the new certificate")


def test_the_form_of_the_log_changes_with_a_reload(kaasd: Kaasd) -> None:
    assert kaasd.process
    process, text = kaasd.process, kaasd.config.read_text()
    kaasd.config.write_text(text.replace("level: debug", "level: debug\n  format: json"))
    before = len(process.log)
    process.signal(signal.SIGHUP)
    process.wait_until(lambda: '"event":"reloaded"' in process.log[before:], "the end of the reload")
    kaasd.api().call("GET", '/v2/clusters/a "b"\\')
    process.wait_until(lambda: '"event":"request"' in process.log[before:], "the request")
    kaasd.config.write_text(text)
    reload(kaasd, "reloaded")
    lines = [line for line in process.log[before:].splitlines() if not line.startswith("time=")]
    parsed = [json.loads(line) for line in lines]
    assert len(parsed) >= 2 and all(isinstance(value, str) for line in parsed for value in line.values())
    request = next(line for line in parsed if line["event"] == "request" and "b" in line["path"])
    assert request["level"] == "info" and request["request_id"] and request["time"].endswith("Z"), request
