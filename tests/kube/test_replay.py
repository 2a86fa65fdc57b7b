"""Replayed clusters say what a real API server has said, each with names of its own; and then what the test wants, as a real one would."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from env.kube import Kube, Nodes, Refused, Replay, record
from env.kube.nodes import PATH, document, machine, uuid_of
from env.kube.replay import JSON, PROTOBUF, Call, name_in, uuid_in
from env.places import Scratch
from env.wait import until

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WATCHLIST = {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true",
             "timeoutSeconds": "1"}
LIST_WATCH = {name: value for name, value in WATCHLIST.items() if name not in ("watch", "timeoutSeconds")}


def review(resource: str) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "list", "resource": resource}}}


@pytest.fixture(scope="module")
def cluster(kube: Kube) -> Kube:
    with Nodes(kube) as nodes:
        nodes.write([machine("cp-1", is_control_plane=True), machine("worker-1"), machine("worker-2", is_cordoned=True)])
    return kube  # without heartbeats: it stays as it is recorded


@pytest.fixture(scope="module")
def recording(cluster: Kube, scratch: Scratch) -> Path:
    return record(cluster, scratch.path / "recording.json", [Call("POST", REVIEWS, JSON, review("nodes"))])


@pytest.fixture(scope="module")
def replay(cluster: Kube, recording: Path, scratch: Scratch) -> Iterator[Replay]:
    """Shared by tests that each drive a cluster of their own."""
    with Replay(scratch, cluster, recording, first=0, count=12) as made:
        yield made


def frames(stream: bytes) -> list[bytes]:
    """A watch in protobuf: each event behind its length."""
    found = []
    while stream:
        length = int.from_bytes(stream[:4], "big")
        found.append(stream[4:4 + length])
        stream = stream[4 + length:]
    return found


# as recorded


@pytest.mark.parametrize("accept", [JSON, PROTOBUF])
@pytest.mark.parametrize("path", [f"{PATH}/worker-2", KUBE_SYSTEM, "/version", "/readyz", "/readyz?verbose"])
def test_cluster_0_says_what_was_recorded_to_the_letter(cluster: Kube, replay: Replay, path: str, accept: str) -> None:
    real, replayed = (api.ask("GET", path, accept=accept) for api in (cluster.api, replay.api(0)))
    assert (replayed.status_code, replayed.headers["Content-Type"]) == (real.status_code, real.headers["Content-Type"])
    assert replayed.content == real.content


@pytest.mark.parametrize("accept", [JSON, PROTOBUF])
def test_lists_are_the_same_to_the_letter(replay: Replay, cluster: Kube, accept: str) -> None:
    """That of the real one is asked for at the version of then."""
    at = replay.api(0).get(PATH)["metadata"]["resourceVersion"]
    exact = {"resourceVersion": at, "resourceVersionMatch": "Exact", "limit": "100"}
    real = cluster.api.ask("GET", PATH, accept=accept, params=exact)
    assert replay.api(0).ask("GET", PATH, accept=accept).content == real.content


@pytest.mark.parametrize("accept", [f"{JSON};stream=watch", f"{PROTOBUF};stream=watch"])
def test_a_watch_list_is_told_in_the_same_way(cluster: Kube, replay: Replay, accept: str) -> None:
    """But for the version in the bookmark, which goes on at the real one."""
    real, replayed = (api.ask("GET", PATH, accept=accept, params=WATCHLIST) for api in (cluster.api, replay.api(0)))
    assert replayed.headers["Content-Type"] == real.headers["Content-Type"]
    told, said = ((frames if "protobuf" in accept else bytes.splitlines)(answer.content) for answer in (real, replayed))
    assert said[:3] == told[:3]
    assert b"k8s.io/initial-events-end" in said[3] and len(said[3]) == len(told[3])


def test_recorded_questions_are_answered_by_what_they_ask(replay: Replay) -> None:
    assert replay.api(1).post(REVIEWS, review("nodes"))["status"]["allowed"] is True
    with pytest.raises(Refused) as refused:
        replay.api(11).post(REVIEWS, review("pods"))
    assert refused.value.status == 404


# of its own


def test_each_cluster_has_names_and_uuids_of_its_own(cluster: Kube, replay: Replay) -> None:
    uid = cluster.api.uid()
    assert [replay.api(number).uid() for number in range(12)] == [uuid_in(number, uid) for number in range(12)]
    node = {one["metadata"]["name"]: one for one in replay.api(7).get(PATH)["items"]}[name_in(7, "worker-1")]
    real = cluster.api.get(f"{PATH}/worker-1")
    assert node["metadata"]["name"] == "c007-worker-1" == node["metadata"]["labels"]["kubernetes.io/hostname"]
    assert node["metadata"]["uid"] == uuid_in(7, real["metadata"]["uid"]) != real["metadata"]["uid"]
    assert node["spec"]["providerID"] == f"vsphere://{uuid_in(7, uuid_of('worker-1'))}"
    assert node["status"]["nodeInfo"]["systemUUID"] == uuid_in(7, uuid_of("worker-1"))


def test_pages_are_whole(replay: Replay) -> None:
    first = replay.api(1).get(PATH, limit="2")
    assert first["metadata"]["remainingItemCount"] == 1
    rest = replay.api(1).get(PATH, limit="2", **{"continue": first["metadata"]["continue"]})
    assert [one["metadata"]["name"] for one in first["items"] + rest["items"]] == ["c001-cp-1", "c001-worker-1", "c001-worker-2"]
    assert "continue" not in rest["metadata"]


def test_strangers_and_what_is_on_no_tape_are_refused(replay: Replay) -> None:
    for token, status in ((None, 403), ("wrong", 401)):
        with pytest.raises(Refused) as refused:
            replay.api(10, token).get(PATH)
        assert refused.value.status == status
    assert replay.state()[10]["unknown"] == []
    with pytest.raises(Refused) as refused:
        replay.api(10).get("/api/v1/pods")
    assert (refused.value.status, refused.value.reason) == (404, "NotFound")
    with pytest.raises(Refused) as refused:
        replay.api(10).get(PATH, fieldSelector="x")
    assert refused.value.status == 404
    assert [one.split(" as ")[0] for one in replay.state()[10]["unknown"]] == ["GET /api/v1/pods", f"GET {PATH}?fieldSelector=x"]
    assert len([one for one in replay.unknown() if "pods" in one and one.startswith("GET")]) == 1


def test_it_speaks_http_2(replay: Replay) -> None:
    asked = subprocess.run(["curl", "--silent", "--http2", "--output", "/dev/null", "--write-out", "%{http_version}", "--cacert",
                            replay.ca_file, f"{replay.urls[1]}/version"], capture_output=True, text=True, check=True)
    assert asked.stdout == "2"


# driven by the test


def begin(replay: Replay, number: int) -> Iterator[dict[str, Any]]:
    """A watch that has told what was there at first."""
    events = replay.api(number).watch(PATH, **LIST_WATCH)
    assert [next(events)["type"] for _ in range(4)] == ["ADDED"] * 3 + ["BOOKMARK"]
    return events


def test_a_watch_is_told_what_the_test_does(replay: Replay) -> None:
    events, other = begin(replay, 2), begin(replay, 3)
    replay.condition(2, "c002-worker-1", "Ready", "False")
    replay.add(2, document(machine("c002-worker-9")))
    replay.delete(2, "c002-worker-2")
    replay.bookmark(2)
    told = [next(events) for _ in range(4)]
    assert [(one["type"], one["object"]["metadata"].get("name")) for one in told] == [
        ("MODIFIED", "c002-worker-1"), ("ADDED", "c002-worker-9"), ("DELETED", "c002-worker-2"), ("BOOKMARK", None)]
    assert {row["type"]: row["status"] for row in told[0]["object"]["status"]["conditions"]}["Ready"] == "False"
    versions = [int(one["object"]["metadata"]["resourceVersion"]) for one in told]
    assert versions == sorted(set(versions))
    listed = replay.api(2).get(PATH)
    assert [one["metadata"]["name"] for one in listed["items"]] == ["c002-cp-1", "c002-worker-1", "c002-worker-9"]
    again = replay.api(2).watch(PATH, resourceVersion=str(versions[0]), timeoutSeconds="1")
    assert [one["type"] for one in again] == ["ADDED", "DELETED"]  # no bookmark was asked for
    replay.cut(3)
    assert list(other) == []  # nothing of it was told to the neighbour


def test_what_is_forgotten_is_told_as_410(replay: Replay) -> None:
    events = begin(replay, 4)
    old = replay.api(4).get(PATH)["metadata"]["resourceVersion"]
    replay.expire(4)
    for watch in (events, replay.api(4).watch(PATH, resourceVersion=old)):
        told = list(watch)
        assert [(one["type"], one["object"]["code"], one["object"]["reason"]) for one in told] == [("ERROR", 410, "Expired")]
    assert replay.api(4).get(PATH)["metadata"]["resourceVersion"] != old


def test_watches_are_counted_and_cut(replay: Replay) -> None:
    events = begin(replay, 5)
    assert replay.state()[5]["watches"] == 1
    replay.cut(5)
    assert list(events) == []
    until(lambda: replay.state()[5]["watches"] == 0, "the end of the watch")


def test_a_closed_port_refuses_and_opens_again(replay: Replay) -> None:
    events = begin(replay, 6)
    replay.close(6)
    with pytest.raises(requests.RequestException):
        list(events)
    with pytest.raises(requests.ConnectionError):
        replay.api(6).uid()
    replay.open(6)
    assert replay.api(6).uid()


def test_an_answer_is_replaced_until_it_is_forgotten(replay: Replay) -> None:
    replay.say(8, "GET", "/readyz", 500, b"[-]etcd failed", content_type="text/plain", is_anonymous=True)
    assert replay.api(8, None).ask("GET", "/readyz").status_code == 500
    assert replay.api(9, None).ask("GET", "/readyz").text == "ok"
    replay.forget(8)
    assert replay.api(8, None).ask("GET", "/readyz").text == "ok"


def test_the_calls_are_counted(replay: Replay) -> None:
    replay.api(9).uid()
    assert replay.state()[9]["calls"][f"GET {KUBE_SYSTEM}"] >= 1


def test_it_runs_without_the_recorded_cluster_and_a_change_of_all_is_told_to_all(cluster: Kube, recording: Path, scratch: Scratch) -> None:
    with Replay(scratch, cluster, recording, name="all") as many:
        assert len(many.urls) == 199
        watches = {number: many.api(number).watch(PATH, **LIST_WATCH) for number in (1, 100, 199)}
        for events in watches.values():
            assert [next(events)["type"] for _ in range(4)][-1] == "BOOKMARK"
        many.bookmark("all")
        assert {next(events)["type"] for events in watches.values()} == {"BOOKMARK"}
        assert len({json.dumps(told["nodes"]) for told in many.state().values()}) == 199
