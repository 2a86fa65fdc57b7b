"""Guesses and floods of strangers: whom they slow down, and whom they do not. X-Forwarded-For tells clients apart, as behind a balancer."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import json
import os
import select
import socket
import ssl
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from typing import Any

import pymysql
import pytest
import requests
from env.clock import Clock, clocked_world
from env.forge import b64
from env.full import World
from env.process import READY_LIMIT_S
from env.wait import until
from env.watching import until_watching

pytestmark = pytest.mark.slow
PASSWORD = "seven swans in a paper boat"
OWNER, STRANGER = "198.51.100.7", "192.0.2.66"
FREE, FREE_PARTY, FREE_NAME = 5, 50, 30  # failures without delay
NAME_WAIT_S = 4
CROWD = 40
QUEUE, HASHING = 256, 2  # passwords that wait to be hashed, and that are


class Site:
    def __init__(self, world: World, clock: Clock) -> None:
        self.world, self.clock = world, clock
        self.api = world.kaasd.api()
        self.vcenter = f"vcenter:{world.vcenter.instance_uuid}"

    def new_user(self) -> str:
        name = f"user-{uuid.uuid4()}"
        self.world.admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json={
            "name": name, "role": "user", "password": PASSWORD, "must_change_password": False})
        return name

    def post(self, address: str, way: str, body: dict[str, Any]) -> requests.Response:
        return self.api.call("POST", f"/v2/login/{way}", json=body, headers={"X-KaaS": "1", "X-Forwarded-For": address})

    def password(self, address: str, user: str, password: str, source: str = "local") -> requests.Response:
        return self.post(address, "password", {"username": user, "password": password, "source": source})

    def guess(self, address: str, user: str, source: str = "local") -> requests.Response:
        """Never the same twice, so that each is looked at by itself."""
        answer = self.password(address, user, f"guess {uuid.uuid4()}", source)
        assert answer.status_code in (401, 429), answer.text
        return answer

    def guess_until_held(self, address: str, user: str, source: str = "local") -> tuple[int, int]:
        """How many were looked at, and how long to wait."""
        for number in range(FREE_PARTY * 2):
            answer = self.guess(address, user, source)
            if answer.status_code == 429:
                return number, int(answer.headers["Retry-After"])
        pytest.fail("guesses are not slowed down")

    def cookie(self, address: str, cookie: str) -> requests.Response:
        return self.post(address, "vcenter", {"vcenter": self.world.vcenter.instance_uuid, "session_id": cookie})

    def good_cookie(self) -> str:
        return str(self.world.vcenter.control.login("viewer-east@vsphere.local")["cookie"])


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    options = {"server": {"trusted_proxies": ["127.0.0.1"]}, "database": {"call_timeout": "2m"}}
    with clocked_world("f", options=options) as (world, clock):
        world.join()
        until_watching(world)
        yield Site(world, clock)


def made_up() -> str:
    return (uuid.uuid4().hex * 2)[:40]


# -- a name and strangers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["local", "vcenter"])
def test_a_stranger_keeps_nobody_out(site: Site, kind: str) -> None:
    if kind == "local":
        user, password, source = site.new_user(), PASSWORD, "local"
    else:
        person = site.world.vcenter.users["viewer-dc"]
        user, password, source = person.login, person.password, site.vcenter
    assert site.password(OWNER, user, password, source).status_code == 200
    looked_at, wait_s = site.guess_until_held(STRANGER, user, source)
    assert looked_at >= FREE + 1
    for number in range(4):  # the stranger goes on as soon as that may be
        assert site.password(OWNER, user, password, source).status_code == 200
        assert site.password(f"203.0.113.{number}", user, password, source).status_code == 200, "an address that was never seen"
        site.clock.advance(wait_s)
        assert site.guess(STRANGER, user, source).status_code == 401
        waited_s, wait_s = wait_s, int(site.guess(STRANGER, user, source).headers["Retry-After"])
        assert wait_s > waited_s


def test_many_strangers_keep_nobody_out(site: Site) -> None:
    """One name cannot be guessed at without limit from everywhere, and still its owner comes in within seconds."""
    user = site.new_user()
    assert site.password(OWNER, user, PASSWORD).status_code == 200
    networks = [f"10.{n}.0.9" if n % 2 else f"2001:db8:{n:x}::9" for n in range(1, 3 * FREE_NAME)]
    fresh = next((n for n, address in enumerate(networks) if site.guess(address, user).status_code == 429), None)
    assert fresh and fresh >= FREE_NAME, "each network has a guess, or fewer than are free"
    again = [address for _ in range(FREE) for address in networks[:fresh]]  # without delay, were it for the network alone
    assert any(site.guess(address, user).status_code == 429 for address in again)
    assert site.password(OWNER, user, PASSWORD).status_code == 200
    held = site.password("203.0.113.77", user, PASSWORD)  # nobody knows it, and the stranger's networks were first
    if held.status_code == 429:
        assert int(held.headers["Retry-After"]) <= NAME_WAIT_S
        site.clock.advance(NAME_WAIT_S)
        for address in networks[:fresh]:
            site.guess(address, user)
        held = site.password("203.0.113.77", user, PASSWORD)
    assert held.status_code == 200


def sign_on_by_lines(site: Site, addresses: list[str], user: str, password: str) -> int:
    """With a line of X-Forwarded-For for each: the last one is the proxy's, what stands before it the client wrote itself."""
    connection = http.client.HTTPSConnection("127.0.0.1", site.world.kaasd.port, timeout=READY_LIMIT_S,
                                             context=ssl.create_default_context(cafile=str(site.world.kaasd.tls.ca_file)))
    body = json.dumps({"username": user, "password": password, "source": "local"}).encode()
    connection.putrequest("POST", "/v2/login/password")
    for name, value in [("X-KaaS", "1"), ("Content-Type", "application/json"), ("Content-Length", str(len(body))),
                        *(("X-Forwarded-For", address) for address in addresses)]:
        connection.putheader(name, value)
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_line_of_the_client_itself_is_not_believed(site: Site) -> None:
    """haproxy's `option forwardfor` appends a line behind those of the client: the last one counts (RFC 9110, section 5.3)."""
    guesser = "192.0.2.133"
    statuses = [sign_on_by_lines(site, [f"203.0.113.{number}", guesser], f"nobody-{uuid.uuid4()}", PASSWORD)
                for number in range(FREE_PARTY + 8)]
    assert statuses[:FREE_PARTY] == [401] * FREE_PARTY and 429 in statuses, statuses
    user = site.new_user()
    for lines in (["203.0.113.200", "198.51.100.8"], ["203.0.113.200, 198.51.100.8"],
                  ["203.0.113.200, 203.0.113.201", "", "198.51.100.8:4711"]):
        assert sign_on_by_lines(site, lines, user, PASSWORD) == 200
        line = next(site.world.admin.items("/v2/audit", action="login"))
        assert (line["principal_name"], line["address"]) == (user, "198.51.100.8"), lines


