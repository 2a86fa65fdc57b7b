"""What the HTTP interface does with requests that no proper client sends: bodies, methods, media types, sizes, framing."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import socket
from typing import Any

import pytest
from env import contract, raw
from env.api import Api
from env.full import World
from env.wait import until

JSON = {"Content-Type": "application/json"}
GOOD = {"name": "x", "kubernetes_version": "1.31.2", "control_plane": {"desired": 3}, "workers": {"desired": 2}}


@pytest.fixture(scope="module")
def admin(world: World) -> Api:
    return world.admin


def talk(world: World, *lines: str, body: bytes = b"") -> raw.Answer:
    """A request of these lines over a connection of its own."""
    return raw.talk(world.kaasd.port, world.kaasd.tls.ca_file, "\r\n".join([*lines, "", ""]).encode("latin-1") + body)


def is_problem(answer: raw.Answer, status: int) -> bool:
    """The status, and a body that fits the contract."""
    assert (answer.status, answer.headers.get("content-type", "")) == (status, "application/problem+json"), answer.data[:300]
    return contract.schema_errors("Problem", answer.json()) == []


# -- bodies -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "}",
        "{]",
        "nul",
        "NaN",
        "{'a': 1}",
        '{"a": 1,}',
        '{"a" 1}',
        '{"a": 01}',
        '{"a": "\t"}',
        '{"a": "\\x"}',
        '{"a": "\\ud800"}',
        '{"a": 1} {"b": 2}',
        '{"a": 1e999}',
        "// comment\n{}",
        '\ufeff{"name": "x"}',
        '{"name": "a\\u0000b"}',
        '{"a": ' + "9" * 400 + "}",
    ],
)
def test_a_body_that_is_not_json_is_told(admin: Api, text: str) -> None:
    problem = admin.refused(400, "invalid_json", "POST", "/v2/clusters", data=text.encode(), headers=JSON)
    assert "JSON" in problem["detail"]


@pytest.mark.parametrize(
    "data", [b'{"name": "\xff"}', b'{"name": "\xc0\x80"}', b'{"name": "\xed\xa0\x80"}', b"\x00\x01", '{"name": "ü"}'.encode("utf-16")]
)
def test_a_body_that_is_not_utf8_is_told(admin: Api, data: bytes) -> None:
    admin.refused(400, "invalid_json", "POST", "/v2/clusters", data=data, headers=JSON)


@pytest.mark.parametrize("text", ["[]", "1", '"text"', "null", "true", "[{}]"])
def test_a_body_that_is_no_object_is_unprocessable(admin: Api, text: str) -> None:
    assert admin.call("POST", "/v2/clusters", data=text, headers=JSON).json()["code"] in ("unprocessable", "invalid_json")


@pytest.mark.parametrize(
    "text", ['{"name": "a", "name": "b"}', '{"workers": {"desired": 1, "desired": 2}}', '{"labels": {"a": "1", "\\u0061": "2"}}']
)
def test_a_member_that_is_given_twice_is_refused(admin: Api, text: str) -> None:
    admin.refused(400, "invalid_json", "POST", "/v2/clusters", data=text, headers=JSON)


@pytest.mark.parametrize("depth", [33, 1000, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_a_deep_body_is_refused(admin: Api, depth: int, brackets: str) -> None:
    left = brackets[0] if brackets == "[]" else '{"a":'
    text = left * depth + ("" if brackets == "[]" else "1") + brackets[1] * depth
    admin.refused(400, "invalid_json", "POST", "/v2/clusters", data=text, headers=JSON)


def test_a_body_over_a_mebibyte_is_too_large(admin: Api) -> None:
    text = json.dumps({**GOOD, "description": "x" * 1_100_000})
    admin.refused(413, "too_large", "POST", "/v2/clusters", data=text, headers=JSON)


def test_a_chunked_body_over_a_mebibyte_is_too_large(admin: Api) -> None:
    admin.refused(413, "too_large", "POST", "/v2/clusters", data=(b"x" * 65536 for _ in range(20)), headers=JSON)


def test_a_body_of_a_mebibyte_is_read(admin: Api) -> None:
    text = json.dumps({**GOOD, "nodes": "x"}).ljust(1024 * 1024)
    admin.refused(422, "unprocessable", "POST", "/v2/clusters", data=text, headers=JSON)


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/jsonx", "application/json+x", "json", "*/*", ""])
def test_another_media_type_is_refused(admin: Api, content_type: str) -> None:
    problem = admin.refused(415, "unsupported_media_type", "POST", "/v2/clusters", data=b"{}", headers={"Content-Type": content_type})
    assert "application/json" in problem["detail"] + problem.get("remedy", "")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;charset=UTF-8"])
def test_parameters_and_case_of_the_media_type_do_not_matter(admin: Api, content_type: str) -> None:
    admin.refused(422, "unprocessable", "POST", "/v2/clusters", data=b"{}", headers={"Content-Type": content_type})


def test_a_get_with_a_body_is_refused(admin: Api) -> None:
    admin.refused(400, "invalid_request", "GET", "/v2/clusters", data=b"x")


# -- paths and methods --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "/v2",
        "/v2/",
        "/v1/clusters",
        "/v2/cluster",
        "/v2/clusters/",
        "/v2//clusters",
        "/V2/clusters",
        "/admin",
        "/.env",
        "/v2/clusters/x/y",
        "/healthz/",
        "/metrics/x",
        "/ui/nothing.js",
        "/.well-known/",
        "/v2/clusters;x=1",
    ],
)
def test_an_unknown_path_is_not_found(admin: Api, path: str) -> None:
    admin.refused(404, "not_found", "GET", path)


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../../etc/passwd",
        "/ui/..%2f..%2fetc%2fpasswd",
        "/ui/%2e%2e/%2e%2e/etc/passwd",
        "/ui/....//etc/passwd",
        "/ui/.",
        "/ui/..",
        "/ui/index.html%00.js",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/ui//etc/passwd",
        "/ui/..\\..\\etc\\passwd",
    ],
)
def test_no_path_leads_out_of_the_page(world: World, path: str) -> None:
    answer = talk(world, f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close")
    assert answer.status in (400, 404)
    assert is_problem(answer, answer.status)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/clusters?q=%",
        "/v2/clusters?q=%2",
        "/v2/clusters?q=%zz",
        "/v2/clusters/%ff",
        "/v2/clusters?q=%ff",
        "/v2/clusters/%00",
        "/v2/clusters?q=a%00b",
        "/v2/clusters?%ff=1",
    ],
)
def test_a_malformed_address_is_refused(world: World, admin: Api, path: str) -> None:
    answer = talk(world, f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {admin.token}", "Connection: close")
    assert is_problem(answer, 400)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v2/clusters", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("DELETE", "/v2/clusters", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("POST", "/v2/whoami", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/v2/logout", {"POST", "OPTIONS"}),
        ("GET", "/v2/login/password", {"POST", "OPTIONS"}),
        ("PUT", "/v2/clusters/x", {"GET", "HEAD", "PATCH", "DELETE", "OPTIONS"}),
        ("TRACE", "/v2/clusters", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("PROPFIND", "/healthz", {"GET", "HEAD", "OPTIONS"}),
        ("get", "/healthz", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_a_method_that_is_not_there_is_told_with_those_that_are(world: World, method: str, path: str, allow: set[str]) -> None:
    answer = talk(world, f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close")
    assert is_problem(answer, 405)
    assert set(answer.headers["allow"].split(", ")) | {"OPTIONS"} == allow


def test_options_tells_the_methods(world: World) -> None:
    answer = talk(
        world,
        "OPTIONS /v2/clusters HTTP/1.1",
        "Host: localhost",
        "Origin: https://evil.example",
        "Access-Control-Request-Method: POST",
        "Connection: close",
    )
    assert answer.status == 204
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize("path", ["/healthz", "/v2/clusters", "/v2/login/password", "/.well-known/jwks.json"])
def test_no_answer_lets_other_origins_in(world: World, path: str) -> None:
    for method in ("GET", "OPTIONS", "POST"):
        answer = talk(
            world, f"{method} {path} HTTP/1.1", "Host: localhost", "Origin: https://evil.example", "Content-Length: 0", "Connection: close"
        )
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.yaml",
        "/ui/",
        "/v2/version",
        "/.well-known/jwks.json",
        "/v2/clusters",
        "/v2/whoami",
        "/v2/health",
        "/v2/vcenters",
        "/v2/hx-clusters",
    ],
)
def test_head_answers_as_get_without_the_body(admin: Api, path: str) -> None:
    got, head = admin.call("GET", path), admin.call("HEAD", path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert path == "/metrics" or head.headers["Content-Length"] == got.headers["Content-Length"]


# -- every answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/v2/clusters", "/nothing", "/ui/", "/v2/whoami?x=1"])
def test_every_answer_carries_an_id_and_says_how_to_treat_it(world: World, path: str) -> None:
    headers = world.kaasd.api().call("GET", path).headers
    assert headers["KaaS-Request-Id"]
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
    # elsewhere the rule would fall upon a vCenter whose proxy the answer goes through
    assert ("Strict-Transport-Security" in headers) == (path == "/ui/")
    assert "Cache-Control" in headers


@pytest.mark.parametrize(("path", "opener"), [
    ("/ui/", "same-origin"), ("/ui/panel", None), ("/plugin/vsphere.html", None)])
def test_a_page_can_do_no_more_than_it_needs(world: World, path: str, opener: str | None) -> None:
    """What stands in frames has an opener's policy of the page around it."""
    answer = world.kaasd.api().call("GET", path)
    assert (answer.status_code, answer.headers.get("Cross-Origin-Opener-Policy")) == (200, opener)
    for power in ("camera", "geolocation", "microphone", "payment", "usb"):
        assert f"{power}=()" in answer.headers["Permissions-Policy"]


