"""kaasd tells HX clusters where KaaS is (docs/hx-publish.md): by each proof, again and back again, and never to who must not hear it. The
contract is ours, and so are both sides: for each rule one side is broken on purpose, and the other has to refuse."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import hashlib
import json
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from env import vimclient
from env.ad import AdWorld
from env.api import Api
from env.certs import ServerCert, make_server_cert
from env.clock import clocked_world
from env.full import EXTENSION_KEY, World, register
from env.peer import end_point
from env.places import WorldError, program
from env.replicas import second_of
from env.wait import until
from hx import HxConnect
from hx.registration import Record, pin_of

pytestmark = pytest.mark.long(100)

PASSWORD = "S3cret of HX"
UUID = "9004183636114227531:5445300663653806560"
PATH = "/kaas/v1/registration"
READING = "/coreapi/v1/hypervisor/vcenter"  # the last call of one
DAY_S = 24 * 3600
OPTIONS: dict[str, Any] = {"hx": {"read_interval": "0s", "call_timeout": "5s", "auto_publish": True}}


def record_of(world: World) -> Record | None:
    """What the vCenter says of KaaS, read by another program than kaasd."""
    found = vimclient.read_extension(world.vcenter, EXTENSION_KEY)
    if found is None:
        return None
    [server] = [server for server in found.server if server.type == "KAAS_API"]
    return Record(world.vcenter.instance_uuid, found.key, server.url, server.serverThumbprint)


@dataclass
class Place:
    world: World
    admin: Api
    hx: HxConnect
    cert: ServerCert
    east: str  # id of the HX cluster

    def at(self, more: str = "publication") -> str:
        return f"/v2/hx-clusters/{self.east}/{more}"

    def connect(self, **more: Any) -> None:
        body = {"address": "127.0.0.1", "port": self.hx.port, "user_name": "admin", "password": PASSWORD,
                "thumbprint_sha256": self.cert.sha256, **more}
        answer = self.admin.call("PUT", self.at("connection"), json=body)
        assert answer.status_code in (200, 201), answer.text

    def set_peer(self, **more: Any) -> None:
        body = {"url": f"{self.hx.url}/session", "spn": "HTTP/peer.ad.test", "ca_pem": self.cert.ca_file.read_text(), **more}
        answer = self.admin.call("PUT", self.at("peer"), json=body)
        assert answer.status_code in (200, 201), answer.text

    def read(self) -> str:
        return str(self.admin.expect(200, "POST", self.at("connection/test"))["status"]["state"])

    def show(self) -> dict[str, Any]:
        return self.admin.get(self.at())  # type: ignore[no-any-return]

    def publish(self, state: str = "published", reason: str | None = None) -> dict[str, Any]:
        got: dict[str, Any] = self.admin.expect(200, "POST", self.at())
        assert (got["state"], got["reason"], got["wanted"]) == (state, reason, True), got
        assert bool(got["detail"]) == bool(got["remedy"]) == bool(reason), got
        return got

    def withdraw(self) -> dict[str, Any]:
        return self.admin.expect(200, "DELETE", self.at())  # type: ignore[no-any-return]

    def checks(self) -> list[str]:
        """What health says of publications."""
        return [check["status"] for check in self.admin.get("/v2/health")["checks"] if check["name"].startswith("hx_publication")]

    def lines(self) -> list[tuple[str, str, str]]:
        return [(line["action"], line["result"], line["reason"]) for line in self.admin.items("/v2/audit")
                if line["object_id"] == self.east and "publish" in line["action"]][::-1]

    @property
    def held(self) -> dict[str, str] | None:
        return self.hx.registrations.kept


def make_place(world: World, cert: ServerCert, hx: HxConnect) -> Place:
    hx.accounts["admin"] = PASSWORD
    hx.registrations.find_record = lambda: record_of(world)
    admin = world.kaasd.admin()
    east = next(one["id"] for one in admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
    return Place(world, admin, hx, cert, east)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """It reads no HX cluster by itself before somebody has."""
    with World("xp", options=OPTIONS) as made:
        made.join()
        yield made


@pytest.fixture
def place(world: World, tmp_path: Path) -> Iterator[Place]:
    """Connected, and not read yet. HX demands its token."""
    cert = make_server_cert(tmp_path / "hx")
    with HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
        made = make_place(world, cert, hx)
        hx.registrations.demand("token")
        made.connect()
        yield made
        hx.clear_faults()
        made.admin.call("DELETE", made.at("connection"))
        world.db.query("DELETE FROM hx_publications", database="kaas")
        assert hx.violations == []


# -- going well --------------------------------------------------------------------------------------------------------------


def test_it_says_where_kaas_is_by_the_token_of_hx(place: Place) -> None:
    assert (place.show()["state"], place.show()["wanted"]) == ("unknown", True)
    got = place.publish()
    url = place.world.kaasd.url
    held = place.held
    assert held
    assert (held["api_url"], held["ui_url"], held["panel_url"]) == (f"{url}/v2/", f"{url}/ui/", f"{url}/ui/panel")
    ((installation,),) = place.world.db.query("SELECT uuid FROM installation", database="kaas")
    assert (held["instance_id"], held["name"]) == (installation, "Harmony KaaS")
    assert held["version"] == place.admin.get("/v2/version")["version"]
    assert (held["vcenter_id"], held["extension_key"]) == (place.world.vcenter.instance_uuid, EXTENSION_KEY)
    record = record_of(place.world)
    assert record and pin_of(held["certificate_pem"]) == record.pin
    assert held["expires"] == got["expires_at"]
    left = datetime.fromisoformat(held["expires"]) - datetime.now(UTC)
    assert timedelta(days=2, hours=23) < left <= timedelta(days=3)
    assert place.hx.logins == 1
    assert [call.user for call in place.hx.calls if call.path == PATH] == ["admin"]
    assert held["nonce"] not in str(place.world.db.query("SELECT * FROM hx_publications", database="kaas"))


def test_a_reading_that_goes_well_publishes_by_itself_and_once(place: Place) -> None:
    for _ in range(3):
        assert place.read() == "ok"
    assert place.show()["state"] == "published"
    assert (len(place.hx.registrations.taken), place.hx.logins) == (1, 1)
    assert place.lines()[-1] == ("hx_cluster.publish", "ok", "published")
    until(lambda: place.checks() == ["ok"], "health")
    place.publish()
    place.publish()
    assert len(place.hx.registrations.taken) == 3  # when somebody says so it is said again
    assert place.lines()[-2:] == [("hx_cluster.publish", "ok", "asked for")] * 2


def test_by_the_call_back_no_credential_counts(place: Place) -> None:
    place.hx.registrations.demand("callback")
    place.publish()
    assert place.held and place.hx.registrations.asked_back == [place.held["nonce"]]
    assert place.withdraw()["state"] == "withdrawn"
    assert place.held is None
    assert len(set(place.hx.registrations.asked_back)) == 2


def test_the_proof_is_for_who_has_the_nonce_and_not_for_long(place: Place) -> None:
    anybody = place.world.kaasd.api()
    place.publish()
    assert place.held
    nonce = place.held["nonce"]
    assert anybody.get(f"/v2/publications/{nonce}")["instance_id"] == place.held["instance_id"]
    for other in (secrets.token_hex(16), nonce[:-1], nonce.upper() + "0", hashlib.sha256(nonce.encode()).hexdigest(), "%27%20OR%201"):
        anybody.refused(404, "not_found", "GET", f"/v2/publications/{other}")
    place.publish()
    anybody.refused(404, "not_found", "GET", f"/v2/publications/{nonce}")  # of the request before
    fresh = place.held["nonce"]
    place.world.db.query("UPDATE hx_publications SET nonce_until_ms = nonce_until_ms - 300000", database="kaas")
    anybody.refused(404, "not_found", "GET", f"/v2/publications/{fresh}")


def test_an_hx_without_that_call_is_as_it_should_be(place: Place) -> None:
    place.hx.registrations.demand(None)
    place.publish("not_supported")
    assert place.lines()[-1] == ("hx_cluster.publish", "ok", "not_supported")
    got = place.show()
    assert got["expires_at"] is None and timedelta(hours=23) < datetime.fromisoformat(got["next_at"]) - datetime.now(UTC)
    place.hx.registrations.demand("token")
    place.hx.fault(PATH, "status:405", 1)
    place.publish("not_supported")
    calls = place.hx.count(PATH)
    place.read()
    assert (place.hx.count(PATH), place.checks()) == (calls, [])  # tomorrow again; nobody is warned
    health = place.admin.get("/v2/health")
    assert not any(check["status"] != "ok" and "publication" in check["name"] for check in health["checks"])
    place.publish()  # HX has learnt it
    place.hx.registrations.demand(None)
    place.publish("not_supported")  # and forgotten
    place.withdraw()
    assert place.hx.count(PATH, "DELETE") == 0


# -- HX is broken, and kaasd refuses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "state", "reason"), [
    ("status:401", "refused", "refused"), ("status:403", "refused", "refused"), ("status:500", "failing", "protocol"),
    ("status:409", "failing", "protocol"), ("rate", "failing", "rate_limited"), ("redirect", "failing", "protocol"),
    ("huge", "failing", "too_large"), ("hang", "failing", "timeout"), ("cut", "failing", "unreachable"), ("not_json", "published", None)])
def test_an_hx_that_answers_otherwise(place: Place, kind: str, state: str, reason: str | None) -> None:
    """A redirect is not followed (the stand-in would note it), an answer that is too long is not read; what is in a good one does not
    count."""
    place.hx.fault(PATH, kind)
    got = place.publish(state, reason)
    if reason:
        assert timedelta(seconds=40) < datetime.fromisoformat(got["next_at"]) - datetime.fromisoformat(got["tried_at"])
        assert place.lines()[-1] == ("hx_cluster.publish", "upstream_error", reason)
    assert place.hx.logins == 1
    place.hx.clear_faults()
    place.publish()


def test_health_warns_while_it_cannot_be_told(place: Place) -> None:
    place.hx.fault(PATH, "status:500")
    place.publish("failing", "protocol")
    until(lambda: place.checks() == ["warning"], "health")
    place.hx.clear_faults()
    place.publish()
    until(lambda: place.checks() == ["ok"], "health")


def test_nothing_is_said_to_who_is_not_vouched_for(place: Place, tmp_path: Path) -> None:
    place.publish()
    other = make_server_cert(tmp_path / "other")
    place.hx.use_certificate(other.cert_file, other.key_file)
    calls = len(place.hx.calls)
    place.hx.wait_until_quiet()
    place.publish("failing", "tls_untrusted")
    place.connect(thumbprint_sha256=None, ca_pem=place.cert.ca_file.read_text())
    place.publish("failing", "tls_untrusted")
    assert len([call for call in place.hx.calls[calls:] if call.path.startswith(PATH)]) == 0
    place.hx.use_certificate(place.cert.cert_file, place.cert.key_file)
    place.connect()
    place.publish()


def test_nothing_is_said_where_kaasd_does_not_connect_to(place: Place) -> None:
    place.connect(address="192.0.2.1", port=443)
    place.publish("failing", "unreachable")
    place.connect(address="169.254.169.254")
    place.publish("failing", "unreachable")


def test_nothing_is_said_to_another_hx_than_was_known(place: Place) -> None:
    """The reading before tells: HX says the uuid of one that is there."""
    place.publish()
    other = next(one["id"] for one in place.admin.items("/v2/hx-clusters") if one["id"] != place.east)
    place.world.db.query("UPDATE hx_clusters SET hx_uuid = '1:2' WHERE id = %s", other, database="kaas")
    place.hx.uuid = "1:2"
    taken = len(place.hx.registrations.taken)
    place.publish("failing", "uuid_taken")
    assert len(place.hx.registrations.taken) == taken
    place.hx.uuid = UUID
    place.world.db.query("UPDATE hx_clusters SET hx_uuid = NULL", database="kaas")


def test_no_login_is_made_for_it(place: Place) -> None:
    place.publish()
    place.hx.revoke_all()
    place.publish("failing", "login_waits")
    assert place.hx.logins == 1
    place.connect(password="wrong")
    place.publish("failing", "refused")
    assert place.hx.failures == 1
    taken = len(place.hx.registrations.taken)
    until(lambda: place.admin.get(place.at("connection"))["status"]["reason"], "the state of the connection")
    assert (len(place.hx.registrations.taken), place.hx.failures) == (taken, 1)


# -- the client is broken, and HX refuses ------------------------------------------------------------------------------------


class Liar:
    """Says where KaaS is as kaasd does, but for what a test breaks; with a token of HX where that is asked for."""

    def __init__(self, place: Place) -> None:
        self.place = place
        place.publish()
        assert place.held
        self.told = dict(place.held)
        place.hx.registrations.demand("callback")

    def put(self, headers: dict[str, str] | None = None, **broken: Any) -> requests.Response:
        text = json.dumps({**self.told, **broken})
        return self.send("PUT", text, headers)

    def send(self, method: str, text: str = "", headers: dict[str, str] | None = None, query: str = "") -> requests.Response:
        media = {"Content-Type": "application/json"} if text else {}
        return requests.request(method, self.place.hx.url + PATH + query, data=text, headers={**media, **(headers or {})},
                                verify=str(self.place.cert.ca_file), timeout=30, allow_redirects=False)

    def fits(self, text: str) -> None:
        """As if kaasd had sent this body with the nonce of its last request."""
        self.place.world.db.query("UPDATE hx_publications SET body_sha256 = %s", hashlib.sha256(text.encode()).hexdigest(), database="kaas")

    def refused(self, answer: requests.Response, status: int, why: str) -> None:
        assert answer.status_code == status and why in answer.json()["message"], answer.text
        assert self.place.held is None


@pytest.fixture
def liar(place: Place) -> Iterator[Liar]:
    yield Liar(place)
    place.hx._violations.clear()  # a liar's


def test_hx_takes_what_is_like_kaasds_own(liar: Liar) -> None:
    """Else what follows would prove nothing."""
    liar.fits(json.dumps(liar.told))
    assert liar.put().status_code == 201
    assert liar.place.held == liar.told


def test_hx_refuses_a_nonce_that_is_not_of_this_request(liar: Liar) -> None:
    liar.refused(liar.put(nonce=secrets.token_hex(16)), 403, "does not say")
    liar.refused(liar.put(), 403, "does not say")  # the nonce is kaasd's, the body another one
    liar.fits(json.dumps(liar.told))
    liar.refused(liar.put(panel_url="https://evil.example.com/"), 403, "does not say")
    liar.refused(liar.put(instance_id="11111111-1111-4111-8111-111111111111"), 403, "does not say")
    query = f"?instance_id={liar.told['instance_id']}&nonce={liar.told['nonce']}"
    liar.refused(liar.send("DELETE", query=query), 403, "does not say")  # that of a PUT


def test_hx_asks_nobody_but_the_kaas_of_its_vcenter(liar: Liar, tmp_path: Path) -> None:
    """Another address or certificate than the record's is refused before anybody is asked."""
    asked = len(liar.place.hx.registrations.asked_back)
    other = make_server_cert(tmp_path / "other").cert_file.read_text()
    liar.refused(liar.put(api_url="https://evil.example.com/v2/"), 403, "another address")
    liar.refused(liar.put(certificate_pem=other), 403, "another certificate")
    liar.refused(liar.put(vcenter_id="11111111-1111-4111-8111-111111111111"), 403, "another vCenter")
    liar.refused(liar.put(extension_key="com.example.other"), 403, "another vCenter")
    assert len(liar.place.hx.registrations.asked_back) == asked
    record = record_of(liar.place.world)
    assert record
    liar.place.hx.registrations.find_record = lambda: Record(record.vcenter_id, record.key, record.url, pin_of(other))
    liar.refused(liar.put(certificate_pem=other), 403, "shows another certificate")
    liar.place.hx.registrations.find_record = lambda: None
    liar.refused(liar.put(), 403, "no record")


