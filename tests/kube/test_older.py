"""The release before, which customers have as well."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from env.kube import Kube, Nodes
from env.places import Scratch
from test_world import pinned

pytestmark = pytest.mark.full("the release before; each landing has the current one")


def test_the_release_before_runs_with_the_etcd_of_the_current_one(scratch: Scratch) -> None:
    with Kube(scratch, module="older") as kube, Nodes(kube) as nodes:
        assert kube.api.get("/version")["gitVersion"] == pinned("older")
        assert pinned("older").split(".")[:2] != pinned("current").split(".")[:2]
        names = nodes.write_many(10)
        assert kube.kubectl("get", "nodes", "--output=name").split() == [f"node/{name}" for name in names]
