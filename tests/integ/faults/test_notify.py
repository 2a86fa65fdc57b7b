"""What systemd is told: kaasd is started once it is ready or, where the database is away or hangs, once it knows that it waits."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from env.full import World
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.process import READY_LIMIT_S


class Manager:
    """The socket of systemd, as sd_notify(3) has it."""

    def __init__(self, scratch: Scratch) -> None:
        self.path = str(scratch.path / "notify.sock")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(READY_LIMIT_S)

    def next(self) -> list[str]:
        return self.socket.recv(4096).decode().split("\n")

    def until(self, word: str) -> list[list[str]]:
        """What comes up to the first message with the word."""
        told = [self.next()]
        while word not in told[-1]:
            told.append(self.next())
        return told


@pytest.fixture(scope="module")
def manager() -> Iterator[Manager]:
    scratch = Scratch("nt")
    made = Manager(scratch)
    yield made
    made.socket.close()
    scratch.remove()


@pytest.fixture(scope="module")
def world(manager: Manager) -> Iterator[World]:
    with World("nt", env={"NOTIFY_SOCKET": manager.path}, options={"database": {"call_timeout": "2s"}}) as made:
        yield made


def test_it_is_started_once_it_is_ready(world: World, manager: Manager) -> None:
    assert "STATUS=ready" in manager.until("READY=1")[-1]
    world.kaasd.stop()
    manager.until("STOPPING=1")
    world.kaasd.start()
    told = manager.until("READY=1")
    assert "STATUS=ready" in told[-1]
    assert world.kaasd.ctl.run("health").returncode == 0


@pytest.mark.parametrize(("go", "come"), [(Mariadb.stop, Mariadb.start), (Mariadb.freeze, Mariadb.thaw)], ids=["away", "hangs"])
def test_without_a_database_it_is_started_and_says_what_it_waits_for(world: World, manager: Manager, go: Callable[[Mariadb], None],
                                                                      come: Callable[[Mariadb], None]) -> None:
    kaasd: Kaasd = world.kaasd
    kaasd.stop()
    manager.until("STOPPING=1")
    go(world.db)
    try:
        kaasd.spawn()
        manager.until("READY=1")
        assert manager.next()[0].startswith("STATUS=the database ")
        assert kaasd.ctl.run("health").returncode == 1
    finally:
        come(world.db)
    manager.until("STATUS=ready")
    assert kaasd.ctl.run("health").returncode == 0
