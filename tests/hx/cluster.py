"""What a HyperFlex cluster says of itself: the state that tests set, and the answers that are made from it, with the members that clients
of the real interface read."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VIEWS = ("about", "detail", "health", "status", "stats", "network", "time", "alarms")
TIB = 1024 ** 4


@dataclass
class Cluster:
    """`uuid` is two decimal numbers of 64 bits, joined by a colon: not the kind of UUID that others make."""

    name: str
    uuid: str
    vcenter_datacenter: str
    vcenter_cluster: str
    version: str = "5.5.2b-42652"  # a release and a build
    state: str = "ONLINE"
    resiliency: str = "HEALTHY"
    messages: list[str] = field(default_factory=lambda: ["Storage cluster is healthy. "])  # so said 4.0
    space: str = "NORMAL"
    capacity: int = 40 * TIB
    used: int = 10 * TIB
    nodes_configured: int = 4
    nodes_online: int = 4
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def listed(self) -> list[dict[str, Any]]:
        return [{"uuid": self.uuid, "name": self.name}]

    def vcenter(self) -> dict[str, Any]:
        return {"vCenterDatacenter": self.vcenter_datacenter, "vCenterClusterName": self.vcenter_cluster}

    def view(self, name: str, address: str, uptime_s: int) -> Any:
        match name:
            case "about":
                return self._about()
            case "detail":
                return self._detail(address)
            case "health":
                return {"uuid": self.uuid, "state": self.state, "dataReplicationCompliance": "COMPLIANT", "zkHealth": "ONLINE",
                        "resiliencyDetails": {"resiliencyState": self.resiliency, "messages": list(self.messages)}}
            case "status":
                return {"resiliencyStatus": self.resiliency}
            case "stats":
                return self._stats()
            case "network":
                return {"clusterMgmtIpAddress": {"fqdn": "localhost", "ip": address}, "clusterDataIpAddress": {"fqdn": "", "ip": address},
                        "witnessNode": {"fqdn": "", "ip": ""}}
            case "time":
                return {"createTime": 1700000000, "uptimeInSecs": uptime_s, "downtimeInSecs": 0}
            case "alarms":
                return list(self.alarms)
        raise KeyError(name)

    def _about(self) -> dict[str, Any]:
        release, _, build = self.version.partition("-")
        return {"uuid": self.uuid, "hypervisor": "ESX", "apiVersion": "1.0", "productVersion": self.version, "modelNumber": "HXAF240C-M5SX",
                "serialNumber": "WZP00000000", "name": self.name, "fullName": f"HyperFlex {release}", "build": build,
                "displayVersion": release, "encryptionSupported": True, "replicationSupported": True, "upgradeSupported": True}

    def _detail(self, address: str) -> dict[str, Any]:
        return {"name": self.name, "dataReplicationFactor": "THREE_COPIES", "clusterAccessPolicy": "LENIENT",
                "numNodesConfigured": self.nodes_configured, "numNodesOnline": self.nodes_online, "clusterIpAddress": address,
                "clusterType": "STANDARD", "zoneType": "UNKNOWN", "allFlash": True, "encryptionEnabled": False,
                "replicationEnabled": False}

    def _stats(self) -> dict[str, Any]:
        return {"spaceStatus": self.space, "rawCapacityInBytes": 3 * self.capacity, "totalCapacityInBytes": self.capacity,
                "usedCapacityInBytes": self.used, "freeCapacityInBytes": max(self.capacity - self.used, 0), "compressionSavings": 0.0,
                "deduplicationSavings": 0.0, "totalSavings": 0.0, "enospaceState": "ENOSPACE_CLEAR", "bytesToResumeIO": 0,
                "bytesReclaimable": 0, "bytesToFreeToClearEnospace": 0}
