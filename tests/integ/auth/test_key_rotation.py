"""Signing keys over time, on two replicas: a new one is published before it signs, the old one verifies until its tokens have ended, and
what was deleted is gone from the memory of every replica."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from env import forge
from env.api import Api
from env.full import World
from env.kaasd import Kaasd
from env.wait import until

pytestmark = pytest.mark.slow
PUBLISH_S = 2


class Pair:
    """Two replicas of one installation."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.first = world.kaasd
        self.second = world.kaasd.beside("second", options=OPTIONS)
        self.second.start()

    @property
    def both(self) -> tuple[Kaasd, Kaasd]:
        return (self.first, self.second)

    def admin(self, at: int = 0) -> Api:
        return self.both[at].api().login_password("admin", self.first.admin_password)

    def published(self, at: int) -> set[str]:
        return {key["kid"] for key in self.both[at].api().get("/.well-known/jwks.json")["keys"]}

    def listed(self) -> dict[str, dict[str, Any]]:
        return {key["kid"]: key for key in self.first.ctl.json("key", "list")}


OPTIONS = {"auth": {"signing_key_publish": f"{PUBLISH_S}s"}}


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with World("keys", options=OPTIONS) as world:
        two = Pair(world)
        try:
            yield two
        finally:
            two.second.stop()


def kid_of(api: Api) -> str:
    assert api.token
    return forge.header_of(api.token)["kid"]


def is_good(api: Api, daemon: Kaasd) -> bool:
    return daemon.api(api.token).call("GET", "/v2/whoami").status_code == 200


def activated(pair: Pair, kid: str) -> None:
    until(lambda: pair.listed()[kid]["state"] == "active", "the new key's turn")
    for at in (0, 1):
        until(lambda at=at: kid_of(pair.admin(at)) == kid, "tokens of the new key at each replica")  # type: ignore[misc]


def test_a_new_key_is_published_everywhere_before_it_signs(pair: Pair) -> None:
    before = pair.admin()
    said = pair.first.ctl.json("key", "rotate-signing")
    assert said["state"] in {"next", "active"} and said["kid"] != kid_of(before)  # a slow machine: its turn has come by now
    until(lambda: said["kid"] in pair.published(0) and said["kid"] in pair.published(1), "the new key at both replicas")
    states = {key["state"] for key in pair.listed().values()}
    if "next" in states:  # else the machine was too slow to look at it in time
        assert kid_of(before) in pair.published(0)
    activated(pair, said["kid"])
    assert pair.listed()[kid_of(before)]["state"] == "retired"
    assert all(is_good(before, daemon) for daemon in pair.both)
    assert {kid_of(before), said["kid"]} <= pair.published(0) & pair.published(1)


def test_what_others_keep_fits_the_time_before_a_key_signs(pair: Pair) -> None:
    caching = pair.first.api().call("GET", "/.well-known/jwks.json").headers["Cache-Control"]
    assert caching == f"public, max-age={PUBLISH_S // 2}"


def lease_taken(pair: Pair) -> bool:
    pair.world.db.query("INSERT IGNORE INTO leases (name, holder, expires_at_ms)"
                        " VALUES ('signing-keys', 'test', (UNIX_TIMESTAMP() + 3600) * 1000)", database="kaas")
    return pair.world.db.query("SELECT holder FROM leases WHERE name = 'signing-keys'", database="kaas") == [("test",)]


@contextmanager
def nothing_falls_due(pair: Pair) -> Iterator[None]:
    """The lease under which a replica does what has fallen due is in other hands."""
    until(lambda: lease_taken(pair), "the lease free for a moment")
    try:
        yield
    finally:
        pair.world.db.query("DELETE FROM leases WHERE name = 'signing-keys' AND holder = 'test'", database="kaas")


def test_a_second_rotation_takes_the_key_that_is_published(pair: Pair) -> None:
    admin = pair.admin()
    with nothing_falls_due(pair):
        first = admin.expect(200, "POST", "/v2/keys/signing/rotate", json={})
        pair.world.db.query("UPDATE signing_keys SET signs_from_ms = signs_from_ms + 3600000 WHERE kid = %s", first["kid"], database="kaas")
        later = pair.listed()[first["kid"]]["signs_from"]
        again = admin.expect(200, "POST", "/v2/keys/signing/rotate", json={"immediately": True})
        assert (again["kid"], again["state"]) == (first["kid"], "next")
        assert again["signs_from"] < later
    activated(pair, first["kid"])


