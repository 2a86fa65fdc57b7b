"""kaasctl backup and restore: an installation comes back from one file and the master key; what is not whole is refused."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from env import backups
from env.clock import clocked_world
from env.full import World
from env.kaasd import Kaasd
from env.places import program
from env.process import run
from env.schema import LAST
from env.sealing import seal
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.final]
FAILED, USAGE = 1, 2
SERVICE = "nobody"  # in the part of the user of the service
DAY_S = 24 * 3600
SUFFIX = ".kaasbackup"


def made(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def admin_options(world: World) -> tuple[str, ...]:
    return "--database-socket", str(world.db.socket), "--database-admin", "root"


def scratches(world: World) -> list[str]:
    return [name for (name,) in world.db.query("SHOW DATABASES") if name.startswith("kaas_verify")]


def lists(kaasd: Kaasd) -> list[tuple[str, str]]:
    return sorted((cluster["id"], cluster["name"]) for cluster in kaasd.ctl.json("cluster", "list"))


class Place:
    """A world with an own certificate of kaasd's, the master key kept elsewhere, and a folder of backups."""

    def __init__(self, world: World) -> None:
        self.world, self.kaasd = world, world.kaasd
        self.away = world.scratch.path / "away"
        self.away.mkdir()
        self.key = self.away / "master.key"
        shutil.copy2(self.kaasd.folder / "master.key", self.key)
        self.folder = world.scratch.path / "backups"
        self.folder.mkdir(mode=0o700)

    def backup(self, *more: str) -> Path:
        return Path(self.kaasd.ctl.json("backup", f"{self.folder}/", *more)["path"])

    def restore(self, path: Path, key: Path | None = None, *more: str) -> subprocess.CompletedProcess[str]:
        return self.kaasd.ctl.run("restore", str(path), "--master-key", str(key or self.key), *admin_options(self.world),
                                   "--also", str(self.kaasd.tls.cert_file.parent), "--also", str(self.away / "also"), *more)

    def lose_the_host(self) -> None:
        """Database with its accounts, configuration, keys, certificates, state."""
        self.kaasd.stop()
        self.world.db.query("DROP DATABASE kaas")
        self.world.db.query("DROP USER kaas@localhost, kaas_owner@localhost")
        self.kaasd.lose_host()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with World("bkp") as world:
        world.join()
        yield Place(world)


# -- making ----------------------------------------------------------------------------------------------------------------


def test_what_is_in_it(place: Place) -> None:
    directory_ca = place.kaasd.folder / "corp-ca.pem"
    directory_ca.write_text("CA of a directory")
    place.world.db.query("INSERT INTO ldap_sources (name, kind, urls, ca_file, search_base, bind_kind, is_disabled, created_at_ms,"
                         " updated_at_ms, version_no) VALUES ('corp', 'ad', 'ldaps://127.0.0.1:1', %s, 'DC=x', 'keytab', 1, 1, 1, 1)",
                         str(directory_ca), database="kaas")
    path = place.backup()
    place.world.db.query("DELETE FROM ldap_sources", database="kaas")
    assert re.fullmatch(rf"kaas-[0-9a-f]{{8}}-\d{{8}}T\d{{6}}\.\d{{3}}Z{SUFFIX}", path.name)
    assert path.stat().st_mode & 0o777 == 0o600
    backup, key = path.read_bytes(), place.key.read_bytes()
    head = backups.head_of(backup)
    files, sql = backups.contents(backup, key)
    assert head["master_key"] in place.kaasd.ctl.ok("key", "master") and head["schema"] == LAST
    assert set(files) == {str(place.kaasd.config), str(place.kaasd.tls.cert_file), str(place.kaasd.tls.key_file), str(directory_ca)}
    assert files[str(place.kaasd.config)] == place.kaasd.config.read_bytes()
    assert b"CREATE TABLE `clusters`" in sql and b"-- Dump completed" in sql
    assert key not in backup and key not in sql and key.hex().encode() not in sql.lower()
    for secret in ("database.password", "database-owner.password"):
        assert (place.kaasd.folder / secret).read_text().strip().encode() not in sql + b"".join(files.values())


