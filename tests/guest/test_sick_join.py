"""A second control plane that dies in its join. From one member of etcd to two the cluster is weaker than with one: a member that has its
vote and is dead takes the API of the first one away. Told in order, on one cluster of three."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env.guest.making import apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import Site, site_of
from env.kaasd import Kaasd
from env.places import Scratch, WorldError
from env.wait import until
from nodes import told
from sick import LIMIT_S, Patient, held

pytestmark = [pytest.mark.full("five joins of control planes"), pytest.mark.timeout(1800)]

STEP = "start the machine, until it is a node: control plane 2: "
KILLED = "programs in it were killed for memory: "


class Trio(Patient):
    """Its control planes in the order in which they boot."""

    def phase(self, name: str) -> str:
        try:
            return told(self.site, name)[0]
        except WorldError:  # it has just gone
            return ""

    def first(self) -> str:
        return next(name for name in self.machines() if self.phase(name) == "done")

    def joining(self, dead: str = "") -> str:
        """The one that joins, once kubeadm runs in it."""
        return until(lambda: next((name for name in self.machines() if name != dead and self.phase(name) == "join"), ""), "a join", LIMIT_S)

    def until_has_vote(self, name: str) -> None:
        def has_vote() -> bool:
            assert self.phase(name) == "join", told(self.site, name)
            return name in self.voters(self.first())

        until(has_vote, f"the vote of {name}", LIMIT_S)

    def members(self) -> list[str]:
        """Of its etcd, also those without a vote, as the first one knows them; "" until they have started."""
        return sorted(one.get("name", "") for one in self.ask_etcd(self.first(), "list", {})["members"])

    def fails_for_memory(self, name: str) -> None:
        self.until_state("failed")
        said = self.end_as_told()
        assert said.startswith(f"{STEP}{name}: {KILLED}") and "\nremedy: retry; if that ends in the same way" in said, said
        self.assert_no_user_data()


@pytest.fixture(scope="module")
def place(scratch: Scratch) -> Iterator[Site]:
    with site_of(scratch, node_image()) as made:
        yield made


@pytest.fixture(scope="module")
def kaasd(place: Site) -> Iterator[Kaasd]:
    with kaasd_on(place) as started:
        apply_provider(place, started, service_addresses=[])
        yield started


@pytest.fixture(scope="module")
def before(place: Site) -> set[str]:
    return place.inventory()


@pytest.fixture(scope="module")
def trio(place: Site, kaasd: Kaasd, before: set[str]) -> Trio:
    assert before
    made = Trio(place, kaasd, "trio")
    made.begin("east", "--control-planes", "3")
    return made


def test_one_that_is_killed_for_memory_while_it_learns(trio: Trio) -> None:
    """The cluster goes on with one; the next try makes another machine, and etcd has nothing of the dead one."""
    dead = trio.joining()
    until(lambda: len(trio.members()) > 1, "a member that learns", LIMIT_S)
    trio.site.guests.starve(dead)
    trio.fails_for_memory(dead)
    trio.retry()
    assert trio.joining(dead)
    assert dead not in trio.machines() and dead not in trio.members() and len(trio.members()) <= len(trio.machines())
    assert dead not in [node.name for node in trio.nodes()]


def test_one_that_has_a_vote_and_is_off_takes_the_majority_away(trio: Trio) -> None:
    """Retry says so, and what the way back is; once the machine runs again, another one is made in its place."""
    dead = trio.joining()
    trio.until_has_vote(dead)
    trio.site.guests.starve(dead)
    trio.fails_for_memory(dead)
    trio.site.power(dead, "off")
    trio.retry()
    waits = trio.until_waits(f"{dead} cannot be taken out of etcd: it had a vote already, and without it etcd has no majority")
    assert waits["remedy"].startswith(f"power {dead} on at the vCenter, with more memory if that was short")
    with pytest.raises(WorldError):
        trio.nodes()
    trio.site.power(dead, "on")
    assert trio.joining(dead)
    assert dead not in trio.machines() and dead not in trio.members()


def test_one_whose_host_dies_once_it_has_a_vote_is_replaced_without_anybody(trio: Trio) -> None:
    """kaasd powers it on again, so the majority is back; then its member is taken out, and another one is made."""
    dead = trio.joining()
    trio.until_has_vote(dead)
    trio.site.power(dead, "off")
    assert trio.joining(dead)
    assert dead not in trio.machines() and dead not in trio.members()


def test_all_three_are_made_in_the_end(trio: Trio) -> None:
    nodes = trio.until_made()
    names = sorted(node.name for node in nodes)
    assert len(names) == 3 and trio.machines() == names and trio.voters(names[0]) == trio.members() == names


def test_delete_needs_no_majority(trio: Trio, before: set[str]) -> None:
    for name in trio.machines()[:2]:
        trio.site.power(name, "off")
    trio.delete()
    assert trio.site.inventory() == before and not held(trio.kaasd)
    trio.kaasd.ctl.ok("provider", "remove", "east", "--yes")
