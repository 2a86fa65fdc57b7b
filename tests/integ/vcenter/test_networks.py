"""Where kaasd connects to, by default and when it is told: tried in a network that has such addresses."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from env.full import register
from env.installed import adopt, installed_database
from env.kaasd import Kaasd
from env.netns import Network
from env.places import Scratch
from env.vcenter import StrictVcenter, start_strict
from env.wait import until

HERE, METADATA = "192.0.2.10", "169.254.169.254"
TUNNEL_PORT = 8080
REMEDY = "add its network to {} in kaasd's configuration"
HX_BODY = ("--user", "admin", "--password-file", "-", "--sha256", "AB" * 32)


@dataclass
class Place:
    scratch: Scratch
    network: Network
    vcenter: StrictVcenter
    kaasd: Kaasd

    def start(self, **options: object) -> None:
        """With the default of every option that is about networks, unless told."""
        self.kaasd.stop()
        self.kaasd.write_config({"vcenter": None, "hx": None, **options})
        self.kaasd.spawn(self.network.inside).wait_until(lambda: not self.kaasd.ctl.run("vcenter", "list").returncode, "readiness")

    def add(self, address: str) -> str:
        """What `kaasctl vcenter add` says; nothing if it went well."""
        where = f"[{address}]" if ":" in address else address
        done = self.kaasd.ctl.run("vcenter", "add", f"{where}:{self.vcenter.port}", "--thumbprint", self.vcenter.sha256, "--yes",
                                  "--tunnel-port", str(TUNNEL_PORT))
        return done.stderr if done.returncode else ""


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A vCenter that answers at all addresses of its network."""
    scratch = Scratch("nets")
    with Network(scratch, f"{HERE}/32", f"{METADATA}/32") as network:
        db = installed_database(scratch)
        vcenter = start_strict(scratch, flags=("--listen", ":8443", "--tunnel-listen", f":{TUNNEL_PORT}"), inside=network.inside)
        kaasd = Kaasd(scratch, db.socket)
        adopt(kaasd)
        made = Place(scratch, network, vcenter, kaasd)
        made.start()
        yield made
        kaasd.stop()
        vcenter.stop()
        db.close()
    scratch.remove()


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "localhost", METADATA, "::1", "::ffff:127.0.0.1"])
def test_a_vcenter_is_not_where_only_this_host_listens(place: Place, address: str) -> None:
    said = place.add(address)
    assert "where kaasd does not connect to" in said and REMEDY.format("vcenter.allowed_networks") in said, said


def first_reading(place: Place, hx: str) -> dict[str, Any] | None:
    """What came of it, once it is there: kaasd reads by itself as soon as it is connected."""
    status: dict[str, Any] = place.kaasd.ctl.json("hx", "connection", hx)["status"]
    return status if status["checked_at"] else None


def test_a_vcenter_elsewhere_is_reached_and_hx_clusters_are_judged_alike(place: Place) -> None:
    assert place.add(HERE) == ""
    register(place.kaasd, place.vcenter)
    east = place.kaasd.ctl.json("hx", "list")[0]["id"]
    for address, told in ((METADATA, "where kaasd does not connect to"), ("127.0.0.1", "where kaasd does not connect to"),
                          (HERE, "is not the expected one")):
        place.kaasd.ctl.ok("hx", "connect", east, "--address", address, "--port", str(place.vcenter.port), *HX_BODY, stdin="secret\n")
        status = until(lambda: first_reading(place, east), "the first reading")
        assert told in status["detail"], status
        assert (REMEDY.format("hx.allowed_networks") in status["remedy"]) == (address != HERE)


def test_what_is_listed_is_all_there_is(place: Place) -> None:
    place.start(vcenter={"allowed_networks": ["10.0.0.0/8"]})
    said = place.kaasd.ctl.run("doctor", "--vcenter", place.vcenter.instance_uuid).stdout
    assert f"{HERE}, where kaasd does not connect to" in said and REMEDY.format("vcenter.allowed_networks") in said
    place.start(vcenter={"allowed_networks": ["10.0.0.0/8", f"{HERE}/32"]})
    assert "does not connect to" not in place.kaasd.ctl.run("doctor", "--vcenter", place.vcenter.instance_uuid).stdout
