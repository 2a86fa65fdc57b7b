"""How often one person and one address may ask for what costs more than a look into memory (docs/http.md, "Bounds")."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import islice
from socket import AF_UNIX, socket

import pytest
import requests
from env.api import Api
from env.full import World

X_KAAS = {"X-KaaS": "1"}
SIGNON, OUTSIDE = 100, 200  # at once, of a person; a second brings 5, and 10
NOBODY = "local:00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("bo") as world:
        world.join()
        yield world


def until_refused(api: Api, method: str, path: str, most: int) -> tuple[int, requests.Response]:
    """How many were let through before the first that was not."""
    for count in range(most):
        answer = api.call(method, path, headers=X_KAAS)
        assert answer.status_code < 500, answer.text
        if answer.status_code == 429:
            return count, answer
    raise AssertionError(f"{most} of {method} {path} were let through")


def bounded(api: Api, by: str) -> float:
    text = api.call("GET", "/metrics").text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("kaas_http_bounded_total") and f'by="{by}"' in line)


def test_one_person_without_rights_cannot_go_on_making_cookies(place: World) -> None:
    """From however many sessions; nobody else notices."""
    sessions = [place.sign_in("no-rights") for _ in range(2)]
    before = bounded(place.admin, "person")
    for _ in range(SIGNON // 2):
        assert sessions[1].call("POST", "/v2/session/cookie", headers=X_KAAS).status_code == 204
    count, answer = until_refused(sessions[0], "POST", "/v2/session/cookie", 10 * SIGNON)
    assert count >= SIGNON // 2
    problem = answer.json()
    assert (problem["code"], int(answer.headers["Retry-After"])) == ("too_many_requests", 1) and "Retry-After" in problem["remedy"]
    assert bounded(place.admin, "person") > before
    assert sessions[1].call("GET", "/v2/clusters").status_code == 200  # what memory answers has no such bound
    assert place.sign_in("viewer-east").call("POST", "/v2/session/cookie", headers=X_KAAS).status_code == 204


def test_a_refresh_is_bounded_as_well(place: World) -> None:
    api = place.sign_in("viewer-dc")

    def tokens() -> Iterator[int]:
        while (answer := api.call("POST", "/v2/token/refresh")).status_code == 200:
            api.token = answer.json()["access_token"]
            yield 1

    assert SIGNON <= sum(islice(tokens(), 10 * SIGNON)) < 10 * SIGNON


def test_nobody_makes_us_ask_others_without_end(place: World) -> None:
    """Also where a handler asks in some cases only: here for the name of a person, in a directory that there is not."""
    count, _ = until_refused(place.sign_in("viewer-dc"), "GET", f"/v2/clusters/{NOBODY[6:]}/usage", 20 * OUTSIDE)
    assert count >= OUTSIDE
    admin = place.kaasd.admin()
    until_refused(admin, "GET", "/v2/grants?person=anna", 20 * OUTSIDE)
    assert admin.call("GET", f"/v2/grants?principal_id={NOBODY}").status_code == 200


def test_nor_what_another_person_may_see(place: World) -> None:
    """Explained for somebody who is not signed in, it is asked of the vCenter each time."""
    cluster = place.admin.expect(201, "POST", "/v2/clusters", json={
        "name": "explained", "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
        "vsphere_clusters": [{"path": "DC0/HX-East"}]})["id"]
    name, password = "explains", "seven swans in a paper boat"
    place.kaasd.ctl.ok("user", "add", name, "--role", "admin", "--password-file", "-", "--keep-password", stdin=f"{password}\n")
    admin = place.kaasd.api().login_password(name, password)
    stranger = f"vc:{place.vcenter.instance_uuid}:vsphere.local%5Cnever-here"
    count, _ = until_refused(admin, "GET", f"/v2/clusters/{cluster}/explain?principal={stranger}", 20 * OUTSIDE)
    assert count >= OUTSIDE
    assert admin.call("GET", f"/v2/clusters/{cluster}/explain").status_code == 200


def test_the_admin_socket_has_no_bound(place: World) -> None:
    connection = HTTPConnection("localhost")
    connection.sock = socket(AF_UNIX)
    connection.sock.connect(str(place.kaasd.folder / "admin.sock"))
    statuses = set()
    for _ in range(2 * OUTSIDE):
        connection.request("GET", f"/v2/clusters/{NOBODY[6:]}/usage")
        with connection.getresponse() as answer:
            answer.read()
            statuses.add(answer.status)
    connection.close()
    assert statuses == {404}


def test_without_a_bound_for_addresses_there_is_none(place: World) -> None:
    free = place.kaasd.beside("free", options={"server": {"requests_per_address": 0}})
    free.start()
    try:
        api = free.api(place.sign_in("viewer-east").token)
        assert {api.call("POST", "/v2/session/cookie", headers=X_KAAS).status_code for _ in range(2 * SIGNON)} == {204}
    finally:
        free.stop()


PLUGIN = 1000  # at once, of an address; a second brings 20


def test_a_stranger_cannot_have_a_vcenter_asked_without_end(place: World) -> None:
    """With sessions of the vSphere Client that are made up. Whoever the vCenter has named goes on being answered."""
    def ask(session: str) -> requests.Response:
        urn = f"urn:vmomi:ClusterComputeResource:domain-c7:{place.vcenter.instance_uuid}"
        return place.kaasd.api().call("POST", "/plugin/items", json={"objectIds": [urn]}, headers={"vmware-api-session-id": session})

    known = place.vcenter.control.plugin_token("viewer-east@vsphere.local")
    assert ask(known).status_code == 200
    made_up = (f"{number:040x}" for number in range(10 * PLUGIN))
    count = next(count for count, session in enumerate(made_up) if ask(session).status_code == 429)
    assert count >= PLUGIN - 1
    assert ask(known).status_code == 200
