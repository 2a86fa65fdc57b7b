"""Two replicas make clusters of machines that boot: the one that works is killed, and the other one goes on with the same machines."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from env.guest.making import apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.kaasd import Kaasd
from env.places import TOP, Scratch
from env.wait import until
from nodes import told
from sick import LIMIT_S, Patient, held

pytestmark = pytest.mark.full("two clusters of two machines; kills at the strict vCenter with scripted guests land")


@dataclass
class Pair:
    site: Site
    both: dict[str, Kaasd]  # by the names that jobs tell
    before: set[str]

    def begin(self, name: str) -> Patient:
        made = Patient(self.site, next(iter(self.both.values())), name)
        made.begin("east", "--workers", "1")
        return made

    def kill_who_works(self, patient: Patient) -> str:
        """And asks the other one from now on. The name of the one that was killed."""
        name = str(patient.job()["owner"])
        self.both[name].kill()
        patient.kaasd = next(one for other, one in self.both.items() if other != name)
        return name


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as made:
        yield made


@pytest.fixture(scope="module")
def pair(place: Site) -> Iterator[Pair]:
    with kaasd_on(place) as first:
        apply_provider(place, first, service_addresses=[])
        second = first.beside("replica-2", options={"kubernetes": {"bundles": str(TOP / "etc/bundles")}})
        second.start()
        yield Pair(place, {"replica-1": first, "replica-2": second}, place.inventory())
        second.stop()


def ids(patient: Patient) -> dict[str, str]:
    """Of its machines at the vCenter, by their names."""
    return {name: str(patient.site.info(name)["config"]["instanceUuid"]) for name in patient.machines()}


def until_phase(patient: Patient, role: str, *phases: str) -> None:
    (name,) = [one for one in patient.machines() if f"-{role}-" in one]
    until(lambda: told(patient.site, name)[0] in phases, f"{name}: {phases}", LIMIT_S)


def until_connected(patient: Patient) -> None:
    """kaasd is connected to its API, and its worker boots."""
    until(lambda: patient.is_done("connect") and patient.waiting("boot"), "the connection", LIMIT_S)


def test_another_replica_goes_on_in_the_middle_of_a_machine_and_behind_the_connection(pair: Pair) -> None:
    patient = pair.begin("prod")
    until(lambda: len(patient.machines()) == 2 and patient.waiting("boot"), "its machines", LIMIT_S)
    until_phase(patient, "cp", "init")
    machines = ids(patient)
    killed = pair.kill_who_works(patient)
    until(lambda: patient.job()["owner"] not in (killed, None), "the take-over", LIMIT_S)
    pair.both[killed].start()
    until_connected(patient)
    second = pair.kill_who_works(patient)
    assert second != killed
    nodes = patient.until_made()
    assert patient.job()["owner"] == killed
    assert ids(patient) == machines and sorted(node.name for node in nodes) == sorted(machines)
    assert [node.is_control_plane for node in nodes] == [True, False]
    patient.assert_no_user_data()
    pair.both[second].start()


def test_cancel_behind_the_connection_leaves_nothing_and_retry_makes_it(pair: Pair) -> None:
    pair.site.guests.ail("late-worker-*", is_hung=True)  # so that it is not ready before it is canceled
    before, addresses = pair.site.inventory(), held(pair.both["replica-1"])
    patient = pair.begin("late")
    until_connected(patient)
    patient.kaasd.ctl.ok("job", "cancel", patient.job_id)
    patient.until_state("canceled")
    assert pair.site.inventory() == before and held(patient.kaasd) == addresses
    assert patient.name not in patient.kaasd.ctl.ok("cluster", "list")
    pair.site.guests.cure("late-worker-*")
    patient.retry()
    nodes = patient.until_made()
    assert [node.is_control_plane for node in nodes] == [True, False]


def test_both_are_deleted_by_either(pair: Pair) -> None:
    for (name, kaasd), cluster in zip(pair.both.items(), ("prod", "late"), strict=True):
        Patient(pair.site, kaasd, cluster).delete()
        assert not Patient(pair.site, kaasd, cluster).machines(), name
    assert pair.site.inventory() == pair.before and not held(pair.both["replica-1"])
