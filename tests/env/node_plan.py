"""What a machine is told to become: the daemon's own documents, by the program tests/integ/node_documents."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .places import WorldError, program
from .process import run

TOKEN = "abcdef.0123456789abcdef"
NODE = {"instance_id": "8f1cde2a-0000-4000-8000-000000000001", "node_name": "prod-cp-x7f2k", "cluster_name": "prod",
        "kubernetes_version": "1.36.3", "api_host": "10.9.0.10", "pod_network": "10.244.0.0/16", "service_network": "10.96.0.0/12",
        "mac": "00:50:56:00:00:15", "address": "10.9.0.21", "prefix": 24, "gateway": "10.9.0.1", "token": TOKEN}
# With each member, and texts that would be something else if they were not quoted.
FULL = {**NODE, "dns": ["10.9.0.2", "10.9.0.3"], "search": ["example.test"], "ntp": ["ntp.example.test", "10.9.0.4"],
        "ssh_keys": ['ssh-ed25519 AAAAC3 ada: {x} "quoted" \\ # ü - %s ${HOME}', "ssh-ed25519 AAAAC4 'grace'"],
        "http_proxy": "http://proxy.example.test:3128", "https_proxy": "http://proxy.example.test:3128",
        "no_proxy": [".example.test", "192.0.2.0/24"], "routes": [{"to": "10.244.2.0/24", "via": "10.9.0.22"}],
        "bridge_pods": "10.244.1.0/24"}
ROLES = ("init", "control-plane", "worker")


class BadPlan(Exception):
    """It was refused; `code` is the word of the error."""

    def __init__(self, told: dict[str, str]) -> None:
        super().__init__(f"{told['text']} ({told['remedy']})")
        self.code = told["error"]


def node_documents(keys: Path, role: str, **plan: Any) -> dict[str, Any]:
    """`keys`: a folder for the keys of the cluster, which the first call makes. What the program's own comment says."""
    keys.mkdir(parents=True, exist_ok=True)
    made = run([program("tests/integ/node_documents"), keys], stdin=json.dumps({**NODE, "role": role, **plan}))
    if made.returncode not in (0, 1):
        raise WorldError(f"node_documents: status {made.returncode}: {made.stderr}")
    told: dict[str, Any] = json.loads(made.stdout)
    if made.returncode:
        raise BadPlan(told)
    return told
