"""User and password that HX clusters inherit: for addresses that hx.names and a CA, or a person, vouch for; tried once in all."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from env.api import Api
from env.certs import ServerCert, make_server_cert
from env.clock import Clock, clocked_world
from env.full import World
from hx import HxConnect

PASSWORD = "S3cret of HX"
EAST, WEST, PLAIN = "domain-c7", "domain-c70", "domain-c40"  # the last one has no HX cluster at first


@dataclass
class Place:
    """Two HX clusters of one vCenter that know the same user, under one CA; the vCenter tells where they are."""

    world: World
    admin: Api
    cert: ServerCert
    ids: dict[str, str]  # by managed object id
    hx: dict[str, HxConnect]

    @property
    def path(self) -> str:
        return f"/v2/vcenters/{self.world.vcenter.instance_uuid}/hx-credential"

    def set(self, password: str = PASSWORD, user: str = "admin") -> dict[str, Any]:
        answer = self.admin.call("PUT", self.path, json={"user_name": user, "password": password})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()  # type: ignore[no-any-return]

    def connection(self, moref: str) -> dict[str, Any]:
        answer = self.admin.call("GET", f"/v2/hx-clusters/{self.ids[moref]}/connection")
        return answer.json() if answer.status_code == 200 else {}

    def state(self, moref: str) -> str | None:
        return self.connection(moref).get("status", {}).get("state")

    def connect(self, moref: str, **more: Any) -> dict[str, Any]:
        body = {"address": "127.0.0.1", "port": self.hx[moref].port, "thumbprint_sha256": self.cert.sha256, **more}
        return self.admin.expect(201, "PUT", f"/v2/hx-clusters/{self.ids[moref]}/connection", json=body)  # type: ignore[no-any-return]

    def test(self, moref: str) -> dict[str, Any]:
        return self.admin.expect(200, "POST", f"/v2/hx-clusters/{self.ids[moref]}/connection/test")["status"]  # type: ignore[no-any-return]


def appear(place: Place, stack: ExitStack, moref: str, proof: str | None = None, cert: ServerCert | None = None) -> HxConnect:
    """An HX cluster on this vSphere cluster, which the vCenter tells of; `proof` that is demanded of KaaS."""
    cert = cert or place.cert
    hx = stack.enter_context(HxConnect(cert.cert_file, cert.key_file, f"HX {moref}", uuid=f"1:{moref[8:]}"))
    hx.accounts["admin"] = PASSWORD
    hx.registrations.demand(proof)
    place.hx[moref] = hx
    server = {"url": f"https://127.0.0.1:{hx.port}", "type": "HTTPS", "company": "Cisco", "label": "HX",
              "admin_email": ["hx@example.test"]}
    place.world.vcenter.control.put_extension(key=f"com.springpath.sysmgmt.{moref}", version="5.0.1", company="Cisco", label="HX",
                                              summary="HX", servers=[server])
    return hx


def make(world: World, folder: Path, stack: ExitStack, cert: ServerCert | None = None) -> Place:
    admin = world.kaasd.admin()
    ids = {one["vsphere_cluster"]["moref"]: one["id"] for one in admin.items("/v2/hx-clusters")}
    made = Place(world, admin, cert or make_server_cert(folder), ids, {})
    for moref in (EAST, WEST):
        appear(made, stack, moref)
    return made


@pytest.fixture(scope="module")
def quiet() -> Iterator[World]:
    """It asks no HX cluster by itself."""
    with World("v", options={"hx": {"read_interval": "0s"}}) as made:
        made.join()
        yield made


@pytest.fixture
def place(quiet: World, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        made = make(quiet, tmp_path / "hx", stack)
        yield made
        made.admin.call("DELETE", made.path)
        for one in made.ids.values():
            made.admin.call("DELETE", f"/v2/hx-clusters/{one}/connection")
        assert [hx.violations for hx in made.hx.values()] == [[], []]


def test_a_connection_without_a_user_inherits(place: Place) -> None:
    place.set()
    made = place.connect(EAST)
    assert (made["user_name"], made["inherited"]) == ("admin", True)
    assert place.test(EAST)["state"] == "ok"
    assert place.connect(WEST, user_name="admin", password=PASSWORD)["inherited"] is False
    place.admin.expect(204, "DELETE", place.path)
    assert place.test(EAST)["state"] == "ok"  # it keeps what it has


def test_without_a_credential_there_is_nothing_to_inherit(place: Place) -> None:
    body = {"address": "127.0.0.1", "port": 9, "thumbprint_sha256": place.cert.sha256}
    where = f"/v2/hx-clusters/{place.ids[EAST]}/connection"
    problem = place.admin.refused(422, "unprocessable", "PUT", where, json=body)
    assert f"set-hx-credential {place.world.vcenter.instance_uuid}" in problem["remedy"]
    for half in ({"user_name": "admin"}, {"password": "x"}):
        place.admin.refused(422, "unprocessable", "PUT", where, json={**body, **half})


def test_what_one_refuses_is_tried_at_no_other(place: Place) -> None:
    """One try in all: the account may be one of the vCenter's, which would lock it for all."""
    place.set("wrong")
    place.connect(EAST)
    place.connect(WEST)
    status = place.test(EAST)
    assert (status["state"], status["reason"], status["refusals"]) == ("refused", "refused", 1)
    assert f"set-hx-credential {place.world.vcenter.instance_uuid}, or kaasctl hx connect {place.ids[EAST]} with" in status["remedy"]
    assert place.admin.get(place.path)["refused_at"] is not None
    status = place.test(WEST)
    assert (status["state"], status["reason"]) == ("failing", "credential_refused")
    assert place.hx[WEST].count("/aaa") == 0 and place.hx[EAST].count("/aaa") == 1
    assert place.set()["refused_at"] is None
    assert [place.test(moref)["state"] for moref in (EAST, WEST)] == ["ok", "ok"]


