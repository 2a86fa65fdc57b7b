"""The node image as an OVA: imported at the strict vCenter by govc it becomes a template; booted by qemu it does what its metadata say.

qemu emulates the processor, as a machine of tests need not have one to share. Its firmware says that it is VMware's, so that
open-vm-tools and cloud-init look as they do there, but it has none of VMware's ports: the documents come in the other form that
cloud-init's source documents, by the environment, which the entry of the boot loader sets. The disk hangs on another controller than in
vSphere, as OVMF boots from none of VMware's."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.machine import require
from env.places import TOP, USERS_BUILD, Scratch, WorldError
from env.process import Process, run
from env.vcenter import StrictVcenter, start_strict
from env.vimclient import govc, run_govc
from place import MAKE_LIMIT_S

BOOT_LIMIT_S = 1200.0
pytestmark = [pytest.mark.full("boots a machine whose processor is emulated, which takes minutes"),
              pytest.mark.timeout(MAKE_LIMIT_S + 2 * BOOT_LIMIT_S)]  # of the test that makes it
ESP_START = 1 << 20  # scripts/lib/vm.sh
NAME, ADDRESS, MAC = "prod-cp-x7k2m", "10.0.2.15", "52:54:00:00:00:0b"
METADATA = {"instance-id": "iid-1", "local-hostname": NAME, "network": {"version": 2, "ethernets": {"id0": {
    "match": {"macaddress": MAC}, "set-name": "eth0", "addresses": [f"{ADDRESS}/24"], "gateway4": "10.0.2.2"}}}}
# what is told on the console, which is what one sees of a machine from outside
SAID = """echo "name: $(hostname)"; kaas-node-check; echo "checked: $?"; ip -br -4 address show eth0; df --output=size /
systemctl show --property ConditionResult open-vm-tools; journalctl --boot --no-pager --output cat --unit open-vm-tools; echo "all is said"
"""
USERDATA = "#cloud-config\n" + json.dumps({"runcmd": [["sh", "-c", f"({SAID}) >/dev/ttyS0 2>&1"]]})


@pytest.fixture(scope="module")
def ova() -> Path:
    require()
    made = run([TOP / "scripts/package", "node-image"], limit_s=MAKE_LIMIT_S)
    if made.returncode:
        raise WorldError(f"scripts/package node-image failed:\n{made.stdout[-3000:]}{made.stderr[-2000:]}")
    (found,) = (USERS_BUILD / "node-image").glob("*.ova")
    return found


@pytest.fixture(scope="module")
def parts(ova: Path, scratch: Scratch) -> Path:
    """What is in it, unpacked."""
    folder = scratch.path / "ova"
    with tarfile.open(ova) as archive:
        assert [name.rsplit(".", 1)[1] for name in archive.getnames()] == ["ovf", "mf", "vmdk"]
        archive.extractall(folder, filter="data")
    return folder


def test_the_manifest_has_the_sum_of_each_file(parts: Path) -> None:
    (manifest,) = parts.glob("*.mf")
    files = [file for file in parts.iterdir() if file != manifest]
    sums = {f"SHA256({file.name})= {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files}
    assert set(manifest.read_text().splitlines()) == sums


@pytest.fixture(scope="module")
def vcenter(scratch: Scratch) -> Iterator[StrictVcenter]:
    world = start_strict(scratch)
    yield world
    world.stop()


def test_it_is_imported_and_becomes_a_template_as_the_page_says(vcenter: StrictVcenter, ova: Path, scratch: Scratch) -> None:
    name, place = ova.stem, ("-dc", "DC0")
    options = scratch.path / "options.json"
    spec = govc(vcenter, "import.spec", f"{ova}")
    assert "PropertyMapping" not in spec, "it asks for nothing"
    options.write_text(json.dumps({**spec, "NetworkMapping": [{"Name": "VM Network", "Network": "VM Network"}]}))
    run_govc(vcenter, "import.ova", *place, "-options", f"{options}", "-pool", "HX-East/Resources", "-name", name, f"{ova}")
    said = json.dumps({"contract": 1, "kubernetes": name.removeprefix("kaas-node-")})
    run_govc(vcenter, "vm.change", *place, "-vm", name, "-e", f"guestinfo.kaas.node={said}")
    run_govc(vcenter, "snapshot.create", *place, "-vm", name, "kaas")
    run_govc(vcenter, "vm.markastemplate", *place, name)
    (machine,) = govc(vcenter, "vm.info", *place, "-e", name)["virtualMachines"]
    config = machine["config"]
    assert config["template"]
    assert machine["snapshot"]["rootSnapshotList"][0]["name"] == "kaas"
    assert {one["key"]: one["value"] for one in config["extraConfig"]}["guestinfo.kaas.node"] == said
    assert (config["hardware"]["numCPU"], config["hardware"]["memoryMB"]) == (2, 4096)
    devices = run_govc(vcenter, "device.ls", *place, "-vm", name)
    for kind in ("VirtualVmxnet3", "ParaVirtualSCSIController", "VirtualDisk"):
        assert kind in devices


def told() -> str:
    """Both documents in the kernel's command line, as systemd sets them for all that it starts (systemd(1), "Kernel Command Line")."""
    words = ["systemd.setenv=VMX_GUESTINFO=1"]
    for key, document in (("METADATA", json.dumps(METADATA)), ("USERDATA", USERDATA)):
        packed = base64.b64encode(gzip.compress(document.encode(), mtime=0)).decode()
        words += [f"systemd.setenv=VMX_GUESTINFO_{key}={packed}", f"systemd.setenv=VMX_GUESTINFO_{key}_ENCODING=gzip+base64"]
    return " ".join(words)


