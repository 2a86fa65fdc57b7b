"""The store programs, each beside a private database server of its own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess

import pytest
from env.places import TOP, program

pytestmark = [pytest.mark.slow, pytest.mark.long(30)]
PROGRAMS = ("store", "store_tx", "store_schema", "store_objects", "store_people", "store_platform", "store_clusters", "store_faults",
            "store_events", "store_locks", "store_observations", "store_audit_log", "store_audit")


@pytest.mark.parametrize("name", PROGRAMS)
def test_store(name: str) -> None:
    command = [str(TOP / "tests/unit/store/with-mariadb"), str(program(f"tests/unit/store/test_{name}"))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, f"repeat with: {' '.join(command)}\n{run.stdout}\n{run.stderr}"