def test_the_certificate_that_kaasd_made_itself(place: Place) -> None:
    before = place.kaasd.config.read_text()
    settings = yaml.safe_load(before)
    del settings["server"]["tls_certificate"], settings["server"]["tls_key"]
    own = {Path(settings["state_dir"]) / f"server.{end}": end.encode() for end in ("crt", "key")}
    try:
        place.kaasd.config.write_text(yaml.safe_dump(settings))
        for path, text in own.items():
            path.write_bytes(text)
        backup = place.backup()
    finally:
        place.kaasd.config.write_text(before)
        for path in own:
            path.unlink()
    files, _ = backups.contents(backup.read_bytes(), place.key.read_bytes())
    assert {path: files.get(str(path)) for path in own} == own


def test_a_file_that_is_missing_is_told(place: Place) -> None:
    before = place.kaasd.config.read_text()
    try:
        place.kaasd.config.write_text(before.replace("server:", "auth:\n  kerberos:\n    keytab: /nowhere/krb5.keytab\nserver:"))
        said = place.kaasd.ctl.run("backup", f"{place.folder}/")
    finally:
        place.kaasd.config.write_text(before)
    assert said.returncode == 0 and "/nowhere/krb5.keytab, which is named, is not there" in said.stderr


def test_a_folder_is_made(place: Place) -> None:
    folder = place.world.scratch.path / "new/er"
    assert place.kaasd.ctl.run("backup", str(folder)).returncode == FAILED  # a file, whose folder is not there
    place.kaasd.ctl.ok("backup", f"{folder}/")
    assert len(made(folder)) == 1 and folder.stat().st_mode & 0o777 == 0o700


def test_progress_in_plain_lines(place: Place) -> None:
    said = place.kaasd.ctl.run("backup", str(place.away / f"one{SUFFIX}"))
    assert said.returncode == 0
    assert said.stderr.splitlines()[:2] == ["database ...", "reading it back ..."]
    assert "keep a copy of" in said.stdout
    again = place.kaasd.ctl.run("backup", str(place.away / f"one{SUFFIX}"))
    assert again.returncode == FAILED and "is there already" in again.stderr


def test_password_with_signs(place: Place) -> None:
    """What an option file would take for more than a password."""
    file = place.kaasd.folder / "database-owner.password"
    before = file.read_text()
    odd = "a#b\"c\\n'd e;f\\"
    place.world.db.query("ALTER USER kaas_owner@localhost IDENTIFIED BY %s", odd)
    try:
        file.write_text(odd + "\n")
        assert place.kaasd.ctl.run("backup", str(place.away / f"odd{SUFFIX}")).returncode == 0
    finally:
        place.world.db.query("ALTER USER kaas_owner@localhost IDENTIFIED BY %s", before.strip())
        file.write_text(before)


