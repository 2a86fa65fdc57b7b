"""Another master key: sealed values move over bit by bit on all replicas, whatever is killed in between; nothing is ever
sealed by a key that is not there."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import requests
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from env.full import World, add_vcenter, register
from env.kaasd import Kaasd
from env.places import program
from env.sealing import put_secret, seal
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.final]
BATCH = 16  # values that kaasd seals anew in one transaction
MORE = 40   # values to be sealed anew, beside the real one: three transactions


def key_id(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:8]


def keys_in(path: Path) -> list[bytes]:
    text = path.read_bytes()
    return [text[at:at + 32] for at in range(0, len(text), 32)]


class Place:
    """Two replicas with a copy of the key file each, a registered vCenter, and many sealed values."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.first = world.kaasd
        self.file = world.kaasd.folder / "master.key"
        self.second_file = world.scratch.path / "second.key"
        shutil.copy(self.file, self.second_file)
        self.second = world.kaasd.beside("second", options={"secrets": {"master_key_file": str(self.second_file)}})
        add_vcenter(self.first, world.vcenter)
        register(self.first, world.vcenter)
        for i in range(MORE):
            sealed = seal(keys_in(self.file)[0], f"login-certificate:{world.vcenter.instance_uuid}", b"plain %d" % i)
            self.sql("INSERT INTO vcenter_credentials (vcenter_id, generation, kind, state, sealed, created_at_ms) "
                     "VALUES (%s, %s, 'certificate', 'retired', %s, 1)", world.vcenter.instance_uuid, 100 + i, sealed)
        hx = next(iter(self.first.admin().items("/v2/hx-clusters")))["id"]
        self.sql("INSERT INTO hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no)"
                 " VALUES (%s, 'hx.test', 443, 'admin', 1, 1, 1)", hx)
        for kind in ("password", "token"):
            put_secret(world.db, keys_in(self.file)[0], "hx_connection", hx, f"hx-{kind}", b"hx " + kind.encode())
        self.sql("INSERT INTO hx_credentials (vcenter_id, user_name, refused_at_ms, created_at_ms, updated_at_ms, version_no)"
                 " VALUES (%s, 'admin', 0, 1, 1, 1)", world.vcenter.instance_uuid)
        put_secret(world.db, keys_in(self.file)[0], "hx_credential", world.vcenter.instance_uuid, "hx-credential", b"hx credential")
        self.second.start()

    def sql(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.world.db.query(text, *values, database="kaas")

    def master(self) -> dict[str, Any]:
        return self.first.ctl.json("key", "master")

    def health(self, daemon: Kaasd) -> str:
        """What it says about master keys; "" if nothing."""
        api = daemon.api().login_password("admin", self.first.admin_password)
        return next((check["detail"] for check in api.get("/v2/health")["checks"] if check["name"] == "master_key"), "")

    def rotate(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self.first.ctl.run("--yes", "key", "rotate-master", *more)

    def sealed_by(self) -> dict[str, int]:
        rows = self.sql("SELECT LOWER(HEX(SUBSTRING(sealed, 2, 4))), COUNT(*) FROM (SELECT sealed FROM signing_keys UNION ALL "
                        "SELECT sealed FROM vcenter_credentials WHERE sealed IS NOT NULL UNION ALL "
                        "SELECT sealed FROM secrets UNION ALL SELECT sealed FROM audit_keys) s GROUP BY 1")
        return dict(rows)  # type: ignore[arg-type]

    def check_all_readable(self) -> list[tuple[str, bytes]]:
        """Everything opens with the keys of the file, in its place and nowhere else. Hands back what is sealed, by purpose and number."""
        keys = {key_id(key): AESGCM(key) for key in keys_in(self.file)}
        rows = self.sql("SELECT CONCAT('login-', kind, ':', vcenter_id), sealed, generation FROM vcenter_credentials"
                        " WHERE sealed IS NOT NULL")
        rows += self.sql("SELECT CONCAT('signing-key:', kid), sealed, 0 FROM signing_keys")
        rows += self.sql("SELECT CONCAT('audit-key:', id), sealed, 0 FROM audit_keys")
        rows += self.sql("SELECT CONCAT(purpose, ':', owner_id), sealed, 0 FROM secrets")
        plains = [keys[value[1:5].hex()].decrypt(value[5:17], value[17:], value[:5] + purpose.encode()) for purpose, value, _ in rows]
        assert {b"plain %d" % i for i in range(MORE)} | {b"hx password", b"hx token", b"hx credential"} <= set(plains)
        return [(f"{purpose} {number}", value) for purpose, value, number in rows]

    def both_work(self) -> None:
        for daemon in (self.first, self.second):
            token = daemon.api().login_password("admin", self.first.admin_password)
            assert token.get("/v2/whoami")["role"] == "admin"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with World("mkey") as world:
        made = Place(world)
        try:
            yield made
        finally:
            made.second.stop()


def test_the_file_must_be_at_all_replicas_first(place: Place) -> None:
    (old,) = keys_in(place.file)
    refused = place.rotate()
    assert refused.returncode != 0 and "second" in refused.stderr and "copy the master key file" in refused.stderr
    assert [key_id(old)] == [key["id"] for key in place.master()["keys"] if key["seals"]]
    assert len(keys_in(place.file)) == 2 and keys_in(place.file)[0] == old
    assert place.rotate().returncode != 0
    assert len(keys_in(place.file)) == 2  # the key that waits is taken, no other one made
    assert f"{key_id(keys_in(place.file)[1])}, that does not seal yet" in place.health(place.first)
    place.first.kill()
    place.first.start()
    assert set(place.sealed_by()) == {key_id(old)}


def with_next_key(place: Place) -> tuple[bytes, bytes]:
    """The key that seals, and the next one, which is at both replicas and seals nothing yet."""
    if len(keys_in(place.file)) == 1:
        place.rotate()  # refused, since the other replica does not hold the key that this has made
    old, new = keys_in(place.file)
    shutil.copy(place.file, place.second_file)
    until(lambda: all(row["holds_newest"] for row in place.master()["replicas"]), "the new key at both replicas")
    return old, new


def rotated(place: Place) -> tuple[bytes, bytes]:
    """The old key, which seals nothing any more, and the new one."""
    if len(keys_in(place.file)) == 1:
        with_next_key(place)
        until(lambda: place.rotate().returncode == 0, "a rotation")
    old, new = keys_in(place.file)
    return old, new


class Held:
    """The work stops at this value: its row cannot be written until it is let go."""

    def __init__(self, place: Place, number: int) -> None:
        self.place = place
        self.other = pymysql.connect(unix_socket=str(place.world.db.socket), user="root", ssl_disabled=True, database="kaas")
        with self.other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM vcenter_credentials WHERE vcenter_id = %s AND generation = %s FOR UPDATE",
                           (place.world.vcenter.instance_uuid, 100 + number))

    def wait_reached(self, new: str, least: int) -> None:
        """Until the batch before is written, and the one with this value waits."""
        waiting = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
        until(lambda: self.place.sealed_by().get(new, 0) >= least and self.place.sql(waiting), "the work to stand still")

    def let_go(self) -> None:
        self.other.close()


class Watch:
    """Reads all values all the time: each opens with a key of the file, and none is sealed anew a second time."""

    def __init__(self, place: Place, new: str) -> None:
        self.place, self.new = place, new
        self.rounds = 0
        self.faults: list[str] = []
        self._sealed: dict[str, bytes] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        for purpose, value in self.place.check_all_readable():
            before = self._sealed.setdefault(purpose, value) if value[1:5].hex() == self.new else self._sealed.get(purpose, value)
            if before != value:
                self.faults.append(f"{purpose} was sealed again")

    def _run(self) -> None:
        while not self._stop.wait(0.01) and not self.faults:
            try:
                self._look()
                self.rounds += 1
            except Exception as error:  # noqa: BLE001 - the test must see it
                self.faults.append(repr(error))

    def see(self) -> None:
        """Waits until all values have been read once from now on: the second round to end has begun after this."""
        before = self.rounds
        until(lambda: self.faults or self.rounds >= before + 2, "another look at all values")

    def stop(self) -> None:
        self.see()
        self._stop.set()
        self._thread.join()
        assert self.faults == []


def doer(place: Place) -> Kaasd:
    """Who does the work; between two tries nobody does."""
    holder = "SELECT r.name FROM leases l JOIN replicas r ON l.holder = CONCAT('replica-', r.id) WHERE l.name = 'reseal'"
    ((name,),) = until(lambda: place.sql(holder), "a replica that does the work")
    return place.second if name == "second" else place.first


def test_a_kill_in_any_batch_loses_nothing(place: Place) -> None:
    """The command dies in the first batch, the replica that does the work in the second, all of them in the third; each time nothing of
    the batch is written, everything can be read, and another goes on where it ended."""
    old, new = with_next_key(place)
    held, watch = Held(place, 5), Watch(place, key_id(new))
    command = subprocess.Popen([program("kaasctl"), "--config", str(place.first.config), "--yes", "key", "rotate-master"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        held.wait_reached(key_id(new), 0)
    finally:
        command.kill()
        command.wait()
    watch.see()
    place.both_work()  # with values of both keys
    for daemon in (place.first, place.second):
        until(lambda daemon=daemon: f"sealed by master key {key_id(old)}" in place.health(daemon), "a word in health")  # type: ignore[misc]
    refused = place.first.ctl.run("--yes", "key", "remove-master", key_id(old))
    assert refused.returncode != 0 and "still seals" in refused.stderr
    assert keys_in(place.file) == [old, new]

    held = move_on(place, held, 20)
    held.wait_reached(key_id(new), BATCH)
    assert place.sealed_by()[key_id(new)] == BATCH
    watch.see()
    victim = doer(place)
    other = place.second if victim is place.first else place.first
    victim.kill()
    assert other.api().login_password("admin", place.first.admin_password).get("/v2/whoami")["role"] == "admin"
    held = move_on(place, held, 38)
    victim.start()
    held.wait_reached(key_id(new), 2 * BATCH)
    assert place.sealed_by()[key_id(new)] == 2 * BATCH
    watch.see()

    last = doer(place)
    place.first.kill()
    place.second.kill()
    held.let_go()
    assert place.sealed_by()[key_id(old)] > 0
    place.sql("UPDATE leases SET expires_at_ms = 1 WHERE name = 'reseal'")  # as if the time had come
    rest = [daemon for daemon in (place.first, place.second) if daemon is not last]
    rest[0].start()
    until(lambda: set(place.sealed_by()) == {key_id(new)}, "the rest, by the other replica")
    last.start()
    watch.stop()
    place.both_work()
    for daemon in (place.first, place.second):
        until(lambda daemon=daemon: not place.health(daemon), "nothing more to say in health")  # type: ignore[misc]
    master = place.master()
    assert master["remaining"] == 0 and [key["id"] for key in master["keys"] if key["seals"]] == [key_id(new)]


def move_on(place: Place, held: Held, number: int) -> Held:
    following = Held(place, number)
    held.let_go()
    return following


def test_the_old_key_can_go_when_it_seals_nothing(place: Place) -> None:
    old, new = rotated(place)
    refused = place.first.ctl.run("--yes", "key", "remove-master", key_id(new))
    assert refused.returncode == 5 or "seals" in refused.stderr
    place.first.ctl.ok("--yes", "key", "remove-master", key_id(old))
    assert keys_in(place.file) == [new] and place.file.stat().st_mode & 0o777 == 0o600
    shutil.copy(place.file, place.second_file)
    until(lambda: [row["keys"] for row in place.master()["replicas"]] == [[key_id(new)]] * 2, "both replicas without the old key")
    for daemon in (place.first, place.second):
        daemon.stop()
        daemon.start()
    place.both_work()
    until(lambda: place.first.ctl.run("vcenter", "rescan", place.world.vcenter.instance_uuid).returncode == 0, "the vCenter")


def test_a_rotation_without_trouble(place: Place) -> None:
    (before,) = keys_in(place.file)
    assert place.rotate().returncode != 0
    shutil.copy(place.file, place.second_file)
    done: list[str] = []

    def goes() -> bool:
        result = place.rotate()
        done.append(result.stdout + result.stderr)
        return result.returncode == 0

    until(goes, "a rotation")
    after = keys_in(place.file)[-1]
    assert set(place.sealed_by()) == {key_id(after)} and key_id(before) in done[-1]
    place.check_all_readable()
    assert not any(key.hex() in text or repr(key) in text for key in keys_in(place.file) for text in done)
    place.first.ctl.ok("audit", "verify")  # the key of the audit log is another one, which was sealed anew


def why_not_ready(daemon: Kaasd) -> str:
    try:
        return daemon.api().call("GET", "/readyz").json().get("detail", "")
    except requests.ConnectionError:
        return ""  # it does not listen yet


def test_a_key_file_that_does_not_belong_here_is_told_with_a_remedy(place: Place) -> None:
    good = place.second_file.read_bytes()
    place.second.kill()
    place.second_file.write_bytes(b"\x07" * 32)
    alive = "SELECT heartbeat_at_ms FROM replicas WHERE name = 'second'"
    last = place.sql(alive)
    place.second.spawn()
    try:
        until(lambda: "does not hold key" in why_not_ready(place.second), "why it does not start")
        problem = place.second.api().refused(503, "unavailable", "GET", "/readyz")
        assert "key file of another replica" in problem["remedy"]
        assert place.sql(alive) == last  # what cannot serve does not say that it is alive
    finally:
        place.second.stop()
        place.second_file.write_bytes(good)
        place.second.start()
