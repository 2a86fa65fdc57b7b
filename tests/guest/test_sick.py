"""Clusters whose first machine is ill, each in its own way: kaasctl says why they fail and what helps, retry makes them once the cause
is gone, delete leaves nothing. They are side by side in one world."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from env.clock import Clock
from env.guest.making import PROVIDER, apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.kaasd import Kaasd
from env.places import Scratch
from sick import Patient, held

pytestmark = pytest.mark.full("six machines at a time, of which four become clusters")

NOBODY, CLOCK_S, STEP_LIMIT_S = "10.77.0.253", 7200, 20 * 60
LAPS_MAX = 60
MINUTES = "12[0-9]"  # of CLOCK_S, and those that its boot takes
LOOKS = "it looks whether it can become a node"
STEP = "start the machine, until it is a node: control plane 1: "
MUTE = "look at its console at the vCenter: it does not boot, or VMware Tools or cloud-init do not run in it"


@dataclass(frozen=True)
class Ill:
    says: str  # of NAME, its machine
    remedy: str  # how it begins
    lasts: bool = False  # it gives up at once; else it may get over it, until the limit of the step
    how: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, Any] = field(default_factory=dict)  # of its provider

    @property
    def begin(self) -> str:
        """Of what it says, until something that is not known before."""
        return re.split("ADDRESS|MINUTES", self.says)[0]


ILL = {
    "hung": Ill("the machine tells nothing", MUTE, how={"is_hung": True}),
    "mute": Ill("the machine tells nothing", MUTE, how={"is_mute": True}),
    "astray": Ill(f"{LOOKS}; the gateway does not answer: nobody answers for {NOBODY}", "correct nodes.gateway in the provider",
                  nodes={"gateway": NOBODY}),
    "double": Ill(f"{LOOKS}; somebody else has its address: ADDRESS is at MAC, too", "find out who, and take it away from there"),
    "bare": Ill("a program is missing in its image: kubelet is not there", "name a template in the provider that kaas-node-check",
                lasts=True, how={"lacks": ["/usr/bin/kubelet"]}),
    "late": Ill(f"{LOOKS}; its clock is wrong: it is MINUTES minutes ahead of the making of the cluster",
                "give the provider NTP servers that it reaches", how={"clock_s": CLOCK_S})}
RETRIED, DELETED = ("hung", "astray", "double", "bare"), ("mute", "late")


def provider(name: str, **nodes: Any) -> dict[str, Any]:
    """Each has addresses of its own."""
    number = list(ILL).index(name)
    addresses = f"10.77.0.{100 + 10 * number}-10.77.0.{109 + 10 * number}"
    return {"name": f"for-{name}", "nodes": {**PROVIDER["nodes"], "addresses": [addresses], **nodes},
            "api_addresses": [f"10.77.0.{40 + number}"], "service_addresses": []}


@dataclass
class Ward:
    site: Site
    kaasd: Kaasd
    clock: Clock
    before: set[str]  # what was at the vCenter
    patients: dict[str, Patient]
    first: dict[str, str]  # the machines that were ill
    address: str  # that somebody else has

    def put_forward(self) -> None:
        """To the end of the limit, for kaasd alone; then it is restarted, by the time that its machines have. More than once at need: a
        call to the database that a step of the clock makes late has it take its jobs anew, and they go by the database's time."""
        laps = 0
        while any(patient.job()["state"] == "running" for patient in self.patients.values()):
            assert (laps := laps + 1) < LAPS_MAX, [patient.job() for patient in self.patients.values()]
            self.clock.advance(STEP_LIMIT_S / 4)
        self.kaasd.stop()
        self.kaasd.env = {}
        self.kaasd.start()


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as made:
        yield made


