# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.image import Image, unpack
from env.places import TOP, Scratch, use_memory
from packaged import make


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started
    use_memory()
    folder = Scratch("i")
    yield folder
    folder.remove()


@pytest.fixture(scope="session")
def packages() -> Path:
    """Made from the committed tree, and kept while a test has scripts/package make something else there."""
    kept = TOP / "build/packages-tested"
    shutil.rmtree(kept, ignore_errors=True)
    return shutil.copytree(make(TOP), kept, copy_function=os.link)


@pytest.fixture(scope="module")
def image(packages: Path, scratch: Scratch) -> Image:
    (archive,) = packages.glob("*-image.tar")
    return unpack(archive, scratch.path / "image")
