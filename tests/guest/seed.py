"""The hand of an administrator: what a machine is told at its first boot, in the form of cloud-init's VMware source, and what the
vCenter says of it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import yaml
from env.guest.site import Site
from env.guest.world import GATEWAY
from env.vimclient import read_all, session
from pyVmomi import vim

PREFIX = GATEWAY.partition("/")[2]


def packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode())).decode()


def seed(site: Site, name: str, address: str, user_data: dict[str, Any], *, gateway: str = GATEWAY.partition("/")[0],
         redact: tuple[str, ...] = ()) -> None:
    """For a machine that is off; its network card is known by the address that the vCenter gave it."""
    card = {"match": {"macaddress": site.mac(name)}, "set-name": "eth0", "addresses": [f"{address}/{PREFIX}"], "gateway4": gateway}
    metadata = {"instance-id": f"iid-{name}", "local-hostname": name, "redact": list(redact),
                "network": {"version": 2, "ethernets": {"card": card}}}
    user = "#cloud-config\n" + yaml.safe_dump(user_data, width=10000)
    site.give(name, metadata=packed(json.dumps(metadata)), **{"metadata.encoding": "gzip+base64", "userdata": packed(user),
                                                              "userdata.encoding": "gzip+base64"})


def guest_of(site: Site, name: str) -> vim.vm.GuestInfo:
    """As pyvmomi reads it."""
    with session(site.vcenter, site.vcenter.admin) as instance:
        rows = read_all(instance, vim.VirtualMachine, "name", "guest")
        return next(row["guest"] for row in rows.values() if row["name"] == name)


def guestinfo(site: Site, name: str) -> dict[str, str]:
    return {one["key"]: one["value"] for one in site.info(name)["config"]["extraConfig"] if one["key"].startswith("guestinfo.")}


def power_state(site: Site, name: str) -> str:
    return str(site.info(name)["runtime"]["powerState"])
