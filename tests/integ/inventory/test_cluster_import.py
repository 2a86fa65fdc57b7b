"""Bulk import: what becomes of each line, all or nothing, changing what is there, limits, the audit log."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import socket
import ssl
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from env.api import Api
from env.full import World
from env.wait import until

pytestmark = pytest.mark.slow
PATH = "/v2/clusters:import"
LINES_MAX = 5000
BODY_MAX = 8 * 1024 * 1024
Record = dict[str, Any]


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    with World("ci") as whole:
        whole.join()
        yield whole


@pytest.fixture(scope="module")
def admin(own: World) -> Api:
    return own.admin


def record(world: World, name: str | None = None, **more: Any) -> Record:
    return {
        "name": name or f"i-{uuid.uuid4().hex[:12]}",
        "kubernetes_version": "1.31.2",
        "control_plane": {"desired": 3},
        "workers": {"desired": 2},
        "vsphere_clusters": [{"vcenter": world.vcenter.instance_uuid, "path": "DC0/HX-East"}],
        **more,
    }


def send(api: Api, body: str | bytes, **query: str) -> Any:
    return api.expect(200, "POST", PATH, params=query, data=body, headers={"Content-Type": "application/x-ndjson"})


def import_all(api: Api, *lines: Record | str, **query: str) -> Any:
    return send(api, "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n", **query)


def results(answer: Any) -> list[str]:
    return [item["result"] for item in answer["items"]]


def audited(world: World, known: list[str]) -> list[tuple[str, str, str]]:
    rows = world.db.query("SELECT object_id, action, object_name, result FROM kaas.audit WHERE object_kind = 'cluster'")
    return sorted((action, name, result) for known_id, action, name, result in rows if known_id in known)


def test_all_lines_are_added(own: World, admin: Api) -> None:
    lines = [record(own, labels={"n": str(n)}, nodes=[{"name": "n1", "role": "worker"}]) for n in range(250)]
    answer = import_all(admin, *lines)
    assert results(answer) == ["created"] * 250
    assert answer["counts"] == {"created": 250, "changed": 0, "unchanged": 0, "exists": 0, "failed": 0, "skipped": 0}
    assert [item["line"] for item in answer["items"]] == list(range(1, 251))
    for item, line in ((answer["items"][at], lines[at]) for at in (0, 99, 100, 249)):
        shown = admin.get(f"/v2/clusters/{item['id']}")
        assert (item["name"], shown["name"], shown["labels"]) == (line["name"], line["name"], line["labels"])
    assert {line["name"] for line in lines} <= set(admin.names(limit=500))
    known = [item["id"] for item in answer["items"]]
    assert audited(own, known) == sorted(("cluster.create", line["name"], "ok") for line in lines)


def test_each_line_stands_for_itself(own: World, admin: Api) -> None:
    good, late, taken = record(own), record(own), record(own)
    import_all(admin, taken)
    answer = import_all(admin, good, "", '{"name": "x",', record(own, workers={"desired": -1}), "[]", taken, good,
                        record(own, vsphere_clusters=[{"vcenter": own.vcenter.instance_uuid, "path": "DC0/Nowhere"}]),
                        {**record(own), "colour": "blue"}, "   \r", late)
    found = [(item["line"], item["result"], item.get("code")) for item in answer["items"]]
    assert found == [
        (1, "created", None), (3, "failed", "invalid_json"), (4, "failed", "unprocessable"), (5, "failed", "unprocessable"),
        (6, "exists", "exists"), (7, "failed", "unprocessable"), (8, "failed", "unprocessable"), (9, "failed", "unprocessable"),
        (11, "created", None),
    ]
    details = {item["line"]: item.get("detail", "") for item in answer["items"]}
    assert "workers" in details[4] and "line 1" in details[7] and "Nowhere" in details[8] and "colour" in details[9]
    assert {good["name"], late["name"]} <= set(admin.names(limit=500))


def test_what_fails_in_the_database_leaves_nothing_behind(own: World, admin: Api) -> None:
    """A node's virtual machine belongs to another cluster: noticed after rows of the cluster have been written."""
    vm = {"role": "worker", "vcenter_id": own.vcenter.instance_uuid, "vm_instance_uuid": str(uuid.uuid4())}
    lines = [record(own, nodes=[{"name": "a", **vm}]), record(own, nodes=[{"name": "b", **vm}]), record(own)]
    answer = import_all(admin, *lines)
    assert results(answer) == ["created", "exists", "created"]
    assert lines[1]["name"] not in admin.names(limit=500)
    again = import_all(admin, {**lines[1], "nodes": []})
    assert results(again) == ["created"]