def test_while_clusters_are_written(place: Place) -> None:
    """One snapshot: of two clusters that are written one after the other, the second is never there alone; audit log and all fit."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            place.kaasd.ctl.ok("cluster", "add", "--name", f"busy-{number}", "--vsphere-cluster", "DC0/HX-East",
                               "--kubernetes-version", "1.31.2")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        until(lambda: len(lists(place.kaasd)) > 8, "clusters that are written")
        path = place.backup()
    finally:
        stop.set()
        thread.join()
    proof = place.kaasd.ctl.json("backup", "--verify", str(path), *admin_options(place.world))
    _, sql = backups.contents(path.read_bytes(), place.key.read_bytes())
    numbers = sorted(int(n) for n in set(re.findall(rb"'busy-(\d+)'", sql)))
    assert numbers and numbers == list(range(1, numbers[-1] + 1)) and proof["clusters"] >= len(numbers)
    assert not scratches(place.world)


@pytest.mark.parametrize("size", ["16k", "1m"], ids=["at the start", "in the middle"])
def test_disk_full(place: Place, size: str) -> None:
    small = place.world.scratch.path / f"small-{size}"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "kaas", small], check=True)
    try:
        if size == "1m":
            (small / "other").write_bytes(os.urandom((1 << 20) - 8192))
        recorded = place.world.db.query("SELECT backup_at_ms FROM installation", database="kaas")
        full = place.kaasd.ctl.run("backup", str(small))
        assert full.returncode == FAILED and "No space left on device" in full.stderr and "make room there" in full.stderr
        assert [path.name for path in small.iterdir()] == ["other"] * (size == "1m")
        assert place.world.db.query("SELECT backup_at_ms FROM installation", database="kaas") == recorded
    finally:
        subprocess.run(["umount", small], check=True)


def test_what_cannot_be(place: Place) -> None:
    ctl = place.kaasd.ctl
    assert ctl.run("backup", "/nowhere/at/all").returncode == FAILED
    assert ctl.run("--server", place.kaasd.url, "backup", str(place.folder)).returncode == USAGE
    assert ctl.run("backup", str(place.away / "x"), "--keep", "3").returncode == FAILED
    assert ctl.run("backup", f"{place.folder}/", "--keep", "0").returncode == USAGE
    assert ctl.run("backup", f"{place.folder}/", "--keep", "1", "--verify").returncode == USAGE


def test_a_dump_that_fails(place: Place) -> None:
    """Behind the first tables: a view of something that is gone."""
    before = sorted(place.folder.iterdir())
    place.world.db.query("CREATE TABLE gone (a INT)", database="kaas")
    place.world.db.query("CREATE VIEW users_of_gone AS SELECT * FROM gone", database="kaas")
    place.world.db.query("DROP TABLE gone", database="kaas")
    try:
        failed = place.kaasd.ctl.run("backup", str(place.folder))
        assert failed.returncode != 0 and "mariadb-dump failed" in failed.stderr and "users_of_gone" in failed.stderr
        assert sorted(place.folder.iterdir()) == before
    finally:
        place.world.db.query("DROP VIEW users_of_gone", database="kaas")


def test_killed_half_way(place: Place) -> None:
    """What is left has another name than a backup, and the next one clears it away."""
    before = made(place.folder)
    with place.world.db.connection() as other:
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLES kaas.users WRITE")
        process = subprocess.Popen([program("kaasctl"), "--config", place.kaasd.config, "backup", place.folder],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(lambda: list(place.folder.glob("*.part")), "a backup that is being written")
            waits = "SELECT 1 FROM information_schema.processlist WHERE user = 'kaas_owner' AND state LIKE '%lock%'"
            until(lambda: place.world.db.query(waits), "the dump to wait")
            file = next(iter(place.folder.glob("*.part")))
        finally:
            process.kill()
            process.wait()
    assert made(place.folder) == before and file.exists()
    place.backup()
    assert not list(place.folder.glob("*.part"))


def folder_of_service(at: Path) -> Path:
    at.mkdir()
    os.chown(at, pwd.getpwnam(SERVICE).pw_uid, -1)
    return at


def test_links_of_the_user_of_the_service_are_not_followed(place: Place) -> None:
    """He has the key that opens a backup; an administrator's own links are his business."""
    secret, before = place.away / "of-root", place.kaasd.config.read_text()
    secret.write_text("of root alone")
    his, own = folder_of_service(place.kaasd.folder / "his"), place.world.scratch.path / "own"
    (his / "server.key").symlink_to(secret)
    (his / "keys").symlink_to(place.away)
    own.symlink_to(place.away)

    def backup(key: Path) -> subprocess.CompletedProcess[str]:
        settings = yaml.safe_load(before)
        settings["server"]["tls_key"] = str(key)
        place.kaasd.config.write_text(yaml.safe_dump(settings))
        return place.kaasd.ctl.run("--output", "json", "backup", f"{place.folder}/")

    try:
        for key, link in ((his / "server.key", his / "server.key"), (his / "keys" / "of-root", his / "keys")):
            said = backup(key)
            assert said.returncode != 0 and f"the way to {key} leads over the link {link}, which user id" in said.stderr, said.stderr
            assert "remove the link" in said.stderr
        good = backup(own / "of-root")
    finally:
        place.kaasd.config.write_text(before)
        shutil.rmtree(his)
    files, _ = backups.contents(Path(json.loads(good.stdout)["path"]).read_bytes(), place.key.read_bytes())
    assert files[str(own / "of-root")] == b"of root alone"


