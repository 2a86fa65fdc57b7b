"""Local users: adding, changing, removing, passwords; what that does to sessions, on two replicas; the last administrator."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from env.api import Api
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.wait import until

pytestmark = pytest.mark.slow
MERGE = {"Content-Type": "application/merge-patch+json"}
HEADER = {"X-KaaS": "1"}
PASSWORD, OTHER = "correct horse battery staple", "seven swans in a paper boat"
Make = Callable[..., dict[str, Any]]


@dataclass
class Place:
    first: Kaasd
    second: Kaasd
    db: Mariadb
    admin: Api

    def sign_in(self, name: str, password: str = PASSWORD) -> Api:
        return self.first.api().login_password(name, password)

    def there(self, api: Api) -> Api:
        """The same session at the other replica."""
        return self.second.api(api.token)

    def row(self, name: str) -> dict[str, Any]:
        return next(iter(self.admin.items("/v2/users", name=name)))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    folder = Scratch("u")
    db = Mariadb(folder)
    made: list[Kaasd] = []
    try:
        first = Kaasd(folder, db.socket)
        made.append(first)
        first.init()
        first.start()
        second = first.beside("second")
        made.append(second)
        second.start()
        yield Place(first, second, db, first.admin())
    finally:
        for kaasd in reversed(made):
            kaasd.stop()
        db.close()
        folder.remove()


@pytest.fixture(scope="module")
def admin(place: Place) -> Api:
    return place.admin


@pytest.fixture
def make(admin: Api) -> Iterator[Make]:
    """Adds users that go away with the test; by default one who may sign in and stay."""
    made: list[str] = []

    def add(**more: Any) -> dict[str, Any]:
        user = admin.expect(201, "POST", "/v2/users", json={**body(), **more}, headers=HEADER)
        made.append(user["id"])
        return dict(user)

    yield add
    for known in made:
        assert admin.call("DELETE", f"/v2/users/{known}").status_code in (204, 404)


def body(**more: Any) -> dict[str, Any]:
    return {"name": f"t-{uuid.uuid4().hex[:12]}", "role": "user", "password": PASSWORD, "must_change_password": False, **more}


def patch(api: Api, known: str, change: dict[str, Any], **headers: str) -> requests.Response:
    return api.call("PATCH", f"/v2/users/{known}", data=json.dumps(change), headers={**MERGE, **headers})


def is_over(api: Api) -> bool:
    answer = api.call("GET", "/v2/whoami")
    return answer.status_code == 401 and answer.json()["code"] == "session_ended"


# -- adding and showing -----------------------------------------------------------------------------------------------------


def test_an_added_user_is_answered_with_its_address_and_tag(admin: Api) -> None:
    answer = admin.call("POST", "/v2/users", json=body(full_name="Ånna Ek"), headers=HEADER)
    shown = admin.call("GET", answer.headers["Location"])
    admin.expect(204, "DELETE", answer.headers["Location"])
    assert (answer.status_code, answer.json(), answer.headers["ETag"]) == (201, shown.json(), shown.headers["ETag"])
    assert answer.json()["principal_id"] == f"local:{answer.json()['id']}"
    assert PASSWORD not in answer.text
    admin.refused(404, "not_found", "GET", answer.headers["Location"])


def test_names_are_unique_without_regard_to_case(admin: Api, make: Make) -> None:
    name = make()["name"]
    admin.refused(409, "exists", "POST", "/v2/users", json=body(name=name.upper()), headers=HEADER)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": " anna"},
        {"name": "anna "},
        {"name": "a\nb"},
        {"name": "\u0430dmin"},  # the first letter is Cyrillic
        {"name": "a" * 101},
        {"name": None},
        {"role": "none"},
        {"role": "root"},
        {"full_name": ""},
        {"password": "tiny-pass"},
        {"password": "aaaaaaaaaaaaaaaa"},
        {"password": "x" * 501},
        {"password": "control \x07 character"},
        {"password": None},
        {"name": "someone-longer", "password": "Someone-Longer1"},
        {"disabled": "yes"},
        {"password_hash": "$y$"},
    ],
)
def test_a_user_of_a_wrong_form_is_unprocessable(admin: Api, wrong: dict[str, Any]) -> None:
    problem = admin.refused(422, "unprocessable", "POST", "/v2/users", json=body(**wrong), headers=HEADER)
    assert str(wrong.get("password")) not in problem["detail"] or wrong.get("password") is None


def test_lists_are_in_order_of_names_and_in_pages(admin: Api, make: Make) -> None:
    word = uuid.uuid4().hex[:8]
    names = [make(name=f"{word}-{n}")["name"] for n in ("B", "a", "C")]
    listed = [user["name"] for user in admin.items("/v2/users", limit=2) if user["name"] in names]
    assert listed == [f"{word}-a", f"{word}-B", f"{word}-C"]
    assert [user["name"] for user in admin.items("/v2/users", name=f"{word}-b")] == [f"{word}-B"]
    assert {user["role"] for user in admin.items("/v2/users", role="admin")} == {"admin"}
    admin.refused(400, "invalid_request", "GET", "/v2/users", params={"role": "root"})


def test_only_administrators_have_to_do_with_users(place: Place, make: Make) -> None:
    user = make(role="provisioner")
    api = place.sign_in(user["name"])
    api.refused(403, "forbidden", "GET", "/v2/users")
    api.refused(403, "forbidden", "POST", "/v2/users", json=body(), headers=HEADER)
    assert patch(api, user["id"], {"role": "admin"}).status_code == 403
    api.refused(403, "forbidden", "POST", f"/v2/users/{user['id']}/password", json={"password": OTHER}, headers=HEADER)


# -- changing ---------------------------------------------------------------------------------------------------------------


def test_a_patch_changes_what_it_names_and_null_removes(admin: Api, make: Make) -> None:
    user = make(full_name="Anna")
    changed = patch(admin, user["id"], {"name": user["name"] + "-2", "full_name": None})
    assert changed.status_code == 200
    expected = {**user, "name": user["name"] + "-2", "full_name": None, "updated_at": changed.json()["updated_at"]}
    assert changed.json() == expected
    assert changed.headers["ETag"] == admin.call("GET", f"/v2/users/{user['id']}").headers["ETag"]


@pytest.mark.parametrize("change", [{}, {"name": None}, {"role": None}, {"role": "none"}, {"password": PASSWORD}, {"id": "x"}])
def test_a_patch_of_a_wrong_form_is_unprocessable(admin: Api, make: Make, change: dict[str, Any]) -> None:
    assert patch(admin, make()["id"], change).status_code == 422


def test_a_change_minds_the_tag(admin: Api, make: Make) -> None:
    user = make()
    tag = admin.call("GET", f"/v2/users/{user['id']}").headers["ETag"]
    assert patch(admin, user["id"], {"full_name": "One"}, **{"If-Match": tag}).status_code == 200
    assert patch(admin, user["id"], {"full_name": "Two"}, **{"If-Match": tag}).status_code == 412
    admin.refused(412, "precondition_failed", "DELETE", f"/v2/users/{user['id']}", headers={"If-Match": tag})
    assert patch(admin, user["id"], {"full_name": "Two"}, **{"If-Match": "*"}).status_code == 200


def test_a_disabled_user_is_out_everywhere_and_may_come_back(place: Place, admin: Api, make: Make) -> None:
    user = make()
    api = place.sign_in(user["name"])
    assert place.there(api).get("/v2/whoami")["name"] == user["name"]
    assert patch(admin, user["id"], {"disabled": True}).status_code == 200
    assert is_over(api)
    until(lambda: is_over(place.there(api)), "the end of the session at the other replica")
    assert api.post_login("password", {"username": user["name"], "password": PASSWORD}).json()["code"] == "invalid_credentials"
    assert patch(admin, user["id"], {"disabled": False}).status_code == 200
    assert place.sign_in(user["name"]).get("/v2/whoami")["role"] == "user"
    assert is_over(api)


def test_a_role_counts_in_the_sessions_under_way(place: Place, admin: Api, make: Make) -> None:
    user = make(role="admin")
    api = place.sign_in(user["name"])
    there = place.there(api)
    there.get("/v2/users")
    assert patch(admin, user["id"], {"role": "user"}).status_code == 200
    api.refused(403, "forbidden", "GET", "/v2/users")
    until(lambda: there.call("GET", "/v2/users").status_code == 403, "the new role at the other replica")
    assert api.get("/v2/whoami")["role"] == "user"
    assert patch(admin, user["id"], {"role": "admin"}).status_code == 200
    api.get("/v2/users")
    until(lambda: there.call("GET", "/v2/users").status_code == 200, "the old role again")


def test_a_removed_user_takes_sessions_and_grants_along(place: Place, admin: Api, make: Make) -> None:
    user = make()
    api = place.sign_in(user["name"])
    place.there(api).get("/v2/whoami")
    admin.expect(204, "DELETE", f"/v2/users/{user['id']}")
    assert is_over(api)
    until(lambda: is_over(place.there(api)), "the end of the session at the other replica")
    again = make(name=user["name"])
    assert again["principal_id"] != user["principal_id"]


# -- the last administrator ---------------------------------------------------------------------------------------------------


def test_the_last_administrator_stays(place: Place, admin: Api, make: Make) -> None:
    last = place.row("admin")["id"]
    make(role="admin", disabled=True)
    without = {key: value for key, value in body(role="admin").items() if key != "password"}
    left = admin.expect(201, "POST", "/v2/users", json=without, headers=HEADER)
    for change in ({"disabled": True}, {"role": "user"}):
        assert patch(admin, last, change).json()["code"] == "conflict"
    admin.refused(409, "conflict", "DELETE", f"/v2/users/{last}")
    assert admin.get(f"/v2/users/{last}")["role"] == "admin"
    admin.expect(204, "DELETE", f"/v2/users/{left['id']}")


@pytest.mark.parametrize("change", [{"disabled": True}, {"role": "user"}, None])
def test_of_two_administrators_one_is_left_whatever_comes_at_once(place: Place, make: Make, change: dict[str, Any] | None) -> None:
    """Two who end each other at the same time, each at another replica; the first administrator is away meanwhile."""
    pair = [make(role="admin"), make(role="admin")]
    at = [place.sign_in(pair[0]["name"]), place.there(place.sign_in(pair[1]["name"]))]
    first = place.row("admin")["id"]
    place.db.query("UPDATE users SET is_disabled = 1 WHERE id = %s", first, database="kaas")

    def end(i: int) -> int:
        other = pair[1 - i]["id"]
        return (at[i].call("DELETE", f"/v2/users/{other}") if change is None else patch(at[i], other, change)).status_code

    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(end, range(2)))
        (left,) = place.db.query("SELECT COUNT(*) FROM users WHERE role = 'admin' AND is_disabled = 0", database="kaas")
        assert left == (1,)
    finally:
        place.db.query("UPDATE users SET is_disabled = 0 WHERE id = %s", first, database="kaas")


# -- passwords ----------------------------------------------------------------------------------------------------------------


def change_own(api: Api, old: str, new: str) -> requests.Response:
    return api.call("POST", "/v2/password", json={"old_password": old, "new_password": new}, headers=HEADER)


def test_a_changed_password_counts_and_ends_the_other_sessions(place: Place, make: Make) -> None:
    user = make()
    api, other = place.sign_in(user["name"]), place.sign_in(user["name"])
    place.there(other).get("/v2/whoami")
    assert change_own(api, PASSWORD, OTHER).status_code == 204
    assert is_over(other)
    until(lambda: is_over(place.there(other)), "the end of the other session at the other replica")
    assert api.get("/v2/whoami")["name"] == user["name"]
    assert place.sign_in(user["name"], OTHER).get("/v2/whoami")["name"] == user["name"]
    assert api.post_login("password", {"username": user["name"], "password": PASSWORD}).status_code == 401


def test_the_old_password_must_be_right_and_the_new_one_good(place: Place, make: Make) -> None:
    api = place.sign_in(make()["name"])
    assert change_own(api, "not " + PASSWORD, OTHER).json()["code"] == "invalid_credentials"
    assert change_own(api, PASSWORD, "short").json()["code"] == "unprocessable"
    assert change_own(api, PASSWORD, PASSWORD).json()["code"] == "unprocessable"
    assert change_own(api, PASSWORD, OTHER).status_code == 204


def test_guessing_the_old_password_is_slowed_down(place: Place, make: Make) -> None:
    api = place.sign_in(make()["name"])
    codes = [change_own(api, f"wrong {i}", OTHER).json()["code"] for i in range(8)]
    assert codes[0] == "invalid_credentials"
    assert "too_many_requests" in codes


def test_a_password_set_by_somebody_else_must_be_changed_before_anything_else(place: Place, admin: Api, make: Make) -> None:
    user = make(must_change_password=True, role="admin")
    api = place.sign_in(user["name"])
    there = place.there(api)
    for path in ("/v2/clusters", "/v2/users", "/v2/health"):
        problem = api.refused(403, "password_change_required", "GET", path)
        assert "/v2/password" in problem["remedy"]
    there.refused(403, "password_change_required", "GET", "/v2/clusters")
    api.get("/v2/whoami")
    assert change_own(api, PASSWORD, OTHER).status_code == 204
    api.get("/v2/clusters")
    until(lambda: there.call("GET", "/v2/clusters").status_code == 200, "the end of the duty at the other replica")
    assert place.row(user["name"])["must_change_password"] is False


def test_a_reset_ends_all_sessions_and_asks_for_a_change(place: Place, admin: Api, make: Make) -> None:
    user = make()
    api = place.sign_in(user["name"])
    admin.expect(204, "POST", f"/v2/users/{user['id']}/password", json={"password": OTHER}, headers=HEADER)
    assert is_over(api)
    fresh = place.sign_in(user["name"], OTHER)
    fresh.refused(403, "password_change_required", "GET", "/v2/clusters")
    fresh.expect(204, "POST", "/v2/logout")
    admin.refused(404, "not_found", "POST", f"/v2/users/{uuid.uuid4()}/password", json={"password": OTHER}, headers=HEADER)


def test_a_user_without_a_password_comes_in_once_one_is_set(place: Place, admin: Api) -> None:
    wanted = {key: value for key, value in body().items() if key != "password"}
    user = admin.expect(201, "POST", "/v2/users", json=wanted, headers=HEADER)
    assert admin.post_login("password", {"username": user["name"], "password": PASSWORD}).status_code == 401
    fresh = {"password": PASSWORD, "must_change_password": False}
    admin.expect(204, "POST", f"/v2/users/{user['id']}/password", json=fresh, headers=HEADER)
    place.sign_in(user["name"]).get("/v2/clusters")
    admin.expect(204, "DELETE", f"/v2/users/{user['id']}")


# -- traces -------------------------------------------------------------------------------------------------------------------


def test_each_deed_leaves_a_line_and_no_password_anywhere(place: Place, admin: Api, make: Make) -> None:
    secret, other = f"one {uuid.uuid4()}", f"two {uuid.uuid4()}"
    user = make(password=secret)
    api = place.sign_in(user["name"], secret)
    assert change_own(api, "wrong " + other, other).status_code == 401
    assert change_own(api, secret, other).status_code == 204
    patch(admin, user["id"], {"role": "provisioner", "disabled": True})
    rows = place.db.query(
        "SELECT action, result, reason FROM audit WHERE object_id = %s OR action = 'password.prove' AND principal_id = %s "
        "ORDER BY at_ms, seq",
        user["id"], user["principal_id"], database="kaas")
    assert rows == [
        ("user.create", "ok", "role user"),
        ("password.prove", "invalid_credentials", None),
        ("user.password_change", "ok", None),
        ("user.change", "ok", "role: user -> provisioner; disabled: no -> yes"),
    ]
    process = place.first.process
    assert process
    log = process.log_path.read_text()
    assert secret not in log
    assert other not in log
