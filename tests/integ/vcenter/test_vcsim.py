"""The path at the unmodified simulator of govmomi. What it cannot do and the strict vCenter of tests/vcenter can is left out here: it
accepts any client certificate; its session key is the cookie, so nobody can sign in by cookie form; it knows one user, so rights cannot
differ; it does not check order and optionality of members."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.api import Api
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch, free_port
from env.vcenter import Vcenter, start_vcsim

pytestmark = pytest.mark.slow


class Place:
    def __init__(self, vcsim: Vcenter, kaasd: Kaasd, tunnel_port: int = 0) -> None:
        self.vcsim = vcsim
        self.kaasd = kaasd
        body = {"address": vcsim.host, "port": vcsim.port, "name": "sim", "thumbprint_sha256": vcsim.sha256, "tunnel_port": tunnel_port}
        self.added = kaasd.admin().expect(201, "POST", "/v2/vcenters", json=body)

    @property
    def id(self) -> str:
        return self.added["id"]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    scratch = Scratch("v")
    db = Mariadb(scratch)
    vcsim = start_vcsim(scratch)
    kaasd = Kaasd(scratch, db.socket)
    try:
        kaasd.init()
        kaasd.start()
        yield Place(vcsim, kaasd)
    finally:
        kaasd.stop()
        vcsim.stop()
        db.stop()
        scratch.remove()


def test_the_simulator_is_added_with_version_and_identity(place: Place) -> None:
    with vimclient.session(place.vcsim, place.vcsim.admin) as instance:
        about = instance.RetrieveContent().about
    assert (place.added["id"], place.added["version"]) == (about.instanceUuid, about.version)


def test_its_certificate_is_shown_before_anything_is_confirmed(place: Place) -> None:
    body = {"address": "localhost", "port": place.vcsim.port}
    problem = place.kaasd.admin().refused(409, "certificate_unconfirmed", "POST", "/v2/vcenters", json=body)
    assert problem["certificate"]["sha256"] == place.vcsim.sha256


def test_its_status_is_read(place: Place) -> None:
    status: dict[str, Any] = place.kaasd.admin().get(f"/v2/vcenters/{place.id}/status")
    assert (status["state"], status["product"]["version"]) == ("not_registered", place.added["version"])


def test_registering_signs_in_and_leaves_nothing_without_a_login_way(place: Place) -> None:
    """The account is accepted, the privileges are asked; then there is no way to log in by certificate."""
    body = {"username": place.vcsim.admin.login, "password": place.vcsim.admin.password}
    answer = place.kaasd.admin().call("POST", f"/v2/vcenters/{place.id}/register", json=body, headers={"X-KaaS": "1"})
    assert answer.json()["code"] == "upstream_error"
    assert "none is switched on" in answer.json()["detail"]
    assert vimclient.read_extension(place.vcsim, "com.cisco.kaas") is None


def test_a_wrong_password_is_refused(place: Place) -> None:
    body = {"username": place.vcsim.admin.login, "password": "not it"}
    place.kaasd.admin().refused(401, "invalid_credentials", "POST", f"/v2/vcenters/{place.id}/register", json=body, headers={"X-KaaS": "1"})


def test_the_simulator_is_forgotten_again(place: Place) -> None:
    place.kaasd.admin().expect(204, "DELETE", f"/v2/vcenters/{place.id}")
    assert list(place.kaasd.admin().items("/v2/vcenters")) == []


@pytest.fixture(scope="module")
def joined() -> Iterator[Place]:
    """The simulator with its CONNECT proxy, which lets any client certificate through: the whole path is open."""
    scratch = Scratch("j")
    db = Mariadb(scratch)
    tunnel = free_port()
    vcsim = start_vcsim(scratch, flags=("-tunnel", str(tunnel)))
    kaasd = Kaasd(scratch, db.socket, options={"vcenter": {"connect_timeout": "2s"}})
    try:
        kaasd.init()
        kaasd.start()
        yield Place(vcsim, kaasd, tunnel)
    finally:
        kaasd.stop()
        vcsim.stop()
        db.close()
        scratch.remove()


def register(admin: Api, place: Place, account: dict[str, str]) -> dict[str, Any]:
    """The simulator's proxy answers the CONNECT before it has taken the connection over, and loses what the client sends in between: its
    first bytes, if it is quick. Such a try ends in a time-out, and registering may be repeated."""
    for _ in range(10):
        answer = admin.call("POST", f"/v2/vcenters/{place.id}/register", json=account, headers={"X-KaaS": "1"})
        if answer.status_code != 504 and "did not answer in time" not in answer.text:
            break
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_whole_path_holds_at_the_simulator(joined: Place) -> None:
    admin = joined.kaasd.admin()
    account = {"username": joined.vcsim.admin.login, "password": joined.vcsim.admin.password}
    status = register(admin, joined, account)
    assert (status["state"], status["extension"]["record"], status["login"]["strategy"]) == ("connected", "ours", "certificate_tunnel")
    with vimclient.session(joined.vcsim, joined.vcsim.admin) as instance:
        record = instance.content.extensionManager.FindExtension("com.cisco.kaas")
        assert [server.type for server in record.server] == ["MANIFEST_SERVER", "KAAS_API"]
        ticket = instance.content.sessionManager.AcquireCloneTicket()
        joined.kaasd.ctl.ok("cluster", "add", "--name", "on-sim", "--vsphere-cluster", "DC0/DC0_C0", "--kubernetes-version", "1.31.2")
        person = joined.kaasd.api().login_ticket(joined.id, ticket)
        assert [item["name"] for item in person.expect(200, "GET", "/v2/clusters")["items"]] == ["on-sim"]
    left = admin.expect(200, "POST", f"/v2/vcenters/{joined.id}/unregister", json=account, headers={"X-KaaS": "1"})
    assert left["record"] == "ours"
    assert admin.get(f"/v2/vcenters/{joined.id}/status")["state"] == "not_registered"
