"""A cluster of 3 + 2 machines that boot, made by kaasd and by the shell script beside it (bench/create_by_hand.sh) on one site."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from env.guest.cgroups import PREFIX, is_unified
from env.guest.cgroups import TOP as CGROUPS
from env.guest.made import PORT, MadeCluster, until_answers_outside
from env.guest.making import PROVIDER, TEMPLATE, apply_provider, kaasd_on
from env.guest.node import node_image
from env.guest.site import CLUSTER, DATACENTER, Site, site_of
from env.guest.world import GATEWAY
from env.kaasd import Kaasd
from env.places import CACHE, TOP, Scratch, program
from env.process import run

from .cpu import process_ns
from .figures import Rows, in_turns

BY_HAND = TOP / "bench/create_by_hand.sh"
CONTROL_PLANES, WORKERS = 3, 2
SIZES = ("--control-plane-memory", "2048", "--worker-memory", "1024", "--worker-cpus", "1")
# beside the provider's
API, FIRST = "10.77.0.35", "10.77.0.60"
LIMIT_S = 1800.0
FOLDER = f"/{DATACENTER}/vm"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "open"},
           "spec": {"type": "LoadBalancer", "selector": {"app": "open"}, "ports": [{"port": 80, "targetPort": PORT}]}}
Row = dict[str, float]
Maker = tuple[Callable[[str], Row], Callable[[str], None]]  # makes a cluster of that name, and removes it


def guests_ns(site: Site) -> int:
    """CPU time of all machines that a site has, and ever had: of the control group above theirs."""
    group = f"{PREFIX}{site.guests.keeper_pid}"
    if is_unified():
        return int((CGROUPS / group / "cpu.stat").read_text().split()[1]) * 1000
    return int((CGROUPS / "cpuacct" / group / "cpuacct.usage").read_text())


def children_s() -> float:
    """CPU time of programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Making:
    """The site, with kaasd and what both make clusters of."""

    def __init__(self, site: Site, kaasd: Kaasd) -> None:
        self.site, self.kaasd = site, kaasd
        apply_provider(site, kaasd)
        run([TOP / "scripts/kube", "kubectl", "version", "--client"])  # brings it
        self.kubectl = next(CACHE.glob("kube-helm*/kubectl"))
        self.kubeadm = Path(run([TOP / "scripts/kube", "where", "current"]).stdout.strip(), "kubeadm")
        self.datastore = json.loads(site.govc("ls", "-json", "-t", "Datastore", f"/{DATACENTER}/datastore"))["elements"][0]["Path"]
        self.before = site.inventory()

    def clean(self) -> None:
        left = self.site.inventory() - self.before
        if left:
            raise SystemExit(f"left at the vCenter: {sorted(left)}")

    def expose(self, name: str, config: Path) -> None:
        """What whoever has the cluster does next: a Service of type LoadBalancer. Returns when it answers outside."""
        cluster = MadeCluster(self.site, self.kaasd, name)
        ask = [self.kubectl, f"--kubeconfig={config}", f"--cache-dir={self.site.scratch.path / 'kubectl'}"]
        node = run([*ask, "get", "nodes", "--selector=!node-role.kubernetes.io/control-plane", "--output=name"]).stdout.split()[0]
        objects = {"apiVersion": "v1", "kind": "List", "items": [cluster.server("open", node.removeprefix("node/")), SERVICE]}
        for words in (["create", "--filename=-"],
                      ["wait", "--for=jsonpath={.status.loadBalancer.ingress[0].ip}", "--timeout=300s", "service/open"]):
            done = run([*ask, *words], stdin=json.dumps(objects), limit_s=LIMIT_S)
            if done.returncode:
                raise SystemExit(f"kubectl {words[0]}: {done.stderr}")
        until_answers_outside(run([*ask, "get", "service", "open", "--output=jsonpath={.status.loadBalancer.ingress[0].ip}"]).stdout)

    def by_kaasd(self, name: str) -> Row:
        """In seconds; `own` is the CPU time of kaasd and kaasctl until the Service answers."""
        assert self.kaasd.process
        pid, config = self.kaasd.process.pid, self.site.scratch.path / f"{name}.conf"
        self.site.vcenter.control.forget_calls()
        guests, before, spent, began = guests_ns(self.site), process_ns(pid), children_s(), time.monotonic()
        done = self.kaasd.ctl.run("cluster", "create", name, "--provider", PROVIDER["name"], "--control-planes", str(CONTROL_PLANES),
                                  "--workers", str(WORKERS), *SIZES, limit_s=LIMIT_S)
        if done.returncode:
            raise SystemExit(f"kaasctl cluster create: {done.stdout}{done.stderr}")
        ready = time.monotonic() - began
        config.touch(mode=0o600)
        config.write_text(self.kaasd.ctl.ok("cluster", "kubeconfig", name, "--admin"))
        ours = (process_ns(pid) - before) / 1e9 + children_s() - spent
        calls = len(self.site.vcenter.control.calls())
        self.expose(name, config)
        return {"ready": ready, "service": time.monotonic() - began, "own": ours, "guests": (guests_ns(self.site) - guests) / 1e9,
                "calls": calls}

    def by_hand(self, name: str) -> Row:
        """`own` is the CPU time of the script's govc and kubectl."""
        vcenter, work = self.site.vcenter, self.site.scratch.path / name
        work.mkdir()
        vcenter.control.forget_calls()
        guests, began = guests_ns(self.site), time.monotonic()
        done = subprocess.run([BY_HAND, work, name], capture_output=True, text=True, check=False, timeout=LIMIT_S, env={
            **os.environ, "GOVC_URL": vcenter.url, "GOVC_USERNAME": vcenter.admin.login, "GOVC_PASSWORD": vcenter.admin.password,
            "GOVC_INSECURE": "false", "GOVC_TLS_CA_CERTS": str(vcenter.ca_file), "GOVC_PERSIST_SESSION": "false",
            "GOVC_VIM_VERSION": vcenter.api_version, "GOVC_DATACENTER": DATACENTER, "POOL": f"{CLUSTER}/Resources", "VM_FOLDER": FOLDER,
            "DATASTORE": self.datastore, "TEMPLATE": TEMPLATE, "API": API, "FIRST": FIRST,
            "PREFIX": GATEWAY.partition("/")[2], "GATEWAY": GATEWAY.partition("/")[0],
            "SERVICES": json.dumps(PROVIDER["service_addresses"]), "VERSION": str(self.site.image.description()["kubernetes"]),
            "BUNDLES": str(TOP / "etc/bundles"), "GOVC": str(program("govc")), "KUBEADM": str(self.kubeadm), "KUBECTL": str(self.kubectl)})
        if done.returncode:
            raise SystemExit(f"{BY_HAND.name}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
        ready = time.monotonic() - began
        own = sum(map(float, (work / "cpu").read_text().split()))
        calls = len(vcenter.control.calls())
        self.expose(name, work / f"{name}.conf")
        return {"ready": ready, "service": time.monotonic() - began, "own": own, "guests": (guests_ns(self.site) - guests) / 1e9,
                "calls": calls}

    def remove_by_kaasd(self, name: str) -> None:
        done = self.kaasd.ctl.run("cluster", "delete", name, "--yes", limit_s=LIMIT_S)
        if done.returncode:
            raise SystemExit(f"kaasctl cluster delete: {done.stdout}{done.stderr}")
        self.clean()

    def remove_by_hand(self, name: str) -> None:
        for path in self.site.govc("find", f"{FOLDER}/{name}", "-type", "m").split():
            self.site.govc("vm.power", "-off", path)
            self.site.govc("vm.destroy", path)
        self.site.govc("object.destroy", f"{FOLDER}/{name}")
        shutil.rmtree(self.site.scratch.path / name)
        self.clean()


def one_of_a_round(who: str, number: int, maker: Maker) -> Row:
    make, remove = maker
    name = f"bench-{who}-{number}"
    row = make(name)
    remove(name)
    row["load"] = os.getloadavg()[0]
    print(f"{who:8} {', '.join(f'{value:.2f} {key}' for key, value in row.items())}", flush=True)
    return row


def measure_making(rounds: int) -> Rows:
    scratch, raw = Scratch("bc"), Rows(kaasd=[], script=[])
    try:
        with site_of(scratch, node_image(has_dns=True)) as site, kaasd_on(site) as kaasd:
            making = Making(site, kaasd)
            makers: dict[str, Maker] = {"kaasd": (making.by_kaasd, making.remove_by_kaasd),
                                        "script": (making.by_hand, making.remove_by_hand)}
            for number in range(rounds):
                for who in in_turns(number, list(raw)):
                    raw[who].append(one_of_a_round(who, number, makers[who]))
    finally:
        scratch.remove()
    return raw