def tell(disk: Path, words: str) -> None:
    """As typed at the boot loader's menu: behind the options of its entry."""
    esp = f"{disk}@@{ESP_START}"
    listed = run(["mdir", "-b", "-i", esp, "::/loader/entries"]).stdout
    (entry,) = re.findall(r"^::/(\S+\.conf)$", listed, re.M)
    text = run(["mtype", "-i", esp, f"::/{entry}"]).stdout
    assert "options" in text, listed
    changed = disk.with_suffix(".conf")
    changed.write_text(re.sub(r"^(options .*)$", rf"\1 {words}", text, flags=re.M))
    copied = run(["mcopy", "-o", "-i", esp, changed, f"::/{entry}"])
    assert copied.returncode == 0, copied.stderr


class Booted:
    def __init__(self, scratch: Scratch, parts: Path) -> None:
        folder = scratch.path / "node"
        folder.mkdir()
        (disk,) = parts.glob("*.vmdk")
        made = run(["qemu-img", "convert", "-O", "raw", disk, folder / "disk.raw"], limit_s=BOOT_LIMIT_S)
        assert made.returncode == 0, made.stderr
        tell(folder / "disk.raw", told())
        run(["qemu-img", "resize", "-f", "raw", folder / "disk.raw", "24G"])  # as a clone may be larger than its template
        shutil.copy("/usr/share/OVMF/OVMF_VARS_4M.fd", folder / "variables.fd")
        self.console = folder / "console"
        self.process = Process("node", [
            "qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max,hypervisor=off", "-m", "2048", "-smp", "2", "-display", "none",
            "-monitor", "none", "-serial", f"file:{self.console}",
            "-smbios", "type=1,manufacturer=VMware,, Inc.,product=VMware7,,1",
            "-drive", "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
            "-drive", f"if=pflash,format=raw,unit=1,file={folder}/variables.fd",
            "-drive", f"if=none,id=disk,format=raw,file={folder}/disk.raw", "-device", "ide-hd,drive=disk,bus=ide.0,bootindex=0",
            "-netdev", "user,id=net,restrict=on", "-device", f"vmxnet3,netdev=net,romfile=,mac={MAC}"], scratch.log)

    def said(self) -> str:
        return self.console.read_text(errors="replace") if self.console.exists() else ""


@pytest.fixture(scope="module")
def booted(parts: Path, scratch: Scratch) -> Iterator[str]:
    """What it said on its console."""
    machine = Booted(scratch, parts)
    try:
        machine.process.wait_until(lambda: "all is said" in machine.said(), "the end of its user-data", BOOT_LIMIT_S,
                                   why_not=lambda: machine.said()[-2000:])
        yield machine.said().replace("\r", "")
    finally:
        machine.process.kill()


def test_booted_it_has_the_name_and_the_address_of_its_metadata(booted: str) -> None:
    assert re.search(rf"^eth0 +UP +{re.escape(ADDRESS)}/24", booted, re.M), booted[-3000:]
    assert f"name: {NAME}\n" in booted, booted[-3000:]


def test_booted_it_keeps_its_contract(booted: str) -> None:
    assert "checked: 0" in booted, booted[-5000:]
    assert "MISSING" not in booted


def test_its_root_grew_to_the_size_of_the_disk(booted: str) -> None:
    (blocks,) = re.findall(r"1K-blocks\n *(\d+)", booted)
    assert int(blocks) > 22 << 20


def test_open_vm_tools_are_started_where_the_firmware_is_vmwares(booted: str) -> None:
    assert "ConditionResult=yes" in booted, booted[-5000:]
