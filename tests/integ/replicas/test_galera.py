"""Three replicas, each on its own node of a Galera cluster, under writes that collide on purpose, while nodes die and get cut off:
nothing that was acknowledged is lost or done twice, each replica ends with the same list, readers notice nothing."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pymysql
import pytest
from env.api import Api
from env.galera import Galera, Node
from env.kaasd import Kaasd
from env.places import Scratch
from env.replicas import Replicas
from env.wait import until
from env.writing import BODY, GROUND, Client, Load, Told, wait_made

pytestmark = [pytest.mark.slow, pytest.mark.long(120), pytest.mark.final]
HOT = 3
SESSIONS_MAX = 50  # auth.sessions_per_principal
SOME = 100  # writes that let a change of the cluster be seen in what they met


@dataclass
class Three:
    """The installation. Tests leave it whole."""

    galera: Galera
    replicas: Replicas
    token: str
    hot: list[str]

    def api(self, at: int) -> Api:
        return self.replicas.all[at].api(self.token)

    def load(self) -> Load:
        """Starts from what is there now."""
        return Load([lambda daemon=daemon: Client(daemon, self.token) for daemon in self.replicas.all],  # type: ignore[misc]
                    self.hot).start()

    def rows(self, node: Node) -> dict[str, tuple[str, str | None, int]]:
        found = node.query("SELECT id, name, description, version_no FROM clusters", database="kaas")
        return {key: (name, text, version) for key, name, text, version in found}


@pytest.fixture(scope="module")
def three() -> Iterator[Three]:
    scratch = Scratch("galera")
    galera = Galera(scratch)
    try:
        replicas = Replicas(scratch, [node.socket for node in galera.nodes])
        for sql in GROUND:
            galera.first.query(sql, database="kaas")
        try:
            replicas.start()
            token = replicas.token()
            yield Three(galera, replicas, token, make_hot(replicas.all[0].api(token)))
        finally:
            replicas.stop()
    finally:
        galera.kill()
        scratch.remove()


def make_hot(api: Api) -> list[str]:
    return [api.expect(201, "POST", "/v2/clusters", json={"name": f"hot-{n}", "description": "0", **BODY})["id"] for n in range(HOT)]


@pytest.fixture
def fresh_hot(three: Three) -> Three:
    """Hot clusters known to all, whose counters stand at 0 and versions at some start."""
    for key in three.hot:
        three.api(0).expect(200, "PATCH", f"/v2/clusters/{key}", json={"description": "0"},
                            headers={"Content-Type": "application/merge-patch+json"})
    for at in range(3):
        until(lambda at=at: [item["description"] for item in three.api(at).items("/v2/clusters", q="hot-")] == ["0"] * HOT,  # type: ignore[misc]
              "the counters at 0")
    return three


def versions(three: Three) -> dict[str, int]:
    rows = three.rows(three.galera.first)
    return {key: rows[key][2] for key in three.hot}


def lists_of(three: Three) -> list[dict[str, Any]]:
    """What every replica and every node has: id to (name, description)."""
    told = []
    for daemon in three.replicas.all:
        items = Client(daemon, three.token).read_all()
        assert not isinstance(items, str), items
        told.append({key: (item["name"], item["description"]) for key, item in items.items()})
    return told + [{key: row[:2] for key, row in three.rows(node).items()} for node in three.galera.nodes]


def check(three: Three, told: Told, before: dict[str, int]) -> None:
    """What was acknowledged is there once, everywhere; what was refused is not; the rest wholly or not at all."""
    assert told.faults == []
    until(lambda: len({repr(sorted(three.rows(node).items())) for node in three.galera.nodes}) == 1, "the same rows, to their versions")
    until(lambda: all(found == lists_of(three)[-1] for found in lists_of(three)), "the same list at all replicas and nodes")
    rows = three.rows(three.galera.first)
    names = [row[0] for row in rows.values()]
    assert len(names) == len(set(names))
    for key, name in told.alive.items():
        assert key in told.leaving or rows[key][0] == name
    assert not told.gone & set(rows)
    mine = {key: row[0] for key, row in rows.items() if row[0].startswith(f"c-{told.tag}-")}
    assert not [name for key, name in mine.items() if key not in told.alive and name not in told.unknown_names]
    for key in three.hot:
        open_ones, made = told.open_changes.get(key, 0), told.changes.get(key, 0)
        assert made <= rows[key][2] - before[key] <= made + open_ones
        assert told.counted.get(key, 0) <= int(rows[key][1] or "") <= told.counted.get(key, 0) + open_ones


def check_log(three: Three) -> None:
    """Numbers of changes have no hole and no double on any node: what the feed is followed by."""
    wanted = three.galera.first.query("SELECT id, seq FROM replicas ORDER BY id", database="kaas")
    for node in three.galera.nodes:
        until(lambda node=node: node.query("SELECT id, seq FROM replicas ORDER BY id", database="kaas") == wanted, "the same numbers")  # type: ignore[misc]
        for replica, seq in wanted:
            found = node.query("SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM change_log WHERE replica_id = %s", replica, database="kaas")
            assert found == [(seq, seq)]


def test_colliding_writes(fresh_hot: Three) -> None:
    before, failed = versions(fresh_hot), fresh_hot.galera.counted("wsrep_local_cert_failures")
    load = fresh_hot.load()
    wait_made(load, 2 * SOME)
    until(lambda: fresh_hot.galera.counted("wsrep_local_cert_failures") > failed, "writes that certification refuses")
    until(lambda: load.told.refused, "a write that ran into others too often")
    told = load.stop()
    assert told.unknown <= told.made // 10  # "busy" after all tries is an answer too, but a rare one
    check(fresh_hot, told, before)
    check_log(fresh_hot)


def stale(daemon: Kaasd, token: str) -> str:
    answer = daemon.api(token).call("GET", "/v2/clusters", params={"limit": "1"})
    return f"{answer.headers.get('KaaS-Stale')}"


def test_a_node_dies(fresh_hot: Three) -> None:
    before, galera = versions(fresh_hot), fresh_hot.galera
    load = fresh_hot.load()
    wait_made(load, SOME)
    galera.nodes[2].kill()
    until(lambda: stale(fresh_hot.replicas.all[2], fresh_hot.token) == "database", "the mark of the replica whose node is dead")
    wait_made(load, SOME)
    galera.nodes[2].recover()
    galera.wait_whole()
    until(lambda: stale(fresh_hot.replicas.all[2], fresh_hot.token) == "None", "the end of the mark")
    wait_made(load, SOME)
    check(fresh_hot, load.stop(), before)
    check_log(fresh_hot)


def test_a_node_is_cut_off(fresh_hot: Three) -> None:
    """The minority refuses to write rather than to write something that others do not know."""
    before, galera = versions(fresh_hot), fresh_hot.galera
    alone = fresh_hot.replicas.all[0]
    load = fresh_hot.load()
    wait_made(load, SOME)
    galera.first.isolate()
    try:
        until(lambda: stale(alone, fresh_hot.token) == "database", "the mark of the replica that is cut off")
        until(lambda: galera.first.status("wsrep_ready") == "OFF", "a node that knows that it is alone")
        problem = alone.api(fresh_hot.token).refused(503, "database_unavailable", "POST", "/v2/clusters", json={"name": "alone", **BODY})
        assert problem["detail"]
        wait_made(load, SOME)
    finally:
        galera.first.isolate(False)
    galera.wait_whole()
    until(lambda: stale(alone, fresh_hot.token) == "None", "the end of the mark")
    wait_made(load, SOME)
    told = load.stop()
    check(fresh_hot, told, before)
    check_log(fresh_hot)
    assert "alone" not in [row[0] for row in fresh_hot.rows(galera.first).values()]


def test_one_person_at_all_replicas_has_no_more_sessions(three: Three) -> None:
    """Each replica counts on its own node, and none knows what the others are writing."""
    password = "a long enough password"
    made = three.api(0).expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json={
        "name": "crowd", "role": "user", "password": password, "must_change_password": False})
    principal = f"local:{made['id']}"
    until(lambda: all(node.query("SELECT 1 FROM users WHERE name = 'crowd'", database="kaas") for node in three.galera.nodes), "the user")

    def sign_in(n: int) -> str:
        return three.replicas.all[n % 3].api().login_password("crowd", password).token or ""

    with ThreadPoolExecutor(max_workers=6) as pool:
        tokens = list(pool.map(sign_in, range(SESSIONS_MAX + 30)))
    live = "SELECT COUNT(*) FROM sessions WHERE principal_id = %s AND revoked_at_ms = 0"
    ends = "SELECT COUNT(*) FROM audit WHERE principal_id = %s AND action = 'session.end'"
    count = three.galera.first.query(live, principal, database="kaas")[0][0]
    assert SESSIONS_MAX <= count < SESSIONS_MAX + 6, "those that were opened at the same moment are too many until the next one"
    tokens.append(sign_in(0))
    for at, node in enumerate(three.galera.nodes):
        until(lambda node=node: node.query(live, principal, database="kaas") == [(SESSIONS_MAX,)], "as many as there may be")  # type: ignore[misc]
        assert node.query(ends, principal, database="kaas") == [(len(tokens) - SESSIONS_MAX,)]
        until(lambda at=at: three.replicas.all[at].api(tokens[0]).call("GET", "/v2/whoami").status_code == 401, "the end of the oldest")  # type: ignore[misc]
    check_log(three)


def test_tokens_are_exchanged_at_one_node_after_the_other(three: Three) -> None:
    """Each exchange must see the one before, made at another node a moment ago; else it looks like a stolen token."""
    token = three.replicas.token()
    for turn in range(30):
        daemon = three.replicas.all[turn % 3]
        token = daemon.api(token).expect(200, "POST", "/v2/token/refresh")["access_token"]
    assert three.replicas.all[0].api(token).get("/v2/whoami")["name"] == "admin"


def test_an_exchange_waits_for_a_node_that_lags(three: Three) -> None:
    """The second node applies nothing while its tables are locked; the exchange before must be seen all the same."""
    lagging = three.galera.nodes[1]
    token = three.replicas.token()
    until(lambda: three.replicas.all[1].api(token).call("GET", "/v2/whoami").status_code == 200, "the session at the second replica")
    told: list[int] = []

    def ask() -> bool:
        told.append(three.replicas.all[1].api(token).call("POST", "/v2/token/refresh").status_code)
        return told[-1] != 503

    with pymysql.connect(unix_socket=str(lagging.socket), user="root", ssl_disabled=True) as holder, holder.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        token = three.replicas.all[0].api(token).expect(200, "POST", "/v2/token/refresh")["access_token"]
        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: told or is_waiting(lagging), "a transaction that waits for the node")
        cursor.execute("UNLOCK TABLES")
    asking.join()
    if told == [503]:  # the others leave a node out that is silent for two seconds, as on a busy machine it may be; one asks again
        until(ask, "an answer of a node that is back in its cluster")
    assert told[-1] == 200


def is_waiting(node: Node) -> bool:
    return bool(node.query("SELECT id FROM information_schema.processlist WHERE info LIKE 'START TRANSACTION%%' AND time_ms > 300"))
