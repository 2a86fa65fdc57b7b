"""Where an HX cluster may be, by what vCenter tells: candidates that hx.names and a CA, or a person, must vouch for."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from env.api import Api
from env.certs import ServerCert, make_server_cert
from env.full import World
from env.wait import until
from hx import HxConnect

KEY = "com.springpath.sysmgmt.domain-c7"
PASSWORD = "S3cret of HX"


@dataclass
class Place:
    world: World
    admin: Api
    hx: HxConnect
    cert: ServerCert
    east: str  # id of the HX cluster
    ca_file: Path  # as configured

    def tell(self, *urls: str) -> None:
        """An extension record as somebody may write it."""
        servers = [{"url": url, "type": "HTTPS", "company": "Cisco", "label": "HX", "admin_email": ["hx@example.test"]} for url in urls]
        self.world.vcenter.control.call("POST", "/extensions", {"key": KEY, "version": "5.0.1", "company": "Cisco", "label": "HX",
                                                                "summary": "HX", "servers": servers})

    def addresses(self) -> list[dict[str, Any]]:
        return self.admin.get(f"/v2/hx-clusters/{self.east}/addresses")["items"]  # type: ignore[no-any-return]

    def configure(self, ca: Path) -> None:
        process = self.world.kaasd.process
        assert process
        reloads = process.log.count("event=reloaded")
        shutil.copy(ca, self.ca_file)
        process.signal(signal.SIGHUP)
        until(lambda: process.log.count("event=reloaded") > reloads, "a reload")


@pytest.fixture(scope="module")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of somebody else's CA, until a test puts another one there."""
    folder = tmp_path_factory.mktemp("ca")
    return shutil.copy(make_server_cert(folder / "other").ca_file, folder / "ca.pem")


@pytest.fixture(scope="module")
def world(ca_file: Path) -> Iterator[World]:
    with World("y", options={"hx": {"read_interval": "0s", "ca_file": str(ca_file), "names": ["local*"]}}) as made:
        made.join()
        yield made


@pytest.fixture
def place(world: World, ca_file: Path, tmp_path: Path) -> Iterator[Place]:
    cert = make_server_cert(tmp_path / "hx")
    admin = world.kaasd.admin()
    east = next(one["id"] for one in admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
    with HxConnect(cert.cert_file, cert.key_file, "HX-East", vcenter_cluster="HX-East") as hx:
        hx.accounts["admin"] = PASSWORD
        made = Place(world, admin, hx, cert, east, ca_file)
        made.tell(f"https://127.0.0.1:{hx.port}/x")
        yield made
        admin.call("DELETE", f"/v2/hx-clusters/{east}/connection")
        assert hx.violations == []


def test_addresses_are_those_of_the_record_and_of_controllers(place: Place) -> None:
    """A controller's on its port group alone. Nothing but a handshake goes there, and no one is trusted."""
    here = f"https://127.0.0.1:{place.hx.port}"
    place.tell(f"{here}/x", here, "http://127.0.0.1", "https://192.0.2.1", "https://user@:99", "ldap://x")
    found = place.addresses()
    assert [(one["address"], one["port"], one["source"], one["trusted"]) for one in found] == [
        ("127.0.0.1", place.hx.port, "extension_record", False), ("192.0.2.1", 443, "extension_record", False),
        ("127.0.0.1", 443, "controller_vm", False)]
    assert found[0]["certificate"]["sha256"] == place.cert.sha256
    assert found[1]["certificate"] is None and "where kaasd does not connect to" in found[1]["detail"]
    assert "hx.allowed_networks" in found[1]["remedy"]
    assert place.hx.count("/") == 0
    place.world.sign_in("viewer-east").refused(403, "forbidden", "GET", f"/v2/hx-clusters/{place.east}/addresses")
    place.admin.refused(404, "not_found", "GET", "/v2/hx-clusters/00000000-0000-4000-8000-000000000000/addresses")


def test_a_record_full_of_addresses_is_cut(place: Place) -> None:
    place.tell(*(f"https://192.0.2.{n}" for n in range(1, 40)))
    assert len(place.addresses()) == 8


def test_who_is_named_and_whom_the_ca_vouches_for_needs_no_confirmation(place: Place) -> None:
    place.configure(place.cert.ca_file)
    place.tell(f"https://127.0.0.1:{place.hx.port}", f"https://LOCALHOST:{place.hx.port}")
    assert [(one["chain_valid"], one["trusted"]) for one in place.addresses()[:2]] == [(True, False), (True, True)]
    assert place.hx.count("/") == 0
    shown = place.world.kaasd.ctl.ok("hx", "addresses", place.east)
    assert re.search(rf"LOCALHOST +{place.hx.port} +extension_record +yes", shown)
    made = place.world.kaasd.ctl.json("hx", "connect", place.east, "--password-file", "-", stdin=PASSWORD + "\n")
    assert (made["address"], made["port"], made["ca_pem"], made["thumbprint_sha256"]) == ("LOCALHOST", place.hx.port, None, None)
    assert place.admin.expect(200, "POST", f"/v2/hx-clusters/{place.east}/connection/test")["status"]["state"] == "ok"
    place.configure(make_server_cert(place.ca_file.parent / "third").ca_file)
    status = place.admin.expect(200, "POST", f"/v2/hx-clusters/{place.east}/connection/test")["status"]
    assert (status["state"], status["reason"]) == ("failing", "tls_untrusted")


def test_a_ca_alone_vouches_for_no_address(place: Place) -> None:
    """It may have signed for whoever has written the record: a person looks at the address, and no certificate is stored."""
    ctl = place.world.kaasd.ctl
    words = ("hx", "connect", place.east, "--password-file", "-")
    place.configure(place.cert.ca_file)
    for more in ((), ("--ca", str(place.cert.ca_file))):
        asked = ctl.run(*words, *more, stdin=PASSWORD + "\n")
        assert asked.returncode == 6 and f"127.0.0.1:{place.hx.port}, as vCenter tells" in asked.stderr
    assert place.hx.count("/") == 0
    made = ctl.json(*words, "--yes", stdin=PASSWORD + "\n")
    assert (made["port"], made["ca_pem"], made["thumbprint_sha256"]) == (place.hx.port, None, None)


def test_else_a_person_looks_at_the_certificate(place: Place) -> None:
    ctl = place.world.kaasd.ctl
    words = ("hx", "connect", place.east, "--password-file", "-")
    asked = ctl.run(*words, stdin=PASSWORD + "\n")
    assert asked.returncode == 6 and place.cert.sha256 in asked.stderr
    assert place.hx.count("/") == 0
    made = ctl.json(*words, "--yes", stdin=PASSWORD + "\n")
    assert made["thumbprint_sha256"] == place.cert.sha256
    assert place.admin.expect(200, "POST", f"/v2/hx-clusters/{place.east}/connection/test")["status"]["state"] == "ok"


def test_no_address_that_answers(place: Place) -> None:
    place.tell("https://127.0.0.1:1")
    said = place.world.kaasd.ctl.run("hx", "connect", place.east, "--password-file", "-", stdin="x\n")
    assert said.returncode == 2 and "give --address" in said.stderr
