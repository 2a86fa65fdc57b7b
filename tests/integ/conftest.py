"""Fixtures: parts of the world for single tests, and one whole world for all tests that only look at it.

Lower-case names with `fresh_` are started for one test, which may break them; the others live as long as the run and must be left
as they were found."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from world.full import World
from world.kaasd import Kaasd
from world.mariadb import Mariadb
from world.places import Scratch, use_memory
from world.vcenter import StrictVcenter, Vcenter, start_strict, start_vcsim

# Files that take more than some seconds each as a whole: run by scripts/check, not by --quick.
SLOW_FILES = {
    "test_ad_world", "test_api_audit", "test_api_grants", "test_api_users", "test_audit", "test_cli", "test_cli_access",
    "test_cluster_import", "test_cluster_state", "test_cluster_watch", "test_complaints", "test_database_away", "test_deeds",
    "test_directory_full",
    "test_discovery", "test_doctor", "test_explain", "test_galera", "test_identity_clients", "test_kerberos",
    "test_kerberos_pac", "test_key_rotation", "test_ldap",
    "test_linked", "test_list_again", "test_live_check", "test_login_ways", "test_master_key", "test_outage", "test_overload", "test_peers",
    "test_plugin_manifest",
    "test_reconcile", "test_registration", "test_registration_dry", "test_replicas", "test_rights_many", "test_roles", "test_rotation",
    "test_secrets", "test_service", "test_service_kerberos", "test_sessions", "test_sessions_admin", "test_smuggling",
    "test_solution_install", "test_store", "test_trust", "test_vcenter_add", "test_vcenter_faults", "test_vcenter_status", "test_vcsim",
    "test_vim", "test_vim_watch", "test_watch",
}


# The longest files, longest first: begun first, so that at the end no worker is left alone with one of them.
LONG_FILES = [
    "test_outage", "test_overload", "test_replicas", "test_galera", "test_rights_many", "test_watch", "test_secrets", "test_doctor",
    "test_store", "test_vim_watch", "test_complaints", "test_sessions", "test_many_vcenters", "test_fault_run", "test_rotation",
    "test_reconcile", "test_vcenter_faults",
]

# Where many threads of the daemon meet: what the build with ThreadSanitizer runs. Files that go the same ways as one of these, one request
# after the other, are not among them.
THREADS_FILES = {
    "test_api_clusters", "test_api_grants", "test_api_rights", "test_cluster_watch", "test_fault_run", "test_linked", "test_many_vcenters",
    "test_rights_many", "test_sessions", "test_signon_local", "test_signon_vcenter", "test_store", "test_tokens", "test_vcenter_faults",
    "test_vim", "test_watch",
}

# Of these, the long ones that are about nothing else: each path of theirs is run by a shorter file as well, so the build with
# AddressSanitizer leaves them out.
MEETING_FILES = {"test_fault_run", "test_many_vcenters", "test_rights_many"}

# About the world itself, or whole clients whose way through the daemon others take as well: the plain build is enough.
UNSANITIZED_FILES = {"test_ad_world", "test_deeds", "test_identity_clients", "test_world"}


def pytest_configure() -> None:
    use_memory()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures stop what they have started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: i for i, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))  # stable: the rest stays in its order
    for item in items:
        if item.path.stem in SLOW_FILES:
            item.add_marker(pytest.mark.slow)
        if item.path.stem in THREADS_FILES:
            item.add_marker(pytest.mark.threads)
        if item.path.stem in MEETING_FILES:
            item.add_marker(pytest.mark.meeting)
        if item.path.stem in UNSANITIZED_FILES:
            item.add_marker(pytest.mark.unsanitized)


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
    """The whole path: registered vCenter, sample clusters. Look, do not touch."""
    with World() as whole:
        whole.join()
        yield whole


@pytest.fixture
def fresh_world() -> Iterator[World]:
    """The same for one test, which may change and break everything; not joined yet."""
    with World("f") as whole:
        yield whole
