"""kaasctl health: what its first line and its exit status say, also to monitoring systems that run commands."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env.full import World
from env.places import program
from env.process import run
from env.wait import until


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("hl") as made:
        made.join()
        yield made


def test_all_is_well_but_for_warnings(world: World) -> None:
    said = world.kaasd.ctl.run("health")
    assert said.returncode == 0, said.stdout
    assert not said.stdout.startswith("kaasd failed")
    plugin = world.kaasd.ctl.run("health", "--nagios")
    assert (plugin.returncode, plugin.stdout.count("\n")) == (0 if plugin.stdout.startswith("KAAS OK: 0 of ") else 1, 1)
    assert plugin.stdout.startswith(("KAAS OK: 0 of ", "KAAS WARNING: 0 of "))


def test_a_vcenter_that_is_away_is_the_first_line_and_the_status(world: World) -> None:
    world.vcenter.control.close_port()
    try:
        until(lambda: world.kaasd.ctl.run("health").returncode == 1, "a check that is failed")
        said = world.kaasd.ctl.run("health").stdout.splitlines()
        assert said[0].endswith(": failed")
        (row,) = [line for line in said if line.startswith("vcenter:") and " failed " in line]
        plugin = world.kaasd.ctl.run("health", "--nagios")
        assert plugin.returncode == 2
        assert plugin.stdout.startswith("KAAS CRITICAL: 1 of ")
        assert f"checks failed ({row.split()[0]})" in plugin.stdout
    finally:
        world.vcenter.control.open_port()
    until(lambda: world.kaasd.ctl.run("health").returncode == 0, "no check that is failed")


def test_a_kaasd_that_does_not_answer_is_critical_and_who_cannot_ask_does_not_know(world: World) -> None:
    refused = run([program("kaasctl"), "--server", world.kaasd.url, "--ca-file", world.kaasd.tls.ca_file, "--user", "admin",
                   "--password-file", "-", "health", "--nagios"], stdin="wrong\n")
    assert (refused.returncode, refused.stdout.partition(":")[0]) == (3, "KAAS UNKNOWN")
    world.kaasd.stop()
    away = world.kaasd.ctl.run("health", "--nagios")
    assert (away.returncode, away.stdout.partition(":")[0]) == (2, "KAAS CRITICAL")
    assert world.kaasd.ctl.run("health").returncode == 3
