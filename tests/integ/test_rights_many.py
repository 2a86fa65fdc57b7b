"""Rights of many people against a vCenter that counts: bounded questions, nobody waits, events act at once, outages."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
import requests
from world import vimclient
from world.api import Api
from world.full import World
from world.panels import Panels
from world.samples import WEST, visible_to
from world.wait import until

LIMIT_S = 60
RATE = 5
PEOPLE, SESSIONS, ACTIVE = 60, 300, 40
HX_EAST = "domain-c7"
BY_KEY, BY_NAME = "HasPrivilegeOnEntities", "HasUserPrivilegeOnEntities"
OPTIONS = {"auth": {"rights_fresh": "2s", "rights_recheck_rate": RATE}}


def asked(world: World, op: str = BY_KEY) -> list[float]:
    """When the vCenter was asked about rights, in seconds."""
    return sorted(datetime.fromisoformat(call["time"]).timestamp() for call in world.vcenter.control.calls(op=op))


def most_over_the_rate(times: list[float]) -> float:
    """By how many questions the worst window of any length is over rate * length + one second's worth."""
    worst, low = -1e9, 0.0  # the bucket, run backwards: how deep it would have been drawn
    for last, then in zip([*times[:1], *times], times, strict=False):
        low = max(0.0, low - (then - last) * RATE) + 1
        worst = max(worst, low - RATE)
    return worst


def metric(world: World, name: str) -> int:
    text = requests.get(f"{world.kaasd.url}/metrics", verify=str(world.kaasd.tls.ca_file), timeout=LIMIT_S).text
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("r", options=OPTIONS) as whole:
        whole.join()
        yield whole


@pytest.fixture(scope="module")
def crowd(world: World) -> list[Api]:
    """300 sessions of 60 people; each by the cookie of a vCenter session of its own."""
    control = world.vcenter.control
    for i in range(PEOPLE):
        control.call("POST", "/users", {"name": f"person-{i}", "password": "P-1234567", "full_name": f"Person {i}"})
        control.permit(HX_EAST, f"VSPHERE.LOCAL\\person-{i}")

    def sign_in(i: int) -> Api:
        cookie = control.login(f"person-{i % PEOPLE}@vsphere.local")["cookie"]
        return world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(sign_in, range(SESSIONS)))


# -- many ------------------------------------------------------------------------------------------------------------------


def test_300_sessions_of_which_40_are_active_stay_under_the_rate(world: World, crowd: list[Api]) -> None:
    until(lambda: (not (times := asked(world))) or time.time() - times[-1] > 6, "quiet after the sign-ons")
    world.vcenter.control.forget_calls()
    with Panels(crowd[:ACTIVE]) as work:
        until(lambda: len(asked(world)) >= 2 * ACTIVE, "two questions for each who is active")
    times = asked(world)
    assert {status for _, status, _ in work.answers} == {200}
    assert all(names == visible_to("viewer-east") for _, _, names in work.answers)
    assert len(work.answers) > 3 * len(times), "answers must come from memory"
    assert most_over_the_rate(times) <= 1, times  # one for what the two clocks and the way between make of a second
    assert metric(world, "kaas_rights_questions_total") >= len(times)
    assert metric(world, "kaas_rights_refused_total") == 0


def test_nobody_is_asked_about_once_all_are_idle(world: World, crowd: list[Api]) -> None:
    """Silence for four fresh times, while 300 sessions live on."""
    until(lambda: (not (times := asked(world))) or time.time() - times[-1] > 8, "quiet")
    assert crowd[-1].names() == visible_to("viewer-east")


def test_sessions_of_one_person_by_ticket_share_the_question(world: World) -> None:
    sessions = []
    for _ in range(8):
        with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
            sessions.append(world.kaasd.api().login_ticket(world.vcenter.instance_uuid, vimclient.clone_ticket(instance)))
    world.vcenter.control.forget_calls()
    with Panels(sessions, 0.2) as work:
        until(lambda: len(asked(world, BY_NAME)) >= 5, "questions by name")
    times = asked(world, BY_NAME)
    assert times[-1] - times[0] > len(times) - 1  # about one each 1.3 s for all eight, not eight
    assert {status for _, status, _ in work.answers} == {200}


def test_after_an_event_for_everybody_nothing_older_is_used(world: World, crowd: list[Api]) -> None:
    """The storm keeps to the rate; whoever asks gets the new answer, or is told when to come back."""
    control = world.vcenter.control
    with Panels(crowd[:ACTIVE], 0.3) as work:
        until(lambda: len(work.answers) > 2 * ACTIVE, "work")
        control.forget_calls()
        for i in range(PEOPLE):
            control.forbid(HX_EAST, f"VSPHERE.LOCAL\\person-{i}")
        try:
            until(lambda: {tuple(n) for at, s, n in work.answers[-2 * ACTIVE :] if s == 200} == {()}, "the loss of the permission")
        finally:
            for i in range(PEOPLE):
                control.permit(HX_EAST, f"VSPHERE.LOCAL\\person-{i}")
        until(lambda: all(n for _, s, n in work.answers[-ACTIVE:] if s == 200), "the permission given back")
    assert {status for _, status, _ in work.answers} <= {200, 503}
    assert most_over_the_rate(sorted(asked(world) + asked(world, BY_NAME))) <= 4  # three under way go beyond, one is for the clocks


