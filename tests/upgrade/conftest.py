# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from env.places import Scratch, use_memory


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started
    use_memory()
    folder = Scratch("g")
    yield folder
    folder.remove()
