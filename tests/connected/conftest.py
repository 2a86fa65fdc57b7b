"""kaasd beside a real Kubernetes; what a fixture starts, it ends."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from env.connected import OPTIONS, Connected
from env.full import World, add_vcenter, register
from env.kube import Kube
from env.places import USERS_BUILD, build, use_memory

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
def kube(world: World) -> Iterator[Kube]:
    """With a controller manager, as every real cluster: it removes what we made when our binding goes."""
    with Kube(world.scratch, people={"ada": ("viewers",)}, has_controllers=True) as cluster:
        yield cluster


@pytest.fixture
def connected(world: World, kube: Kube) -> Iterator[Connected]:
    """The cluster is not connected; nor is it afterwards, and the test's nodes are gone."""
    with Connected(world, kube) as both:
        yield both
