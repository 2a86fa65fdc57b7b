"""A list that is asked for by the same bytes on the same connection, while everything that it depends on changes."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator

import pytest
from env.api import Api
from env.full import World
from env.samples import visible_to
from env.wait import until

pytestmark = pytest.mark.slow
REPEATS = 3  # the first is kept, the others are answered by what was kept
MERGE = {"Content-Type": "application/merge-patch+json"}
PASSWORD = "correct horse battery staple"


class Poller:
    """One kept connection, which may carry the requests of several people, as a proxy's does."""

    def __init__(self, world: World) -> None:
        context = ssl.create_default_context(cafile=str(world.kaasd.tls.ca_file))
        host = world.kaasd.url.removeprefix("https://").split(":")
        self._line = http.client.HTTPSConnection(host[0], int(host[1]), timeout=60, context=context)
        self._line.connect()
        self._socket = self._line.sock
        self.stale: str | None = None  # of the last answer

    def get(self, api: Api, **headers: str) -> tuple[int, str, bytes]:
        self._line.request("GET", "/v2/clusters", headers={"Authorization": f"Bearer {api.token}", **headers})
        answer = self._line.getresponse()
        body = answer.read()
        assert self._line.sock is self._socket, "the connection was not kept"
        assert answer.status == 304 or answer.headers["KaaS-Request-Id"]
        self.stale = answer.headers.get("KaaS-Stale")
        return answer.status, answer.headers.get("ETag", ""), body

    def settle(self, api: Api, **headers: str) -> tuple[int, str, bytes]:
        """Asks until the answer is one that was given again."""
        for _ in range(REPEATS):
            got = self.get(api, **headers)
        return got

    def close(self) -> None:
        self._line.close()


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    with World("again") as whole:
        whole.join()
        yield whole


@pytest.fixture
def line(own: World) -> Iterator[Poller]:
    poller = Poller(own)
    yield poller
    poller.close()


def names(body: bytes) -> list[str]:
    return [item["name"] for item in json.loads(body)["items"]]


def test_people_on_one_connection_get_their_own_lists(own: World, line: Poller) -> None:
    people = {name: own.by_ticket(name) for name in ("viewer-east", "viewer-dc")}
    for _ in range(4):
        for name, api in people.items():
            status, _, body = line.settle(api)
            assert (status, names(body)) == (200, visible_to(name))
            status, _, body = line.get(api)
            assert (status, names(body)) == (200, visible_to(name))


def test_a_changed_token_is_refused_behind_a_good_one(own: World, line: Poller) -> None:
    viewer = own.by_ticket("viewer-east")
    assert line.settle(viewer)[0] == 200
    assert viewer.token
    for at in (-1, -40, len(viewer.token) // 2):
        other = "A" if viewer.token[at] != "A" else "B"
        changed = list(viewer.token)
        changed[at] = other
        assert line.get(own.kaasd.api("".join(changed)))[0] == 401
        assert line.get(own.kaasd.api(viewer.token[:at]))[0] == 401
        assert line.settle(viewer)[0] == 200


def test_an_ended_session_is_refused_at_once(own: World, line: Poller) -> None:
    viewer = own.by_ticket("viewer-east")
    assert line.settle(viewer)[0] == 200
    viewer.expect(204, "POST", "/v2/logout")
    assert line.get(viewer)[0] == 401
    assert line.get(viewer)[0] == 401


def test_a_session_ended_by_an_admin_is_refused_at_once(own: World, line: Poller) -> None:
    viewer = own.by_ticket("viewer-east")
    assert line.settle(viewer)[0] == 200
    sessions = [item for item in own.admin.items("/v2/sessions") if "viewer-east" in item["principal_id"].lower()]
    for session in sessions:
        own.admin.call("DELETE", f"/v2/sessions/{session['id']}")
    assert line.get(viewer)[0] == 401


def test_a_change_is_seen_by_the_next_request(own: World, line: Poller) -> None:
    admin = own.admin
    _, etag, body = line.settle(admin)
    assert line.settle(admin, **{"If-None-Match": etag})[0] == 304
    item = admin.get("/v2/clusters")["items"][0]
    admin.expect(200, "PATCH", f"/v2/clusters/{item['id']}", json={"description": "seen at once"}, headers=MERGE)
    until(lambda: line.get(admin, **{"If-None-Match": etag})[0] == 200, "the change")
    status, changed, body = line.settle(admin)
    assert (status, changed != etag, b"seen at once" in body) == (200, True, True)
    assert line.settle(admin, **{"If-None-Match": changed})[0] == 304
    assert line.settle(admin, **{"If-None-Match": etag})[0] == 200


def test_a_change_of_the_role_counts_at_once(own: World, line: Poller) -> None:
    made = {"name": "poller", "role": "user", "password": PASSWORD, "must_change_password": False}
    user = own.admin.expect(201, "POST", "/v2/users", json=made, headers={"X-KaaS": "1"})
    person = own.kaasd.api().login_password("poller", PASSWORD)
    status, _, body = line.settle(person)
    assert (status, names(body)) == (200, [])
    own.admin.expect(200, "PATCH", f"/v2/users/{user['id']}", json={"role": "admin"}, headers=MERGE)
    until(lambda: names(line.get(person)[2]) == visible_to("admin"), "the new role")
    line.settle(person)
    own.admin.expect(200, "PATCH", f"/v2/users/{user['id']}", json={"role": "user"}, headers=MERGE)
    until(lambda: names(line.get(person)[2]) == [], "the old role")


def test_an_administrator_hears_of_a_vcenter_that_goes_away_and_comes_back(own: World, line: Poller) -> None:
    """Known to no vCenter, so that nothing of what the answers are made of changes."""
    admin = own.admin

    def told(**headers: str) -> str | None:
        line.get(admin, **headers)
        return line.stale

    until(lambda: told() is None, "a list without a mark")
    etag = line.settle(admin)[1]
    own.vcenter.control.close_port()
    try:
        until(lambda: told() == "vcenter", "the mark of the vCenter")
        assert line.settle(admin)[1] == etag
        assert line.stale == "vcenter"
        assert (line.get(admin, **{"If-None-Match": etag})[0], line.stale) == (304, "vcenter")
    finally:
        own.vcenter.control.open_port()
    until(lambda: told() is None, "the vCenter again")
    assert (line.get(admin, **{"If-None-Match": etag})[0], line.stale) == (304, None)


def test_new_keys_change_nothing_for_good_tokens(own: World, line: Poller) -> None:
    viewer = own.by_ticket("viewer-east")
    before = line.settle(viewer)
    own.kaasd.ctl.ok("key", "rotate-signing")
    assert line.settle(viewer) == before
    own.kaasd.ctl.ok("--yes", "key", "rotate-signing", "--drop-old")
    until(lambda: line.get(viewer)[0] == 401, "the end of the old key")