TURN_AT_ONCE = """CREATE TRIGGER turn_at_once AFTER INSERT ON change_log FOR EACH ROW
    IF NEW.kind = 'signing_key' AND EXISTS (SELECT 1 FROM signing_keys WHERE kid = NEW.object_id AND state = 'next') THEN
        UPDATE signing_keys SET state = 'retired', not_after_ms = (UNIX_TIMESTAMP() + 3600) * 1000 WHERE state = 'active';
        UPDATE signing_keys SET state = 'active' WHERE kid = NEW.object_id;
    END IF"""


def test_the_answer_is_the_new_key_though_its_turn_has_come(pair: Pair) -> None:
    """As when storing it takes so long that a replica lets it sign before the answer is made."""
    admin = pair.admin()
    pair.world.db.query(TURN_AT_ONCE, database="kaas")
    try:
        said = admin.expect(200, "POST", "/v2/keys/signing/rotate", json={})
    finally:
        pair.world.db.query("DROP TRIGGER turn_at_once", database="kaas")
    assert (said["kid"] != kid_of(admin), said["state"]) == (True, "active")
    activated(pair, said["kid"])


def test_a_key_that_others_know_ends_with_its_tokens(pair: Pair) -> None:
    before = pair.admin()
    said = pair.first.ctl.json("--yes", "key", "rotate-signing", "--drop-old")
    activated(pair, said["kid"])
    for daemon in pair.both:
        until(lambda daemon=daemon: not is_good(before, daemon), "the end of the old key's tokens")  # type: ignore[misc]
    for at in (0, 1):
        until(lambda at=at: kid_of(before) not in pair.published(at), "the old key gone from the list")  # type: ignore[misc]
    until(lambda: kid_of(before) not in pair.listed(), "the old key deleted")


def test_a_key_whose_last_token_has_ended_is_deleted_everywhere(pair: Pair) -> None:
    before = pair.admin()
    said = pair.first.ctl.json("key", "rotate-signing", "--now")
    activated(pair, said["kid"])
    assert is_good(before, pair.second)
    assert pair.listed()[kid_of(before)]["verifies_until"] > said["signs_from"]
    # as if the time had come
    pair.world.db.query("UPDATE signing_keys SET not_after_ms = 1000 WHERE kid = %s", kid_of(before), database="kaas")
    tell(pair, kid_of(before))
    until(lambda: kid_of(before) not in pair.listed(), "the old key deleted")
    for at, daemon in enumerate(pair.both):
        until(lambda at=at: kid_of(before) not in pair.published(at), "the old key gone from memory")  # type: ignore[misc]
        daemon.api(before.token).refused(401, "unauthenticated", "GET", "/v2/whoami")


def tell(pair: Pair, kid: str) -> None:
    """What a replica does after it has changed a key: a row in the change log."""
    pair.world.db.query("UPDATE replicas SET seq = seq + 1 WHERE id = 0", database="kaas")
    pair.world.db.query("INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms) "
                        "SELECT 0, seq, 'signing_key', %s, UNIX_TIMESTAMP() * 1000 FROM replicas WHERE id = 0",
                        kid, database="kaas")


def test_a_key_deleted_by_hand_does_not_live_on_in_memory(pair: Pair) -> None:
    before = pair.admin()
    said = pair.first.ctl.json("key", "rotate-signing", "--now")
    activated(pair, said["kid"])
    assert is_good(before, pair.first)
    pair.world.db.query("DELETE FROM signing_keys WHERE kid = %s", kid_of(before), database="kaas")
    tell(pair, kid_of(before))
    for daemon in pair.both:
        until(lambda daemon=daemon: not is_good(before, daemon), "the end of the deleted key's tokens")  # type: ignore[misc]


def test_a_key_is_replaced_by_age(pair: Pair) -> None:
    old = kid_of(pair.admin())
    pair.world.db.query("UPDATE signing_keys SET signs_from_ms = 1000 WHERE kid = %s", old, database="kaas")
    tell(pair, old)
    until(lambda: kid_of(pair.admin()) != old, "a new key by itself")
    assert sorted(key["state"] for key in pair.listed().values()).count("active") == 1


def test_only_administrators_see_and_change_keys(pair: Pair) -> None:
    pair.first.api().refused(401, "unauthenticated", "GET", "/v2/keys/signing")
    pair.admin().refused(422, "unprocessable", "POST", "/v2/keys/signing/rotate", json={"immediately": "yes"})
