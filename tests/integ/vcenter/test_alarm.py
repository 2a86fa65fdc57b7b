"""The alarm in vCenter that turns with the state of Kubernetes clusters: made with the registration, found again, taken away."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from env import vimclient
from env.full import EXTENSION_KEY, World, add_vcenter, ctl
from env.wait import until
from env.watching import until_watching
from pyVmomi import vim

pytestmark = pytest.mark.slow
NAME = "Harmony KaaS: state of Kubernetes clusters"
EAST, EAST_PATH = "domain-c7", "/DC0/host/HX-East"
REGISTERING = ("Extension.Register", "Extension.Update", "Extension.Unregister", "Sessions.ValidateSession")


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("al") as whole:
        add_vcenter(whole.kaasd, whole.vcenter)
        yield whole


@pytest.fixture
def new(place: World) -> Iterator[World]:
    """Not registered, and no alarm of that name."""
    yield place
    if place.admin.get(f"/v2/vcenters/{place.vcenter.instance_uuid}")["registered"]:
        ctl(place, "unregister")
    with vimclient.session(place.vcenter, place.vcenter.admin) as instance:
        for alarm in defined(instance):
            alarm.RemoveAlarm()


def defined(instance: vim.ServiceInstance) -> list[Any]:
    content = instance.RetrieveContent()
    listed = content.alarmManager.GetAlarm(content.rootFolder)
    return [alarm for alarm in listed if vimclient.read_property(instance, alarm, "info").name == NAME]


def definition(place: World) -> Any | None:
    """What the vCenter holds of it."""
    with vimclient.session(place.vcenter, place.vcenter.admin) as instance:
        found = [vimclient.read_property(instance, alarm, "info") for alarm in defined(instance)]
    assert len(found) < 2
    return found[0] if found else None


def light(place: World) -> str:
    """The status of the vSphere cluster's alarms: that of ours, the others do not stir."""
    with vimclient.session(place.vcenter, place.vcenter.admin) as instance:
        cluster = vim.ClusterComputeResource(EAST, instance._stub)
        states = vimclient.read_property(instance, cluster, "triggeredAlarmState")
    return states[0].overallStatus if states else "green"


def test_it_turns_with_the_state_of_a_cluster(new: World) -> None:
    said = ctl(new, "register", "--create-alarms", "--dry-run")
    assert f'make the alarm "{NAME}"' in said
    assert definition(new) is None
    said = ctl(new, "register", "--create-alarms")
    assert "Alarm Definitions" in said
    until_watching(new)
    until(lambda: new.db.query("SELECT 1 FROM vcenters WHERE events_since_ms > 0", database="kaas"), "the vCenter counts")
    place = {"vcenter_id": new.vcenter.instance_uuid, "moref": EAST}
    cluster = new.admin.expect(201, "POST", "/v2/clusters", json={
        "name": "prod-1", "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
        "vsphere_clusters": [place]})["id"]
    for state, wanted in (("degraded", "yellow"), ("failed", "red"), ("ready", "green"), ("degraded", "yellow")):
        new.admin.expect(200, "PUT", f"/v2/clusters/{cluster}/status", json={"state": state})
        until(lambda wanted=wanted: light(new) == wanted, f"{wanted} for {state}")
    assert NAME in vimclient.run_govc(new.vcenter, "alarms", EAST_PATH)
    new.admin.expect(204, "DELETE", f"/v2/clusters/{cluster}")
    until(lambda: light(new) == "green", "green for a cluster that is gone")


def test_it_is_made_once_and_what_people_add_stays(new: World) -> None:
    ctl(new, "register", "--create-alarms")
    with vimclient.session(new.vcenter, new.vcenter.admin) as instance:
        (alarm,) = defined(instance)
        spec = vimclient.read_property(instance, alarm, "info")
        changed = vim.alarm.AlarmSpec(name="Renamed", description=spec.description, enabled=False, expression=spec.expression)
        alarm.ReconfigureAlarm(changed)
    said = ctl(new, "register", "--create-alarms", "--dry-run")
    assert 'leave the alarm "Renamed" as it is' in said
    ctl(new, "register", "--create-alarms")
    assert definition(new) is None
    said = ctl(new, "unregister", "--dry-run")
    assert 'remove the alarm "Renamed"' in said
    ctl(new, "unregister")
    with vimclient.session(new.vcenter, new.vcenter.admin) as instance:
        content = instance.RetrieveContent()
        names = [vimclient.read_property(instance, one, "info").name for one in content.alarmManager.GetAlarm(content.rootFolder)]
    assert names
    assert "Renamed" not in names


def test_one_of_somebody_else_is_named_and_left(new: World) -> None:
    with vimclient.session(new.vcenter, new.vcenter.admin) as instance:
        content = instance.RetrieveContent()
        event = vim.alarm.EventAlarmExpression(eventType=vim.event.VmPoweredOnEvent, status="red")
        content.alarmManager.CreateAlarm(content.rootFolder, vim.alarm.AlarmSpec(
            name=NAME, description="of somebody else", enabled=True, expression=vim.alarm.OrAlarmExpression(expression=[event])))
    said = ctl(new, "register", "--create-alarms", ok=False)
    assert f'an alarm "{NAME}" that was not made by this installation' in said
    assert "without --create-alarms" in said
    assert EXTENSION_KEY not in new.vcenter.control.extensions()
    ctl(new, "register")
    ctl(new, "unregister")
    found = definition(new)
    assert found and found.description == "of somebody else"


def test_without_the_privilege_nothing_is_begun(new: World) -> None:
    control = new.vcenter.control
    control.role("Registrar", *REGISTERING)
    new.vcenter.control.permit("group-d1", "VSPHERE.LOCAL\\viewer-dc", "Registrar")
    try:
        said = ctl(new, "register", "--create-alarms", user=new.vcenter.users["viewer-dc"], ok=False)
        assert "Alarm.Create" in said
        assert "group-d1" in said
        assert EXTENSION_KEY not in control.extensions()
        ctl(new, "register", "--create-alarms")
        said = ctl(new, "unregister", user=new.vcenter.users["viewer-dc"])
        assert f'the alarm "{NAME}"' in said
        assert "Alarm.Delete" in said
        assert definition(new)
    finally:
        control.forbid("group-d1", "VSPHERE.LOCAL\\viewer-dc")


def test_our_own_login_leaves_it_and_says_so(new: World) -> None:
    control = new.vcenter.control
    ctl(new, "register", "--create-alarms")
    granted = control.settings()["extension_privileges"]
    control.settings(extension_privileges=[*granted, "Extension.Unregister", "Alarm.Delete"])
    try:
        said = new.kaasd.ctl.ok("vcenter", "unregister", new.vcenter.host, "--yes")
        assert f'the alarm "{NAME}": only an account removes it' in said
    finally:
        control.settings(extension_privileges=granted)
    assert definition(new)
