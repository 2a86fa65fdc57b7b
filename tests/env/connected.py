"""kaasd and a real Kubernetes: connect, look, leave nothing behind."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from types import TracebackType
from typing import Any

import requests
import yaml

from .api import Api
from .clock import Clock
from .full import World
from .kaasd import LOOPBACK
from .kube import Kube, KubeClient, Nodes
from .sealing import put_secret
from .wait import until

JSON = dict[str, Any]
ADMINS = "kubeadm:cluster-admins"
OURS = "app.kubernetes.io/managed-by=kaas"
OPTIONS = {"kubernetes": {"allowed_networks": [*LOOPBACK]}}
KINDS = "clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts"
STEPS = ["text", "address", "name", "tls", "signed_in", "version", "identity", "rights", "account", "list", "machines"]


def steps_of(answer: JSON) -> dict[str, str]:
    return {step["step"]: step["status"] for step in answer["steps"]}


class Connected:
    """A context manager; `nodes` writes nodes of the cluster."""

    def __init__(self, world: World, kube: Kube, clock: Clock | None = None) -> None:
        """`clock`: that of the daemon, whose sessions end as it is put forward."""
        self.world, self.kube = world, kube
        self.nodes = Nodes(kube)
        self._clock = clock
        self._signed_in_at = -1.0

    @property
    def admin(self) -> Api:
        """The administrator, signed in."""
        if not self._clock:
            return self.world.admin
        if self._signed_in_at < 0 or self._clock.ahead_s - self._signed_in_at > 600:
            self._signed_in_at = self._clock.ahead_s
            self._admin = self.world.kaasd.admin()
        return self._admin

    def __enter__(self) -> Connected:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        admin = self.admin
        self.world.db.query("DELETE FROM cluster_pki", database="kaas")
        self.unbind_admins()
        for row in list(admin.items("/v2/clusters")):
            admin.call("DELETE", f"/v2/clusters/{row['id']}/connection", params={"forget": "true"})
            admin.expect(204, "DELETE", f"/v2/clusters/{row['id']}")
        self.nodes.close()
        self.kube.kubectl("delete", "nodes", "--all")
        self._take_away()

    def _take_away(self) -> None:
        """What may be left of our account. The controller would take its time for a namespace: five seconds, in which nobody could connect
        (namespaceDeletionGracePeriod in k8s.io/kubernetes, pkg/controller/namespace)."""
        self.kube.kubectl("delete", f"{KINDS},namespaces", "-A", "-l", OURS, "--ignore-not-found", "--wait=false")
        for row in self.kube.api.get("/api/v1/namespaces", labelSelector=OURS)["items"]:
            self.kube.api.ask("PUT", f"/api/v1/namespaces/{row['metadata']['name']}/finalize", {**row, "spec": {"finalizers": []}})
        until(lambda: not self.account_objects(), "nothing of ours in the cluster")

    # through the API

    def ask(self, body: JSON, path: str = "/v2/clusters:connect", method: str = "POST", **more: Any) -> requests.Response:
        return self.admin.call(method, path, json=body, headers={"X-KaaS": "1"}, **more)

    def connect(self, name: str = "prod", **more: Any) -> JSON:
        """Connects with the administrator's kubeconfig; the answer."""
        answer = self.ask({"name": name, "kubeconfig": self.kube.kubeconfig(), **more})
        assert answer.status_code == 201, answer.text
        told: JSON = answer.json()
        return told

    def kubeconfig_without_ca(self) -> str:
        """The administrator's, with which one confirms the server's certificate."""
        config = yaml.safe_load(self.kube.kubeconfig())
        del config["clusters"][0]["cluster"]["certificate-authority-data"]
        return str(yaml.safe_dump(config))

    def make(self, name: str = "prod") -> str:
        """A connected cluster that counts as made by kaasd: its CA is kept, and the group that kubeadm binds is bound. The id."""
        cluster_id = str(self.connect(name)["cluster_id"])
        ca, db = self.kube.ca, self.world.db
        pem = ca.ca_file.read_text()
        db.query("INSERT INTO cluster_pki (cluster_id, ca_pem, etcd_ca_pem, front_proxy_ca_pem, accounts_public_pem, not_after_ms,"
                 " created_at_ms, version_no) VALUES (%s, %s, %s, %s, 'not needed here', 1, 1, 1)",
                 cluster_id, pem, pem, pem, database="kaas")
        for purpose in ("ca-key", "etcd-ca-key", "front-proxy-ca-key", "accounts-key"):
            put_secret(db, (self.world.kaasd.folder / "master.key").read_bytes(), "cluster_pki", cluster_id, purpose, ca.key_pem)
        self.bind_admins()
        return cluster_id

    def bind_admins(self) -> None:
        """As kubeadm does."""
        self.kube.kubectl("create", "clusterrolebinding", ADMINS, "--clusterrole=cluster-admin", f"--group={ADMINS}")

    def unbind_admins(self) -> None:
        self.kube.kubectl("delete", "clusterrolebinding", ADMINS, "--ignore-not-found")

    def typed(self, name: str, **more: Any) -> str:
        """The id of a record that somebody types."""
        place = {"vcenter_id": self.world.vcenter.instance_uuid, "moref": "domain-c7"}
        made: JSON = self.admin.expect(201, "POST", "/v2/clusters", json={
            "name": name, "kubernetes_version": "1.35.0", "control_plane": {"desired": 1}, "workers": {"desired": 2},
            "vsphere_clusters": [place], **more})
        return str(made["id"])

    def cluster(self, cluster_id: str) -> JSON:
        told: JSON = self.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}")
        return told

    def node_rows(self, cluster_id: str) -> dict[str, JSON]:
        return {row["name"]: row for row in self.admin.items(f"/v2/clusters/{cluster_id}/nodes")}

    def wait_state(self, cluster_id: str, state: str, limit_s: float = 30) -> JSON:
        seen: list[JSON] = []

        def look() -> JSON | None:
            seen[:] = [self.admin.expect(200, "GET", f"/v2/clusters/{cluster_id}/health")]
            return self.cluster(cluster_id) if seen[0]["state"] == state else None

        try:
            return until(look, f"state {state}", limit_s)
        except AssertionError as error:
            raise AssertionError(f"{error}: {seen}") from None

    # through other eyes

    def account_objects(self) -> list[str]:
        """All that kaasd has made in the cluster, as kubectl names it."""
        told = self.kube.kubectl("get", f"{KINDS},namespaces", "-A", "-l", OURS, "-o",
                                 "jsonpath={range .items[*]}{.kind}/{.metadata.name}{'\\n'}{end}")
        return sorted(told.split())

    def account_token(self) -> str:
        """A token of our account that somebody else asks for: to see what it may do."""
        name = next(name for name in self.account_objects() if name.startswith("ServiceAccount/")).split("/")[1]
        return self.kube.kubectl("create", "token", name, "-n", "kaas-system").strip()

    def as_account(self) -> KubeClient:
        return self.kube.as_token(self.account_token())