# -- the fresh time at its default: only an event can be so quick ------------------------------------------------------------


@pytest.fixture(scope="module")
def calm() -> Iterator[World]:
    with World("c") as whole:
        whole.join()
        yield whole


def test_a_removed_permission_acts_through_its_event(calm: World) -> None:
    viewer, other = calm.by_ticket("viewer-east"), calm.by_ticket("viewer-dc")
    assert viewer.names() == visible_to("viewer-east")
    assert other.names() == visible_to("viewer-dc")
    calm.vcenter.control.forget_calls()
    calm.vcenter.control.forbid(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    try:
        until(lambda: viewer.names() == [], "the loss of the permission", 15)  # asked again by itself after 20 s
    finally:
        calm.vcenter.control.permit(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    until(lambda: viewer.names() == visible_to("viewer-east"), "the permission given back", 15)
    assert other.names() == visible_to("viewer-dc")


def test_a_removed_permission_of_a_group_acts_through_its_event(calm: World) -> None:
    control = calm.vcenter.control
    ada = calm.kaasd.api().login_session(calm.vcenter.instance_uuid, control.login("ada@corp.example.test")["cookie"])
    assert ada.names() == visible_to("viewer-dc", WEST)
    control.forbid("domain-c70", "CORP\\hx-viewers", group=True)
    try:
        until(lambda: ada.call("GET", "/v2/clusters").json().get("items") == [], "the loss of the permission", 15)
    finally:
        control.permit("domain-c70", "CORP\\hx-viewers", group=True)
    until(lambda: ada.names() == visible_to("viewer-dc", WEST), "the permission given back", 15)


def test_a_cluster_where_none_was_before_shows_at_once(calm: World) -> None:
    """C-Plain carried nothing, so nobody was asked about it; whoever is active is asked before the fresh time is over."""
    viewer = calm.by_ticket("viewer-dc")
    assert "on-plain" not in viewer.names()
    body = {
        "name": "on-plain",
        "kubernetes_version": "1.31.2",
        "control_plane": {"desired": 1},
        "workers": {"desired": 0},
        "vsphere_clusters": [{"vcenter_id": calm.vcenter.instance_uuid, "moref": "domain-c40"}],
    }
    added = calm.admin.expect(201, "POST", "/v2/clusters", json=body)
    until(lambda: "on-plain" in viewer.names(), "the new cluster", 15)
    calm.admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


# -- a vCenter that hangs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def hanging(calm: World) -> Iterator[World]:
    yield calm
    calm.vcenter.control.clear_faults()


def test_reads_do_not_wait_for_a_vcenter_that_hangs(hanging: World) -> None:
    viewer = hanging.by_ticket("viewer-east")
    hanging.vcenter.control.fault("*", "hang")
    begin = time.monotonic()
    for _ in range(20):
        assert viewer.names() == visible_to("viewer-east")
    assert time.monotonic() - begin < 20  # one wait for it alone would be longer than all of these


def test_a_hanging_vcenter_holds_no_thread_of_the_database(hanging: World) -> None:
    """Sessions of another replica whose rights must be asked: more of them than the database lane has threads."""
    viewers = [hanging.by_ticket(name) for name in ("viewer-east", "viewer-dc", "no-rights")]
    second = hanging.kaasd.beside("second")
    second.start()
    try:
        admin = hanging.admin
        late = [hanging.by_ticket("viewer-east") for _ in range(12)]  # made after the second one has read the sessions
        hanging.vcenter.control.fault(BY_NAME, "hang")
        strangers = [second.api(one.token) for one in late + viewers]
        with ThreadPoolExecutor(len(strangers)) as pool:
            waiting = [pool.submit(one.call, "GET", "/v2/clusters") for one in strangers]
            for turn in range(10):
                token = second.api(admin.token).expect(200, "POST", "/v2/token/refresh")["access_token"]
                assert turn or not all(one.done() for one in waiting)  # the vCenter is given up after a while
                admin = admin.as_token(token)
            answers = [one.result() for one in waiting]
        assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "rights_unknown")}
        assert all("Retry-After" in answer.headers for answer in answers)
        hanging.vcenter.control.clear_faults()
        until(lambda: second.api(viewers[0].token).call("GET", "/v2/clusters").status_code == 200, "the rights")
    finally:
        second.stop()
