"""A vCenter that misbehaves: each misbehaviour has its problem code within the time of a call, harms no other vCenter, and passes."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from env.full import EXTENSION_KEY, World, add_vcenter, register
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from env.wait import until
from env.watching import samples

pytestmark = [pytest.mark.slow, pytest.mark.long(63)]
IMPATIENT = {"vcenter": {"call_timeout": "2s", "connect_timeout": "2s"}}
VIEWER = "viewer-east@vsphere.local"
SIGN_ON = "/v2/login/vcenter"
UNKNOWN_FAULT = (b'<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>'
                 b"<faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail><FlyingPigsFault xmlns=\"urn:vim25\" "
                 b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="FlyingPigs"/></detail></soapenv:Fault></soapenv:Body>'
                 b"</soapenv:Envelope>").decode()

ENDLESS: list[tuple[str, dict[str, Any]]] = [("hang", {}), ("drip", {"interval_ms": 200}), ("delay", {"delay_ms": 60000})]

FAULTS: list[tuple[str, dict[str, Any], int, str]] = [
    ("flood", {}, 502, "upstream_error"),
    ("html", {}, 502, "upstream_error"),
    ("empty", {}, 502, "upstream_error"),
    ("deep", {}, 502, "upstream_error"),
    ("truncated", {"bytes": 200}, 502, "upstream_error"),
    ("body", {"status": 500, "content_type": "text/xml", "body": UNKNOWN_FAULT}, 502, "upstream_error"),
    ("body", {"status": 200, "content_type": "text/xml", "body": "<a/>"}, 502, "upstream_error"),
    ("fault", {"fault": "SystemError", "text": "out of order"}, 502, "upstream_error"),
    ("status", {"status": 404}, 502, "upstream_error"),
    ("status", {"status": 503}, 502, "upstream_unreachable"),
    ("close", {"bytes": 0}, 502, "upstream_unreachable"),
    ("close", {"bytes": 300}, 502, "upstream_unreachable"),
]


class Pair:
    """One daemon, two vCenters: the one is hurt, the other must not notice."""

    def __init__(self, world: World, other: StrictVcenter) -> None:
        self.world = world
        self.vcenter = world.vcenter
        self.other = other
        self.control = world.vcenter.control

    def try_sign_on(self, vcenter: StrictVcenter) -> requests.Response:
        body = {"vcenter": vcenter.instance_uuid, "session_id": vcenter.control.login(VIEWER)["cookie"]}
        return self.world.kaasd.api().post_login("vcenter", body)

    def sign_on(self, vcenter: StrictVcenter, status: int = 200, code: str = "") -> dict[str, Any]:
        api, cookie = self.world.kaasd.api(), vcenter.control.login(VIEWER)["cookie"]
        body = {"json": {"vcenter": vcenter.instance_uuid, "session_id": cookie}, "headers": {"X-KaaS": "1"}}
        return api.refused(status, code, "POST", SIGN_ON, **body) if code else api.expect(status, "POST", SIGN_ON, **body)

    def status(self, vcenter: StrictVcenter) -> dict[str, Any]:
        return self.world.admin.get(f"/v2/vcenters/{vcenter.instance_uuid}/status")

    def ours(self, vcenter: StrictVcenter) -> list[dict[str, Any]]:
        return [row for row in vcenter.control.sessions() if row["extension_session"]]

    def goes_on(self, vcenter: StrictVcenter) -> None:
        """People sign on there. Where calls have little time, one of them may be late."""
        until(lambda: self.try_sign_on(vcenter).status_code == 200, "a sign-on")
        until(lambda: self.status(vcenter)["state"] == "connected", "the connection")

    def heal(self) -> None:
        """Ends all faults and waits until the vCenter is asked again."""
        self.control.clear_faults()
        self.goes_on(self.vcenter)


@contextmanager
def made_pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        world = stack.enter_context(World("q"))
        layout = {**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": "30000000-0000-4000-8000-000000000001"}
        path: Path = world.scratch.path / "other-world.json"
        path.write_text(json.dumps(layout))
        other = start_strict(world.scratch, "other", world=path)
        stack.callback(other.stop)
        add_vcenter(world.kaasd, world.vcenter, "--name", "hurt")
        add_vcenter(world.kaasd, other, "--name", "well")
        for vcenter in (world.vcenter, other):
            body = {"username": vcenter.admin.login, "password": vcenter.admin.password}
            world.admin.expect(200, "POST", f"/v2/vcenters/{vcenter.instance_uuid}/register", json=body, headers={"X-KaaS": "1"})
        yield Pair(world, other)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with made_pair() as made:
        yield made


@pytest.fixture
def healthy(pair: Pair) -> Iterator[Pair]:
    yield pair
    pair.heal()


@pytest.fixture(scope="module")
def impatient_pair() -> Iterator[Pair]:
    """Of a daemon that gives a call little time: for what ends by that alone."""
    with made_pair() as made:
        made.world.kaasd.stop()
        made.world.kaasd.write_config(IMPATIENT)
        made.world.kaasd.start()
        made.heal()
        yield made


@pytest.fixture
def impatient(impatient_pair: Pair) -> Iterator[Pair]:
    yield impatient_pair
    impatient_pair.heal()


@pytest.mark.parametrize(("kind", "more"), ENDLESS, ids=[kind for kind, _ in ENDLESS])
def test_a_sign_on_at_a_vcenter_that_comes_to_no_end_is_given_up(impatient: Pair, kind: str, more: dict[str, Any]) -> None:
    impatient.control.fault("RetrievePropertiesEx", kind, **more)
    impatient.sign_on(impatient.vcenter, 504, "upstream_timeout")
    impatient.goes_on(impatient.other)


@pytest.mark.parametrize(("kind", "more", "status", "code"), FAULTS, ids=[f"{kind}-{i}" for i, (kind, *_) in enumerate(FAULTS)])
def test_a_sign_on_at_a_vcenter_that_misbehaves_has_its_code(healthy: Pair, kind: str, more: dict[str, Any], status: int,
                                                                 code: str) -> None:
    healthy.control.fault("RetrievePropertiesEx", kind, **more)
    answer = healthy.try_sign_on(healthy.vcenter)
    problem = answer.json()
    # an answer without end is cut off by its size; where reading that much takes longer than a call may, by its time
    codes = {(status, code), (504, "upstream_timeout")} if kind == "flood" else {(status, code)}
    assert (answer.status_code, problem["code"]) in codes, answer.text
    assert healthy.vcenter.host in problem["detail"] or "vCenter" in problem["detail"]
    healthy.sign_on(healthy.other)


def test_an_unknown_fault_is_told_by_its_name(healthy: Pair) -> None:
    healthy.control.fault("RetrievePropertiesEx", "body", status=500, content_type="text/xml", body=UNKNOWN_FAULT)
    assert "FlyingPigs" in healthy.sign_on(healthy.vcenter, 502, "upstream_error")["detail"]


@pytest.mark.parametrize("op", ["versions", "RetrieveServiceContent", "HasPrivilegeOnEntities"])
def test_the_status_of_a_vcenter_that_hangs_is_answered(impatient: Pair, op: str) -> None:
    impatient.control.fault(op, "hang")
    assert impatient.status(impatient.vcenter)["state"] in {"unreachable", "connected"}
    impatient.goes_on(impatient.other)


def test_a_vcenter_that_hangs_holds_up_no_other(healthy: Pair) -> None:
    """Many wait for the one; the other answers meanwhile."""
    rule = healthy.control.hold("RetrievePropertiesEx", executed=False)
    body = {"vcenter": healthy.vcenter.instance_uuid}
    with ThreadPoolExecutor(8) as pool:
        try:
            crowd = [pool.submit(healthy.world.kaasd.api().post_login, "vcenter", {**body, "session_id": f"{i:040x}"}) for i in range(8)]
            healthy.control.await_held(rule)
            healthy.sign_on(healthy.other)
            checks = {check["name"]: check["status"] for check in healthy.world.admin.get("/v2/health")["checks"]}
            assert checks["vcenter:well"] == "ok"
        finally:
            healthy.control.clear_faults()
        assert {one.result().status_code for one in crowd} == {401}


def named(pair: Pair) -> tuple[set[str], set[str]]:
    """The vCenters as health names them, and as the labels of a metric do."""
    checks = {check["name"] for check in pair.world.admin.get("/v2/health")["checks"]}
    return {name.removeprefix("vcenter:") for name in checks if name.startswith("vcenter:")}, {*samples(pair.world.admin, "kaas_watch_up")}


def test_health_and_metrics_name_vcenters_as_people_do(healthy: Pair) -> None:
    assert named(healthy) == ({"hurt", "well"}, {'{vcenter="hurt"}', '{vcenter="well"}'})
    healthy.world.kaasd.ctl.ok("vcenter", "set", "well", "--name", 'a "well" \\ one')
    assert named(healthy) == ({"hurt", 'a "well" \\ one'}, {'{vcenter="hurt"}', '{vcenter="a \\"well\\" \\\\ one"}'})
    text = healthy.world.admin.call("GET", "/metrics").text
    assert not [vcenter for vcenter in (healthy.vcenter, healthy.other) if vcenter.instance_uuid in text]
    assert 'vcenter=""' not in text and 'kaas_certificate_not_after_seconds{what="server"} ' in text
    healthy.world.kaasd.ctl.ok("vcenter", "set", healthy.other.instance_uuid, "--name", "well")


def test_a_session_that_ended_is_renewed_once_and_the_call_succeeds(healthy: Pair) -> None:
    before = str(healthy.control.last_call())
    healthy.control.expire(user=EXTENSION_KEY)  # the watch may notice it before the sign-on does
    healthy.sign_on(healthy.vcenter)
    assert [call["outcome"] for call in healthy.control.calls(op="LoginExtensionByCertificate", after=before)] == ["ok"]


def test_many_that_meet_an_ended_session_share_one_login(healthy: Pair) -> None:
    cookies = [healthy.control.login(VIEWER)["cookie"] for _ in range(6)]
    before = str(healthy.control.last_call())
    healthy.control.expire(user=EXTENSION_KEY)  # the watch may notice it first: its login is then the one they share
    answers: list[int] = []

    def sign_on(cookie: str) -> None:
        body = {"vcenter": healthy.vcenter.instance_uuid, "session_id": cookie}
        answers.append(healthy.world.kaasd.api().post_login("vcenter", body).status_code)

    crowd = [threading.Thread(target=sign_on, args=(cookie,)) for cookie in cookies]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert answers == [200] * len(cookies)
    assert len(healthy.control.calls(op="LoginExtensionByCertificate", after=before)) == 1


def test_a_restart_of_the_vcenter_is_got_over(healthy: Pair) -> None:
    healthy.control.restart(down_ms=500)
    healthy.heal()
    until(lambda: healthy.status(healthy.vcenter)["extension"]["record"] == "ours", "our record")


def test_after_all_this_each_vcenter_has_one_session_of_ours(healthy: Pair) -> None:
    healthy.heal()  # what a call that was given up has left behind is ended with the next look
    until(lambda: (len(healthy.ours(healthy.vcenter)), len(healthy.ours(healthy.other))) == (1, 1), "one session at each")


def test_kaasd_logs_out_when_it_ends(fresh_world: World) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    register(fresh_world.kaasd, fresh_world.vcenter)
    assert [row for row in fresh_world.vcenter.control.sessions() if row["extension_session"]]
    fresh_world.kaasd.stop()
    assert [row for row in fresh_world.vcenter.control.sessions() if row["extension_session"]] == []
