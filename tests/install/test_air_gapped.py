"""examples/air-gapped: what is carried over is enough for a bare Debian without a network, by the commands of its README.md."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.machine import Machine, require
from env.places import TOP, Scratch
from env.process import run
from readme import commands

EXAMPLE = TOP / "examples/air-gapped"
COMMANDS = commands((EXAMPLE / "README.md").read_text())
AT_SITE = [command.replace("sudo ", "").replace("apt-get install", "apt-get install --yes") for command in COMMANDS
           if "CARRIED" in command or "sources.list" in command]
LIMIT_S = 900.0
NOBODY = 65534


def carry(*words: str | Path) -> tuple[int, str]:
    done = run([EXAMPLE / "carry.sh", *words], limit_s=LIMIT_S)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def carried(packages: Path, scratch: Scratch) -> Path:
    assert "./carry.sh release carried" in COMMANDS
    folder = scratch.path / "carried"
    status, told = carry(packages, folder)
    assert status == 0, told
    return folder


def test_everything_of_the_release_is_carried(carried: Path, packages: Path) -> None:
    released = {path.name for path in packages.iterdir() if path.is_file()}
    assert released == {path.name for path in [*carried.iterdir(), *carried.glob("debian/kaas-*")] if path.is_file()} - {"CARRIED"}
    listed = {line.split(maxsplit=1)[1] for line in (carried / "CARRIED").read_text().splitlines()}
    assert listed == {str(path.relative_to(carried)) for path in carried.rglob("*") if path.is_file()} - {"CARRIED"}


def test_what_is_wrong_is_told(packages: Path, scratch: Scratch, carried: Path) -> None:
    for release, folder, expected in ((scratch.path / "log", scratch.path / "new", "there are no packages kaas-*.deb"),
                                      (packages, carried, "is there already")):
        status, told = carry(release, folder)
        assert status == 1
        assert expected in told
    broken = scratch.path / "broken"
    assert run(["cp", "-a", packages, broken]).returncode == 0
    (found,) = broken.glob("kaas-cli_*.deb")
    with found.open("r+b") as file:
        file.seek(1000)
        file.write(os.urandom(8))
    status, told = carry(broken, scratch.path / "new")
    assert status == 1
    assert "is not as it was released" in told


@pytest.fixture(scope="module")
def machine(carried: Path, scratch: Scratch) -> Iterator[Machine]:
    """Nothing but init is on it, and no network but loopback."""
    require()
    made = Machine(scratch, [], hosts={"kaas.example.com kaas": "127.0.1.1"}, binds=(f"--bind-ro={carried}:/media/kaas",))
    yield made
    made.stop()


def test_a_bare_machine_without_a_network_gets_a_running_service(machine: Machine) -> None:
    assert machine.run("dpkg-query --status mariadb-server").returncode != 0
    assert machine.ok("ls /sys/class/net").split() == ["lo"]
    assert len(AT_SITE) == 4
    for command in AT_SITE:
        machine.ok(command, limit_s=LIMIT_S)
    machine.ok("kaasctl init --public-url https://kaas.example.com:8443 && systemctl enable --now kaasd")
    machine.until("kaasctl health | grep -q '^start  *ok'", "a service that is ready")
