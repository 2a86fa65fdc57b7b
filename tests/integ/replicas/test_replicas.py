"""Two replicas behind haproxy: one dies, each is restarted in turn, the schema is a release ahead. Clients repeat a request once, a second
after its connection failed, and see nothing else."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
from env.full import EXTENSION_KEY, World
from env.haproxy import Haproxy
from env.kaasd import Kaasd
from env.replicas import Pair
from env.samples import SAMPLES
from env.wait import until
from env.writing import Answer, Client

pytestmark = [pytest.mark.slow, pytest.mark.long(180)]
ALL = sorted(sample.name for sample in SAMPLES)
KINDS = ("ending TLS", "passing TLS through")
OPTIONS: dict[str, Any] = {"server": {"trusted_proxies": ["127.0.0.1"], "drain": "3s"}}
REPEAT_AFTER_S = 1.0  # as docs/admin/replicas.md asks of clients: what is left of a process that dies still takes requests for a moment
BAD_GATEWAY = 502  # the balancer's: the replica it had asked died before it had answered


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with World("two", options=OPTIONS) as world:
        world.join()
        two = Pair(world, OPTIONS)
        try:
            yield two
        finally:
            two.both[1].stop()


@pytest.fixture(scope="module", params=KINDS)
def balancer(pair: Pair, request: pytest.FixtureRequest) -> Iterator[Haproxy]:
    made = Haproxy(pair.world.scratch, request.param, pair.both)
    yield made
    made.stop()


@dataclass
class Clients:
    """Threads that read and write through the balancer, repeating a request once when its connection fails, or the one behind the
    balancer (502)."""

    pair: Pair
    url: str
    threads: list[threading.Thread] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    failures: list[str] = field(default_factory=list)
    repeated: int = 0
    served: int = 0
    made: set[str] = field(default_factory=set)

    def start(self, count: int = 4) -> Clients:
        works = [self.read, self.write]
        self.threads = [threading.Thread(target=self.run, args=(works[n % 2],), daemon=True) for n in range(count)]
        for thread in self.threads:
            thread.start()
        return self

    def stop(self) -> Clients:
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        return self

    def run(self, work: Any) -> None:
        client = Client(self.pair.both[0], self.pair.token, self.url)
        while not self.stopping.wait(0.01):
            try:
                work(client)
            except Exception as error:  # noqa: BLE001 - the test must see it
                self.failures.append(repr(error))
                return

    def ask(self, client: Client, method: str, path: str, good: tuple[int, ...], repeated: tuple[int, ...] = (),
            **more: Any) -> Answer | None:
        """`repeated`: what a second attempt may meet because the first one had arrived."""
        answer, first = client.call(method, path, **more), ""
        if answer is None or answer.status_code == BAD_GATEWAY:
            self.repeated += 1
            good += repeated
            first = "no connection" if answer is None else answer.text[:200]
            time.sleep(REPEAT_AFTER_S)
            answer = client.call(method, path, **more)
        if answer is None or answer.status_code not in good:
            what = "no connection" if answer is None else f"{answer.status_code} {answer.text[:200]}"
            self.failures.append(f"{method} {path}: {first and f'{first}, then '}{what}")
            return None
        self.served += 1
        return answer

    def read(self, client: Client) -> None:
        answer = self.ask(client, "GET", "/v2/clusters", (200,))
        if answer is not None and not set(ALL) <= {item["name"] for item in answer.json()["items"]}:
            self.failures.append("a list lacked what was there before")

    def write(self, client: Client) -> None:
        name = f"t-{uuid.uuid4().hex[:12]}"
        body = {"name": name, "kubernetes_version": "1.31.2", "control_plane": {"desired": 3}, "workers": {"desired": 2},
                "vsphere_clusters": [{"vcenter": self.pair.world.vcenter.instance_uuid, "path": "DC0/HX-East"}]}
        answer = self.ask(client, "POST", "/v2/clusters", (201,), (409,), json=body)
        if answer is None:
            return
        self.made.add(name)
        if answer.status_code == 201:
            self.ask(client, "DELETE", f"/v2/clusters/{answer.json()['id']}", (204,), (404,))
            self.made.discard(name)

    def served_more(self, count: int) -> None:
        wanted = self.served + count
        until(lambda: self.failures or self.served >= wanted, "further answers")

    def check(self) -> None:
        assert self.failures == []
        for name in self.made:
            found = self.pair.world.db.query("SELECT COUNT(*) FROM clusters WHERE name = %s", name, database="kaas")
            assert found == [(1,)]


# -- in front ---------------------------------------------------------------------------------------------------------------


def test_every_replica_serves_everything(pair: Pair, balancer: Haproxy) -> None:
    client = Client(pair.both[0], pair.token, balancer.url)
    for _ in range(6):
        client.close()
        found = client.read_all()
        assert not isinstance(found, str)
        assert set(ALL) <= {item["name"] for item in found.values()}


def test_the_trail_names_the_client_and_not_the_balancer(pair: Pair, balancer: Haproxy) -> None:
    """Only where TLS ends at the balancer; what a client claims for itself is not believed."""
    if "ending" not in balancer.folder.name:
        assert "forwardfor" not in balancer.config.read_text()
        return
    answer = requests.post(f"{balancer.url}/v2/login/password", json={"username": "nobody", "password": "wrong"}, timeout=60,
                           verify=str(pair.both[0].tls.ca_file), headers={"X-KaaS": "1", "X-Forwarded-For": "203.0.113.9"})
    assert answer.status_code == 401
    wanted = "SELECT address FROM audit WHERE principal_name LIKE 'unknown name #%' AND result = 'invalid_credentials'"
    rows = until(lambda: pair.world.db.query(wanted, database="kaas"), "the line of the audit log")
    assert "203.0.113.9" not in str(rows)


def test_restarts_in_turn_are_not_noticed(pair: Pair, balancer: Haproxy) -> None:
    clients = Clients(pair, balancer.url).start()
    clients.served_more(30)
    for daemon, server in zip(pair.both, ("one", "two"), strict=True):
        daemon.stop()
        clients.served_more(10)
        daemon.start()
        until(lambda server=server: balancer.states().get(server), "the balancer's trust in it")  # type: ignore[misc]
    clients.served_more(30)
    clients.stop().check()


def test_a_replica_that_drains_says_so_and_serves_on(pair: Pair) -> None:
    daemon = pair.both[1]
    assert daemon.process
    process = daemon.process
    api = daemon.api(pair.token)
    process.signal(signal.SIGTERM)
    until(lambda: api.call("GET", "/readyz").status_code == 503, "the end of readiness")
    answer = api.call("GET", "/v2/clusters")
    assert (answer.status_code, answer.headers["Connection"]) == (200, "close")
    process.signal(signal.SIGTERM)  # a second one ends the wait
    daemon.stop()
    daemon.start()


def test_a_replica_dies(pair: Pair, balancer: Haproxy) -> None:
    """The one that writes down what the vCenter shows: sign-ons stay good, the other goes on with its work."""
    world, lease = pair.world, f"observe:{pair.world.vcenter.instance_uuid}"
    victim = until(lambda: pair.holder_of(lease), "a holder of the lease")
    other = next(daemon for daemon in pair.both if daemon is not victim)
    token = victim.api().login_password("admin", world.kaasd.admin_password).token
    clients = Clients(pair, balancer.url).start(8)
    clients.served_more(60)
    victim.kill()
    try:
        assert other.api(token).get("/v2/whoami")["name"] == "admin"
        fresh = other.api(token).expect(200, "POST", "/v2/token/refresh")["access_token"]
        until(lambda: balancer.up() == 1, "the balancer's notice")
        clients.served_more(60)
        clients.stop().check()
        if "ending" in balancer.folder.name:  # once is enough
            until(lambda: pair.holder_of(lease) is other, "the lease in other hands")
    finally:
        clients.stop()
        victim.start()
    assert victim.api(fresh).get("/v2/whoami")["name"] == "admin"


# -- the schema of the next release -----------------------------------------------------------------------------------------


def apply(world: World, file: str, release: int, sql: str) -> None:
    """As a newer `kaasctl db migrate` would."""
    world.db.query(sql, database="kaas")
    world.db.query("INSERT INTO schema_migrations (file, sha256, state, started_at_ms, done_at_ms, schema_release)"
                   " VALUES (%s, REPEAT('a', 64), 'done', 1, 1, %s)", file, release, database="kaas")


def test_one_release_beside_the_next(pair: Pair) -> None:
    world, first, second = pair.world, pair.both[0], pair.both[1]
    here = max(row[0] for row in world.db.query("SELECT schema_release FROM schema_migrations", database="kaas"))
    admin = first.api(pair.token)
    clients = Clients(pair, first.url).start(2)
    try:
        apply(world, "9000_next.sql", here + 1, "ALTER TABLE clusters ADD COLUMN colour VARCHAR(20) NOT NULL DEFAULT 'blue'")
        clients.served_more(20)
        second.stop()
        second.start()
        assert set(ALL) <= set(second.api(pair.token).names())
        clients.served_more(20)
        clients.stop().check()
        apply(world, "9001_after.sql", here + 2, "ALTER TABLE clusters ADD COLUMN taste VARCHAR(20)")
        second.stop()
        second.spawn().wait_until(lambda: refusal(second).get("code") not in (None, "unavailable"), "the refusal")
        assert refusal(second)["code"] == "schema_mismatch"
        assert "9001_after.sql" in refusal(second)["detail"]
        assert "install" in refusal(second)["remedy"]
        assert admin.get("/v2/whoami")["name"] == "admin"
    finally:
        clients.stop()
        world.db.query("DELETE FROM schema_migrations WHERE file LIKE '900%%'", database="kaas")
        world.db.query("ALTER TABLE clusters DROP COLUMN IF EXISTS colour, DROP COLUMN IF EXISTS taste", database="kaas")
    until(second.ready, "readiness, once the schema is as it should be")


def refusal(daemon: Kaasd) -> dict[str, Any]:
    try:
        answer = daemon.api().call("GET", "/readyz")
    except requests.RequestException:
        return {}
    found: dict[str, Any] = answer.json()
    return found


def test_the_record_at_the_vcenter_is_the_same(pair: Pair) -> None:
    """After all this there is one registration, and both replicas list the same."""
    assert EXTENSION_KEY in pair.world.vcenter.control.extensions()
    until(lambda: pair.both[0].api(pair.token).names() == pair.both[1].api(pair.token).names(), "the same list")
