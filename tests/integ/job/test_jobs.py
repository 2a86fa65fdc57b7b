"""Jobs as an administrator meets them: begun by a command, followed line by line, gone on with after a kill, taken back."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from env.full import World, add_vcenter, register
from env.logins import active_certificate, stored_certificate, until, wait_connected

pytestmark = [pytest.mark.slow, pytest.mark.long(40)]
SET = "SetExtensionCertificate"
BEGIN = "/v2/vcenters:rotate-certificates"
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def joined() -> Iterator[World]:
    with World("jobs", options={"vcenter": {"call_timeout": "2m"}}) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        wait_connected(world)
        yield world
        world.vcenter.control.clear_faults()


def begin(world: World) -> str:
    return world.admin.expect(202, "POST", BEGIN)["job_id"]


def job(world: World, job_id: str) -> dict[str, Any]:
    return world.admin.get(f"/v2/jobs/{job_id}")


def follow(world: World, job_id: str) -> list[str]:
    """All that it tells until it has ended, asked for as a client does that has it tell as soon as there is something."""
    told: list[str] = []
    after, state = 0, "queued"
    while state in ("queued", "running", "undoing"):
        answer = world.admin.get(f"/v2/jobs/{job_id}/lines", after=after, wait=60)
        numbers = [line["seq"] for line in answer["items"]]
        assert numbers == list(range(after + 1, after + 1 + len(numbers)))
        told += [line["text"] for line in answer["items"]]
        after, state = after + len(numbers), answer["state"]
    return told


def test_a_job_is_done_and_told(joined: World) -> None:
    old = stored_certificate(joined)
    job_id = begin(joined)
    told = follow(joined, job_id)
    assert [line.split(": ")[-1] for line in told] == ["begins", "done", "done"]
    assert stored_certificate(joined) == active_certificate(joined) != old
    shown = job(joined, job_id)
    assert (shown["state"], shown["kind"], shown["reason"]) == ("done", "login_certificates.rotate", None)
    assert [(step["item"], step["state"], step["tries"]) for step in shown["steps"]] == [(joined.vcenter.instance_uuid, "done", 1)]
    assert shown["created_at"] <= shown["started_at"] <= shown["ended_at"]
    listed = joined.admin.get("/v2/jobs", state="done")["items"]
    assert [row["id"] for row in listed] == [job_id]
    lines = joined.db.query("SELECT result FROM audit WHERE action = 'vcenter.rotate_certificate' AND object_kind = 'job' ORDER BY seq",
                            database="kaas")
    assert lines == [("pending",), ("ok",)]


def test_the_command_shows_it_and_says_the_id_first(joined: World) -> None:
    said = joined.kaasd.ctl.ok("vcenter", "rotate-certificates").splitlines()
    (row,) = joined.kaasd.ctl.json("job", "list")
    assert said[0] == f"job {row['id']} has begun; it goes on by itself, also without this command: kaasctl job watch {row['id']}"
    assert said[-1].endswith("  done")
    assert joined.kaasd.ctl.ok("job", "watch", row["id"]).splitlines() == said[1:]
    assert "replace the login certificate" in joined.kaasd.ctl.ok("job", "show", row["id"])
    assert "done" in joined.kaasd.ctl.ok("job", "list", "--state", "done")


def test_it_goes_on_after_a_kill(joined: World) -> None:
    old = stored_certificate(joined)
    held = joined.vcenter.control.hold(SET, executed=True)
    job_id = begin(joined)
    joined.vcenter.control.await_held(held)
    assert job(joined, job_id)["steps"][0]["state"] == "running"
    joined.kaasd.kill()
    joined.vcenter.control.release(held, drop=True)
    joined.vcenter.control.clear_faults()
    joined.kaasd.start()
    told = follow(joined, job_id)
    assert told[-1] == "done"
    assert stored_certificate(joined) == active_certificate(joined) != old
    assert joined.db.query("SELECT COUNT(*) FROM audit WHERE result = 'unknown' AND object_kind = 'job'", database="kaas") == [(0,)]


def test_it_waits_for_a_vcenter_that_is_away_and_can_be_canceled(joined: World) -> None:
    joined.vcenter.control.fault(SET, "status", status=503)
    job_id = begin(joined)
    until(lambda: job(joined, job_id)["steps"][0]["state"] == "waiting", "the step waits")
    assert job(joined, job_id)["steps"][0]["reason"]
    problem = joined.admin.refused(409, "exists", "POST", BEGIN)
    assert problem["job_id"] == job_id and job_id in problem["detail"]
    joined.admin.refused(409, "conflict", "POST", f"/v2/jobs/{job_id}/retry")
    joined.admin.expect(200, "POST", f"/v2/jobs/{job_id}/cancel")
    assert follow(joined, job_id)[-1] == "canceled"
    joined.admin.refused(409, "conflict", "POST", f"/v2/jobs/{job_id}/cancel")
    joined.vcenter.control.clear_faults()
    joined.kaasd.ctl.ok("job", "retry", job_id)
    assert follow(joined, job_id)[-1] == "done"


def test_whoever_waits_hears_the_next_line_at_once(joined: World) -> None:
    held = joined.vcenter.control.hold(SET, executed=False)
    job_id = begin(joined)
    joined.vcenter.control.await_held(held)
    (first,) = joined.admin.get(f"/v2/jobs/{job_id}/lines")["items"]
    heard: list[Any] = []
    waits = threading.Thread(target=lambda: heard.append(joined.admin.get(f"/v2/jobs/{job_id}/lines", after=first["seq"], wait=60)))
    waits.start()
    until(lambda: 'kaas_list_watches 1' in joined.admin.call("GET", "/metrics").text, "the request waits")
    joined.vcenter.control.release(held)
    waits.join(60)
    assert heard[0]["items"][0]["text"].endswith("done")


def test_without_wait_the_answer_comes_at_once(joined: World) -> None:
    held = joined.vcenter.control.hold(SET, executed=False)
    job_id = begin(joined)
    joined.vcenter.control.await_held(held)
    assert joined.admin.get(f"/v2/jobs/{job_id}/lines", after=1)["items"] == []
    joined.vcenter.control.release(held)
    follow(joined, job_id)


def test_unknown_jobs_and_other_people(joined: World) -> None:
    for method, path in (("GET", ""), ("GET", "/lines"), ("POST", "/cancel"), ("POST", "/retry")):
        joined.admin.refused(404, "not_found", method, f"/v2/jobs/{NOBODY}{path}")
    job_id = begin(joined)
    follow(joined, job_id)
    viewer = joined.by_ticket("viewer-east")
    assert viewer.get("/v2/jobs")["items"] == []
    viewer.refused(404, "not_found", "GET", f"/v2/jobs/{job_id}")
    viewer.refused(404, "not_found", "GET", f"/v2/jobs/{job_id}/lines")
    for order in ("cancel", "retry"):
        viewer.refused(403, "forbidden", "POST", f"/v2/jobs/{job_id}/{order}")
    viewer.refused(403, "forbidden", "POST", BEGIN)
    for query in ({"after": "x"}, {"wait": "61"}, {"after": "-1"}):
        joined.admin.refused(400, "invalid_request", "GET", f"/v2/jobs/{job_id}/lines", params=query)
    joined.admin.refused(400, "invalid_request", "GET", "/v2/jobs", params={"state": "well"})


def test_without_a_vcenter_there_is_nothing_to_begin() -> None:
    with World("nojobs") as world:
        world.admin.refused(422, "unprocessable", "POST", BEGIN)
        assert world.admin.get("/v2/jobs")["items"] == []
