"""The etcd of a cluster has no leader for a while as the cluster is made, as when it gets a member: Kubernetes is asked again."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from env.logins import until
from faults.job_place import query, scripted_place

pytestmark = [pytest.mark.slow, pytest.mark.long(60)]
LEADERLESS = {"kaas-system": 1, "/bootstrap-token-": 2, "/configmaps/": 3}  # connecting, a token to join by, the network


def test_a_cluster_is_made_all_the_same() -> None:
    with scripted_place() as place:
        place.begin("prod")
        place.leaderless = dict(LEADERLESS)
        begun = place.kaasd.kept_admin().expect(202, "POST", "/v2/clusters:create", json={
            "name": "prod", "provider": "east", "workers": {"count": 1}})
        ended = "SELECT state, reason FROM jobs WHERE id = %s AND state NOT IN ('queued', 'running')"
        ((state, reason),) = until(lambda: query(place.kaasd, ended, begun["job_id"]), "the end of the job")
        assert state == "done", reason
        assert place.api and not any(place.api.leaderless.values()), "all were met"
        told = "\n".join(text for (text,) in query(place.kaasd, "SELECT text FROM job_lines"))
        assert "answers 403" in told and "answers 503" in told
