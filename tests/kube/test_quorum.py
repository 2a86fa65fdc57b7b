"""Three members of etcd, of which two can be ended."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from env.kube import Kube, Nodes
from env.kube.nodes import PATH
from env.places import Scratch
from env.wait import until


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    with Kube(scratch, "three", members=3) as cluster, Nodes(cluster) as nodes:
        nodes.write_many(3)
        yield cluster


def names(kube: Kube) -> set[str]:
    return {one["metadata"]["name"] for one in kube.api.get(PATH)["items"]}


def test_with_one_member_less_everything_goes_on(kube: Kube) -> None:
    kube.etcd.members[0].kill()
    until(lambda: kube.readyz()[0] == 200, "readiness")
    assert len(names(kube)) == 3
    kube.etcd.start()


def test_without_quorum_readiness_says_so_and_lists_do_not_answer(kube: Kube) -> None:
    before = names(kube)
    for member in kube.etcd.members[:2]:
        member.kill()
    status, text = until(lambda: (said := kube.readyz())[0] == 500 and said, "readiness that fails")
    assert status == 500 and "[-]etcd failed" in text
    with pytest.raises(requests.Timeout):
        kube.api.ask("GET", PATH, limit_s=2)
    kube.etcd.start()
    until(lambda: kube.readyz()[0] == 200, "readiness")
    assert names(kube) == before


def test_a_frozen_etcd_is_no_quorum_either(kube: Kube) -> None:
    for member in kube.etcd.members[1:]:
        member.freeze()
    until(lambda: kube.readyz()[0] == 500, "readiness that fails")
    for member in kube.etcd.members[1:]:
        member.thaw()
    until(lambda: kube.readyz()[0] == 200, "readiness")
