"""kaasd beside a real Kubernetes; what a fixture starts, it ends."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from env.clock import Clock, clocked_world
from env.connected import OPTIONS, Connected
from env.full import World, add_vcenter, register
from env.kube import Kube
from env.places import USERS_BUILD, Scratch, build, use_memory

_tested = build()


def pytest_configure() -> None:
    use_memory()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of it starts a program. Those that are marked have a world of their own."""
    os.environ["KAAS_BUILD"] = str(USERS_BUILD if item.get_closest_marker("users_build") else _tested)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """It has joined a vCenter, whose machines are those of nodes."""
    with World("c", options=OPTIONS) as started:
        add_vcenter(started.kaasd, started.vcenter)
        register(started.kaasd, started.vcenter)
        yield started


@pytest.fixture(scope="session")
def clocked() -> Iterator[tuple[World, Clock]]:
    """A world whose clock goes ahead."""
    with clocked_world("a", options=OPTIONS) as both:
        yield both


@pytest.fixture
def clock(clocked: tuple[World, Clock]) -> Clock:
    return clocked[1]


@pytest.fixture(scope="session")
def scratch() -> Iterator[Scratch]:
    """Of the clusters, which outlive worlds."""
    folder = Scratch("cs")
    yield folder
    folder.remove()


@pytest.fixture(scope="session")
def kube(scratch: Scratch) -> Iterator[Kube]:
    """Of all tests that leave it as it was. With a controller manager, as every real cluster: it removes what we made when our binding
    goes."""
    with Kube(scratch, people={"ada": ("viewers",)}, has_controllers=True) as cluster:
        yield cluster


@pytest.fixture
def connected(request: pytest.FixtureRequest, kube: Kube) -> Iterator[Connected]:
    """The cluster is not connected; nor is it afterwards, and the test's nodes are gone. Who asks for the clock gets the world that has
    it."""
    has_clock = "clocked" in request.fixturenames
    world, clock = request.getfixturevalue("clocked") if has_clock else (request.getfixturevalue("world"), None)
    with Connected(world, kube, clock) as both:
        yield both
