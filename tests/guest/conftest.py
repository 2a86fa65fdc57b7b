"""Machines that boot at a strict vCenter; what a fixture starts, it ends."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from env.guest.site import Site, site_of
from env.guest.small import small_image
from env.places import Scratch, use_memory


def pytest_configure() -> None:
    use_memory()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    folder = Scratch("g")
    yield folder
    folder.remove()


@pytest.fixture(scope="module")
def site(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, small_image(scratch)) as made:
        yield made
