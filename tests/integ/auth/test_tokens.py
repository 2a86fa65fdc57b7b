"""Tokens: what does not verify, refresh and its rotation, logout, and what replicas know of each other's sessions."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import json
import ssl
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from env import forge, raw
from env.api import Api
from env.full import World
from env.kaasd import Kaasd
from env.wait import until
from joserfc import jwt
from joserfc.jwk import KeySet

GRACE_MS = 30_000


@pytest.fixture(scope="module")
def own_key(world: World) -> ec.EllipticCurvePrivateKey:
    return forge.installation_key(world.db, world.kaasd.folder / "master.key")


@pytest.fixture
def admin(world: World) -> Api:
    """A session of its own, which the test may end."""
    return world.kaasd.admin()


@pytest.fixture
def forger(admin: Api, own_key: ec.EllipticCurvePrivateKey) -> forge.Forger:
    assert admin.token
    return forge.Forger(admin.token, own_key)


@pytest.fixture(scope="module")
def replica(world: World) -> Iterator[Kaasd]:
    """A second daemon of the same installation."""
    second = world.kaasd.beside("second")
    second.start()
    yield second
    second.stop()


def refresh(api: Api) -> Api:
    return api.as_token(api.expect(200, "POST", "/v2/token/refresh")["access_token"])


def is_good(api: Api) -> bool:
    return api.call("GET", "/v2/whoami").status_code == 200


def sid_of(api: Api) -> str:
    assert api.token
    return forge.claims_of(api.token)["sid"]


def tell_replicas(world: World, sid: str) -> None:
    """What another replica does after it has changed a session: a row in the change log."""
    world.db.query("UPDATE replicas SET seq = seq + 1 WHERE id = 0", database="kaas")
    world.db.query(
        "INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms) SELECT 0, seq, 'session', %s, %s "
        "FROM replicas WHERE id = 0",
        sid,
        int(time.time() * 1000),
        database="kaas",
    )


def refused(world: World, token: str, code: str = "unauthenticated") -> dict[str, Any]:
    return world.kaasd.api(token).refused(401, code, "GET", "/v2/clusters")


# -- what a good token is ---------------------------------------------------------------------------------------------


def test_other_services_can_verify_a_token_with_the_published_keys(world: World, admin: Api) -> None:
    assert admin.token
    keys = KeySet.import_key_set(world.kaasd.api().get("/.well-known/jwks.json"))
    claims = jwt.decode(admin.token, keys, algorithms=["ES256"]).claims
    assert (claims["iss"], claims["aud"], claims["role"]) == (world.kaasd.url, "kaas", "admin")


def test_the_published_keys_hold_nothing_private(world: World) -> None:
    for key in world.kaasd.api().get("/.well-known/jwks.json")["keys"]:
        assert set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"}


def test_the_forger_makes_tokens_that_are_good(world: World, forger: forge.Forger) -> None:
    assert is_good(world.kaasd.api(forger.token()))


# -- what is refused --------------------------------------------------------------------------------------------------


def test_no_token_is_told_how_to_get_one(world: World) -> None:
    answer = world.kaasd.api().call("GET", "/v2/clusters")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("value", ["Basic YWRtaW46YWRtaW4=", "Bearer", "Bearer ", "bearer", "Token abc", "Bearer a b", ""])
def test_an_authorization_of_another_form_is_refused(world: World, value: str) -> None:
    world.kaasd.api().refused(401, "unauthenticated", "GET", "/v2/clusters", headers={"Authorization": value})


@pytest.mark.parametrize("form", ["Bearer   {}", "bearer {}", "  Bearer {} ", "Bearer {}\t"])
def test_blanks_around_a_token_are_none_of_it(world: World, forger: forge.Forger, form: str) -> None:
    """RFC 9110, sections 5.5 and 11.4. By a raw connection: requests lets no such value pass."""
    trust = ssl.create_default_context(cafile=str(world.kaasd.tls.ca_file))
    connection = http.client.HTTPSConnection("127.0.0.1", world.kaasd.port, context=trust)
    connection.putrequest("GET", "/v2/whoami")
    connection.putheader("Authorization", form.format(forger.token()))
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("alg", ["none", "None", "NONE", ""])
def test_a_token_without_signature_is_refused(world: World, forger: forge.Forger, alg: str) -> None:
    refused(world, forge.unsigned({**forger.header, "alg": alg}, forger.claims))


def public_keys_as_secrets(world: World, own_key: ec.EllipticCurvePrivateKey) -> list[bytes]:
    (published,) = world.kaasd.api().get("/.well-known/jwks.json")["keys"]
    public = own_key.public_key()
    return [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint),
        json.dumps(published).encode(),
        json.dumps(published, separators=(",", ":")).encode(),
        forge.unb64(published["x"]),
        published["x"].encode(),
    ]


def test_a_token_signed_by_hs256_with_the_public_key_is_refused(
    world: World, forger: forge.Forger, own_key: ec.EllipticCurvePrivateKey
) -> None:
    for secret in public_keys_as_secrets(world, own_key):
        refused(world, forge.sign_hs256({**forger.header, "alg": "HS256"}, forger.claims, secret))
        refused(world, forge.sign_hs256(forger.header, forger.claims, secret))


def test_a_token_signed_by_another_key_is_refused(world: World, forger: forge.Forger) -> None:
    refused(world, forge.sign_es256(forger.header, forger.claims, ec.generate_private_key(ec.SECP256R1())))


def test_a_token_that_brings_its_own_key_is_refused(world: World, forger: forge.Forger) -> None:
    mine = ec.generate_private_key(ec.SECP256R1())
    numbers = mine.public_key().public_numbers()
    jwk = {"kty": "EC", "crv": "P-256", "x": forge.b64(numbers.x.to_bytes(32, "big")), "y": forge.b64(numbers.y.to_bytes(32, "big"))}
    for extra in ({"jwk": jwk}, {"jku": "https://evil.example/jwks.json"}, {"kid": "mine", "jwk": jwk}):
        refused(world, forge.sign_es256({**forger.header, **extra}, forger.claims, mine))


def test_a_changed_claim_breaks_the_signature(world: World, forger: forge.Forger) -> None:
    head, _, signature = forger.token().split(".")
    refused(world, f"{head}.{forge.b64(json.dumps({**forger.claims, 'role': 'user'}).encode())}.{signature}")


def test_the_other_signature_of_a_token_is_refused(world: World, admin: Api) -> None:
    assert admin.token
    assert is_good(admin)
    refused(world, forge.twin(admin.token))


def test_a_signature_of_zeros_is_refused(world: World, forger: forge.Forger) -> None:
    refused(world, f"{forge.signing_input(forger.header, forger.claims)}.{forge.b64(bytes(64))}")


def test_an_expired_token_is_told_as_such(world: World, forger: forge.Forger) -> None:
    answer = world.kaasd.api(forger.expired()).call("GET", "/v2/clusters")
    assert (answer.status_code, answer.json()["code"]) == (401, "token_expired")
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_an_expired_token_cannot_be_refreshed(world: World, forger: forge.Forger) -> None:
    world.kaasd.api(forger.expired()).refused(401, "token_expired", "POST", "/v2/token/refresh")


def test_a_token_from_the_future_is_refused(world: World, forger: forge.Forger) -> None:
    refused(world, forger.of_the_future())


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"iss": ["x"]},
        {"aud": "other"},
        {"aud": ["kaas", "other"]},
        {"sub": ""},
        {"sub": 1},
        {"jti": "no-uuid"},
        {"sid": "no-uuid"},
        {"role": "root"},
        {"role": None},
        {"src": "moon"},
        {"exp": "soon"},
        {"exp": None},
        {"iat": "now"},
        {"exp": -1},
        {"exp": 2**70},
    ],
    ids=str,
)
def test_a_wrong_claim_is_refused_even_if_well_signed(world: World, forger: forge.Forger, claims: dict[str, Any]) -> None:
    refused(world, forger.token(**claims))


@pytest.mark.parametrize("name", ["iss", "aud", "sub", "jti", "sid", "role", "src", "exp", "iat"])
def test_a_missing_claim_is_refused_even_if_well_signed(world: World, forger: forge.Forger, name: str) -> None:
    refused(world, forger.token(without=name))


@pytest.mark.parametrize(
    "header",
    [{"typ": "at+jwt"}, {"typ": None}, {"alg": "ES384"}, {"kid": "0" * 43}, {"kid": None}, {"crit": ["x"]}, {"b64": False}],
    ids=str,
)
def test_a_wrong_header_is_refused_even_if_well_signed(world: World, forger: forge.Forger, header: dict[str, Any]) -> None:
    refused(world, forger.token(header=header))


@pytest.mark.parametrize(
    "token", ["x", ".", "..", "...", "a.b.c", "a.b.c.d", "é.é.é".encode().decode("latin-1"), "e30.e30." + "A" * 86, "=" * 200]
)
def test_garbage_is_refused(world: World, token: str) -> None:
    refused(world, token)


def test_a_token_that_is_too_long_for_us_but_not_for_http_is_refused(world: World, forger: forge.Forger) -> None:
    refused(world, forger.token(padding="x" * 4000))


def test_a_token_of_100_kb_is_refused(world: World, forger: forge.Forger) -> None:
    """The library under us answers by itself what does not fit into its memory, and closes without reading the rest: a client that is
    still sending may see its answer, or only the closed connection."""
    token = forger.token(padding="x" * 75_000)
    assert len(token) > 100_000
    request = f"GET /v2/clusters HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    answer = raw.talk(world.kaasd.port, world.kaasd.tls.ca_file, request.encode())
    assert answer.status in (431, 0)
    assert token.encode() not in answer.data
    until(world.kaasd.ready, "readiness")


def test_a_token_of_20_kb_is_refused_as_any(world: World, forger: forge.Forger) -> None:
    """Tickets of Kerberos may have as many bytes in this field."""
    refused(world, forger.token(padding="x" * 14_500))


def test_a_token_of_65_kb_is_refused_as_a_problem(world: World, forger: forge.Forger) -> None:
    world.kaasd.api(forger.token(padding="x" * 49_000)).refused(431, "headers_too_large", "GET", "/v2/clusters")


def test_a_token_of_a_session_nobody_knows_is_refused(world: World, forger: forge.Forger) -> None:
    refused(world, forger.token(sid=str(uuid.uuid4())), "session_ended")


def test_the_reason_of_a_refusal_is_not_told(world: World, forger: forge.Forger) -> None:
    details = {refused(world, token)["detail"] for token in ("garbage", forger.token(iss="x"), forger.token(header={"alg": "none"}))}
    assert len(details) == 1


# -- refresh ----------------------------------------------------------------------------------------------------------


def test_a_refresh_gives_another_token_of_the_same_session(admin: Api) -> None:
    fresh = refresh(admin)
    assert admin.token
    assert fresh.token
    old, new = forge.claims_of(admin.token), forge.claims_of(fresh.token)
    assert new["jti"] != old["jti"]
    assert (new["sid"], new["sub"]) == (old["sid"], old["sub"])
    assert is_good(fresh)


def test_the_old_token_is_good_for_requests_in_flight(admin: Api) -> None:
    refresh(admin)
    assert is_good(admin)


def test_a_refresh_that_was_repeated_within_the_grace_costs_nothing(admin: Api) -> None:
    first, second = refresh(admin), refresh(admin)
    assert is_good(first)
    assert is_good(second)


def test_refreshes_at_the_same_time_all_get_good_tokens(admin: Api) -> None:
    with ThreadPoolExecutor(6) as crowd:
        fresh = list(crowd.map(lambda _: refresh(admin), range(6)))
    assert [is_good(api) for api in fresh] == [True] * 6


def age_rotation(world: World, sid: str) -> None:
    """Makes the last refresh look older than the grace, and tells the daemon."""
    world.db.query("UPDATE sessions SET rotated_at_ms = rotated_at_ms - %s WHERE sid = %s", GRACE_MS + 1000, sid, database="kaas")
    tell_replicas(world, sid)


def test_the_old_token_after_the_grace_ends_the_whole_session(world: World, admin: Api) -> None:
    fresh = refresh(admin)
    age_rotation(world, sid_of(admin))
    until(lambda: not is_good(admin), "the end of the grace")
    problem = admin.refused(401, "session_ended", "GET", "/v2/whoami")
    assert problem
    fresh.refused(401, "session_ended", "GET", "/v2/whoami")


def test_a_reuse_is_in_the_audit_trail(world: World, admin: Api) -> None:
    refresh(admin)
    age_rotation(world, sid_of(admin))
    before = world.db.query("SELECT COUNT(*) FROM audit WHERE action = 'session.reuse'", database="kaas")
    until(lambda: not is_good(admin), "the end of the grace")
    assert world.db.query("SELECT COUNT(*) FROM audit WHERE action = 'session.reuse'", database="kaas") > before


def test_a_token_from_two_refreshes_ago_ends_the_session(admin: Api) -> None:
    newest = refresh(refresh(admin))
    admin.refused(401, "session_ended", "GET", "/v2/whoami")
    newest.refused(401, "session_ended", "GET", "/v2/whoami")


def test_a_refresh_takes_no_body(admin: Api) -> None:
    admin.refused(400, "invalid_request", "POST", "/v2/token/refresh", json={})


# -- the end of a session ---------------------------------------------------------------------------------------------


def test_a_logout_ends_the_session(admin: Api) -> None:
    admin.expect(204, "POST", "/v2/logout")
    admin.refused(401, "session_ended", "GET", "/v2/whoami")


def test_a_logout_ends_all_tokens_of_the_session(admin: Api) -> None:
    fresh = refresh(admin)
    fresh.expect(204, "POST", "/v2/logout")
    admin.refused(401, "session_ended", "GET", "/v2/whoami")


def test_a_logout_leaves_other_sessions_alone(world: World, admin: Api) -> None:
    other = world.kaasd.admin()
    admin.expect(204, "POST", "/v2/logout")
    assert is_good(other)


def test_a_second_logout_is_told_that_the_session_has_ended(admin: Api) -> None:
    admin.expect(204, "POST", "/v2/logout")
    admin.refused(401, "session_ended", "POST", "/v2/logout")


def test_a_session_that_has_ended_cannot_be_refreshed(admin: Api) -> None:
    admin.expect(204, "POST", "/v2/logout")
    admin.refused(401, "session_ended", "POST", "/v2/token/refresh")


def test_a_deleted_session_ends_when_the_change_is_told(world: World, admin: Api) -> None:
    assert is_good(admin)
    world.db.query("DELETE FROM sessions WHERE sid = %s", sid_of(admin), database="kaas")
    tell_replicas(world, sid_of(admin))
    until(lambda: not is_good(admin), "the end of the session")
    admin.refused(401, "session_ended", "GET", "/v2/whoami")


def test_a_deleted_session_cannot_be_refreshed(world: World, admin: Api) -> None:
    world.db.query("DELETE FROM sessions WHERE sid = %s", sid_of(admin), database="kaas")
    admin.refused(401, "session_ended", "POST", "/v2/token/refresh")


def test_a_session_over_its_absolute_end_is_over(world: World) -> None:
    """Ends in the database; the daemon learns it from there when it does not have the session in memory."""
    gone = world.kaasd.admin()
    world.db.query("UPDATE sessions SET revoked_at_ms = 1 WHERE sid = %s", sid_of(gone), database="kaas")
    tell_replicas(world, sid_of(gone))
    until(lambda: not is_good(gone), "the end of the session")


# -- replicas ---------------------------------------------------------------------------------------------------------


def test_a_token_is_good_at_every_replica(admin: Api, replica: Kaasd) -> None:
    assert is_good(replica.api(admin.token))


def test_a_refreshed_token_is_good_at_the_other_replica_at_once(admin: Api, replica: Kaasd) -> None:
    assert is_good(replica.api(admin.token))
    assert is_good(replica.api(refresh(admin).token))


def test_the_old_token_is_good_at_the_other_replica_within_the_grace(admin: Api, replica: Kaasd) -> None:
    fresh = refresh(admin)
    assert is_good(replica.api(fresh.token))
    assert is_good(replica.api(admin.token))


def test_a_logout_ends_the_session_at_every_replica(admin: Api, replica: Kaasd) -> None:
    other = replica.api(admin.token)
    assert is_good(other)
    admin.expect(204, "POST", "/v2/logout")
    until(lambda: not is_good(other), "the logout at the other replica")
    other.refused(401, "session_ended", "GET", "/v2/whoami")


def test_replicas_publish_the_same_keys(world: World, replica: Kaasd) -> None:
    assert replica.api().get("/.well-known/jwks.json") == world.kaasd.api().get("/.well-known/jwks.json")


def test_a_cluster_added_at_one_replica_shows_at_the_other(world: World, admin: Api, replica: Kaasd) -> None:
    made = admin.expect(
        201,
        "POST",
        "/v2/clusters",
        json={
            "name": f"two-{uuid.uuid4().hex[:8]}",
            "kubernetes_version": "1.31.2",
            "control_plane": {"desired": 3},
            "workers": {"desired": 3},
            "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": "DC0/HX-East"}],
        },
    )
    try:
        other = replica.api(admin.token)
        until(lambda: made["name"] in other.names(), "the cluster at the other replica")
    finally:
        admin.expect(204, "DELETE", f"/v2/clusters/{made['id']}")
