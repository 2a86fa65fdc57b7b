"""The database goes away: at the start, later, politely, suddenly, or by not answering any more; or it answers, but late, or refuses to
write, or breaks off in the middle."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pymysql
import pytest
import requests
from env.api import Api
from env.full import World, add_vcenter, register
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.samples import SAMPLES, visible_to
from env.slowdb import SlowDb
from env.wait import until
from env.watching import samples

pytestmark = pytest.mark.slow
LIMIT_S = 60
RECORD_FILE_FULL = 1114  # the engine's error when its files may not grow
ALL = sorted(sample.name for sample in SAMPLES)
GO: dict[str, Callable[[Mariadb], None]] = {"stopped": Mariadb.stop, "killed": Mariadb.kill, "frozen": Mariadb.freeze}
COME: dict[str, Callable[[Mariadb], None]] = {"stopped": Mariadb.start, "killed": Mariadb.start, "frozen": Mariadb.thaw}


@dataclass
class Left:
    """A daemon whose database has gone, with people who signed in before."""

    world: World
    admin: Api
    viewer: Api


def stale(api: Api) -> list[str]:
    return [word for word in api.call("GET", "/v2/clusters").headers.get("KaaS-Stale", "").split(", ") if word]


def body(world: World) -> dict[str, Any]:
    return {
        "name": f"t-{uuid.uuid4().hex[:8]}",
        "description": "made while the database was in trouble",
        "kubernetes_version": "1.31.2",
        "control_plane": {"desired": 3},
        "workers": {"desired": 2},
        "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": "DC0/HX-East"}],
    }


@pytest.fixture(scope="module")
def joined() -> Iterator[World]:
    with World("d") as whole:
        whole.join()
        yield whole


@pytest.fixture(scope="module")
def slow(joined: World) -> Iterator[SlowDb]:
    """From the first test that wants it on, there is something between the daemon and its database."""
    with SlowDb(joined.scratch.path / "slow.sock", joined.db.socket) as between:
        joined.kaasd.stop()
        joined.kaasd.write_config({"database": {"socket": str(between.path)}})
        joined.kaasd.start()
        yield between


def told(daemon: Kaasd) -> list[str]:
    """What the log says of the database's health: status before and after, as "ok>failed"."""
    assert daemon.process
    lines = [line for line in daemon.process.log.splitlines() if "event=health_changed " in line and " check=database " in line]
    return [">".join(re.search(rf" {word}=(\w+)", line)[1] for word in ("was", "status")) for line in lines]  # type: ignore[index]


def test_writes_work_again_when_the_database_is_back(joined: World) -> None:
    admin = joined.admin
    joined.db.stop()
    try:
        until(lambda: stale(admin) == ["database"], "the mark of the database")
    finally:
        joined.db.start()
    until(lambda: stale(admin) == [], "the end of the mark")
    added = admin.expect(201, "POST", "/v2/clusters", json=body(joined))
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


def test_the_log_tells_once_that_it_goes_and_once_that_it_comes_back(joined: World) -> None:
    admin, kaasd = joined.admin, joined.kaasd
    until(lambda: database_check(admin)["status"] == "ok", "the end of what was before")
    until(lambda: told(kaasd)[-1:] in ([], ["failed>ok"]), "the word about it")
    before = len(told(kaasd))
    joined.db.stop()
    try:
        until(lambda: told(kaasd)[before:], "a word in the log")
        gone = database_check(admin)
        assert (gone["status"], samples(admin, "kaas_database_up")) == ("failed", {"": 0})
    finally:
        joined.db.start()
    until(lambda: len(told(kaasd)) > before + 1, "another word in the log")
    assert told(kaasd)[before:] == ["ok>failed", "failed>ok"]
    well = database_check(admin)
    assert (well["status"], samples(admin, "kaas_database_up")) == ("ok", {"": 1})
    assert gone["since"] < well["since"]


def test_what_was_written_meanwhile_shows_when_the_database_is_back(joined: World) -> None:
    admin = joined.admin
    joined.db.kill()
    try:
        until(lambda: stale(admin) == ["database"], "the mark of the database")
    finally:
        joined.db.start()
    joined.db.query(
        "UPDATE clusters SET description = 'changed elsewhere', version_no = version_no + 1 WHERE name = 'prod-2'", database="kaas"
    )
    joined.db.query("UPDATE replicas SET seq = seq + 1 WHERE id = 0", database="kaas")
    joined.db.query(
        "INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms) SELECT 0, r.seq, 'cluster', c.id, %s "
        "FROM replicas r, clusters c WHERE r.id = 0 AND c.name = 'prod-2'",
        int(time.time() * 1000),
        database="kaas",
    )
    until(lambda: next(admin.items("/v2/clusters", q="prod-2"))["description"] == "changed elsewhere", "the change")