def test_the_id_of_a_problem_is_that_of_its_header_and_in_the_log(world: World) -> None:
    answer = world.kaasd.api().call("GET", "/v2/whoami")
    assert answer.json()["request_id"] == answer.headers["KaaS-Request-Id"]
    process = world.kaasd.process
    assert process
    # the line is written when the answer has gone out
    process.wait_until(lambda: answer.headers["KaaS-Request-Id"] in process.log, "the request in the log")


def test_no_client_chooses_the_request_id(world: World) -> None:
    assert world.kaasd.api().call("GET", "/healthz", headers={"X-Request-ID": "chosen"}).headers["KaaS-Request-Id"] != "chosen"


def test_answers_for_one_person_are_not_stored(admin: Api) -> None:
    assert "no-store" in admin.call("GET", "/v2/clusters").headers["Cache-Control"]


def test_a_query_never_reaches_the_log(world: World) -> None:
    secret = "put-here-by-mistake-4711"
    world.kaasd.api().refused(401, "unauthenticated", "GET", "/v2/clusters", params={"access_token": secret})
    talk(world, f"GET /v2/clusters?access_token={secret} HTTP/1.1", "Host: localhost", "Connection: close", "Bad Header: x")
    assert world.kaasd.process
    assert secret not in world.kaasd.process.log


