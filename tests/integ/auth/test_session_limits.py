"""One person who signs on without end: as many sessions as one may have and no more, on two replicas, in nobody's way."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import requests
from env import forge
from env.api import Api
from env.full import World
from env.kaasd import Kaasd
from env.places import program
from env.process import run
from env.wait import until
from env.watching import metric

pytestmark = [pytest.mark.slow, pytest.mark.long(40)]
MAX = 10
OPTIONS = {"auth": {"sessions_per_principal": MAX, "signon_rate": 0}}
BURST_S = 30
PASSWORD = "seven swans in a paper boat"
WATCHES_OF_A_SESSION, WATCHES_OF_A_PERSON = 8, 64
LIVE = "SELECT COUNT(*) FROM sessions WHERE principal_id = %s AND revoked_at_ms = 0"


class Pair:
    """Two replicas."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.both = (world.kaasd, world.kaasd.beside("second", options=OPTIONS))
        self.both[1].start()

    def cookie(self, user: str) -> str:
        return str(self.world.vcenter.control.login(f"{user}@vsphere.local")["cookie"])

    def sign_in(self, cookie: str, at: int = 0) -> Api:
        return self.both[at].api().login_session(self.world.vcenter.instance_uuid, cookie)

    def live(self, principal: str) -> int:
        return int(self.world.db.query(LIVE, principal, database="kaas")[0][0])

    def code(self, api: Api, at: int) -> str:
        """What the other replica says to this token, too."""
        return str(self.both[at].api(api.token).call("GET", "/v2/whoami").json().get("code", "good"))


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with World("lim", options=OPTIONS) as world, ExitStack() as stack:
        world.join()
        two = Pair(world)
        stack.callback(two.both[1].stop)
        yield two


@pytest.fixture(scope="module")
def crowd(pair: Pair) -> list[Api]:
    """Sessions of somebody without any rights, many more than one may have, opened at both replicas at once: in the order of opening."""
    cookie = pair.cookie("no-rights")
    with ThreadPoolExecutor(max_workers=8) as pool:
        opened = list(pool.map(lambda n: pair.sign_in(cookie, n % 2), range(8 * MAX)))
    return [*opened, *(pair.sign_in(cookie, n % 2) for n in range(MAX))]  # by itself: which ones are the newest is certain


def principal_of(api: Api) -> str:
    return str(forge.claims_of(api.token or "")["sub"])


# -- how many ------------------------------------------------------------------------------------------------------------------------


def test_one_more_ends_the_oldest(pair: Pair, crowd: list[Api]) -> None:
    assert pair.live(principal_of(crowd[0])) == MAX
    for at in range(2):
        assert {pair.code(api, at) for api in crowd[-MAX:]} == {"good"}
        for api in crowd[:-MAX]:
            until(lambda api=api, at=at: pair.code(api, at) == "session_ended", "the end of a session")  # type: ignore[misc]


def test_the_audit_trail_tells_why(pair: Pair, crowd: list[Api]) -> None:
    rows = pair.world.db.query("SELECT result, source, reason FROM audit WHERE action = 'session.end' AND principal_id = %s",
                               principal_of(crowd[0]), database="kaas")
    assert len(rows) == len(crowd) - MAX
    assert {row[:2] for row in rows} == {("session_ended", "vcenter-session")}
    assert all(f"signed in again with {MAX} sessions" in row[2] for row in rows)
    assert pair.world.kaasd.ctl.run("audit", "verify").returncode == 0


def test_others_and_administrators_sign_on(pair: Pair, crowd: list[Api]) -> None:
    assert crowd
    for at, daemon in enumerate(pair.both):
        viewer = pair.sign_in(pair.cookie("viewer-east"), at)
        assert viewer.names()
        admin = daemon.api().login_password("admin", pair.world.kaasd.admin_password)
        listed = {row["principal_id"] for row in admin.items("/v2/sessions", limit=7)}
        assert {principal_of(viewer), principal_of(admin), principal_of(crowd[-1])} <= listed
        mine = [row for row in admin.items("/v2/sessions", principal=principal_of(crowd[-1]))]
        assert len(mine) == MAX