# -- it answers, but refuses to write ---------------------------------------------------------------------------------------


def database_check(api: Api) -> dict[str, Any]:
    return next(check for check in api.get("/v2/health")["checks"] if check["name"] == "database")


def test_a_read_only_database_takes_nothing_and_says_so(joined: World) -> None:
    admin = joined.admin
    wanted = body(joined)
    joined.db.query("SET GLOBAL read_only = 1")
    try:
        answer = admin.call("POST", "/v2/clusters", json=wanted)
        assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
        assert "read-only" in answer.json()["detail"]
        assert int(answer.headers["Retry-After"]) >= 1
        assert "read-only" in database_check(admin)["detail"]
        until(lambda: stale(admin) == [], "no mark: what is shown is what is stored")
        assert wanted["name"] not in admin.names()
        admin.refused(503, "database_unavailable", "POST", "/v2/token/refresh")
    finally:
        joined.db.query("SET GLOBAL read_only = 0")
    added = admin.expect(201, "POST", "/v2/clusters", json=wanted)
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


def room_for(megabytes: int) -> tuple[str, ...]:
    """Options of a server with one file for all tables, which may grow up to that."""
    return (f"--innodb-data-file-path=ibdata1:10M:autoextend:max:{megabytes}M", "--innodb-file-per-table=0")


def fill(db: Mariadb) -> None:
    """Until the engine says that there is no room left; everything is in one file that may not grow. By rows that fit into a page: larger
    ones are rolled back half written, which has ended the server itself (https://bugs.mysql.com/bug.php?id=43665)."""
    db.query("CREATE TABLE filler (id INT AUTO_INCREMENT PRIMARY KEY, data VARBINARY(7000)) ENGINE=InnoDB", database="test_fill")
    for size, rows in ((7000, 64), (7000, 1), (1000, 1), (200, 1)):
        values = ",".join([f"(REPEAT('x', {size}))"] * rows)
        while True:
            try:
                db.query(f"INSERT INTO filler (data) VALUES {values}", database="test_fill")
            except pymysql.err.OperationalError as full:
                assert full.args[0] == RECORD_FILE_FULL, (full, (db.folder / "mariadbd.log").read_text()[-6000:])
                break

def test_a_full_disk_loses_nothing_and_halves_nothing(joined: World, make_kaasd: Callable[..., Kaasd], fresh_db: Mariadb) -> None:
    fresh_db.stop()
    fresh_db.start(*room_for(32))
    daemon = make_kaasd(options={"vcenter": {"extension_key": "com.cisco.kaas.full"}})
    daemon.init()
    daemon.start()
    add_vcenter(daemon, joined.vcenter)
    register(daemon, joined.vcenter)
    admin = daemon.admin()
    fresh_db.query("CREATE DATABASE test_fill")
    fill(fresh_db)
    taken: list[str] = []
    refused: list[requests.Response] = []

    def grows() -> bool:
        wanted = {**body(joined), "description": "x" * 1000, "labels": {f"label-{number}": "y" * 255 for number in range(64)}}
        answer = admin.call("POST", "/v2/clusters", json=wanted)
        (taken if answer.status_code == 201 else refused).append(wanted["name"] if answer.status_code == 201 else answer)
        return answer.status_code == 201

    while grows():
        assert len(taken) < 500
    assert (refused[0].status_code, refused[0].json()["code"]) == (503, "database_unavailable"), refused[0].text
    assert "disk is full" in refused[0].json()["detail"]
    full = database_check(admin)
    assert "disk is full" in full["detail"] and daemon.process
    daemon.process.wait_until(lambda: told(daemon)[-1:] == ["ok>failed"], "a word in the log")
    assert any("check=database" in line and "disk is full" in line for line in daemon.process.log.splitlines())
    assert admin.get("/v2/health")["started_at"] < full["since"]
    assert admin.names() == sorted(taken)
    fresh_db.stop()
    fresh_db.start(*room_for(64))
    until(grows, "room for another cluster")
    assert admin.names() == sorted(taken)
    assert whole(fresh_db, taken[-1]) and fresh_db.query("SELECT COUNT(*) FROM cluster_labels", database="kaas") == [(len(taken) * 64,)]


