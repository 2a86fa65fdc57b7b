"""Requests that two servers may read differently, and paths and header fields that want to be taken for others: byte by byte, at the
daemon itself and through haproxy as docs/admin/replicas.md sets it up. Whatever comes, each request has one answer, what cannot be told
apart ends the connection, and nothing behind it is taken for a request."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from env import raw
from env.full import World
from env.haproxy import Haproxy

pytestmark = pytest.mark.slow
END = b"\r\n\r\n"
HOST = "Host: localhost"
# Answered only where the request before it has a clear end.
AFTER = b"GET /v2/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
JSON = ("X-KaaS: 1", "Content-Type: application/json")
LOGIN = "POST /v2/login/password HTTP/1.1"
BODY = b'{"username": "x", "password": "y"}'


@dataclass
class Door:
    """Where to send it, and whether haproxy stands in between."""

    port: int
    ca_file: Path
    is_proxy: bool
    token: str

    def send(self, data: bytes) -> list[raw.Answer]:
        return raw.split(raw.talk(self.port, self.ca_file, data).data)


@pytest.fixture(scope="module")
def behind(world: World) -> Iterator[Door]:
    kaasd = world.kaasd
    between = Haproxy(world.scratch, "ending TLS", [kaasd, kaasd], is_patient=True)  # the example has two servers
    yield Door(between.port, kaasd.tls.ca_file, True, world.admin.token or "")
    between.stop()


ALL_BEHIND = pytest.mark.full("what gets through haproxy meets the same kaasd; a landing has one shape of each kind (USUAL)")


@pytest.fixture(scope="module", params=["alone", pytest.param("behind haproxy", marks=ALL_BEHIND)])
def door(request: pytest.FixtureRequest, world: World) -> Door:
    kaasd = world.kaasd
    if request.param == "alone":
        return Door(kaasd.port, kaasd.tls.ca_file, False, world.admin.token or "")
    found: Door = request.getfixturevalue("behind")
    return found


def message(line: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join([line, *headers, "", ""]).encode("latin-1") + body


def login(*headers: str, body: bytes = b"") -> bytes:
    return message(LOGIN, HOST, *JSON, *headers, body=body)


def get(target: str, *headers: str) -> bytes:
    return message(f"GET {target} HTTP/1.1", HOST, *headers)


def statuses(answers: list[raw.Answer]) -> list[int]:
    return [answer.status for answer in answers]


def still_well(door: Door) -> None:
    """The next one is served, and as who it is."""
    named = door.send(get("/v2/whoami", f"Authorization: Bearer {door.token}", "Connection: close"))
    assert [(one.status, one.json()["name"]) for one in named] == [(200, "admin")]
    nobody = door.send(get("/v2/whoami", "Connection: close"))
    assert statuses(nobody) == [401]


# What the library would answer by itself.
UNREADABLE = ["a list of CL that differ", "CL +5", "CL -5", "CL hexadecimal", "CL with a tail", "CL with a blank within", "CL empty",
              "CL over 2^63", "CL over 2^64"]

SMUGGLED = b"GET /v2/clusters HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: 1\r\n\r\n"
CHUNKED = b"0\r\n\r\n"

# The end of these is doubtful: one refusal at most, and nothing behind it.
DOUBTFUL = {
    "CL and TE": login("Content-Length: 5", "Transfer-Encoding: chunked", body=CHUNKED),
    "TE and CL": login("Transfer-Encoding: chunked", "Content-Length: 5", body=CHUNKED),
    "CL 0 and TE": login("Content-Length: 0", "Transfer-Encoding: chunked", body=CHUNKED),
    "CL too short, TE": login("Content-Length: 4", "Transfer-Encoding: chunked", body=b"47\r\n" + SMUGGLED + CHUNKED),
    "two CL that differ": login("Content-Length: 0", f"Content-Length: {len(SMUGGLED)}"),
    "a list of CL that differ": login("Content-Length: 0, 5"),
    "CL +5": login("Content-Length: +5", body=b"12345"),
    "CL -5": login("Content-Length: -5"),
    "CL hexadecimal": login("Content-Length: 0x5", body=b"12345"),
    "CL with a tail": login("Content-Length: 5 ;x", body=b"12345"),
    "CL with a blank within": login("Content-Length: 3 4", body=BODY),
    "CL empty": login("Content-Length:", body=b""),
    "CL over 2^63": login("Content-Length: 18446744073709551621", body=b"12345"),
    "CL over 2^64": login("Content-Length: 36893488147419103237", body=b"12345"),
    "blank before the colon of CL": login("Content-Length : 5", body=b"12345"),
    "blank before the colon of TE": login("Transfer-Encoding : chunked", "Content-Length: 5", body=CHUNKED),
    "tab before the colon of TE": login("Transfer-Encoding\t: chunked", "Content-Length: 5", body=CHUNKED),
    "TE twice": login("Transfer-Encoding: chunked", "Transfer-Encoding: identity", body=CHUNKED),
    "TE chunked twice": login("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body=CHUNKED),
    "TE chunked, chunked": login("Transfer-Encoding: chunked, chunked", body=CHUNKED),
    "TE gzip, chunked": login("Transfer-Encoding: gzip, chunked", body=CHUNKED),
    "TE identity": login("Transfer-Encoding: identity", body=CHUNKED),
    "TE xchunked": login("Transfer-Encoding: xchunked", body=CHUNKED),
    "TE quoted": login('Transfer-Encoding: "chunked"', body=CHUNKED),
    "TE with a parameter": login("Transfer-Encoding: chunked;q=1", body=CHUNKED),
    "TE with vertical tab": login("Transfer-Encoding: \x0bchunked", "Content-Length: 5", body=CHUNKED),
    "TE with NUL": login("Transfer-Encoding: chunked\0x", "Content-Length: 5", body=CHUNKED),
    "TE in HTTP/1.0": message("POST /v2/login/password HTTP/1.0", HOST, *JSON, "Transfer-Encoding: chunked", body=CHUNKED),
    "TE folded": login("Transfer-Encoding:\r\n chunked", "Content-Length: 5", body=CHUNKED),
    "a folded field": login("X-Note: a\r\n Content-Length: 5", body=b"12345"),
    "a fold in the first field": message(LOGIN, " X: y", HOST, "Content-Length: 0"),
    "a bare CR within a field": login("X-Note: a\rContent-Length: 5", body=b"12345"),
    "a NUL within a name": login("Content\0-Length: 5", body=b"12345"),
    "a NUL behind a name": login("Content-Length\0: 5", body=b"12345"),
    "a NUL behind CL": login("Content-Length: 5\0", body=b"12345"),
    "a NUL before a value": login("Content-Length: \x005", body=b"12345"),
    "a NUL within CL": login("Content-Length: 5\x0000", body=b"12345"),
    "a NUL and a blank behind CL": login("Content-Length: 5\0 ", body=b"12345"),
    "a NUL behind TE": login("Transfer-Encoding: chunked\0", body=CHUNKED),
    "a NUL behind the last field": get("/v2/version", "X-Note: a\0"),
    "a NUL within the target": get("/v2/version\0/x"),
    "a NUL behind the target": get("/v2/version\0"),
    "a NUL within the query": get("/v2/version?\0x=y"),
    "a NUL behind the method": message("GET\0 /v2/version HTTP/1.1", HOST),
    "a line that begins with NUL": login("\0X-Note: a", "Content-Length: 5", body=b"12345"),
    "a line of one NUL": login("\0", "Content-Length: 5", body=b"12345"),
    "a line that begins with a colon": login(": 5", "Content-Length: 5", body=b"12345"),
    "a last line that begins with NUL": get("/v2/version", "\0nothing"),
    "two blanks before the target": message("GET  /v2/version HTTP/1.1", HOST),
    "a field without a colon": login("Content-Length 5", body=b"12345"),
    "chunk of no size": login("Transfer-Encoding: chunked", body=b"\r\nx\r\n0\r\n\r\n"),
    "chunk size with 0x": login("Transfer-Encoding: chunked", body=b"0x22\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "chunk size with plus": login("Transfer-Encoding: chunked", body=b"+22\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "chunk size negative": login("Transfer-Encoding: chunked", body=b"-1\r\nx\r\n0\r\n\r\n"),
    "chunk size over 2^64": login("Transfer-Encoding: chunked", body=b"10000000000000022\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "chunk without its end": login("Transfer-Encoding: chunked", body=b"22\r\n" + BODY + b"XX0\r\n\r\n"),
    "chunk size no number": login("Transfer-Encoding: chunked", body=b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"),
    "two Hosts": message("GET /v2/version HTTP/1.1", HOST, "Host: example.com"),
    "no Host": message("GET /v2/version HTTP/1.1", "Accept: */*"),
    "HTTP/1.1 twice": message("GET /v2/version HTTP/1.1 HTTP/1.1", HOST),
    "a blank in the target": message("GET /v2/ver sion HTTP/1.1", HOST),
    "HTTP/9.9": message("GET /v2/version HTTP/9.9", HOST),
    "the HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a bare line feed before the end": b"GET /v2/version HTTP/1.1\nHost: localhost\n\rX: y\r\n\r\n",
}


# haproxy gives these a clear meaning, and hands on that: it unfolds, puts in its own version, needs no Host, knows HTTP/2, writes
# one blank, and takes a NUL in a value for a letter as any other: we refuse that then, and its next request comes by another connection.
MENDED = {
    "the HTTP/2 preface", "a folded field", "a fold in the first field", "TE folded", "no Host", "HTTP/9.9",
    "a bare line feed before the end", "two blanks before the target", "a NUL behind the last field",
}


def is_refusal(answer: raw.Answer) -> bool:
    """Or the rest of one: the library sends the head of some refusals twice, see docs/http.md."""
    return 400 <= answer.status < 500 or answer.status in (501, 505) or (answer.status == 0 and b"HTTP/1." not in answer.data)


def ends_the_connection(door: Door, name: str) -> None:
    answers = door.send(DOUBTFUL[name] + SMUGGLED + AFTER)
    if door.is_proxy and name in MENDED:
        assert all(one.status < 500 for one in answers)
        assert not any(b"items" in one.data for one in answers)
    else:
        assert sum(one.status > 0 for one in answers) <= 1, [one.data[:400] for one in answers]
        assert all(is_refusal(one) for one in answers), [one.data[:400] for one in answers]
    still_well(door)


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_has_no_clear_end_ends_the_connection(door: Door, name: str) -> None:
    ends_the_connection(door, name)


# One of each kind: two lengths, a length that is none, TE hidden or not alone, folds, NUL, chunks, versions, and what haproxy mends.
USUAL = [
    "CL and TE", "CL too short, TE", "two CL that differ", "CL +5", "CL over 2^64", "blank before the colon of TE", "TE chunked, chunked",
    "TE identity", "TE with vertical tab", "TE in HTTP/1.0", "TE folded", "a bare CR within a field", "a NUL behind CL", "a NUL behind TE",
    "a NUL behind the last field", "a line that begins with a colon", "chunk size with 0x", "chunk without its end", "two Hosts",
    "a bare line feed before the end",
]


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_ones_behind_haproxy(behind: Door, name: str) -> None:
    ends_the_connection(behind, name)


# These have one clear meaning: an answer of their own, then the next request has its own.
CLEAR = {
    "a body": (login(f"Content-Length: {len(BODY)}", body=BODY), {401, 429}),
    "a chunked body": (login("Transfer-Encoding: chunked", body=b"22\r\n" + BODY + b"\r\n0\r\n\r\n"), {401, 429}),
    "chunked in capitals": (login("Transfer-Encoding: CHUNKED", body=b"22\r\n" + BODY + b"\r\n0\r\n\r\n"), {401, 429}),
    "a chunk extension": (login("Transfer-Encoding: chunked", body=b'22;name=value;q="a"\r\n' + BODY + b"\r\n0\r\n\r\n"), {401, 429}),
    "trailers": (login("Transfer-Encoding: chunked", body=b"22\r\n" + BODY + b"\r\n0\r\nAuthorization: Bearer x\r\n\r\n"), {401, 429}),
    "two CL of one value": (login("Content-Length: 0", "Content-Length: 0"), {400}),
    "an unknown field": (get("/v2/version", "X-Any: thing"), {200}),
    "blanks around a value": (get("/v2/version", "X-Any: \t thing \t ", "X-None: ", "X-Nothing:"), {200}),
    "a field with underscores": (get("/v2/version", "Content_Length: 5", "Transfer_Encoding: chunked"), {200, 400}),
    "an empty line before": (b"\r\n" + get("/v2/version"), {200}),
    "Host with a port": (message("GET /v2/version HTTP/1.1", "Host: localhost:8443"), {200}),
    "Range": (get("/openapi.yaml", "Range: bytes=0-9"), {200}),
    "another method named": (message("POST /v2/version HTTP/1.1", HOST, "Content-Length: 0", "X-HTTP-Method-Override: GET"), {405}),
    "DELETE named": (get("/v2/version", "X-HTTP-Method-Override: DELETE", "X-Method-Override: DELETE"), {200}),
    "another URL named": (get("/v2/version", "X-Original-URL: /v2/clusters", "X-Rewrite-URL: /v2/clusters"), {200}),
    "an absolute target": (message("GET http://localhost/v2/version HTTP/1.1", HOST), {200}),
    "an absolute target of another host": (message("GET https://example.com/v2/version HTTP/1.1", HOST), {200, 400}),
    "an Upgrade to HTTP/2": (get("/v2/version", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMA"), {200}),
    "an Upgrade to WebSocket": (get("/v2/version", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"), {200}),
    "TRACE": (message("TRACE /v2/version HTTP/1.1", HOST), {405}),
    "an unknown method": (message("FROB /v2/version HTTP/1.1", HOST), {405}),
    "a method in small letters": (message("get /v2/version HTTP/1.1", HOST), {405}),
    "OPTIONS of all": (message("OPTIONS * HTTP/1.1", HOST), {204}),
    "a query of many signs": (get("/v2/version?%3F=%26&a=b"), {200, 400}),
    "a fragment": (get("/v2/version#x"), {200, 400}),
}


@pytest.mark.parametrize("name", CLEAR)
def test_what_is_clear_has_one_answer_and_the_next_one_its_own(door: Door, name: str) -> None:
    request, expected = CLEAR[name]
    answers = door.send(request + AFTER)
    if door.is_proxy:
        expected = expected | {400}  # haproxy may be stricter than we are, and then closes
    assert answers, "no answer"
    assert answers[0].status in expected, answers[0].data[:600]
    assert statuses(answers[1:]) in ([200], []), [one.data[:200] for one in answers]
    assert len(answers) == 2 or answers[0].status == 400
    if len(answers) == 2:
        assert answers[1].json()["name"] == "Harmony KaaS"
    still_well(door)


def test_a_head_is_answered_without_a_body(door: Door) -> None:
    data = raw.talk(door.port, door.ca_file, message("HEAD /v2/version HTTP/1.1", HOST) + AFTER).data
    head, _, rest = data.partition(END)
    assert head.startswith(b"HTTP/1.1 200")
    assert rest.startswith(b"HTTP/1.1 200")


# None of these is the list of clusters, nor a file, whatever it looks like after some decoding or tidying up.
TRICKS = [
    "//v2/clusters", "/v2//clusters", "/v2/clusters/", "/v2/./clusters", "/v2/x/../clusters", "/../v2/clusters", "/v2/%2e%2e/v2/clusters",
    "/v2/%2e/clusters", "/v2%2fclusters", "/v2%2Fclusters", "/%76%32%2fclusters", "/v2\\clusters", "/v2/clusters;x=y", "/v2;x/clusters",
    "/v2/clusters%00", "/v2/clusters%20", "/v2/clusters%0d%0aX:y", "/v2/clusters%", "/v2/clusters%zz", "/V2/clusters", "/v2/Clusters",
    "/ui/..%2f..%2f..%2fetc%2fpasswd", "/ui/../../../../etc/passwd", "/ui/%2e%2e/%2e%2e/etc/passwd", "/ui/....//....//etc/passwd",
    "/ui/%252e%252e%252fetc%252fpasswd", "/plugin/..%5c..%5cetc%5cpasswd", "/ui/%c0%ae%c0%ae/etc/passwd", "/v2/clusters%ff",
    "/v2/clusters/%2e%2e", "/v2/clusters/..;/clusters", "/.well-known/../v2/clusters", "*", "v2/clusters", "",
    "http://", "http:///v2/clusters", "file:///etc/passwd", "https://user@localhost//v2/clusters", "localhost:443",
]


@pytest.mark.parametrize("target", TRICKS)
def test_no_other_spelling_leads_to_the_same_place(door: Door, target: str) -> None:
    answers = door.send(get(target, f"Authorization: Bearer {door.token}", "Connection: close"))
    assert len(answers) <= 1
    assert all(status in (400, 401, 404, 405, 505) for status in statuses(answers)), answers[0].data[:600]
    assert not any(b"prod-1" in one.data or b"root:" in one.data for one in answers)


@pytest.mark.parametrize("target", ["/v2/%63lusters", "/%76%32/clusters?", "/v2/clusters?limit=1&", "/v2/clusters?&limit=1"])
def test_an_encoded_letter_is_that_letter(door: Door, target: str) -> None:
    answers = door.send(get(target, f"Authorization: Bearer {door.token}", "Connection: close"))
    assert statuses(answers) == [200]
    assert b"items" in answers[0].data
    assert statuses(door.send(get(target, "Connection: close"))) == [401]


@pytest.mark.parametrize("host", ["user@localhost", "local host", "local/host", "localhost\\x", "", "localhost#", "localhost?", "<x>"])
def test_a_host_that_is_none_is_refused(door: Door, host: str) -> None:
    answers = door.send(message("GET /v2/version HTTP/1.1", f"Host: {host}", "Connection: close"))
    assert statuses(answers) in ([400], []) or host == ""
    still_well(door)


@pytest.mark.parametrize("line", ["GET /v2/version", "GET /v2/version HTTP/0.9", "GET /v2/version HTTP/2.0", "GET", "GET  HTTP/1.1"])
def test_another_protocol_is_not_spoken(door: Door, line: str) -> None:
    answers = door.send(message(line, HOST) + AFTER)
    assert len(answers) <= 1 or door.is_proxy, [one.data[:200] for one in answers]
    mended = door.is_proxy and "HTTP/2" in line  # haproxy says HTTP/1.1 to us
    assert all(status in (400, 404, 505) for status in statuses(answers)) or mended and {*statuses(answers)} == {200}, answers[0].data[:300]
    still_well(door)


@pytest.mark.parametrize("target", ["localhost:8443", "127.0.0.1:22", "example.com:443"])
def test_it_is_no_proxy(door: Door, target: str) -> None:
    answers = door.send(message(f"CONNECT {target} HTTP/1.1", f"Host: {target}") + AFTER)
    assert len(answers) <= 1 or statuses(answers)[1:] == [200]
    assert all(status in (400, 404, 405) for status in statuses(answers)[:1])


def test_a_body_may_be_announced(door: Door) -> None:
    answers = door.send(login(f"Content-Length: {len(BODY)}", "Expect: 100-continue", "Connection: close", body=BODY))
    assert [status for status in statuses(answers) if status != 100] in ([401], [429])


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_length_that_is_none_is_answered_once(world: World, name: str) -> None:
    """The library alone sends its head twice, with a length that counts one of them."""
    said = raw.talk(world.kaasd.port, world.kaasd.tls.ca_file, DOUBTFUL[name])
    assert (said.count, said.status in (400, 413), said.headers["connection"]) == (1, True, "close"), said.data
    assert said.headers["content-type"] == "application/problem+json" and len(said.rest) == len(said.body)
    assert said.json()["status"] == said.status


def test_nothing_else_may_be_expected(door: Door) -> None:
    answers = door.send(login(f"Content-Length: {len(BODY)}", "Expect: 200-maybe", body=BODY) + AFTER)
    assert statuses(answers)[0] == 417
    assert len(answers) == 1 or door.is_proxy  # haproxy opens another connection for the next one


@pytest.mark.parametrize(("name", "headers", "expected"), [
    ("a header of 64 KiB", [f"X-Filler: {'x' * 65536}"], {400, 431}),
    ("a header of 19 KiB", [f"X-Filler: {'x' * 19000}"], {400, 431}),
    ("a header of 9 KiB", [f"X-Filler: {'x' * 9000}"], {200}),
    ("200 fields", [f"X-{i}: y" for i in range(200)], {400, 431}),
    ("a token of 7 KiB", [f"Authorization: Bearer {'x' * 7000}"], {401}),
    ("a name of 2 KiB", [f"{'X' * 2000}: y"], {200, 400}),
])
def test_header_fields_have_a_measure(door: Door, name: str, headers: list[str], expected: set[int]) -> None:
    target = "/v2/whoami" if "token" in name else "/v2/version"
    answers = door.send(get(target, *headers, "Connection: close"))
    assert {*statuses(answers)} <= expected, answers[0].data[:300]
    still_well(door)


@pytest.mark.parametrize("length", [4090, 5000, 20_000, 70_000])
def test_a_target_has_a_measure(door: Door, length: int) -> None:
    answers = door.send(get("/v2/clusters?q=" + "x" * length, "Connection: close"))
    assert {*statuses(answers)} <= {400, 414, 431}, answers[0].data[:300]
    still_well(door)


def test_many_requests_in_a_row_have_their_answers_in_order(door: Door) -> None:
    mine = f"Authorization: Bearer {door.token}"
    answers = door.send((get("/v2/whoami", mine) + get("/v2/whoami") + get("/nothing")) * 20 + AFTER)
    assert statuses(answers) == [200, 401, 404] * 20 + [200]


def test_a_stranger_does_not_say_from_where_it_comes(world: World, door: Door) -> None:
    mark = "203.0.113.77"
    door.send(get("/v2/whoami", f"X-Forwarded-For: {mark}", f"Forwarded: for={mark}", f"X-Real-IP: {mark}",
                  "X-Request-ID: forged-request-id", "Connection: close"))
    assert world.kaasd.process
    assert mark not in world.kaasd.process.log
    assert "forged-request-id" not in world.kaasd.process.log
