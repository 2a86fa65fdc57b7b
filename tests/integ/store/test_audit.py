"""The audit log: what must be in it and what must never be, that it is one chain at each replica, and who notices when it is not."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from env.api import Api
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch, program
from env.wait import until

pytestmark = pytest.mark.slow
PASSWORD, WRONG = "seven swans in a paper boat", "wr0ng-horse-battery-staple"
REFUSALS = 25
MARK = "unknown name #"  # what stands for a typed name that nobody has: it may be a password
SIGN_ONS = 12
CURL_CANNOT_CONNECT = 7  # exit status
NOBODY = 65534  # no administrator anywhere


class Place:
    """Two replicas on one database, of which the first tells its audit lines to the log, and a user."""

    def __init__(self, scratch: Scratch, db: Mariadb) -> None:
        self.db = db
        self.first = Kaasd(scratch, db.socket, "first", options={"audit": {"log": True}})
        self.first.init()
        self.first.start()
        self.second = self.first.beside("second")
        self.second.start()
        self.admin = self.first.admin()
        self.user_id = self.admin.expect(201, "POST", "/v2/users", headers={"X-KaaS": "1"}, json={
            "name": "viewer", "role": "user", "password": PASSWORD, "must_change_password": False})["id"]
        for daemon in (self.first, self.second) * 4:  # so that each has lines
            assert attempt(daemon.api(), "viewer", PASSWORD).status_code == 200

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.db.query(statement, *values, database="kaas")

    def number(self, daemon: Kaasd) -> int:
        ((first,),) = self.sql("SELECT MIN(id) FROM replicas WHERE id > 0")
        return int(first) if daemon is self.first else int(first) + 1

    def verify(self, daemon: Kaasd | None = None) -> subprocess.CompletedProcess[str]:
        return (daemon or self.first).ctl.run("audit", "verify")

    def chain(self, daemon: Kaasd) -> dict[str, Any]:
        """As the other replica sees it, which knows only what the database says."""
        asked = self.second if daemon is self.first else self.first
        items = asked.api(self.admin.token).get("/v2/audit/verify")["items"]
        return next(item for item in items if item["replica"] == self.number(daemon))

    def check_intact(self) -> None:
        for daemon in (self.first, self.second):
            said = self.verify(daemon)
            assert said.returncode == 0, said.stdout + said.stderr
            assert self.chain(daemon)["state"] == "intact"

    def lines(self, **filters: Any) -> list[dict[str, Any]]:
        return list(self.admin.items("/v2/audit", **filters))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    scratch = Scratch("audit")
    db = Mariadb(scratch)
    made = Place(scratch, db)
    yield made
    for daemon in (made.second, made.first):
        daemon.stop()
    db.close()
    scratch.remove()


def attempt(api: Api, name: str, password: str) -> requests.Response:
    return api.post_login("password", {"username": name, "password": password})


def test_each_sign_on_is_there(place: Place) -> None:
    api = place.first.api()
    for name, password, result, principal, reason in (("viewer", PASSWORD, "ok", f"local:{place.user_id}", None),
                                                      ("viewer", WRONG, "invalid_credentials", None, "wrong password"),
                                                      ("nobody-here", WRONG, "invalid_credentials", None, "no local user has this name")):
        answer = attempt(api, name, password)
        (line,) = place.lines(request_id=answer.headers["KaaS-Request-Id"])
        assert (line["action"], line["source"], line["result"], line["principal_id"]) == ("login", "local", result, principal)
        assert (line["address"], line["acting_id"], line["reason"]) == ("127.0.0.1", None, reason)
        assert line["principal_name"] == name if name == "viewer" else line["principal_name"].startswith(MARK)


def test_lines_are_found_by_way_and_address(place: Place) -> None:
    attempt(place.first.api(), "viewer", PASSWORD)
    assert place.lines(source="local", address="127.0.0.1", action="login")
    assert not place.lines(source="kerberos") and not place.lines(address="192.0.2.1") and not place.lines(acting_id="svc:none")


def test_both_chains_are_intact(place: Place) -> None:
    attempt(place.second.api(), "viewer", PASSWORD)
    place.check_intact()
    said = place.verify().stdout
    assert "intact" in said and "second" in said
    ((lines,),) = place.sql("SELECT COUNT(*) FROM audit WHERE replica_id = %s", place.number(place.second))
    assert place.chain(place.second)["lines"] >= lines
    place.admin.refused(400, "invalid_request", "GET", "/v2/audit/verify", params={"cursor": "x"})


def test_who_may_not_is_noted_within_bounds(place: Place) -> None:
    viewer = place.first.api().login_password("viewer", PASSWORD)
    viewer.refused(403, "forbidden", "GET", "/v2/audit/verify")
    for _ in range(REFUSALS):
        viewer.refused(403, "forbidden", "GET", "/v2/users")

    def noted() -> list[dict[str, Any]]:
        return [line for line in place.lines(action="request.deny") if line["object_name"] == "GET /v2/users"]

    until(noted, "the line about it")
    line = noted()[-1]
    assert (line["principal_id"], line["result"], line["source"]) == (f"local:{place.user_id}", "forbidden", "local")
    assert "users.manage" in line["reason"]
    assert len(noted()) < REFUSALS / 2


def by_admin_socket(daemon: Kaasd, user: int, *more: str) -> tuple[int, dict[str, Any]]:
    """Status and answer when a process of that user asks for the users; curl's exit status if there is none. It begins in the folder,
    which it might not get into by itself."""
    assert os.geteuid() == 0, "these tests run as root"
    curl = ["curl", "-sS", "-w", "\\n%{http_code}", "--unix-socket", "admin.sock", *more, "http://localhost/v2/users"]
    said = subprocess.run(curl, cwd=daemon.folder, user=user, group=user, extra_groups=[], capture_output=True, text=True, timeout=120)
    if said.returncode:
        return said.returncode, {}
    body, status = said.stdout.rsplit("\n", 1)
    return int(status), json.loads(body)


def test_another_user_may_not_use_the_admin_socket(place: Place) -> None:
    """Nobody else can open it; if somebody could, whom the kernel names is an administrator or not."""
    status, answer = by_admin_socket(place.first, 0)
    assert (status, [user["name"] for user in answer["items"]]) == (200, ["admin", "viewer"])
    assert by_admin_socket(place.first, NOBODY)[0] == CURL_CANNOT_CONNECT
    (place.first.folder / "admin.sock").chmod(0o666)
    status, answer = by_admin_socket(place.first, NOBODY)
    assert (status, answer["code"]) == (403, "forbidden")
    assert answer["detail"] == f"user id {NOBODY} may not use the admin socket"
    assert answer["remedy"] == "run the command as root or as the user of the service"

    def noted() -> list[dict[str, Any]]:
        return [line for line in place.lines(action="request.deny") if line["principal_name"] == f"user id {NOBODY}"]

    until(noted, "the line about it")
    line = noted()[-1]
    assert (line["principal_id"], line["source"], line["object_name"]) == (None, "socket", "GET /v2/users")
    status, answer = by_admin_socket(place.first, NOBODY, "-H", f"Authorization: Bearer {place.admin.token}")
    assert status == 200  # signed in, whoever the process is of


def test_who_used_the_admin_socket_is_told(place: Place) -> None:
    """By user id; and the person behind sudo, of whom the kernel keeps the user id of the login."""
    first = place.first
    command = [str(program("kaasctl")), "--config", str(first.config), "user", "add"]
    first.ctl.ok("user", "add", "made-by-root")
    logged_in = "echo 65534 > /proc/self/loginuid && exec \"$0\" \"$@\""
    subprocess.run(["sh", "-c", logged_in, *command, "made-by-sudo"], check=True, capture_output=True)
    made = {line["object_name"]: line for line in place.lines(action="user.create", source="socket")}
    assert made["made-by-root"]["principal_name"].endswith("root (uid 0)")
    assert made["made-by-sudo"]["principal_name"] == "nobody (uid 65534) as root (uid 0)"
    assert {line["principal_id"] for line in made.values()} == {"svc:admin-socket"}
    assert "nobody (uid 65534) as root (uid 0)" in first.ctl.ok("audit", "list", "--action", "user.create")
    for name in ("made-by-root", "made-by-sudo"):
        first.ctl.ok("--yes", "user", "remove", name)


def test_guesses_that_are_held_back_are_noted_within_bounds(place: Place) -> None:
    api = place.first.api()
    answers = [attempt(api, "held-back", WRONG) for _ in range(REFUSALS)]
    statuses = [answer.status_code for answer in answers]
    (first,) = place.lines(request_id=answers[0].headers["KaaS-Request-Id"])
    assert first["principal_name"].startswith(MARK)
    assert statuses.count(429) > REFUSALS / 2

    def held_back() -> list[dict[str, Any]]:
        return [line for line in place.lines(result="too_many_requests") if line["principal_name"] == first["principal_name"]]

    until(held_back, "the line about it")
    assert len(held_back()) < statuses.count(429) / 2
    assert "too many attempts" in held_back()[-1]["reason"]
    refused = [line for line in place.lines(result="invalid_credentials") if line["principal_name"] == first["principal_name"]]
    assert len(refused) == statuses.count(401)
    assert place.sql("SELECT COUNT(*) FROM audit WHERE CONCAT_WS(' ', principal_name, reason) LIKE '%held-back%'") == [(0,)]


def test_the_log_tells_each_line(place: Place) -> None:
    answer = attempt(place.first.api(), "viewer", PASSWORD)
    wanted = f"of_request={answer.headers['KaaS-Request-Id']}"
    assert place.first.process and place.second.process
    told = [line for line in place.first.process.log.splitlines() if wanted in line]
    assert len(told) == 1 and "event=audit" in told[0] and "action=login" in told[0] and "level=notice" in told[0]
    attempt(place.second.api(), "viewer", PASSWORD)
    assert "event=audit" not in place.second.process.log


def test_no_secret_is_there(place: Place) -> None:
    viewer = place.first.api().login_password("viewer", PASSWORD)
    viewer.expect(200, "POST", "/v2/token/refresh")
    viewer.as_token((viewer.token or "")[:-8] + "AAAAAAAA").call("GET", "/v2/clusters")
    viewer.call("POST", "/v2/logout")
    rows = place.sql("SELECT * FROM audit")
    text = json.dumps(rows, default=str)
    secrets = [PASSWORD, WRONG, place.first.admin_password, place.admin.token or "-", viewer.token or "-"]
    secrets += [str(sid) for (sid,) in place.sql("SELECT jti FROM sessions")]
    assert rows and not [secret for secret in secrets if secret in text]


# -- somebody with the database alone ---------------------------------------------------------------------------------------------


def middle(place: Place) -> int:
    ((seq,),) = place.sql("SELECT MIN(seq) + 2 FROM audit WHERE replica_id = %s", place.number(place.first))
    return int(seq)


def test_a_line_that_was_removed_is_named(place: Place) -> None:
    seq, replica = middle(place), place.number(place.first)
    place.sql("CREATE TABLE kept AS SELECT * FROM audit WHERE replica_id = %s AND seq = %s", replica, seq)
    place.sql("DELETE FROM audit WHERE replica_id = %s AND seq = %s", replica, seq)
    said = place.verify()
    assert said.returncode != 0 and f"line {seq} was removed" in said.stdout and "remedy" in said.stdout
    fault = place.chain(place.first)["fault"]
    assert (fault["kind"], fault["first_line"], fault["last_line"]) == ("removed", seq, seq)
    assert place.chain(place.second)["state"] == "intact"
    place.sql("INSERT INTO audit SELECT * FROM kept")
    place.sql("DROP TABLE kept")
    place.check_intact()


def test_a_line_that_was_changed_is_named(place: Place) -> None:
    seq, replica = middle(place), place.number(place.first)
    place.sql("UPDATE audit SET address = CONCAT(COALESCE(address, ''), '9') WHERE replica_id = %s AND seq = %s", replica, seq)
    fault = place.chain(place.first)["fault"]
    assert (fault["kind"], fault["first_line"]) == ("changed", seq)
    place.sql("UPDATE audit SET address = NULLIF(LEFT(address, CHAR_LENGTH(address) - 1), '') WHERE replica_id = %s AND seq = %s",
              replica, seq)
    place.check_intact()


# -- trouble that is no tampering -------------------------------------------------------------------------------------------------


def sign_on_until(place: Place, breaks: Callable[[], None]) -> tuple[set[str], set[int | None]]:
    """Four at once sign on at the second replica, and something is broken meanwhile: the requests that were answered, and how others
    ended (None: no answer)."""
    answered: set[str] = set()
    refused: set[int | None] = set()
    has_begun = threading.Event()

    def sign_on() -> None:
        api = place.second.api()
        while not refused:
            try:
                answer = attempt(api, "viewer", PASSWORD)
            except requests.RequestException:
                refused.add(None)
                return
            if answer.status_code == 200:
                answered.add(answer.headers["KaaS-Request-Id"])
            else:
                refused.add(answer.status_code)
            if len(answered) >= SIGN_ONS:
                has_begun.set()

    threads = [threading.Thread(target=sign_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert has_begun.wait(120), refused
    breaks()
    for thread in threads:
        thread.join()
    return answered, refused


def known_sign_ons(place: Place) -> set[str]:
    return {line["request_id"] for line in place.lines(action="login")}


def test_a_replica_that_is_killed_breaks_nothing(place: Place) -> None:
    answered, refused = sign_on_until(place, place.second.kill)
    assert refused == {None}
    place.second.start()
    assert not answered - known_sign_ons(place)
    attempt(place.second.api(), "viewer", PASSWORD)
    place.check_intact()


def balance(place: Place) -> int:
    """Sessions less their lines: the same whatever happens."""
    ((sessions,),) = place.sql("SELECT COUNT(*) FROM sessions")
    ((lines,),) = place.sql("SELECT COUNT(*) FROM audit WHERE action = 'login' AND result = 'ok'")
    return int(sessions) - int(lines)


def test_a_database_that_is_killed_breaks_nothing(place: Place) -> None:
    """In the middle of shared commits: who was answered has session and line, who was refused has both or neither."""
    before = balance(place)
    answered, refused = sign_on_until(place, place.db.kill)
    assert refused == {503}
    place.db.start()
    for daemon in (place.first, place.second):
        until(lambda daemon=daemon: attempt(daemon.api(), "viewer", PASSWORD).status_code == 200, "sign-ons again")  # type: ignore[misc]
    assert not answered - known_sign_ons(place)
    assert balance(place) == before
    place.check_intact()
