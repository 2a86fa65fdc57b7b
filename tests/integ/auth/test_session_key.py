"""Who only names the key of somebody's vCenter session, which is no secret, and who holds that session: what one of them is shown is
never shown to the other because it was shown before."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from env import vimclient
from env.api import Api
from env.full import World
from env.samples import SAMPLES
from env.wait import until
from pyVmomi import vim

PERSON = "no-rights"
PRIVILEGE = "Global.Settings"


@dataclass
class Both:
    """Two sessions of one person here, by the same session of the vCenter."""

    owner: Api
    stranger: Api


def let_administrate(instance: vim.ServiceInstance) -> None:
    """By one privilege on the root folder, which lets nobody view anything."""
    manager = instance.content.authorizationManager
    role = manager.AddAuthorizationRole(name="settings only", privIds=[PRIVILEGE])
    manager.SetEntityPermissions(entity=instance.content.rootFolder, permission=[vim.AuthorizationManager.Permission(
        principal=f"VSPHERE.LOCAL\\{PERSON}", group=False, roleId=role, propagate=False)])


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("key", options={"auth": {"vcenter": {"session_key": "allow", "privilege_roles": True}}}) as made:
        made.join()
        yield made


@pytest.fixture(scope="module")
def both(world: World) -> Both:
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        let_administrate(instance)
    world.admin.expect(201, "POST", "/v2/role-mappings", json={
        "kind": "vcenter_privilege", "subject_id": world.vcenter.instance_uuid, "privilege": PRIVILEGE, "role": "admin"})
    session = world.vcenter.control.login(f"{PERSON}@vsphere.local")
    api = world.kaasd.api()
    named = api.post_login("vcenter", {"vcenter": world.vcenter.instance_uuid, "session_id": session["key"],
                                       "user_name": f"VSPHERE.LOCAL\\{PERSON}"})
    assert named.status_code == 200, named.text
    owner = api.login_session(world.vcenter.instance_uuid, session["cookie"])
    until(lambda: len(owner.names()) == len(SAMPLES), "what the privilege shows")
    return Both(owner, api.as_token(named.json()["access_token"]))


def test_the_name_beside_a_key_may_be_in_other_case(world: World) -> None:
    world.vcenter.control.put_user("MÜLLER", "secret")
    key = world.vcenter.control.login("MÜLLER@vsphere.local")["key"]

    def sign_in(name: str) -> int:
        return world.kaasd.api().post_login("vcenter", {"vcenter": world.vcenter.instance_uuid, "session_id": key,
                                                        "user_name": f"VSPHERE.LOCAL\\{name}"}).status_code

    assert [sign_in(name) for name in ("müller", "Müller", "muller")] == [200, 200, 401]


def test_what_the_owner_was_shown_is_not_shown_to_who_names_the_key(both: Both) -> None:
    assert both.stranger.names(limit="77") == []
    assert len(both.owner.names(limit="78")) == len(SAMPLES)
    assert both.stranger.names(limit="78") == []
    assert both.stranger.names(limit="78") == []


def test_what_was_kept_from_the_other_one_is_not_kept_from_the_owner(both: Both) -> None:
    assert both.stranger.names(limit="79") == []
    assert len(both.owner.names(limit="79")) == len(SAMPLES)
    assert len(both.owner.names(limit="79")) == len(SAMPLES)
