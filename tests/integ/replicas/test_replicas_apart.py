"""The doctor of replicas: do their virtual machines share a host or a datastore."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.full import World, add_vcenter, register
from env.kaasd import Kaasd
from env.places import Scratch

pytestmark = pytest.mark.slow
ONE, OTHER = "42000000-1111-4aaa-8aaa-000000000001", "42000000-1111-4aaa-8aaa-000000000002"
TURNED = "00000042-1111-aa4a-8aaa-000000000002"  # OTHER as a guest with newer virtual hardware reads it
IN_1, IN_2, AGAIN_IN_2, FAR = "vm-101", "vm-102", "vm-103", "vm-126"  # on hx-east-1, hx-east-2 twice, and in another datacenter


def run_on(scratch: Scratch, name: str, uuid: str) -> dict[str, str]:
    """The environment of a replica whose machine has this UUID, as the unit of systemd leaves it."""
    folder: Path = scratch.path / name
    beside: Path = scratch.path / f"{name}-machine"
    beside.mkdir(exist_ok=True)
    (beside / "product_uuid").write_text(uuid + "\n")
    return {"RUNTIME_DIRECTORY": str(folder)}


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[World, Kaasd, Scratch]]:
    scratch = Scratch("m")
    with World("ap", env=run_on(scratch, "one", ONE)) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        other = world.kaasd.beside("kaasd-2")
        other.env = run_on(scratch, "other", TURNED)
        try:
            yield world, other, scratch
        finally:
            other.stop()
    scratch.remove()


def found(world: World) -> dict[str, Any]:
    report = world.admin.expect(200, "POST", f"/v2/vcenters/{world.vcenter.instance_uuid}/doctor")
    return next(finding for finding in report["findings"] if finding["step"] == "replicas")


def put(world: World, one: str, other: str) -> None:
    """The replicas run on these machines from now on."""
    for number, machine in enumerate((IN_1, IN_2, AGAIN_IN_2, FAR)):
        world.vcenter.control.identify(machine, uuid=f"42000000-2222-4aaa-8aaa-00000000000{number}")
    world.vcenter.control.identify(one, uuid=ONE)
    world.vcenter.control.identify(other, uuid=OTHER)


def test_the_doctor_tells_what_replicas_share(pair: tuple[World, Kaasd, Scratch]) -> None:
    world, other, scratch = pair
    assert (found(world)["status"], found(world)["finding"]) == ("skipped", "only one replica runs")
    other.start()
    names = sorted(name for (name,) in world.db.query("SELECT name FROM replicas WHERE id > 0", database="kaas"))
    assert len(names) == 2
    told = found(world)
    assert told["status"] == "skipped"
    assert all(f"{name} is not on this vCenter" in told["finding"] for name in names)
    put(world, IN_2, AGAIN_IN_2)
    told = found(world)
    assert told["status"] == "warning"
    assert "run on the same host hx-east-2.example.test" in told["finding"]
    assert "are on the same datastore" in told["finding"]
    assert all(name in told["finding"] for name in names)
    assert "DRS rule" in told["remedy"]
    put(world, IN_1, IN_2)
    told = found(world)
    assert told["status"] == "warning"
    assert "same host" not in told["finding"]
    assert "are on the same datastore" in told["finding"]
    put(world, IN_1, FAR)
    assert (found(world)["status"], found(world)["finding"]) == ("ok", "2 replicas run on different hosts and datastores")
    said = world.kaasd.ctl.run("doctor", "--vcenter", world.vcenter.instance_uuid)
    assert "2 replicas run on different hosts" in said.stdout
    other.stop()
    other.env = run_on(scratch, "other", "Not Settable")
    other.start()
    row = world.db.query("SELECT machine_uuid FROM replicas WHERE name = 'kaasd-2'", database="kaas")
    assert row[0][0] not in (OTHER, TURNED)
