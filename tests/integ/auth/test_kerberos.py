"""Signing in by Kerberos: one test for each line of the table of errors, and what tickets of Active Directory can be made to say."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from env.ad import AdWorld, MitWorld
from env.api import Api
from env.certs import make_server_cert
from env.haproxy import Haproxy
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.process import run
from env.wait import until

pytestmark = pytest.mark.slow
PATH = "/v2/login/kerberos"
HEADER = {"X-KaaS": "1"}
OLD_KRB5 = bytes.fromhex("2a864882f712010202")
SPNEGO, KRB5, NTLM = (bytes.fromhex(oid) for oid in ("2b0601050502", "2a864886f712010202", "2b06010401823702020a"))
NTLM_TOKEN = b"NTLMSSP\0\1\0\0\0\x07\x82\x08\xa2" + bytes(16)
# A token of krb5, and what proves that nobody has changed the list of mechanisms: for the second leg of a negotiation.
SECOND_LEG = """
import base64, json, sys, gssapi
name = gssapi.Name(sys.argv[2], gssapi.NameType.hostbased_service)
creds = gssapi.Credentials(usage="initiate", store={b"ccache": sys.argv[1].encode()})
context = gssapi.SecurityContext(name=name, creds=creds, mech=gssapi.MechType.kerberos, usage="initiate",
                                 flags=[gssapi.RequirementFlag.integrity])
