"""Looking before joining and leaving (dry runs), the role that is made, leaving without a password, and what is told to stay."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from env import vimclient
from env.full import EXTENSION_KEY, World, add_vcenter, ctl
from env.vcenter import Control
from env.wait import until

pytestmark = pytest.mark.slow
READING = {"Sessions.ValidateSession", "Sessions.TerminateSession", "Extension.Update", "Extension.Register", "Extension.Unregister",
           "Global.LogEvent"}
CHANGING = {"RegisterExtension", "UpdateExtension", "UnregisterExtension", "SetExtensionCertificate", "SetServiceAccount",
            "AddAuthorizationRole", "UpdateAuthorizationRole", "RemoveAuthorizationRole", "SetEntityPermissions",
            "RemoveEntityPermission", "TerminateSession"}
EXTENSION_RIGHTS = ["Sessions.ValidateSession", "Sessions.TerminateSession", "Extension.Unregister"]


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("y") as whole:
        add_vcenter(whole.kaasd, whole.vcenter)
        yield whole


@pytest.fixture
def new(place: World) -> World:
    """Added, not registered, no role of ours, with an empty call log."""
    control = place.vcenter.control
    control.clear_faults()
    if place.admin.get(f"/v2/vcenters/{place.vcenter.instance_uuid}")["registered"]:
        ctl(place, "unregister")
    if EXTENSION_KEY in control.extensions():
        control.drop_extension(EXTENSION_KEY)
    control.forget_calls()
    return place


@pytest.fixture
def joined(new: World) -> World:
    ctl(new, "register")
    new.vcenter.control.forget_calls()
    return new


def changes(control: Control) -> list[str]:
    return [call["op"] for call in control.calls() if call["op"] in CHANGING]


def roles(place: World) -> dict[str, set[str]]:
    with vimclient.session(place.vcenter, place.vcenter.admin) as instance:
        listed = vimclient.read_property(instance, instance.RetrieveContent().authorizationManager, "roleList")
        return {role.name: {name for name in role.privilege if not name.startswith("System.")} for role in listed}


def post(place: World, verb: str, **body: Any) -> dict[str, Any]:
    return place.admin.expect(200, "POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/{verb}", json=body, headers={"X-KaaS": "1"})


def test_a_dry_run_prints_record_and_steps_and_changes_nothing(new: World) -> None:
    said = ctl(new, "register", "--dry-run")
    assert changes(new.vcenter.control) == []
    assert EXTENSION_KEY not in new.vcenter.control.extensions()
    ((pending,),) = new.db.query("SELECT COUNT(*) FROM vcenter_credentials WHERE state = 'pending'", database="kaas")
    assert pending == 0
    for words in (f"there is no extension {EXTENSION_KEY}", "certificate_tunnel  works", "server[0].url", f"{new.kaasd.url}/v2/",
                  f"register the extension {EXTENSION_KEY}", "set the login certificate of the extension, last", "nothing was changed"):
        assert words in said, said
    assert re.search(r"\+ +resourceList\[de/event\] +\d+ texts ", said) and "resourceList[de/event]." not in said
    assert said.count("\n") < 60  # a person reads it


def test_a_dry_run_shows_what_differs(joined: World) -> None:
    control = joined.vcenter.control
    control.fault("UpdateExtension", "fault", fault="NoPermission", user=EXTENSION_KEY)  # the repair by itself would be quicker
    with vimclient.session(joined.vcenter, joined.vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        record.company = "Somebody"
        record.extendedProductInfo.managementUrl = "https://others.test/"
        manager.UpdateExtension(record)
    before = changes(control)
    account = {"username": joined.vcenter.admin.login, "password": joined.vcenter.admin.password}
    found = post(joined, "register", dry_run=True, **account)
    members = {member["member"]: member for member in found["members"]}
    assert (found["record"], members["company"]["now"], members["company"]["wanted"]) == ("outdated", "Somebody", "Cisco Systems, Inc.")
    assert members["extendedProductInfo.managementUrl"]["kept"] is True
    assert members["healthInfo.url"]["now"] == members["healthInfo.url"]["wanted"]
    assert set(changes(control)) - {"UpdateExtension"} == set(before) - {"UpdateExtension"}


def test_a_dry_run_of_taking_over_tells_whose_it_is(new: World) -> None:
    new.vcenter.control.put_extension(key=EXTENSION_KEY, version="1.0", company="Somebody", label="Other", summary="Other")
    said = ctl(new, "register", "--take-over", "--dry-run")
    assert "was not written by Harmony KaaS" in said
    assert "Somebody -> Cisco Systems, Inc." in said
    assert changes(new.vcenter.control) == []


def test_taking_over_asks_first(new: World) -> None:
    new.vcenter.control.put_extension(key=EXTENSION_KEY, version="1.0", company="Somebody", label="Other", summary="Other")
    said = ctl(new, "register", "--take-over", ok=False)
    assert "was not written by Harmony KaaS" in said
    assert changes(new.vcenter.control) == []
    ctl(new, "register", "--take-over", "--yes")
    ((reason,),) = new.db.query("SELECT reason FROM audit WHERE action = 'vcenter.register' AND reason LIKE 'took over%'", database="kaas")
    assert "another program" in reason


def test_a_missing_privilege_is_named_with_its_object(new: World) -> None:
    said = ctl(new, "register", user=new.vcenter.users["viewer-dc"], ok=False)
    assert "Extension.Register, Extension.Update" in said
    assert "group-d1" in said or "root folder" in said
    assert changes(new.vcenter.control) == []


def test_the_role_is_shown_made_and_removed_again(new: World) -> None:
    said = ctl(new, "register", "--create-role", "--yes")
    for name in READING:
        assert name in said
    assert roles(new)["Harmony KaaS"] == READING
    said = ctl(new, "unregister")
    assert "Harmony KaaS" not in roles(new)


def test_a_role_that_others_have_stays_and_is_told(new: World) -> None:
    ctl(new, "register", "--create-role=Shared", "--yes")
    new.vcenter.control.permit("group-d1", "VSPHERE.LOCAL\\viewer-east", "Shared")
    said = ctl(new, "unregister")
    assert 'the role "Shared": others have it' in said
    assert "Shared" in roles(new)
    new.vcenter.control.forbid("group-d1", "VSPHERE.LOCAL\\viewer-east")
    said = ctl(new, "unregister")  # the rest of the work
    assert "Shared" not in roles(new)


def test_a_role_of_others_is_not_changed(new: World) -> None:
    new.vcenter.control.call("POST", "/roles", {"name": "Theirs", "privileges": ["Folder.Create"]})
    said = ctl(new, "register", "--create-role=Theirs", "--yes", ok=False)
    assert "was not made by this installation" in said
    assert roles(new)["Theirs"] == {"Folder.Create"}
    assert EXTENSION_KEY not in new.vcenter.control.extensions()


def test_leaving_by_our_own_login_needs_the_right(joined: World) -> None:
    control = joined.vcenter.control
    result = joined.kaasd.ctl.run("vcenter", "unregister", joined.vcenter.host, "--yes")
    assert result.returncode != 0
    assert "Extension.Unregister" in result.stderr
    assert "--user NAME" in result.stderr
    assert EXTENSION_KEY in control.extensions()
    control.call("POST", "/settings", {"extension_privileges": EXTENSION_RIGHTS})
    said = joined.kaasd.ctl.ok("vcenter", "unregister", joined.vcenter.host, "--yes")
    control.call("POST", "/settings", {"extension_privileges": EXTENSION_RIGHTS[:2]})
    assert EXTENSION_KEY not in control.extensions()
    assert "is removed" in said
    assert [row for row in control.sessions() if row["extension_session"]] == []


def test_leaving_tells_what_stays(joined: World) -> None:
    said = ctl(joined, "unregister")
    assert "6 extension records of HyperFlex" in said


def test_a_dry_run_of_leaving_changes_nothing(joined: World) -> None:
    said = ctl(joined, "unregister", "--dry-run")
    assert f"remove the extension {EXTENSION_KEY}" in said
    assert changes(joined.vcenter.control) == []
    assert joined.admin.get(f"/v2/vcenters/{joined.vcenter.instance_uuid}")["registered"] is True


def test_a_kill_while_leaving_does_not_bring_the_record_back(joined: World) -> None:
    control = joined.vcenter.control
    control.fault("UnregisterExtension", "delay", delay_ms=1500, count=1)
    api = joined.admin
    body = {"username": joined.vcenter.admin.login, "password": joined.vcenter.admin.password}

    def leave() -> None:
        with pytest.raises(requests.RequestException):
            api.call("POST", f"/v2/vcenters/{joined.vcenter.instance_uuid}/unregister", json=body, headers={"X-KaaS": "1"})

    thread = threading.Thread(target=leave)
    thread.start()
    until(lambda: joined.db.query("SELECT 1 FROM vcenters WHERE registered_at_ms = 0", database="kaas"), "the intention to leave")
    joined.kaasd.kill()
    thread.join()
    control.clear_faults()
    joined.kaasd.start()
    assert joined.admin.get(f"/v2/vcenters/{joined.vcenter.instance_uuid}")["registered"] is False
    if EXTENSION_KEY in control.extensions():
        ctl(joined, "unregister")
    assert EXTENSION_KEY not in control.extensions()
