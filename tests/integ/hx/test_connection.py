"""kaasd reads HX clusters by their REST API: what it takes over, and that it never does what would lock people out of HX Connect."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from env.api import Api
from env.certs import ServerCert, make_server_cert
from env.full import World
from env.replicas import second_of
from env.wait import until
from hx import HxConnect

pytestmark = pytest.mark.long(40)

PASSWORD = "S3cret of HX"
UUID = "9004183636114227531:5445300663653806560"
CALL_LIMIT_S = 3
READS = 7  # calls of one reading


@dataclass
class Place:
    world: World
    admin: Api
    hx: HxConnect
    cert: ServerCert
    east: str  # id of the HX cluster

    def body(self, **more: Any) -> dict[str, Any]:
        return {"address": "127.0.0.1", "port": self.hx.port, "user_name": "admin", "password": PASSWORD,
                "thumbprint_sha256": self.cert.sha256, **more}

    def at(self, more: str = "") -> str:
        return f"/v2/hx-clusters/{self.east}/connection{more}"

    def put(self, **more: Any) -> dict[str, Any]:
        answer = self.admin.call("PUT", self.at(), json=self.body(**more))
        assert answer.status_code in (200, 201), answer.text
        return answer.json()  # type: ignore[no-any-return]

    def test(self) -> dict[str, Any]:
        return self.admin.expect(200, "POST", self.at("/test"))["status"]  # type: ignore[no-any-return]

    def fails(self, reason: str, state: str = "failing") -> dict[str, Any]:
        status = self.test()
        assert (status["state"], status["reason"]) == (state, reason), status
        assert status["detail"] and status["remedy"], status
        return status

    def forget_waiting(self) -> None:
        """As if a quarter of an hour had passed, here and at HX."""
        self.hx.advance(16 * 60)
        self.world.db.query("UPDATE hx_statuses SET next_login_at_ms = 0", database="kaas")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """It asks no HX cluster by itself, so that each call at the stand-in is one of the test."""
    with World("x", options={"hx": {"read_interval": "0s", "call_timeout": f"{CALL_LIMIT_S}s"}}) as made:
        made.join()
        yield made


@pytest.fixture
def place(world: World, tmp_path: Path) -> Iterator[Place]:
    """An HX cluster of its own for each test, connected."""
    cert = make_server_cert(tmp_path / "hx")
    admin = world.kaasd.admin()
    east = next(one["id"] for one in admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
    with HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "DC0_C0") as hx:
        hx.accounts["admin"] = PASSWORD
        made = Place(world, admin, hx, cert, east)
        made.put()
        yield made
        admin.call("DELETE", made.at())
        assert hx.violations == []


def test_it_takes_over_what_hx_says(place: Place) -> None:
    place.hx.set(version="5.5.2a-39363", resiliency="WARNING", messages=["one node is away", "rebuilding"], alarms=[{"name": "a"}])
    status = place.test()
    assert (status["state"], status["reason"], status["refusals"]) == ("ok", None, 0)
    facts = status["facts"]
    assert (facts["uuid"], facts["name"], facts["version"]) == (UUID, "HX-East", "5.5.2a-39363")
    assert (facts["resiliency"], facts["messages"], facts["alarms"]) == ("WARNING", "one node is away\nrebuilding", 1)
    assert (facts["datacenter"], facts["vsphere_cluster"]) == ("DC0", "DC0_C0")
    assert facts["capacity_bytes"] > facts["used_bytes"] >= 0 and facts["nodes_configured"] >= facts["nodes_online"] > 0
    place.hx.rename("HX-Ost \u00e4")
    assert place.test()["facts"]["name"] == "HX-Ost \u00e4"
    assert place.hx.logins == 1
    assert place.hx.count("/coreapi") == 2 * READS


def test_the_password_is_shown_nowhere(place: Place) -> None:
    place.test()
    shown = place.admin.call("GET", place.at()).text + place.world.kaasd.ctl.ok("hx", "connection", place.east)
    log = (place.world.kaasd.scratch.log / "kaasd.log").read_text()
    audit = place.admin.call("GET", "/v2/audit?limit=100").text
    rows = str(place.world.db.query("SELECT * FROM hx_connections", database="kaas")) + str(
        place.world.db.query("SELECT * FROM secrets", database="kaas"))
    for text in (shown, log, audit, rows):
        assert PASSWORD not in text


def test_one_token_is_used_again_and_renewed_without_a_login(place: Place) -> None:
    place.test()
    place.world.db.query("UPDATE hx_statuses SET token_at_ms = token_at_ms - %s", 10 * 86400_000, database="kaas")
    assert place.test()["state"] == "ok"
    assert (place.hx.logins, place.hx.count("/aaa/v1/token"), place.hx.tokens_held("admin")) == (1, 1, 1)


def test_a_token_that_hx_has_ended_costs_one_login_at_most(place: Place) -> None:
    place.test()
    place.hx.revoke_all()
    waits = place.fails("login_waits")
    assert waits["next_login_at"] in waits["detail"] and waits["facts"]["name"] == "HX-East"  # what was known stays
    assert place.hx.logins == 1
    place.forget_waiting()
    assert place.test()["state"] == "ok"
    assert place.hx.logins == 2


def test_three_refused_logins_and_no_more(place: Place) -> None:
    place.put(password="wrong")
    for tried in (1, 2, 3):
        place.forget_waiting()
        status = place.fails("refused", "refused" if tried == 3 else "failing")
        assert status["refusals"] == tried and place.hx.failures == tried
        assert f"kaasctl hx connect {place.east}." in status["remedy"]
    for _ in range(2):  # within the five minutes, and after them
        assert "3 times" in place.fails("refused", "refused")["detail"]
        place.forget_waiting()
    assert place.hx.failures == 3
    checks = {f"{c['name']}": c for c in place.admin.get("/v2/health")["checks"]}
    assert any(name.startswith("hx_connection") for name in checks)
    assert place.put()["status"] | {"since": ""} == {
        "state": "unknown", "since": "", "checked_at": None, "duration_ms": 0, "next_login_at": None, "refusals": 0, "reason": None,
        "detail": None, "remedy": None, "facts": None}
    assert place.test()["state"] == "ok"


def test_a_login_without_an_answer_is_one_of_the_five(place: Place) -> None:
    place.hx.fault("/aaa/v1/auth", "cut", 1)
    place.test()
    place.fails("login_waits")
    assert place.hx.count("/aaa/v1/auth") == 1


def test_a_limit_that_others_have_used_up(place: Place) -> None:
    place.hx.fault("/aaa/v1/auth", "rate", 1, retry_after_s=3000)
    status = place.fails("rate_limited")
    assert "wait" in status["remedy"]
    assert datetime.fromisoformat(status["next_login_at"]) - datetime.fromisoformat(status["checked_at"]) >= timedelta(seconds=2999)
    place.fails("login_waits")  # not even for who asks now
    assert place.hx.count("/aaa/v1/auth") == 1


@pytest.mark.parametrize(("path", "kind", "reason"), [
    ("/coreapi", "not_json", "protocol"), ("/coreapi", "wrong_type", "protocol"), ("/coreapi", "deep", "too_large"),
    ("/coreapi", "huge", "too_large"), ("/coreapi", "cut", "unreachable"), ("/coreapi", "drip", "timeout"), ("/coreapi", "hang", "timeout"),
    ("/coreapi", "redirect", "protocol"), ("/coreapi", "status:403", "forbidden"), ("/coreapi", "status:500", "protocol"),
    ("/coreapi/v1/clusters/1/health", "lie", "protocol"), ("/aaa", "redirect", "protocol"), ("/aaa", "not_json", "protocol"),
    ("/aaa", "hang", "timeout")])
def test_an_hx_that_answers_nonsense(place: Place, path: str, kind: str, reason: str) -> None:
    place.hx.fault(path, kind)
    place.fails(reason)
    place.hx.clear_faults()
    place.forget_waiting()
    assert place.test()["state"] == "ok"


def test_nothing_is_sent_to_who_is_not_trusted(place: Place, tmp_path: Path) -> None:
    place.put(thumbprint_sha256="00" * 32)
    place.fails("tls_untrusted")
    place.put(thumbprint_sha256=None, ca_pem=make_server_cert(tmp_path / "other").ca_file.read_text())
    place.fails("tls_untrusted")
    assert place.hx.calls == []
    place.put(thumbprint_sha256=None, ca_pem=place.cert.ca_file.read_text())
    assert place.test()["state"] == "ok"


def test_who_asks_while_it_is_read_waits(place: Place) -> None:
    place.hx.fault("/coreapi", "hang", 1)
    other = place.world.kaasd.admin()
    first = threading.Thread(target=lambda: other.expect(200, "POST", place.at("/test")))
    first.start()
    place.hx.wait_for("/coreapi")
    assert place.test()["state"] == "ok"
    first.join()
    assert place.hx.logins == 1


def test_nobody_is_there(place: Place) -> None:
    place.hx.stop()
    place.fails("unreachable")


def test_the_token_is_given_back(place: Place) -> None:
    place.test()
    assert place.hx.tokens_held("admin") == 1
    place.put()
    assert place.hx.tokens_held("admin") == 0
    place.test()
    place.admin.expect(204, "DELETE", place.at())
    assert place.hx.tokens_held("admin") == 0
    place.admin.refused(404, "not_found", "GET", place.at())
    place.admin.refused(404, "not_found", "POST", place.at("/test"))
    assert place.world.db.query("SELECT COUNT(*) FROM secrets", database="kaas") == [(0,)]


@pytest.mark.parametrize("wrong", [
    {"address": "https://hx/"}, {"address": ""}, {"user_name": ""}, {"user_name": "a\nb"}, {"password": ""}, {"port": 0}, {"port": 65536},
    {"thumbprint_sha256": None}, {"ca_pem": "x"}, {"thumbprint_sha256": "00"},
    {"thumbprint_sha256": None, "ca_pem": "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n"}])
def test_what_cannot_be_is_refused(place: Place, wrong: dict[str, Any]) -> None:
    place.admin.refused(422, "unprocessable", "PUT", place.at(), json=place.body(**wrong))


def test_who_may_and_what_is_there(place: Place) -> None:
    nobody = place.world.sign_in("viewer-east")
    for method, more in (("GET", ""), ("DELETE", ""), ("POST", "/test")):
        nobody.refused(403, "forbidden", method, place.at(more))
    nobody.refused(403, "forbidden", "GET", "/v2/hx-connections")
    unknown = "/v2/hx-clusters/00000000-0000-4000-8000-000000000000/connection"
    place.admin.refused(404, "not_found", "PUT", unknown, json=place.body())
    shown = place.admin.call("GET", place.at())
    place.put(user_name="local/admin")
    place.admin.refused(412, "precondition_failed", "PUT", place.at(), json=place.body(), headers={"If-Match": shown.headers["ETag"]})
    place.admin.refused(412, "precondition_failed", "DELETE", place.at(), headers={"If-Match": shown.headers["ETag"]})
    assert [item["hx_cluster"]["id"] for item in place.admin.items("/v2/hx-connections")] == [place.east]


def test_by_kaasctl(place: Place) -> None:
    cli = place.world.kaasd.ctl
    words = ["hx", "connect", place.east, "--address", "127.0.0.1", "--port", str(place.hx.port), "--password-file", "-"]
    assert "hx.ca_file" in cli.run(*words, stdin=PASSWORD + "\n").stderr  # no certificate
    made = cli.json(*words, "--sha256", place.cert.sha256, stdin=PASSWORD + "\n")
    assert (made["user_name"], made["status"]["state"]) == ("admin", "unknown")
    assert "HX-East" in cli.ok("hx", "test", place.east)
    assert UUID in cli.ok("hx", "connection", place.east)
    assert "HEALTHY" in cli.ok("hx", "connections")
    place.hx.fault("/coreapi", "not_json")
    failed = cli.run("hx", "test", place.east)
    assert failed.returncode == 1 and "protocol" in failed.stdout
    assert "read no more" in cli.ok("hx", "disconnect", place.east, "--yes")


def test_by_itself_by_one_replica_and_signed_out_by_the_last(tmp_path: Path) -> None:
    cert = make_server_cert(tmp_path / "hx")
    with ExitStack() as stack:
        world = stack.enter_context(World("xr", options={"hx": {"read_interval": "1s"}}))
        world.join()
        hx = stack.enter_context(HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "DC0_C0"))
        hx.accounts["admin"] = PASSWORD
        other = second_of(world.kaasd, world.scratch, world.db.socket, {"hx": {"read_interval": "1s"}})
        stack.callback(other.stop)
        other.start()
        admin = world.kaasd.admin()
        east = next(iter(admin.items("/v2/hx-clusters")))["id"]
        place = Place(world, admin, hx, cert, east)
        place.put()
        hx.wait_for("/coreapi/v1/hypervisor/vcenter", 4)
        until(lambda: admin.get(place.at())["status"]["state"] == "ok", "the status")
        assert (hx.logins, hx.tokens_held("admin")) == (1, 1)
        [line] = [line for line in admin.items("/v2/audit") if line["action"] == "hx_connection.state"]
        assert (line["result"], line["reason"]) == ("ok", "HX-East")
        other.stop()
        assert hx.tokens_held("admin") == 1
        world.kaasd.stop()
        assert hx.tokens_held("admin") == 0
        assert hx.violations == []


def test_a_trust_is_needed_where_no_ca_is_configured(place: Place) -> None:
    body = place.body()
    del body["thumbprint_sha256"]
    problem = place.admin.refused(422, "unprocessable", "PUT", place.at(), json=body)
    assert "hx.ca_file" in problem["detail"]
