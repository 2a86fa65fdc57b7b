"""The stand-in for HX Connect holds to what is documented, and refuses clients that do not."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from env.certs import ServerCert, make_server_cert
from hx import HxConnect
from hx.faults import DEPTH, HUGE_BYTES, OTHER_UUID
from hx.tokens import LOCK_S, LOGINS_WINDOW_S, TOKEN_LIFE_S, Accounts, Denied, Limited, Tokens

LIMIT_S = 60
AUTH = "/aaa/v1/auth?grant_type=password"
REFRESH = "/aaa/v1/token?grant_type=refresh"
CLUSTERS = "/coreapi/v1/clusters"
ADMIN = {"username": "admin", "password": "secret"}
WRONG = {"username": "admin", "password": "wrong"}


class Client:
    """As plain as can be: sends what a test tells it, right or wrong. A connection for each call, as HX Connect closes some."""

    def __init__(self, hx: HxConnect, ca_file: Path) -> None:
        self.hx = hx
        self.ca_file = ca_file

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        return requests.request(method, self.hx.url + path, verify=str(self.ca_file), timeout=LIMIT_S, allow_redirects=False, **more)

    def post(self, path: str, body: Any) -> requests.Response:
        return self.ask("POST", path, json=body)

    def login(self, user: str = "admin", password: str = "secret", more: str = "") -> dict[str, str]:
        answer = self.post(AUTH + more, {"username": user, "password": password})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def get(self, path: str, token: dict[str, str], **headers: str) -> requests.Response:
        return self.ask("GET", path, headers={"Authorization": f"{token['token_type']} {token['access_token']}", **headers})

    def raw(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        return http.client.HTTPSConnection("127.0.0.1", self.hx.port, timeout=LIMIT_S, context=context)


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hx"))


@pytest.fixture
def hx(cert: ServerCert) -> Iterator[HxConnect]:
    """Its clock stands, but for advance()."""
    with HxConnect(cert.cert_file, cert.key_file, now=lambda: 1000.0) as made:
        made.accounts["admin"] = "secret"
        yield made


@pytest.fixture
def client(hx: HxConnect, cert: ServerCert) -> Client:
    return Client(hx, cert.ca_file)


def status_of(answer: requests.Response) -> int:
    """Each error has a body of JSON that says why."""
    if answer.status_code >= 400:
        assert answer.json()["message"]
    return answer.status_code


# -- sign-on -----------------------------------------------------------------------------------------------------------------


def test_a_sign_on_gives_a_token(hx: HxConnect, client: Client) -> None:
    token = client.login()
    assert sorted(token) == ["access_token", "refresh_token", "token_type"] and token["token_type"] == "Bearer"
    assert client.get(CLUSTERS, token).json() == [{"uuid": hx.uuid, "name": "HX-East"}]
    assert (hx.logins, hx.failures, hx.tokens_held("admin"), hx.violations) == (1, 0, 1, [])


def test_what_ciscos_samples_send_as_well_is_taken(hx: HxConnect, client: Client) -> None:
    more = {"client_id": "HxGuiClient", "client_secret": "public", "redirect_uri": "http://localhost"}
    assert client.post(AUTH, ADMIN | more).status_code == 201
    assert hx.violations == []


def test_local_admin_is_admin(hx: HxConnect, client: Client) -> None:
    client.login("local/admin")
    client.login("admin")
    assert hx.tokens_held("local/admin") == hx.tokens_held("admin") == 2
    assert {call.user for call in hx.calls} == {"admin"}
    hx.accounts["local/admin"] = "changed"
    assert dict(hx.accounts) == {"admin": "changed"}


def test_a_wrong_password_and_an_unknown_user_are_refused(hx: HxConnect, client: Client) -> None:
    assert status_of(client.post(AUTH, WRONG)) == 401
    assert status_of(client.post(AUTH, ADMIN | {"username": "nobody"})) == 401
    assert (hx.failures, hx.logins, hx.tokens_held(), hx.violations) == (2, 0, 0, [])


def test_the_sixth_sign_on_in_15_minutes_is_refused(hx: HxConnect, client: Client) -> None:
    client.login()
    hx.advance(100)
    for _ in range(4):
        client.login()
    answer = client.post(AUTH, ADMIN)
    assert status_of(answer) == 429 and answer.headers["Retry-After"] == str(LOGINS_WINDOW_S - 100)
    assert (hx.logins, hx.tokens_held("admin"), hx.violations) == (5, 5, [])
    hx.advance(LOGINS_WINDOW_S - 100 - 1)
    assert status_of(client.post(AUTH, ADMIN)) == 429
    hx.advance(1)  # the first has left the window, the others have not
    client.login()
    assert status_of(client.post(AUTH, ADMIN)) == 429


def test_the_limit_of_sign_ons_is_that_of_a_user(hx: HxConnect, client: Client) -> None:
    hx.accounts["other@vsphere.local"] = "word"
    for _ in range(5):
        client.login()
    client.login("other@vsphere.local", "word")
    assert status_of(client.post(AUTH, ADMIN)) == 429


def test_a_limit_need_not_tell_when_to_come_again(hx: HxConnect, client: Client) -> None:
    hx.tells_retry_after = False
    for _ in range(5):
        client.login()
    answer = client.post(AUTH, ADMIN)
    assert answer.status_code == 429 and "Retry-After" not in answer.headers


def test_a_wrong_password_is_told_so_beyond_the_limit(hx: HxConnect, client: Client) -> None:
    for _ in range(5):
        client.login()
    assert client.post(AUTH, WRONG).status_code == 401 and hx.failures == 1


def test_a_client_that_signs_on_for_each_poll_is_stopped(hx: HxConnect, client: Client) -> None:
    """The mistake that locks people out of HX Connect."""
    answers = [client.post(AUTH, ADMIN).status_code for _ in range(7)]
    assert answers == [201] * 5 + [429] * 2


# -- the lock ----------------------------------------------------------------------------------------------------------------


def test_ten_failures_lock_the_account(hx: HxConnect, client: Client) -> None:
    token = client.login()
    for _ in range(10):
        assert client.post(AUTH, WRONG).status_code == 401
    assert status_of(client.post(AUTH, ADMIN)) == 401
    assert client.get(CLUSTERS, token).status_code == 200  # tokens are not passwords
    hx.advance(LOCK_S - 1)
    assert client.post(AUTH, ADMIN).status_code == 401
    hx.advance(1)
    client.login("local/admin")
    assert (hx.logins, hx.failures, hx.violations) == (2, 12, [])


def test_the_lock_is_that_of_an_account(hx: HxConnect, client: Client) -> None:
    hx.accounts["other@vsphere.local"] = "word"
    for _ in range(10):
        client.post(AUTH, WRONG | {"username": "local/admin"})
    client.login("other@vsphere.local", "word")
    assert client.post(AUTH, ADMIN).status_code == 401


def test_only_failures_in_a_row_lock(hx: HxConnect, client: Client) -> None:
    for _ in range(2):
        for _ in range(9):
            client.post(AUTH, WRONG)
        client.login()
    assert hx.failures == 18


def test_wrong_passwords_by_basic_lock_as_well(hx: HxConnect, client: Client) -> None:
    for _ in range(10):
        assert client.ask("GET", CLUSTERS, auth=("admin", "wrong")).status_code == 401
    assert client.ask("GET", CLUSTERS, auth=("admin", "secret")).status_code == 401
    assert client.post(AUTH, ADMIN).status_code == 401


# -- tokens ------------------------------------------------------------------------------------------------------------------


def test_the_ninth_token_of_a_user_ends_the_oldest(hx: HxConnect, client: Client) -> None:
    tokens = []
    for _ in range(8):
        tokens.append(client.login())
        hx.advance(LOGINS_WINDOW_S)
    assert all(client.get(CLUSTERS, token).status_code == 200 for token in tokens)
    tokens.append(client.login())
    assert [client.get(CLUSTERS, token).status_code for token in tokens] == [401] + [200] * 8
    assert hx.tokens_held("admin") == 8


def full_system() -> tuple[Tokens, list[str]]:
    accounts = Accounts()
    tokens = Tokens(lambda: now[0], accounts)
    now = [0.0]
    given = []
    for user in ("a", "b", "c"):
        accounts[user] = "p"
    for user in "ab" * 8:
        now[0] += LOGINS_WINDOW_S
        given.append(tokens.login(user, "p").access)
    return tokens, given


def test_the_system_has_room_for_sixteen_tokens() -> None:
    tokens, given = full_system()
    assert tokens.held() == 16
    with pytest.raises(Limited, match="system"):
        tokens.login("c", "p")
    tokens.login("a", "p")  # in the place of a's oldest
    assert tokens.held() == 16 and tokens.held("a") == 8
    with pytest.raises(Denied):
        tokens.find(given[0])


def test_a_full_system_may_take_the_oldest_token_away() -> None:
    tokens, given = full_system()
    tokens.evicts_when_full = True
    tokens.login("c", "p")
    assert (tokens.held(), tokens.held("a"), tokens.held("c")) == (16, 7, 1)
    with pytest.raises(Denied):
        tokens.find(given[0])


def test_a_full_system_is_told_to_the_client(hx: HxConnect, client: Client) -> None:
    for user in ("a", "b", "c"):
        hx.accounts[user] = "p"
    for user in "ab" * 8:
        client.login(user, "p")
        hx.advance(LOGINS_WINDOW_S)
    assert status_of(client.post(AUTH, {"username": "c", "password": "p"})) == 429
    hx.evict_when_full(True)
    client.login("c", "p")
    assert hx.tokens_held() == 16


def test_a_token_lives_18_days(hx: HxConnect, client: Client) -> None:
    token = client.login()
    hx.advance(TOKEN_LIFE_S - 1)
    assert client.get(CLUSTERS, token).status_code == 200
    hx.clock += 1
    assert status_of(client.get(CLUSTERS, token)) == 401
    assert status_of(client.post(REFRESH, token)) == 401
    assert hx.tokens_held("admin") == 0


def test_older_tokens_go_if_that_is_asked_for(hx: HxConnect, client: Client) -> None:
    hx.accounts["other"] = "word"
    others, old = client.login("other", "word"), [client.login(), client.login()]
    new = client.login(more="&revoke_prev_tokens=true")
    assert [client.get(CLUSTERS, token).status_code for token in (*old, new, others)] == [401, 401, 200, 200]
    kept = client.login(more="&revoke_prev_tokens=false")
    assert client.get(CLUSTERS, new).status_code == client.get(CLUSTERS, kept).status_code == 200


def test_a_refused_sign_on_takes_no_token_away(hx: HxConnect, client: Client) -> None:
    tokens = [client.login() for _ in range(5)]
    assert client.post(AUTH + "&revoke_prev_tokens=true", ADMIN).status_code == 429
    assert client.post(AUTH + "&revoke_prev_tokens=true", WRONG).status_code == 401
    assert [client.get(CLUSTERS, token).status_code for token in tokens] == [200] * 5


def test_refreshing_gives_new_values_and_ends_the_old(hx: HxConnect, client: Client) -> None:
    old = client.login()
    answer = client.post(REFRESH, old)
    new = answer.json()
    assert answer.status_code == 201 and sorted(new) == sorted(old)
    assert not {new["access_token"], new["refresh_token"]} & {old["access_token"], old["refresh_token"]}
    assert [client.get(CLUSTERS, token).status_code for token in (old, new)] == [401, 200]
    assert status_of(client.post(REFRESH, old)) == 401
    assert status_of(client.post(REFRESH, new | {"refresh_token": old["refresh_token"]})) == 401
    hx.advance(TOKEN_LIFE_S - 1)  # its life begins anew
    assert client.post(REFRESH, new).status_code == 201
    assert (hx.tokens_held("admin"), hx.logins, hx.violations) == (1, 1, [])


def test_refreshing_is_no_sign_on(hx: HxConnect, client: Client) -> None:
    token = client.login()
    for _ in range(8):
        token = client.post(REFRESH, token).json()
    assert client.get(CLUSTERS, token).status_code == 200 and hx.logins == 1


def test_validate(hx: HxConnect, client: Client) -> None:
    token = client.login()
    asked = {"access_token": token["access_token"], "token_type": "Bearer"}
    for scope in ("READ", "MODIFY"):
        assert client.post("/aaa/v1/validate", asked | {"scope": scope}).status_code == 200
    assert status_of(client.post("/aaa/v1/validate", asked | {"scope": "READ", "access_token": "other"})) == 401
    assert hx.violations == []
    assert status_of(client.post("/aaa/v1/validate", asked | {"scope": "ALL"})) == 400
    assert len(hx.violations) == 1


def test_revoke(hx: HxConnect, client: Client) -> None:
    token, other = client.login(), client.login()
    assert status_of(client.post("/aaa/v1/revoke", token | {"refresh_token": other["refresh_token"]})) == 401
    assert client.post("/aaa/v1/revoke", token).status_code == 200
    assert [client.get(CLUSTERS, one).status_code for one in (token, other)] == [401, 200]
    assert status_of(client.post("/aaa/v1/revoke", token)) == 401
    assert hx.tokens_held("admin") == 1 and hx.violations == []
    hx.revoke_all()
    assert client.get(CLUSTERS, other).status_code == 401


def test_tokens_end_with_their_account(hx: HxConnect, client: Client) -> None:
    token = client.login()
    del hx.accounts["admin"]
    assert client.get(CLUSTERS, token).status_code == 401


# -- authorization of resources ------------------------------------------------------------------------------------------------


def test_resources_need_authorization(hx: HxConnect, client: Client) -> None:
    token = client.login()
    for path in (CLUSTERS, f"{CLUSTERS}/1/about", "/coreapi/v1/hypervisor/vcenter"):
        answer = client.ask("GET", path)
        assert status_of(answer) == 401 and answer.headers["WWW-Authenticate"]
        assert client.get(path, token | {"access_token": token["refresh_token"]}).status_code == 401
        assert client.get(path, token).status_code == 200
    assert hx.violations == []


def test_basic_is_taken_and_is_no_sign_on(hx: HxConnect, client: Client) -> None:
    for _ in range(6):
        assert client.ask("GET", CLUSTERS, auth=("local/admin", "secret")).status_code == 200
    assert (hx.logins, hx.tokens_held(), hx.violations) == (0, 0, [])
    assert hx.calls[-1] == ("GET", CLUSTERS, 200, "admin")


@pytest.mark.parametrize("value", ["{}", "Token {}", "bearer {}", "Bearer  {}", "Bearer", "Basic {}", "Basic YWRtaW4="])
def test_a_malformed_authorization_is_a_violation(hx: HxConnect, client: Client, value: str) -> None:
    token = client.login()["access_token"]
    assert status_of(client.ask("GET", CLUSTERS, headers={"Authorization": value.format(token)})) == 401
    assert len(hx.violations) == 1 and token not in hx.violations[0]


# -- strictness --------------------------------------------------------------------------------------------------------------

TOKEN = {"access_token": "a", "refresh_token": "r", "token_type": "Bearer"}


@pytest.mark.parametrize(("path", "body"), [
    (AUTH, ADMIN | {"grant_type": "password"}), (AUTH, {"username": "admin"}), (AUTH, ADMIN | {"password": 1}), (AUTH, [ADMIN]),
    (AUTH, {}), (AUTH, ADMIN | {"client_id": None}), (REFRESH, TOKEN | {"username": "admin"}),
    (REFRESH, {"refresh_token": "r", "token_type": "Bearer"}),
    (REFRESH, TOKEN | {"token_type": "bearer"}), ("/aaa/v1/revoke", {"access_token": "a", "token_type": "Bearer"}),
    ("/aaa/v1/validate", TOKEN), ("/aaa/v1/revoke", TOKEN | {"scope": "READ"})])
def test_a_body_holds_the_documented_members_only(hx: HxConnect, client: Client, path: str, body: Any) -> None:
    assert status_of(client.post(path, body)) == 400
    assert len(hx.violations) == 1 and hx.violations[0].startswith(f"POST {path}: ")
    assert "secret" not in hx.violations[0] and hx.failures == 0


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"username": "admin", "password": "x", "password": "secret"}', b"[" * 50_000])
def test_a_body_is_json(hx: HxConnect, client: Client, body: bytes) -> None:
    assert status_of(client.ask("POST", AUTH, data=body, headers={"Content-Type": "application/json"})) == 400
    assert len(hx.violations) == 1


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/json", "application/json; charset=latin-1", None])
def test_the_type_of_a_body_is_json(hx: HxConnect, client: Client, kind: str | None) -> None:
    answer = client.ask("POST", AUTH, data=json.dumps(ADMIN).encode(), headers={"Content-Type": kind} if kind else {})
    assert status_of(answer) == 415 and len(hx.violations) == 1


def test_the_type_of_a_body_may_name_its_charset(hx: HxConnect, client: Client) -> None:
    head = {"Content-Type": "application/json; charset=UTF-8", "Accept": "application/json"}
    assert client.ask("POST", AUTH, data=json.dumps(ADMIN).encode(), headers=head).status_code == 201
    assert hx.violations == []


@pytest.mark.parametrize(("method", "path"), [
    ("GET", AUTH), ("PUT", AUTH), ("GET", "/aaa/v1/revoke"), ("POST", CLUSTERS), ("DELETE", f"{CLUSTERS}/1/health"), ("HEAD", CLUSTERS),
    ("PATCH", "/coreapi/v1/hypervisor/vcenter"), ("OPTIONS", CLUSTERS)])
def test_other_methods_are_refused(hx: HxConnect, client: Client, method: str, path: str) -> None:
    answer = client.ask(method, path)
    assert answer.status_code == 405 and answer.headers["Allow"] in ("GET", "POST")
    assert len(hx.violations) == 1
    assert hx.calls == [(method, path, 405, "")]


def test_a_method_that_nobody_knows_is_refused(hx: HxConnect, client: Client) -> None:
    assert client.ask("BREW", CLUSTERS).status_code == 501
    assert len(hx.violations) == 1


@pytest.mark.parametrize("path", ["/", "/aaa/v1/auth/", "/aaa/v1", f"{CLUSTERS}/1", f"{CLUSTERS}/", f"{CLUSTERS}/1/abouts",
                                  "/rest/clusters",
                                  f"{CLUSTERS}/1/about/", f"{CLUSTERS}/9004183636114227531/5445300663653806560/about"])
def test_other_paths_are_refused(hx: HxConnect, client: Client, path: str) -> None:
    assert status_of(client.get(path, client.login())) == 404
    assert len(hx.violations) == 1


@pytest.mark.parametrize("path", [
    "/aaa/v1/auth", "/aaa/v1/auth?grant_type=refresh", f"{AUTH}&grant_type=password", f"{AUTH}&scope=READ",
    f"{AUTH}&revoke_prev_tokens=yes", "/aaa/v1/auth?grant_type", "/aaa/v1/auth?password=secret"])
def test_a_query_holds_the_documented_members_only(hx: HxConnect, client: Client, path: str) -> None:
    assert status_of(client.post(path, ADMIN)) == 400
    assert len(hx.violations) == 1 and hx.logins == 0


def test_a_query_of_a_resource_is_a_violation(hx: HxConnect, client: Client) -> None:
    assert status_of(client.get(f"{CLUSTERS}?limit=1", client.login())) == 400
    assert len(hx.violations) == 1


def test_a_get_has_no_body(hx: HxConnect, client: Client) -> None:
    assert status_of(client.ask("GET", CLUSTERS, json={}, auth=("admin", "secret"))) == 400
    assert len(hx.violations) == 1


def test_the_answer_must_be_accepted(hx: HxConnect, client: Client) -> None:
    token = client.login()
    assert client.get(CLUSTERS, token, Accept="text/html, application/json;q=0.5").status_code == 200
    assert hx.violations == []
    assert status_of(client.get(CLUSTERS, token, Accept="application/xml")) == 406
    assert len(hx.violations) == 1


def test_a_body_is_of_a_known_and_small_size(hx: HxConnect, client: Client) -> None:
    assert status_of(client.ask("POST", AUTH, data=iter([b"{}"]), headers={"Content-Type": "application/json"})) == 411
    assert status_of(client.ask("POST", AUTH, data=b" " * 65537, headers={"Content-Type": "application/json"})) == 413
    connection = client.raw()
    connection.putrequest("POST", AUTH)
    connection.putheader("Content-Length", "+2")
    connection.endheaders(b"{}")
    assert connection.getresponse().status == 400
    connection.close()
    assert len(hx.violations) == 3


def test_a_header_that_is_there_twice_is_refused(hx: HxConnect, client: Client) -> None:
    connection = client.raw()
    connection.putrequest("GET", CLUSTERS)
    for _ in range(2):
        connection.putheader("Authorization", "Bearer x")
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()
    assert len(hx.violations) == 1


def test_a_client_without_tls_gets_nothing(hx: HxConnect) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", hx.port, timeout=LIMIT_S)
    with pytest.raises((http.client.BadStatusLine, OSError)):
        connection.request("GET", CLUSTERS)
        connection.getresponse()
    connection.close()
    hx.stop()
    assert hx.handshakes_broken == 1 and hx.calls == []


def test_a_client_that_does_not_trust_is_noticed(hx: HxConnect) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(hx.url, timeout=LIMIT_S)
    hx.stop()
    assert hx.handshakes_broken == 1 and hx.calls == []


def test_a_certificate_can_be_changed(hx: HxConnect, client: Client, tmp_path: Path) -> None:
    client.login()
    other = make_server_cert(tmp_path / "other")
    hx.use_certificate(other.cert_file.read_text(), other.key_file.read_text())
    with pytest.raises(requests.exceptions.SSLError):
        client.login()
    Client(hx, other.ca_file).login()


# -- what the cluster says -----------------------------------------------------------------------------------------------------

MEMBERS = {
    "about": "uuid hypervisor apiVersion productVersion modelNumber serialNumber name fullName build displayVersion encryptionSupported "
             "replicationSupported upgradeSupported",
    "detail": "name dataReplicationFactor clusterAccessPolicy numNodesConfigured numNodesOnline clusterIpAddress clusterType zoneType "
              "allFlash encryptionEnabled replicationEnabled",
    "health": "uuid state dataReplicationCompliance zkHealth resiliencyDetails",
    "status": "resiliencyStatus",
    "stats": "spaceStatus rawCapacityInBytes totalCapacityInBytes usedCapacityInBytes freeCapacityInBytes compressionSavings "
             "deduplicationSavings totalSavings enospaceState bytesToResumeIO bytesReclaimable bytesToFreeToClearEnospace",
    "network": "clusterMgmtIpAddress clusterDataIpAddress witnessNode",
    "time": "createTime uptimeInSecs downtimeInSecs",
}


@pytest.mark.parametrize("view", MEMBERS)
def test_the_members_are_the_documented_ones(client: Client, view: str) -> None:
    answer = client.get(f"{CLUSTERS}/1/{view}", client.login())
    assert answer.headers["Content-Type"] == "application/json"
    assert sorted(answer.json()) == sorted(MEMBERS[view].split())


def test_a_cluster_is_named_by_uuid_encoded_or_not_and_by_alias(hx: HxConnect, client: Client) -> None:
    token = client.login()
    for name in (hx.uuid, quote(hx.uuid, safe=""), quote(hx.uuid, safe="").lower(), "1"):
        assert client.get(f"{CLUSTERS}/{name}/about", token).json()["uuid"] == hx.uuid
    for name in ("2", OTHER_UUID, quote(quote(hx.uuid, safe=""), safe=""), "HX-East"):
        assert status_of(client.get(f"{CLUSTERS}/{name}/about", token)) == 404
    assert hx.violations == []
    assert hx.count(f"{CLUSTERS}/1/about") == hx.count(f"{CLUSTERS}/{hx.uuid}/about") == 4


def test_what_is_set_is_said(hx: HxConnect, client: Client) -> None:
    token = client.login()

    def view(name: str) -> Any:
        return client.get(f"{CLUSTERS}/{hx.uuid}/{name}", token).json()

    hx.set(version="4.5.2a-39363", state="OFFLINE", resiliency="WARNING", messages=["a node is down"], space="OUT_OF_SPACE", capacity=100,
           used=99, nodes_configured=5, nodes_online=4, alarms=[{"name": "NodeDown"}])
    hx.rename("HX-West ü/1")
    hx.move("DC1", "DC1_C0")
    hx.uuid = OTHER_UUID
    assert (view("about")["productVersion"], view("about")["name"], view("about")["uuid"]) == ("4.5.2a-39363", "HX-West ü/1", OTHER_UUID)
    assert view("health")["state"] == "OFFLINE"
    assert view("health")["resiliencyDetails"] == {"resiliencyState": "WARNING", "messages": ["a node is down"]}
    assert view("status") == {"resiliencyStatus": "WARNING"}
    assert [view("stats")[name] for name in ("spaceStatus", "totalCapacityInBytes", "usedCapacityInBytes", "freeCapacityInBytes")] == [
        "OUT_OF_SPACE", 100, 99, 1]
    assert [view("detail")[name] for name in ("name", "numNodesConfigured", "numNodesOnline")] == ["HX-West ü/1", 5, 4]
    assert view("alarms") == [{"name": "NodeDown"}]
    assert client.get("/coreapi/v1/hypervisor/vcenter", token).json() == {"vCenterDatacenter": "DC1", "vCenterClusterName": "DC1_C0"}
    with pytest.raises(TypeError, match="mood"):
        hx.set(mood="bad")  # type: ignore[call-arg]


# -- faults --------------------------------------------------------------------------------------------------------------------


def test_instead_of_an_answer(hx: HxConnect, client: Client) -> None:
    hx.fault("/aaa/v1/auth", "redirect", 1)
    answer = client.post(AUTH, ADMIN)
    assert answer.status_code == 302 and answer.headers["Location"] == f"{hx.url}/elsewhere"
    hx.fault("/aaa", "redirect", 1, location="https://localhost/there")
    assert client.post(AUTH, ADMIN).headers["Location"] == "https://localhost/there"
    hx.fault("/aaa/v1/auth", "rate", 1, retry_after_s=7)
    answer = client.post(AUTH, ADMIN)
    assert (status_of(answer), answer.headers["Retry-After"]) == (429, "7")
    for status in (204, 500, 503, 418, 599):
        hx.fault("/", f"status:{status}", 1)
        assert status_of(client.post(AUTH, ADMIN)) == status
    assert (hx.logins, hx.tokens_held(), hx.violations) == (0, 0, [])
    client.login()
    with pytest.raises(ValueError, match="mood"):
        hx.fault("/", "mood")


def test_a_client_that_follows_a_redirect_is_noticed(hx: HxConnect, client: Client) -> None:
    hx.fault(CLUSTERS, "redirect")
    requests.get(hx.url + CLUSTERS, auth=("admin", "secret"), verify=str(client.ca_file), timeout=LIMIT_S)
    assert hx.count("/elsewhere") == 1 and len(hx.violations) == 1


def test_answers_of_a_wrong_kind(hx: HxConnect, client: Client) -> None:
    token = client.login()
    about, listed = f"{CLUSTERS}/1/about", client.get(CLUSTERS, token).json()
    hx.fault("/", "not_json", 1)
    with pytest.raises(ValueError):
        client.get(about, token).json()
    hx.fault(about, "wrong_type", 1)
    assert client.get(about, token).json()[0]["uuid"] == hx.uuid
    hx.fault(f"{CLUSTERS}$", "wrong_type", 1)
    assert client.get(about, token).json()["uuid"] == hx.uuid
    assert client.get(CLUSTERS, token).json() == {"items": listed}
    hx.fault("/", "lie", 3)
    assert client.get(CLUSTERS, token).json() == [{"uuid": OTHER_UUID, "name": "HX-East"}]
    assert client.get(about, token).json()["uuid"] == client.get(f"{CLUSTERS}/1/health", token).json()["uuid"] == OTHER_UUID
    assert client.get(about, token).json()["uuid"] == hx.uuid


@pytest.mark.parametrize("path", [CLUSTERS, f"{CLUSTERS}/1/about", f"{CLUSTERS}/1/alarms"])
def test_answers_that_are_too_large_or_too_deep(hx: HxConnect, client: Client, path: str) -> None:
    token = client.login()
    hx.fault(path, "huge", 1)
    answer = client.get(path, token)
    assert len(answer.content) > HUGE_BYTES and answer.json() and "Content-Length" not in answer.headers
    hx.fault(path, "deep", 1)
    answer = client.get(path, token)
    assert "[" * DEPTH + "]" * DEPTH in answer.text
    with pytest.raises(RecursionError):
        answer.json()


def test_an_answer_that_is_cut_off_was_carried_out(hx: HxConnect, client: Client) -> None:
    hx.fault("/aaa/v1/auth", "cut", 1)
    with pytest.raises(requests.exceptions.RequestException):
        client.post(AUTH, ADMIN)
    assert (hx.logins, hx.tokens_held("admin"), hx.calls[-1].status) == (1, 1, 201)


def test_an_answer_that_drips(hx: HxConnect, client: Client) -> None:
    hx.fault(CLUSTERS, "drip")
    connection = client.raw()
    connection.request("GET", CLUSTERS, headers={"Authorization": "Bearer " + client.login()["access_token"]})
    answer = connection.getresponse()
    assert (answer.read(1), answer.read(1)) == (b"[", b"{") and answer.length and answer.length > 20
    hx.stop()  # ends it, too
    with pytest.raises((http.client.IncompleteRead, OSError)):
        answer.read()
    connection.close()


@pytest.mark.parametrize("leaves", [True, False])
def test_an_answer_that_never_comes(hx: HxConnect, client: Client, leaves: bool) -> None:
    hx.fault(CLUSTERS, "hang")
    connection = client.raw()
    connection.request("GET", CLUSTERS)
    assert hx.wait_for(CLUSTERS)[0] == ("GET", CLUSTERS, 0, "")
    if leaves:
        connection.close()
        hx.wait_until_quiet()
    hx.stop()
    if not leaves:
        with pytest.raises((http.client.BadStatusLine, OSError)):
            connection.getresponse()
        connection.close()


def test_faults_meet_what_they_are_for(hx: HxConnect, client: Client) -> None:
    token = client.login()
    encoded = f"{CLUSTERS}/{quote(hx.uuid, safe='')}/health"
    hx.fault(f"{CLUSTERS}/{hx.uuid}/health", "status:500")
    hx.fault(f"{CLUSTERS}/1/health", "status:503", 1)  # the newest comes first
    assert [client.get(encoded, token).status_code for _ in range(3)] == [503, 500, 500]
    assert client.get(f"{CLUSTERS}/1/about", token).status_code == 200
    hx.clear_faults()
    assert client.get(encoded, token).status_code == 200


def test_a_malformed_call_is_refused_despite_a_fault(hx: HxConnect, client: Client) -> None:
    hx.fault("/", "status:503", 1)
    assert client.post(AUTH, {}).status_code == 400 and len(hx.violations) == 1
    assert client.post(AUTH, ADMIN).status_code == 503


# -- what tests ask ------------------------------------------------------------------------------------------------------------


def test_calls_are_noted_without_secrets(hx: HxConnect, client: Client) -> None:
    token = client.login("local/admin")
    client.get(f"{CLUSTERS}/{quote(hx.uuid, safe='')}/stats", token)
    client.post("/aaa/v1/revoke", token)
    assert hx.calls == [("POST", AUTH, 201, "admin"), ("GET", f"{CLUSTERS}/{quote(hx.uuid, safe='')}/stats", 200, "admin"),
                        ("POST", "/aaa/v1/revoke", 200, "admin")]
    hx.calls.clear()  # a copy
    assert (hx.count("/"), hx.count("/aaa"), hx.count("/", "GET"), hx.count("/aaa/v1/auth$"), hx.count("/nothing")) == (3, 2, 1, 1, 0)
    assert len(hx.wait_for("/", 2, method="POST")) == 2


def test_a_call_is_waited_for(hx: HxConnect, client: Client) -> None:
    token = client.login()
    later = threading.Thread(target=client.get, args=(CLUSTERS, token))
    later.start()
    assert hx.wait_for(CLUSTERS)[0].status == 200
    later.join()
    with pytest.raises(TimeoutError, match="no 2 calls"):
        hx.wait_for(CLUSTERS, 2, timeout=0)


def test_many_clients_at_once(hx: HxConnect, client: Client) -> None:
    """No token is given beyond the limits, whoever comes first."""
    together = threading.Barrier(12)
    seen: list[int] = []

    def sign_on() -> None:
        together.wait()
        seen.append(client.post(AUTH, ADMIN).status_code)

    threads = [threading.Thread(target=sign_on) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [201] * 5 + [429] * 7 and hx.logins == 5


def test_a_connection_is_kept(hx: HxConnect, client: Client) -> None:
    connection = client.raw()
    kept = None
    for _ in range(3):
        connection.request("POST", AUTH, json.dumps(ADMIN), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 201 and connection.sock is not None and kept in (None, connection.sock)
        kept = connection.sock
    connection.close()
    assert hx.logins == 3


def test_it_can_be_away_and_come_back(hx: HxConnect, client: Client) -> None:
    token, port = client.login(), hx.port
    hx.stop()
    hx.stop()
    with pytest.raises(requests.exceptions.ConnectionError):
        client.get(CLUSTERS, token)
    assert hx.start().port == port and hx.address == f"127.0.0.1:{port}"
    assert client.get(CLUSTERS, token).status_code == 200


def test_a_mistake_of_the_stand_in_is_told(hx: HxConnect, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    token = client.login()
    monkeypatch.setattr(hx.cluster, "listed", lambda: [object()])
    with pytest.raises(requests.exceptions.ConnectionError):
        client.get(CLUSTERS, token)
    hx.stop()
    assert len(hx.violations) == 1 and "the stand-in itself failed" in hx.violations[0]