def test_what_a_row_names_is_read_as_the_user_of_the_service(place: Place) -> None:
    """He may write the row."""
    secret, hidden, readable, key = (*(place.away / name for name in ("of-root", "hidden", "readable")), place.kaasd.folder / "master.key")
    hidden.mkdir(mode=0o700)
    for path, mode in ((secret, 0o600), (hidden / "file", 0o644), (readable, 0o644)):
        path.write_text("a file")
        path.chmod(mode)
    place.world.scratch.path.chmod(0o711)
    os.chown(key, pwd.getpwnam(SERVICE).pw_uid, -1)
    for name, ca_file in (("one", secret), ("two", hidden / "file")):
        place.world.db.query("INSERT INTO ldap_sources (name, kind, urls, ca_file, keytab, search_base, bind_kind, is_disabled,"
                             " created_at_ms, updated_at_ms, version_no) VALUES"
                             " (%s, 'ad', 'ldaps://127.0.0.1:1', %s, %s, 'DC=x', 'keytab', 1, 1, 1, 1)",
                             name, str(ca_file), str(readable), database="kaas")
    try:
        said = place.kaasd.ctl.run("--output", "json", "backup", f"{place.folder}/")
    finally:
        place.world.db.query("DELETE FROM ldap_sources", database="kaas")
        os.chown(key, 0, -1)
    files, _ = backups.contents(Path(json.loads(said.stdout)["path"]).read_bytes(), place.key.read_bytes())
    assert str(readable) in files
    for path in (secret, hidden / "file"):
        assert str(path) not in files
        assert f"{path}, which a directory names, is not in the backup: the user of the service cannot read it" in said.stderr


def test_how_many_are_kept(place: Place) -> None:
    folder = place.world.scratch.path / "kept"
    folder.mkdir()
    source = place.backup().read_bytes()
    key, head = place.key.read_bytes(), backups.head_of(source)
    plain = backups.open_backup(source, key)
    prefix = f"kaas-{head['installation'][:8]}-"

    def put(day: int, *, cut: int = 0, **more: Any) -> Path:
        path = folder / f"{prefix}202601{day:02}T000000Z{SUFFIX}"
        whole = backups.seal_backup({**head, "at": f"2026-01-{day:02}T00:00:00.000Z", **more}, plain, key)
        path.write_bytes(whole[:len(whole) - cut])
        return path

    good = [put(day) for day in (1, 2, 3, 4)]
    cut = put(5, cut=1)
    other = put(6, installation="00000000-0000-4000-8000-000000000000")
    foreign = folder / "notes.txt"
    foreign.write_text("not a backup")
    said = place.kaasd.ctl.run("backup", str(folder), "--keep", "3")
    assert said.returncode == 0
    left = set(folder.iterdir())
    new = next(iter(left - {*good, cut, other, foreign}))
    assert left == {new, *good[2:], cut, other, foreign}  # the three newest good ones, and what is none of them
    assert f"removed {good[0]}" in said.stderr and "left alone" in said.stderr and cut.name in said.stderr
    assert place.kaasd.ctl.run("backup", str(folder), "--keep", "1").returncode == 0
    assert sum(SUFFIX in path.name for path in folder.iterdir()) == 3  # one good one, and the two others


def test_health_by_the_clock() -> None:
    """Nothing to say of an installation that is young; a warning after two days, until there is a backup of whichever host."""
    with clocked_world("bkh") as (world, clock):

        def line() -> dict[str, Any]:
            return next((check for check in world.kaasd.ctl.json("health")["checks"] if check["name"] == "backup"), {})

        until(line, "the line about backups")
        assert line()["status"] == "ok" and line()["detail"].startswith("no backup was made yet; from ")
        clock.advance(2 * DAY_S + 60, step_s=DAY_S)
        assert line()["status"] == "warning" and "kaasctl backup" in line()["remedy"]
        made = run([program("kaasctl"), "--config", world.kaasd.config, "backup", f"{world.scratch.path}/b/"], env=clock.env)
        assert made.returncode == 0
        clock.advance(90, step_s=30)
        until(lambda: line()["status"] == "ok", "the news of the backup")
        clock.advance(2 * DAY_S + 60, step_s=DAY_S)
        assert line()["status"] == "warning" and "the newest backup is of 20" in line()["detail"]


