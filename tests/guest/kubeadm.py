"""User-data for nodes of a cluster that is made by hand: what kubeadm's reference asks for, nothing of ours.
https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/"""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import yaml

API = "kubeadm.k8s.io/v1beta4"
PODS = "10.244.0.0/16"
CONFIG = "/run/kubeadm.yaml"
SLOW = {"kubernetesAPICall": "5m0s", "controlPlaneComponentHealthCheck": "8m0s", "kubeletHealthCheck": "6m0s", "discovery": "8m0s",
        "tlsBootstrap": "8m0s", "etcdAPICall": "4m0s"}  # on a busy machine
# Says how it ended; a kubelet that dies in a loop is why kubeadm waits in vain, so its last error is told as well.
RUN = """
if kubeadm {what} --config {config} >/var/log/kubeadm.log 2>&1; then phase=done; else phase=failed; fi
vmtoolsd --cmd "info-set guestinfo.kubelet $(journalctl --unit kubelet --output cat | grep ^E | tail --lines 1 | cut -c 1-500)"
vmtoolsd --cmd "info-set guestinfo.phase $phase"
"""


def _registration(name: str, address: str) -> dict[str, Any]:
    """SystemVerification looks for the kernel's modules and configuration, which a container has not."""
    return {"name": name, "criSocket": "unix:///run/containerd/containerd.sock", "imagePullPolicy": "IfNotPresent",
            "kubeletExtraArgs": [{"name": "node-ip", "value": address}], "ignorePreflightErrors": ["SystemVerification"]}


def _patches() -> dict[str, str]:
    """Empty in the image; a test machine has files in it."""
    return {"directory": "/etc/kubernetes/patches"}


def first(name: str, address: str, version: str) -> list[dict[str, Any]]:
    """Documents of a first control plane."""
    init = {"apiVersion": API, "kind": "InitConfiguration", "localAPIEndpoint": {"advertiseAddress": address, "bindPort": 6443},
            "nodeRegistration": _registration(name, address), "patches": _patches(), "timeouts": SLOW,
            "skipPhases": ["addon/kube-proxy", "addon/coredns"]}
    cluster = {"apiVersion": API, "kind": "ClusterConfiguration", "clusterName": "by-hand", "kubernetesVersion": version,
               "controlPlaneEndpoint": f"{address}:6443", "networking": {"podSubnet": PODS}}
    return [init, cluster]


def worker(name: str, address: str, endpoint: str, token: str, ca_hash: str) -> list[dict[str, Any]]:
    """Documents of a node that joins."""
    discovery = {"bootstrapToken": {"apiServerEndpoint": endpoint, "token": token, "caCertHashes": [ca_hash]}}
    return [{"apiVersion": API, "kind": "JoinConfiguration", "discovery": discovery, "nodeRegistration": _registration(name, address),
             "patches": _patches(), "timeouts": SLOW}]


def _pod_network(subnet: str) -> str:
    """A bridge on each node: https://www.cni.dev/plugins/current/main/bridge/"""
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "hairpinMode": True,
              "ipam": {"type": "host-local", "ranges": [[{"subnet": subnet}]], "routes": [{"dst": "0.0.0.0/0"}]}}
    return json.dumps({"cniVersion": "0.4.0", "name": "by-hand", "plugins": [bridge]})


def user_data(documents: list[dict[str, Any]], pods: str) -> dict[str, Any]:
    what = "init" if documents[0]["kind"] == "InitConfiguration" else "join"
    return {"write_files": [{"path": CONFIG, "content": yaml.safe_dump_all(documents), "permissions": "0600"},
                            {"path": "/etc/cni/net.d/10-by-hand.conflist", "content": _pod_network(pods)}],
            "runcmd": [["sh", "-c", RUN.format(what=what, config=CONFIG)]]}
