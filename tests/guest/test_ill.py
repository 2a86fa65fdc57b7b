"""Machines that are ill, each in a way of its own, as tests of the product order them. All boot side by side."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time

import pytest
from env.guest.site import Site
from env.guest.world import BOOT_LIMIT_S
from env.process import run
from env.wait import until
from seed import guest_of, guestinfo, power_state, seed

pytestmark = pytest.mark.full("what tests of the product order, and so see as well")

NOBODY = "10.77.0.253"
LATE_S = 7200
MEMORY_MB = 200
DOOR = 8022
OPEN_A_DOOR = f"systemd-run --unit=door python3 -m http.server {DOOR}"
TELL_THE_TIME = 'vmtoolsd --cmd "info-set guestinfo.time $(date +%s)"'
EAT = f'python3 -c "bytearray({2 * MEMORY_MB} << 20)"; vmtoolsd --cmd "info-set guestinfo.ate $?"'
# how it is ill, in the order of their addresses
ILL = {"healthy": {}, "hung": {"is_hung": True}, "mute": {"is_mute": True}, "astray": {}, "unplugged": {"is_unplugged": True},
       "late": {"clock_s": LATE_S, "lacks": ["/usr/bin/nproc"]}, "small": {"memory_mb": MEMORY_MB}}
ADDRESSES = {name: f"10.77.0.{21 + place}" for place, name in enumerate(ILL)}


@pytest.fixture(scope="module")
def ward(site: Site) -> Site:
    for name, how in ILL.items():
        site.clone(name, memory_mb=512)
        site.guests.ail(name, **how)
        commands = [OPEN_A_DOOR, TELL_THE_TIME, EAT if name == "small" else "true"]
        seed(site, name, ADDRESSES[name], {"runcmd": [["sh", "-c", command] for command in commands]},
             **({"gateway": NOBODY} if name == "astray" else {}))
        site.power(name, "on")
    return site


def reaches(address: str) -> bool:
    """From where the test is, through the router."""
    return run(["timeout", "5", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{DOOR}"]).returncode == 0


def opens_its_door(site: Site, name: str) -> bool:
    """As it sees itself."""
    return bool(site.guests.leader(name)) and site.guests.run(name, f"exec 3<>/dev/tcp/127.0.0.1/{DOOR}").returncode == 0


def test_one_that_hangs_is_on_and_says_nothing(ward: Site) -> None:
    until(lambda: ward.guests.machines().get("hung", {}).get("boot"), "power on")
    assert power_state(ward, "hung") == "poweredOn" and not ward.guests.machines()["hung"]["pid"]
    assert guest_of(ward, "hung").toolsRunningStatus == "guestToolsNotRunning"


def test_one_without_tools_boots_and_says_nothing(ward: Site) -> None:
    until(lambda: opens_its_door(ward, "mute"), "its boot", BOOT_LIMIT_S)
    guest = guest_of(ward, "mute")
    assert guest.toolsRunningStatus == "guestToolsNotRunning" and not guest.hostName and not guest.net
    assert reaches(ADDRESSES["mute"])


@pytest.mark.parametrize("name", ["astray", "unplugged"])
def test_a_wrong_gateway_and_loose_cables_keep_a_machine_from_being_reached(ward: Site, name: str) -> None:
    for one in ("healthy", name):
        until(lambda one=one: opens_its_door(ward, one), f"the boot of {one}", BOOT_LIMIT_S)
    assert reaches(ADDRESSES["healthy"])
    assert not reaches(ADDRESSES[name])
    neighbour = ward.guests.run("healthy", f"timeout 5 bash -c 'exec 3<>/dev/tcp/{ADDRESSES[name]}/{DOOR}'")
    assert (neighbour.returncode == 0) == (name == "astray"), "on the same network a gateway is not needed"


def test_files_that_its_image_lacks_are_not_there(ward: Site) -> None:
    ward.guests.until_set_up("late")
    ward.guests.until_set_up("healthy")
    assert ward.guests.run("late", "test -e /usr/bin/nproc").returncode
    ward.guests.ok("healthy", "test -e /usr/bin/nproc")


def test_a_wrong_clock_is_seen_by_what_cloud_init_runs(ward: Site) -> None:
    def told(name: str) -> int:
        return until(lambda: int(guestinfo(ward, name).get("guestinfo.time", "0")), f"the time of {name}", BOOT_LIMIT_S)

    assert abs(told("healthy") - time.time()) < LATE_S / 4
    assert abs(told("late") - LATE_S - time.time()) < LATE_S / 4


def test_one_that_takes_more_than_its_memory_is_killed_and_nobody_else(ward: Site) -> None:
    assert until(lambda: guestinfo(ward, "small").get("guestinfo.ate"), "its end", BOOT_LIMIT_S) == "137", "SIGKILL"
    assert power_state(ward, "small") == "poweredOn"
    ward.guests.ok("healthy", "true")
    ward.guests.limit_memory("healthy", MEMORY_MB)
    assert ward.guests.run("healthy", f'python3 -c "bytearray({2 * MEMORY_MB} << 20)"; exit $?').returncode == 137
    assert ward.guests.memory_limit("healthy") == MEMORY_MB << 20


def test_one_that_stands_still_goes_on_later(ward: Site) -> None:
    ward.guests.until_set_up("healthy")
    ward.guests.freeze("healthy")
    stuck = run(["curl", "--silent", "--max-time", "2", f"http://{ADDRESSES['healthy']}:{DOOR}"])
    assert stuck.returncode == 28, "a time-out"
    ward.guests.thaw("healthy")
    until(lambda: run(["curl", "--silent", "--max-time", "2", f"http://{ADDRESSES['healthy']}:{DOOR}"]).returncode == 0, "an answer")
    ward.guests.freeze("healthy")
    ward.power("healthy", "off")
    until(lambda: not ward.guests.machines()["healthy"]["pid"], "the end of what stood still")


def test_somebody_else_has_the_address(ward: Site) -> None:
    ward.guests.occupy("10.77.0.99/24", DOOR)
    until(lambda: reaches("10.77.0.99"), "somebody there")
    ward.guests.vacate("10.77.0.99/24")
    assert not reaches("10.77.0.99")


def test_it_is_well_again_with_the_next_power_on(ward: Site) -> None:
    ward.guests.cure("hung")
    ward.power("hung", "reset")
    ward.guests.until_set_up("hung")
    assert ADDRESSES["hung"] in until(lambda: (found := guest_of(ward, "hung").net) and found[0].ipAddress, "its addresses")