# -- opening ---------------------------------------------------------------------------------------------------------------


def other_key(place: Place) -> Path:
    path = place.away / "other.key"
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


def test_verify(place: Place) -> None:
    path = place.backup()
    proof = place.kaasd.ctl.run("backup", "--verify", str(path), *admin_options(place.world))
    assert proof.returncode == 0, proof.stderr
    for words in ("whole and unchanged", "1 vCenters", "tables, each as many as were written",
                  "sealed values  all", "audit log      unbroken to its end"):
        assert words in proof.stdout
    wrong = place.kaasd.ctl.run("backup", "--verify", str(path), "--master-key", str(other_key(place)), *admin_options(place.world))
    assert wrong.returncode == FAILED and backups.head_of(path.read_bytes())["master_key"] in wrong.stderr
    assert not scratches(place.world)


def broken_in(place: Place, sql: bytes, by: bytes) -> subprocess.CompletedProcess[str]:
    """Whether a backup is found out that holds something else than was written, though its file is whole."""
    source, key = place.backup().read_bytes(), place.key.read_bytes()
    plain = backups.open_backup(source, key)
    assert sql in plain
    path = place.away / f"broken{SUFFIX}"
    path.write_bytes(backups.seal_backup(backups.head_of(source), plain.replace(sql, by, 1), key))
    return place.kaasd.ctl.run("backup", "--verify", str(path), *admin_options(place.world))


def test_verify_finds_a_changed_audit_line(place: Place) -> None:
    found = broken_in(place, b"'vcenter.register'", b"'vcenter.repair'")
    assert found.returncode == FAILED and "the audit log in the backup is broken" in found.stderr
    assert not scratches(place.world)


def test_verify_compares_the_numbers_of_rows(place: Place) -> None:
    """As the dump had them, which stand in its last line; a backup of before has no such line."""
    found = broken_in(place, b" vcenters=1", b" vcenters=2")
    assert found.returncode == FAILED and "the table vcenters has 1 rows, and 2 were written into the backup" in found.stderr
    older = broken_in(place, b"-- rows in kaas:", b"-- nothing of that:")
    assert older.returncode == 0 and "not compared" in older.stdout
    plain = backups.open_backup(place.backup().read_bytes(), place.key.read_bytes())
    told = dict(word.split(b"=") for word in plain.splitlines()[-1].split()[4:])
    for table in ("clusters", "users", "vcenters", "signing_keys"):  # kaasd writes others meanwhile
        assert place.world.db.query(f"SELECT COUNT(*) FROM {table}", database="kaas") == [(int(told[table.encode()]),)]
    assert not scratches(place.world)


def test_verify_finds_sql_that_does_not_run(place: Place) -> None:
    found = broken_in(place, b"CREATE TABLE `users`", b"CREATE TABEL `users`")
    assert found.returncode != 0 and "mariadb failed" in found.stderr and "TABEL" in found.stderr
    assert not scratches(place.world)


def test_verify_proves_that_sealed_values_open(place: Place) -> None:
    """One is sealed by a key that nobody holds."""
    (key_id,) = place.world.db.query("SELECT kid FROM signing_keys LIMIT 1", database="kaas")[0]
    strange = seal(other_key(place).read_bytes(), f"signing-key:{key_id}", b"x" * 32).hex()
    last = b"-- rows in kaas:"
    found = broken_in(place, last, b"UPDATE `signing_keys` SET `sealed` = 0x%s WHERE `kid` = '%s';\n%s"
                      % (strange.encode(), str(key_id).encode(), last))
    assert found.returncode == FAILED and "master key" in found.stderr, found.stdout + found.stderr
    assert not scratches(place.world)


def accounts(place: Place) -> list[str]:
    return [name for (name,) in place.world.db.query("SELECT user FROM mysql.user ORDER BY user")]


