"""The release before, which customers have as well."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from env.kube import Kube, Nodes, WatchProbe
from env.kube.programs import pinned
from env.places import Scratch

pytestmark = pytest.mark.full("the release before; each landing has the current one")


def test_the_release_before_runs_with_the_etcd_of_the_current_one(scratch: Scratch) -> None:
    with Kube(scratch, module="older") as kube, Nodes(kube) as nodes:
        assert kube.api.get("/version")["gitVersion"] == pinned("older")
        assert pinned("older").split(".")[:2] != pinned("current").split(".")[:2]
        names = nodes.write_many(10)
        assert kube.kubectl("get", "nodes", "--output=name").split() == [f"node/{name}" for name in names]


def test_the_release_before_is_watched(scratch: Scratch) -> None:
    with Kube(scratch, "older", module="older") as kube, Nodes(kube) as nodes, WatchProbe(kube) as probe:
        names = nodes.write_many(300)
        probe.start()
        probe.wait("complete")
        nodes.condition(names[0], "Ready", "False")
        nodes.delete(names[1])
        assert len(probe.agree()) == 299
        assert probe.words() == ["begin", "complete"]