def test_two_ways_to_write_an_account_of_a_vcenter_are_one_name(site: Site) -> None:
    name = f"guessed-{uuid.uuid4()}"
    ways = [f"{name}@vsphere.local", f"VSPHERE.LOCAL\\{name}", f"{name}@VSPHERE.LOCAL"]
    statuses = [site.guess(STRANGER, ways[number % 3], site.vcenter).status_code for number in range(2 * FREE + 2)]
    assert statuses[: FREE + 1] == [401] * (FREE + 1) and 429 in statuses


def test_a_name_in_other_case_is_one_name(site: Site) -> None:
    """Beyond ASCII, too: else each letter would double the guesses."""
    rest = uuid.uuid4()
    spellings = [f"{''.join(letters)}-{rest}" for letters in product("äÄ", "öÖ", "üÜ", "éÉ")]
    statuses = [site.guess(STRANGER, name).status_code for name in spellings[: 2 * FREE + 2]]
    assert statuses[: FREE + 1] == [401] * (FREE + 1) and 429 in statuses


# -- one host with many addresses ---------------------------------------------------------------------------------------------------


def addresses_of(network: str, count: int) -> Iterator[str]:
    return (f"{network}::{number:x}" for number in range(1, count + 1))


def test_the_addresses_of_a_64_are_one_client(site: Site) -> None:
    user = site.new_user()
    statuses = []
    for address in addresses_of("2001:db8:64:1", 3 * FREE_PARTY):
        statuses.append(site.guess(address, f"nobody-{uuid.uuid4()}").status_code)
        if statuses[-1] == 429:
            break
    assert statuses.index(429) >= FREE_PARTY
    assert site.password("2001:db8:64:1::ffff", user, PASSWORD).status_code == 429
    assert site.password("2001:db8:64:2::1", user, PASSWORD).status_code == 200
    assert site.password("2001:db8:64:2::2", user, PASSWORD).status_code == 200