@pytest.mark.parametrize("sql", [b"CREATE DATABASE leaked", b"UPDATE kaas.users SET role = 'admin'", b"CREATE USER leaked",
                                 b"GRANT ALL ON *.* TO kaas@localhost", b"SELECT 1 INTO OUTFILE '/tmp/leaked'",
                                 b"SET GLOBAL general_log = 1",
                                 b"CREATE TABLE kaas.leaked (a INT)", b"USE kaas; DROP TABLE users"],
                         ids=lambda sql: str(sql.split()[0].decode()) + "-" + str(sql.split()[-1].decode()))
def test_verify_cannot_leave_its_scratch_database(place: Place, sql: bytes) -> None:
    before, files = state(place)[1:], lists(place.kaasd)
    users = place.world.db.query("SELECT id, role FROM users ORDER BY id", database="kaas")
    found = broken_in(place, b"CREATE TABLE `users`", sql + b";\nCREATE TABLE `users`")
    assert found.returncode == FAILED and "mariadb failed" in found.stderr and "denied" in found.stderr, found.stderr
    assert (state(place)[1:], lists(place.kaasd)) == (before, files)
    assert place.world.db.query("SELECT id, role FROM users ORDER BY id", database="kaas") == users
    assert not place.world.db.query("SHOW TABLES LIKE 'leaked'", database="kaas")
    assert not [name for name in accounts(place) if name.startswith("kaas_verify")]


def test_no_command_of_the_client_is_run(place: Place) -> None:
    """Not even without the line by which newer clients forbid it to themselves."""
    sign = place.away / "run"
    commands = b"\\! touch %s\nsystem touch %s\n" % (str(sign).encode(), str(sign).encode())
    broken_in(place, b"/*M!999999\\- enable the sandbox mode */", commands)
    assert not sign.exists()


# -- restoring -------------------------------------------------------------------------------------------------------------


def state(place: Place) -> tuple[Any, ...]:
    files = {path: path.read_bytes() for path in place.kaasd.folder.rglob("*") if path.is_file()}
    return files, place.world.db.query("SHOW DATABASES"), place.world.db.query("SELECT user FROM mysql.user ORDER BY user")


def test_a_host_that_is_not_empty(place: Place) -> None:
    path = place.backup()
    before = place.kaasd.config.read_text()
    place.kaasd.config.write_text(before + "# changed\n")
    try:
        said = place.restore(path)
    finally:
        place.kaasd.config.write_text(before)
    assert said.returncode == FAILED and "this host is not empty; nothing was changed" in said.stderr
    for words in (f"{place.kaasd.config} is there, and is not the one of the backup", "the database kaas has", "kaasd runs on this host"):
        assert words in said.stderr
    assert place.kaasd.ready()


def damaged(source: bytes, key: bytes) -> list[tuple[bytes, str]]:
    """Backups that must be refused, and what has to be said of each."""
    ends, head, plain = backups.ends_of(source), backups.head_of(source), backups.open_backup(source, key)
    cut, newer = "not written to the end, or was cut off", "install version 7.1 or a newer one"
    large = backups.seal_backup(head, plain + b"-- large\n" * 200_000, key)  # of two chunks: the first one is good
    return [
        (large[:-1], cut), (large[:backups.ends_of(large)[1]], cut), (large[:-1] + bytes([large[-1] ^ 1]), "was changed or is damaged"),
        (source[:ends[0]], cut), (source[:ends[1] - 1], cut), (b"", "no backup of kaasd"), (b"CREATE TABLE a;\n" * 9, "no backup of kaasd"),
        (source[:-1] + bytes([source[-1] ^ 1]), "was changed or is damaged"), (source + b"x", "something follows behind its end"),
        (backups.seal_backup({**head, "schema": "9999_new.sql", "version": "7.1"}, plain, key), newer),
        (backups.seal_backup({**head, "schema_release": 99, "version": "7.1"}, plain, key), newer),
        (backups.seal_backup({**head, "format": 2, "version": "8.0"}, plain, key), "version 8.0 made it"),
    ]


