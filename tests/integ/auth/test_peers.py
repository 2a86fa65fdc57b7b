"""kaasd signs in to controllers of HX clusters by its own keytab: every way in which that can go wrong has its reason, and nothing is sent
to who must not get it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from env.ad import AdWorld
from env.api import Api
from env.certs import make_server_cert
from env.full import World
from env.peer import Peer, end_point
from env.places import WorldError
from env.wait import until

pytestmark = [pytest.mark.long(35), pytest.mark.slow]

SPN = "HTTP/peer.ad.test"
ACCOUNT = "svc-kaas@AD.TEST"
CALL_LIMIT_S = 10


def merged(*keytabs: Path) -> bytes:
    """One keytab of several: each is two bytes of version and its entries."""
    first, *others = [keytab.read_bytes() for keytab in keytabs]
    return first + b"".join(other[2:] for other in others)


@dataclass
class Place:
    ad: AdWorld
    world: World
    keytab: Path
    peer: Peer
    mute: Peer
    admin: Api
    east: str  # ids of HX clusters
    west: str
    hung: list[dict[str, Any]] = field(default_factory=list)  # what came of the mute peer

    def body(self, **more: Any) -> dict[str, Any]:
        return {"url": self.peer.url, "spn": SPN, "ca_pem": self.peer.cert.ca_file.read_text(), **more}

    def at(self, hx: str = "") -> str:
        return f"/v2/hx-clusters/{hx or self.east}/peer"

    def put(self, **more: Any) -> dict[str, Any]:
        answer = self.admin.call("PUT", self.at(), json=self.body(**more))
        assert answer.status_code in (200, 201), answer.text
        return answer.json()  # type: ignore[no-any-return]

    def test(self, hx: str = "") -> dict[str, Any]:
        status: dict[str, Any] = self.admin.expect(200, "POST", self.at(hx) + "/test")["status"]
        return status

    def fails(self, reason: str) -> dict[str, Any]:
        status = self.test()
        assert (status["state"], status["reason"]) == ("failing", reason), status
        assert status["detail"] and status["remedy"]
        return status

    def settled(self) -> dict[str, Any]:
        """What kaasd found out by itself after a change."""
        return until(lambda: (got := self.admin.get(self.at()))["status"]["state"] != "unknown" and got, "a try of kaasd's own")

    def audit_lines(self) -> list[dict[str, Any]]:
        """Of the peer: kaasd also publishes itself there, at a moment of its own."""
        return [line for line in self.admin.get("/v2/audit")["items"]
                if line["object_id"] == self.east and line["action"].startswith("hx_peer.")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("peers")
    with ExitStack() as stack:
        ad = stack.enter_context(AdWorld())
        keytab = folder / "kaasd.keytab"
        keytab.write_bytes(merged(ad.keytab("service"), ad.keytab("client")))
        keytab.chmod(0o600)
        options = {"auth": {"kerberos": {"keytab": str(keytab), "replay_cache": str(folder / "rcache")}},
                   "peers": {"call_timeout": f"{CALL_LIMIT_S}s"}}
        world = stack.enter_context(World("p", options=options, env=ad.env))
        world.join()
        admin = world.kaasd.admin()
        east, west = [item["id"] for item in admin.items("/v2/hx-clusters")][:2]
        cert = make_server_cert(folder / "peer")
        peer, mute = (stack.enter_context(Peer(ad, cert, ad.keytab("peer"), mode)) for mode in ("strict", "mute"))
        made = Place(ad, world, keytab, peer, mute, admin, east, west)
        admin.expect(201, "PUT", made.at(west), json=made.body(url=mute.url))
        hanging = threading.Thread(target=lambda: made.hung.append(made.test(west)))
        hanging.start()  # all other tests run beside a peer that hangs
        stack.callback(hanging.join)
        yield made


@pytest.fixture
def strict(place: Place) -> Place:
    """The peer as it should be, and quiet."""
    place.peer.be("strict")
    is_there = place.admin.call("GET", place.at())
    if is_there.status_code == 404 or {**is_there.json(), **place.body(principal=None)} != is_there.json():
        place.put()
    if place.settled()["status"]["state"] != "ok":
        status = place.test()
        assert status["state"] == "ok", status
    place.peer.be("strict")
    return place


# -- the stand-in itself ---------------------------------------------------------------------------------------------------


def test_the_stand_in_believes_a_good_token_only(place: Place) -> None:
    def ask(token: bytes | None) -> requests.Response:
        headers = {"Authorization": f"Negotiate {base64.b64encode(token).decode()}"} if token else {}
        return requests.get(place.peer.url, headers=headers, verify=str(place.peer.cert.ca_file), timeout=60)

    place.peer.be("strict")
    kerberos, cache = place.ad.kerberos, place.ad.kinit("alice")
    bound = end_point(place.peer.cert)
    assert "Negotiate" in ask(None).headers["WWW-Authenticate"]
    good = ask(kerberos.token(cache, "HTTP@peer.ad.test", bindings=bound, keep="peer"))
    assert good.status_code == 200
    assert kerberos.answer("peer", base64.b64decode(good.headers["WWW-Authenticate"].split()[1]))[1]  # it proves itself
    assert place.peer.names == ["alice@AD.TEST"]
    for bad in (kerberos.token(cache, "HTTP@peer.ad.test"), kerberos.token(cache, "HTTP@peer.ad.test", bindings=b"tls-server-end-point:x"),
                kerberos.token(cache, "HTTP@localhost", bindings=bound), b"NTLMSSP\0"):
        assert ask(bad).status_code == 401
    with pytest.raises(WorldError):
        place.ad.kerberos.accepted(place.peer.keytab, b"no token")


# -- going well ------------------------------------------------------------------------------------------------------------


def test_kaasd_signs_in_by_itself_and_both_sides_are_proved(place: Place) -> None:
    place.peer.be("strict")
    set_up = place.put()
    assert (set_up["spn"], set_up["principal"]) == (SPN, None)
    assert set_up["status"]["state"] in {"unknown", "ok"}  # kaasd tries by itself, perhaps before it is asked how it stands
    got = place.settled()
    assert got["hx_cluster"]["id"] == place.east
    assert (got["status"]["state"], got["status"]["signed_in_as"], got["status"]["reason"]) == ("ok", ACCOUNT, None)
    assert set(place.peer.names) == {ACCOUNT}  # bound to the channel, nothing delegated: else the stand-in refuses
    state, *rest = place.audit_lines()
    assert (state["action"], state["source"], state["result"], state["reason"]) == ("hx_peer.state", "system", "ok", ACCOUNT)
    assert rest[0]["action"] == "hx_peer.set"
    assert place.world.kaasd.ctl.json("peer", "list")[0]["url"]


def test_one_proof_for_each_time_and_by_fingerprint(strict: Place) -> None:
    assert strict.test()["state"] == "ok"
    assert (strict.peer.asked, len(strict.peer.tokens), strict.peer.names) == (2, 1, [ACCOUNT])
    strict.put(ca_pem=None, thumbprint_sha256=strict.peer.cert.sha256.lower())
    assert strict.settled()["thumbprint_sha256"] == strict.peer.cert.sha256
    assert strict.test()["state"] == "ok"


def test_what_changes_is_noticed_in_time_and_told(strict: Place) -> None:
    """The time of the last look is put back, as if the interval had passed."""
    strict.peer.be("forbidden")
    strict.world.db.query("UPDATE hx_peers SET checked_at_ms = 1 WHERE hx_cluster_id = %s", strict.east, database="kaas")
    until(lambda: strict.admin.get(strict.at())["status"]["state"] == "failing", "the next try")
    line = strict.audit_lines()[0]
    assert (line["action"], line["source"], line["result"], line["reason"]) == ("hx_peer.state", "system", "upstream_error", "forbidden")

    def told() -> bool:
        checks = {check["name"]: check for check in strict.admin.get("/v2/health")["checks"]}
        return checks.get(f"hx_peer:{strict.east}", {}).get("status") == "warning"

    until(told, "health that tells of it")
    before = len(strict.audit_lines())
    strict.fails("forbidden")
    assert len(strict.audit_lines()) == before  # nothing new


# -- answers that prove nothing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "reason", "tokens"), [
    ("silent_proof", "not_proved", 1),
    ("garbage", "not_proved", 1),
    ("huge", "bad_token", 1),
    ("two", "bad_token", 1),
    ("forbidden", "forbidden", 1),
    ("skewed", "clock_skew", 1),
    ("other", "no_negotiate", 0),
    ("open", "not_asked", 0),
    ("error", "unexpected_status", 0),
])
def test_answers_that_are_no_sign_in(strict: Place, mode: str, reason: str, tokens: int) -> None:
    strict.peer.be(mode)
    strict.fails(reason)
    assert len(strict.peer.tokens) == tokens


def test_rounds_come_to_an_end(strict: Place) -> None:
    strict.peer.be("rounds")
    assert strict.fails("not_proved")["state"] == "failing"
    assert len(strict.peer.tokens) <= 4


def test_a_redirect_is_not_followed(strict: Place) -> None:
    with Peer(strict.ad, strict.peer.cert, strict.peer.keytab) as other:
        strict.peer.elsewhere = other.url
        strict.peer.be("redirect")
        strict.fails("redirected")
        assert (strict.peer.tokens, other.asked) == ([], 0)


# -- our own side ----------------------------------------------------------------------------------------------------------


def test_a_ticket_for_somebody_else(strict: Place) -> None:
    strict.put(spn="HTTP/nobody.ad.test")
    assert "HTTP/nobody.ad.test" in strict.fails("unknown_spn")["detail"]
    assert strict.peer.tokens == []
    strict.put(spn="HTTP/localhost")  # another account's, whose key the peer has not
    strict.fails("refused")


def test_certificates_that_are_not_trusted(strict: Place, tmp_path: Path) -> None:
    strict.put(ca_pem=make_server_cert(tmp_path / "other").ca_file.read_text())
    strict.fails("tls_untrusted")
    strict.put(ca_pem=None, thumbprint_sha256="00" * 32)
    strict.fails("tls_untrusted")
    strict.put(url="https://localhost:9/")
    strict.fails("unreachable")
    assert strict.peer.asked == 0


def test_keytab_and_account(strict: Place) -> None:
    whole = strict.keytab.read_bytes()
    try:
        strict.keytab.write_bytes(strict.ad.keytab("service").read_bytes())  # SPNs only
        assert "--principal" in strict.fails("no_account")["remedy"]
        strict.keytab.unlink()
        strict.fails("no_keytab")
    finally:
        strict.keytab.write_bytes(whole)
        strict.keytab.chmod(0o600)
    strict.put(principal="svc-other@AD.TEST")
    strict.fails("no_account")
    strict.put(principal=ACCOUNT)
    assert strict.test()["state"] == "ok"


def test_the_domain_controller_is_away_or_says_no(strict: Place) -> None:
    with strict.ad.closed("kdc"):
        strict.fails("kdc_unreachable")
    strict.ad.disable("svc-kaas")
    try:
        strict.fails("account_refused")
    finally:
        strict.ad.enable("svc-kaas")
    assert strict.test()["state"] == "ok"


def test_a_domain_controller_that_is_silent_is_not_waited_for(strict: Place) -> None:
    with strict.ad.closed("kdc", state="silent"):
        status = strict.fails("kdc_unreachable")
    assert f"within {CALL_LIMIT_S}000 ms" in status["detail"]
    assert strict.test()["state"] == "ok"


def test_a_domain_controller_that_is_silent_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ad = stack.enter_context(AdWorld())
        keytab = tmp_path / "kaasd.keytab"
        keytab.write_bytes(ad.keytab("client").read_bytes())
        keytab.chmod(0o600)
        options = {"auth": {"kerberos": {"keytab": str(keytab), "replay_cache": str(tmp_path / "rcache")}}, "peers": {"call_timeout": "1m"}}
        world = stack.enter_context(World("p", options=options, env=ad.env))
        world.join()
        peer = stack.enter_context(Peer(ad, make_server_cert(tmp_path / "peer"), ad.keytab("peer")))
        hx = next(iter(world.admin.items("/v2/hx-clusters")))["id"]
        ad.door("kdc", "silent")
        before = ad.taken()["kdc"]
        body = {"url": peer.url, "spn": SPN, "ca_pem": peer.cert.ca_file.read_text()}
        world.admin.expect(201, "PUT", f"/v2/hx-clusters/{hx}/peer", json=body)
        until(lambda: ad.taken()["kdc"] > before, "a question to the KDC")
        world.kaasd.stop()


# -- setting it up ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [
    {"url": "http://localhost/"}, {"url": "https://u:p@localhost/"}, {"spn": "HTTP"}, {"spn": "HTTP/a b"}, {"principal": "svc-kaas"},
    {"ca_pem": None}, {"thumbprint_sha256": "00" * 32}, {"ca_pem": "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n"},
    {"ca_pem": None, "thumbprint_sha256": "00"}])
def test_what_cannot_be_is_refused(place: Place, wrong: dict[str, Any]) -> None:
    place.admin.refused(422, "unprocessable", "PUT", place.at(), json=place.body(**wrong))


def test_who_may_and_what_is_there(strict: Place) -> None:
    nobody = strict.world.sign_in("viewer-east")
    for method, more in (("GET", ""), ("DELETE", ""), ("POST", "/test")):
        nobody.refused(403, "forbidden", method, strict.at() + more)
    unknown = strict.at("00000000-0000-4000-8000-000000000000")
    strict.admin.refused(404, "not_found", "PUT", unknown, json=strict.body())
    strict.admin.refused(404, "not_found", "GET", unknown)
    shown = strict.admin.call("GET", strict.at())
    assert strict.admin.call("GET", strict.at(), headers={"If-None-Match": shown.headers["ETag"]}).status_code == 304
    strict.put(url=strict.peer.url + "?x")
    strict.admin.refused(412, "precondition_failed", "PUT", strict.at(), json=strict.body(), headers={"If-Match": shown.headers["ETag"]})
    strict.admin.refused(412, "precondition_failed", "DELETE", strict.at(), headers={"If-Match": shown.headers["ETag"]})


def test_by_kaasctl(strict: Place, tmp_path: Path) -> None:
    cli = strict.world.kaasd.ctl
    assert cli.json("peer", "test", strict.east)["status"]["state"] == "ok"
    strict.peer.be("silent_proof")
    failed = cli.run("peer", "test", strict.east)
    assert failed.returncode == 1 and "not_proved" in failed.stdout
    strict.peer.be("strict")
    kept = cli.json("peer", "set", strict.east, "--principal", ACCOUNT)
    assert (kept["spn"], kept["principal"], bool(kept["ca_pem"])) == (SPN, ACCOUNT, True)
    pinned = cli.json("peer", "set", strict.east, "--sha256", strict.peer.cert.sha256)
    assert (pinned["ca_pem"], pinned["thumbprint_sha256"], pinned["principal"]) == (None, strict.peer.cert.sha256, ACCOUNT)
    assert ACCOUNT in cli.ok("peer", "show", strict.east)
    assert "removed" in cli.ok("peer", "remove", strict.east, "--yes")
    strict.admin.refused(404, "not_found", "GET", strict.at())
    assert cli.run("peer", "set", strict.east, "--spn", SPN).returncode == 2
    cli.ok("peer", "set", strict.east, "--url", strict.peer.url, "--spn", SPN, "--ca", str(strict.peer.cert.ca_file))


# -- and all that while one hangs -------------------------------------------------------------------------------------------


def test_a_peer_that_hangs_costs_others_nothing(place: Place) -> None:
    until(lambda: bool(place.hung), "the end of the sign-in that hung")
    assert (place.hung[0]["state"], place.hung[0]["reason"]) == ("failing", "timeout")
    assert place.mute.tokens == []
