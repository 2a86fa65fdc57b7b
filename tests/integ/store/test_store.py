"""The store programs, each beside a private database server of its own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess

import pytest
from env.places import TOP, program

pytestmark = [pytest.mark.slow, pytest.mark.long(30)]
# of the makefile, so that none is built and never run
PROGRAMS = re.search(r"^STORE_TESTS =((?: \\\n +\S+)+)", (TOP / "tests/unit/local.mk").read_text(), re.M)[1].replace("\\", "").split()


@pytest.mark.parametrize("path", [pytest.param(path, id=path.rpartition("test_")[2]) for path in PROGRAMS])
def test_store(path: str) -> None:
    command = [str(TOP / "tests/unit/store/with-mariadb"), str(program(path))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, f"repeat with: {' '.join(command)}\n{run.stdout}\n{run.stderr}"
