"""Requests that wait until a list changes: what wakes them, what they then may show, how they end, how many there may be."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
import requests
import yaml
from env.api import Api
from env.full import World
from env.places import program
from env.wait import until
from env.watching import metric

pytestmark = pytest.mark.slow
PLACES = 8  # of one session
LONG = 60


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    with World("cw") as whole:
        whole.join()
        yield whole


@pytest.fixture
def admin(own: World) -> Api:
    return own.admin


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    threads = ThreadPoolExecutor(max_workers=PLACES + 2)
    yield threads
    threads.shutdown(wait=False, cancel_futures=True)


def record(world: World, place: str = "DC0/HX-East") -> dict[str, Any]:
    return {
        "name": f"w-{uuid.uuid4().hex[:12]}",
        "kubernetes_version": "1.31.2",
        "control_plane": {"desired": 3},
        "workers": {"desired": 2},
        "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": place}],
    }


def ask(api: Api, cursor: str = "", wait: int | None = None, **query: Any) -> requests.Response:
    more = {} if wait is None else {"wait": wait}
    return api.call("GET", "/v2/clusters", params={"watch": cursor, **more, **query})


def cursor_of(api: Api, **query: Any) -> str:
    answer = ask(api, **query)
    assert answer.status_code == 200
    return answer.headers["KaaS-Watch-Cursor"]


def waiting(world: World) -> int:
    return metric(world.admin, "kaas_list_watches")


def wait_in_background(world: World, pool: ThreadPoolExecutor, api: Api, count: int = 1, others: int = 0,
                       **query: Any) -> list[Future[requests.Response]]:
    """Requests that wait, and are known to; beside that many others."""
    until(lambda: waiting(world) == others, "the end of those before")  # a request is forgotten behind its answer
    cursor = cursor_of(api, **query)
    answers = [pool.submit(ask, api, cursor, LONG, **query) for _ in range(count)]
    until(lambda: waiting(world) == others + count, f"{count} waiting requests")
    assert not any(answer.done() for answer in answers)
    return answers


def names(answer: requests.Response) -> set[str]:
    return {item["name"] for item in answer.json()["items"]}


def test_without_watch_there_is_no_cursor(admin: Api) -> None:
    assert "KaaS-Watch-Cursor" not in admin.call("GET", "/v2/clusters").headers


def test_a_change_ends_the_wait_with_the_new_list(own: World, admin: Api, pool: ThreadPoolExecutor) -> None:
    (answer,) = wait_in_background(own, pool, admin)
    added = admin.expect(201, "POST", "/v2/clusters", json=record(own))
    changed = answer.result(LONG)
    assert changed.status_code == 200 and added["name"] in names(changed)
    (answer,) = wait_in_background(own, pool, admin)
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")
    assert added["name"] not in names(answer.result(LONG))


def test_nothing_changes(admin: Api) -> None:
    cursor = cursor_of(admin)
    answer = ask(admin, cursor, 1)
    assert (answer.status_code, answer.content, answer.headers["KaaS-Watch-Cursor"]) == (204, b"", cursor)
    assert "KaaS-As-Of" in answer.headers
    head = admin.call("HEAD", "/v2/clusters", params={"watch": cursor, "wait": 1})
    assert (head.status_code, head.headers["KaaS-Watch-Cursor"]) == (204, cursor)


def cpu_s(pid: int) -> float:
    """Of all threads of a process, by its own clock (CPUCLOCK_SCHED of Linux's posix-timers.h)."""
    return time.clock_gettime((~pid << 3) | 2)


def test_a_wait_costs_no_time_while_nothing_changes(own: World, admin: Api, pool: ThreadPoolExecutor) -> None:
    """A look before a change is repeated at once. Were every look taken for such a one, a core would be half busy with it."""
    assert own.kaasd.process
    pid, wait_s = own.kaasd.process.pid, 2
    (answer,) = wait_in_background(own, pool, admin)
    used = cpu_s(pid)
    time.sleep(wait_s)
    assert cpu_s(pid) - used < wait_s / 4
    admin.expect(201, "POST", "/v2/clusters", json=record(own))
    assert answer.result().status_code == 200


def test_a_wait_in_vain_is_logged_for_debugging_only(own: World, admin: Api) -> None:
    """Every open page has one every five seconds."""
    process = own.kaasd.process
    assert process
    for answer, status, level in ((ask(admin, cursor_of(admin), wait=1), 204, "debug"), (ask(admin), 200, "info")):
        known = answer.headers["KaaS-Request-Id"]
        assert answer.status_code == status
        process.wait_until(lambda known=known: known in process.log, "the request in the log")
        (line,) = [line for line in process.log.splitlines() if known in line]
        assert f"level={level} " in line


def test_changes_elsewhere_do_not_end_it(own: World, admin: Api, pool: ThreadPoolExecutor) -> None:
    """The cursor is what can be seen of the query, on all its pages."""
    (answer,) = wait_in_background(own, pool, admin, hx_cluster="HX-West")
    cursor = cursor_of(admin, limit=1)
    east = admin.expect(201, "POST", "/v2/clusters", json=record(own))
    assert ask(admin, cursor, LONG, limit=1).status_code == 200
    assert not answer.done()
    west = admin.expect(201, "POST", "/v2/clusters", json=record(own, "DC0/HX-West"))
    assert names(answer.result(LONG)) >= {west["name"]}
    for known in (east, west):
        admin.expect(204, "DELETE", f"/v2/clusters/{known['id']}")


def test_a_change_of_the_total_alone_ends_the_wait(own: World, admin: Api, pool: ThreadPoolExecutor) -> None:
    before = admin.get("/v2/clusters", limit=1)
    (answer,) = wait_in_background(own, pool, admin, limit=1)
    added = admin.expect(201, "POST", "/v2/clusters", json=record(own))  # far behind that page
    changed = answer.result(LONG)
    assert (changed.status_code, changed.json()) == (200, {**before, "total": before["total"] + 1})
    (answer,) = wait_in_background(own, pool, admin, offset=500)
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")
    assert answer.result(LONG).json() == {"items": [], "total": before["total"], "next_cursor": None}


def test_a_cursor_holds_for_every_page_and_order(admin: Api) -> None:
    cursor = cursor_of(admin, sort="-state", limit=2, offset=1)
    assert ask(admin, cursor, 1, limit=1).status_code == 204


def test_a_cursor_of_anything_else_is_answered_at_once(own: World, admin: Api) -> None:
    everything, west = cursor_of(admin), cursor_of(admin, hx_cluster="HX-West")
    assert everything != west
    for stranger in (west, "0", "0123456789abcdef", "z" * 64):
        assert ask(admin, stranger, LONG).status_code == 200


def test_bad_questions(admin: Api) -> None:
    for query in ({"wait": 5}, {"watch": "", "wait": 0}, {"watch": "", "wait": 61}, {"watch": "", "wait": "x"}, {"watch": "A b"},
                  {"watch": "a" * 65}):
        assert admin.refused(400, "invalid_request", "GET", "/v2/clusters", params=query)["parameter"] in ("wait", "watch")


def test_what_may_no_longer_be_seen_is_not_shown(own: World, pool: ThreadPoolExecutor) -> None:
    """Rights are those of the time of the answer: a permission that is taken away at the vCenter ends the wait without what it gave."""
    viewer = own.by_ticket("viewer-east")
    (answer,) = wait_in_background(own, pool, viewer)
    seen = names(ask(viewer))
    own.vcenter.control.forbid("domain-c7", "VSPHERE.LOCAL\\viewer-east")
    try:
        changed = answer.result(LONG)
        assert changed.status_code == 200
        assert seen and not names(changed) & seen
    finally:
        own.vcenter.control.permit("domain-c7", "VSPHERE.LOCAL\\viewer-east")


def test_the_end_of_the_session_ends_the_wait(own: World, pool: ThreadPoolExecutor) -> None:
    viewer = own.by_ticket("viewer-east")
    (answer,) = wait_in_background(own, pool, viewer)
    viewer.expect(204, "POST", "/v2/logout")
    ended = answer.result(LONG)
    assert (ended.status_code, ended.json()["code"]) == (401, "session_ended")


def test_places_are_bounded(own: World, pool: ThreadPoolExecutor) -> None:
    viewer = own.by_ticket("viewer-east")
    answers = wait_in_background(own, pool, viewer, PLACES)
    cursor = cursor_of(viewer)  # answers at once need no place
    refused = ask(viewer, cursor, LONG)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
    assert int(refused.headers["Retry-After"]) > 0
    other = own.by_ticket("viewer-dc")
    wait_in_background(own, pool, other, others=PLACES)  # places of one are not another's
    viewer.expect(204, "POST", "/v2/logout")
    other.expect(204, "POST", "/v2/logout")
    assert {answer.result(LONG).status_code for answer in answers} == {401}
    until(lambda: waiting(own) == 0, "the end of all waits")


def test_a_client_that_goes_away_gives_its_place_back(own: World, admin: Api) -> None:
    context = ssl.create_default_context(cafile=str(own.kaasd.tls.ca_file))
    clients = []
    for _ in range(PLACES):
        client = context.wrap_socket(socket.create_connection(("127.0.0.1", own.kaasd.port)), server_hostname="127.0.0.1")
        cursor = cursor_of(admin)
        client.sendall(f"GET /v2/clusters?watch={cursor}&wait={LONG} HTTP/1.1\r\nHost: localhost\r\n"
                       f"Authorization: Bearer {admin.token}\r\n\r\n".encode())
        clients.append(client)
    until(lambda: waiting(own) == PLACES, "all waiting")
    for client in clients:
        client.close()
    until(lambda: waiting(own) == 0, "all places given back")


def test_many_wait_while_much_changes(own: World, admin: Api, pool: ThreadPoolExecutor) -> None:
    """Everybody hears of the last change, whatever came in between."""
    stop = threading.Event()
    last: list[str] = []

    def follow(api: Api) -> set[str]:
        cursor, held = "", set[str]()
        while not stop.is_set() or not last or last[0] not in held:
            answer = ask(api, cursor, 2)
            cursor = answer.headers["KaaS-Watch-Cursor"]
            held = names(answer) if answer.status_code == 200 else held
        return held

    followers = [pool.submit(follow, own.by_ticket("viewer-east")) for _ in range(PLACES)]
    added = [admin.expect(201, "POST", "/v2/clusters", json=record(own)) for _ in range(20)]
    last.append(added[-1]["name"])
    stop.set()
    for follower in followers:
        assert follower.result(LONG) >= {known["name"] for known in added}
    for known in added:
        admin.expect(204, "DELETE", f"/v2/clusters/{known['id']}")


def test_kaasctl_shows_each_change(own: World, admin: Api) -> None:
    command = [program("kaasctl"), "--config", str(own.kaasd.config), "cluster", "list", "--watch", "--hx-cluster", "HX-West"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as follower:
        assert follower.stdout
        try:
            shown = [next(follower.stdout), next(follower.stdout)]
            assert shown[0].endswith("Z\n") and shown[1].startswith("NAME")
            until(lambda: waiting(own) == 1, "the wait of kaasctl")
            added = admin.expect(201, "POST", "/v2/clusters", json=record(own, "DC0/HX-West"))
            assert any(line.startswith(added["name"]) for line in follower.stdout)
        finally:
            follower.terminate()
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_kaasctl_tells_programs_each_change_by_itself(own: World, admin: Api, form: str) -> None:
    command = [program("kaasctl"), "--config", str(own.kaasd.config), "cluster", "list", "--watch", "--hx-cluster", "HX-West", "-o", form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as follower:
        assert follower.stdout
        try:
            until(lambda: waiting(own) == 1, "the wait of kaasctl")
            added = admin.expect(201, "POST", "/v2/clusters", json=record(own, "DC0/HX-West"))
            lines: list[str] = []
            while form == "yaml" and not any(added["name"] in line for line in lines):
                lines.append(next(follower.stdout))
            first, second = (yaml.safe_load_all("".join(lines)) if form == "yaml" else
                             (json.loads(next(follower.stdout)), json.loads(next(follower.stdout))))
        finally:
            follower.terminate()
    assert [list(one) for one in (first, second)] == [["at", "items"]] * 2
    assert added["name"] not in str(first["items"]) and added["name"] in str(second["items"])
    assert datetime.fromisoformat(second["at"] if form == "json" else str(second["at"])).tzinfo
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


def test_the_stop_ends_waits_at_once(own: World, admin: Api, pool: ThreadPoolExecutor) -> None:
    answers = wait_in_background(own, pool, admin, 3)
    own.kaasd.stop()
    try:
        for answer in answers:
            ended = answer.result(LONG)
            assert (ended.status_code, ended.json()["code"]) == (503, "unavailable")
            assert int(ended.headers["Retry-After"]) > 0
    finally:
        own.kaasd.start()
