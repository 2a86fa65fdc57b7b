"""Machines that cannot become nodes, each for a reason of its own, which they tell. All boot side by side."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.places import Scratch
from env.wait import until
from nodes import LIMIT_S, give, told

pytestmark = pytest.mark.full("seven machines at a time; what a create makes of their words is tested where it stands")

API, NOBODY, PREFIX = "10.77.0.60", "10.77.0.253", 24
MEMORY_MB = 300
# how it is ill, what it is told of that, and the word and a part of what it says
ILL: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "astray": ({}, {"gateway": NOBODY}, "no-gateway", NOBODY),
    "double": ({}, {}, "address-taken", "10.77.0.62 is at "),
    "eclipsed": ({}, {"api_host": "10.77.0.69"}, "api-address-taken", "10.77.0.69 is at "),
    "late": ({"clock_s": 7200}, {}, "clock", " minutes ahead of the making of the cluster"),
    "alone": ({}, {"role": "worker"}, "no-api", "curl: "),
    "small": ({"memory_mb": MEMORY_MB}, {}, "little-memory", f"{MEMORY_MB} MiB, of 1700"),
    "bare": ({"lacks": ["/usr/bin/kubelet"]}, {}, "no-program", "kubelet is not there"),
    "other": ({}, {"kubernetes_version": "1.35.4"}, "other-version", "of 1.35.4"),
}
ADDRESSES = {name: f"10.77.0.{61 + place}" for place, name in enumerate(ILL)}
LASTING = {"small", "bare", "other"}


@pytest.fixture(scope="module")
def ward(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as site:
        for address in (ADDRESSES["double"], "10.77.0.69"):
            site.guests.occupy(f"{address}/{PREFIX}", 22)
        for name, (how, plan, _, _) in ILL.items():
            site.clone(name, cpus=2, memory_mb=2048)
            site.guests.ail(name, **how)
            give(site, name, **{"role": "init", "api_host": API, "address": ADDRESSES[name], **plan})
            site.power(name, "on")
        yield site


@pytest.mark.parametrize("name", ILL)
def test_it_tells_what_is_wrong(ward: Site, name: str) -> None:
    _, _, word, detail = ILL[name]
    error = until(lambda: (said := told(ward, name)[1]) != "none" and said, f"what is wrong with {name}", LIMIT_S)
    assert error.startswith(f"{word}: ") and detail in error
    wanted = "failed" if name in LASTING else "checking"
    until(lambda: told(ward, name)[0] == wanted, f"{name} {wanted}", LIMIT_S)


def test_one_goes_on_once_its_address_is_free(ward: Site) -> None:
    ward.guests.vacate(f"{ADDRESSES['double']}/{PREFIX}")
    until(lambda: told(ward, "double")[0] not in ("", "checking"), "its going on", LIMIT_S)


def test_what_is_killed_for_memory_says_so(ward: Site) -> None:
    """While kubeadm runs in a machine that had enough when it began."""
    until(lambda: told(ward, "double")[0] == "init", "kubeadm", LIMIT_S)
    ward.guests.limit_memory("double", MEMORY_MB)
    until(lambda: told(ward, "double")[1].startswith("killed-for-memory: "), "its reason", LIMIT_S)