def test_what_is_taken_away_counts_at_once(pair: Pair, crowd: list[Api]) -> None:
    """The change feed is read as ever."""
    admin, name = pair.world.admin, "limited"
    user = admin.expect(201, "POST", "/v2/users", json={"name": name, "role": "user", "password": "a long enough password",
                                                        "must_change_password": False}, headers={"X-KaaS": "1"})
    api = pair.both[0].api().login_password(name, "a long enough password")
    cluster = next(item["id"] for item in admin.items("/v2/clusters"))
    grant = admin.expect(201, "POST", "/v2/grants",
                         json={"principal_id": f"local:{user['id']}", "object_kind": "cluster", "object_id": cluster})
    sees = [daemon.api(api.token) for daemon in pair.both]
    until(lambda: all(each.names() for each in sees), "the grant on both")
    for _ in range(MAX):
        pair.sign_in(pair.cookie("no-rights"))
    admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")
    until(lambda: not any(each.names() for each in sees), "the end of the grant on both")
    admin.expect(200, "PATCH", f"/v2/users/{user['id']}", json={"disabled": True},
                 headers={"Content-Type": "application/merge-patch+json"})
    for at in range(2):
        until(lambda at=at: pair.code(api, at) == "session_ended", "the end of the session")  # type: ignore[misc]
    assert not any("change_not_applied" in daemon.process.log for daemon in pair.both if daemon.process)
    assert crowd


# -- how fast ------------------------------------------------------------------------------------------------------------------------


def try_on(daemon: Kaasd, vcenter: str, cookie: str) -> requests.Response:
    return daemon.api().post_login("vcenter", {"vcenter": vcenter, "session_id": cookie})


def test_good_sign_ons_are_paced_and_a_reload_changes_that(pair: Pair) -> None:
    vcenter, cookie = pair.world.vcenter.instance_uuid, pair.cookie("viewer-dc")
    paced = pair.world.kaasd.beside("paced", options={"auth": {"sessions_per_principal": 3, "signon_rate": 1}})
    paced.start()
    try:
        answers = [try_on(paced, vcenter, cookie) for _ in range(BURST_S)]
        assert {answer.status_code for answer in answers} == {200}
        while (refused := try_on(paced, vcenter, cookie)).status_code == 200:  # as many as time has gone by
            pass
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert int(refused.headers["Retry-After"]) == 1 and refused.json()["remedy"]
        until(lambda: reasons_of(pair, "login", "too_many_requests"), "the line in the audit log")
        assert all("auth.signon_rate" in reason for reason in reasons_of(pair, "login", "too_many_requests"))
        assert try_on(paced, vcenter, pair.cookie("viewer-east")).status_code == 200  # somebody else
        assert try_on(pair.both[0], vcenter, cookie).status_code == 200  # each replica counts by itself
        assert pair.live(principal_of(pair.both[0].api(answers[0].json()["access_token"]))) == 4  # three by then, and that one
        assert kaasctl_waits_for_its_turn(pair, paced)
        paced.write_config({**reloaded(pair, paced), "auth": {"sessions_per_principal": 2, "signon_rate": 0}})
        assert paced.process
        paced.process.signal(signal.SIGHUP)
        until(lambda: "event=reloaded" in paced.process.log, "the reload")  # type: ignore[union-attr]
        last = [try_on(paced, vcenter, cookie) for _ in range(2 * BURST_S)][-1]
        assert last.status_code == 200
        assert pair.live(principal_of(paced.api(last.json()["access_token"]))) == 2
        assert "event=restart_needed" not in paced.process.log
    finally:
        paced.stop()


# -- in nobody's way ---------------------------------------------------------------------------------------------------------------------


