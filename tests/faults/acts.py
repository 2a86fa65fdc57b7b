"""What each kind of fault does to the world."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable
from typing import Any

from env import vimclient
from env.full import EXTENSION_KEY
from pyVmomi import vim

from .checks import wait_until_joined
from .plan import Fault
from .trio import NODES, Site, Trio, patiently

HX_KEY = "com.springpath.sysmgmt."
HOSTS = ("host-11", "host-12", "host-71", "host-41", "host-261")
NODE_VMS = tuple(moref for morefs in NODES.values() for moref in morefs)

Act = Callable[[Trio, Site, dict[str, Any]], None]


def _order(kind: str) -> Act:
    """A fault that the vCenter's control port knows by name."""
    def act(trio: Trio, site: Site, values: dict[str, Any]) -> None:
        values = dict(values)
        site.vcenter.control.fault(values.pop("op"), values.pop("kind", kind), **values)
    return act


def _soap_fault(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.fault(values["op"], "fault", fault=values["fault"], text="random fault", count=values["count"])


def _disconnect(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.call("POST", "/disconnect")


def _expire(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.expire(all=True)


def _restart(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.restart(values["down_ms"])


def _clock(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.advance_clock(values["advance_s"])


def _record_gone(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    """By mistake of an administrator. kaasd brings it back by its own session. Without a session only an administrator can, since the
    record took the login with it, so no other fault comes between: but the repair itself fails at first, if the plan says so."""
    control = site.vcenter.control
    control.clear_faults()
    wait_until_joined(trio, site)
    if values["op"]:
        control.fault(values["op"], values["how"], count=values["count"], **({"status": 503} if values["how"] == "status" else {}))
    control.drop_extension(EXTENSION_KEY)
    wait_until_joined(trio, site)


def _record_changed(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    """As an administrator might in the managed object browser: everything else stays, our owner mark too."""
    site.vcenter.control.clear_faults()  # they are meant for kaasd, not for the administrator's client
    def change() -> None:
        with vimclient.session(site.vcenter, site.vcenter.admin) as instance:
            _change_record(instance.RetrieveContent().extensionManager, values["how"])

    patiently(site, change, "the changed record")


def _change_record(manager: vim.ExtensionManager, how: str) -> None:
    record = manager.FindExtension(EXTENSION_KEY)
    if not record:
        return
    match how:
        case "version":
            record.version = "0.0.0.1"
        case "address":
            record.server[-1].url = "https://elsewhere.example.test/v2/"
        case "text":
            record.description.summary = "changed by hand"
    manager.UpdateExtension(record)


def _permission(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    viewer, entity = values["viewer"], values["entity"]
    principal = f"VSPHERE.LOCAL\\{viewer}"
    if values["granted"]:
        site.vcenter.control.permit(entity, principal)
        site.granted[viewer].add(entity)
    elif entity in site.granted[viewer]:
        site.vcenter.control.forbid(entity, principal)
        site.granted[viewer].discard(entity)


def _rename(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.object("rename", id=values["entity"], name=values["name"])


def _hx_record(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    key = HX_KEY + values["entity"]
    if values["there"]:
        site.vcenter.control.put_extension(key=key, version="5.0.1", company="Cisco Systems, Inc.", label="HX", summary="HX")
    elif key in site.vcenter.control.extensions():
        site.vcenter.control.drop_extension(key)


def _pick(values: dict[str, Any]) -> str:
    return NODE_VMS[int(values["pick"] * len(NODE_VMS))]


def _migrate(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.object("migrate", id=_pick(values), to=HOSTS[int(values["to"] * len(HOSTS))])


def _power(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    site.vcenter.control.object("power", id=_pick(values), state="poweredOn" if values["on"] else "poweredOff")


def _sha256_shown(site: Site) -> str:
    pem = patiently(site, lambda: ssl.get_server_certificate((site.vcenter.host, site.vcenter.port), timeout=20), "its certificate")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def _certificate(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    """Replaced, then trusted by the administrator, who compares the SHA-256."""
    site.vcenter.control.clear_faults()  # who replaces a certificate looks that the rest works
    site.vcenter.control.change_certificate("new")

    def is_trusted() -> bool:
        """Not while the vCenter is restarting, by a fault of before."""
        return trio.kaasd.ctl.run("vcenter", "trust", site.id, "--sha256", _sha256_shown(site)).returncode == 0

    site.vcenter.process.wait_until(is_trusted, "trust in its certificate")
    trio.actions["trusted a vCenter's new certificate"] += 1


def _rotate(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    """May fail when another fault is in the way; what it leaves behind must log in all the same."""
    trio.admin.call("POST", f"/v2/vcenters/{site.id}/rotate-certificate")


def _kill(trio: Trio, site: Site, values: dict[str, Any]) -> None:
    trio.restart_daemon()


ACTS: dict[str, Act] = {
    "drop": _order("close"), "status": _order("status"), "slow": _order("delay"), "hang": _order("hang"), "soap_fault": _soap_fault,
    "garbage": _order("html"), "disconnect": _disconnect, "expire": _expire, "restart": _restart, "clock": _clock,
    "record_gone": _record_gone, "record_changed": _record_changed, "permission": _permission, "rename": _rename, "hx_record": _hx_record,
    "migrate": _migrate, "power": _power, "certificate": _certificate, "rotate": _rotate, "kill": _kill,
}


def apply(trio: Trio, fault: Fault) -> None:
    ACTS[fault.kind](trio, trio.sites[fault.vcenter], fault.values)