# -- it answers late, or breaks off -----------------------------------------------------------------------------------------


def whole(db: Mariadb, name: str) -> bool:
    """Everything of a cluster is stored, or nothing of it."""
    rows = db.query("SELECT c.id, EXISTS (SELECT 1 FROM change_log l WHERE l.kind = 'cluster' AND l.object_id = c.id) FROM clusters c"
                    " WHERE c.name = %s", name, database="kaas")
    assert len(rows) <= 1 and all(is_told for _, is_told in rows)
    return len(rows) == 1


def test_a_slow_database_slows_writes_only(joined: World, slow: SlowDb) -> None:
    admin = joined.admin
    slow.delay_s = 0.1
    try:
        added = admin.expect(201, "POST", "/v2/clusters", json=body(joined))
        assert added["name"] in admin.names()
        admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")
    finally:
        slow.delay_s = 0
    assert admin.names() == ALL


def test_a_database_that_is_too_slow_counts_as_away(joined: World, slow: SlowDb) -> None:
    admin = joined.admin
    slow.delay_s = 5
    try:
        until(lambda: stale(admin) == ["database"], "the mark of the database")
        assert admin.names() == ALL
    finally:
        slow.delay_s = 0
    until(lambda: stale(admin) == [], "the end of the mark")


@pytest.mark.parametrize("executed", [True, False])
def test_a_commit_without_an_answer_is_looked_up(joined: World, slow: SlowDb, executed: bool) -> None:
    """Made once in the end; or, if nobody can be asked in time, told as not known."""
    admin, wanted, before = joined.admin, body(joined), slow.cuts
    slow.cut_at(b"COMMIT", after=wanted["name"].encode(), executed=executed)
    answer = admin.call("POST", "/v2/clusters", json=wanted)
    assert slow.cuts == before + 1
    assert answer.status_code == 201 or (answer.status_code == 503 and "may or may not" in answer.json()["detail"]), answer.text
    is_there = answer.status_code == 201 or executed
    until(lambda: whole(joined.db, wanted["name"]) == is_there, "the end of the transaction")
    until(lambda: (wanted["name"] in admin.names()) == is_there, "the change in the list")
    if is_there:
        joined.kaasd.ctl.ok("cluster", "rm", wanted["name"], "--yes")


def test_a_transaction_that_breaks_before_its_end_is_made_again(joined: World, slow: SlowDb) -> None:
    admin, wanted = joined.admin, body(joined)
    slow.cut_at(wanted["name"].encode(), executed=True)
    added = admin.expect(201, "POST", "/v2/clusters", json=wanted)
    assert whole(joined.db, wanted["name"])
    admin.expect(204, "DELETE", f"/v2/clusters/{added['id']}")


def lost_audit(api: Api) -> int:
    found = re.search(r"^kaas_audit_lost_total (\d+)", requests.get(f"{api.base}/metrics", verify=str(api.ca_file), timeout=LIMIT_S,
                                                                  headers={"Authorization": f"Bearer {api.token}"}).text, re.M)
    return int(found[1]) if found else 0


def test_what_the_audit_trail_loses_is_counted_and_told(joined: World, slow: SlowDb) -> None:
    admin = joined.admin
    before = lost_audit(admin)
    slow.cut_at(b"no local user", executed=False, times=2)  # the line's reason; it is not part of a change
    answer = joined.kaasd.api().post_login("password", {"username": "nobody-there", "password": "wr0ng-horse-battery"})
    assert answer.status_code == 401
    assert lost_audit(admin) == before + 1
    assert joined.kaasd.process
    joined.kaasd.process.wait_until(lambda: "audit_lost" in joined.kaasd.process.log, "a word about it in the log")
    until(lambda: database_check(admin)["status"] == "ok", "the end of the trouble")


# -- it is gone; these come last, since the fixture gives the database back when the file is done ------------------------------


@pytest.fixture(scope="module", params=list(GO))
def left(joined: World, request: pytest.FixtureRequest) -> Iterator[Left]:
    """The tests that follow see the database gone in one way; then it comes back."""
    cookie = joined.vcenter.control.login("viewer-east@vsphere.local")["cookie"]
    people = Left(joined, joined.admin, joined.kaasd.api().login_session(joined.vcenter.instance_uuid, cookie))
    GO[request.param](joined.db)
    try:
        until(lambda: stale(people.admin) == ["database"], "the mark of the database")
        yield people
    finally:
        COME[request.param](joined.db)
    until(lambda: stale(people.admin) == [], "the end of the mark")


