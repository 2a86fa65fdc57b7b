"""Live watching by itself (src/vim/inventory/vim_watch), through vim_watch_probe: against the strict vCenter and the plain simulator."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from env import vimclient
from env.clock import Clock
from env.places import Scratch, WorldError, program
from env.vcenter import DEFAULT_WORLD, StrictVcenter, Vcenter
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.long(69)]
OWN = "com.springpath.sysmgmt"
LIMIT_S = 120  # generous: ends a test that would hang
SETTLED = r"settled (\d+) (\d+) (\d+) (\d+) (\d+)"  # answers, bytes, most bytes in one, ms, peak memory in KB


class Watch:
    """A watch in a process of its own; what it was told, line by line."""

    def __init__(self, vcenter: Vcenter, max_wait_s: int = 60, env: dict[str, str] | None = None) -> None:
        self._popen = subprocess.Popen(
            [program("tests/integ/vcenter/vim_watch_probe"), vcenter.host, str(vcenter.port), vcenter.sha256.replace(":", ""),
             str(max_wait_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        assert self._popen.stdin
        self._popen.stdin.write(f"{vcenter.admin.login}\t{vcenter.admin.password}\t{OWN}\n")
        self._popen.stdin.flush()
        self.lines: list[str] = []
        self._seen = 0
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._popen.stdout
        for line in self._popen.stdout:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()

    def wait(self, pattern: str) -> re.Match[str]:
        """The first line that matches, among those that no wait before has passed."""
        def find() -> re.Match[str] | None:
            while self._seen < len(self.lines):
                self._seen += 1
                if found := re.fullmatch(pattern, self.lines[self._seen - 1]):
                    return found
            return None
        with self._news:
            found: re.Match[str] | None = None

            def happened() -> bool:
                nonlocal found
                found = find()
                return found is not None
            if not self._news.wait_for(happened, LIMIT_S) or not found:
                raise WorldError(f"no {pattern!r} in:\n" + "\n".join(self.lines[-40:]))
            return found

    def settled(self) -> list[str]:
        """What was told up to the next end of an update."""
        start = self._seen
        self.wait(SETTLED)
        return self.lines[start:self._seen - 1]

    def end(self) -> str:
        """Closes stdin, which cancels the watch; what was said on stderr."""
        assert self._popen.stdin and self._popen.stderr
        self._popen.stdin.close()
        assert self._popen.wait(LIMIT_S) == 0
        self._reader.join()
        return self._popen.stderr.read()

    def kill(self) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()


Start = Callable[..., Watch]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Watch] = []

    def begin(vcenter: Vcenter, **more: Any) -> Watch:
        started.append(Watch(vcenter, **more))
        return started[-1]

    yield begin
    for watch in started:
        watch.kill()


@pytest.fixture
def watch(fresh_vcenter: StrictVcenter, start: Start) -> Watch:
    """A watch that has told its first picture."""
    made = start(fresh_vcenter)
    made.settled()
    return made


def ops(vcenter: StrictVcenter) -> list[str]:
    return [call["op"] for call in vcenter.control.calls()]


def ours(vcenter: StrictVcenter) -> list[dict[str, Any]]:
    return [session for session in vcenter.control.sessions() if "vim_watch_probe" in session["user_agent"]]


# ---- the first picture ----


def test_first_picture_is_the_inventory(fresh_vcenter: StrictVcenter, start: Start) -> None:
    told = start(fresh_vcenter).settled()
    assert told[0] == "restarted"
    objects = fresh_vcenter.control.call("GET", "/objects")
    for kind, word in (("HostSystem", "host"), ("ClusterComputeResource", "cluster"), ("VirtualMachine", "vm")):
        there = {row["id"] for row in objects if row["type"] == kind}
        assert there and {line.split()[2] for line in told if line.startswith(f"enter {word} ")} == there
    east = next(row for row in objects if row["id"] == "domain-c7")
    assert f"enter cluster domain-c7 name=HX-East parent={east['parent']}" in told
    assert f"enter folder {east['parent']} name=host parent=datacenter-2" in told
    assert "enter datacenter datacenter-2 name=DC0 parent=group-d1" in told
    assert ("enter vm vm-101 name=k8s-prod-cp-0 instance=50010000-0000-4000-8000-000000000101 "
            "bios=42010000-0000-4000-8000-000000000101 host=host-11 power=poweredOn connection=connected template=0") in told
    assert any(line.startswith("enter host host-11 ") and "parent=domain-c7" in line for line in told)
    [keys] = [line.split()[1:] for line in told if line.startswith("extensions")]
    assert set(keys[:-1]) == set(fresh_vcenter.control.extensions())
    assert re.fullmatch(rf"own={re.escape(OWN)}/\S+", keys[-1])
    assert not any(line.startswith("permissions") for line in told)  # what was before is void


def test_machine_folders_are_not_told(fresh_vcenter: StrictVcenter, start: Start) -> None:
    told = start(fresh_vcenter).settled()
    folders = {row["id"]: row["name"] for row in fresh_vcenter.control.call("GET", "/objects") if row["type"] == "Folder"}
    assert {folders[line.split()[2]] for line in told if " folder " in line} == {"host", "Datacenters"}


def big_world(path: Path, machines: int) -> Path:
    world = json.loads(DEFAULT_WORLD.read_text())
    world["datacenters"][0]["clusters"][0]["vms"].append({"name": "many", "count": machines})
    path.write_text(json.dumps(world))
    return path


def test_ten_thousand_machines(make_vcenter: Callable[..., StrictVcenter], start: Start, tmp_path: Path) -> None:
    vcenter = make_vcenter("big", world=big_world(tmp_path / "big.json", 10_000))
    watch = start(vcenter)
    told = watch.settled()
    machines = {line.split()[2] for line in told if line.startswith("enter vm")}
    assert machines == {row["id"] for row in vcenter.control.call("GET", "/objects") if row["type"] == "VirtualMachine"}
    answers, size, most, took_ms, memory_kb = map(int, re.fullmatch(SETTLED, watch.lines[-1]).groups())
    print(f"first picture: {len(told)} lines, {answers} answers, {size} bytes, most {most}, {took_ms} ms, {memory_kb} KB")
    assert answers > 100  # 100 objects in an answer, whatever was asked for
    assert most < 1_000_000 and memory_kb < 200_000  # (a sanitizer takes most of it) one answer at a time is held, never the whole
    vcenter.control.object("rename", id="vm-101", name="one of many")
    assert watch.settled() == ["modify vm vm-101 name=one of many"]
    answers, size, *_ = map(int, re.fullmatch(SETTLED, watch.lines[-1]).groups())
    assert answers == 1 and size < 2000


# ---- changes ----


def test_changes_of_objects(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    change = fresh_vcenter.control.object
    change("rename", id="domain-c7", name="HX/50% \u00fc")
    watch.wait("modify cluster domain-c7 name=HX/50% \u00fc")
    change("rename", id="datacenter-2", name="Berlin")
    watch.wait("modify datacenter datacenter-2 name=Berlin")
    change("migrate", id="vm-101", to="host-12")
    watch.wait("modify vm vm-101 host=host-12")
    change("migrate", id="vm-101", to="host-71")
    watch.wait("modify vm vm-101 host=host-71")
    change("power", id="vm-101", state="poweredOff")
    watch.wait("modify vm vm-101 power=poweredOff")
    change("identify", id="vm-101", uuid="4201AAAA-0000-4000-8000-000000000101", instance_uuid="5001AAAA-0000-4000-8000-000000000101")
    watch.wait("modify vm vm-101 instance=5001aaaa-0000-4000-8000-000000000101 bios=4201aaaa-0000-4000-8000-000000000101")
    change("connection", id="host-12", state="notResponding")
    watch.wait("modify host host-12 connection=notResponding")
    change("move", id="host-12", to="domain-c40")
    watch.wait("modify host host-12 parent=domain-c40")
    change("remove", id="vm-102")
    watch.wait("leave vm vm-102")


def test_a_new_cluster_brings_its_way_up(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    made = fresh_vcenter.control.object("create", datacenter="DC1", cluster={
        "name": "New", "moref": "domain-c777", "hosts": [{"name": "n1", "moref": "host-7771"}], "vms": []})
    assert made["id"] == "domain-c777"
    parent = watch.wait(r"enter cluster domain-c777 name=New parent=(\S+)")[1]
    watch.wait(r"enter host host-7771 name=n1 parent=domain-c777 .*")
    assert f"enter folder {parent} name=host parent=datacenter-3" in watch.lines
    fresh_vcenter.control.object("remove", id="domain-c777")
    watch.wait("leave (cluster domain-c777|host host-7771)")
    watch.wait("leave (cluster domain-c777|host host-7771)")


def test_extension_records(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    fresh_vcenter.control.put_extension(key=OWN + ".domain-c40", version="1.0", company="x", label="l", summary="s")
    line = watch.wait("extensions .*")[0]
    assert OWN + ".domain-c40" in line.split() and f"own={OWN}/" in line
    fresh_vcenter.control.drop_extension(OWN + ".domain-c40")
    assert OWN + ".domain-c40" not in watch.wait("extensions .*")[0].split()
    fresh_vcenter.control.drop_extension(OWN)
    assert "own=" not in watch.wait("extensions .*")[0]
    with vimclient.session(fresh_vcenter, fresh_vcenter.admin) as instance:
        record = vimclient.vim.Extension(key=OWN, version="9.9", lastHeartbeatTime=instance.CurrentTime(),
                                         description=vimclient.vim.Description(label="l", summary="s"))
        instance.RetrieveContent().extensionManager.RegisterExtension(record)
    watch.wait(rf"extensions .* own={re.escape(OWN)}/9\.9")


# ---- permissions ----


def test_permission_events(fresh_vcenter: StrictVcenter, start: Start) -> None:
    control = fresh_vcenter.control
    control.permit("domain-c70", "VSPHERE.LOCAL\\viewer-dc")  # before the watch: not told
    watch = start(fresh_vcenter)
    assert not any(line.startswith("permissions") for line in watch.settled())
    control.permit("domain-c70", "VSPHERE.LOCAL\\viewer-east")
    assert watch.wait("permissions (.*)")[1] == "VSPHERE.LOCAL\\viewer-east"
    control.forbid("domain-c70", "VSPHERE.LOCAL\\viewer-east")
    assert watch.wait("permissions (.*)")[1] == "VSPHERE.LOCAL\\viewer-east"
    control.permit("domain-c70", "CORP\\hx-viewers", group=True)
    assert watch.wait("permissions (.*)")[1] == "of all"
    control.call("POST", "/roles", {"name": "Odd", "privileges": ["Folder.Create"]})
    assert watch.wait("permissions (.*)")[1] == "of all"


def test_other_events_are_silent(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    def is_waiting() -> bool:
        """In the second wait: the first one is answered at once, and stays among the pending ones a moment longer."""
        pending = [call["op"] for call in fresh_vcenter.control.pending()]
        return ops(fresh_vcenter).count("WaitForUpdatesEx") >= 2 and pending == ["WaitForUpdatesEx"]

    until(is_waiting, "the wait")
    fresh_vcenter.control.forget_calls()
    fresh_vcenter.control.call("POST", "/events", {"type": "VmMessageEvent", "entity": "vm-101", "message": "m", "count": 300})
    fresh_vcenter.control.permit("domain-c70", "VSPHERE.LOCAL\\viewer-east")
    assert watch.settled() == ["permissions VSPHERE.LOCAL\\viewer-east"]
    until(lambda: ops(fresh_vcenter), "the call that was answered, in the log")  # it is written behind the answer
    assert ops(fresh_vcenter).count("WaitForUpdatesEx") == 1  # the one before; the next is still pending


def test_without_the_right_to_collect_events(fresh_vcenter: StrictVcenter, start: Start) -> None:
    """The newest event of all serves instead."""
    fresh_vcenter.control.fault("CreateCollectorForEvents", "fault", fault="NoPermission", text="no")
    watch = start(fresh_vcenter)
    watch.settled()
    fresh_vcenter.control.permit("domain-c70", "VSPHERE.LOCAL\\viewer-east")
    assert watch.wait("permissions (.*)")[1] == "VSPHERE.LOCAL\\viewer-east"


# ---- what goes wrong ----


def test_lost_session(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    for name in ("one", "two", "three"):
        assert fresh_vcenter.control.expire(all=True)
        fresh_vcenter.control.object("rename", id="domain-c7", name=name)
        told = watch.settled()
        if not any(f"domain-c7 name={name}" in line for line in told):  # the picture was taken just before the change
            told += watch.settled()
        assert "restarted" in told and any(f"domain-c7 name={name}" in line for line in told)
    assert len(ours(fresh_vcenter)) == 1
    assert not any(line.startswith("error") for line in watch.lines)


def test_lost_collector(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    before = fresh_vcenter.control.state()["views"]
    for _ in range(5):
        fresh_vcenter.control.fault("WaitForUpdatesEx", "fault", count=1, fault="InvalidCollectorVersion", text="old")
        fresh_vcenter.control.permit("domain-c70", "VSPHERE.LOCAL\\viewer-east")  # ends the pending wait; the next meets the fault
        watch.wait("restarted")
        watch.settled()
    assert fresh_vcenter.control.state()["views"] == before  # nothing piles up in the session
    assert len(ours(fresh_vcenter)) == 1


def test_restart(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    fresh_vcenter.control.restart(down_ms=3000)
    watch.wait("error upstream_unreachable .*")
    fresh_vcenter.control.object("rename", id="domain-c7", name="after")
    watch.wait("restarted")
    watch.wait("(enter|modify) cluster domain-c7 name=after.*")
    watch.wait(SETTLED)
    assert len(ours(fresh_vcenter)) == 1


@pytest.mark.parametrize("fault", [
    {"kind": "html"}, {"kind": "empty"}, {"kind": "flood"}, {"kind": "deep"}, {"kind": "close", "bytes": 100},
    {"kind": "status", "status": 503}, {"kind": "truncated", "bytes": 400}, {"kind": "fault", "fault": "SystemError", "text": "oh"},
])
def test_bad_answers_are_survived(fresh_vcenter: StrictVcenter, watch: Watch, fault: dict[str, Any]) -> None:
    fresh_vcenter.control.fault("WaitForUpdatesEx", count=1, **fault)
    fresh_vcenter.control.object("rename", id="domain-c7", name="before")
    # the call that waits may have begun before the fault was set: then the next one meets it, and some faults need an answer to spoil
    told = watch.wait("error .*|modify cluster domain-c7 name=before.*")
    fresh_vcenter.control.object("rename", id="domain-c7", name="after")
    if not told[0].startswith("error"):
        watch.wait("error .*")
    watch.wait("restarted")
    watch.wait("(enter|modify) cluster domain-c7 name=after.*")
    watch.wait(SETTLED)
    assert len(ours(fresh_vcenter)) == 1


def test_a_server_that_does_not_answer_is_noticed(fresh_vcenter: StrictVcenter, scratch: Scratch, start: Start) -> None:
    clock = Clock(scratch.path / "clock", hurries_calls=True)
    watch = start(fresh_vcenter, max_wait_s=1, env=clock.env)
    watch.settled()
    fresh_vcenter.control.fault("WaitForUpdatesEx", "hang", count=1)
    clock.hasten(lambda: any(line.startswith("error upstream_timeout ") for line in watch.lines), "the notice")
    watch.wait("restarted")
    watch.wait(SETTLED)


# ---- cost and end ----


def test_idle_costs_one_pending_call(fresh_vcenter: StrictVcenter, start: Start) -> None:
    watch = start(fresh_vcenter, max_wait_s=1)
    watch.settled()
    told = len(watch.lines)
    after = str(fresh_vcenter.control.last_call())

    def finished() -> list[dict[str, Any]]:
        return [call for call in fresh_vcenter.control.calls(after=after) if call["duration_ms"]]  # not the pending one

    until(lambda: len(finished()) >= 3, "three waits that ended")
    assert {call["op"] for call in finished()} == {"WaitForUpdatesEx"}
    assert min(call["duration_ms"] for call in finished()[1:]) >= 900  # the server itself lets it wait for a second
    assert len(watch.lines) == told
    until(lambda: fresh_vcenter.control.state()["connections_open"] <= 2, "no more than its own, and one of the pool for the login")


def test_end_is_clean(fresh_vcenter: StrictVcenter, watch: Watch) -> None:
    """A pending call of 60 s does not hold up the end, and nothing is left at the server."""
    assert ours(fresh_vcenter)
    views = fresh_vcenter.control.state()["views"]
    assert watch.end() == ""
    assert not ours(fresh_vcenter)
    assert fresh_vcenter.control.state()["views"] < views
    made = ops(fresh_vcenter)
    assert made.count("DestroyPropertyCollector") == 1 and made[-1] == "Logout"


def test_plain_simulator(vcsim: Vcenter, start: Start) -> None:
    watch = start(vcsim, max_wait_s=2)  # it waits to the end, also for a client that is gone
    told = watch.settled()
    machine = next(line.split()[2] for line in told if line.startswith("enter vm"))
    assert any(line.startswith("enter cluster") for line in told) and any(line.startswith("enter datacenter") for line in told)
    with vimclient.session(vcsim, vcsim.admin) as instance:
        vimclient.vim.VirtualMachine(machine, instance._stub).Rename("renamed")
        watch.wait(f"modify vm {machine} name=renamed")