token = context.step()
print(json.dumps([base64.b64encode(b).decode() for b in (token, context.get_signature(bytes.fromhex(sys.argv[3])))]))
"""


def der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    n = len(body)
    return bytes([tag]) + (bytes([n]) if n < 0x80 else bytes([0x82, n >> 8, n & 255])) + body


MECHS = der(0x30, der(6, NTLM), der(6, KRB5))
FIRST_LEG = der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, der(0xA0, MECHS), der(0xA2, der(4, NTLM_TOKEN)))))
ONLY_NTLM = der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, der(0xA0, der(0x30, der(6, NTLM))), der(0xA2, der(4, NTLM_TOKEN)))))


@dataclass
class Place:
    ad: AdWorld
    mit: MitWorld
    one: Kaasd
    two: Kaasd
    keytab: Path
    admin: Api
    caches: dict[str, Path] = field(default_factory=dict)

    def cache(self, name: str) -> Path:
        if name not in self.caches:
            self.caches[name] = self.ad.kinit(name)
        return self.caches[name]

    def token(self, name: str = "alice", spn: str = "HTTP@localhost", **more: Any) -> bytes:
        return self.ad.kerberos.token(self.cache(name), spn, **more)

    def post(self, token: bytes | None, *, body: bool = False, at: Kaasd | None = None, client: Any = requests,
             headers: dict[str, str] | None = None) -> requests.Response:
        daemon = at or self.one
        text = base64.b64encode(token).decode() if token is not None else ""
        more: dict[str, Any] = {"json": {"token": text}} if body else {}
        own = {"Authorization": f"Negotiate {text}"} if token is not None and not body else {}
        answer: requests.Response = client.post(daemon.url + PATH, headers={**HEADER, **own, **(headers or {})},
                                                verify=str(daemon.tls.ca_file), timeout=120, **more)
        return answer

    def signed_in(self, token: bytes, **more: Any) -> Api:
        answer = self.post(token, **more)
        assert answer.status_code == 200, answer.text
        return self.one.api(answer.json()["access_token"])

    def refused(self, token: bytes, reason: str, *, status: int = 401, **more: Any) -> requests.Response:
        """The answer says nothing; the audit log says why."""
        answer = self.post(token, **more)
        assert answer.status_code == status, answer.text
        if status == 401:
            assert answer.json()["code"] == "invalid_credentials"
            assert answer.json()["detail"] == "the Kerberos token was not accepted"
            assert answer.headers["WWW-Authenticate"].startswith("Negotiate")
        assert self.last_reason() == reason
        return answer

    def audit_lines(self) -> list[dict[str, Any]]:
        return [line for line in self.admin.get("/v2/audit")["items"] if line["source"] == "kerberos"]

    def last_reason(self) -> Any:
        return self.audit_lines()[0]["reason"]

    def map(self, subject: str, role: str = "user") -> str:
        made: str = self.admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": subject, "role": role})["id"]
        return made


def merged(*keytabs: Path) -> bytes:
    """One keytab of several: each is two bytes of version and its entries."""
    first, *others = [keytab.read_bytes() for keytab in keytabs]
    return first + b"".join(other[2:] for other in others)


def settings(scratch: Scratch, keytab: Path, name: str) -> dict[str, Any]:
    return {"auth": {"kerberos": {"keytab": str(keytab), "replay_cache": str(scratch.path / f"rcache-{name}"), "realms": ["AD.TEST"]}}}


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        ad = stack.enter_context(AdWorld())
        mit = stack.enter_context(MitWorld(ad))
        scratch = Scratch("krb")
        stack.callback(scratch.remove)
        db = Mariadb(scratch)
        stack.callback(db.close)
        keytab = scratch.path / "kaasd.keytab"
        keytab.write_bytes(merged(ad.keytab("service"), ad.keytab("nopac"), ad.keytab("rc4"), mit.keytab("service")))
        keytab.chmod(0o600)
        one = Kaasd(scratch, db.socket, "one", options=settings(scratch, keytab, "one"), env=mit.env)
        one.init()
        two = one.beside("two", options=settings(scratch, keytab, "two"))
        for daemon in (one, two):
            stack.callback(daemon.stop)
            daemon.spawn()
        for daemon in (one, two):
            assert daemon.process
            daemon.process.wait_until(daemon.ready, "readiness", why_not=daemon.why_not_ready)
        made = Place(ad, mit, one, two, keytab, one.admin())
        made.map(f"sid:{ad.sid('grp-deep')}")
        made.map(f"sid:{ad.sid('kaas-viewers')}")
        made.map(f"sid:{ad.sid('kaas-admins')}", "admin")
        until(lambda: made.post(made.token(), at=two).status_code == 200, "a sign-on at the replica that was told of the mappings")
        yield made


# -- signing in ------------------------------------------------------------------------------------------------------------


def test_a_ticket_in_the_header_signs_in_and_the_server_proves_itself(place: Place) -> None:
    token = place.token(keep="mutual")
    answer = place.post(token)
    assert answer.status_code == 200, answer.text
    scheme, text = answer.headers["WWW-Authenticate"].split()
    assert scheme == "Negotiate"
    assert place.ad.kerberos.answer("mutual", base64.b64decode(text)) == (b"", True)
    me = place.one.api(answer.json()["access_token"]).get("/v2/whoami")
    assert (me["id"], me["name"], me["method"], me["role"]) == (place.ad.user("alice").id, "alice@AD.TEST", "kerberos", "user")
    line = place.audit_lines()[0]
    assert (line["principal_id"], line["result"]) == (me["id"], "ok")


def test_a_token_in_the_body_signs_in(place: Place) -> None:
    assert place.signed_in(place.token(mutual=False), body=True).get("/v2/whoami")["name"] == "alice@AD.TEST"


def test_the_role_is_the_best_of_the_groups(place: Place) -> None:
    assert place.signed_in(place.token("ada")).get("/v2/whoami")["role"] == "admin"
    assert place.signed_in(place.token("bob")).get("/v2/whoami")["role"] == "user"
    assert place.signed_in(place.token("zoë")).get("/v2/whoami")["name"].startswith("zo")


@pytest.mark.parametrize("name", ["none", "mallory", "many", "carol"])
def test_who_has_no_group_with_a_role_is_known_and_not_let_in(place: Place, name: str) -> None:
    answer = place.post(place.token(name))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert place.audit_lines()[0]["principal_id"] == place.ad.user(name).id
    assert "no role is mapped" in place.last_reason()


def test_tokens_without_spnego_and_without_any_frame(place: Place) -> None:
    bare = place.token(mech="krb5")
    place.signed_in(bare)
    again = place.token(mech="krb5")
    request = again[again.index(b"\1\0\x6e") + 2:]
    place.signed_in(request)
    place.refused(request, "replay")
    place.refused(again, "replay")  # the same request in its frame


@pytest.mark.parametrize("lists", [None, [OLD_KRB5, KRB5], [KRB5, OLD_KRB5], [OLD_KRB5]])
def test_the_mechanism_as_windows_first_wrote_it(place: Place, lists: list[bytes] | None) -> None:
    """One bit of the OID was wrong, and clients go on naming it, in the frame of the token as well ([MS-SPNG] 1.9; go-krb5/krb5#146)."""
    token = place.token(mech="krb5", mutual=False).replace(KRB5, OLD_KRB5, 1)
    if lists:
        mechs = der(0xA0, der(0x30, *[der(6, mech) for mech in lists]))
        token = der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, mechs, der(0xA2, der(4, token)))))
    place.signed_in(token)