def test_the_host_is_lost(place: Place) -> None:
    """Everything but the backup and the master key; first with what must be refused."""
    world, kaasd = place.world, place.kaasd
    before = lists(kaasd)
    session = kaasd.admin()
    login = world.vcenter.control.extensions()
    path = place.backup()
    key = place.key.read_bytes()
    place.lose_the_host()
    empty = state(place)

    bad = place.away / f"bad{SUFFIX}"
    for text, says in damaged(path.read_bytes(), key):
        bad.write_bytes(text)
        refused = place.restore(bad)
        assert refused.returncode == FAILED and says in refused.stderr and not refused.stdout, (says, refused.stderr)
        assert state(place) == empty
    refused = place.restore(path, other_key(place))
    assert refused.returncode == FAILED and "is sealed by master key" in refused.stderr
    assert len(set(re.findall(r"\b[0-9a-f]{8}\b", refused.stderr.split("master key", 1)[1]))) == 2  # both ids
    assert state(place) == empty
    source = path.read_bytes()
    plain = backups.open_backup(source, key)
    bad.write_bytes(backups.seal_backup(backups.head_of(source), plain.replace(b"CREATE TABLE `users`", b"CREATE TABEL `users`"), key))
    refused = place.restore(bad)
    assert refused.returncode != 0 and "TABEL" in refused.stderr and ("kaas",) not in world.db.query("SHOW DATABASES")

    foreign = place.away / "cron.d" / "x"
    beside = place.away / "also-other" / "x"  # begins as a folder of --also
    for planted, says in ((foreign, "no option names it"), (kaasd.folder.parent / "authorized_keys", "no option names it"),
                          (beside, "no option names it")):
        bad.write_bytes(backups.seal_backup(backups.head_of(source), backups.with_file(plain, str(planted), b"* * * * * root sh"), key))
        refused = place.restore(bad)
        assert refused.returncode == FAILED and f"{planted} is in the backup, but {says}" in refused.stderr, refused.stderr
        assert not planted.exists() and not foreign.parent.exists() and not beside.parent.exists()
    named = backups.with_config(plain, str(kaasd.tls.cert_file), str(foreign))  # nor what a configuration of an attacker names
    bad.write_bytes(backups.seal_backup(backups.head_of(source), backups.with_file(named, str(foreign), b"* * * * * root sh"), key))
    refused = place.restore(bad)
    assert refused.returncode == FAILED and f"--also {foreign.parent}\n" in refused.stderr, refused.stderr
    assert not foreign.parent.exists()
    bad.write_bytes(backups.seal_backup(backups.head_of(source), backups.with_file(plain, f"{kaasd.folder}/ca.pem", b"-", 0o777), key))
    path = bad  # as the good one, with a file that is marked as a program
    restored = place.restore(path)  # goes on with the files that are there by now
    assert restored.returncode == 0, restored.stderr
    assert (kaasd.folder / "ca.pem").stat().st_mode & 0o7777 == 0o666
    assert kaasd.config.stat().st_mode & 0o777 == 0o600 and (kaasd.folder / "master.key").read_bytes() == key
    kaasd.start()
    assert lists(kaasd) == before
    assert session.call("GET", "/v2/whoami").status_code == 401  # what was open is not any more
    admin, status = kaasd.admin(), f"/v2/vcenters/{world.vcenter.instance_uuid}/status"
    until(lambda: admin.get(status)["state"] == "connected", "the login at the vCenter")
    assert world.vcenter.control.extensions() == login  # by the same certificate: nothing was registered anew
    assert kaasd.ctl.run("audit", "verify").returncode == 0
    (line,) = kaasd.ctl.json("audit", "list", "--action", "installation.restore")
    assert "what was written after it is lost" in line["reason"] and "uid" in line["principal_name"]
    lines = kaasd.ctl.json("audit", "list", "--action", "audit.accept")
    assert any("no file about this replica" in line["reason"] for line in lines)
    assert world.by_ticket("viewer-east").get("/v2/clusters")["total"]
    again = place.restore(path)
    assert again.returncode == FAILED and "the database kaas has" in again.stderr


