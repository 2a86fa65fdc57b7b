"""kaas-node-check: an image of ours keeps its contract, and of whatever is taken away it says what is missing and what to do."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import pytest
from env.places import TOP, Scratch
from place import Node, make, told

DESCRIPTION = "/etc/kaas-node.json"
CONTAINERD = "/etc/containerd/config.toml"
KUBELET = "/etc/systemd/system/kubelet.service"
OLD_KUBECTL = """#!/bin/sh\necho '{"clientVersion": {"gitVersion": "v1.20.2"}}'\n"""
Break = Callable[[Node], AbstractContextManager[None]]


def hidden(name: str) -> Break:
    return lambda node: node.hidden(name)


def off(unit: str) -> Break:
    return lambda node: node.off(unit)


def changed(name: str, *words: str, mode: int = 0o644) -> Break:
    return lambda node: node.changed(name, *words, mode=mode)


# what is broken; the point that says so; a part of what it says; a part of the remedy
BROKEN: dict[str, tuple[Break, str, str, str]] = {
    **{f"no {name}": (hidden(f"/usr/bin/{name}"), "programs", f"{name} is not installed", f"put {name} ")
       for name in ("kubelet", "kubeadm", "kubectl")},
    "another kubectl": (changed("/usr/bin/kubectl", OLD_KUBECTL, mode=0o755), "programs", "kubectl v1.20.2", "of one release"),
    "no description": (hidden(DESCRIPTION), "description", f"{DESCRIPTION} is not there", "--describe"),
    "no JSON": (changed(DESCRIPTION, "{"), "description", "contract null", "--describe"),
    "another contract": (changed(DESCRIPTION, '"contract": 1', '"contract": 2'), "description", "is of contract 2", "--describe"),
    "another release": (changed(DESCRIPTION, '"kubernetes": "v1.', '"kubernetes": "v9.'), "description", "says Kubernetes v9.",
                        "--describe"),
    "no unit": (hidden(KUBELET), "kubelet", "there is no kubelet.service", "install the unit"),
    "a unit of somebody else": (changed(KUBELET, "kubeadm-flags.env", "flags.env"), "kubelet", "kubeadm-flags.env", "10-kubeadm.conf"),
    "kubelet off": (off("kubelet"), "kubelet", "would not come back", "systemctl enable kubelet"),
    "containerd off": (off("containerd"), "containerd", "is not enabled", "systemctl enable containerd"),
    "another driver": (changed(CONTAINERD, "SystemdCgroup = true", "SystemdCgroup = false"), "cgroups", "SystemdCgroup is false",
                       "SystemdCgroup = true"),
    "another driver of kubelet": (changed("/etc/kubernetes/patches/kubeletconfiguration+merge.yaml", "cgroupDriver: cgroupfs\n"), "cgroups",
                                  "kubelet's driver cgroupfs", "cgroupDriver"),
    "another pause": (changed(CONTAINERD, "/pause:", "/pause:0"),
                      "pause", "begin each pod with registry.k8s.io/pause:0", "sandbox_image ="),
    "a plug-in": (hidden("/opt/cni/bin/bridge"), "plug-ins", "/opt/cni/bin has no bridge", "containernetworking-plugins"),
    "plug-ins elsewhere": (changed(CONTAINERD, "/opt/cni/bin", "/usr/lib/cni"), "plug-ins", "in /usr/lib/cni", 'bin_dir = "/opt/cni/bin"'),
    "no cloud-init": (hidden("/usr/bin/cloud-init"), "cloud-init", "cloud-init is not installed", "apt-get install cloud-init"),
    "an old cloud-init": (changed("/usr/bin/cloud-init", "#!/bin/sh\necho /usr/bin/cloud-init 20.4.1\n", mode=0o755), "cloud-init",
                          "20.4.1 does not know the source VMware", "21.3"),
    "cloud-init off": (changed("/etc/cloud/cloud-init.disabled", ""), "cloud-init", "is switched off", "rm /etc/cloud/cloud-init.disabled"),
    "a stage off": (off("cloud-final"), "cloud-init", "cloud-final.service",
                    "systemctl enable cloud-final"),
    "another source": (changed("/etc/cloud/cloud.cfg.d/99.cfg", "datasource_list: [NoCloud]\n"),
                       "cloud-init", "[NoCloud]", "[VMware, None]"),
    "network off": (changed("/etc/cloud/cloud.cfg.d/99.cfg", "network: {config: disabled}\n"), "cloud-init", "leaves the network alone",
                    "cloud.cfg.d"),
    "no rpctool": (hidden("/usr/bin/vmware-rpctool"), "tools", "vmware-rpctool is not installed", "apt-get install open-vm-tools"),
    "no vmtoolsd": (hidden("/usr/bin/vmtoolsd"), "tools", "vmtoolsd is not installed", "apt-get install open-vm-tools"),
    "tools off": (off("open-vm-tools"), "tools", "is not enabled", "systemctl enable open-vm-tools"),
    "no keepalived": (hidden("/usr/sbin/keepalived"), "keepalived", "keepalived is not installed", "apt-get install keepalived"),
    **{f"no {path}": (hidden(path), "commands", f"{path.rpartition('/')[2]} is not installed", f"apt-get install {package}")
       for path, package in {"/usr/bin/ip": "iproute2", "/usr/sbin/nft": "nftables", "/usr/sbin/iptables": "iptables",
                             "/usr/sbin/conntrack": "conntrack", "/usr/sbin/ethtool": "ethtool", "/usr/bin/socat": "socat",
                             "/usr/bin/curl": "curl", "/usr/sbin/runc": "runc"}.items()},
    "no forwarding": (changed("/etc/sysctl.d/90-kaas-node.conf", "ip_forward = 1", "ip_forward = 0"),
                      "kernel", "ip_forward", "sysctl --system"),
    "swap": (changed("/etc/fstab", "LABEL=swap none swap sw 0 0\n"), "swap", "there is swap", "swapoff"),
    "no clock": (off("systemd-timesyncd"), "clock", "nothing sets the clock",
                 "systemd-timesyncd"),
}
# what each clone of a template would have
LEFT: dict[str, tuple[Break, str, str, str]] = {
    "machine-id": (changed("/etc/machine-id", "0123456789abcdef0123456789abcdef\n"), "identity", "/etc/machine-id", "cloud-init clean"),
    "machine-id of D-Bus": (changed("/var/lib/dbus/machine-id", "0123456789abcdef0123456789abcdef\n"),
                            "identity", "/var/lib/dbus/machine-id", "ln -sf /etc/machine-id"),
    "a run of cloud-init": (changed("/var/lib/cloud/instance/user-data.txt", ""), "identity", "cloud-init has run", "cloud-init clean"),
    "host keys": (changed("/etc/ssh/ssh_host_ed25519_key", ""), "identity", "host keys", "rm /etc/ssh/ssh_host_"),
    "an account": (changed("/etc/kubernetes/kubelet.conf", ""), "leftovers", "/etc/kubernetes/kubelet.conf", "kubeadm reset"),
    "etcd's data": (changed("/var/lib/etcd/member/snap/db", ""), "leftovers", "/var/lib/etcd/member", "kubeadm reset"),
    "an address of the API": (changed("/etc/keepalived/keepalived.conf", ""), "leftovers", "keepalived", "rm /etc/keepalived"),
    "an address of networkd": (changed("/etc/systemd/network/10-lan.network", "[Match]\nName=e*\n[Network]\nAddress=192.0.2.9/24\n"),
                               "addresses",
                               "/etc/systemd/network/10-lan.network", "rm /etc/systemd/network/10-lan.network"),
    "an address of ifupdown": (changed("/etc/network/interfaces",
                               "iface lo inet loopback\niface eth0 inet static\n  address 192.0.2.9/24\n"),
                               "addresses", "/etc/network/interfaces", "rm /etc/network/interfaces"),
}


