"""The appliance: what it asks for is read and imported at the strict vCenter by govc;
booted by qemu it is the service that was asked for.

qemu emulates the processor, as a machine of tests need not have one to share. The disk hangs on another controller than in vSphere, as OVMF
boots from none of VMware's."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
import requests
from env.machine import require
from env.places import TOP, USERS_BUILD, Scratch, WorldError, free_port
from env.process import Process, run
from env.vcenter import StrictVcenter, start_strict
from env.vimclient import govc, run_govc

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
LIMIT_S = 1800.0
BOOT_LIMIT_S = 600.0
PASSWORD = "twelve words & more"
TYPED = {"kaas.public_url": "https://kaas.example.com:8443", "kaas.admin_password": PASSWORD, "net.hostname": "kaas.example.com",
         "net.address": "10.0.2.15/24", "net.gateway": "10.0.2.2"}  # the network of qemu
OVF = "http://schemas.dmtf.org/ovf/environment/1"


@pytest.fixture(scope="module")
def ova() -> Path:
    require()
    made = run([TOP / "scripts/package", "ova"], limit_s=LIMIT_S)
    if made.returncode:
        raise WorldError(f"scripts/package ova failed:\n{made.stdout[-3000:]}{made.stderr[-2000:]}")
    (found,) = (USERS_BUILD / "packages").glob("*.ova")
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


def test_it_is_imported_with_what_is_typed(ova: Path, scratch: Scratch) -> None:
    vcenter = start_strict(scratch)
    try:
        spec: dict[str, Any] = govc(vcenter, "import.spec", f"{ova}")
        asked = {one["Key"]: one["Value"] for one in spec["PropertyMapping"]}
        assert set(TYPED) < set(asked)
        assert not any(asked.values()), "nothing is typed for anybody"
        spec["PropertyMapping"] = [{"Key": key, "Value": TYPED.get(key, "")} for key in asked]
        spec["NetworkMapping"] = [{"Name": "VM Network", "Network": "VM Network"}]
        options = scratch.path / "options.json"
        options.write_text(json.dumps(spec))
        imported(vcenter, ova, options)
    finally:
        vcenter.stop()


def imported(vcenter: StrictVcenter, ova: Path, options: Path) -> None:
    run_govc(vcenter, "import.ova", "-dc", "DC0", "-pool", "HX-East/Resources", "-options", f"{options}", "-name", "kaas-1",
             f"{ova}")
    (machine,) = govc(vcenter, "vm.info", "-dc", "DC0", "kaas-1")["virtualMachines"]
    hardware = machine["config"]["hardware"]
    assert (hardware["numCPU"], hardware["memoryMB"]) == (2, 4096)
    devices = run_govc(vcenter, "device.ls", "-dc", "DC0", "-vm", "kaas-1")
    for kind in ("VirtualVmxnet3", "ParaVirtualSCSIController", "VirtualDisk"):
        assert kind in devices


class Appliance:
    """The machine, powered on with these properties on its CD, as a vSphere that hands them over so does."""

    def __init__(self, scratch: Scratch, parts: Path, properties: dict[str, str]) -> None:
        folder = scratch.path / "appliance"
        (folder / "cd").mkdir(parents=True)
        told = "".join(f"<Property oe:key={quoteattr(key)} oe:value={quoteattr(value)}/>" for key, value in properties.items())
        (folder / "cd/ovf-env.xml").write_text(
            f'<Environment xmlns="{OVF}" xmlns:oe="{OVF}" oe:id=""><PropertySection>{told}</PropertySection></Environment>')
        (disk,) = parts.glob("*.vmdk")
        run(["xorrisofs", "-quiet", "-V", "OVF ENV", "-o", folder / "env.iso", folder / "cd"])
        run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "vmdk", "-b", disk, folder / "disk.qcow2"])
        shutil.copy("/usr/share/OVMF/OVMF_VARS_4M.fd", folder / "variables.fd")
        self.console = folder / "console"
        self.url = f"https://127.0.0.1:{free_port()}"
        self.process = Process("appliance", [
            "qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-m", "2048", "-smp", "2", "-display", "none",
            "-monitor", "none", "-serial", f"file:{self.console}",
            "-drive", "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
            "-drive", f"if=pflash,format=raw,unit=1,file={folder}/variables.fd",
            "-drive", f"if=none,id=disk,file={folder}/disk.qcow2", "-device", "ide-hd,drive=disk,bus=ide.0,bootindex=0",
            "-drive", f"if=none,id=cd,format=raw,media=cdrom,file={folder}/env.iso", "-device", "ide-cd,drive=cd,bus=ide.1",
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:{self.url.removeprefix('https://')}-:8443",
            "-device", "vmxnet3,netdev=net,romfile="], scratch.log)

    def get(self, path: str) -> requests.Response | None:
        try:
            return requests.get(f"{self.url}{path}", timeout=5, verify=False)  # by another name than that of its certificate
        except requests.RequestException:
            return None

    def is_ready(self) -> bool:
        answer = self.get("/readyz")
        return answer is not None and answer.status_code == 200


@pytest.fixture(scope="module")
def appliance(parts: Path, scratch: Scratch) -> Iterator[Appliance]:
    machine = Appliance(scratch, parts, TYPED)
    try:
        machine.process.wait_until(machine.is_ready, "readiness", BOOT_LIMIT_S,
                                   why_not=lambda: machine.console.read_text(errors="replace")[-1500:])
        yield machine
    finally:
        machine.process.stop()


def test_booted_it_serves_the_sign_in_page_and_admin_signs_in_with_what_was_typed(appliance: Appliance) -> None:
    page = appliance.get("/ui/")
    assert page
    assert "<title>" in page.text
    made = requests.post(f"{appliance.url}/v2/login/password", json={"username": "admin", "password": PASSWORD}, headers={"X-KaaS": "1"},
                         timeout=30, verify=False)
    assert made.status_code in (200, 201), made.text
    token = made.json()["access_token"]
    refused = requests.get(f"{appliance.url}/v2/clusters", headers={"Authorization": f"Bearer {token}"}, timeout=30, verify=False)
    assert (refused.status_code, refused.json()["code"]) == (403, "password_change_required")


def test_the_console_tells_no_password(appliance: Appliance) -> None:
    told = appliance.console.read_text(errors="replace")
    assert "administrator  made admin" in told, told[-3000:]
    assert PASSWORD not in told