def test_bad_tokens_of_a_64_are_those_of_one_client(site: Site) -> None:
    ended = site.world.kaasd.admin()
    assert ended.token
    ended.expect(204, "POST", "/v2/logout")
    head, claims, _ = ended.token.split(".")

    def bear(address: str) -> int:
        token = f"{head}.{claims}.{b64(os.urandom(64))}"
        return site.api.call("GET", "/v2/whoami", headers={"Authorization": f"Bearer {token}", "X-Forwarded-For": address}).status_code

    statuses: list[int] = []
    addresses = addresses_of("2001:db8:65:1", 40 * FREE_PARTY)
    with ThreadPoolExecutor(8) as pool:  # faster than the ten a second that are forgiven, also where each takes a while
        while 429 not in statuses and (some := list(islice(addresses, FREE_PARTY))):
            statuses += pool.map(bear, some)
    assert set(statuses) == {401, 429}
    assert statuses.count(401) >= FREE_PARTY
    assert bear("2001:db8:65:2::1") == 401


class Waiting:
    """Sign-ons by password that are under way at the same time."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.context = ssl.create_default_context(cafile=str(site.world.kaasd.tls.ca_file))
        self.connections: dict[ssl.SSLSocket, str] = {}

    def begin(self, address: str, user: str) -> None:
        body = json.dumps({"username": user, "password": PASSWORD})
        raw = socket.create_connection(("127.0.0.1", self.site.world.kaasd.port), timeout=READY_LIMIT_S)
        connection = self.context.wrap_socket(raw, server_hostname="127.0.0.1")
        connection.sendall((f"POST /v2/login/password HTTP/1.1\r\nHost: 127.0.0.1\r\nX-KaaS: 1\r\nX-Forwarded-For: {address}\r\n"
                            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}").encode())
        self.connections[connection] = address

    def wait_for(self, count: int) -> None:
        """Until so many are answered; nobody reads the answers yet."""
        until(lambda: len(select.select(list(self.connections), [], [], 0)[0]) >= count, f"{count} answers")

    def answered(self) -> Iterator[tuple[str, int]]:
        """Who, and with which status, in the order of the answers."""
        while self.connections:
            ready, _, _ = select.select(list(self.connections), [], [], READY_LIMIT_S)
            assert ready, "no answer comes any more"
            for connection in ready:
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                connection.close()
                yield self.connections.pop(connection), answer.status


def answers_to(site: Site, crowd: list[tuple[str, str]], refused: int = 0) -> list[tuple[str, int]]:
    """Of sign-ons that are all under way before the first is looked at: address and user, of whom so many are refused at once for want of
    room; then the owner's."""
    owner = site.new_user()
    waiting = Waiting(site)
    with pymysql.connect(unix_socket=str(site.world.db.socket), user="root", ssl_disabled=True, database="kaas") as db, \
            db.cursor() as cursor:
        cursor.execute("LOCK TABLES users WRITE")  # who hashes looks there first, and waits
        for address, user in crowd:
            waiting.begin(address, user)
        waiting.wait_for(refused)
        site.api.get("/v2/login")  # answered behind what the server has read before
        waiting.begin(OWNER, owner)
        waiting.wait_for(refused + 1 if refused else 0)
        site.api.get("/v2/login")
        cursor.execute("UNLOCK TABLES")
    return list(waiting.answered())


def test_a_host_with_many_passwords_delays_itself(site: Site) -> None:
    """By the order of the answers: the crowd was there before the owner came."""
    busy = site.new_user()
    answers = answers_to(site, [(address, busy) for address in addresses_of("2001:db8:66:1", CROWD)])
    assert {status for _, status in answers} == {200}
    assert [address for address, _ in answers].index(OWNER) < CROWD / 2


def test_a_host_that_fills_the_queue_keeps_nobody_out(site: Site) -> None:
    crowd = [(address, f"nobody-{address}") for address in addresses_of("2001:db8:67:1", QUEUE + HASHING + 8)]
    answers = answers_to(site, crowd, refused=8)
    assert [status for address, status in answers if address == OWNER] == [200]
    refused = [status for address, status in answers if address != OWNER and status == 503]
    assert len(refused) == 9, "those for whom there was no room, and one that gave way"


# -- what nobody can guess ----------------------------------------------------------------------------------------------------------


def test_made_up_sessions_keep_nobody_out(site: Site) -> None:
    shared = "192.0.2.88"  # of a proxy that names nobody
    user = site.new_user()
    assert {site.cookie(shared, made_up()).status_code for _ in range(FREE_PARTY + 8)} == {401}
    assert site.cookie(shared, site.good_cookie()).status_code == 200
    assert site.password(shared, user, PASSWORD).status_code == 200


def test_wrong_passwords_do_not_keep_a_session_out(site: Site) -> None:
    shared = "192.0.2.89"
    for _ in range(3 * FREE_PARTY):
        if site.guess(shared, f"nobody-{uuid.uuid4()}").status_code == 429:
            break
    else:
        pytest.fail("guesses are not slowed down")
    assert site.cookie(shared, site.good_cookie()).status_code == 200