def test_sign_ons_at_the_cap_wait_for_no_lock(pair: Pair) -> None:
    """Beside sign-outs, of sessions that ended to make room, too, and beside somebody whose account is disabled again and again: rows are
    waited for before the audit log of the replica is taken, not while."""
    admin, merge = pair.both[0].admin(), {"Content-Type": "application/merge-patch+json"}
    user = admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json={
        "name": "now-and-then", "role": "user", "password": PASSWORD, "must_change_password": False})
    cookies = [pair.cookie(name) for name in ("no-rights", "viewer-east", "viewer-dc")]

    def come_and_go(n: int) -> None:
        opened: list[Api] = []
        for _ in range(2 * MAX):
            opened.append(pair.sign_in(cookies[n % len(cookies)]))
            if len(opened) > MAX // 2:
                opened.pop(0).call("POST", "/v2/logout")

    def disable(_: int) -> None:
        for n in range(MAX):
            pair.both[0].api().post_login("password", {"username": "now-and-then", "password": PASSWORD})
            admin.expect(200, "PATCH", f"/v2/users/{user['id']}", json={"disabled": n % 2 == 0}, headers=merge)

    with ThreadPoolExecutor(max_workers=9) as pool:
        for done in [pool.submit(disable, 0), *(pool.submit(come_and_go, n) for n in range(8))]:
            done.result()
    for daemon in pair.both:
        assert daemon.process and "event=database_lock" not in daemon.process.log


def reasons_of(pair: Pair, action: str, result: str) -> list[str]:
    rows = pair.world.db.query("SELECT reason FROM audit WHERE action = %s AND result = %s", action, result, database="kaas")
    return [row[0] or "" for row in rows]


def kaasctl_waits_for_its_turn(pair: Pair, paced: Kaasd) -> bool:
    """As each command of a long script does."""
    password = pair.world.kaasd.admin_password
    while paced.api().post_login("password", {"username": "admin", "password": password}).status_code == 200:
        pass
    door = ["--server", paced.url, "--ca-file", paced.tls.ca_file, "--user", "admin", "--password-file", "-"]
    return run([program("kaasctl"), *door, "whoami"], stdin=password + "\n").returncode == 0


def reloaded(pair: Pair, daemon: Kaasd) -> dict[str, dict[str, str]]:
    """What a replica has of the first one (Kaasd.beside)."""
    first = pair.world.kaasd
    return {"secrets": {"master_key_file": str(first.folder / "master.key")},
            "database": {"socket": str(daemon.database_socket), "password_file": str(first.folder / "database.password")},
            "server": {"listen": f"127.0.0.1:{daemon.port}", "public_url": first.url, "tls_certificate": str(daemon.tls.cert_file),
                       "tls_key": str(daemon.tls.key_file), "admin_socket": str(daemon.folder / "admin.sock")},
            "replica": {"name": daemon.name}}


# -- places of those who wait for a list --------------------------------------------------------------------------------------------------


def test_one_person_cannot_have_all_places_of_waiting(pair: Pair) -> None:
    daemon = pair.both[0]
    admin, cookie = daemon.admin(), pair.cookie("viewer-east")
    sessions = [pair.sign_in(cookie) for _ in range(WATCHES_OF_A_PERSON // WATCHES_OF_A_SESSION + 1)]
    cursor = sessions[0].call("GET", "/v2/clusters", params={"watch": ""}).headers["KaaS-Watch-Cursor"]
    context = ssl.create_default_context(cafile=str(daemon.tls.ca_file))
    with ExitStack() as stack:
        for session in sessions[:-1]:
            for _ in range(WATCHES_OF_A_SESSION):
                raw = socket.create_connection(("127.0.0.1", daemon.port))
                line = stack.enter_context(context.wrap_socket(raw, server_hostname="127.0.0.1"))
                line.sendall(f"GET /v2/clusters?watch={cursor}&wait=60 HTTP/1.1\r\nHost: localhost\r\n"
                             f"Authorization: Bearer {session.token}\r\n\r\n".encode())
        until(lambda: metric(admin, "kaas_list_watches") == WATCHES_OF_A_PERSON, "all waiting")
        refused = sessions[-1].call("GET", "/v2/clusters", params={"watch": cursor, "wait": 60})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert "one person" in refused.json()["detail"] and int(refused.headers["Retry-After"]) > 0
        other = pair.sign_in(pair.cookie("viewer-dc"))
        cursor = other.call("GET", "/v2/clusters", params={"watch": ""}).headers["KaaS-Watch-Cursor"]
        assert other.call("GET", "/v2/clusters", params={"watch": cursor, "wait": 1}).status_code == 204
    until(lambda: metric(admin, "kaas_list_watches") == 0, "nobody waiting")
