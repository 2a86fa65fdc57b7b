"""Nodes by what the product tells machines, with govc as the hand."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from env.guest.node import node_image
from env.guest.site import Site
from env.guest.world import GATEWAY
from env.node_plan import node_documents
from env.places import TOP, WorldError
from env.process import run
from env.wait import until
from seed import guestinfo

LIMIT_S = 600.0


def version() -> str:
    """Of the image."""
    described = json.loads(Path(node_image().layers[0], "etc/kaas-node.json").read_text())
    return str(described["kubernetes"]).removeprefix("v")


def give(site: Site, name: str, role: str, **plan: Any) -> None:
    """To a machine that is off."""
    gateway, _, prefix = GATEWAY.partition("/")
    told = node_documents(site.scratch.path / "keys", role, **{
        "instance_id": f"iid-{name}", "node_name": name, "kubernetes_version": version(), "mac": site.mac(name), "prefix": int(prefix),
        "gateway": gateway, **plan})
    site.give(name, **{key: told[key] for key in ("metadata", "userdata")},
              **{f"{key}.encoding": "gzip+base64" for key in ("metadata", "userdata")})


def told(site: Site, name: str) -> tuple[str, str]:
    """Its phase and its error."""
    info = guestinfo(site, name)
    return info.get("guestinfo.kaas.phase", ""), info.get("guestinfo.kaas.error", "none")


def until_done(site: Site, name: str) -> None:
    until(lambda: told(site, name)[0] in ("done", "failed"), f"the end of kubeadm on {name}", LIMIT_S)
    if told(site, name)[0] != "done":
        raise WorldError(f"{name}: {told(site, name)[1]}\n"
                         f"{site.guests.run(name, 'tail -40 /var/log/kaas-node.log; journalctl -u kubelet -n 20 --no-pager').stdout}")


def files(site: Site, who: str, ca: str) -> dict[str, Path]:
    """A certificate that the program issues, as files: `client` of `ca`, `etcd_client` of `etcd_ca`."""
    made = {name: site.scratch.path / f"{who}.{name}" for name in ("ca", "cert", "key")}
    if not made["ca"].exists():
        issued = node_documents(site.scratch.path / "keys", "worker")
        for name, text in {"ca": issued[ca], **issued[who]}.items():
            made[name].touch(mode=0o600)
            made[name].write_text(text)
    return made


def kubectl(site: Site, api: str, *arguments: str, stdin: str = "") -> Any:
    """From where people are, outside of the cluster, at the address of the API and with a certificate of its CA."""
    cert = files(site, "client", "ca")
    asked = run([TOP / "scripts/kube", "kubectl", f"--server=https://{api}:6443", f"--certificate-authority={cert['ca']}",
                 f"--client-certificate={cert['cert']}", f"--client-key={cert['key']}", *arguments, "--output=json"], stdin=stdin)
    if asked.returncode:
        raise WorldError(f"kubectl {' '.join(arguments)}: {asked.stderr.strip()}")
    return json.loads(asked.stdout)


def ready(site: Site, api: str) -> dict[str, dict[str, Any]]:
    """What the nodes say of themselves that are Ready, by name."""
    def is_ready(node: dict[str, Any]) -> bool:
        return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])

    return {node["metadata"]["name"]: node["status"]["nodeInfo"] for node in kubectl(site, api, "get", "nodes")["items"] if is_ready(node)}