def test_a_mechanism_that_nobody_knows_here(place: Place) -> None:
    """It is refused as what it is: our keytab has no part in it."""
    iakerb = bytes.fromhex("2b0601050205")
    bare = der(0x60, der(6, iakerb), b"\1\0whatever")
    place.refused(bare, "mechanism")
    only = der(0xA0, der(0x30, der(6, iakerb)))
    place.refused(der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, only, der(0xA2, der(4, bare))))), "mechanism")
    first = der(0xA0, der(0x30, der(6, iakerb), der(6, KRB5)))
    answer = place.post(der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, first, der(0xA2, der(4, bare))))))
    assert answer.status_code == 401 and len(answer.headers["WWW-Authenticate"]) > len("Negotiate ")  # goes on with Kerberos


def test_curl_negotiates(place: Place) -> None:
    environment = {**place.mit.env, "KRB5CCNAME": f"FILE:{place.cache('alice')}"}
    got = run(["curl", "--silent", "--negotiate", "--user", ":", "--cacert", place.one.tls.ca_file, "--request", "POST",
               "--header", "X-KaaS: 1",
               "--write-out", "%{http_code}", f"https://localhost:{place.one.port}{PATH}"], env=environment)
    assert got.stdout.endswith("200"), got.stdout + got.stderr


def test_the_session_ends_with_the_ticket(place: Place) -> None:
    end = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    cache = place.ad.forge(place.cache("alice"), endtime=end.strftime("%Y%m%d%H%M%SZ"))
    answer = place.post(place.ad.kerberos.token(cache))
    assert answer.status_code == 200, answer.text
    ends = datetime.fromisoformat(answer.json()["session_expires_at"].replace("Z", "+00:00"))
    assert abs((ends - end).total_seconds()) < 3


def test_somebody_in_a_thousand_groups(place: Place) -> None:
    """SIDs of groups of other domains take 40 bytes each in the ticket: nearly as many as Windows lets it have (48,000)."""
    sids = [f"S-1-5-21-{1000000 + i}-2000000-3000000-{5000 + i}" for i in range(1000)]
    domain, rid = place.ad.sid("alice").rsplit("-", 1)
    viewers = int(place.ad.sid("kaas-viewers").rsplit("-", 1)[1])
    logon = place.ad.oracle.ask("pack", user="alice", rid=int(rid), domain_sid=domain, groups=[513, viewers], sids=sids)
    cache = place.ad.forge(place.cache("alice"), logon=logon, sign=True)
    place.signed_in(place.ad.kerberos.token(cache))
    balancer = Haproxy(place.one.scratch, "ending TLS", [place.one, place.one])  # the example has two servers
    try:
        for port in (place.one.port, balancer.port):
            got = run(["curl", "--silent", "--negotiate", "--user", ":", "--cacert", place.one.tls.ca_file, "--request", "POST",
                       "--header", "X-KaaS: 1", "--write-out", " %{size_request} %{http_code}", f"https://localhost:{port}{PATH}"],
                      env={**place.ad.env, "KRB5CCNAME": f"FILE:{cache}"})
            sent, status = got.stdout.split()[-2:]
            assert int(sent) > 40_000 and status == "200", got.stdout + got.stderr
    finally:
        balancer.stop()


# -- the table of errors -----------------------------------------------------------------------------------------------------


def test_without_a_token_the_scheme_is_told_and_nobody_has_failed(place: Place) -> None:
    before = place.audit_lines()
    for headers in ({}, {"Authorization": "Bearer abc"}, {"Authorization": "Basic YTpi"}):
        answer = place.post(None, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Negotiate")
        assert answer.json()["code"] == "unauthenticated"
    assert place.audit_lines() == before


def test_what_is_no_token(place: Place) -> None:
    for text in ("", "%%%%", "YII", base64.b64encode(b"hello").decode()):
        answer = place.post(None, headers={"Authorization": f"Negotiate {text}"})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), text
        answer = place.one.api().call("POST", PATH, json={"token": text}, headers=HEADER)
        assert answer.status_code == 400, text
    truncated = place.token()[:-40]
    assert place.post(truncated).status_code == 400
    both = place.one.api().call("POST", PATH, json={"token": "YII="}, headers={**HEADER, "Authorization": "Negotiate YII="})
    assert both.status_code == 400


