"""The store programs, each beside a private database server of its own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess

import pytest
from world.places import TOP, program

pytestmark = [pytest.mark.slow, pytest.mark.long(30)]
PROGRAMS = ("test", "tx_test", "schema_test", "objects_test", "people_test", "platform_test", "clusters_test", "faults_test",
            "observations_test", "trail_test", "audit_test")


@pytest.mark.parametrize("name", PROGRAMS)
def test_store(name: str) -> None:
    command = [str(TOP / "tests/integ/with-mariadb"), str(program(f"tests/integ/store_{name}"))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, f"repeat with: {' '.join(command)}\n{run.stdout}\n{run.stderr}"
