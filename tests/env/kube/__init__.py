"""Real Kubernetes without machines: etcd, API server and controller manager on loopback, and nodes that a test writes. README.md tells
how to use it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from .admin_probe import AdminProbe
from .balancer import Balancer
from .client import KubeClient, Refused
from .etcd import Etcd
from .nodes import Nodes, NodeShape
from .probe import WatchProbe
from .proxy import Proxy
from .replay import Replay, record
from .server import Kube

__all__ = ["AdminProbe", "Balancer", "Etcd", "Kube", "KubeClient", "NodeShape", "Nodes", "Proxy", "Refused", "Replay", "WatchProbe",
           "record"]
