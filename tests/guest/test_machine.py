"""A machine from its first boot to its end, told in order: what the vCenter says happens in it, and what happens in it the vCenter says."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from env.guest.site import Site
from env.process import run
from env.wait import until
from seed import guest_of, guestinfo, power_state, seed

FIRST, SECOND = "10.77.0.11", "10.77.0.12"
MEMORY_MB = 512
FILE = "/etc/from-user-data"


def user_data(phase: str) -> dict[str, object]:
    return {"write_files": [{"path": FILE, "content": "written by cloud-init\n"}],
            "runcmd": [["sh", "-c", f'echo ran >>/srv/runs; vmtoolsd --cmd "info-set guestinfo.phase {phase}"']]}


@pytest.fixture(scope="module")
def booted(site: Site) -> Site:
    for name, address in (("first", FIRST), ("second", SECOND)):
        site.clone(name, cpus=1, memory_mb=MEMORY_MB)
        seed(site, name, address, user_data(f"{name} is there"), redact=("userdata",))
        site.power(name, "on")
    for name in ("first", "second"):
        site.guests.until_set_up(name)
    return site


def test_cloud_init_applied_what_the_vcenter_has(booted: Site) -> None:
    assert booted.guests.ok("first", "hostname").strip() == "first"
    assert f"{FIRST}/24" in booted.guests.ok("first", "ip -brief address show eth0")
    assert "default via 10.77.0.1 dev eth0" in booted.guests.ok("first", "ip route")
    assert booted.guests.ok("first", f"cat {FILE}") == "written by cloud-init\n"
    assert booted.guests.ok("first", "cat /srv/runs") == "ran\n"
    assert booted.guests.ok("first", "systemctl is-system-running --wait").strip() == "running"
    # as a virtual machine that knows the UUID of its firmware
    assert booted.guests.ok("first", "cat /etc/machine-id").strip() == booted.info("first")["config"]["uuid"].replace("-", "")


def test_the_vcenter_knows_what_the_guest_says(booted: Site) -> None:
    guest = until(lambda: (seen := guest_of(booted, "first")) and seen.hostName == "first" and seen.ipAddress and seen, "the host name")
    assert guest.toolsRunningStatus == "guestToolsRunning"
    assert guest.ipAddress == FIRST
    (card,) = guest.net
    assert card.macAddress == booted.mac("first") and card.network == "VM Network"
    assert FIRST in card.ipAddress
    assert booted.govc("vm.ip", "first").strip() == FIRST
    told = guestinfo(booted, "first")
    assert told["guestinfo.phase"] == "first is there"
    assert told["guestinfo.userdata"] == "---", "what cloud-init was to redact"
    assert booted.guests.ok("first", "vmware-rpctool 'info-get guestinfo.phase'").strip() == "first is there"
    missing = booted.guests.run("first", "vmware-rpctool 'info-get guestinfo.nothing'")
    assert (missing.returncode, missing.stderr) == (1, "No value found")


def test_guestinfo_that_is_wiped_at_the_vcenter_is_gone_in_the_guest(booted: Site) -> None:
    booted.give("first", userdata="", **{"userdata.encoding": ""})
    assert not guestinfo(booted, "first").get("guestinfo.userdata")
    until(lambda: booted.guests.run("first", "vmware-rpctool 'info-get guestinfo.userdata'").stdout.strip() == "", "its end in the guest")
    too_much = booted.guests.run("first", 'vmtoolsd --cmd "info-set guestinfo.much $(head -c 66000 /dev/zero | tr "\\0" x)"')
    assert too_much.returncode == 1 and "guestinfo.much" not in guestinfo(booted, "first")


def test_it_has_as_much_as_the_vcenter_says(booted: Site) -> None:
    assert booted.guests.ok("first", "nproc").strip() == "1"
    assert booted.guests.memory_limit("first") == MEMORY_MB << 20
    eats = f"python3 -c 'print(len(bytearray({2 * MEMORY_MB} << 20)))'"
    assert booted.guests.run("first", f"systemd-run --quiet --wait {eats}").returncode != 0, "more than its memory"
    assert booted.guests.ok("second", "echo well").strip() == "well"


def test_machines_reach_each_other_and_the_world_reaches_them(booted: Site) -> None:
    booted.guests.ok("first", f"ping -c 1 -W 5 {SECOND}")
    serve = "systemd-run --quiet --unit=web python3 -m http.server 8080 --directory /srv"
    booted.guests.ok("second", serve)
    def answer() -> str:
        return run(["curl", "--silent", "--max-time", "5", f"http://{SECOND}:8080/runs"]).stdout
    assert until(answer, "an answer from the second machine") == "ran\n"


def test_power_off_ends_all_at_once_and_power_on_finds_the_disk(booted: Site) -> None:
    leader = booted.guests.leader("first")
    children = {int(pid) for pid in run(["ps", "-o", "pid=", "--ppid", str(leader)]).stdout.split()}
    assert children
    booted.guests.ok("first", "echo kept >/srv/kept; sync; systemd-run --quiet --property=TimeoutStopSec=600 --unit=stubborn "
                              "sh -c 'trap \"\" TERM; while :; do sleep 1; done'")
    booted.power("first", "off")
    until(lambda: not [pid for pid in (leader, *children) if Path(f"/proc/{pid}").exists()], "the end of all of its processes")
    assert guest_of(booted, "first").toolsRunningStatus == "guestToolsNotRunning" and not guest_of(booted, "first").net
    booted.power("first", "on")
    booted.guests.until_set_up("first")
    assert booted.guests.ok("first", "cat /srv/kept /srv/runs") == "kept\nran\n", "cloud-init knows that it was here"
    assert f"{FIRST}/24" in booted.guests.ok("first", "ip -brief address show eth0")


def test_a_restart_by_its_tools_comes_back(booted: Site) -> None:
    leader = booted.guests.leader("first")
    booted.power("first", "r")
    until(lambda: not Path(f"/proc/{leader}").exists(), "the end of the boot before")
    booted.guests.until_on("first")
    assert power_state(booted, "first") == "poweredOn"


def test_a_shutdown_is_in_order(booted: Site) -> None:
    booted.guests.ok("first", "systemd-run --quiet --unit=farewell --property=ExecStop='/bin/sh -c \"echo bye >/srv/farewell; sync\"' "
                              "sleep infinity")
    booted.power("first", "s")
    until(lambda: power_state(booted, "first") == "poweredOff", "power off by the guest")
    assert (Path(booted.guests.machines()["first"]["disk"]) / "upper/srv/farewell").read_text() == "bye\n"


def test_destroy_leaves_nothing(booted: Site) -> None:
    disk = Path(booted.guests.machines()["second"]["disk"])
    assert (disk / "upper/srv/runs").read_text() == "ran\n"
    booted.power("second", "off")
    booted.govc("vm.destroy", "second")
    until(lambda: "second" not in booted.guests.machines(), "its end")
    assert not disk.exists()
