"""The audit log: order, pages, filters, who may read it, and how long it is kept."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from env.api import Api
from env.clock import Clock
from env.full import World
from env.kaasd import Kaasd
from env.places import Scratch
from env.wait import until

pytestmark = pytest.mark.slow
DAY_S = 24 * 3600
START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)  # older than anything the world did, younger than what goes by age
START_MS = int(START.timestamp() * 1000)


FILTERS = ("action", "principal_id", "acting_id", "source", "address", "object_kind", "object_id", "result", "request_id")


def cursor(plain: str) -> str:
    """As the list gives it: time, replica and number of a line."""
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def moment(seconds: float, zone: tzinfo = UTC) -> str:
    return (START + timedelta(seconds=seconds)).astimezone(zone).isoformat(timespec="milliseconds")


@pytest.fixture(scope="module")
def admin(world: World) -> Api:
    return world.admin


@pytest.fixture(scope="module")
def word(world: World) -> Iterator[str]:
    """An action that twelve lines bear, and no others: three at each of four times, by two replicas."""
    action = "master_key.rotate"  # nobody does that in the shared world
    assert world.db.query("SELECT COUNT(*) FROM audit WHERE action = %s", action, database="kaas") == [(0,)]
    for i in range(12):
        replica, seq = (0, i // 3) if i % 3 < 2 else (1, i // 3)
        world.db.query(
            "INSERT INTO audit (replica_id, seq, at_ms, action, principal_id, object_kind, object_id, request_id, result, reason) "
            "VALUES (%s, %s, %s, %s, %s, 'cluster', %s, %s, %s, %s)",
            replica + 900, seq * 10 + i % 3, START_MS + seq * 1000, action, f"local:{i % 2}", f"object-{i}", f"request-{i}",
            "ok" if i % 4 else "forbidden", f"reason {i}", database="kaas")
    yield action
    world.db.query("DELETE FROM audit WHERE replica_id >= 900", database="kaas")


def places(admin: Api, **filters: Any) -> list[str]:
    return [line["id"] for line in admin.items("/v2/audit", **filters)]


def test_a_line_tells_who_did_what_from_where(admin: Api, world: World) -> None:
    answer = world.kaasd.api().post_login("password", {"username": "admin", "password": world.kaasd.admin_password})
    (line,) = admin.items("/v2/audit", request_id=answer.headers["KaaS-Request-Id"])
    told = {"action": "login", "result": "ok", "principal_name": "admin", "source": "local", "address": "127.0.0.1"}
    assert told.items() <= line.items()


def test_lines_come_newest_first_and_in_one_order(admin: Api, word: str) -> None:
    expected = [f"{900 + replica}-{seq * 10 + place}" for seq in (3, 2, 1, 0) for replica, place in ((1, 2), (0, 1), (0, 0))]
    assert places(admin, action=word) == expected
    for limit in (1, 2, 5, 11, 12):
        assert places(admin, action=word, limit=limit) == expected


def test_new_lines_move_no_page(admin: Api, world: World, word: str) -> None:
    before = places(admin, action=word)
    first = admin.get("/v2/audit", action=word, limit=4)
    world.db.query("INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (902, 1, %s, %s)", START_MS + 9000, word, database="kaas")
    rest = places(admin, action=word, limit=4, cursor=first["next_cursor"])
    world.db.query("DELETE FROM audit WHERE replica_id = 902", database="kaas")
    assert [line["id"] for line in first["items"]] + rest == before


def test_filters_narrow(admin: Api, word: str) -> None:
    assert len(places(admin, action=word, principal_id="local:1")) == 6
    assert len(places(admin, action=word, result="forbidden")) == 3
    assert len(places(admin, action=word, object_kind="cluster", object_id="object-5")) == 1
    assert places(admin, action=word, object_kind="node") == []
    assert places(admin, action=word, request_id="request-0") == ["900-0"]
    assert len(places(admin, action=word, since=moment(2))) == 6
    assert len(places(admin, action=word, until=moment(2, timezone(timedelta(hours=2))))) == 6
    assert len(places(admin, action=word, since=moment(1), until=moment(1.001), limit=2)) == 3
    assert places(admin, since=moment(2), until=moment(1)) == []


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"},
        {"since": "2001-02-30T00:00:00Z"},
        {"until": "2001-09-09"},
        {"until": "2001-09-09T01:46:40"},
        {"limit": "501"},
        {"cursor": "x"},
        {"cursor": "MS4y"},
        {"cursor": cursor("1.2.3.4")},
        {"cursor": cursor("1.65536.3")},
        {"cursor": cursor("1.-1.3")},
        {"cursor": cursor("1.2.3\0")},  # each of them is good up to the NUL
        {"cursor": cursor("1.2.3\0.4")},
        {"cursor": cursor("1\0.2.3")},
        {"cursor": cursor("1.2\0.3")},
        {"cursor": cursor("1.2.3") + "="},  # its one spelling has no padding
        {"cursor": "A" * 4000},
        *({name: "x" * 1001} for name in FILTERS),
        {"action": "cluster.creat"},
        {"action": ""},
        {"who": "x"},
    ],
)
def test_a_wrong_query_is_told(admin: Api, query: dict[str, str]) -> None:
    problem = admin.refused(400, "invalid_request", "GET", "/v2/audit", params=query)
    assert next(iter(query)) in problem["detail"]


def test_the_longest_query_is_answered(admin: Api) -> None:
    """What is refused above is refused for what is told, and not for anything near it."""
    for query in ({"cursor": cursor("1.2.3")}, *({name: "x" * 1000} for name in FILTERS if name != "action")):
        assert admin.get("/v2/audit", **query)["items"] == []


def test_who_misspells_an_action_hears_where_they_are_listed(admin: Api, world: World) -> None:
    problem = admin.refused(400, "invalid_request", "GET", "/v2/audit", params={"action": "loginn"})
    assert re.fullmatch(r"kaasctl audit actions lists them, as does /\S+/doc/kaas/admin/audit\.md", problem["remedy"])
    refused = world.kaasd.ctl.run("audit", "list", "--action", "loginn")
    assert refused.returncode == 1 and "kaasctl audit actions" in refused.stderr
    listed = {item["action"] for item in world.kaasd.ctl.json("audit", "actions")}
    written = {str(word) for (word,) in world.db.query("SELECT DISTINCT action FROM audit", database="kaas")}
    assert "login" in written and written <= listed


def test_only_administrators_read_it(world: World) -> None:
    cookie = world.vcenter.control.login("viewer-dc@vsphere.local")["cookie"]
    viewer = world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie)
    viewer.refused(403, "forbidden", "GET", "/v2/audit")


def test_an_unchanged_page_is_not_sent_again(admin: Api, word: str) -> None:
    tag = admin.call("GET", "/v2/audit", params={"action": word}).headers["ETag"]
    assert admin.call("GET", "/v2/audit", params={"action": word}, headers={"If-None-Match": tag}).status_code == 304


def test_what_is_older_than_it_is_kept_goes(scratch: Scratch, fresh_db: Any) -> None:
    """Only lines of ours go: what somebody put in to look old is kept, and named by the verification."""
    clock = Clock(scratch.path / "clock")
    kaasd = Kaasd(scratch, fresh_db.socket, options={"audit": {"keep": "30d"}}, env=clock.env)
    kaasd.init()
    kaasd.start()
    kaasd.admin()
    ((before,),) = fresh_db.query("SELECT MAX(seq) FROM audit WHERE replica_id = 1", database="kaas")
    fresh_db.query("INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (0, 1, 1, 'login')", database="kaas")
    kaasd.stop()
    clock.advance(31 * DAY_S, step_s=31 * DAY_S)
    kaasd.start()
    until(lambda: fresh_db.query("SELECT COUNT(*) FROM audit WHERE replica_id = 1 AND seq <= %s", before, database="kaas") == [(0,)],
          "the end of the old lines")
    said = kaasd.ctl.run("audit", "verify")
    assert said.returncode == 1 and "replica 0: line 1 " in said.stdout and "replica 1:" not in said.stdout
    kaasd.stop()