def test_only_the_database_is_lost(place: Place) -> None:
    """The state folder knows more audit lines than the backup: somebody must accept that, as with any older copy."""
    path = place.backup()
    place.kaasd.ctl.ok("user", "add", "later")
    place.kaasd.stop()
    place.world.db.query("DROP DATABASE kaas")
    assert place.restore(path).returncode == 0
    place.kaasd.spawn()
    until(lambda: "audit accept-restore" in place.kaasd.why_not_ready() or "audit_behind" in place.kaasd.why_not_ready(), "the refusal")
    place.kaasd.ctl.ok("--yes", "audit", "accept-restore")
    until(place.kaasd.ready, "readiness")
    assert place.kaasd.ctl.run("audit", "verify").returncode == 0
    assert "later" not in place.kaasd.ctl.ok("user", "list")


def test_root_writes_nothing_for_whoever_made_the_backup(place: Place) -> None:
    """The user of the service has the master key, so backup and configuration may be his: they get him no file and no account."""
    world, kaasd = place.world, place.kaasd
    path, key = place.backup(), place.key.read_bytes()
    plain, head = backups.open_backup(path.read_bytes(), key), backups.head_of(path.read_bytes())
    place.lose_the_host()
    his, elsewhere = folder_of_service(kaasd.folder / "his"), place.away / "cron.daily"
    elsewhere.mkdir()
    (his / "x").symlink_to(elsewhere)
    shadow = place.away / "shadow"
    shadow.write_text("root:secret\n")
    shadow.chmod(0o640)
    world.db.query("CREATE DATABASE other")
    world.db.query("CREATE USER other_app@localhost IDENTIFIED BY 'before'")
    world.db.query("GRANT SELECT ON other.* TO other_app@localhost")
    before = world.db.query("SELECT user, host, authentication_string FROM mysql.user ORDER BY user, host")
    bad = place.away / f"bad{SUFFIX}"

    def refused(changed: bytes, says: str) -> None:
        bad.write_bytes(backups.seal_backup(head, changed, key))
        said = place.restore(bad, None, "--service-user", SERVICE)
        assert said.returncode == FAILED and "nothing was changed" in said.stderr and says in said.stderr, (says, said.stderr)
        assert not list(elsewhere.iterdir()) and not kaasd.config.exists() and ("kaas",) not in world.db.query("SHOW DATABASES")
        assert (shadow.stat().st_uid, shadow.stat().st_mode & 0o777) == (0, 0o640)
        assert world.db.query("SELECT user, host, authentication_string FROM mysql.user ORDER BY user, host") == before

    def database(setting: str) -> bytes:
        return backups.with_config(plain, "database:\n", f"database:\n  {setting}\n")

    for planted in (his / "x" / "evil", his / "x" / "sub" / "evil"):
        refused(backups.with_file(plain, str(planted), b"* * * * * root sh"), f"the way to {planted} leads over the link {his}/x,")
    refused(backups.with_config(plain, f"state_dir: {kaasd.folder}/state", f"state_dir: {place.away}/made"), f"--also {place.away}/made\n")
    refused(backups.with_config(plain, f"state_dir: {kaasd.folder}/state", f"state_dir: {kaasd.folder}/../made"), "--also ")
    refused(database(f"password_file: {shadow}"), f"--also {place.away}\n")
    refused(database(f"owner_password_file: {shadow}"), f"--also {place.away}\n")
    (kaasd.folder / "of-root").write_text("root:secret\n")
    refused(database(f"password_file: {kaasd.folder}/of-root"), "is there and does not belong to him")
    for account in ("user: other_app", "owner_user: other_app", "owner_user: root", "user: root", "user: mysql"):
        refused(database(account), f"`{account.split()[1]}`@`localhost` of the database is there already")

    there = backups.with_file(plain, str(shadow), shadow.read_bytes(), 0o666, "kaas")  # the same, so it is kept, and stays root's
    bad.write_bytes(backups.seal_backup(head, there, key))
    restored = place.restore(bad, None, "--service-user", SERVICE)
    assert f"cannot open {kaasd.config}: Permission denied" in restored.stderr  # the last check of all, as that user
    assert (shadow.stat().st_uid, shadow.stat().st_mode & 0o777) == (0, 0o640)
    kaasd.start()
