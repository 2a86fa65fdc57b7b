"""Ten vCenters with the same names in them: each is its own, a sick one harms no other, and they come and go."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from env.full import add_vcenter, register
from env.many import Many, uuid_of
from env.process import READY_LIMIT_S
from env.vcenter import StrictVcenter

pytestmark = [pytest.mark.slow, pytest.mark.long(45)]
COUNT = 10
OPTIONS = {"auth": {"rights_fresh": "1s"}}
HANGING, FLOODING, EXPIRED, RESTARTING = range(4)
WELL = range(4, COUNT)


@pytest.fixture(scope="module")
def many() -> Iterator[Many]:
    with Many(COUNT, OPTIONS) as all_of_them:
        yield all_of_them


def state(many: Many, vcenter: StrictVcenter) -> str:
    return many.admin.get(f"/v2/vcenters/{vcenter.instance_uuid}/status")["state"]


def wait_for(many: Many, happened: Callable[[], object], what: str) -> None:
    assert many.kaasd.process
    many.kaasd.process.wait_until(happened, what, READY_LIMIT_S)


@pytest.fixture
def hurt(many: Many) -> Iterator[Many]:
    """One hangs, one floods, one shows an expired certificate, one has just restarted."""
    sick = many.vcenters
    sick[HANGING].control.fault("*", "hang")
    sick[FLOODING].control.fault("*", "flood")
    sick[EXPIRED].control.change_certificate("expired")
    sick[EXPIRED].control.call("POST", "/disconnect")
    sick[RESTARTING].control.restart(down_ms=2000)
    yield many
    for vcenter in sick[:EXPIRED]:
        vcenter.control.clear_faults()


def test_the_same_names_are_different_things(many: Many) -> None:
    problem = many.admin.refused(409, "ambiguous", "GET", "/v2/clusters?hx_cluster=HX-East")
    assert len(problem["candidates"]) == 2 * COUNT  # HX-East of DC0 and of DC1, in each


def test_each_person_sees_the_clusters_of_the_own_vcenter_only(many: Many) -> None:
    for number, vcenter in enumerate(many.vcenters):
        assert many.sign_in(vcenter).names() == [f"vc{number}-east"]


def test_the_sick_harm_no_other(hurt: Many) -> None:
    wait_for(hurt, lambda: state(hurt, hurt.vcenters[EXPIRED]) == "unreachable", "the expired certificate")
    for number in WELL:
        person = hurt.sign_in(hurt.vcenters[number])
        assert person.names() == [f"vc{number}-east"]
        wait_for(hurt, lambda at=hurt.vcenters[number]: state(hurt, at) == "connected", f"vc{number} to be connected")


def test_they_recover_alone(many: Many) -> None:
    for number in (HANGING, FLOODING, RESTARTING):
        wait_for(many, lambda vcenter=many.vcenters[number]: state(many, vcenter) == "connected", f"vc{number} to be connected again")
        assert many.sign_in(many.vcenters[number]).names() == [f"vc{number}-east"]


def threads_for(daemon: psutil.Process) -> int:
    """Of the guest's worker pool, and of all watches. Other pools grow when there is work for them."""
    paths = Path(f"/proc/{daemon.pid}/task").glob("*/comm")
    names = []
    for path in paths:
        with suppress(OSError):  # it has just ended
            names.append(path.read_text().strip())
    return sum(name in {"guest", "watch", "watch-save"} for name in names)


def settled(many: Many, read: Callable[[], int], what: str) -> int:
    """What is read twice alike: a reading is several, and things may change between them."""
    last: list[int] = []
    wait_for(many, lambda: last.append(read()) or last[-2:] == [last[-1]] * 2 and len(last) > 1, what)
    return last[-1]


def descriptors(many: Many, daemon: psutil.Process, guest: StrictVcenter) -> int:
    """Without the connections to the database and to the other vCenters, which come and go as there is work."""
    elsewhere = [line for line in daemon.net_connections("tcp") if line.raddr and line.raddr.port != guest.port]
    database = many.db.query("SELECT COUNT(*) FROM information_schema.processlist WHERE command <> 'Daemon' AND id <> CONNECTION_ID()")
    return daemon.num_fds() - len(elsewhere) - database[0][0]


def test_a_vcenter_that_comes_and_goes_leaves_nothing_behind(many: Many) -> None:
    assert many.kaasd.process
    daemon = psutil.Process(many.kaasd.process.pid)
    threads, first = threads_for(daemon), 0
    with ExitStack() as stack:
        guest = many.start_vcenter("guest", uuid_of(99))
        stack.callback(guest.stop)
        for _ in range(5):
            add_vcenter(many.kaasd, guest, "--name", "guest")
            register(many.kaasd, guest)
            many.kaasd.ctl.ok("vcenter", "unregister", guest.instance_uuid, "--user", guest.admin.login, "--password-file", "-", "--yes",
                              stdin=guest.admin.password + "\n")
            many.kaasd.ctl.ok("vcenter", "rm", guest.instance_uuid, "--yes")
            wait_for(many, lambda: threads_for(daemon) == threads, "the threads for it to end")
            first = first or settled(many, lambda: descriptors(many, daemon, guest), "the descriptors")
        wait_for(many, lambda: descriptors(many, daemon, guest) <= first + 1, "the descriptors to be closed")
        assert [row for row in guest.control.sessions() if row["user_agent"].startswith("Harmony-KaaS")] == []
