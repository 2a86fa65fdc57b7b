"""Rights of many people against a vCenter that counts: bounded questions, nobody waits, events act at once, outages."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from env import vimclient
from env.api import Api
from env.clock import Clock, clocked_world
from env.full import World
from env.panels import Panels
from env.samples import WEST, visible_to
from env.wait import until
from env.watching import metric, until_watching

pytestmark = [pytest.mark.slow, pytest.mark.long(83)]
RATE, BURST, IN_FLIGHT = 5, 5, 3  # a second's worth goes out at once after a pause; so many are under way at most
FRESH_S = 2
WAIT_S = 10  # a request waits no longer for an answer about rights
PEOPLE, SESSIONS, ACTIVE = 20, 60, 16
HX_EAST = "domain-c7"
BY_KEY, BY_NAME = "HasPrivilegeOnEntities", "HasUserPrivilegeOnEntities"
OPTIONS = {"auth": {"rights_fresh": f"{FRESH_S}s", "rights_recheck_rate": RATE}}


class Questions:
    """What the vCenter is asked about rights from now on. Sums only: how they are spread over time is judged in the unit tests, by a fake
    clock. The time that is measured encloses what is counted, so no delay of anybody makes the sum too large."""

    def __init__(self, world: World) -> None:
        self._control = world.vcenter.control
        self._began = time.monotonic()
        self._after = str(self._control.last_call())

    def asked(self, *operations: str) -> int:
        return sum(len(self._control.calls(op=op, after=self._after)) for op in operations)

    def seconds(self) -> float:
        return time.monotonic() - self._began

    def keep_to_the_rate(self) -> bool:
        return self.asked(BY_KEY, BY_NAME) <= IN_FLIGHT + BURST + RATE * self.seconds()


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[World, Clock]]:
    with clocked_world("r", options=OPTIONS) as (whole, clock):
        whole.join()
        until_watching(whole)  # what the registration brings about drops rights
        yield whole, clock


@pytest.fixture
def world(place: tuple[World, Clock]) -> World:
    return place[0]


@pytest.fixture(scope="module")
def crowd(place: tuple[World, Clock]) -> list[Api]:
    """60 sessions of 20 people; each by the cookie of a vCenter session of its own."""
    world, _ = place
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


def test_60_sessions_of_which_16_are_active_stay_under_the_rate(world: World, crowd: list[Api]) -> None:
    questions = Questions(world)
    with Panels(crowd[:ACTIVE], 0.2) as work:
        until(lambda: questions.asked(BY_KEY) >= 2 * ACTIVE, "two questions for each who is active")
    assert questions.keep_to_the_rate()
    assert {status for _, status, _ in work.answers} == {200}
    assert all(names == visible_to("viewer-east") for _, _, names in work.answers)
    assert metric(world.admin, "kaas_rights_refused_total") == 0


def test_nobody_is_asked_about_once_all_are_idle(place: tuple[World, Clock], crowd: list[Api]) -> None:
    """Silence for ten fresh times, while 60 sessions live on."""
    world, clock = place
    for one in crowd[:ACTIVE]:
        assert one.names() == visible_to("viewer-east")

    def silence() -> bool:
        questions = Questions(world)
        clock.advance(10 * FRESH_S, 1)  # with longer steps, a question on its way would look like a vCenter that hangs
        return questions.asked(BY_KEY, BY_NAME) == 0

    until(silence, "silence")
    assert crowd[-1].names() == visible_to("viewer-east")


def test_sessions_of_one_person_by_ticket_share_the_question(world: World) -> None:
    sessions = []
    for _ in range(8):
        with vimclient.session(world.vcenter, world.vcenter.users["viewer-east"]) as instance:
            sessions.append(world.kaasd.api().login_ticket(world.vcenter.instance_uuid, vimclient.clone_ticket(instance)))
    questions = Questions(world)
    with Panels(sessions, 0.1) as work:
        until(lambda: questions.asked(BY_NAME) >= 3, "questions by name")
        assert questions.asked(BY_NAME) <= 2 + questions.seconds()  # one each 1.3 s for all eight, not eight
    assert {status for _, status, _ in work.answers} == {200}


def test_after_an_event_for_everybody_nothing_older_is_used(world: World, crowd: list[Api]) -> None:
    """The storm keeps to the rate; whoever asks gets the new answer, or is told when to come back."""
    control = world.vcenter.control

    def served(work: Panels, last: int) -> set[tuple[str, ...]]:
        """The lists that were shown of late, and none as long as there are not enough."""
        lists = [tuple(names) for _, status, names in work.answers if status == 200][-last:]
        return set(lists) if len(lists) == last else set()

    with Panels(crowd[:ACTIVE], 0.1) as work:
        until(lambda: served(work, ACTIVE) == {tuple(visible_to("viewer-east"))}, "work")
        questions = Questions(world)
        for i in range(PEOPLE):
            control.forbid(HX_EAST, f"VSPHERE.LOCAL\\person-{i}")
        try:
            until(lambda: served(work, 2 * ACTIVE) == {()}, "the loss of the permission")
        finally:
            for i in range(PEOPLE):
                control.permit(HX_EAST, f"VSPHERE.LOCAL\\person-{i}")
        until(lambda: served(work, ACTIVE) == {tuple(visible_to("viewer-east"))}, "the permission given back")
    assert {status for _, status, _ in work.answers} <= {200, 503}
    assert questions.keep_to_the_rate()


# -- events: what drops an answer is not its age, which is never counted as a drop ---------------------------------------------


@pytest.fixture(scope="module")
def slow() -> Iterator[tuple[World, Clock]]:
    with clocked_world("c", hurries_calls=True) as (whole, clock):
        whole.join()
        until_watching(whole)
        yield whole, clock


@pytest.fixture
def calm(slow: tuple[World, Clock]) -> World:
    return slow[0]


def drops(world: World) -> int:
    return metric(world.admin, "kaas_rights_dropped_total")


def test_a_removed_permission_acts_through_its_event(calm: World) -> None:
    viewer, other = calm.by_ticket("viewer-east"), calm.by_ticket("viewer-dc")
    assert viewer.names() == visible_to("viewer-east")
    assert other.names() == visible_to("viewer-dc")
    dropped = drops(calm)
    calm.vcenter.control.forbid(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    try:
        until(lambda: viewer.names() == [], "the loss of the permission")
        assert drops(calm) > dropped
    finally:
        calm.vcenter.control.permit(HX_EAST, "VSPHERE.LOCAL\\viewer-east")
    until(lambda: viewer.names() == visible_to("viewer-east"), "the permission given back")
    assert other.names() == visible_to("viewer-dc")


def test_a_removed_permission_of_a_group_acts_through_its_event(calm: World) -> None:
    control = calm.vcenter.control
    ada = calm.kaasd.api().login_session(calm.vcenter.instance_uuid, control.login("ada@corp.example.test")["cookie"])
    assert ada.names() == visible_to("viewer-dc", WEST)
    dropped = drops(calm)
    control.forbid("domain-c70", "CORP\\hx-viewers", group=True)
    try:
        until(lambda: ada.call("GET", "/v2/clusters").json().get("items") == [], "the loss of the permission")
        assert drops(calm) > dropped
    finally:
        control.permit("domain-c70", "CORP\\hx-viewers", group=True)
    until(lambda: ada.names() == visible_to("viewer-dc", WEST), "the permission given back")


def test_a_cluster_where_none_was_before_shows(calm: World) -> None:
    """C-Plain carried nothing, so nobody was asked about it; whoever is active is asked now (how soon: the unit tests)."""
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
    until(lambda: "on-plain" in viewer.names(), "the new cluster")
    calm.admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


# -- a vCenter that hangs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def hanging(calm: World) -> Iterator[World]:
    yield calm
    calm.vcenter.control.clear_faults()


def test_reads_do_not_wait_for_a_vcenter_that_hangs(hanging: World) -> None:
    viewer = hanging.by_ticket("viewer-east")
    hanging.vcenter.control.fault("*", "hang")
    for _ in range(20):
        assert viewer.names() == visible_to("viewer-east")  # who waited for the vCenter would be told that it does not answer


def test_a_hanging_vcenter_holds_no_thread_of_the_database(hanging: World, slow: tuple[World, Clock]) -> None:
    """Sessions of another replica whose rights must be asked: more of them than the database pool has threads."""
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
            slow[1].advance(WAIT_S)
            answers = [one.result() for one in waiting]
        assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "rights_unknown")}
        assert all("Retry-After" in answer.headers for answer in answers)
        hanging.vcenter.control.clear_faults()
        until(lambda: second.api(viewers[0].token).call("GET", "/v2/clusters").status_code == 200, "the rights")
    finally:
        second.stop()