@pytest.fixture(scope="module")
def ward(place: Site, scratch: Scratch) -> Iterator[Ward]:
    clock = Clock(scratch.path / "clock")
    with kaasd_on(place, env=clock.env) as kaasd:
        before = place.inventory()
        patients = {name: Patient(place, kaasd, name) for name in ILL}
        for name, patient in patients.items():
            place.guests.ail(f"{name}-cp-*", **ILL[name].how)
            apply_provider(place, kaasd, **provider(name, **ILL[name].nodes))
            patient.begin(f"for-{name}")
        address = patients["double"].until_drawn()
        place.guests.occupy(f"{address}/24", 22)  # while its machine boots: before, the check of the provider would find it
        yield Ward(place, kaasd, clock, before, patients, {name: patient.until_one() for name, patient in patients.items()}, address)


@pytest.fixture(scope="module")
def failed(ward: Ward) -> Ward:
    for name, ill in ILL.items():
        if ill.lasts:
            ward.patients[name].until_state("failed")
        elif LOOKS in ill.says:
            ward.patients[name].until_waits(ill.begin)
    ward.put_forward()
    return ward


@pytest.mark.parametrize("name", [name for name, ill in ILL.items() if LOOKS in ill.says])
def test_it_says_what_it_waits_for(ward: Ward, name: str) -> None:
    """At once, and what helps: somebody may see to it before the limit is over."""
    told = ward.patients[name].until_waits(ILL[name].begin)
    assert (told["remedy"] or "").startswith(ILL[name].remedy)


@pytest.mark.parametrize("name", ILL)
def test_it_fails_with_its_own_reason(failed: Ward, name: str) -> None:
    ill = ILL[name]
    says = re.escape(ill.says).replace("ADDRESS", re.escape(failed.address)).replace("MAC", "[0-9a-f:]{17}").replace("MINUTES", MINUTES)
    late = "" if ill.lasts else r"not done after 12[0-9]{2} s: "
    told = failed.patients[name].end_as_told()
    assert re.match(f"{STEP}{late}{failed.first[name]}: {says}\nremedy: {re.escape(ill.remedy)}", told), told
    record = failed.patients[name].record()
    assert record["state"] == "failed" and failed.first[name] in record["state_reason"]


def test_no_user_data_lies_at_a_machine_that_has_failed(failed: Ward) -> None:
    for patient in failed.patients.values():
        assert len(patient.machines()) == 1
        patient.assert_no_user_data()


@pytest.fixture(scope="module")
def cured(failed: Ward) -> Ward:
    """Whatever was wrong is not so any more; then all are retried."""
    for name in RETRIED:
        failed.site.guests.cure(f"{name}-cp-*")
    failed.site.guests.vacate(f"{failed.address}/24")
    apply_provider(failed.site, failed.kaasd, **provider("astray"))
    failed.patients["double"].until_goes_on()
    for name in RETRIED:
        failed.patients[name].retry()
    return failed


@pytest.mark.parametrize("name", RETRIED)
def test_retry_makes_it_once_the_cause_is_gone(cured: Ward, name: str) -> None:
    (node,) = cured.patients[name].until_made()
    assert cured.patients[name].machines() == [node.name], "the sick one is gone"
    assert (node.name == cured.first[name]) == (name == "double"), "what went on by itself is waited for, all else is replaced"
    assert cured.patients[name].voters(node.name) == [node.name]
    cured.patients[name].assert_no_user_data()


@pytest.mark.parametrize("name", ILL)
def test_delete_leaves_nothing(cured: Ward, name: str) -> None:
    """Of those that have become clusters, and of those that are still ill."""
    patient = cured.patients[name]
    (machine,) = patient.machines()
    assert f"goes: the machine, with its disks {machine}" in patient.delete()
    assert not patient.machines()


def test_nothing_is_left_of_all(cured: Ward) -> None:
    assert cured.site.inventory() == cured.before
    assert not list(cured.kaasd.kept_admin().items("/v2/clusters")) and not held(cured.kaasd)
    for name in ILL:
        cured.kaasd.ctl.ok("provider", "remove", f"for-{name}", "--yes")
