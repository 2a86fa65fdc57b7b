"""The end of a world whose test was killed, and where there can be none."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.guest import cgroups, inotify
from env.guest.world import require
from env.places import TOP, WorldError
from env.wait import until


def lives(pid: int) -> bool:
    """What has ended stays in the list of processes until somebody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def network_of(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def in_network(network: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "ns/net").readlink()) == network:
                found.append((process / "cmdline").read_text())
        except OSError:  # it has ended
            continue
    return found


def groups_of(keeper: int) -> list[Path]:
    return [group for hierarchy in cgroups.hierarchies() for group in hierarchy.glob(f"{cgroups.PREFIX}{keeper}")]


@pytest.fixture
def doomed() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    process = subprocess.Popen([sys.executable, "-m", "guest.doomed"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(TOP / "tests")})
    assert process.stdout
    told = json.loads(process.stdout.readline())
    yield process, told
    process.kill()
    process.wait()
    shutil.rmtree(told["scratch"], ignore_errors=True)


def test_kill_9_of_the_test_leaves_nothing(doomed: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    process, told = doomed
    inside, outside = network_of(told["init"]), network_of(told["keeper"])
    assert groups_of(told["keeper"]) and Path(told["disk"]).exists()
    assert int(inotify.LIMIT.read_text()) >= inotify.ENOUGH
    process.kill()
    process.wait()
    until(lambda: not lives(told["keeper"]), "the end of the keeper")
    assert not lives(told["init"])
    until(lambda: not in_network(inside) and not in_network(outside), "the end of all in its networks")  # the vCenter dies with its parent
    assert not groups_of(told["keeper"])
    assert not Path(told["disk"]).parent.exists()
    assert told["disk"] not in Path("/proc/mounts").read_text()
    if not json.loads((Path(told["disk"]).parents[1] / "inotify.json").read_text())["holders"]:  # no other world needs it
        assert int(inotify.LIMIT.read_text()) < inotify.ENOUGH


def test_kill_9_of_the_keeper_ends_its_machines_and_leaves_nothing(doomed: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    _, told = doomed
    os.kill(told["keeper"], 9)
    until(lambda: not lives(told["init"]), "the end of its machine")
    until(lambda: not groups_of(told["keeper"]) and not Path(told["disk"]).parent.exists(), "the end of what it left")


def test_without_root_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(WorldError, match="machines that boot need root"):
        require()


def test_without_cgroups_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cgroups, "TOP", tmp_path)
    with pytest.raises(WorldError, match="need the cgroup controllers cpu, cpuset, memory, pids"):
        require()