def test_who_may_and_what_is_shown(place: Place) -> None:
    place.set("a Secret never shown")
    nobody = place.world.sign_in("viewer-east")
    for method in ("GET", "DELETE"):
        nobody.refused(403, "forbidden", method, place.path)
    shown = place.admin.call("GET", place.path)
    place.set("another")
    place.admin.refused(412, "precondition_failed", "DELETE", place.path, headers={"If-Match": shown.headers["ETag"]})
    unknown = "/v2/vcenters/00000000-0000-4000-8000-000000000000/hx-credential"
    place.admin.refused(404, "not_found", "PUT", unknown, json={"user_name": "admin", "password": "x"})
    place.admin.refused(422, "unprocessable", "PUT", place.path, json={"user_name": "admin", "password": ""})
    log = (place.world.kaasd.scratch.log / "kaasd.log").read_text() + place.admin.call("GET", "/v2/audit?limit=100").text
    rows = "".join(str(place.world.db.query(f"SELECT * FROM {table}", database="kaas")) for table in ("hx_credentials", "secrets"))
    for text in (shown.text, log, rows):
        assert "a Secret never shown" not in text


def test_by_kaasctl(place: Place) -> None:
    ctl, vcenter = place.world.kaasd.ctl, place.world.vcenter.instance_uuid
    ctl.ok("vcenter", "set-hx-credential", vcenter, "--user", "local/admin", "--password-file", "-", stdin=PASSWORD + "\n")
    assert "local/admin" in ctl.ok("vcenter", "hx-credential", vcenter)
    made = ctl.json("hx", "connect", place.ids[EAST], "--inherit", "--address", "127.0.0.1", "--port", str(place.hx[EAST].port),
                    "--sha256", place.cert.sha256)
    assert (made["user_name"], made["inherited"]) == ("local/admin", True)
    ctl.ok("--yes", "vcenter", "remove-hx-credential", vcenter)
    assert ctl.run("vcenter", "hx-credential", vcenter).returncode != 0


def moves(place: Place, stack: ExitStack, clock: Clock) -> None:
    """To another address, which vCenter tells: followed if its certificate is good, and history stays."""
    before, old = place.connection(EAST), place.hx[EAST]
    stranger = make_server_cert(place.world.scratch.path / "stranger")
    old.stop()
    for cert in (stranger, place.cert):
        hx = appear(place, stack, EAST, cert=cert)
        if cert is stranger:
            clock.hasten(lambda: hx.handshakes_broken > 1, "some looks at the certificate")  # noqa: B023 - called here only
            assert (place.connection(EAST)["port"], hx.calls) == (old.port, [])
            hx.stop()
    clock.hasten(lambda: place.state(EAST) == "ok" and place.connection(EAST)["port"] == hx.port, "the connection at the new address")
    assert hx.logins == 1
    now = place.connection(EAST)
    assert (now["hx_cluster"]["id"], now["inherited"], now["created_at"]) == (place.ids[EAST], True, before["created_at"])


