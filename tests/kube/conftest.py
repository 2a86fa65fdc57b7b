"""Worlds with real Kubernetes; what a fixture starts, it ends."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from env.kube import Kube
from env.places import Scratch, use_memory


def pytest_configure() -> None:
    use_memory()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    folder = Scratch("k")
    yield folder
    folder.remove()


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    """Of a whole file, whose tests leave it running, with room and at its address."""
    with Kube(scratch, people={"ada": ("viewers",)}) as cluster:
        yield cluster
