"""With the controller manager: roles are filled, and accounts made."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env.kube import Kube, Nodes, Refused
from env.kube.nodes import PATH, machine
from env.places import Scratch
from env.wait import until

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "viewers"},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
           "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}]}


@pytest.fixture(scope="module")
def kube(scratch: Scratch) -> Iterator[Kube]:
    """Its controllers are patient for 10 s, not for 50."""
    with Kube(scratch, has_controllers=True, people={"ada": ("viewers",)},
              controller_options=("--node-monitor-grace-period=10s", "--node-monitor-period=1s")) as cluster:
        yield cluster


def test_the_role_view_has_rules_and_accounts_are_made(kube: Kube) -> None:
    ada = kube.as_person("ada")
    with pytest.raises(Refused):
        ada.get("/api/v1/namespaces/default/configmaps")
    kube.api.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", BINDING)
    until(lambda: ada.ask("GET", "/api/v1/namespaces/default/configmaps").ok, "what the role allows")
    until(lambda: kube.api.ask("GET", f"{ACCOUNTS}/default").ok, "the default account")
    token = kube.api.post(f"{ACCOUNTS}/default/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                                       "spec": {"expirationSeconds": 600}})["status"]["token"]
    assert kube.as_token(token).ask("GET", PATH).status_code == 403  # known, and allowed nothing


def ready(nodes: Nodes, name: str) -> tuple[str, str]:
    condition = {row["type"]: row for row in nodes.get(name)["status"]["conditions"]}["Ready"]
    return condition["status"], condition["reason"]


def test_a_silent_node_is_called_unknown_and_one_with_heartbeats_is_not(kube: Kube) -> None:
    with Nodes(kube, heartbeat_s=2) as nodes:
        nodes.write([machine("lively"), machine("silent")])
        nodes.hush("silent")
        until(lambda: ready(nodes, "silent") == ("Unknown", "NodeStatusUnknown"), "the controller's word")
        assert ready(nodes, "lively") == ("True", "KubeletReady")
