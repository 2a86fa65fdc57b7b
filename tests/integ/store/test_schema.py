"""The schema of the database is older, newer or half applied; and what the accounts may do."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pymysql
import pytest
import requests
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.schema import LAST, undo_of

COLUMNS = "(file, sha256, state, started_at_ms, done_at_ms)"


@pytest.fixture(scope="module")
def database() -> Iterator[Mariadb]:
    folder = Scratch("x")
    server = Mariadb(folder)
    yield server
    server.stop()
    folder.remove()


@pytest.fixture(scope="module")
def installation(database: Mariadb) -> Iterator[Kaasd]:
    """Set up once; each test starts the daemon on a database that it has bent, and puts it right again."""
    folder = Scratch("y")
    daemon = Kaasd(folder, database.socket)
    daemon.init()
    yield daemon
    folder.remove()


def said(daemon: Kaasd) -> tuple[str, str, str]:
    """Code, detail and remedy of /readyz; empty while there is nothing to say yet."""
    try:
        answer = daemon.api().call("GET", "/readyz")
    except requests.RequestException:
        return "", "", ""
    if answer.status_code == 200:
        return "ok", "", ""
    problem = answer.json()
    return problem["code"], problem["detail"], problem.get("remedy", "")


@contextmanager
def started(daemon: Kaasd) -> Iterator[tuple[str, str, str]]:
    """The daemon runs; hands over what it says once it has looked at the database."""
    daemon.spawn().wait_until(lambda: said(daemon)[1] not in ("", "the service is starting") or said(daemon)[0] == "ok", "a verdict")
    try:
        yield said(daemon)
    finally:
        daemon.stop()


def change(database: Mariadb, sql: str, *values: str) -> None:
    database.query(sql, *values, database="kaas")


def test_an_older_schema_is_refused_and_says_what_to_run(installation: Kaasd, database: Mariadb) -> None:
    (row,) = database.query("SELECT sha256 FROM schema_migrations WHERE file = %s", LAST, database="kaas")
    change(database, "DELETE FROM schema_migrations WHERE file = %s", LAST)
    with started(installation) as (code, _, remedy):
        assert code == "schema_mismatch"
        assert "kaasctl db migrate" in remedy
        installation.api().refused(503, "schema_mismatch", "GET", "/v2/clusters")
    change(database, f"INSERT INTO schema_migrations {COLUMNS} VALUES (%s, %s, 'done', 1, 1)", LAST, row[0])


def test_a_migration_makes_a_waiting_daemon_ready(installation: Kaasd, database: Mariadb) -> None:
    change(database, "DELETE FROM schema_migrations WHERE file = %s", LAST)
    change(database, undo_of(LAST))
    with started(installation) as (code, _, _):
        assert code == "schema_mismatch"
        installation.ctl.ok("db", "migrate")
        assert installation.process
        installation.process.wait_until(installation.ready, "readiness after the migration")
        assert installation.admin().names() == []


def test_a_newer_schema_is_refused(installation: Kaasd, database: Mariadb) -> None:
    change(database, f"INSERT INTO schema_migrations {COLUMNS} VALUES ('9999_future.sql', REPEAT('0', 64), 'done', 1, 1)")
    with started(installation) as (code, detail, remedy):
        assert code == "schema_mismatch"
        assert "9999_future.sql" in detail
        assert "install the version that made it" in remedy
        assert "copy of the database from before" in remedy
    assert "9999_future.sql" in installation.ctl.run("db", "migrate").stderr
    change(database, "DELETE FROM schema_migrations WHERE file = '9999_future.sql'")


def test_a_half_applied_schema_is_refused_and_says_what_to_run(installation: Kaasd, database: Mariadb) -> None:
    change(database, "UPDATE schema_migrations SET state = 'started', done_at_ms = 0 WHERE file = %s", LAST)
    with started(installation) as (code, detail, remedy):
        assert code == "schema_mismatch"
        assert LAST in detail
        assert f"kaasctl db migrate --done {LAST}" in remedy
    refused = installation.ctl.run("db", "migrate")
    assert refused.returncode != 0
    assert LAST in refused.stderr
    installation.ctl.ok("db", "migrate", "--done", LAST)
    with started(installation) as (code, _, _):
        assert code == "ok"


def test_a_schema_of_another_text_is_refused(installation: Kaasd, database: Mariadb) -> None:
    (row,) = database.query("SELECT sha256 FROM schema_migrations WHERE file = %s", LAST, database="kaas")
    change(database, "UPDATE schema_migrations SET sha256 = REPEAT('0', 64) WHERE file = %s", LAST)
    with started(installation) as (code, detail, _):
        assert (code, LAST in detail) == ("schema_mismatch", True)
    change(database, "UPDATE schema_migrations SET sha256 = %s WHERE file = %s", row[0], LAST)


def test_another_master_key_is_told(installation: Kaasd) -> None:
    with started(installation) as (code, _, _):
        assert code == "ok"
    key = installation.folder / "master.key"
    good = key.read_bytes()
    key.write_bytes(bytes(32))
    with started(installation) as (code, detail, remedy):
        assert code == "unavailable"
        assert "does not hold key" in detail
        assert "master key file" in remedy
    key.write_bytes(good)


def as_runtime(installation: Kaasd, sql: str) -> None:
    password = (installation.folder / "database.password").read_text().strip()
    with (
        pymysql.connect(unix_socket=str(installation.database_socket), user="kaas", password=password, database="kaas") as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)


def test_the_runtime_account_reads_rows(installation: Kaasd) -> None:
    as_runtime(installation, "SELECT COUNT(*) FROM clusters")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE more (id INT)",
        "ALTER TABLE clusters ADD COLUMN more INT",
        "DROP TABLE clusters",
        "TRUNCATE TABLE clusters",
        "CREATE INDEX more ON clusters (state)",
        "DROP DATABASE kaas",
        "CREATE USER more",
        "GRANT ALL ON kaas.* TO kaas",
        "CREATE VIEW more AS SELECT 1",
        "SELECT * FROM mysql.user",
        "SELECT * FROM clusters INTO OUTFILE '/tmp/kaas-more'",
        "CREATE TRIGGER more BEFORE INSERT ON clusters FOR EACH ROW SET @a = 1",
        "UPDATE audit SET result = 'ok'",
        "DELETE FROM replicas",
        "UPDATE schema_migrations SET state = 'done'",
    ],
)
def test_the_runtime_account_cannot_do_more_than_it_needs(installation: Kaasd, sql: str) -> None:
    with pytest.raises(pymysql.err.Error, match="denied"):
        as_runtime(installation, sql)


def as_release_0_1(database: Mariadb) -> None:
    """The runtime account may write to all tables, and the owner may give no rights."""
    database.query("GRANT SELECT, INSERT, UPDATE, DELETE ON kaas.* TO kaas@localhost")
    database.query("REVOKE GRANT OPTION ON kaas.* FROM kaas_owner@localhost")


def test_a_migration_narrows_the_rights_of_the_release_before(installation: Kaasd, database: Mariadb) -> None:
    as_release_0_1(database)
    as_runtime(installation, "UPDATE audit SET result = 'ok' WHERE seq = 0")
    installation.start()
    said = installation.ctl.run("db", "migrate")
    assert (said.returncode, said.stderr) == (0, "")
    with pytest.raises(pymysql.err.Error, match="denied"):
        as_runtime(installation, "UPDATE audit SET result = 'ok' WHERE seq = 0")
    assert installation.admin().names() == []  # it went on meanwhile
    installation.stop()


def test_a_migration_tells_that_it_may_not_narrow_the_rights(installation: Kaasd, database: Mariadb) -> None:
    as_release_0_1(database)
    database.query("SET PASSWORD FOR root@localhost = PASSWORD('x')")
    said = installation.ctl.run("db", "migrate")
    with pymysql.connect(unix_socket=str(database.socket), user="root", password="x") as root, root.cursor() as cursor:
        cursor.execute("SET PASSWORD FOR root@localhost = PASSWORD('')")
    assert said.returncode == 0 and "the account kaas keeps rights that it does not need" in said.stderr
    assert "kaasctl init" in said.stderr
    installation.ctl.ok("init", "--database-socket", str(database.socket))
    with pytest.raises(pymysql.err.Error, match="denied"):
        as_runtime(installation, "UPDATE audit SET result = 'ok' WHERE seq = 0")


def test_an_init_that_is_repeated_changes_nothing(installation: Kaasd, database: Mariadb) -> None:
    def state() -> list[tuple[object, ...]]:
        return database.query("SELECT uuid FROM installation UNION ALL SELECT password_hash FROM users", database="kaas")

    before = state()
    installation.ctl.run("init", "--database-socket", str(database.socket))
    assert state() == before