def test_lists_go_on(left: Left) -> None:
    assert left.admin.names() == ALL
    assert left.viewer.names() == visible_to("viewer-east")


def test_every_read_is_marked(left: Left) -> None:
    known = next(left.admin.items("/v2/clusters"))["id"]
    for path in ("/v2/clusters", f"/v2/clusters/{known}", f"/v2/clusters/{known}/nodes", "/v2/hx-clusters", "/v2/vcenters"):
        assert left.admin.call("GET", path).headers["KaaS-Stale"] == "database", path


def test_kaasctl_says_that_a_list_is_not_up_to_date(left: Left) -> None:
    for words in (("cluster", "list"), ("-o", "json", "cluster", "show", "stretched"), ("hx", "list")):
        result = left.world.kaasd.ctl.run(*words)
        assert (result.returncode, "not up to date (database)" in result.stderr) == (0, True), words


def test_the_time_of_the_data_stands_still(left: Left) -> None:
    first = left.admin.call("GET", "/v2/clusters").headers["KaaS-As-Of"]
    assert left.admin.call("GET", "/v2/clusters").headers["KaaS-As-Of"] == first


def test_a_write_is_refused_and_says_why(left: Left) -> None:
    answer = left.admin.call("POST", "/v2/clusters", json=body(left.world))
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_refused_write_has_not_happened(left: Left) -> None:
    wanted = body(left.world)
    assert left.admin.call("POST", "/v2/clusters", json=wanted).status_code == 503
    assert wanted["name"] not in left.admin.names()


def test_a_sign_on_is_refused_as_unavailable_and_not_as_wrong(left: Left) -> None:
    credentials = {"username": "admin", "password": left.world.kaasd.admin_password}
    answer = left.world.kaasd.api().post_login("password", credentials)
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")


def test_a_refresh_is_refused_and_the_token_lives_on(left: Left) -> None:
    left.viewer.refused(503, "database_unavailable", "POST", "/v2/token/refresh")
    assert left.viewer.names() == visible_to("viewer-east")


def test_many_who_write_hold_up_nobody(left: Left) -> None:
    def write(_: int) -> int:
        return left.admin.call("POST", "/v2/clusters", json=body(left.world)).status_code

    with ThreadPoolExecutor(24) as crowd:
        writes = list(crowd.map(write, range(48)))
    assert writes == [503] * 48
    assert left.admin.names() == ALL


def test_whoami_goes_on(left: Left) -> None:
    assert left.admin.get("/v2/whoami")["name"] == "admin"


def test_health_names_the_database(left: Left) -> None:
    health = left.admin.get("/v2/health")
    checks = {check["name"]: check for check in health["checks"]}
    assert (health["status"], checks["database"]["status"]) == ("failed", "failed")
    assert "MariaDB" in checks["database"]["remedy"]


def test_the_process_is_alive_and_serves(left: Left) -> None:
    left.world.kaasd.api().get("/healthz")
    left.world.kaasd.api().get("/.well-known/jwks.json")


# -- at the start ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(make_kaasd: Callable[..., Kaasd], fresh_db: Mariadb) -> Kaasd:
    """A daemon that was started while its database is away."""
    daemon = make_kaasd()
    daemon.init()
    fresh_db.stop()
    daemon.spawn().wait_until(lambda: readiness(daemon) not in ("", "unavailable"), "an answer about the database")
    return daemon


def readiness(daemon: Kaasd) -> str:
    try:
        answer = daemon.api().call("GET", "/readyz")
    except requests.RequestException:
        return ""
    return "ok" if answer.status_code == 200 else answer.json()["code"]


def test_a_start_without_the_database_waits_and_says_why(waiting: Kaasd, fresh_db: Mariadb) -> None:
    problem = waiting.api().refused(503, "database_unavailable", "GET", "/readyz")
    assert problem["detail"]
    assert waiting.process
    waiting.process.wait_until(lambda: "event=waiting" in waiting.process.log, "what it waits for in the log")
    assert "check that the database server runs" in waiting.process.log
    said = waiting.ctl.run("cluster", "list")
    assert said.returncode and "database cannot be reached" in said.stderr and "check that the database server runs" in said.stderr
    waiting.api().get("/healthz")
    waiting.api().refused(503, "database_unavailable", "GET", "/v2/clusters")
    fresh_db.start()
    until(waiting.ready, "readiness")
    assert waiting.admin().names() == []


def test_a_daemon_that_waits_for_its_database_can_be_stopped(waiting: Kaasd) -> None:
    waiting.stop()