def test_what_is_too_large(place: Place) -> None:
    answer = place.post(bytes(66_000), body=True)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    answer = place.post(bytes(49_200))
    assert (answer.status_code, answer.json()["code"]) == (431, "headers_too_large")
    assert "body" in answer.json()["remedy"]
    place.refused(der(0xA1, der(0x30, der(0xA2, der(4, bytes(47_900))))), "malformed")  # fits, and is nothing


def test_sign_on_needs_our_header(place: Place) -> None:
    answer = requests.post(place.one.url + PATH, headers={"Authorization": "Negotiate YII="}, verify=str(place.one.tls.ca_file), timeout=60)
    assert answer.status_code == 400


def second_leg(place: Place) -> bytes:
    made = subprocess.run(["/usr/bin/python3", "-c", SECOND_LEG, f"FILE:{place.cache('alice')}", "HTTP@localhost", MECHS.hex()], check=True,
                          stdout=subprocess.PIPE, env={**os.environ, **place.ad.env})
    token, proof = (base64.b64decode(text) for text in json.loads(made.stdout))
    return der(0xA1, der(0x30, der(0xA0, b"\x0a\x01\x01"), der(0xA2, der(4, token)), der(0xA3, der(4, proof))))


def begin(place: Place, client: requests.Session) -> None:
    before = place.audit_lines()
    answer = place.post(FIRST_LEG, client=client)
    assert answer.status_code == 401
    assert len(answer.headers["WWW-Authenticate"]) > len("Negotiate ")
    assert place.audit_lines() == before  # half of a sign-on


def test_two_legs_on_one_connection(place: Place) -> None:
    with requests.Session() as client:
        begin(place, client)
        answer = place.post(second_leg(place), client=client)
        assert answer.status_code == 200, answer.text
        assert answer.headers["WWW-Authenticate"].startswith("Negotiate ")


def test_two_legs_on_two_connections(place: Place) -> None:
    with requests.Session() as client, requests.Session() as other:
        begin(place, client)
        place.refused(second_leg(place), "malformed", client=other)
        assert place.post(second_leg(place), client=client).status_code == 200
        place.refused(second_leg(place), "malformed", client=client)  # what was kept is used up


def test_another_request_in_between_ends_the_negotiation(place: Place) -> None:
    with requests.Session() as client:
        begin(place, client)
        assert client.get(place.one.url + "/healthz", verify=str(place.one.tls.ca_file), timeout=60).status_code == 200
        place.refused(second_leg(place), "malformed", client=client)
        begin(place, client)
        assert place.post(place.token(), client=client).status_code == 200  # a first token begins anew


def test_a_replay_is_refused_here_and_at_the_other_replica(place: Place) -> None:
    for body in (False, True):
        token = place.token()
        place.signed_in(token, body=body)
        answer = place.refused(token, "replay", body=body)
        assert len(answer.headers["WWW-Authenticate"]) > 40  # KRB-ERROR
        place.refused(token, "replay", body=body, at=place.two)
        place.refused(token, "replay", body=not body, at=place.two)
        fresh = place.token()
        assert place.post(fresh, at=place.two).status_code == 200
        place.refused(fresh, "replay")


def test_what_is_hidden_in_a_token_is_not_read(place: Place) -> None:
    """The library reads on inside the state of a second token, and took from there a request whose use was not noted."""
    token = place.token(mech="krb5")
    place.signed_in(token)
    other = token[:-1] + bytes([token[-1] ^ 1])
    hidden, shown = der(0xA2, der(4, token)), der(0xA2, der(4, other))
    mechs = der(0xA0, der(0x30, der(6, KRB5)))
    with requests.Session() as client:
        opening = place.post(der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, mechs))), at=place.two, client=client)
        assert opening.status_code == 401
        answer = place.post(der(0xA1, der(0x30, der(0xA0, b"\x0a\x01\x01", hidden), shown)), at=place.two, client=client)
        assert answer.status_code == 400, answer.text
    flags = der(0xA1, b"\x03\x02\x01\x00", hidden)
    answer = place.post(der(0x60, der(6, SPNEGO), der(0xA0, der(0x30, mechs, flags, shown))), at=place.two)
    assert answer.status_code == 400, answer.text