def test_a_line_break_does_not_forge_a_line_of_the_log(world: World) -> None:
    world.kaasd.api().call("GET", "/v2/x%0atime=0%20level=error%20event=forged")
    assert world.kaasd.process
    assert not [line for line in world.kaasd.process.log.splitlines() if line.startswith("time=0 ")]


@pytest.mark.parametrize("address", ["http://192.0.2.1:6443", "https://192.0.2.1/\x1e", "https://me:secret@192.0.2.1:6443", "192.0.2.1"])
def test_what_is_no_address_of_an_api_server_is_a_mistake_of_whoever_gives_it(admin: Api, address: str) -> None:
    problem = admin.refused(422, "unprocessable", "POST", "/v2/clusters:connect", json={"name": "x", "address": address, "token": "x"})
    assert "the address of the API server" in problem["detail"] and "https://HOST:6443" in problem["remedy"]


# -- sizes and framing --------------------------------------------------------------------------------------------------


def test_a_long_address_is_refused(world: World) -> None:
    world.kaasd.api().refused(414, "uri_too_long", "GET", "/v2/clusters", params={"q": "x" * 5000})


@pytest.mark.parametrize("size", [19_000, 30_000, 64_000])
def test_large_headers_are_refused_with_what_helps(world: World, size: int) -> None:
    """Whoever has so many cookies, or is in so many groups, does not know it."""
    problem = world.kaasd.api().refused(431, "headers_too_large", "GET", "/healthz", headers={"Cookie": "x" * size})
    assert "cookies" in problem["remedy"] and "password" in problem["remedy"]
    assert problem["request_id"]