@pytest.mark.parametrize("fault", ["before", "database"])
def test_all_or_nothing(own: World, admin: Api, fault: str) -> None:
    bad: Record | str = '{"name": 1}' if fault == "before" else record(own, "far-1")  # taken
    lines = [record(own) for _ in range(3)]
    answer = import_all(admin, lines[0], lines[1], bad, lines[2], atomic="true")
    assert results(answer) == ["skipped", "skipped", "failed" if fault == "before" else "exists", "skipped"]
    assert answer["counts"]["created"] == 0
    assert not {line["name"] for line in lines} & set(admin.names(limit=500))
    assert results(import_all(admin, *lines, atomic="true")) == ["created"] * 3
    assert {line["name"] for line in lines} <= set(admin.names(limit=500))


def test_what_is_there_is_changed_on_request(own: World, admin: Api) -> None:
    old, same, new = record(own, labels={"a": "1", "b": "2"}), record(own), record(own)
    ids = {item["name"]: item["id"] for item in import_all(admin, old, same)["items"]}
    change = {"name": old["name"], "description": "changed", "labels": {"a": None, "c": "3"}}
    answer = import_all(admin, change, same, new, update="true")
    assert results(answer) == ["changed", "unchanged", "created"]
    assert answer["items"][0]["id"] == ids[old["name"]]
    shown = admin.get(f"/v2/clusters/{ids[old['name']]}")
    assert (shown["description"], shown["labels"], shown["kubernetes_version"]) == ("changed", {"b": "2", "c": "3"}, "1.31.2")
    assert audited(own, [ids[old["name"]], ids[same["name"]]]) == sorted(
        [("cluster.create", old["name"], "ok"), ("cluster.create", same["name"], "ok"), ("cluster.change", old["name"], "ok")])
    assert results(import_all(admin, change, same, new, update="true", atomic="true")) == ["unchanged"] * 3


def test_a_page_of_the_largest_records_ends_early() -> None:
    """500 of them would be more than an answer may hold. The rest follows by the cursor, and kaasctl shows all."""
    with World("cl") as world:
        world.join()
        widest = "\U0001f98a"  # four bytes of UTF-8
        more = {"description": widest * 1000, "labels": {f"{n:02}" + "k" * 61: widest * 255 for n in range(64)}}
        lines = [json.dumps(record(world, f"large-{n:03}", **more), ensure_ascii=False).encode() for n in range(250)]
        for at in range(0, len(lines), 80):
            assert set(results(send(world.admin, b"\n".join(lines[at:at + 80])))) == {"created"}
        assert sum(map(len, lines)) > 16 * 1024 * 1024
        for sort in ("name", "-updated_at"):
            page = world.admin.get("/v2/clusters", limit=500, q="large-", sort=sort)
            assert page["next_cursor"] and 1 < len(page["items"]) < len(lines)
        assert [name for name in world.admin.names(limit=500) if name.startswith("large-")] == [f"large-{n:03}" for n in range(250)]
        shown = world.kaasd.ctl.json("cluster", "list", "--query", "large-")
        assert [len(cluster["labels"]) for cluster in shown] == [64] * 250


def test_bodies_that_are_refused(own: World, admin: Api) -> None:
    text = json.dumps(record(own))
    ndjson = {"Content-Type": "application/x-ndjson"}
    admin.refused(415, "unsupported_media_type", "POST", PATH, data=text, headers={"Content-Type": "application/json"})
    for body in ("", "\n\n \n"):
        admin.refused(422, "unprocessable", "POST", PATH, data=body, headers=ndjson)
    admin.refused(413, "too_large", "POST", PATH, data="{}\n" * (LINES_MAX + 1), headers=ndjson)
    admin.refused(400, "invalid_request", "POST", PATH, params={"atomic": "yes"}, data=text, headers=ndjson)
    admin.refused(400, "invalid_request", "POST", PATH, params={"force": "true"}, data=text, headers=ndjson)
    long = import_all(admin, json.dumps({"name": "x" * (1024 * 1024)}), text)
    assert [item.get("code") for item in long["items"]] == ["too_large", None]
    deep = import_all(admin, "[" * 100 + "]" * 100)
    assert deep["items"][0]["code"] == "invalid_json"


