"""The store programs, each beside a private database server of its own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess

import pytest
from env.places import TOP, program

pytestmark = [pytest.mark.slow, pytest.mark.long(30)]
# What the Makefile calls so: a new program is not forgotten here.
PROGRAMS = re.search(r"^STORE_TESTS = (.*?[^\\])\n", (TOP / "tests/unit/local.mk").read_text(), re.M | re.S)[1].replace("\\\n", " ").split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_store(name: str) -> None:
    command = [str(TOP / "tests/unit/store/with-mariadb"), str(program(name))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, f"repeat with: {' '.join(command)}\n{run.stdout}\n{run.stderr}"
