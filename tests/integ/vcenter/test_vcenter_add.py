"""Adding a vCenter: nothing is sent before its certificate is confirmed, and every wrong server gets a clear refusal."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import socket
import textwrap
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from env.certs import make_server_cert
from env.full import World, add_vcenter, register
from env.https import HttpsServer
from env.places import TOP, free_port, program
from env.process import run
from env.vcenter import DEFAULT_WORLD, StrictVcenter

pytestmark = pytest.mark.slow
PATH = "/v2/vcenters"
OTHER_UUID = "20000000-0000-4000-8000-000000000001"
IMPATIENT = {"vcenter": {"call_timeout": "2s", "connect_timeout": "2s"}}


def body_of(vcenter: StrictVcenter, **more: Any) -> dict[str, Any]:
    return {"address": vcenter.host, "port": vcenter.port, "tunnel_port": vcenter.tunnel_port, **more}


def pinned(vcenter: StrictVcenter, **more: Any) -> dict[str, Any]:
    return body_of(vcenter, thumbprint_sha256=vcenter.sha256, **more)


def ca_of(vcenter: StrictVcenter) -> str:
    assert vcenter.ca_file
    return vcenter.ca_file.read_text()


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("a") as whole:
        yield whole


@pytest.fixture
def new(place: World) -> Iterator[World]:
    """No vCenter is known before the test and after it."""
    place.vcenter.control.forget_calls()
    yield place
    place.vcenter.control.clear_faults()
    for item in list(place.admin.items(PATH)):
        place.admin.expect(204, "DELETE", f"{PATH}/{item['id']}")


def refused(world: World, status: int, code: str, body: dict[str, Any]) -> dict[str, Any]:
    problem = world.admin.refused(status, code, "POST", PATH, json=body)
    assert list(world.admin.items(PATH)) == []
    return problem


def with_uuid(tmp_path: Path, uuid: str) -> Path:
    path = tmp_path / "world.json"
    path.write_text(json.dumps({**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": uuid}))
    return path


# -- the certificate ----------------------------------------------------------------------------------------------------------


def test_the_certificate_is_shown_and_nothing_is_sent(new: World) -> None:
    problem = refused(new, 409, "certificate_unconfirmed", body_of(new.vcenter))
    assert problem["certificate"]["sha256"] == new.vcenter.sha256
    assert "IP:127.0.0.1" in problem["certificate"]["san"]
    assert new.vcenter.control.calls() == []


def test_kaasctl_shows_the_certificate_and_does_not_go_on_without_a_word(new: World) -> None:
    result = new.kaasd.ctl.run("vcenter", "add", new.vcenter.address)
    assert result.returncode != 0
    assert new.vcenter.sha256 in result.stderr
    assert new.vcenter.control.calls() == []
    assert list(new.admin.items(PATH)) == []


def test_with_the_confirmed_thumbprint_the_vcenter_is_asked_who_it_is(new: World) -> None:
    made = new.admin.expect(201, "POST", PATH, json=pinned(new.vcenter, name="East"))
    assert (made["id"], made["name"], made["api_version"]) == (new.vcenter.instance_uuid, "East", "8.0.3.0")
    assert (made["state"], made["registered"], made["trust"]["mode"]) == ("not_registered", False, "thumbprint")
    operations = {call["op"] for call in new.vcenter.control.calls()}
    assert "RetrieveServiceContent" in operations
    assert not {operation for operation in operations if "Login" in operation}


def test_the_thumbprint_is_taken_in_lower_case_without_colons(new: World) -> None:
    new.admin.expect(201, "POST", PATH, json=body_of(new.vcenter, thumbprint_sha256=new.vcenter.sha256.replace(":", "").lower()))


def test_a_wrong_thumbprint_is_refused_with_the_certificate_that_was_met(new: World) -> None:
    problem = refused(new, 502, "tls_untrusted", body_of(new.vcenter, thumbprint_sha256=":".join(["AB"] * 32)))
    assert problem["certificate"]["sha256"] == new.vcenter.sha256
    assert new.vcenter.control.calls() == []


def test_the_right_ca_is_enough(new: World) -> None:
    """However it was pasted."""
    pasted = textwrap.indent(ca_of(new.vcenter).replace("\n", "\r\n\r\n"), "    ")
    made = new.admin.expect(201, "POST", PATH, json=body_of(new.vcenter, ca_pem=pasted))
    assert made["trust"]["mode"] == "ca"
    assert len(made["trust"]["ca_subjects"]) == 1


def test_kaasctl_takes_the_ca_from_a_file(new: World) -> None:
    new.kaasd.ctl.ok("vcenter", "add", new.vcenter.address, "--ca-file", str(new.vcenter.ca_file))
    assert [item["id"] for item in new.admin.items(PATH)] == [new.vcenter.instance_uuid]


def test_a_ca_that_did_not_sign_the_certificate_is_refused(new: World, tmp_path: Path) -> None:
    other = make_server_cert(tmp_path / "other")
    problem = refused(new, 502, "tls_untrusted", body_of(new.vcenter, ca_pem=other.ca_file.read_text()))
    assert problem["certificate"]["sha256"] == new.vcenter.sha256
    assert new.vcenter.control.calls() == []


@pytest.mark.parametrize("mode", ["expired", "not-yet", "wrong-name", "self-signed", "other-ca"])
def test_a_certificate_that_the_ca_does_not_vouch_for_is_refused(new: World, make_vcenter: Callable[..., StrictVcenter], mode: str) -> None:
    vcenter = make_vcenter("bad")
    vcenter.control.change_certificate(mode)
    problem = refused(new, 502, "tls_untrusted", body_of(vcenter, ca_pem=ca_of(vcenter)))
    assert problem["certificate"]["sha256"] == vcenter.control.state()["thumbprint_sha256"]
    assert vcenter.control.calls() == []


def test_a_self_signed_certificate_is_fine_once_its_thumbprint_is_confirmed(new: World, make_vcenter: Callable[..., StrictVcenter]) -> None:
    vcenter = make_vcenter("selfsigned")
    vcenter.control.change_certificate("self-signed")
    new.admin.expect(201, "POST", PATH, json=body_of(vcenter, thumbprint_sha256=vcenter.control.state()["thumbprint_sha256"]))


# -- servers that are none ----------------------------------------------------------------------------------------------------


def test_a_name_that_does_not_resolve_is_told(new: World) -> None:
    problem = refused(new, 502, "upstream_unreachable", {"address": "nowhere.invalid"})
    assert "nowhere.invalid" in problem["detail"]


def test_a_port_where_nobody_listens_is_told(new: World) -> None:
    port = free_port()
    problem = refused(new, 502, "upstream_unreachable", {"address": "127.0.0.1", "port": port})
    assert f"127.0.0.1:{port}" in problem["detail"]


def test_a_server_that_never_shakes_hands_is_given_up(new: World) -> None:
    replica = new.kaasd.beside("impatient", options=IMPATIENT)
    replica.start()
    try:
        new.vcenter.control.fault("front", "tls-hang")
        admin = replica.api().login_password("admin", new.kaasd.admin_password)
        for body in (body_of(new.vcenter), pinned(new.vcenter)):
            admin.refused(504, "upstream_timeout", "POST", PATH, json=body)
    finally:
        replica.stop()
    assert list(new.admin.items(PATH)) == []


def test_a_server_that_drops_the_connection_at_once_is_told(new: World) -> None:
    new.vcenter.control.fault("front", "refuse")
    problem = new.admin.call("POST", PATH, json=pinned(new.vcenter)).json()
    assert problem["code"] in {"upstream_unreachable", "upstream_error"}


def test_a_server_without_tls_is_told(new: World) -> None:
    with socket.socket() as plain:
        plain.bind(("127.0.0.1", 0))
        plain.listen()
        port = plain.getsockname()[1]

        def talk() -> None:
            peer, _ = plain.accept()
            with peer:
                peer.recv(100)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        problem = new.admin.call("POST", PATH, json={"address": "127.0.0.1", "port": port}).json()
        thread.join()
    assert problem["code"] in {"upstream_error", "upstream_unreachable", "tls_untrusted"}


@pytest.mark.parametrize(("status", "answer"), [(200, b"<html><body>Welcome</body></html>"), (404, b""), (200, b""), (200, b"{}"),
                                                (302, b"")])
def test_a_web_server_is_no_vcenter(new: World, tmp_path: Path, status: int, answer: bytes) -> None:
    def say(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers.get("Content-Length", "0")))
        request.send_response(status)
        request.send_header("Content-Type", "text/html")
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    cert = make_server_cert(tmp_path / "web")
    web = HttpsServer(cert, say)
    try:
        problem = refused(new, 502, "upstream_error", {"address": "127.0.0.1", "port": web.port, "thumbprint_sha256": cert.sha256})
    finally:
        web.stop()
    assert "127.0.0.1" in problem["detail"]


def test_a_vcenter_that_is_still_starting_is_told_as_such(new: World) -> None:
    new.vcenter.control.fault("versions", "status", status=503)
    problem = refused(new, 502, "upstream_unreachable", pinned(new.vcenter))
    assert "503" in problem["detail"]


# -- known already ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def known(new: World) -> World:
    new.admin.expect(201, "POST", PATH, json=pinned(new.vcenter, name="East"))
    return new


def test_the_same_address_twice_is_told(known: World) -> None:
    known.admin.refused(409, "exists", "POST", PATH, json=pinned(known.vcenter, name="Other"))


def test_the_same_vcenter_at_another_address_is_told(known: World) -> None:
    problem = known.admin.refused(409, "exists", "POST", PATH, json=pinned(known.vcenter, address="localhost"))
    assert known.vcenter.instance_uuid in problem["detail"] + problem["remedy"]


def test_a_name_that_is_taken_is_told(known: World) -> None:
    problem = known.admin.refused(409, "exists", "POST", PATH, json=pinned(known.vcenter, address="localhost", name="East"))
    assert '"East"' in problem["detail"]


def test_two_vcenters_that_differ_are_both_known(known: World, make_vcenter: Callable[..., StrictVcenter], tmp_path: Path) -> None:
    other = make_vcenter("second", world=with_uuid(tmp_path, OTHER_UUID))
    known.admin.expect(201, "POST", PATH, json=pinned(other, name="West"))
    assert known.admin.names(PATH) == ["East", "West"]


def test_the_loop_of_the_docs_joins_what_a_file_lists(new: World, make_vcenter: Callable[..., StrictVcenter], tmp_path: Path) -> None:
    """Run twice: the second time all are there. The password of each is the same here, as it is in linked mode."""
    other = make_vcenter("second", world=with_uuid(tmp_path, OTHER_UUID))
    loop = re.search(r"```sh\n(while read .*?)```", (TOP / "docs/admin/vcenter.md").read_text(), re.S)
    assert loop
    admin = new.vcenter.admin
    lines = [f"{vc.address} {name} {vc.sha256} --tunnel-port {vc.tunnel_port}\n" for vc, name in ((new.vcenter, "East"), (other, "West"))]
    (tmp_path / "vcenters.txt").write_text("".join(lines))
    (tmp_path / "vsphere.password").write_text(admin.password)
    (tmp_path / "vsphere.password").chmod(0o600)
    (tmp_path / "kaasctl").write_text(f'#!/bin/sh\nexec {program("kaasctl")} --config {new.kaasd.ctl.config} "$@"\n')
    (tmp_path / "kaasctl").chmod(0o700)
    script = loop.group(1).replace("administrator@vsphere.local", admin.login)
    for _ in range(2):
        result = run(["sh", "-c", f"cd {tmp_path}; PATH={tmp_path}:$PATH; {script}"])
        assert result.returncode == 0, result.stderr + result.stdout
        status = [line.split()[0] for line in result.stdout.splitlines()[-2:]]
        assert status == ["East", "West"], result.stdout
    assert new.admin.names(PATH) == ["East", "West"]
    for name in ("East", "West"):
        new.kaasd.ctl.ok("--yes", "vcenter", "unregister", name, "--user", admin.login, "--password-file", "-", stdin=admin.password)


def test_another_vcenter_at_a_known_address_is_refused(fresh_world: World, make_vcenter: Callable[..., StrictVcenter],
                                                           tmp_path: Path) -> None:
    """The machine was replaced: same address, same certificate even, another instance UUID."""
    world = fresh_world
    tls = make_server_cert(tmp_path / "tls")
    flags = ("--cert", str(tls.cert_file), "--key", str(tls.key_file))
    first = make_vcenter("first", flags=(*flags, "--listen", f"127.0.0.1:{free_port()}"))
    add_vcenter(world.kaasd, first)
    register(world.kaasd, first)
    first.stop()
    impostor = make_vcenter("impostor", world=with_uuid(tmp_path, OTHER_UUID), flags=(*flags, "--listen", first.address))
    viewer = first.users["viewer-east"]
    credential = {"username": viewer.login, "password": viewer.password, "source": f"vcenter:{first.instance_uuid}"}
    answer = world.kaasd.api().post_login("password", credential)
    assert answer.status_code >= 400
    assert impostor.control.calls(op="Login") == []  # nobody's password goes there
    status = world.admin.get(f"{PATH}/{first.instance_uuid}/status")
    assert status["state"] == "refused"
    assert OTHER_UUID in status["state_reason"]


# -- bad input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("member", "value"), [("port", 0), ("port", 65536), ("port", -1), ("tunnel_port", 65536), ("direct_port", -1)])
def test_a_port_out_of_range_is_named(new: World, member: str, value: int) -> None:
    problem = refused(new, 422, "unprocessable", {**pinned(new.vcenter), member: value})
    assert member in problem["detail"]
    assert new.vcenter.control.calls() == []


@pytest.mark.parametrize("address", ["", "a b", "https://vc.example.test", "vc/../x", "vc:443x/", "[::1]", "a" * 254, "-x", "vc\n"])
def test_an_address_that_is_none_is_refused(new: World, address: str) -> None:
    refused(new, 422, "unprocessable", {"address": address})


@pytest.mark.parametrize("name", ["", " x", "x ", "a" * 51, "a\tb"])
def test_a_name_that_breaks_the_rules_is_refused(new: World, name: str) -> None:
    problem = refused(new, 422, "unprocessable", pinned(new.vcenter, name=name))
    assert "name" in problem["detail"]
    assert new.vcenter.control.calls() == []


@pytest.mark.parametrize("name", ["a" * 50, "/ % ' \" \\ \U0001f600", "é" * 50])
def test_a_name_may_hold_what_people_write(new: World, name: str) -> None:
    assert new.admin.expect(201, "POST", PATH, json=pinned(new.vcenter, name=name))["name"] == name


@pytest.mark.parametrize("thumbprint", ["", "AB", "AB:" * 20 + "CD", "zz" * 32, "AB" * 33])
def test_a_thumbprint_that_is_none_is_refused(new: World, thumbprint: str) -> None:
    problem = refused(new, 422, "unprocessable", body_of(new.vcenter, thumbprint_sha256=thumbprint))
    assert "thumbprint_sha256" in problem["detail"]


@pytest.mark.parametrize("pem", ["", "hello", "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"])
def test_a_ca_that_is_none_is_refused(new: World, pem: str) -> None:
    refused(new, 422, "unprocessable", body_of(new.vcenter, ca_pem=pem))
    assert new.vcenter.control.calls() == []


def test_thumbprint_and_ca_together_are_refused(new: World) -> None:
    refused(new, 422, "unprocessable", pinned(new.vcenter, ca_pem=ca_of(new.vcenter)))


def test_an_unknown_member_is_named(new: World) -> None:
    assert "insecure" in refused(new, 422, "unprocessable", pinned(new.vcenter, insecure=True))["detail"]


def test_a_refused_certificate_is_told_by_kaasctl_in_one_line(new: World) -> None:
    result = new.kaasd.ctl.run("vcenter", "add", new.vcenter.address, "--thumbprint", "AB" * 32)
    assert result.returncode != 0
    assert new.vcenter.sha256 in result.stderr
    assert re.search(r"(?m)^kaasctl: ", result.stderr)
