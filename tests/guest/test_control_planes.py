"""Three control planes: they join one by one, each with a vote; the first one dies, and the API goes on at its address."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.places import Scratch, WorldError, program
from env.process import run
from env.wait import until
from nodes import LIMIT_S, files, give, kubectl, ready, until_done

pytestmark = pytest.mark.full("three machines at a time; the create of three is in the demo")

API = "10.77.0.70"
ADDRESSES = {f"cp{number}": f"10.77.0.7{number}" for number in (1, 2, 3)}


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as site:
        for number, (name, address) in enumerate(ADDRESSES.items()):
            site.clone(name, cpus=2, memory_mb=2048)
            give(site, name, "control-plane" if number else "init", api_host=API, address=address, bridge_pods=f"10.244.{number}.0/24")
            site.power(name, "on")
            until_done(site, name)
        yield site


def etcd(site: Site, name: str, *what: str) -> Any:
    cert = files(site, "etcd_client", "etcd_ca")
    asked = run([program("tests/integ/etcd_probe"), f"https://{ADDRESSES[name]}:2379", cert["ca"], cert["cert"], cert["key"], *what])
    assert asked.returncode == 0, asked.stdout + asked.stderr
    return json.loads(asked.stdout or "null")


def answers(site: Site) -> bool:
    try:
        return bool(kubectl(site, API, "get", "nodes", "--request-timeout=5s"))
    except WorldError:
        return False


def holder(site: Site) -> list[str]:
    return [name for name in ADDRESSES if site.guests.run(name, f"ip address show to {API}/32 | grep -q {API}").returncode == 0]


def test_three_are_ready_and_have_a_vote(place: Site) -> None:
    until(lambda: sorted(ready(place, API)) == sorted(ADDRESSES), "three nodes that are Ready", LIMIT_S)
    assert {one["name"]: one["is_learner"] for one in etcd(place, "cp1", "list")} == dict.fromkeys(ADDRESSES, False)


def test_one_of_them_holds_the_address(place: Site) -> None:
    assert holder(place) == ["cp1"], "the first, from the beginning, and while others joined"


def test_the_address_goes_where_an_api_server_is_well(place: Site) -> None:
    place.guests.ok("cp1", "mv /etc/kubernetes/manifests/kube-apiserver.yaml /run/")
    until(lambda: holder(place) in (["cp2"], ["cp3"]), "another holder", LIMIT_S)
    until(lambda: answers(place), "the API", LIMIT_S)
    place.guests.ok("cp1", "mv /run/kube-apiserver.yaml /etc/kubernetes/manifests/")
    until(lambda: place.guests.run("cp1", "/etc/keepalived/kaas-check-api").returncode == 0, "its API server", LIMIT_S)


def test_the_api_outlives_its_first_control_plane(place: Site) -> None:
    (dead,) = holder(place)
    others = [name for name in ADDRESSES if name != dead]
    place.power(dead, "off")
    begin = time.monotonic()
    until(lambda: answers(place), "the API at its address", LIMIT_S)
    print(f"the API answers {time.monotonic() - begin:.1f} s after the power off of its holder")
    (gone,) = [one["id"] for one in etcd(place, others[0], "list") if one["name"] == dead]
    etcd(place, others[0], "remove", gone)
    assert {one["name"] for one in etcd(place, others[1], "list")} == set(others)
