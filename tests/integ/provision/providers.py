"""A place where clusters may be built: a provider's document, the privileges that it needs, and a world that has both."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
from typing import Any

from env.full import World, add_vcenter
from env.logins import wait_connected
from env.vcenter import User

CONTRACT = '{"contract":1,"kubernetes":"v1.36.3"}'
NEEDED = {
    "resource_pool": {"Resource.AssignVMToPool"},
    "datastore": {"Datastore.AllocateSpace"},
    "network": {"Network.Assign"},
    "template": {"VirtualMachine.Provisioning.DeployTemplate"},
    "folder": {
        "Folder.Create", "Folder.Delete", "VApp.ApplicationConfig",
        *(f"VirtualMachine.{what}" for what in (
            "Inventory.CreateFromExisting", "Inventory.Delete", "Interact.PowerOn", "Interact.PowerOff", "Config.AddRemoveDevice",
            "Config.AdvancedConfig", "Config.Annotation", "Config.CPUCount", "Config.ManagedBy", "Config.Memory", "Config.Settings"))},
}
ALL = sorted(set().union(*NEEDED.values()))
LOGIN, ROLE = User("kaas-login", "login-Pass1"), "Harmony KaaS (objects)"
DOCUMENT: dict[str, Any] = {
    "kind": "Provider", "name": "east", "vcenter": "East", "vsphere_cluster": "/DC0/host/HX-East", "folder": "/DC0/vm",
    "datastore": "DC0-DS", "network": "VM Network", "template": "kaas-node",
    "nodes": {"addresses": ["10.9.0.20-10.9.0.29"], "prefix": 24, "gateway": "10.9.0.1", "dns": ["10.9.0.2"]},
    "api_addresses": ["10.9.0.10"], "service_addresses": ["10.9.0.192-10.9.0.207"]}


def join(world: World, *more: str, ok: bool = True) -> str:
    for name, user in {"admin": world.vcenter.admin, "login": LOGIN}.items():
        file = world.scratch.path / f"{name}.password"
        file.write_text(user.password + "\n")
        file.chmod(0o600)
    said = world.kaasd.ctl.run(
        "vcenter", "register", "East", "--user", world.vcenter.admin.login, "--password-file", str(world.scratch.path / "admin.password"),
        "--login-account", LOGIN.login, "--login-password-file", str(world.scratch.path / "login.password"), "--yes", *more)
    assert (said.returncode == 0) == ok, said.stdout + said.stderr
    return said.stdout + said.stderr


def prepare(world: World) -> None:
    """A template, and kaasd logs in at the vCenter by an account that may do what building needs."""
    control = world.vcenter.control
    control.create_template("domain-c7", "kaas-node", disks_gb=[20], nics=["VM Network"], snapshot="base",
                            extra_config={"guestinfo.kaas.node": CONTRACT})
    control.put_user(LOGIN.name, LOGIN.password, groups=[])
    add_vcenter(world.kaasd, world.vcenter, "--name", "East")
    world.kaasd.ctl.ok("vcenter", "set", "East", "--tunnel-port", "0")  # so that it logs in by the account
    said = join(world, "--create-role", "--with-provisioning", "--on", "DC0", "--on", "DC1")
    assert all(privilege in said for privilege in ALL)
    wait_connected(world)


def document(**changes: Any) -> dict[str, Any]:
    """The usual one with these members; None takes one away, `nodes__dns` is one of a section."""
    made = copy.deepcopy(DOCUMENT)
    for key, value in changes.items():
        *above, last = key.split("__")
        section = made[above[0]] if above else made
        if value is None:
            section.pop(last)
        else:
            section[last] = value
    return made