def test_hx_clusters_are_connected_by_themselves(tmp_path: Path) -> None:
    """Where hx.names and the CA vouch for the address, and not again once somebody has disconnected one. A new one learns where KaaS is."""
    ca_file = tmp_path / "ca.pem"
    shutil.copy(make_server_cert(tmp_path / "other").ca_file, ca_file)
    options = {"hx": {"read_interval": "1s", "ca_file": str(ca_file), "names": ["hx-*.example.test", "127.0.0.0/8"], "auto_publish": True}}
    with clocked_world("u", options=options) as (world, clock), ExitStack() as stack:
        world.join()
        place = make(world, tmp_path / "hx", stack)
        place.set()
        shutil.copy(place.cert.ca_file, ca_file)
        world.kaasd.stop()
        world.kaasd.start()
        place.admin = world.kaasd.admin()
        clock.hasten(lambda: [place.state(moref) for moref in (EAST, WEST)] == ["ok", "ok"], "both connections")
        assert [place.connection(moref)["inherited"] for moref in (EAST, WEST)] == [True, True]
        assert [hx.logins for hx in place.hx.values()] == [1, 1]
        place.admin.expect(204, "DELETE", f"/v2/hx-clusters/{place.ids[WEST]}/connection")
        reads = place.hx[EAST].count("/coreapi")
        hx = appear(place, stack, PLAIN, "token")  # nobody does anything for this one
        told = clock.hasten(lambda: hx.registrations.kept, "the registration of KaaS at an HX cluster that is new")
        assert (told["vcenter_id"], told["panel_url"]) == (world.vcenter.instance_uuid, f"{world.kaasd.url}/ui/panel")
        clock.hasten(lambda: place.hx[EAST].count("/coreapi") > reads + 30, "some more rounds")
        assert place.connection(WEST) == {}
        moves(place, stack, clock)
        assert [hx.violations for hx in place.hx.values()] == [[], [], []]


def test_a_record_of_somebody_else_gets_no_password(tmp_path: Path) -> None:
    """A certificate of hx.ca_file does not make an address that of an HX cluster: others have one, and may write the record, too."""
    cert = make_server_cert(tmp_path)
    options = {"hx": {"read_interval": "1s", "ca_file": str(cert.ca_file), "names": ["*.example.test", "192.0.2.0/24"]}}
    with clocked_world("u", options=options) as (world, clock), ExitStack() as stack:
        world.join()
        place = make(world, tmp_path / "hx", stack, cert)
        place.connect(EAST, thumbprint_sha256=None, user_name="admin", password=PASSWORD)
        place.set()

        def rounds() -> None:
            reads = place.hx[EAST].count("/coreapi")
            clock.hasten(lambda: place.hx[EAST].count("/coreapi") > reads + 30, "some rounds")

        rounds()
        assert (place.connection(WEST), place.hx[WEST].calls, place.hx[WEST].handshakes_broken) == ({}, [], 0)
        place.connect(WEST, thumbprint_sha256=None)  # who confirms it makes it the right one
        clock.hasten(lambda: place.state(WEST) == "ok", "the connection that an administrator has confirmed")
        before = place.connection(WEST)
        place.hx[WEST].stop()
        stranger = appear(place, stack, WEST)
        rounds()
        assert place.connection(WEST)["port"] == before["port"]
        assert (place.state(WEST), stranger.calls) == ("failing", [])


def test_one_with_the_confirmed_certificate_is_followed(tmp_path: Path) -> None:
    """Nobody else has its key: no name and no CA need to vouch for the new address."""
    with clocked_world("u", options={"hx": {"read_interval": "1s"}}) as (world, clock), ExitStack() as stack:
        world.join()
        place = make(world, tmp_path / "hx", stack)
        place.set()
        place.connect(EAST)
        clock.hasten(lambda: place.state(EAST) == "ok", "the connection")
        moves(place, stack, clock)
