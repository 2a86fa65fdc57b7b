"""Whoever answers in the place of a vCenter, with whatever: it costs kaasd little, others nothing, and does not hold up the end."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import requests
from env.certs import make_server_cert
from env.clock import clocked_world
from env.full import World, add_vcenter, register
from env.https import HttpsServer
from env.kaasd import Kaasd
from env.wait import until
from env.watching import until_watching

pytestmark = pytest.mark.slow
PATH = "/v2/vcenters"
HEADER = {"X-KaaS": "1"}
LONG = {"vcenter": {"call_timeout": "10m"}, "ldap": {"connect_timeout": "1m", "call_timeout": "1m"}}  # longer than a stop may take
CPU_MAX_S = 2.0  # each of these answers cost twenty seconds and more
STOP_MAX_S = 40.0  # fails the test only; kaasd gives up after nine seconds

VERSIONS = '<namespaces version="1.0"><namespace><name>urn:vim25</name><version>8.0.3.0</version>%s</namespace></namespaces>'
SOAP = ('<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body>'
        '<%(op)sResponse xmlns="urn:vim25"><returnval>%(inner)s</returnval></%(op)sResponse></e:Body></e:Envelope>')


def wide(count: int, form: str = ' a%d=""') -> str:
    """One element with so many attributes."""
    return "<x" + "".join(form % number for number in range(count)) + "/>"


def many(count: int) -> str:
    """As many elements with an attribute each, all of different names."""
    return "".join(f'<x a{number}=""/>' for number in range(count))


NAMESPACES = ' xmlns:n%d="u:x"'
WIDE = {"attributes": wide(20000), "more": wide(100000), "namespaces": wide(60000, NAMESPACES), "few": wide(4000), "elements": many(4000),
        "declarations": wide(2500, NAMESPACES)}


class Stranger:
    """A TLS server that may be taken for a vCenter. `hold` keeps it from answering; `asked` is set when somebody waits."""

    def __init__(self, folder: Path) -> None:
        self.versions, self.soap = VERSIONS % "", ""
        self.asked, self.hold = threading.Event(), threading.Event()
        self.hold.set()
        self.cert = make_server_cert(folder / "stranger")
        self.server = HttpsServer(self.cert, self._answer)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.asked.set()
        self.hold.wait()
        text = (self.versions if request.command == "GET" else self.soap).encode()
        request.send_response(200)
        request.send_header("Content-Type", "text/xml")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        try:
            request.wfile.write(text)
        except OSError:  # it had enough
            request.close_connection = True

    def body(self) -> dict[str, Any]:
        return {"address": "127.0.0.1", "port": self.server.port, "thumbprint_sha256": self.cert.sha256}

    def stop(self) -> None:
        self.hold.set()
        self.server.stop()


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    made = Stranger(tmp_path)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("o") as whole:
        add_vcenter(whole.kaasd, whole.vcenter, "--name", "well")
        register(whole.kaasd, whole.vcenter)
        yield whole


def cpu_s(kaasd: Kaasd) -> float:
    """Processor time of the daemon so far."""
    assert kaasd.process
    fields = Path(f"/proc/{kaasd.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_refused(world: World, stranger: Stranger) -> str:
    before = cpu_s(world.kaasd)
    problem = world.admin.refused(502, "upstream_error", "POST", PATH, json=stranger.body())
    assert cpu_s(world.kaasd) - before < CPU_MAX_S
    assert f"127.0.0.1:{stranger.server.port}" in problem["detail"]
    assert "address and port of a vCenter" in problem["remedy"]
    return str(problem["detail"])


def is_well(world: World) -> None:
    findings = world.admin.expect(200, "POST", f"{PATH}/{world.vcenter.instance_uuid}/doctor")["findings"]
    assert {item["step"]: item["status"] for item in findings}["login"] == "ok"


@pytest.mark.parametrize("kind", list(WIDE))
def test_a_list_of_versions_is_not_compared_for_ever(place: World, stranger: Stranger, kind: str) -> None:
    stranger.versions = VERSIONS % WIDE[kind]
    if kind == "elements":  # each of them is small
        stranger.soap = "no SOAP"
    words = {"elements": "instead of SOAP", "few": "more than 64 attributes", "declarations": "more than 64 attributes"}
    assert words.get(kind, "larger than 65536 bytes") in is_refused(place, stranger)


@pytest.mark.parametrize("kind", list(WIDE))
def test_an_answer_before_any_login_is_not_compared_for_ever(place: World, stranger: Stranger, kind: str) -> None:
    stranger.soap = SOAP % {"op": "RetrieveServiceContent", "inner": WIDE[kind]}
    is_small = kind in ("few", "elements", "declarations")
    assert ("more attributes or namespaces" if is_small else "larger than 65536 bytes") in is_refused(place, stranger)


@pytest.mark.parametrize("kind", list(WIDE))
def test_a_known_vcenter_can_do_no_more(place: World, kind: str) -> None:
    control = place.vcenter.control
    body = SOAP % {"op": "RetrievePropertiesEx", "inner": WIDE[kind]}
    cookie = control.login("viewer-east@vsphere.local")["cookie"]
    control.fault("RetrievePropertiesEx", "body", status=200, content_type="text/xml", body=body, count=1)
    before = cpu_s(place.kaasd)
    answer = place.kaasd.api().post_login("vcenter", {"vcenter": place.vcenter.instance_uuid, "session_id": cookie})
    assert cpu_s(place.kaasd) - before < CPU_MAX_S
    assert (answer.status_code, answer.json()["code"]) == (502, "upstream_error"), answer.text
    assert "more attributes or namespaces" in answer.json()["detail"]
    control.clear_faults()


def test_somebody_who_does_not_answer_holds_one_thread(place: World, stranger: Stranger) -> None:
    """Others are added and examined meanwhile, however often the silent one is tried."""
    stranger.hold.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(place.admin.call, "POST", PATH, json=stranger.body())
        assert stranger.asked.wait(60)
        for _ in range(6):
            problem = place.admin.refused(503, "busy", "POST", PATH, json=stranger.body())
            assert "is being asked already" in problem["detail"]
        is_well(place)
        stranger.soap = "no SOAP"
        stranger.hold.set()
        assert first.result().status_code == 502


@pytest.fixture
def patient() -> Iterator[World]:
    """A daemon that would wait for long, to be ended by the test."""
    with World("n", options=LONG) as whole:
        add_vcenter(whole.kaasd, whole.vcenter, "--name", "well")
        register(whole.kaasd, whole.vcenter)
        yield whole


def send_off(pool: ThreadPoolExecutor, world: World, path: str, body: dict[str, Any]) -> None:
    """A request that is not answered any more."""
    def send() -> None:
        with suppress(requests.RequestException):
            world.admin.call("POST", path, json=body, headers=HEADER)

    pool.submit(send)


def test_a_stranger_that_hangs_does_not_hold_up_the_end(patient: World, stranger: Stranger) -> None:
    stranger.hold.clear()
    with ThreadPoolExecutor(1) as pool:
        send_off(pool, patient, PATH, stranger.body())
        assert stranger.asked.wait(60)
        patient.kaasd.stop()
    until(lambda: not [row for row in patient.vcenter.control.sessions() if row["extension_session"]], "the logout")


def test_what_cannot_be_ended_is_left(patient: World) -> None:
    """A directory that does not answer: nothing ends the library that waits. The service manager need not kill us, vCenter is told."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent, ThreadPoolExecutor(1) as pool:
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        source = {"name": "silent", "kind": "openldap", "urls": [url], "search_base": "dc=x", "bind_dn": "cn=x",
                  "bind_password": "secret"}
        patient.admin.expect(201, "POST", "/v2/ldap", json=source, headers=HEADER)
        send_off(pool, patient, "/v2/ldap/silent/test", {})
        connection, _ = silent.accept()
        process, patient.kaasd.process = patient.kaasd.process, None
        assert process
        assert process.stop(STOP_MAX_S) == 1
        assert "event=stop_overdue" in process.log
        connection.close()
    until(lambda: not [row for row in patient.vcenter.control.sessions() if row["extension_session"]], "the logout")


def test_a_vcenter_that_hangs_while_nobody_asks_is_noticed() -> None:
    """Within how many seconds: scripts/bench idle. Also when a change is told after the question that hangs was asked."""
    with clocked_world("v", hurries_calls=True) as (world, clock):
        add_vcenter(world.kaasd, world.vcenter, "--name", "well")
        register(world.kaasd, world.vcenter)
        control = world.vcenter.control

        def state() -> str:
            rows = {row["id"]: row["state"] for row in world.admin.items(PATH)}
            return str(rows[world.vcenter.instance_uuid])

        def names() -> list[str]:
            return [row["path"] for row in world.admin.items(f"{PATH}/{world.vcenter.instance_uuid}/vsphere-clusters")]

        until(lambda: state() == "connected", "the connection")
        until_watching(world)
        question = control.hold("CurrentTime", executed=False)
        clock.hasten(lambda: control.calls(op="CurrentTime"), "a question")
        control.await_held(question)
        control.forget_calls()
        control.rename("domain-c7", "told-late")
        until(lambda: any("told-late" in name for name in names()), "the change")
        control.fault("*", "hang")
        clock.hasten(lambda: state() == "unreachable", "that it hangs")
        assert control.calls(op="CurrentTime") == []  # no second question was needed
