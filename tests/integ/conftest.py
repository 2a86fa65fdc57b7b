"""Fixtures: parts of the world for single tests, and one whole world for all tests that only look at it.

Lower-case names with `fresh_` are started for one test, which may break them; the others live as long as the run and must be left
as they were found."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from env.full import World
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import USERS_BUILD, Scratch, build, use_memory
from env.vcenter import StrictVcenter, Vcenter, start_strict, start_vcsim

_tested = build()


def pytest_configure() -> None:
    use_memory()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started


def _seconds(item: pytest.Item) -> int:
    long = item.get_closest_marker("long")
    return int(long.args[0]) if long else 0


def _refuse_without_reason(item: pytest.Item) -> None:
    for name in ("users_build", "full"):
        mark = item.get_closest_marker(name)
        if mark and not (mark.args and mark.args[0]):
            raise pytest.UsageError(f"{item.nodeid}: {name} wants its reason")
    if item.get_closest_marker("users_build") and "world" in getattr(item, "fixturenames", ()):
        raise pytest.UsageError(f"{item.nodeid}: `world` is shared by tests of another build: take `fresh_world`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        _refuse_without_reason(item)
        if item.get_closest_marker("final"):
            item.user_properties.append(("final", True))  # read by scripts/checks/again.py
    if seed := os.environ.get("KAAS_SHUFFLE"):
        order = {path: random.Random(f"{seed} {path}").random() for path in {item.path for item in items}}
        items.sort(key=lambda item: order[item.path])
    else:
        items.sort(key=_seconds, reverse=True)  # stable: the rest stays in its order


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of it starts a program."""
    os.environ["KAAS_BUILD"] = str(USERS_BUILD if item.get_closest_marker("users_build") else _tested)


@pytest.fixture
def scratch() -> Iterator[Scratch]:
    folder = Scratch("t")
    yield folder
    folder.remove()


@pytest.fixture(scope="session")
def run_scratch() -> Iterator[Scratch]:
    folder = Scratch("s")
    yield folder
    folder.remove()


@pytest.fixture(scope="session")
def db(run_scratch: Scratch) -> Iterator[Mariadb]:
    """A database server for the whole run; each test makes databases of its own in it."""
    server = Mariadb(run_scratch)
    yield server
    server.close()


@pytest.fixture
def fresh_db(scratch: Scratch) -> Iterator[Mariadb]:
    """A database server that the test may stop and start."""
    server = Mariadb(scratch)
    yield server
    server.close()


@pytest.fixture(scope="session")
def vcenter(run_scratch: Scratch) -> Iterator[StrictVcenter]:
    server = start_strict(run_scratch)
    yield server
    server.stop()


@pytest.fixture
def fresh_vcenter(scratch: Scratch) -> Iterator[StrictVcenter]:
    server = start_strict(scratch)
    yield server
    server.stop()


@pytest.fixture
def make_vcenter(scratch: Scratch) -> Iterator[Callable[..., StrictVcenter]]:
    """Starts further strict vCenters: make_vcenter("vc2", flags=("--expired",))."""
    started: list[StrictVcenter] = []

    def make(name: str, **more: Any) -> StrictVcenter:
        started.append(start_strict(scratch, name, **more))
        return started[-1]

    yield make
    for server in reversed(started):
        server.stop()


@pytest.fixture
def vcsim(scratch: Scratch) -> Iterator[Vcenter]:
    server = start_vcsim(scratch)
    yield server
    server.stop()


@pytest.fixture
def make_kaasd(scratch: Scratch, fresh_db: Mariadb) -> Iterator[Callable[..., Kaasd]]:
    """Makes daemons on a database of this test, configured but not started: make_kaasd("one", options={...})."""
    made: list[Kaasd] = []

    def make(name: str = "kaasd", *, options: dict[str, Any] | None = None) -> Kaasd:
        made.append(Kaasd(scratch, fresh_db.socket, name, options=options))
        return made[-1]

    yield make
    for daemon in reversed(made):
        daemon.stop()


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """The whole path: registered vCenter, sample clusters. Look, do not touch; sign on as often as you like, since the tests of
    many files are a few people."""
    with World(options={"auth": {"sessions_per_principal": 0, "signon_rate": 0}}) as whole:
        whole.join()
        yield whole


@pytest.fixture
def fresh_world() -> Iterator[World]:
    """The same for one test, which may change and break everything; not joined yet."""
    with World("f") as whole:
        yield whole