@pytest.mark.parametrize(("broken", "why"), [
    ({"api_url": "http://127.0.0.1/v2/"}, "api_url"), ({"ui_url": "http://127.0.0.1/"}, "ui_url"),
    ({"panel_url": "javascript:x"}, "panel_url"), ({"panel_url": "https://u@127.0.0.1/"}, "panel_url"), ({"nonce": "A" * 32}, "nonce"),
    ({"nonce": "0" * 31}, "nonce"), ({"more": "x"}, "members"), ({"name": None}, "members"), ({"name": ""}, "members"),
    ({"name": "x" * 101}, "name"), ({"instance_id": "x"}, "instance_id"),
    ({"expires": "2020-01-01T00:00:00Z"}, "expires"), ({"expires": "2999-01-01T00:00:00Z"}, "expires"), ({"expires": "soon"}, "expires"),
    ({"certificate_pem": "x"}, "certificate_pem"),
    ({"certificate_pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, "certificate_pem")])
def test_hx_refuses_what_is_not_well_formed(liar: Liar, broken: dict[str, Any], why: str) -> None:
    liar.refused(liar.put(**broken), 400, why)


def test_hx_refuses_who_has_no_token_of_its_own(liar: Liar) -> None:
    liar.place.hx.registrations.demand("token")
    liar.refused(liar.put(), 401, "Authorization")
    liar.refused(liar.put({"Authorization": "Bearer made-up"}), 401, "token")
    query = f"?instance_id={liar.told['instance_id']}&nonce={liar.told['nonce']}"
    liar.place.publish()
    assert liar.send("DELETE", query=query).status_code == 401
    assert liar.place.held


def test_hx_keeps_what_another_kaas_has_registered(place: Place) -> None:
    place.publish()
    assert place.held
    place.held["instance_id"] = "11111111-1111-4111-8111-111111111111"
    place.publish("failing", "protocol")
    assert place.withdraw()["state"] == "failing"
    assert place.held


# -- taking it back ----------------------------------------------------------------------------------------------------------


def test_what_an_administrator_has_withdrawn_stays_so(place: Place) -> None:
    place.publish()
    got = place.withdraw()
    assert (got["state"], got["wanted"], got["expires_at"], place.held) == ("withdrawn", False, None, None)
    assert place.lines()[-2:] == [("hx_cluster.unpublish", "ok", "asked for"), ("hx_cluster.unpublish", "ok", "withdrawn")]
    calls = place.hx.count(PATH)
    place.read()
    place.connect()
    place.read()
    place.admin.expect(204, "DELETE", place.at("connection"))
    place.connect()
    place.read()
    assert (place.hx.count(PATH), place.show()["wanted"]) == (calls, False)
    place.withdraw()
    assert place.hx.count(PATH) == calls
    place.publish()
    assert place.held


def test_what_hx_does_not_hear_is_withdrawn_later(place: Place) -> None:
    place.publish()
    place.hx.fault(PATH, "status:500")
    got = place.withdraw()
    assert (got["state"], got["reason"], got["wanted"]) == ("failing", "protocol", False) and got["expires_at"]
    place.hx.clear_faults()
    place.world.db.query("UPDATE hx_publications SET next_at_ms = 1", database="kaas")
    until(lambda: place.show()["state"] == "withdrawn", "a second try")
    assert place.held is None
    place.publish()
    place.hx.fault(PATH, "hang")
    place.withdraw()
    place.world.db.query("UPDATE hx_publications SET next_at_ms = 1, expires_at_ms = 1", database="kaas")
    until(lambda: place.show()["state"] == "withdrawn", "the end")  # HX has forgotten it by itself


def test_who_is_disconnected_is_told_nothing_more(place: Place) -> None:
    place.publish()
    place.admin.expect(204, "DELETE", place.at("connection"))
    assert (place.held, place.show()["state"], place.hx.tokens_held("admin")) == (None, "withdrawn", 0)
    place.admin.refused(404, "not_found", "POST", place.at())
    place.connect()
    place.read()
    assert place.held and place.show()["state"] == "published"


def test_it_goes_with_the_registration_at_the_vcenter(place: Place) -> None:
    place.publish()
    who = {"username": place.world.vcenter.admin.login, "password": place.world.vcenter.admin.password}
    path = f"/v2/vcenters/{place.world.vcenter.instance_uuid}"
    place.admin.expect(200, "POST", f"{path}/unregister", json=who, headers={"X-KaaS": "1"})
    until(lambda: place.held is None, "the withdrawal")
    until(lambda: place.show()["state"] == "withdrawn", "the state")
    assert place.show()["wanted"]
    problem = place.admin.refused(409, "conflict", "POST", place.at())
    assert "vCenter" in problem["detail"] and "kaasctl vcenter status" in problem["remedy"]
    register(place.world.kaasd, place.world.vcenter)
    until(lambda: place.held, "the publication")
    until(lambda: place.show()["state"] == "published", "the state")


# -- when --------------------------------------------------------------------------------------------------------------------


def test_it_is_said_again_each_day_and_ends_by_itself(tmp_path: Path) -> None:
    cert = make_server_cert(tmp_path / "hx")
    with clocked_world("xc", options=OPTIONS) as (world, clock), \
            HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
        world.join()
        place = make_place(world, cert, hx)
        hx.registrations.demand("token")
        place.connect()
        place.publish()
        clock.advance(DAY_S - 3600, 3600)
        assert len(hx.registrations.taken) == 1
        clock.advance(2 * 3600, 3600)
        until(lambda: len(hx.registrations.taken) == 2, "the second day")
        first, second = (datetime.fromisoformat(told["expires"]) for told in hx.registrations.taken)
        assert timedelta(hours=22) < second - first < timedelta(hours=26)
        hx.fault(PATH, "status:503")
        clock.advance(DAY_S + 3600, 3600)
        place.admin = world.kaasd.admin()
        until(lambda: place.show()["state"] == "failing", "a failure")
        hx.clear_faults()
        clock.advance(3600, 3600)
        place.admin = world.kaasd.admin()
        until(lambda: place.show()["state"] == "published", "the next try")  # of itself: after a minute, two, four, at most an hour
        assert hx.violations == []


@pytest.mark.slow
def test_who_says_later_is_not_asked_before(tmp_path: Path) -> None:
    """A login, a reading and a publication, each answered 429 the first time."""
    cert = make_server_cert(tmp_path / "hx")
    with clocked_world("xw", options={"hx": {"read_interval": "30s", "auto_publish": True}}) as (world, clock), \
            HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
        world.join()
        place = make_place(world, cert, hx)
        hx.registrations.demand("token")
        steps = (("/aaa/v1/auth", "/", 3000), ("/coreapi", "/", 1800), (PATH, PATH, 1800))
        for path, _, asked_s in steps:
            hx.fault(path, "rate", 1, retry_after_s=asked_s)
        place.connect()
        for path, all_of, asked_s in steps:
            clock.hasten(lambda path=path: hx.count(path), f"the first call of {path}")
            calls = hx.count(all_of)
            clock.advance(asked_s - 30, 60)
            assert hx.count(all_of) == calls, f"{path} was asked again too early"
        clock.hasten(lambda: hx.registrations.kept, "the publication")
        assert hx.violations == []


def test_what_has_changed_is_said_at_once(tmp_path: Path) -> None:
    """Another certificate with a reload, another address with a restart; by call-back, once vCenter's record says it, too."""
    cert = make_server_cert(tmp_path / "hx")
    with World("xn", options=OPTIONS) as world, HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
        world.join()
        place = make_place(world, cert, hx)
        hx.registrations.demand("token")
        place.connect()
        place.publish()
        fresh, tls, process = make_server_cert(tmp_path / "fresh"), world.kaasd.tls, world.kaasd.process
        assert process
        for one in ("ca_file", "cert_file", "key_file"):
            shutil.copy(getattr(fresh, one), getattr(tls, one))
        process.signal(signal.SIGHUP)
        until(lambda: len(hx.registrations.taken) == 2, "the new certificate")
        assert pin_of(hx.registrations.taken[1]["certificate_pem"]) == fresh.sha256.replace(":", "").lower()
        world.kaasd.stop()  # the token is given back: as if a quarter of an hour had passed
        hx.advance(16 * 60)
        world.db.query("UPDATE hx_statuses SET next_login_at_ms = 0", database="kaas")
        text = world.kaasd.config.read_text()
        world.kaasd.config.write_text(text.replace(f"public_url: {world.kaasd.url}", f"public_url: https://localhost:{world.kaasd.port}"))
        hx.registrations.way = "callback"
        world.kaasd.start()
        address = f"https://localhost:{world.kaasd.port}/v2/"
        until(lambda: (found := record_of(world)) and found.url == address, "the new address in the record")
        until(lambda: hx.registrations.taken[-1]["api_url"] == address, "the new address", 150)
        assert hx.violations == []


def test_another_version_is_said_at_once(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade; the other release is this one but for the version that it names."""
    place.publish()
    assert place.held
    version, daemon, other = place.held["version"], place.world.kaasd, tmp_path / "kaasd"
    shutil.copy(program("kaasd"), other)
    other.write_bytes(other.read_bytes().replace(f"{version}\0".encode(), f"{version[:-1]}x\0".encode()))
    for path, says in ((other, f"{version[:-1]}x"), (program("kaasd"), version)):
        daemon.stop()  # the token is given back: as if a quarter of an hour had passed
        place.hx.advance(16 * 60)
        place.world.db.query("UPDATE hx_statuses SET next_login_at_ms = 0", database="kaas")
        with monkeypatch.context() as started:
            started.setattr("env.kaasd.program", {"kaasd": path}.get)
            daemon.start()
        until(lambda told=says: place.held and place.held["version"] == told, f"version {says}")
    assert len(place.hx.registrations.taken) == 3


def test_one_replica_says_it_for_all_and_any_proves_it(tmp_path: Path) -> None:
    """The second differs: it says so once, and neither goes on about it."""
    cert = make_server_cert(tmp_path / "hx")
    options = {"hx": {"read_interval": "1s", "auto_publish": True}}
    with ExitStack() as stack:
        world, clock = stack.enter_context(clocked_world("xq", options=options))
        world.join()
        hx = stack.enter_context(HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East"))
        place = make_place(world, cert, hx)
        hx.registrations.demand("token")
        other = second_of(world.kaasd, world.scratch, world.db.socket, options)
        stack.callback(other.stop)
        other.start()
        place.connect()
        clock.hasten(lambda: place.show()["state"] == "published", "the publication")
        clock.hasten(lambda: hx.count(READING) >= 3, "three readings")
        [told] = hx.registrations.taken
        for daemon in (world.kaasd, other):
            assert daemon.api().get(f"/v2/publications/{told['nonce']}")["instance_id"] == told["instance_id"]
        other.stop()
        different = second_of_different(world, options)
        stack.callback(different.stop)
        different.start()
        clock.hasten(lambda: len(hx.registrations.taken) == 2, "what is different")
        reads = hx.count(READING)
        clock.hasten(lambda: hx.count(READING) >= reads + 3, "three more readings")
        assert len(hx.registrations.taken) == 2
        assert (hx.logins, hx.violations) == (1, [])


def second_of_different(world: World, options: dict[str, Any]) -> Any:
    """A replica that says another address."""
    return world.kaasd.beside("third", options={**options, "server": {"public_url": f"https://localhost:{world.kaasd.port}"}})


def test_only_what_somebody_has_published_by_default(tmp_path: Path) -> None:
    cert = make_server_cert(tmp_path / "hx")
    with clocked_world("xa", options={"hx": {"read_interval": "1s"}}) as (world, clock), \
            HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
        world.join()
        place = make_place(world, cert, hx)
        hx.registrations.demand("token")
        place.connect()
        clock.hasten(lambda: hx.count(READING) >= 3, "three readings")
        assert (hx.count(PATH), place.show()["wanted"]) == (0, False)
        place.publish()
        world.db.query("UPDATE hx_publications SET next_at_ms = 1", database="kaas")
        clock.hasten(lambda: len(hx.registrations.taken) == 2, "the next day")
        assert hx.violations == []


# -- by Kerberos ---------------------------------------------------------------------------------------------------------------

ACCOUNT = "svc-kaas@AD.TEST"


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, AdWorld]]:
    folder = tmp_path_factory.mktemp("publish")
    with AdWorld() as ad:
        keytab = folder / "kaasd.keytab"
        keytab.write_bytes(ad.keytab("service").read_bytes() + ad.keytab("client").read_bytes()[2:])  # behind the two bytes of version
        keytab.chmod(0o600)
        options = {**OPTIONS, "peers": {"check_interval": "0s"},
                   "auth": {"kerberos": {"keytab": str(keytab), "replay_cache": str(folder / "rcache")}}}
        with World("xk", options=options, env=ad.env) as made:
            made.join()
            yield made, ad


@pytest.fixture
def peer(domain: tuple[World, AdWorld], tmp_path: Path) -> Iterator[Place]:
    """An HX cluster with a peer and without a connection, which demands Kerberos."""
    world, ad = domain
    cert = make_server_cert(tmp_path / "hx")
    ad.kerberos.speaker(0)  # begun here: such a process ends with the thread that has begun it

    def accept(token: bytes) -> tuple[str, bytes]:
        try:
            seen = ad.kerberos.accepted(ad.keytab("peer"), token, end_point(cert))
        except WorldError:
            raise ValueError("no ticket") from None
        if not (seen["complete"] and seen["bound"]) or seen["delegated"]:
            raise ValueError("not complete, bound and undelegated")
        return seen["name"], base64.b64decode(seen["token"])

    with HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
        made = make_place(world, cert, hx)
        hx.registrations.demand("kerberos")
        hx.registrations.accept, hx.registrations.names = accept, (ACCOUNT,)
        made.set_peer()
        yield made
        hx.clear_faults()
        made.admin.call("DELETE", made.at("peer"))
        made.admin.call("DELETE", made.at("connection"))
        world.db.query("DELETE FROM hx_publications", database="kaas")
        assert hx.violations == []


@pytest.mark.slow
def test_by_the_account_of_the_peer(peer: Place) -> None:
    """By itself; both sides are proved, and no other call is made. Without the peer there is nobody any more to tell it."""
    until(lambda: peer.show()["state"] == "published", "the publication")
    assert peer.held and peer.hx.registrations.proved == [ACCOUNT]
    assert {call.path for call in peer.hx.calls} == {PATH}
    assert (peer.hx.count(PATH, "PUT"), peer.hx.logins) == (2, 0)  # asked for Negotiate, and proved
    until(lambda: peer.checks() == ["ok"], "health")
    assert peer.withdraw()["state"] == "withdrawn"
    assert peer.held is None
    peer.publish()
    assert peer.held
    peer.admin.expect(204, "DELETE", peer.at("peer"))
    assert (peer.held, peer.show()["state"]) == (None, "withdrawn")
    peer.admin.refused(404, "not_found", "POST", peer.at())


@pytest.mark.slow
def test_what_can_go_wrong_with_the_account(peer: Place) -> None:
    until(lambda: peer.show()["state"] == "published", "the publication")
    peer.hx.registrations.names = ("somebody@AD.TEST",)
    peer.publish("refused", "refused")
    peer.hx._violations.clear()
    peer.hx.registrations.names = (ACCOUNT,)
    peer.hx.registrations.accept = lambda token: (ACCOUNT, b"\x60\x02no")  # HX does not prove itself
    peer.publish("failing", "not_proved")
    for kind, state, reason in (("redirect", "failing", "protocol"), ("huge", "failing", "too_large"), ("hang", "failing", "timeout"),
                                ("status:500", "failing", "protocol"), ("status:403", "refused", "refused")):
        peer.hx.fault(PATH, kind)
        peer.publish(state, reason)
        peer.hx.clear_faults()
    peer.hx.fault(PATH, "rate", 1, retry_after_s=3000)
    got = peer.publish("failing", "rate_limited")
    assert datetime.fromisoformat(got["next_at"]) - datetime.fromisoformat(got["tried_at"]) >= timedelta(seconds=2999)
    peer.hx.registrations.demand(None)
    peer.publish("not_supported")
    peer.set_peer(thumbprint_sha256="00" * 32, ca_pem=None)
    peer.publish("failing", "tls_untrusted")
    peer.set_peer(url="https://192.0.2.1/")
    peer.publish("failing", "unreachable")


@pytest.mark.slow
def test_the_call_back_needs_no_account(peer: Place) -> None:
    peer.hx.registrations.demand("callback")
    peer.publish()
    assert peer.held and peer.hx.registrations.proved in ([], [ACCOUNT])
    assert peer.hx.registrations.asked_back[-1] == peer.held["nonce"]


@pytest.mark.slow
def test_a_connection_goes_before_a_peer(peer: Place) -> None:
    until(lambda: peer.show()["state"] == "published", "the publication")
    peer.hx.registrations.demand("token")
    peer.connect()
    peer.publish()
    assert peer.held and peer.hx.logins == 1


# -- who may -----------------------------------------------------------------------------------------------------------------


def test_who_may_and_what_is_there(place: Place) -> None:
    nobody = place.world.sign_in("viewer-east")
    for method in ("GET", "POST", "DELETE"):
        nobody.refused(403, "forbidden", method, place.at())
        place.admin.refused(404, "not_found", method, "/v2/hx-clusters/00000000-0000-4000-8000-000000000000/publication")
    west = next(one["id"] for one in place.admin.items("/v2/hx-clusters") if one["id"] != place.east)
    place.admin.refused(404, "not_found", "POST", f"/v2/hx-clusters/{west}/publication")
    assert place.admin.expect(200, "DELETE", f"/v2/hx-clusters/{west}/publication")["state"] == "withdrawn"


def test_by_kaasctl(place: Place) -> None:
    cli = place.world.kaasd.ctl
    assert "published" in cli.ok("hx", "publish", place.east)
    assert cli.json("hx", "publication", place.east)["state"] == "published"
    assert "withdrawn" in cli.ok("hx", "unpublish", place.east)
    place.hx.registrations.demand(None)
    assert "not_supported" in cli.ok("hx", "publish", place.east)
    place.hx.registrations.demand("token")
    place.hx.fault(PATH, "status:403")
    failed = cli.run("hx", "publish", place.east)
    assert failed.returncode == 1 and "refused" in failed.stdout