def test_an_image_of_ours_keeps_it_and_is_fit_for_a_template(node: Node) -> None:
    checked = node.check("--template")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert not told(checked.stdout.splitlines())
    assert len(checked.stdout.splitlines()) == 18


def says(node: Node, broken: tuple[Break, str, str, str]) -> None:
    way, point, what, remedy = broken
    with way(node):
        checked = node.check(point)
    found = told(checked.stdout.splitlines())
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert point in found, checked.stdout + checked.stderr
    assert what in found[point].partition(" -- do: ")[0]
    assert remedy in found[point].partition(" -- do: ")[2]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_missing_is_named_with_the_remedy(node: Node, name: str) -> None:
    says(node, BROKEN[name])


@pytest.mark.parametrize("name", LEFT)
def test_what_each_clone_would_have_is_named_before_it_is_a_template(node: Node, name: str) -> None:
    says(node, LEFT[name])


def test_a_machine_that_runs_may_have_what_a_template_may_not(node: Node) -> None:
    with ExitStack() as all_of_it:
        for way, *_ in LEFT.values():
            all_of_it.enter_context(way(node))
        checked = node.check()
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_point_that_there_is_not_is_refused(node: Node) -> None:
    checked = node.check("clouds")
    assert checked.returncode == 2
    assert "no such point: clouds" in checked.stderr


