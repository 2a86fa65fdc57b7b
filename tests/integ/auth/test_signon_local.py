"""Sign-on by local password; what every way of signing on demands of the request; throttling; secrets stay out of log and database."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import time
import uuid
from typing import Any

import pytest
from env import vimclient
from env.full import World

ADMIN = {"username": "admin", "password": "wrong"}
MANY = 12  # more failures than are free of delay


def refused(world: World, status: int, code: str, body: dict[str, Any], way: str = "password") -> dict[str, Any]:
    return world.kaasd.api().refused(status, code, "POST", f"/v2/login/{way}", json=body, headers={"X-KaaS": "1"})


def test_the_first_administrator_signs_in(world: World) -> None:
    who = world.admin.get("/v2/whoami")
    assert (who["name"], who["source"], who["method"], who["role"], who["vcenter_id"]) == ("admin", "local", "password", "admin", None)
    assert [rule["object_type"] for rule in who["rules"]] == ["all"]


def test_the_name_of_a_user_is_compared_without_regard_to_case(world: World) -> None:
    assert world.kaasd.api().login_password("ADMIN", world.kaasd.admin_password).get("/v2/whoami")["name"] == "admin"


def test_a_wrong_password_and_an_unknown_user_answer_the_same(world: World) -> None:
    wrong = refused(world, 401, "invalid_credentials", ADMIN)
    unknown = refused(world, 401, "invalid_credentials", {"username": f"nobody-{uuid.uuid4()}", "password": "wrong"})
    assert {**wrong, "request_id": ""} == {**unknown, "request_id": ""}


def test_a_token_lives_for_a_quarter_of_an_hour(world: World) -> None:
    answer = world.kaasd.api().post_login("password", {"username": "admin", "password": world.kaasd.admin_password}).json()
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 900)


@pytest.mark.parametrize("way", ["vcenter", "password"])
@pytest.mark.parametrize("headers", [{}, {"X-KaaS": "0"}, {"X-KaaS": "1, 1"}])
def test_sign_on_wants_a_header_that_foreign_pages_cannot_send(world: World, way: str, headers: dict[str, str]) -> None:
    problem = world.kaasd.api().refused(400, "invalid_request", "POST", f"/v2/login/{way}", json=ADMIN, headers=headers)
    assert "X-KaaS: 1" in problem["remedy"]


@pytest.mark.parametrize("way", ["vcenter", "password"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None])
def test_sign_on_takes_json_only(world: World, way: str, content_type: str | None) -> None:
    headers = {"X-KaaS": "1", **({"Content-Type": content_type} if content_type else {})}
    problem = world.kaasd.api().refused(415, "unsupported_media_type", "POST", f"/v2/login/{way}", data=b"{}", headers=headers)
    assert "application/json" in problem["detail"] + problem.get("remedy", "")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"username": "admin"},
        {"username": "admin", "password": ""},
        {"username": "", "password": "x"},
        {"username": 1, "password": "x"},
        {"username": "admin", "password": None},
        {"username": "a" * 257, "password": "x"},
        {"username": "a\nb", "password": "x"},
        {"username": "admin", "password": "x" * 1025},
        {"username": "admin", "password": "x", "extra": True},
        {"username": "admin", "password": "x", "source": "ldap"},
        {"username": "admin", "password": "x", "source": "vcenter:"},
    ],
)
def test_a_password_sign_on_of_a_wrong_form_is_unprocessable(world: World, body: dict[str, Any]) -> None:
    refused(world, 422, "unprocessable", body)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"vcenter": "East"},
        {"session_id": "0" * 40},
        {"vcenter": "East", "session_id": 1},
        {"vcenter": 1, "session_id": "0" * 40},
        {"vcenter": "East", "session_id": "0" * 40, "clone_ticket": "cst-0000000"},
        {"vcenter": "East", "clone_ticket": "cst 0000000"},
        {"vcenter": "East", "clone_ticket": "c" * 1025},
        {"vcenter": "East", "session_id": "0" * 40, "user": "x"},
    ],
)
def test_a_session_sign_on_of_a_wrong_form_is_unprocessable(world: World, body: dict[str, Any]) -> None:
    refused(world, 422, "unprocessable", body, "vcenter")


def test_the_body_of_a_sign_on_is_small(world: World) -> None:
    world.kaasd.api().refused(
        413, "too_large", "POST", "/v2/login/password", headers={"X-KaaS": "1"}, json={"username": "admin", "password": "x" * 17000}
    )


def fail_often(world: World, body: dict[str, Any]) -> dict[str, Any]:
    """Wrong passwords until the daemon slows down; hands back headers of that answer."""
    for _ in range(MANY):
        answer = world.kaasd.api().post_login("password", body)
        if answer.status_code == 429:
            assert answer.json()["code"] == "too_many_requests"
            return dict(answer.headers)
        assert answer.status_code == 401
    pytest.fail(f"{MANY} wrong passwords in a row are not slowed down")


def test_too_many_wrong_passwords_are_slowed_down(world: World) -> None:
    headers = fail_often(world, {"username": f"guessed-{uuid.uuid4()}", "password": "wrong"})
    assert 1 <= int(headers["Retry-After"]) <= 60


def test_the_delay_goes_by_name_so_that_others_are_not_locked_out(world: World) -> None:
    fail_often(world, {"username": f"guessed-{uuid.uuid4()}", "password": "wrong"})
    assert world.admin.get("/v2/whoami")["name"] == "admin"


def test_the_right_password_works_again_after_the_delay(world: World) -> None:
    fail_often(world, ADMIN)
    end = time.monotonic() + 60
    while world.kaasd.api().post_login("password", {**ADMIN, "password": world.kaasd.admin_password}).status_code == 429:
        assert time.monotonic() < end, "the delay has no end"
        threading.Event().wait(0.2)
    assert world.admin.get("/v2/whoami")["name"] == "admin"


def test_guesses_at_a_vcenter_account_are_slowed_down_before_the_vcenter(world: World) -> None:
    body = {"username": f"guessed-{uuid.uuid4()}@vsphere.local", "password": "wrong", "source": f"vcenter:{world.vcenter.instance_uuid}"}
    guesses, before = 0, ""
    for guesses in range(MANY):
        body["password"] = f"wrong-{guesses}"
        before = str(world.vcenter.control.last_call())
        if world.kaasd.api().post_login("password", body).status_code == 429:
            break
    assert guesses < MANY - 1
    assert world.vcenter.control.calls(op="Login", after=before) == []


def secrets_of_all_sign_ons(world: World) -> list[str]:
    """Signs on in every way, right and wrong; hands back what was sent and what came."""
    api, vcenter, user = world.kaasd.api(), world.vcenter.instance_uuid, world.vcenter.users["viewer-east"]
    wrong = uuid.uuid4().hex
    with vimclient.session(world.vcenter, user) as instance:
        cookie, ticket = vimclient.cookie_of(instance), vimclient.clone_ticket(instance)
        bodies = [
            ("vcenter", {"vcenter": vcenter, "session_id": cookie}),
            ("vcenter", {"vcenter": vcenter, "clone_ticket": ticket}),
            ("vcenter", {"vcenter": vcenter, "clone_ticket": ticket}),
            ("vcenter", {"vcenter": vcenter, "session_id": wrong}),
            ("password", {"username": user.login, "password": user.password, "source": f"vcenter:{vcenter}"}),
            ("password", {"username": "admin", "password": world.kaasd.admin_password}),
            ("password", {"username": "admin", "password": f"not-{wrong}"}),
        ]
        answers = [api.post_login(way, body) for way, body in bodies]
    assert [answer.status_code for answer in answers] == [200, 200, 401, 401, 200, 200, 401]
    tokens = [answer.json()["access_token"] for answer in answers if answer.status_code == 200]
    for token in tokens:
        api.as_token(token).get("/v2/clusters", q=f"look-{wrong}")  # in the query too it stays out of the log
    return [cookie, ticket, wrong, user.password, world.kaasd.admin_password, f"not-{wrong}", *tokens]


def test_no_proof_and_no_token_is_in_the_log_at_debug_level(world: World) -> None:
    secrets = secrets_of_all_sign_ons(world)
    assert world.kaasd.process
    log = world.kaasd.process.log
    assert "/v2/login/vcenter" in log
    assert [secret for secret in secrets if secret in log] == []


def test_no_proof_and_no_token_is_in_the_database(world: World) -> None:
    secrets = secrets_of_all_sign_ons(world)
    written = world.db.dump()
    assert world.vcenter.instance_uuid.encode() in written
    assert [secret for secret in secrets if secret.encode() in written] == []