def date_back(cache: Path) -> None:
    """The client's notes of when its tickets begin: an hour earlier, or a clock that is late would not use them."""
    data, now = bytearray(cache.read_bytes()), int(datetime.now(UTC).timestamp())
    for at in range(len(data) - 3):
        then = int.from_bytes(data[at:at + 4], "big")
        if abs(then - now) < 60:
            data[at:at + 4] = (then - 3600).to_bytes(4, "big")
    cache.write_bytes(data)


@pytest.mark.parametrize("skew_s", [900, -900])
def test_clocks_that_differ_too_much(place: Place, skew_s: int) -> None:
    cache = place.ad.kinit("alice")
    place.ad.kerberos.ticket(cache, "HTTP/localhost")
    date_back(cache)
    place.refused(place.ad.kerberos.token(cache, skew_s=skew_s), "clock_skew")


def test_a_token_for_another_host(place: Place) -> None:
    place.refused(place.token(spn="HTTP@other.ad.test"), "no_key")


def test_a_ticket_of_rc4(place: Place) -> None:
    place.refused(place.token(spn="HTTP@rc4.ad.test"), "encryption_type")


@pytest.mark.parametrize("token", [NTLM_TOKEN, ONLY_NTLM])
def test_ntlm_is_refused(place: Place, token: bytes) -> None:
    place.refused(token, "ntlm")


def test_ntlm_is_logged_once_for_each_client(place: Place) -> None:
    for _ in range(3):
        place.refused(NTLM_TOKEN, "ntlm", at=place.two)
    assert place.two.process
    log = place.two.process.log_path.read_text()
    assert sum("event=kerberos_refused" in line and "reason=ntlm" in line for line in log.splitlines()) == 1