def test_an_image_that_is_not_there_is_named(node: Node) -> None:
    name = next(one["name"] for one in json.loads(node.ok(f"cat {DESCRIPTION}"))["images"] if "/etcd:" in one["name"])
    node.ok(f"ctr --namespace k8s.io images tag {name} kaas.test/aside:1 && ctr --namespace k8s.io images rm {name}")
    try:
        found = told(node.check().stdout.splitlines())
    finally:
        node.ok(f"ctr --namespace k8s.io images tag kaas.test/aside:1 {name} && ctr --namespace k8s.io images rm kaas.test/aside:1")
    assert f"containerd has not {name} --" in found["images"]
    assert "images import FILE" in found["images"]


def test_what_was_left_out_on_purpose_is_not_missed_but_what_was_not_is(node: Node) -> None:
    (name,) = json.loads(node.ok(f"cat {DESCRIPTION}"))["left_out"]
    assert "/coredns:" in name
    with node.changed(DESCRIPTION, json.dumps({**json.loads(node.ok(f"cat {DESCRIPTION}")), "left_out": []})):
        found = told(node.check().stdout.splitlines())
    assert f"containerd has not {name} --" in found["images"]


def test_containerd_that_does_not_run_or_speaks_no_cri_is_named(node: Node) -> None:
    node.stop_containerd()
    try:
        assert "does not answer" in told(node.check().stdout.splitlines())["containerd"]
        with node.changed(CONTAINERD, "version = 2", 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]'):
            node.start_containerd()
            found = told(node.check().stdout.splitlines())
            node.stop_containerd()
        assert "without its plug-in cri" in found["containerd"]
        assert "disabled_plugins" in found["containerd"]
    finally:
        node.start_containerd()


def of_bundles() -> set[str]:
    """Images of the network for pods, which a node has as well."""
    manifests = (TOP / "etc/bundles").glob("*/manifests/*.yaml")
    return {image for file in manifests for image in re.findall(r"^ *image: *(\S+)", file.read_text(), re.M)}


def test_the_description_tells_what_is_in_it(node: Node) -> None:
    described = json.loads(node.ok(f"cat {DESCRIPTION}"))
    assert described["contract"] == 1
    assert node.ok("kubelet --version") == f"Kubernetes {described['kubernetes']}\n"
    for name, program in described["programs"].items():
        assert node.ok(f"sha256sum </usr/bin/{name}").split()[0] == program["sha256"]
    listed = {line.split()[0]: line.split()[2] for line in node.ok("ctr --namespace k8s.io images list").splitlines()[1:]}
    assert {one["name"]: one["digest"] for one in described["images"]} == {
        name: digest for name, digest in listed.items() if not name.startswith("sha256:")}
    of_kubeadm = node.ok(f"kubeadm config images list --kubernetes-version {described['kubernetes']}").split()
    assert {one["name"] for one in described["images"]} | set(described["left_out"]) == {*of_kubeadm, *of_bundles()}
    for member, package in {"containerd": "containerd", "cloud_init": "cloud-init", "keepalived": "keepalived"}.items():
        assert node.ok(f"dpkg-query --show --showformat='${{Version}}' {package}") == described[member]


@pytest.mark.full("builds CoreDNS, which takes minutes")
def test_what_is_made_without_options_has_all_that_kubeadm_names(scratch: Scratch) -> None:
    machine = Node(scratch, make(), "whole")
    try:
        assert json.loads(machine.ok(f"cat {DESCRIPTION}"))["left_out"] == []
        assert machine.ok("kaas-node-check images") == "ok       images       7 of them\n"
    finally:
        machine.stop()