def test_the_cookies_of_a_whole_domain_do_no_harm(world: World) -> None:
    api = world.kaasd.api()
    api.expect(200, "GET", "/healthz", headers={"Cookie": "; ".join(f"_analytics_{n}={'x' * 200}" for n in range(36))})
    for size in range(8_000, 11_000, 60):  # where the library's copy, or the answer beside it, does not fit any more
        answer = api.call("GET", "/ui/", headers={"Cookie": "x" * size})
        assert answer.status_code in (200, 404, 431), size


def test_many_headers_are_refused(world: World) -> None:
    world.kaasd.api().refused(431, "headers_too_large", "GET", "/healthz", headers={f"X-{i}": "x" for i in range(150)})


def test_headers_beyond_all_measure_are_refused(world: World) -> None:
    """Answered while the client still sends; the next one is served."""
    assert talk(world, "GET /healthz HTTP/1.1", "Host: localhost", "X-Filler: " + "x" * 500_000).status == 431
    assert talk(world, "GET /healthz HTTP/1.1", "Host: localhost", "Connection: close").status == 200


def statuses(answer: raw.Answer) -> set[int]:
    """Of all answers on the connection. (The library under us sends the head of some refusals twice.)"""
    return {int(number) for number in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer.data)}


SMUGGLED = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Content-Length: 4", "Content-Length: 5"],
        ["Content-Length: 4, 5"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding : chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Content-Length: +4"],
        ["Content-Length: -1"],
        ["Content-Length: 4x"],
        ["Content-Length: 0x4"],
        ["Content-Length: 99999999999999999999"],
        ["Content-Length:"],
        [" Content-Length: 4"],
        ["X: y", " folded: z"],
        ["Bad Name: x"],
        ["NoColon"],
    ],
    ids=lambda headers: " & ".join(headers),
)
def test_a_request_whose_end_is_doubtful_ends_the_connection(world: World, headers: list[str]) -> None:
    answer = talk(
        world,
        "POST /v2/login/password HTTP/1.1",
        "Host: localhost",
        "X-KaaS: 1",
        "Content-Type: application/json",
        *headers,
        body=b"0\r\n\r\n" + SMUGGLED.encode(),
    )
    assert statuses(answer) <= {400, 413, 501}


@pytest.mark.parametrize("hosts", [[], ["Host: a", "Host: b"], ["Host: a b"], ["Host: a/b"], ["Host: user@a"]], ids=str)
def test_a_request_without_a_sound_host_is_refused(world: World, hosts: list[str]) -> None:
    answer = talk(world, "GET /healthz HTTP/1.1", *hosts, "Connection: close")
    assert answer.status == 400


@pytest.mark.parametrize(
    "line", ["GET /healthz HTTP/9.9", "GET /healthz", "GET /health z HTTP/1.1", "\x16\x03\x01", "GET healthz HTTP/1.1"]
)
def test_a_strange_request_line_is_refused(world: World, line: str) -> None:
    answer = talk(world, line, "Host: localhost", "Connection: close")
    assert answer.status in (400, 404, 505) or not answer.data


def test_requests_in_a_row_are_answered_in_their_order(world: World) -> None:
    request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw.talk(world.kaasd.port, world.kaasd.tls.ca_file, request.encode())
    assert re.findall(rb"HTTP/1\.1 (\d{3}) ", answer.data) == [b"200", b"404"]


def test_plain_http_on_the_tls_port_is_no_crash(world: World) -> None:
    with socket.create_connection(("127.0.0.1", world.kaasd.port), timeout=30) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = plain.recv(1000)
    assert b"200" not in answer[:20]
    until(world.kaasd.ready, "readiness")


# -- not to be accepted ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", "application/*;q=0.1", ""])
def test_the_interface_answers_json_whatever_is_accepted(admin: Api, accept: str) -> None:
    answer: Any = admin.call("GET", "/v2/version", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
