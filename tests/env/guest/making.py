"""kaasd on a site: it makes clusters there, of machines that boot."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import yaml

from ..full import add_vcenter
from ..installed import adopt, installed_database
from ..kaasd import Kaasd
from ..places import TOP
from ..vcenter import User
from .site import CLUSTER, DATACENTER, PORT_GROUP, Site

TEMPLATE = "kaas-node-release"
LOGIN = User("kaas-login", "login-Pass1")
PROVIDER = {
    "kind": "Provider", "name": "east", "vsphere_cluster": f"/{DATACENTER}/host/{CLUSTER}", "folder": f"/{DATACENTER}/vm",
    "datastore": "", "network": PORT_GROUP, "template": f"/{DATACENTER}/vm/{TEMPLATE}",
    "nodes": {"addresses": ["10.77.0.40-10.77.0.59"], "prefix": 24, "gateway": "10.77.0.1"},
    "api_addresses": ["10.77.0.30-10.77.0.33"], "service_addresses": ["10.77.0.80-10.77.0.89"]}


@contextmanager
def kaasd_on(site: Site, options: dict[str, Any] | None = None, env: dict[str, str] | None = None) -> Iterator[Kaasd]:
    """With a database of its own, registered with the site's vCenter, whose template says what it is."""
    told = json.dumps({"contract": 1, "kubernetes": site.image.description()["kubernetes"]})
    site.vcenter.control.create_template("domain-c7", TEMPLATE, disks_gb=[20], nics=[PORT_GROUP],
                                         extra_config={"guestinfo.kaas.node": told})
    with ExitStack() as stack:
        database = installed_database(site.scratch)
        stack.callback(database.close)
        kaasd = Kaasd(site.scratch, database.socket, options={"kubernetes": {"bundles": str(TOP / "etc/bundles")}, **(options or {})},
                      env=env)
        adopt(kaasd)
        stack.callback(kaasd.stop)
        kaasd.start()
        _join(site, kaasd)
        yield kaasd


def _join(site: Site, kaasd: Kaasd) -> None:
    """By an account that gets what building needs and no more: what an extension's own session may is to read."""
    site.vcenter.control.put_user(LOGIN.name, LOGIN.password, groups=[])
    add_vcenter(kaasd, site.vcenter)
    kaasd.ctl.ok("vcenter", "set", site.vcenter.host, "--tunnel-port", "0")
    words = ["vcenter", "register", site.vcenter.host, "--yes", "--create-role", "--with-provisioning", "--on", DATACENTER]
    for option, user in (("", site.vcenter.admin), ("login-", LOGIN)):
        file = site.scratch.path / f"{user.name}.password"
        file.touch(mode=0o600)
        file.write_text(user.password + "\n")
        words += ["--login-account" if option else "--user", user.login, f"--{option}password-file", str(file)]
    kaasd.ctl.ok(*words)


def apply_provider(site: Site, kaasd: Kaasd, **other: Any) -> None:
    """What an administrator writes, with these members in place of ours."""
    datastore = json.loads(site.govc("ls", "-json", "-t", "Datastore", f"/{DATACENTER}/datastore"))["elements"][0]["Path"]
    document = {**PROVIDER, "vcenter": site.vcenter.host, "datastore": datastore, **other}
    path = site.scratch.path / "provider.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    kaasd.ctl.ok("provider", "apply", "-f", str(path))
