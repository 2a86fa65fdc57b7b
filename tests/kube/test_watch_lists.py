"""A thousand nodes, told in each of the ways that there are, and forgotten in between: the daemon's watch at a real API server."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env.kube import Kube, Nodes, Proxy, WatchProbe
from env.kube.nodes import machine
from env.kube.proxy import H1, H2, Asked, Rule, refusing
from env.places import Scratch
from env.wait import until

COUNT = 1000
PAGES = COUNT // 250
IDLE_S, LONG_S = 91, 6
QUIET_S = 36000  # no heartbeats while sets are compared
ONE_LIST = ["begin", "complete"]
HEARS_AT_ONCE = "--feature-gates=ListFromCacheSnapshot=false"  # of compaction
NO_WATCH_LIST = "sendInitialEvents"
NO_PROTOBUF = "vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    with Kube(scratch, options=[HEARS_AT_ONCE]) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def nodes(kube: Kube) -> Iterator[Nodes]:
    """Of which each test leaves COUNT."""
    with Nodes(kube, heartbeat_s=QUIET_S) as made:
        made.write_many(COUNT)
        yield made


def turn(nodes: Nodes, name: str) -> None:
    nodes.spec(name, unschedulable=not nodes.get(name)["spec"].get("unschedulable", False))


def test_a_thousand_nodes_in_one_stream(kube: Kube, nodes: Nodes) -> None:
    with WatchProbe(kube) as probe:
        probe.start()
        probe.wait("complete")
        assert len(probe.agree()) == COUNT
        assert probe.words() == ONE_LIST


# Protocols, what is refused, requests until the changes are watched, media type.
WAYS: dict[str, tuple[list[str], list[Rule], int, str]] = {
    "HTTP/1.1": ([H1], [], 1, "protobuf"),
    "pages, refused by 400": ([H1], [refusing(400, NO_WATCH_LIST)], 1 + PAGES + 1, "protobuf"),
    "pages, refused by 422": ([H1], [refusing(422, NO_WATCH_LIST)], 1 + PAGES + 1, "protobuf"),
    "JSON, refused by 406": ([H1], [refusing(406, NO_PROTOBUF)], 2, "json"),
    "JSON, refused by 415": ([H1], [refusing(415, NO_PROTOBUF)], 2, "json"),
    "pages in JSON": ([H1], [refusing(406, NO_PROTOBUF), refusing(400, NO_WATCH_LIST)], 2 + PAGES + 1, "json"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_nodes_through_a_proxy_that_knows_less(kube: Kube, nodes: Nodes, way: str) -> None:
    protocols, rules, requests, media_type = WAYS[way]

    def rule(asked: Asked) -> bytes | None:
        return next((said for said in (one(asked) for one in rules) if said), None)

    with Proxy(kube, protocols, rule) as proxy, WatchProbe(kube, proxy.url) as probe:
        probe.start()
        probe.wait("complete")
        probe.agree()
        turn(nodes, "node-0500")
        probe.wait_change("node-0500")
        assert len(probe.agree()) == COUNT
        assert set(proxy.spoken) == {H1} and len(proxy.asked) == requests
        assert f"Accept: application/{'json' if media_type == 'json' else NO_PROTOBUF}" in proxy.asked[-1].header
        assert len([one for one in proxy.asked if "limit=250" in one.path]) == (PAGES if "pages" in way else 0)
        assert probe.words() == ONE_LIST


def test_a_page_that_expires_between_two_pages_begins_the_list_anew(kube: Kube, nodes: Nodes) -> None:
    expired: list[str] = []

    def rule(asked: Asked) -> bytes | None:
        if "continue=" in asked.path and not expired:
            expired.append(asked.path)
            nodes.delete("node-0000")  # it was told with the first page
            turn(nodes, "node-0001")
            kube.etcd.compact()
        return refusing(400, NO_WATCH_LIST)(asked)

    with Proxy(kube, [H1], rule) as proxy, WatchProbe(kube, proxy.url) as probe:
        probe.start()
        probe.wait("complete")
        known = probe.agree()
        assert len(known) == COUNT - 1 and "node-0000" not in known
        assert probe.words() == ["begin", "begin", "complete"] and len(expired) == 1
        nodes.write([machine("node-0000")])
        probe.agree()


@pytest.mark.parametrize("protocol", [H1, H2])
def test_a_list_that_breaks_off_is_an_error_and_told_anew(kube: Kube, nodes: Nodes, protocol: str) -> None:
    with Proxy(kube, [protocol]) as proxy, WatchProbe(kube, proxy.url) as probe:
        proxy.hold_after = 100_000
        probe.start()
        until(lambda: proxy.passed >= 100_000, "a part of the list")
        probe.wait("begin")
        proxy.hold_after = None
        proxy.cut()
        assert probe.wait("end")["code"] == "upstream_unreachable"
        assert probe.words() == ["begin", "end"]
        probe.start()
        probe.wait("complete")
        assert len(probe.agree()) == COUNT


def test_a_page_whose_body_never_comes_is_an_error(kube: Kube, nodes: Nodes) -> None:
    held: list[Asked] = []

    def rule(asked: Asked) -> bytes | None:
        if "limit=" in asked.path and not held:
            asked.only_header = True
            held.append(asked)
        return refusing(400, NO_WATCH_LIST)(asked)

    with Proxy(kube, [H1], rule) as proxy, WatchProbe(kube, proxy.url) as probe:
        probe.start()
        until(lambda: held and proxy.passed, "the header of the first page")
        probe.forward(IDLE_S)
        assert probe.wait("end")["code"] == "upstream_timeout"
        probe.start()
        probe.wait("complete")
        assert len(probe.agree()) == COUNT


@pytest.fixture(scope="module")
def forgetful(kube: Kube, scratch: Scratch) -> Iterator[Kube]:
    """Another API server of the same cluster, which keeps no changes of nodes in memory: what etcd has compacted it has forgotten."""
    with Kube(scratch, "forgetful", etcd=kube.etcd, options=[HEARS_AT_ONCE, "--watch-cache-sizes=nodes#0"]) as other:
        yield other


def test_changes_that_were_compacted_away_begin_the_list_anew(forgetful: Kube, nodes: Nodes) -> None:
    with Proxy(forgetful) as proxy, WatchProbe(forgetful, proxy.url) as probe:
        probe.start()
        probe.wait("complete")
        probe.forward(LONG_S)
        proxy.shut()
        assert probe.wait("end")["code"] == "upstream_unreachable"
        nodes.delete("node-0002")
        turn(nodes, "node-0003")
        nodes.kube.etcd.compact()
        proxy.open()
        probe.start()
        probe.wait("complete")
        assert "node-0002" not in probe.agree()
        assert probe.words() == [*ONE_LIST, "end", *ONE_LIST]
        nodes.write([machine("node-0002")])
        probe.agree()
