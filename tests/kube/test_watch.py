"""The daemon's watch of nodes, by itself, at a real API server: whatever breaks, afterwards it knows what kubectl sees."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import signal
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from env.kube import Kube, Nodes, Proxy, WatchProbe
from env.kube.nodes import PATH, machine
from env.kube.proxy import H1, H2, Asked, answer, refusing
from env.wait import until

IDLE_S = 91  # K8S_WATCH_IDLE_MS, and a bit
QUIET_S = 36000  # no heartbeats while sets are compared
LONG_S = 6  # a transfer that took so long has not failed at once (K8S_WATCH_SHORT_MS)
ONE_LIST = ["begin", "complete"]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def nodes(kube: Kube) -> Iterator[Nodes]:
    """Three that every test may change, and has to leave in place."""
    with Nodes(kube, heartbeat_s=QUIET_S) as made:
        made.write([machine("cp-1", is_control_plane=True), machine("worker-1"), machine("worker-2", is_cordoned=True)])
        yield made


@pytest.fixture
def proxy(kube: Kube) -> Iterator[Proxy]:
    """Passes everything, HTTP/2 as well."""
    with Proxy(kube) as made:
        yield made


@pytest.fixture
def probe(kube: Kube, nodes: Nodes, proxy: Proxy) -> Iterator[WatchProbe]:
    """Behind the proxy, with its first list complete, and watching for a while."""
    with WatchProbe(kube, proxy.url) as made:
        made.start()
        made.wait("complete")
        made.forward(LONG_S)
        yield made


def turn(nodes: Nodes, name: str) -> None:
    """A change of a node, whatever it was before."""
    nodes.spec(name, unschedulable=not nodes.get(name)["spec"].get("unschedulable", False))


def write_something(kube: Kube, name: str) -> None:
    """That is no node."""
    kube.api.post(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


def version_in(asked: Asked) -> int:
    found = re.search(r"resourceVersion=(\d+)", asked.path)
    assert found, asked.path
    return int(found[1])


# what is told


def test_each_change_is_told(kube: Kube, nodes: Nodes) -> None:
    with WatchProbe(kube) as probe:
        probe.start()
        probe.wait("complete")
        before = probe.agree()
        nodes.condition("worker-1", "Ready", "False", "KubeletNotReady", "container runtime is down")
        assert probe.wait_change("worker-1")
        assert probe.agree()["worker-1"]["reason"] == "KubeletNotReady"
        nodes.spec("worker-1", unschedulable=True)
        nodes.spec("worker-2", unschedulable=None)
        nodes.write([machine("worker-3")])
        nodes.delete("worker-2")
        nodes.write([machine("worker-2", is_cordoned=True)])  # another one of this name
        after = probe.agree()
        assert after["worker-1"]["is_cordoned"] and "worker-3" in after
        assert after["worker-2"]["uid"] != before["worker-2"]["uid"]
        nodes.delete("worker-3")
        nodes.spec("worker-1", unschedulable=None)
        nodes.condition("worker-1", "Ready", "True")
        assert "worker-3" not in probe.agree()
        assert probe.words() == ONE_LIST


def test_http_2_is_spoken_with_an_api_server(kube: Kube, probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    """The proxy passes HTTP/2 as it is, and offers the server nothing else."""
    where = urlsplit(kube.url)
    offer = ssl.create_default_context(cafile=str(kube.ca_file))
    offer.set_alpn_protocols([H2, H1])
    with ssl.create_connection((where.hostname, where.port)) as plain, offer.wrap_socket(plain, server_hostname=where.hostname) as tls:
        assert tls.selected_alpn_protocol() == H2
    turn(nodes, "worker-1")
    probe.agree()
    assert proxy.spoken == [H2] and proxy.asked == []
    assert probe.words() == ONE_LIST


# connections that break


def test_a_watch_that_is_cut_after_each_change_goes_on(probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    for _ in range(8):
        turn(nodes, "worker-1")
        probe.wait_change("worker-1")
        probe.forward(LONG_S)
        proxy.cut()
        turn(nodes, "worker-2")  # by whatever watch is there now
        probe.wait_change("worker-2")
    probe.agree()
    assert len(proxy.spoken) >= 9
    assert probe.words() == ONE_LIST  # nothing of that was an error, or began a list


def test_what_happened_while_nobody_was_there_is_told_afterwards(probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    proxy.shut()
    assert probe.wait("end")["code"] == "upstream_unreachable"
    nodes.delete("worker-2")
    nodes.write([machine("worker-3")])
    turn(nodes, "worker-1")
    proxy.open()
    probe.start()
    assert "worker-2" not in probe.agree()
    nodes.write([machine("worker-2", is_cordoned=True)])
    nodes.delete("worker-3")
    probe.agree()
    assert probe.words() == [*ONE_LIST, "end"]  # it went on where it ended


def test_a_half_open_connection_is_noticed_by_its_silence(probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    proxy.go_silent()
    turn(nodes, "worker-1")
    probe.forward(IDLE_S)
    probe.wait_change("worker-1")
    probe.agree()
    assert probe.words() == ONE_LIST and len(proxy.spoken) == 2


def test_silence_before_the_first_list_is_an_error(kube: Kube, nodes: Nodes, proxy: Proxy) -> None:
    with WatchProbe(kube, proxy.url) as probe:
        proxy.go_silent(for_all=True)
        probe.start()
        until(lambda: proxy.connections, "a connection")
        probe.forward(IDLE_S)
        assert probe.wait("end")["code"] == "upstream_timeout"
        proxy.speak()
        probe.start()
        probe.wait("complete")
        probe.agree()


@pytest.mark.parametrize("last_stream", [2**31 - 1, 0], ids=["of streams to come", "of all streams"])
def test_goaway_is_no_error(probe: WatchProbe, proxy: Proxy, nodes: Nodes, last_stream: int) -> None:
    """As API servers say it now and then, so that clients spread over replicas (--goaway-chance); or as one that will not go on."""
    proxy.say_goaway(last_stream)
    turn(nodes, "worker-1")
    probe.wait_change("worker-1")
    probe.agree()
    assert len(proxy.spoken) == (1 if last_stream else 2)
    assert probe.words() == ONE_LIST


def test_bookmarks_keep_a_watch_fresh_in_which_nothing_happens(kube: Kube, nodes: Nodes) -> None:
    """A server tells one two seconds before it ends a watch. Other things than nodes are written meanwhile; a list has it ask etcd how far
    it is. On a machine that is very busy that may come too late for one watch, but not for all."""
    def for_four_seconds(asked: Asked) -> None:
        asked.path = asked.path.replace("timeoutSeconds=600", "timeoutSeconds=4")

    with Proxy(kube, [H1], for_four_seconds) as proxy, WatchProbe(kube, proxy.url) as probe:
        probe.start()
        probe.wait("complete")
        write_something(kube, "behind-the-list")
        written = int(kube.api.get(PATH)["metadata"]["resourceVersion"])
        for number in range(2, 10):
            probe.forward(LONG_S)
            until(lambda number=number: len(proxy.asked) == number, "the next watch")
            if version_in(proxy.asked[-1]) >= written:
                break
        else:
            pytest.fail("no watch began at what was written last")
        assert probe.words() == ONE_LIST and probe.words("changed", "gone") == []
        probe.agree()


# what is refused


def test_a_server_that_asks_to_wait_is_obeyed(kube: Kube, nodes: Nodes) -> None:
    with Proxy(kube, [H1], refusing(429, PATH, header=["Retry-After: 3"])) as proxy, WatchProbe(kube, proxy.url) as probe:
        probe.start()
        end = probe.wait("end")
        assert (end["code"], end["retry_after_s"]) == ("too_many_requests", 3)
        proxy.rule = None
        probe.start()
        probe.wait("complete")
        probe.forward(LONG_S)
        proxy.rule = lambda _: answer(429, "", "Retry-After: 2")
        proxy.cut()
        assert probe.wait("end")["retry_after_s"] == 2
        turn(nodes, "worker-1")
        proxy.rule = None
        probe.start()
        probe.wait_change("worker-1")
        probe.agree()
        assert probe.words("begin") == ["begin"]


def test_a_token_that_is_refused_is_an_error_and_another_goes_on(kube: Kube, probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    probe.do("token wrong")
    probe.do("stop")
    probe.start()
    end = probe.wait("end")
    assert end["code"] == "unauthenticated" and "401" in end["text"]
    turn(nodes, "worker-1")
    probe.do(f"token {kube.tokens['admin']}")
    probe.start()
    probe.wait_change("worker-1")
    probe.agree()
    assert probe.words("begin") == ["begin"]


# servers that end; these last, since they take long


def test_compaction_does_not_disturb(kube: Kube, probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    turn(nodes, "worker-1")
    probe.wait_change("worker-1")
    kube.etcd.compact()
    turn(nodes, "worker-2")
    probe.wait_change("worker-2")
    probe.forward(LONG_S)
    proxy.cut()
    turn(nodes, "worker-1")
    probe.wait_change("worker-1")
    probe.agree()
    assert probe.words() == ONE_LIST


@pytest.mark.parametrize("way", ["killed", "ended"])
def test_a_server_that_comes_back_has_forgotten_and_all_is_told_anew(kube: Kube, probe: WatchProbe, nodes: Nodes, way: str) -> None:
    """Something else was written behind the last change of a node, as always: its memory begins with that. One that is ended says GOAWAY,
    and is then silent on its watches for a minute."""
    nodes.write([machine("worker-3")])
    probe.wait_change("worker-3")
    write_something(kube, way)
    probe.forward(LONG_S)
    if way == "ended":
        kube.process.signal(signal.SIGTERM)
        until(lambda: "Stopped listening" in kube.process.log, "the end of its listening")
        assert probe.words() == ONE_LIST
        probe.forward(IDLE_S)
    else:
        kube.kill()
    assert probe.wait("end")["code"] == "upstream_unreachable"
    if way == "ended":
        kube.kill()
    kube.start()
    nodes.delete("worker-3")
    turn(nodes, "worker-1")
    probe.start()
    probe.wait("complete")
    assert "worker-3" not in probe.agree()
    assert probe.words() == [*ONE_LIST, "end", *ONE_LIST]


def test_whatever_a_server_says_while_it_starts_is_got_over(kube: Kube, probe: WatchProbe, nodes: Nodes) -> None:
    """No connection, 401, 403, 429, 503: its parts are ready one after the other."""
    write_something(kube, "before-the-start")
    kube.kill()
    probe.wait("end")
    kube.spawn()

    def is_complete() -> bool:
        told = len(probe.events)
        probe.start()
        until(lambda: {"complete", "end"} & {one["event"] for one in probe.events[told:]}, "an end")
        return "complete" in {one["event"] for one in probe.events[told:]}

    until(is_complete, "a whole list")
    kube.wait_ready()
    turn(nodes, "worker-1")
    probe.agree()
    assert probe.words("complete") == ["complete"] * 2


def test_without_etcd_a_watch_is_silent_and_goes_on_afterwards(kube: Kube, probe: WatchProbe, proxy: Proxy, nodes: Nodes) -> None:
    """The API server answers from memory that the watch goes on. A list it cannot vouch for, and never ends."""
    kube.etcd.kill()
    probe.forward(IDLE_S)
    until(lambda: len(proxy.spoken) == 2, "another watch")
    with WatchProbe(kube, proxy.url) as other:
        other.start()
        until(lambda: len(proxy.spoken) == 3, "a list")
        other.forward(IDLE_S)
        assert other.wait("end")["code"] == "upstream_timeout"
        kube.etcd.start()
        kube.wait_ready()
        turn(nodes, "worker-1")
        probe.wait_change("worker-1")
        probe.agree()
        assert probe.words() == ONE_LIST
        other.start()
        other.wait("complete")
        other.agree()
