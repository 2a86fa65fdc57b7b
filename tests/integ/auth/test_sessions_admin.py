"""Sessions on two replicas: what an administrator or a changed user does to them counts everywhere, at once."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator

import pytest
from env import forge
from env.api import Api
from env.full import World
from env.kaasd import Kaasd
from env.wait import until

pytestmark = pytest.mark.slow


class Pair:
    """Two replicas of one installation, and a local user of its own for each test."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.first = world.kaasd
        self.second = world.kaasd.beside("second")
        self.second.start()
        self.user_id = ""

    @property
    def both(self) -> tuple[Kaasd, Kaasd]:
        return (self.first, self.second)

    def make_user(self, name: str, role: str) -> None:
        """With the password of the first administrator, whose hash is at hand."""
        self.user_id = str(uuid.uuid4())
        self.world.db.query(
            "INSERT INTO users (id, name, name_key, role, password_hash, created_at_ms, updated_at_ms, version_no) "
            "SELECT %s, %s, %s, %s, password_hash, 1, 1, 1 FROM users WHERE name = 'admin'",
            self.user_id, name, name, role, database="kaas")

    def sign_in(self, name: str, at: int = 0) -> Api:
        return self.both[at].api().login_password(name, self.first.admin_password)

    def change_user(self, change: str) -> None:
        """What a replica does that changes a user: the row, and a row in the change log."""
        self.world.db.query(f"UPDATE users SET {change} WHERE id = %s", self.user_id, database="kaas")
        self.world.db.query("UPDATE replicas SET seq = seq + 1 WHERE id = 0", database="kaas")
        self.world.db.query("INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms) SELECT 0, seq, 'user', %s, "
                            "UNIX_TIMESTAMP() * 1000 FROM replicas WHERE id = 0", self.user_id, database="kaas")


@pytest.fixture(scope="module")
def world_pair() -> Iterator[Pair]:
    with World("sadm") as world:
        two = Pair(world)
        try:
            yield two
        finally:
            two.second.stop()


@pytest.fixture
def pair(world_pair: Pair) -> Iterator[Pair]:
    yield world_pair
    world_pair.world.db.query("UPDATE users SET is_disabled = 0 WHERE name = 'admin'", database="kaas")


def role_at(daemon: Kaasd, api: Api) -> str:
    return daemon.api(api.token).get("/v2/whoami")["role"]


def code_at(daemon: Kaasd, api: Api) -> str:
    answer = daemon.api(api.token).call("GET", "/v2/whoami")
    return answer.json().get("code", "good")


def handle_of(api: Api) -> str:
    assert api.token
    return hashlib.sha256(forge.claims_of(api.token)["sid"].encode()).hexdigest()[:16]


def test_a_changed_role_counts_for_sessions_under_way(pair: Pair) -> None:
    pair.make_user("lowered", "admin")
    api = pair.sign_in("lowered")
    for daemon in pair.both:
        until(lambda daemon=daemon: role_at(daemon, api) == "admin", "the role at the sign-on")  # type: ignore[misc]
        daemon.api(api.token).get("/v2/vcenters")
    pair.change_user("role = 'user'")
    for daemon in pair.both:
        until(lambda daemon=daemon: role_at(daemon, api) == "user", "the lowered role")  # type: ignore[misc]
        daemon.api(api.token).refused(403, "forbidden", "GET", "/v2/vcenters")
    pair.second.kill()
    pair.second.start()
    assert role_at(pair.second, api) == "user"


def test_a_disabled_user_is_out_everywhere_and_stays_out(pair: Pair) -> None:
    pair.make_user("disabled", "user")
    api = pair.sign_in("disabled")
    until(lambda: code_at(pair.second, api) == "good", "the session at the other replica")
    pair.change_user("is_disabled = 1")
    for daemon in pair.both:
        until(lambda daemon=daemon: code_at(daemon, api) == "session_ended", "the end of the session")  # type: ignore[misc]


