# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.places import Scratch
from place import Node, make


@pytest.fixture(scope="session")
def root() -> Path:
    """Without CoreDNS, whose build takes minutes."""
    return make("--without-dns")


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started
    folder = Scratch("n")
    yield folder
    folder.remove()


@pytest.fixture(scope="module")
def node(root: Path, scratch: Scratch) -> Iterator[Node]:
    """Shared by the tests of a file: each leaves it as it was."""
    machine = Node(scratch, root)
    yield machine
    machine.stop()