def ask_with_large_body(own: World, token: str | None) -> bytes:
    """Says that 8 MiB will come, sends none of them, and hears the answer."""
    context = ssl.create_default_context(cafile=str(own.kaasd.tls.ca_file))
    with context.wrap_socket(socket.create_connection(("127.0.0.1", own.kaasd.port)), server_hostname="127.0.0.1") as client:
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        client.sendall(f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n{bearer}"
                       f"Content-Length: {BODY_MAX}\r\n\r\n".encode())
        client.settimeout(60)
        return client.recv(100)


def test_who_may_not_is_refused_before_the_body(own: World) -> None:
    viewer = own.by_ticket("viewer-east")
    assert ask_with_large_body(own, None).startswith(b"HTTP/1.1 401 ")
    assert ask_with_large_body(own, "nonsense").startswith(b"HTTP/1.1 401 ")
    assert ask_with_large_body(own, viewer.token).startswith(b"HTTP/1.1 403 ")


def test_few_bodies_are_held_at_once(own: World, admin: Api) -> None:
    context = ssl.create_default_context(cafile=str(own.kaasd.tls.ca_file))
    head = (f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nAuthorization: Bearer {admin.token}\r\n"
            f"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n").encode()
    held = []
    for _ in range(2):
        client = context.wrap_socket(socket.create_connection(("127.0.0.1", own.kaasd.port)), server_hostname="127.0.0.1")
        client.settimeout(60)
        client.sendall(head)
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")  # admitted
        held.append(client)
    assert ask_with_large_body(own, admin.token).startswith(b"HTTP/1.1 503 ")
    for client in held:
        client.close()
    until(lambda: admin.call("POST", PATH, data="{", headers={"Content-Type": "application/x-ndjson"}).status_code == 200, "a place again")


# -- kaasctl ------------------------------------------------------------------------------------------------------------


def test_kaasctl_tells_what_became_of_each_line(own: World, admin: Api) -> None:
    good, other = record(own), record(own)
    path = own.scratch.path / "clusters.ndjson"
    path.write_text("\n".join([json.dumps(good), "", "{", json.dumps(record(own, "far-1")), json.dumps(other)]))
    said = own.kaasd.ctl.run("cluster", "import", str(path))
    assert said.returncode == 1
    lines = said.stdout.splitlines()
    assert lines[0].split() == ["LINE", "NAME", "RESULT", "WHY"]
    assert lines[1].split()[:3] == ["3", "-", "failed"] and lines[2].split()[:3] == ["4", "far-1", "exists"]
    assert lines[3:] == ["2 created, 1 exists, 1 failed"]
    again = own.kaasd.ctl.run("cluster", "import", "-", "--update", stdin=json.dumps({**good, "description": "again"}))
    assert (again.returncode, again.stdout) == (0, "1 changed\n")
    none = own.kaasd.ctl.run("cluster", "import", str(path), "--atomic")
    assert none.returncode == 1 and none.stdout.splitlines()[-1] == "1 failed, 3 skipped"


def test_kaasctl_sends_large_files_in_parts(own: World) -> None:
    lines = [json.dumps({"name": f"p-{n}", "padding": "x" * 4000}) for n in range(2300)]
    said = own.kaasd.ctl.run("cluster", "import", "-", "--output", "json", stdin="\n".join(lines))
    found = json.loads(said.stdout)
    assert [item["line"] for item in found] == list(range(1, 2301))
    assert {item["result"] for item in found} == {"failed"}


def test_kaasctl_and_files_of_windows(own: World) -> None:
    path = own.scratch.path / "records.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(record(own, "of-windows")).encode() + b"\r\n")
    said = own.kaasd.ctl.run("cluster", "import", str(path))
    assert (said.returncode, said.stdout) == (0, "1 created\n"), said.stderr
    path.write_bytes(json.dumps(record(own, "of-powershell")).encode("utf-16"))
    said = own.kaasd.ctl.run("cluster", "import", str(path))
    assert said.returncode and "is UTF-16" in said.stderr and "utf8" in said.stderr, said.stderr


def test_kaasctl_and_files_without_records(own: World) -> None:
    for text in ("", "\n\n"):
        said = own.kaasd.ctl.run("cluster", "import", "-", stdin=text)
        assert said.returncode != 0 and "holds no record" in said.stderr


def test_only_post_is_there(admin: Api) -> None:
    admin.refused(405, "method_not_allowed", "GET", PATH)
    admin.refused(404, "not_found", "POST", "/v2/clusters:export")
