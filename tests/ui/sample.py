"""Sample clusters for the stand-in: every state, hard names, hidden places, missing values. Data only."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from env.contract import contract

VCENTER = "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
NOW = datetime.now(UTC).replace(microsecond=0)


def ident(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def ago(**how_long: int) -> str:
    return (NOW - timedelta(**how_long)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(datacenter: str | None, moref: str, name: str | None) -> dict[str, Any]:
    return {"vcenter_id": VCENTER, "datacenter": datacenter, "moref": moref, "name": name}


EAST = place("DC0", "domain-c7", "HX-East")
WEST = place("DC0", "domain-c70", "HX-West")
LAB = place("DC1", "domain-c12", "HX-East")


def hx(name: str, vsphere: dict[str, Any], uuid_text: str | None = None, present: bool = True) -> dict[str, Any]:
    return {"id": ident(f"hx {vsphere['moref']}"), "name": name, "name_source": "vcenter", "hx_uuid": uuid_text, "vcenter_id": VCENTER,
            "vsphere_cluster": vsphere, "management_address": None, "address_source": None, "present": present,
            "last_seen_at": ago(minutes=3)}


HX_EAST = hx("HX-East", EAST, "1234567890123456789:9876543210987654321")
HX_WEST = hx("HX-West", WEST)
HX_LAB = hx("HX-East", LAB)
HX_CLUSTERS = [HX_EAST, HX_WEST, HX_LAB]
BY_MOREF = {h["vsphere_cluster"]["moref"]: h for h in HX_CLUSTERS}


Count = tuple[int | None, int]
MEMBERS = contract().document["components"]["schemas"]["Cluster"]["required"]


def cluster(name: str, state: str, places: list[dict[str, Any]], control: Count = (3, 3), workers: Count = (3, 3),
            **more: Any) -> dict[str, Any]:
    hx_clusters = [{k: BY_MOREF[p["moref"]][k] for k in ("id", "name", "name_source", "hx_uuid")}
                   | {"path": f'{p["datacenter"]}/{p["name"]}'} for p in places if p["moref"] in BY_MOREF]
    value: dict[str, Any] = dict.fromkeys(MEMBERS) | {
        "id": ident(f"cluster {name}"), "name": name, "state": state, "state_source": "reported",
        "kubernetes_version": "1.31.2", "api_endpoint": "https://10.20.0.10:6443",
        "control_plane": {"ready": control[0], "desired": control[1]}, "workers": {"ready": workers[0], "desired": workers[1]},
        "placement": {"source": "observed", "vsphere_clusters": places, "hx_clusters": hx_clusters, "hidden": 0},
        "labels": {}, "created_at": ago(days=90), "updated_at": ago(hours=3), "observed_at": ago(seconds=20),
    }
    value["placement"] |= {"hidden": more.pop("hidden", 0), "source": more.pop("source", "observed")}
    return value | more


SHOP = {"team": "shop"}
CLUSTERS = [
    cluster("prod-1", "ready", [EAST], workers=(12, 12), description="Shop front", labels=SHOP | {"tier": "front"},
            dashboard_url="https://prod-1.example.com/dashboard"),
    cluster("prod-2", "degraded", [EAST, WEST], workers=(4, 5), description="Shop back end", state_reason="4 of 5 workers are ready",
            labels=SHOP | {"tier": "back", "owner": "anna"}, dashboard_url="https://prod-2.example.com/dashboard"),
    cluster("payments", "unreachable", [WEST], control=(0, 3), workers=(None, 6), kubernetes_version="1.30.6", state_source="observed",
            state_reason="VM payments-cp-0 is powered off; VM payments-cp-1 is powered off", observed_at=ago(minutes=7)),
    cluster("analytics", "updating", [WEST], control=(2, 3), workers=(8, 8), hidden=1, description="Nightly jobs",
            kubernetes_version="1.30.6", state_reason="Upgrade to 1.31.2: second control-plane node"),
    cluster("lab-new", "creating", [LAB], control=(1, 3), workers=(0, 4), source="declared", observed_at=ago(minutes=2), api_endpoint=None),
    cluster("lab-old", "deleting", [LAB], control=(1, 1), workers=(1, 3), kubernetes_version="1.28.15", observed_at=ago(hours=5)),
    cluster("edge-berlin", "failed", [EAST], control=(1, 1), workers=(0, 2), state_reason="No IP address left in the pool \"edge\"",
            observed_at=ago(days=2)),
    cluster("somewhere", "unknown", [], control=(None, 3), workers=(None, 3), hidden=2, source="declared", state_source="declared",
            observed_at=None, state_reason="no report since 2026-03-01T20:32:35Z, when it was ready", api_endpoint=None,
            created_at=ago(minutes=8)),
    cluster("100% / \"quoted\" 'name' \\ 🐳", "ready", [place(None, "domain-c99", None)], source="declared",
            description="<img src=x onerror=alert(1)>", api_endpoint="https://k8s.example.com:6443"),
    cluster("a-name-of-fifty-characters-without-any-break-12345", "ready", [EAST], workers=(1000, 1000),
            description="Thanks to its description this row shows how a long text flows: it must wrap and not push other columns away."),
]


def node(name: str, role: str, state: str = "ready", place: dict[str, Any] = EAST, power: str = "on", match: str = "instance_uuid",
         connection: str = "connected", client: str | None = "https://vc.example.com") -> dict[str, Any]:
    vm = {"match": match, "vcenter_id": VCENTER, "moref": "vm-7", "name": f"vm-{name}", "instance_uuid": ident(name), "bios_uuid": None,
          "power": power, "connection": "connected"}
    if client:
        vm["client_url"] = f"{client}/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:vm-7:{VCENTER}/summary"
    return {"id": ident(f"node {name}"), "name": name, "role": role, "kubernetes_version": "1.31.2", "address": "10.20.0.31",
            "vcenter_id": None, "vm_instance_uuid": None, "vm_bios_uuid": None, "vm_name": None, "state": state,
            "kubernetes": None, "vm": vm,
            "host": {"moref": "host-9", "name": "esx-1.example.com", "connection": connection}, "vsphere_cluster": place,
            "observed_at": ago(minutes=2)}


def in_kubernetes(ready: bool | None = True, **more: Any) -> dict[str, Any]:
    """What Kubernetes says of a node."""
    return {"kubernetes": {"ready": ready, "reason": None, "since": ago(days=3), "cordoned": False, "version": "v1.36.3",
                           "address": "10.20.0.31", "provider_id": None, "system_uuid": None, "control_plane": False, "as_of": None,
                           "pressure": []} | more}


NODES = [node("prod-2-cp-0", "control_plane"), node("prod-2-w-0", "worker", place=WEST),
         node("prod-2-w-1", "worker", "not_ready", power="off"),
         node("prod-2-w-2", "worker", "not_ready", connection="not_responding", client=None),
         node("prod-2-w-3", "worker", "unknown", match="mismatch", client="javascript:alert(1)//")]


# Of a cluster that is connected: the last one is declared, and Kubernetes does not have it.
CONNECTED_NODES = [
    NODES[0] | in_kubernetes(control_plane=True), NODES[1] | in_kubernetes(cordoned=True, pressure=["MemoryPressure", "DiskPressure"]),
    NODES[2] | in_kubernetes(False, reason="KubeletNotReady", since=ago(minutes=5)),
    NODES[3] | in_kubernetes(None, since=ago(minutes=9), version="v1.35.4") | {"state": "unknown"}, NODES[4]]


def health_reason(word: str, severity: str, text: str, remedy: str | None, since: str | None = None) -> dict[str, Any]:
    return {"reason": word, "severity": severity, "text": text, "since": since, "remedy": remedy}


def health(state: str = "ok", reason: str | None = None, detail: str | None = None, remedy: str | None = None,
           reasons: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    connection = {"state": state, "since": ago(minutes=4), "checked_at": ago(seconds=9), "reason": reason, "detail": detail,
                  "remedy": remedy, "version": "v1.36.3"}
    return {"connection": connection, "reasons": reasons or []}


NO_HEALTH = {"connection": None, "reasons": []}
DEGRADED = health(reasons=[
    health_reason("control_plane_not_ready", "warning", "2 of 3 control planes are Ready; not Ready: prod-2-cp-1 (its kubelet is silent)",
                  "kubectl describe node NAME, and its kubelet's log, say more", ago(minutes=5)),
    health_reason("memory_pressure", "warning", "MemoryPressure: prod-2-w-0", "add memory or nodes, or move pods away: kubectl top node"),
    health_reason("nodes_unknown", "unknown", "its nodes have not been listed", None),
    health_reason("cordoned", "info", "cordoned: prod-2-w-0", "when the work on it is done: kubectl uncordon NAME"),
    health_reason("control_planes_share_host", "info", "prod-2-cp-0 and prod-2-cp-1 are on host esx-1.example.com",
                  "move one of them to another host", ago(minutes=2)),
    health_reason("of_a_newer_service", "info", "something new", "do this about it"),
])
REFUSED = health("refused", "token_refused", "https://prod-2.example.com:6443: the API server says: Unauthorized",
                 "kaasctl cluster reconnect prod-2 --kubeconfig FILE", [
                     health_reason("refused", "unknown", "its API server refuses kaasd: Unauthorized",
                                   "connect the cluster again with a kubeconfig of an administrator", ago(hours=3))])
SILENT = health("failing", "timeout", "https://prod-2.example.com:6443 does not answer within 10 s", "see to its control plane", [
    health_reason("no_quorum", "error",
                  "etcd does not answer its API server: without a majority of its members nothing can be read or written",
                  "bring back the control planes that are down; more than half of etcd's members must run", ago(minutes=2))])

# The steps of connecting, in their order, with what they find when all is well.
SHA256 = ":".join(["5D", "3C"] * 16)
STEPS = [("text", "What was given", 'context "prod-admin": cluster "prod", user "admin"'),
         ("address", "Address", "https://prod.example.com:6443"), ("name", "Name resolution", "prod.example.com is 192.0.2.40"),
         ("tls", "TLS", f"CN=kube-apiserver, until 2027-06-01, SHA-256 {SHA256}"), ("signed_in", "Signed in", "by client certificate"),
         ("version", "Version", "Kubernetes v1.36.3"), ("identity", "Identity", "uid of kube-system: 5d3c2f0e-0a53-4a8e-8a54-2f1f9f3f6f10"),
         ("rights", "Rights", "it may make the account of KaaS"),
         ("account", "Account of KaaS", "service account kaas-1234abcd in kaas-system; what was given is forgotten"),
         ("list", "First list", "6 nodes"), ("machines", "Machines", "6 of 6 nodes tell the UUID of their machine")]


def connect_steps(failed: str | None = None, finding: str = "", remedy: str | None = None, dry_run: bool = False) -> list[dict[str, Any]]:
    """All of them, or up to the one that fails."""
    steps: list[dict[str, Any]] = []
    for word, title, found in STEPS:
        what = ("ok", found)
        if word == failed:
            what = ("failed", finding)
        elif any(step["status"] == "failed" for step in steps):
            what = ("skipped", "not tried: an earlier step failed")
        elif dry_run and word == "account":
            what = ("skipped", "a dry run makes nothing")
        steps.append({"step": word, "title": title, "status": what[0], "finding": what[1], "remedy": remedy if word == failed else None,
                      "duration_ms": 3})
    return steps


def usage(node: dict[str, Any], cpu_used_mhz: int | None = 320, memory_used: int | None = 3 << 30) -> dict[str, Any]:
    return {"node_id": node["id"], "cpu_count": 4, "cpu_mhz": None if cpu_used_mhz is None else 9600, "cpu_used_mhz": cpu_used_mhz,
            "memory_bytes": 8 << 30, "memory_used_bytes": memory_used, "disk_bytes": 100 << 30, "disk_used_bytes": 37 << 30,
            "datastores": ["HX-East-DS1"]}


USAGE = [usage(NODES[0]), usage(NODES[1], 8100, 7 << 30), usage(NODES[2], None, None)]


def rule(kind: str, object_type: str, matched: bool | None, object_name: str | None = None, principal: str | None = None) -> dict[str, Any]:
    return {"kind": kind, "object_type": object_type, "object_id": None, "object_name": object_name, "matched": matched,
            "reason": "in the words of programs", "principal_id": None, "principal_name": principal}


RULES = [rule("role", "all", False), rule("grant", "cluster", True, "prod-2", "shop-people"),
         rule("vcenter_privilege", "vsphere_cluster", True, "DC0/HX-East"),
         rule("vcenter_privilege", "vsphere_cluster", None, "DC0/HX-West")]


def grant(who: str | None, role: str, kind: str, name: str) -> dict[str, Any]:
    return {"id": ident(f"grant {who} {name}"), "principal_id": "sid:S-1-5-21-1-2-3-1104", "principal_name": who, "role": role,
            "object_kind": kind, "object_id": ident(name), "object_name": name, "created_at": ago(days=3)}


GRANTS = [grant("shop-people", "viewer", "cluster", "prod-2"), grant(None, "admin", "hx_cluster", "HX-East")]


def event(number: int, action: str, result: str = "ok", reason: str | None = None) -> dict[str, Any]:
    return {"id": f"1-{number}", "at": ago(hours=number), "action": action, "principal_id": "local:1", "principal_name": "admin",
            "source": "local", "object_kind": "cluster", "object_id": ident("cluster prod-2"), "object_name": "prod-2",
            "address": "10.0.0.5", "request_id": None, "result": result, "reason": reason, "acting_id": None}


EVENTS = [event(1, "cluster.change", reason="labels"), event(2, "cluster.change", "forbidden"), event(3, "cluster.report"),
          event(4, "cluster.create"), event(5, "audit.heads")]


def connection(hx_cluster: dict[str, Any], state: str = "ok", **facts: Any) -> dict[str, Any]:
    said = {"read_at": ago(minutes=1), "uuid": hx_cluster["hx_uuid"], "name": hx_cluster["name"], "version": "5.5.2a-39363",
            "state": "ONLINE", "resiliency": "HEALTHY", "space": "NORMAL", "messages": None, "datacenter": "DC0",
            "vsphere_cluster": hx_cluster["name"],
            "capacity_bytes": 40 << 40, "used_bytes": 14 << 40, "nodes_configured": 4, "nodes_online": 4, "alarms": 0}
    status = {"state": state, "since": ago(days=2), "checked_at": ago(minutes=1), "duration_ms": 80, "next_login_at": None, "refusals": 0,
              "reason": None if state == "ok" else "unreachable",
              "detail": None if state == "ok" else "hx-lab.example.com:443 does not answer",
              "remedy": None if state == "ok" else "check its address and the firewall",
              "facts": said | facts if state == "ok" else None}
    return {"hx_cluster": {"id": hx_cluster["id"], "name": hx_cluster["name"], "name_source": hx_cluster["name_source"]},
            "address": "hx.example.com", "port": 443, "user_name": "kaas", "inherited": False, "ca_pem": None,
            "thumbprint_sha256": ":".join(["AB"] * 32), "created_at": ago(days=2), "updated_at": ago(days=2), "status": status}


HX_CONNECTIONS = [
    connection(HX_EAST),
    connection(HX_WEST, resiliency="UNHEALTHY", space="WARNING", messages="Storage node hx-3 is not reachable", used_bytes=36 << 40,
               nodes_online=3, alarms=2),
    connection(HX_LAB, "failing")]
FACTS = contract().document["components"]["schemas"]["HxClusterFacts"]["required"]
# What everybody is told; the last one was read before it was lost.
HX_FACTS = {c["hx_cluster"]["id"]: {member: c["status"]["facts"][member] for member in FACTS} for c in HX_CONNECTIONS[:2]}
HX_FACTS[HX_LAB["id"]] = HX_FACTS[HX_EAST["id"]] | {"read_at": ago(hours=5)}