def test_administrators_list_sessions_of_all_replicas(pair: Pair) -> None:
    pair.make_user("listed", "user")
    here, there = pair.sign_in("listed", 0), pair.sign_in("listed", 1)
    for daemon in pair.both:
        until(lambda daemon=daemon: {row["id"] for row in daemon.ctl.json("session", "list", "--principal", "LISTED")} ==  # type: ignore[misc]
              {handle_of(here), handle_of(there)}, "both sessions")
    admin = pair.sign_in("admin", 1)
    rows = list(admin.items("/v2/sessions", limit=1))
    assert {(row["name"], row["is_own"]) for row in rows if row["id"] == handle_of(admin)} == {("admin", True)}
    assert forge.claims_of(here.token or "")["sid"] not in str(rows)
    assert {row["id"] for row in admin.items("/v2/sessions", principal=f"local:{pair.user_id}")} == {handle_of(here), handle_of(there)}


def test_an_administrator_ends_a_session_of_another_replica(pair: Pair) -> None:
    pair.make_user("ended", "user")
    victim, other = pair.sign_in("ended", 1), pair.sign_in("ended", 0)
    until(lambda: handle_of(victim) in {row["id"] for row in pair.first.ctl.json("session", "list")}, "the session at the first replica")
    pair.first.ctl.ok("session", "end", handle_of(victim))
    for daemon in pair.both:
        until(lambda daemon=daemon: code_at(daemon, victim) == "session_ended", "the end of the session")  # type: ignore[misc]
        assert code_at(daemon, other) == "good"
    pair.sign_in("admin").refused(404, "not_found", "DELETE", f"/v2/sessions/{handle_of(victim)}")
    pair.first.ctl.ok("session", "end", "--principal", "ended")
    until(lambda: code_at(pair.second, other) == "session_ended", "the end of the last session")
    rows = pair.world.db.query("SELECT action, object_id FROM audit WHERE action = 'session.end'", database="kaas")
    assert ("session.end", f"local:{pair.user_id}") in [tuple(row) for row in rows]


def test_sessions_are_for_administrators(pair: Pair) -> None:
    pair.make_user("curious", "user")
    api = pair.sign_in("curious")
    api.refused(403, "forbidden", "GET", "/v2/sessions")
    api.refused(403, "forbidden", "DELETE", f"/v2/sessions/{handle_of(api)}")
    assert pair.first.ctl.run("session", "end").returncode == 2


def test_an_old_token_used_at_the_other_replica_ends_the_session(pair: Pair) -> None:
    pair.make_user("reused", "user")
    old = pair.sign_in("reused", 0)
    new = old.as_token(old.expect(200, "POST", "/v2/token/refresh")["access_token"])
    sid = forge.claims_of(old.token or "")["sid"]
    until(lambda: code_at(pair.second, new) == "good", "the new token at the other replica")
    pair.world.db.query("UPDATE sessions SET rotated_at_ms = rotated_at_ms - 31000 WHERE sid = %s", sid, database="kaas")
    until(lambda: pair.second.api(old.token).call("POST", "/v2/token/refresh").status_code == 401, "the reuse noticed")
    for daemon in pair.both:
        until(lambda daemon=daemon: code_at(daemon, new) == "session_ended", "the end of the session")  # type: ignore[misc]


def test_the_absolute_end_of_each_way_of_sign_on(pair: Pair) -> None:
    pair.make_user("clocked", "user")
    api = pair.sign_in("clocked")
    sid = forge.claims_of(api.token or "")["sid"]
    ((lifetime,),) = pair.world.db.query("SELECT ends_at_ms - created_at_ms FROM sessions WHERE sid = %s", sid, database="kaas")
    assert lifetime == 8 * 3600 * 1000
    renewed = api.as_token(api.expect(200, "POST", "/v2/token/refresh")["access_token"])
    ((ends, claimed),) = pair.world.db.query("SELECT ends_at_ms, created_at_ms FROM sessions WHERE sid = %s", sid, database="kaas")
    assert ends - claimed == 8 * 3600 * 1000 and forge.claims_of(renewed.token or "")["exp"] * 1000 <= ends
