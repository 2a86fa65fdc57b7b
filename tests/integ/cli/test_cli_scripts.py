"""kaasctl in scripts: what may be said again, what a list is good for, how long a command waits, times as one says them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator

import pytest
import yaml
from env.full import World
from env.places import program

pytestmark = pytest.mark.slow
FAILED, USAGE, UNREACHABLE = 1, 2, 3


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    with World("s") as whole:
        whole.join()
        yield whole


def test_a_list_may_be_imported_again(own: World) -> None:
    ctl = own.kaasd.ctl
    before = ctl.json("cluster", "list")
    assert before
    again = ctl.run("-o", "json", "cluster", "import", "-", "--update", stdin=json.dumps(before, indent=2))
    assert again.returncode == 0, again.stderr
    assert [item["result"] for item in json.loads(again.stdout)] == ["unchanged"] * len(before)
    assert again.stderr.startswith("kaasctl: left out of what is sent, since kaasd sets it or sees it by itself: ")
    assert {"id", "state_by", "created_at"} < set(again.stderr.partition("itself: ")[2].strip().split(", "))
    assert ctl.json("cluster", "list") == before


def test_a_changed_list_changes_the_records(own: World) -> None:
    ctl = own.kaasd.ctl
    first, *rest = ctl.json("cluster", "list", "--sort", "name")
    changed = [first | {"description": "from a list", "labels": {"team": "shop"}}, *rest]
    assert ctl.ok("cluster", "import", "-", "--update", stdin=json.dumps(changed)) == f"1 changed, {len(rest)} unchanged\n"
    assert ctl.json("cluster", "show", first["name"])["description"] == "from a list"
    made = {**first, "name": "copied"}
    assert ctl.ok("cluster", "import", "-", stdin=json.dumps([made])) == "1 created\n"
    copied = ctl.json("cluster", "show", "copied")
    assert copied["placement"]["vsphere_clusters"] == first["placement"]["vsphere_clusters"] and copied["id"] != first["id"]
    broken = ctl.run("cluster", "import", "-", stdin='[{"name": ]')
    assert (broken.returncode, broken.stdout) == (FAILED, "")


def test_places_that_are_hidden_from_who_made_the_list_stay(own: World) -> None:
    ctl = own.kaasd.ctl
    places = ("--vsphere-cluster", "DC0/HX-East", "--vsphere-cluster", "DC0/HX-West")
    ctl.ok("cluster", "add", "--name", "both-halves", "--kubernetes-version", "1.31.2", *places)
    whole = ctl.json("cluster", "show", "both-halves")
    placement = whole["placement"]
    assert len(placement["vsphere_clusters"]) == 2
    seen = placement | {"vsphere_clusters": placement["vsphere_clusters"][:1], "hidden": 1}
    assert ctl.ok("cluster", "import", "-", "--update", stdin=json.dumps([whole | {"placement": seen}])) == "1 unchanged\n"
    assert ctl.json("cluster", "show", "both-halves")["placement"] == placement
    ctl.ok("cluster", "rm", "both-halves", "--yes")


def test_what_others_say_of_a_cluster_does_not_become_typed(own: World) -> None:
    """A state that is reported, in a list that is imported again."""
    ctl = own.kaasd.ctl
    ctl.ok("cluster", "add", "--name", "told", "--kubernetes-version", "1.31.2", "--vsphere-cluster", "DC0/HX-East")
    ctl.ok("cluster", "status", "told", "--state", "degraded", "--periodic", "--workers", "1/2")
    listed = ctl.json("cluster", "list", "--query", "told")
    assert listed[0]["state_source"] == "reported"
    assert ctl.ok("cluster", "import", "-", "--update", stdin=json.dumps(listed)) == "1 unchanged\n"
    assert ctl.json("cluster", "show", "told")["state_source"] == "reported"


def test_a_grant_that_is_there_is_no_failure(own: World) -> None:
    ctl = own.kaasd.ctl
    ctl.ok("user", "add", "anna")
    made = ctl.json("grant", "add", "anna", "--cluster", "prod-1")
    again = ctl.run("-o", "json", "grant", "add", "anna", "--cluster", "prod-1", "--role", "viewer")
    assert (again.returncode, json.loads(again.stdout)["id"]) == (0, made["id"])
    assert again.stderr == "kaasctl: this grant is there already\n"
    other = ctl.run("grant", "add", "anna", "--cluster", "prod-1", "--role", "admin")
    assert (other.returncode, "already" in other.stderr) == (FAILED, True)
    assert len(ctl.json("grant", "list", "--principal", "anna")) == 1


def test_times_are_said_as_how_long_ago(own: World) -> None:
    ctl = own.kaasd.ctl
    assert ctl.json("audit", "list", "--since", "2d") == ctl.json("audit", "list")
    assert ctl.json("audit", "list", "--until", "1h") == []
    assert ctl.run("audit", "list", "--since", "yesterday").returncode == FAILED


def test_a_command_waits_no_longer_than_it_is_told(own: World) -> None:
    """A kaasd that takes the call and says nothing: without the option it is waited for three minutes."""
    config = own.scratch.path / "silent.yaml"
    settings = yaml.safe_load(own.kaasd.config.read_text())
    settings["server"]["admin_socket"] = str(own.scratch.path / "silent.sock")
    config.write_text(yaml.safe_dump(settings))
    config.chmod(0o600)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(settings["server"]["admin_socket"])
        silent.listen()
        for command in (("cluster", "list"), ("cluster", "list", "--watch"), ("user", "remove", "anna", "--yes")):
            argv = [str(program("kaasctl")), "--config", str(config), *command, "--timeout", "1s"]
            result = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
            assert result.returncode == UNREACHABLE, result.stderr
            assert result.stderr.startswith("kaasctl: ")
    assert own.kaasd.ctl.run("--timeout", "soon", "cluster", "list").returncode == USAGE
    assert own.kaasd.ctl.ok("--timeout", "5m", "cluster", "list")