def binding(daemon: Kaasd) -> bytes:
    cert = ssl.PEM_cert_to_DER_cert(daemon.tls.cert_file.read_text().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n")
    return b"tls-server-end-point:" + hashlib.sha256(cert).digest()


def test_channel_bindings(place: Place) -> None:
    place.signed_in(place.token(bindings=binding(place.one)))
    place.refused(place.token(bindings=b"tls-server-end-point:" + bytes(32)), "channel_binding")


def test_after_a_reload_it_is_the_new_certificate(place: Place, tmp_path: Path) -> None:
    tls, process = place.one.tls, place.one.process
    files = (tls.ca_file, tls.cert_file, tls.key_file)
    old, before = [file.read_bytes() for file in files], binding(place.one)

    def install(texts: list[bytes]) -> None:
        assert process
        count = process.log.count("event=reloaded")
        for file, text in zip(files, texts, strict=True):
            file.write_bytes(text)
        process.signal(signal.SIGHUP)
        process.wait_until(lambda: process.log.count("event=reloaded") > count, "the reload")

    new = make_server_cert(tmp_path)
    install([file.read_bytes() for file in (new.ca_file, new.cert_file, new.key_file)])
    try:
        place.signed_in(place.token(bindings=binding(place.one)))
        place.refused(place.token(bindings=before), "channel_binding")
    finally:
        install(old)


def test_a_realm_that_is_not_allowed(place: Place) -> None:
    cache = place.mit.kinit("alice")
    answer = place.refused(place.mit.kerberos.token(cache, "HTTP/localhost@MIT.TEST"), "realm", status=403)
    assert answer.json()["code"] == "forbidden"
    assert place.audit_lines()[0]["principal_name"] == "alice@MIT.TEST"


def test_an_altered_pac_is_refused_and_alarms(place: Place) -> None:
    forged = place.ad.forge(place.cache("bob"), rid=[513, 512])
    place.refused(place.ad.kerberos.token(forged), "pac_altered", status=403)
    assert place.one.process
    assert any("pac_altered" in line and "level=warning" in line for line in place.one.process.log_path.read_text().splitlines())
    unsigned = place.ad.forge(place.cache("bob"), flip=200)
    place.refused(place.ad.kerberos.token(unsigned), "pac_altered", status=403)


def test_a_pac_that_cannot_be_read_is_refused(place: Place) -> None:
    broken = place.ad.forge(place.cache("bob"), logon="0110080000000000ffffffff00000000", sign=True)
    place.refused(place.ad.kerberos.token(broken), "pac_unreadable", status=403)


def test_a_ticket_without_groups_needs_a_directory(place: Place) -> None:
    place.refused(place.token("bob", spn="HTTP@nopac.ad.test"), "no_groups", status=403)
    stripped = place.ad.forge(place.cache("bob"), no_pac=True)
    place.refused(place.ad.kerberos.token(stripped), "no_groups", status=403)


def test_a_role_taken_away_during_a_session(place: Place) -> None:
    mapping = place.map(place.ad.user("olga").id)
    group = next(m["id"] for m in place.admin.items("/v2/role-mappings") if m["subject_id"] == f"sid:{place.ad.sid('kaas-viewers')}")
    olga = place.signed_in(place.token("olga"))
    assert olga.get("/v2/whoami")["role"] == "user"
    place.admin.expect(204, "DELETE", f"/v2/role-mappings/{mapping}")
    assert olga.get("/v2/whoami")["role"] == "user"  # by the group still
    place.admin.expect(204, "DELETE", f"/v2/role-mappings/{group}")
    try:
        for daemon in (place.one, place.two):
            until(lambda daemon=daemon: daemon.api(olga.token).call("GET", "/v2/clusters").status_code == 403, "the end of the role")
        assert place.post(place.token("olga")).status_code == 403
    finally:
        place.map(f"sid:{place.ad.sid('kaas-viewers')}")


# -- the keytab -----------------------------------------------------------------------------------------------------------------


def replaced(path: Path, content: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    fresh.rename(path)


def check_of(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = next(check for check in place.admin.get("/v2/health")["checks"] if check["name"] == "kerberos")
    return found


def test_a_keytab_that_is_missing_or_broken(place: Place) -> None:
    content = place.keytab.read_bytes()
    assert check_of(place)["status"] == "ok"
    try:
        for broken in (None, b"", b"no keytab", place.ad.keytab("rc4").read_bytes()):
            place.keytab.unlink() if broken is None else replaced(place.keytab, broken)
            answer = place.post(place.token())
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), broken
            assert place.last_reason() == "keytab"
            check = check_of(place)
            assert (check["status"], bool(check["remedy"])) == ("failed", True)
            said = place.one.ctl.run("kerberos", "status")
            assert said.returncode == 1 and str(place.keytab) in said.stdout, said.stdout + said.stderr
    finally:
        replaced(place.keytab, content)
    place.signed_in(place.token())
    assert "HTTP/localhost@AD.TEST" in place.one.ctl.ok("kerberos", "status")


def test_a_replay_cache_that_cannot_be_written(place: Place) -> None:
    cache = place.two.folder.parent / "rcache-two"
    assert place.post(place.token(), at=place.two).status_code == 200

    def folder_in_its_place() -> bool:
        """A sign-on of before may still write it anew."""
        cache.unlink(missing_ok=True)
        with suppress(FileExistsError):
            cache.mkdir()
        return cache.is_dir()

    until(folder_in_its_place, "a folder where the replay cache was")
    try:
        answer = place.post(place.token(), at=place.two)
        assert (answer.status_code, place.last_reason()) == (503, "replay_cache")
    finally:
        cache.rmdir()
    assert place.post(place.token(), at=place.two).status_code == 200


def test_a_new_key_counts_without_a_restart(place: Place) -> None:
    old = place.ad.kinit("alice")
    place.ad.kerberos.ticket(old, "HTTP/localhost")
    before = place.admin.get("/v2/kerberos")["newest_kvno"]
    place.ad.set_password("svc-kaas", "N3w-Passw0rd-of-the-service!")
    new = place.ad.kinit("alice")
    place.refused(place.ad.kerberos.token(new), "old_keytab")
    fresh = place.keytab.with_suffix(".export")
    fresh.write_bytes(place.keytab.read_bytes())
    place.ad.export(fresh, "HTTP/localhost")
    fresh.chmod(0o600)
    fresh.rename(place.keytab)
    place.signed_in(place.ad.kerberos.token(new))
    place.signed_in(place.ad.kerberos.token(old))  # tickets of the old key live on
    assert place.admin.get("/v2/kerberos")["newest_kvno"] > before


def test_nothing_of_a_token_is_logged(place: Place) -> None:
    token = place.token()
    place.signed_in(token, body=True)
    place.refused(token, "replay")
    assert place.one.process
    log = place.one.process.log_path.read_text(errors="replace")
    text = base64.b64encode(token).decode()
    assert text[:60] not in log and text[200:260] not in log and "Negotiate YII" not in log
