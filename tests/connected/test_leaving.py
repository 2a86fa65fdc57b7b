"""Disconnecting a cluster that is away: a job waits for it, and leaves nothing behind when it is back."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import yaml
from env.connected import JSON, Connected
from env.kube.proxy import H1, Proxy, refusing
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.long(30)]


def leave(connected: Connected, cluster_id: str) -> str:
    told: JSON = connected.admin.expect(202, "DELETE", f"/v2/clusters/{cluster_id}/connection", params={"when_back": "true"})
    return str(told["job_id"])


def state(connected: Connected, job_id: str) -> tuple[str, str]:
    told: JSON = connected.admin.get(f"/v2/jobs/{job_id}")
    return told["state"], told["steps"][0]["state"]


def test_it_is_left_when_it_is_back(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    connected.kube.kill()
    job_id = leave(connected, cluster_id)
    until(lambda: state(connected, job_id) == ("running", "waiting"), "the job waits")
    shown: JSON = connected.admin.get(f"/v2/jobs/{job_id}")
    assert (shown["object_kind"], shown["object_id"], shown["object_name"]) == ("cluster", cluster_id, "prod")
    problem = connected.admin.refused(409, "exists", "DELETE", f"/v2/clusters/{cluster_id}/connection", params={"when_back": "true"})
    assert problem["job_id"] == job_id
    connected.kube.start()
    until(lambda: state(connected, job_id) == ("done", "done"), "the job is done", 90)
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")
    connected.admin.refused(404, "not_found", "GET", f"/v2/clusters/{cluster_id}/connection")


@pytest.mark.parametrize("said", [401, 403, 500, 503, 504])
def test_what_a_starting_server_says_ends_nothing(connected: Connected, said: int) -> None:
    config = yaml.safe_load(connected.kube.kubeconfig())
    with Proxy(connected.kube, [H1]) as proxy:
        config["clusters"][0]["cluster"]["server"] = proxy.url
        cluster_id = connected.connect(kubeconfig=yaml.safe_dump(config))["cluster_id"]
        proxy.rule = refusing(said, "/")
        advice = connected.world.kaasd.ctl.run("cluster", "disconnect", "prod", "--yes").stderr
        assert ("kaasctl cluster reconnect" if said in (401, 403) else "--when-back") in advice
        job_id = leave(connected, cluster_id)
        until(lambda: state(connected, job_id) == ("running", "waiting"), "the job waits")
        step: JSON = connected.admin.get(f"/v2/jobs/{job_id}")["steps"][0]
        assert f"answers {said}" in step["reason"]
        assert step["remedy"] == (f"if the cluster is gone for good: kaasctl job cancel {job_id}, "
                                  f"then kaasctl cluster disconnect {cluster_id} --forget")
        proxy.rule = None
        until(lambda: state(connected, job_id) == ("done", "done"), "the job is done", 90)
        until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")


def test_one_that_answers_is_left_at_once(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    said = connected.world.kaasd.ctl.ok("cluster", "disconnect", "prod", "--when-back", "--yes").splitlines()
    assert said[-1].endswith("done")
    until(lambda: connected.account_objects() == [], "nothing of ours in the cluster")
    connected.admin.refused(404, "not_found", "GET", f"/v2/clusters/{cluster_id}/connection")
    for query in ({"when_back": "true", "forget": "true"}, {"when_back": "true", "show": "true"}):
        connected.admin.refused(400, "invalid_request", "DELETE", f"/v2/clusters/{cluster_id}/connection", params=query)
