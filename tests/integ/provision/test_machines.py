"""Machines come to be and end by jobs, whatever happens on the way: exactly those that are wanted, and no user-data left behind."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env.dying import Death
from env.full import World
from env.logins import until

from .machines import ALL, OWN, Machines, good, joined

pytestmark = [pytest.mark.slow, pytest.mark.long(120)]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with World("machines") as world:
        made = joined(world)
        yield made
        made.close()


@pytest.fixture(autouse=True)
def tidy(machines: Machines) -> Iterator[None]:
    yield
    machines.control.clear_faults()
    machines.control.forget_task_rules()
    machines.control.settings(task_ms=50)
    machines.guests.say = good
    machines.control.role("Builder", *OWN, *ALL)
    for row in machines.world.admin.items("/v2/jobs"):
        if row["state"] in ("queued", "running", "undoing"):
            if row["state"] != "undoing":
                cancel(machines, row["id"])
            machines.wait(row["id"], "canceled", "failed")
    if machines.rows() or machines.built():
        machines.wait(machines.remove(), "done")
    machines.query("DELETE FROM address_leases")


def test_machines_are_made_and_removed(machines: Machines) -> None:
    job_id = machines.make(3)
    machines.wait(job_id, "done")
    machines.assert_made(3)
    assert machines.folders() == ["prod"]
    told = machines.told(job_id)
    assert not [line for line in told if "the secret of" in line]
    assert machines.guests.seen_userdata == {f"the secret of {row['name']}" for row in machines.rows()}
    assert sorted(row["role"] for row in machines.rows()) == ["control-plane", "worker", "worker"]
    machines.wait(machines.remove(), "done")
    machines.assert_nothing()
    machines.assert_one_session()


# -- what goes wrong at the vCenter ----------------------------------------------------------------------------------------------


def failed(machines: Machines, job_id: str) -> str:
    """Why a job failed; nothing of its user-data is left then."""
    shown = machines.wait(job_id, "failed")
    machines.assert_no_userdata()
    assert not [row for row in machines.rows() if row["state"] == "seeded"]
    return shown["reason"]


def retry(machines: Machines, job_id: str) -> None:
    machines.world.admin.expect(200, "POST", f"/v2/jobs/{job_id}/retry")


def cancel(machines: Machines, job_id: str) -> None:
    machines.world.admin.expect(200, "POST", f"/v2/jobs/{job_id}/cancel")


def test_a_clone_that_fails_half_way(machines: Machines) -> None:
    machines.control.plan_tasks("CloneVM_Task", fail_at=60, fault="FileFault", text="The disk is gone.", count=1)
    job_id = machines.make(2)
    reason = failed(machines, job_id)
    assert "FileFault" in reason and "The disk is gone." in reason
    assert "template's files" in machines.job(job_id)["remedy"]
    retry(machines, job_id)
    machines.wait(job_id, "done")
    machines.assert_made(2)


def test_a_clone_tells_how_far_it_is(machines: Machines) -> None:
    rule = machines.control.plan_tasks("CloneVM_Task", duration_ms=1000, hold_at=40, count=1)
    job_id = machines.make()
    machines.control.await_tasks(rule, limit_s=20)
    until(lambda: [step["percent"] for step in machines.job(job_id)["steps"] if step["name"] == "clone"] == [40], "40 percent")
    machines.control.release_tasks(rule)
    machines.wait(job_id, "done")


def test_no_more_than_four_clones_at_once(machines: Machines) -> None:
    rule = machines.control.plan_tasks("CloneVM_Task", hold_at=10)
    job_id = machines.make(6)
    machines.control.await_tasks(rule, held=4, limit_s=20)
    machines.wait_line(job_id, "waits its turn: 4 tasks are under way")
    assert len([task for task in machines.control.tasks() if task["op"] == "CloneVM_Task" and task["state"] == "running"]) == 4
    machines.control.release_tasks(rule)
    machines.wait(job_id, "done")
    machines.assert_made(6)


def test_the_vcenter_is_not_asked_while_a_clone_waits_its_turn(machines: Machines) -> None:
    machines.control.plan_tasks("CloneVM_Task", duration_ms=5000)  # the others look for their turn every two seconds
    before = machines.control.last_call()
    job_id = machines.make(6)
    machines.wait(job_id, "done")
    assert any("waits its turn" in line for line in machines.told(job_id))
    looked = machines.control.calls(op="FindByUuid", after=str(before))
    assert 6 <= len(looked) <= 6 + 2, "each once before its clone is begun, and two workers may look for the last place at the same moment"


def test_what_is_lacking_is_named_and_nothing_is_left(machines: Machines) -> None:
    without = [privilege for privilege in ALL if privilege != "VirtualMachine.Interact.PowerOn"]
    machines.control.role("Builder", *OWN, *without)
    job_id = machines.make()
    assert "VirtualMachine.Interact.PowerOn" in failed(machines, job_id)
    machines.control.role("Builder", *OWN, *ALL)
    before = machines.rows()
    retry(machines, job_id)
    machines.wait(job_id, "done")
    machines.assert_made(1)
    assert machines.rows()[0]["instance_uuid"] == before[0]["instance_uuid"]  # it never ran, so it is used


def test_what_cannot_be_wiped_holds_the_job(machines: Machines) -> None:
    """The privilege goes while the guest boots: the job goes on until the user-data is gone."""
    machines.guests.say = lambda vm, address: good(vm, address)[:1]
    job_id = machines.make()
    machines.wait_line(job_id, "it looks whether it can become a node")
    machines.control.role("Builder", *OWN, *[privilege for privilege in ALL if privilege != "VirtualMachine.Config.AdvancedConfig"])
    (vm,) = machines.built()
    machines.control.guest_says(vm["moid"], guestinfo={"guestinfo.kaas.error": "init-failed: no", "guestinfo.kaas.phase": "failed"})
    machines.wait_line(job_id, "before this step ends")
    assert machines.job(job_id)["state"] == "running" and machines.built()[0]["guestinfo"]["guestinfo.userdata"]
    machines.control.role("Builder", *OWN, *ALL)
    assert "kubeadm init failed" in failed(machines, job_id)
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")
    machines.assert_nothing()


def test_no_room_on_the_datastore(machines: Machines) -> None:
    machines.control.set_room(machines.datastore, free_bytes=1 << 20)
    job_id = machines.make()
    assert "NoDiskSpace" in failed(machines, job_id)
    machines.control.set_room(machines.datastore, free_bytes=1 << 45)
    retry(machines, job_id)
    machines.wait(job_id, "done")


def test_no_address_is_left(machines: Machines) -> None:
    job_id = machines.make(3, addresses="10.9.0.20-10.9.0.21")
    assert "provider east has no address left in 10.9.0.20-10.9.0.21" in failed(machines, job_id)
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")
    machines.assert_nothing()
    job_id = machines.make(1, addresses="10.9.0.20-10.9.0.21")  # what was given back is quiet
    assert "no address left" in failed(machines, job_id)
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")


def test_a_stranger_is_named_and_left_alone(machines: Machines) -> None:
    held = machines.control.hold("CloneVM_Task", executed=False, count=1)
    job_id = machines.make()
    machines.control.await_held(held)
    (row,) = machines.rows()
    (stranger,) = machines.control.create_machines("domain-c7", row["name"])
    own = next(o["id"] for o in machines.control.objects("Folder") if o.get("parent") == machines.folder)
    machines.control.move(stranger, own)
    machines.control.release(held)
    reason = failed(machines, job_id)
    other = machines.control.vm(stranger)
    assert row["name"] in reason and row["instance_uuid"] in reason and other["instance_uuid"] in reason
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")
    assert machines.control.vm(stranger) == other and not machines.rows() and machines.folders() == ["prod"]
    machines.control.remove(stranger)
    machines.control.remove(own)


def test_a_machine_that_is_gone_is_not_built_again(machines: Machines) -> None:
    machines.guests.say = lambda vm, address: []
    job_id = machines.make()
    machines.wait_line(job_id, "it has told nothing yet")
    (row,) = machines.rows()
    machines.control.remove(row["moref"])
    reason = failed(machines, job_id)
    assert f"does not find machine {row['name']} (instance UUID {row['instance_uuid']}) any more" in reason
    clones = len(machines.control.calls(op="CloneVM_Task"))
    retry(machines, job_id)
    failed(machines, job_id)
    assert len(machines.control.calls(op="CloneVM_Task")) == clones and not machines.built()
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")
    machines.assert_nothing()


# -- guests ------------------------------------------------------------------------------------------------------------------------


def bad(vm: dict[str, Any], address: str) -> list[dict[str, Any]]:
    return [*good(vm, address)[:2], {"guestinfo": {"guestinfo.kaas.error": "join-failed: etcd is not healthy",
                                                   "guestinfo.kaas.phase": "failed"}}]


def test_a_guest_that_fails_is_replaced_by_the_next_try(machines: Machines) -> None:
    machines.guests.say = bad
    job_id = machines.make()
    assert "kubeadm join failed" in failed(machines, job_id)
    (sick,) = machines.rows()
    assert sick["state"] == "sick" and machines.built()[0]["power"] == "poweredOn"
    machines.guests.say = good
    retry(machines, job_id)
    machines.wait(job_id, "done")
    machines.assert_made(1)
    (row,) = machines.rows()
    assert row["name"] != sick["name"] and row["instance_uuid"] != sick["instance_uuid"] and row["address"] == sick["address"]
    assert f"boot the machine: {sick['name']} is given up" in machines.told(job_id)


def test_a_guest_that_got_over_it_stays(machines: Machines) -> None:
    machines.guests.say = bad
    job_id = machines.make()
    failed(machines, job_id)
    (sick,) = machines.rows()
    machines.control.guest_says(sick["moref"], guestinfo={"guestinfo.kaas.error": "", "guestinfo.kaas.phase": "done"})
    retry(machines, job_id)
    machines.wait(job_id, "done")
    assert machines.rows()[0]["instance_uuid"] == sick["instance_uuid"]


def test_a_guest_that_goes_on_is_waited_for_once_more(machines: Machines) -> None:
    """What kept it has gone before the next try; but one that looks like that again and again may hang."""
    machines.guests.say = bad
    job_id = machines.make()
    failed(machines, job_id)
    (sick,) = machines.rows()
    goes_on = {"guestinfo.kaas.error": "", "guestinfo.kaas.phase": "join"}
    machines.control.guest_says(sick["moref"], guestinfo=goes_on)
    retry(machines, job_id)
    machines.wait_line(job_id, f"{sick['name']} goes on by itself")
    machines.control.guest_says(sick["moref"], guestinfo={"guestinfo.kaas.error": "join-failed: no", "guestinfo.kaas.phase": "failed"})
    failed(machines, job_id)
    assert machines.rows()[0]["state"] == "sick"
    machines.assert_no_userdata()
    machines.control.guest_says(sick["moref"], guestinfo=goes_on)
    machines.guests.say = good
    retry(machines, job_id)
    machines.wait(job_id, "done")
    assert machines.rows()[0]["instance_uuid"] != sick["instance_uuid"]
    machines.assert_made(1)


def test_one_whose_join_was_cut_off_is_replaced_at_once(machines: Machines) -> None:
    """Nobody has to see to anything: its host died, and it runs again."""
    machines.guests.say = lambda vm, address: [*good(vm, address)[:1], {"guestinfo": {"guestinfo.kaas.error": "cut-off: it had begun",
                                                                                      "guestinfo.kaas.phase": "failed"}}]
    job_id = machines.make()
    machines.wait_line(job_id, "a restart has cut its join off")
    machines.guests.say = good
    machines.wait(job_id, "done")
    assert any(line.startswith("boot the machine: prod-cp-") and line.endswith(" is given up") for line in machines.told(job_id))
    machines.assert_made(1)


def test_what_boots_comes_to_its_end_before_the_job_fails(machines: Machines) -> None:
    machines.guests.say = lambda vm, address: good(vm, address)[:1]
    machines.control.plan_tasks("CloneVM_Task", skip=1, count=1, duration_ms=3000, fail_at=50)
    job_id = machines.make(2)
    machines.wait_line(job_id, "vCenter answered its task with fault SystemError")
    assert machines.job(job_id)["state"] == "running"
    (vm,) = machines.built()
    for report in good(vm, machines.address_of(vm["name"]))[1:]:
        machines.control.guest_says(vm["moid"], **report)
    failed(machines, job_id)
    assert sorted(row["state"] for row in machines.rows()) == ["drawn", "ready"]
    machines.guests.say = good
    retry(machines, job_id)
    machines.wait(job_id, "done")
    machines.assert_made(2)


# -- cancel ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["CreateFolder", "CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"])
def test_canceled_in_the_middle_of_a_call(machines: Machines, op: str) -> None:
    held = machines.control.hold(op, executed=True, count=1)
    job_id = machines.make()
    machines.control.await_held(held)
    cancel(machines, job_id)
    machines.control.release(held)
    machines.wait(job_id, "canceled")
    machines.assert_nothing()


def test_canceled_while_it_is_cloned(machines: Machines) -> None:
    rule = machines.control.plan_tasks("CloneVM_Task", hold_at=50)
    job_id = machines.make()
    machines.control.await_tasks(rule, limit_s=20)
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")
    assert [task["cancelled"] for task in machines.control.tasks() if task["op"] == "CloneVM_Task"][-1]
    machines.assert_nothing()


def test_canceled_while_the_guest_boots(machines: Machines) -> None:
    machines.guests.say = lambda vm, address: []
    job_id = machines.make(2)
    until(lambda: [row["state"] for row in machines.rows()] == ["seeded"] * 2, "both boot")
    machines.wait_line(job_id, "it has told nothing yet")
    cancel(machines, job_id)
    machines.wait(job_id, "canceled")
    machines.assert_nothing()


# -- kills and restarts ------------------------------------------------------------------------------------------------------------


def has_died(machines: Machines) -> bool:
    process = machines.world.kaasd.process
    return process is not None and not process.alive


def run_until_it_dies(machines: Machines, death: Death) -> bool:
    """False: the job was done before."""
    machines.dying.order(death)
    job_id = machines.make()

    def is_over() -> str:
        if has_died(machines):
            return "died"
        rows = machines.query(f"SELECT state FROM jobs WHERE id = '{job_id}'")
        assert rows != [("failed",)], machines.query(f"SELECT text FROM job_lines WHERE job_id = '{job_id}' ORDER BY seq")
        return "done" if rows == [("done",)] else ""

    if until(is_over, f"the end of it, {death}", limit_s=30) == "done" and machines.dying.forget():
        return False
    machines.world.kaasd.kill()
    machines.world.kaasd.start()
    until(lambda: machines.query(f"SELECT state FROM jobs WHERE id = '{job_id}'") == [("done",)], f"done, {death}", limit_s=30)
    return True


def kill_at_each(machines: Machines, when: str, numbers: range) -> int:
    """How often it died."""
    died = 0
    for number in numbers:
        if not run_until_it_dies(machines, Death(when, number)):
            return died
        died += 1
        machines.assert_made(1)
        machines.assert_one_session()
        machines.wait(machines.remove(), "done")
        machines.assert_nothing()
        machines.query("DELETE FROM address_leases")  # they are quiet for a while
    return died


@pytest.mark.parametrize(("when", "step"), [("before", 8), ("after", 8),
                                            pytest.param("before", 1, marks=pytest.mark.full("each of them takes four seconds")),
                                            pytest.param("after", 1, marks=pytest.mark.full("each of them takes four seconds"))])
def test_killed_at_a_commit(machines: Machines, when: str, step: int) -> None:
    """Whatever commit of the job or of the machine is the last one: one machine comes of it. The first makes the job, whose id nobody would
    know."""
    assert kill_at_each(machines, when, range(max(step, 2), 100, step)) >= 24 // step


@pytest.mark.parametrize("tasks", ["undone", "half", "done"])
@pytest.mark.parametrize("op", ["CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"])
def test_a_vcenter_that_restarts_loses_its_tasks(machines: Machines, op: str, tasks: str) -> None:
    rule = machines.control.plan_tasks(op, hold_at=50, count=1)
    job_id = machines.make()
    machines.control.await_tasks(rule, limit_s=20)
    machines.control.restart(tasks=tasks)
    machines.wait(job_id, "done")
    machines.assert_made(1)
    machines.assert_one_session()


def test_killed_while_a_clone_goes_on(machines: Machines) -> None:
    """The call was made and not committed, and the clone has no UUID yet by which it could be found: it is waited for."""
    rule = machines.control.plan_tasks("CloneVM_Task", hold_at=50)
    held = machines.control.hold("CloneVM_Task", executed=True, count=1)
    job_id = machines.make()
    machines.control.await_held(held)
    machines.control.await_tasks(rule, limit_s=20)
    machines.world.kaasd.kill()
    machines.control.release(held, drop=True)
    machines.world.kaasd.start()
    machines.wait_line(job_id, "is being cloned, by a call from before")
    machines.control.release_tasks(rule)
    machines.wait(job_id, "done")
    machines.assert_made(1)
    assert len([task for task in machines.control.tasks() if task["op"] == "CloneVM_Task" and task["entity"] == machines.template]) >= 1
