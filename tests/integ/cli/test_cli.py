"""kaasctl against a running daemon: what it prints, what it asks, how it fails. Set-up without a daemon is test_cli_setup.py."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.server
import json
import os
import re
import signal
import socketserver
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from env.full import EXTENSION_KEY, World, add_vcenter
from env.places import Scratch, program
from env.samples import SAMPLES
from env.terminal import Terminal
from env.vcenter import DEFAULT_WORLD, StrictVcenter
from env.wait import until

pytestmark = pytest.mark.slow
FAILED, USAGE, UNREACHABLE, NOT_FOUND, REFUSED, UNCONFIRMED = 1, 2, 3, 4, 5, 6
ODD_NAMES = ["näme 🚀", "a/b", "100%", "it's \"quoted\"", "back\\slash", "-dash", "x:y", "é" * 50]
HX_EAST_DC0 = "DC0/HX-East"


@pytest.fixture(scope="module")
def own() -> Iterator[World]:
    """A joined world for this file, in which tests may add things of their own."""
    with World("c") as whole:
        whole.join()
        yield whole


def fails(world: World, status: int, *arguments: str, stdin: str = "") -> str:
    """The one line of a command that must fail with this status."""
    result = world.kaasd.ctl.run(*arguments, stdin=stdin)
    assert result.returncode == status, result.stderr
    first = result.stderr.splitlines()[0]
    assert first.startswith("kaasctl: ")
    assert not result.stdout
    return result.stderr


def terminal(world: World, *arguments: str) -> Terminal:
    return Terminal([program("kaasctl"), "--config", world.kaasd.config, *arguments])


def remote(world: World, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    argv = [program("kaasctl"), "--server", world.kaasd.url, "--ca-file", world.kaasd.tls.ca_file, *arguments]
    return subprocess.run([str(word) for word in argv], input=stdin, capture_output=True, text=True, timeout=120, check=False)


# -- lists and objects ------------------------------------------------------------------------------------------------------


def test_a_list_is_an_aligned_table(world: World) -> None:
    lines = world.kaasd.ctl.ok("cluster", "list").splitlines()
    assert lines[0].split() == ["NAME", "STATE", "VERSION", "CONTROL", "PLANE", "WORKERS", "VSPHERE", "CLUSTERS", "DESCRIPTION"]
    assert [line.split()[0] for line in lines[1:]] == sorted(sample.name for sample in SAMPLES)
    column = lines[0].index("STATE")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines)
    assert not [line for line in lines if line != line.rstrip()]


def test_json_is_that_of_the_interface(world: World) -> None:
    assert world.kaasd.ctl.json("cluster", "list") == world.admin.get("/v2/clusters")["items"]
    assert world.kaasd.ctl.json("cluster", "show", "prod-1") == world.kaasd.ctl.json("cluster", "list", "--query", "shop front")[0]
    assert world.kaasd.ctl.json("hx", "list") == world.admin.get("/v2/hx-clusters")["items"]
    assert world.kaasd.ctl.json("vcenter", "list")[0]["id"] == world.vcenter.instance_uuid


def test_yaml_is_the_same_as_json(own: World) -> None:
    own.kaasd.ctl.ok("cluster", "add", "--name", "yaml", "--kubernetes-version", "1.31.2", "--vsphere-cluster", HX_EAST_DC0,
                     "--description", "näme: \u202e{1} # '\"", "--label", "a=1.10", "--label", "b=no")
    for command in (("cluster", "list"), ("cluster", "show", "yaml"), ("hx", "list"), ("user", "list"),
                    ("cluster", "list", "--query", "none")):
        as_yaml = own.kaasd.ctl.ok("-o", "yaml", *command)
        assert "\u202e" not in as_yaml
        assert yaml.safe_load(as_yaml) == own.kaasd.ctl.json(*command)
    assert yaml.safe_load(own.kaasd.ctl.ok("-o", "yaml", "vcenter", "status"))[0]["state"] == "connected"


def test_names_are_fit_for_xargs(own: World) -> None:
    """A name, or the id where that would be taken apart or means several."""
    for name in ("xargs-1", "xargs it's"):
        own.kaasd.ctl.ok("cluster", "add", "--name", name, "--kubernetes-version", "1.31.2", "--vsphere-cluster", HX_EAST_DC0)
    (odd,) = [item["id"] for item in own.kaasd.ctl.json("cluster", "list", "--query", "xargs") if item["name"] == "xargs it's"]
    told = own.kaasd.ctl.ok("cluster", "list", "--query", "xargs", "-o", "name")
    assert sorted(told.split()) == sorted(["xargs-1", odd])
    rm = ["xargs", "-n1", str(program("kaasctl")), "--config", str(own.kaasd.config), "--yes", "cluster", "rm"]
    subprocess.run(rm, input=told, text=True, check=True, capture_output=True, timeout=120)
    assert own.kaasd.ctl.ok("cluster", "list", "--query", "xargs", "-o", "name") == ""
    assert own.kaasd.ctl.ok("-o", "name", "vcenter", "list") == own.vcenter.host + "\n"
    hx = {item["id"] for item in own.kaasd.ctl.json("hx", "list")}
    assert set(own.kaasd.ctl.ok("-o", "name", "hx", "list").split()) - hx
    for one in hx:
        own.kaasd.ctl.ok("hx", "set", one, "--name", "same")
    assert set(own.kaasd.ctl.ok("-o", "name", "hx", "list").split()) == hx
    for one in hx:
        own.kaasd.ctl.ok("hx", "set", one, "--name", "")
    keys = own.kaasd.ctl.json("key", "list")  # an id is all that they have
    assert own.kaasd.ctl.ok("-o", "name", "key", "list").split() == [key["kid"] for key in keys] and keys
    assert "for what lists and shows" in fails(own, USAGE, "-o", "name", "user", "add", "nobody")
    assert not [user for user in own.kaasd.ctl.json("user", "list") if user["name"] == "nobody"]


def test_tables_without_their_first_line(world: World) -> None:
    lines = world.kaasd.ctl.ok("cluster", "list").splitlines()
    bare = world.kaasd.ctl.ok("--no-headers", "cluster", "list").splitlines()
    assert [line.split() for line in bare] == [line.split() for line in lines[1:]]


def test_filters(world: World) -> None:
    def names(*filters: str) -> list[str]:
        return [item["name"] for item in world.kaasd.ctl.json("cluster", "list", *filters)]

    hx_id = next(hx["id"] for hx in world.kaasd.ctl.json("hx", "list") if hx["vsphere_cluster"]["moref"] == "domain-c7")
    assert names("--hx-cluster", hx_id) == ["prod-1", "prod-2", "stretched"]
    assert names("--hx-cluster", "HX-West") == ["stretched", "west-1"]
    assert names("--state", "degraded,updating") == ["far-1", "prod-2"]
    assert names("--vcenter", world.vcenter.host, "--vsphere-cluster", "DC0/C-Plain") == ["plain-1"]
    assert names("--sort=-name")[0] == "west-1"
    assert names("-q", "PAYMENTS") == ["prod-2"]


def test_a_name_that_fits_several_is_told_with_all_of_them(world: World) -> None:
    for command in (("hx", "show", "HX-East"), ("cluster", "list", "--hx-cluster", "HX-East")):
        said = fails(world, FAILED, *command).splitlines()
        assert "fits 2 HX clusters" in said[0]
        assert sorted(line.split()[2] for line in said[1:]) == [HX_EAST_DC0, "DC1/HX-East"]
        assert all(world.kaasd.ctl.json("hx", "show", line.split()[0]) for line in said[1:])


@pytest.mark.parametrize(("command", "hint"), [
    (("cluster", "show", "prod"), 'did you mean "prod-1"?'),
    (("cluster", "show", str(uuid.uuid4())), "kaasctl cluster list"),
    (("vcenter", "show", "nowhere.example.com"), "kaasctl vcenter list"),
    (("hx", "show", "HX-Nowhere"), "kaasctl hx list"),
    (("cluster", "list", "--hx-cluster", "HX-Nowhere"), "kaasctl hx list"),
])
def test_what_is_not_there(world: World, command: tuple[str, ...], hint: str) -> None:
    assert hint in fails(world, NOT_FOUND, *command)


def without_moments(status: str) -> list[str]:
    """The lines of a vCenter's status but the one that tells when its record was last compared: it may be at any time."""
    return [line for line in status.splitlines() if line.split()[:1] != ["compared"]]


def test_status_names_what_a_person_needs(world: World) -> None:
    until(lambda: world.kaasd.ctl.json("vcenter", "status")[0]["extension"].get("reconciled_at"), "the first comparison")
    said = world.kaasd.ctl.ok("vcenter", "status", world.vcenter.host)
    for part in (": connected", "VMware vCenter Server", EXTENSION_KEY, "ours, as it should be", "certificate_tunnel", "works",
                 "none is missing", "DC0/HX-West (domain-c70)"):
        assert part in said
    assert without_moments(world.kaasd.ctl.ok("vcenter", "status"))[:5] == without_moments(said)[:5]
    every = world.kaasd.ctl.json("vcenter", "status")
    assert [status["id"] for status in every] == [world.vcenter.instance_uuid]


def test_the_short_status_is_one_line_for_each_vcenter(world: World) -> None:
    title, row = world.kaasd.ctl.ok("vcenter", "status", "--short").splitlines()
    assert title.split() == ["NAME", "STATE", "VERSION", "RECORD", "LOGIN", "PROBLEM"]
    assert row.split()[:2] == [world.vcenter.host, "connected"] and row.split()[-3:] == ["ours", "certificate_tunnel", "-"]
    assert world.kaasd.ctl.ok("vcenter", "status", "--short", world.vcenter.host).splitlines()[1] == row


@pytest.mark.parametrize("command", [("cluster", "list"), ("cluster", "list", "-o", "json"), ("cluster", "list", "--watch")])
def test_a_reader_that_goes_away_is_no_error(world: World, command: tuple[str, ...]) -> None:
    """As with `kaasctl cluster list | head -1`: nothing is said, and the program ends as others do."""
    read, write = os.pipe()
    os.close(read)
    try:
        argv = [str(word) for word in (program("kaasctl"), "--config", world.kaasd.config, *command)]
        result = subprocess.run(argv, stdout=write, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    finally:
        os.close(write)
    assert (result.returncode, result.stderr) == (-signal.SIGPIPE, "")


def test_health_version_whoami(world: World) -> None:
    assert "database" in world.kaasd.ctl.ok("health")
    version = world.kaasd.ctl.json("version")
    assert version["kaasctl"] == version["kaasd"]
    rows = sorted(row.split()[:4] for row in world.kaasd.ctl.ok("hx", "list").splitlines()[1:])
    places = [("HX-East", HX_EAST_DC0), ("HX-East", "DC1/HX-East"), ("HX-West", "DC0/HX-West")]
    assert rows == [[name, "vcenter", world.vcenter.host, place] for name, place in places]
    who = world.kaasd.ctl.json("whoami")
    assert (who["source"], who["role"]) == ("socket", "admin")
    paths = [row["path"] for row in world.kaasd.ctl.json("vcenter", "clusters", world.vcenter.host)]
    assert paths == ["DC0/C-Plain", "DC0/HX-East", "DC0/HX-West", "DC1/HX-East"]


# -- clusters ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_make_the_whole_way(own: World, name: str) -> None:
    ctl = own.kaasd.ctl
    ctl.ok("cluster", "add", f"--name={name}", "--vsphere-cluster", HX_EAST_DC0, "--kubernetes-version", "1.31.2")
    assert ctl.json("cluster", "show", "--", name)["name"] == name
    assert name in ctl.ok("cluster", "list")
    ctl.ok("cluster", "set", "--state", "ready", "--", name)
    ctl.ok("cluster", "rm", "--yes", "--", name)
    fails(own, NOT_FOUND, "cluster", "show", "--", name)


def test_all_members_of_a_cluster(own: World) -> None:
    ctl, vm = own.kaasd.ctl, str(uuid.uuid4())
    made = ctl.json("cluster", "add", "--name", "full", "--vsphere-cluster", f"{own.vcenter.host}:{HX_EAST_DC0}", "--vsphere-cluster",
                    "domain-c70", "--kubernetes-version", "1.31.2", "--description", "all of it", "--api-endpoint", "https://10.0.0.1:6443",
                    "--dashboard-url", "https://d.example.com/", "--control-plane", "-/3", "--workers", "4/5", "--state", "degraded",
                    "--state-reason", "one is away", "--label", "team=shop", "--label", "empty=", "--node", "cp-1,control_plane",
                    "--node", f"w-1,worker,{own.vcenter.instance_uuid},{vm}")
    assert (made["control_plane"], made["workers"]) == ({"ready": None, "desired": 3}, {"ready": 4, "desired": 5})
    assert sorted(place["moref"] for place in made["placement"]["vsphere_clusters"]) == ["domain-c7", "domain-c70"]
    assert made["labels"] == {"team": "shop", "empty": ""}
    nodes = ctl.json("cluster", "nodes", "full")
    told = [(node["name"], node["role"], node["vm_instance_uuid"]) for node in nodes]
    assert told == [("cp-1", "control_plane", None), ("w-1", "worker", vm)]
    changed = ctl.json("cluster", "set", "full", "--name", "fuller", "--clear", "description", "--clear", "dashboard-url", "--clear",
                       "nodes", "--clear", "label:empty", "--label", "tier=1", "--workers", "5", "--vcenter", "127.0.0.1",
                       "--vsphere-cluster", "DC0/C-Plain")
    assert (changed["name"], changed["description"], changed["dashboard_url"]) == ("fuller", None, None)
    assert changed["labels"] == {"team": "shop", "tier": "1"}
    assert changed["workers"] == {"ready": 4, "desired": 5}
    assert [place["name"] for place in changed["placement"]["vsphere_clusters"]] == ["C-Plain"]
    assert ctl.json("cluster", "nodes", "fuller") == []
    ctl.ok("cluster", "rm", "fuller", "-y")


def test_defaults_of_a_cluster(own: World) -> None:
    made = own.kaasd.ctl.json("cluster", "add", "--name", "bare", "--vsphere-cluster", HX_EAST_DC0, "--kubernetes-version", "1.31.2")
    assert (made["control_plane"]["desired"], made["workers"]["desired"], made["state"]) == (1, 0, "unknown")
    own.kaasd.ctl.ok("cluster", "rm", "bare", "--yes")


def test_what_two_are_called_is_told_with_what_tells_them_apart(own: World) -> None:
    said = own.kaasd.ctl.run("hx", "show", "HX-East").stderr
    assert '"HX-East" fits 2 HX clusters; use the id, or the vSphere cluster that it is on:' in said and "DC0/HX-East" in said
    for path in ("DC0/HX-East", "/DC0/host/HX-East"):
        assert own.kaasd.ctl.json("hx", "show", path)["vsphere_cluster"]["moref"] == "domain-c7"
    add = ("cluster", "add", "--name", "x", "--kubernetes-version", "v1.31.2", "--vsphere-cluster")
    said = own.kaasd.ctl.run(*add, "HX-East").stderr
    assert "fits more than one vSphere cluster" in said and "domain-c26 or domain-c7" in said
    assert "did you mean DC0/HX-East?" in own.kaasd.ctl.run(*add, "/dc0/host/hx-east").stderr
    for path in ("/DC0/host/HX-West", "HX-West", "domain-c70"):
        assert own.kaasd.ctl.json(*add, path)["placement"]["vsphere_clusters"][0]["moref"] == "domain-c70"
        assert own.kaasd.ctl.json("cluster", "list", "--vsphere-cluster", path)[0]["kubernetes_version"] == "1.31.2"
        own.kaasd.ctl.ok("cluster", "rm", "x", "--yes")


def test_texts_of_others_cannot_act_on_the_terminal(own: World) -> None:
    evil = "\x1b[31mred\x1b[0m\u202eesrever \x9b1m"
    own.kaasd.ctl.ok("cluster", "add", "--name", "evil", "--vsphere-cluster", HX_EAST_DC0, "--kubernetes-version", "1.31.2",
                     "--description", evil)
    for command in (("cluster", "list"), ("cluster", "show", "evil"), ("-o", "json", "cluster", "show", "evil")):
        said = own.kaasd.ctl.ok(*command)
        assert not [c for c in said if c in "\x1b\u202e\x9b"]
    assert own.kaasd.ctl.json("cluster", "show", "evil")["description"] == evil
    own.kaasd.ctl.ok("cluster", "rm", "evil", "--yes")


def test_what_is_no_utf_8_is_refused(own: World, tmp_path: Path) -> None:
    """Of a terminal with another coding: arguments, words, passwords and files. Nothing is stored, as something else least of all."""
    latin, password, records, utf16 = b"gr\xfc\xdfe", tmp_path / "pw", tmp_path / "records", tmp_path / "utf16"
    password.write_bytes(b"geheim\xfc und lang genug\n")
    password.chmod(0o600)
    records.write_bytes(b'{"name": "a"}\n{"name": "gr\xfc"}\n')
    utf16.write_text('{"name": "a"}\n', encoding="utf-16")
    kaasctl = [str(program("kaasctl")), "--config", str(own.kaasd.config)]
    for arguments, told in (
            (["cluster", "add", "--name", latin], b'argument 6, "gr\\xfc\\xdfe", is not valid UTF-8'),
            (["cluster", "show", b"\xff\xfe"], b'argument 5, "\\xff\\xfe", is not valid UTF-8'),
            (["user", "add", "anna", "--password-file", str(password)], b"the password is not valid UTF-8"),
            (["cluster", "import", str(records)], b"is not valid UTF-8: see line 2"),
            (["cluster", "import", str(utf16)], b"UTF-16")):
        done = subprocess.run([*kaasctl, *arguments], capture_output=True, check=False)
        assert done.returncode in (1, 2) and told in done.stderr, (arguments, done.stderr)
    assert "a" not in own.admin.names()


@pytest.mark.parametrize(("arguments", "text"), [
    (("cluster", "add", "--name", "x"), "--vsphere-cluster is missing"),
    (("cluster", "set", "prod-1"), "nothing to change"),
    (("cluster", "set", "prod-1", "--workers", "4x"), "READY/DESIRED"),
    (("cluster", "set", "prod-1", "--label", "x"), "KEY=VALUE"),
    (("cluster", "set", "prod-1", "--clear", "name"), "use description"),
    (("cluster", "set", "prod-1", "--vcenter", "x"), "--vsphere-cluster"),
    (("cluster", "show"), "CLUSTER is missing"),
    (("cluster", "show", "a", "b"), 'unexpected argument "b"'),
    (("cluster", "lst"), 'did you mean "cluster list"?'),
    (("cluster", "lsit"), 'did you mean "cluster list"?'),
    (("cluster", "create"), "NAME is missing"),
    (("service", "create"), 'did you mean "service add"?'),
    (("user", "update"), 'did you mean "user set"?'),
    (("vcenter", "delete-login-account"), 'did you mean "vcenter remove-login-account"?'),
    (("vcenter", "get-login-account"), "see: kaasctl vcenter --help"),
    (("vcenter", "rotate-certificat"), 'did you mean "vcenter rotate-certificate"?'),
    (("user", "describe"), "see: kaasctl user --help"),
    (("get", "clusters"), "as in: kaasctl cluster list"),
    (("pod", "list"), "see: kaasctl --help"),
    (("kubeconfig",), "see: kaasctl --help"),
    (("clustre", "list"), 'did you mean "cluster"?'),
    (("cluster",), "kaasctl cluster --help"),
    ((), "kaasctl --help"),
    (("cluster", "list", "--stat", "x"), "did you mean --state?"),
    (("cluster", "list", "-o", "xml"), "table, json, yaml or name"),
    (("vcenter", "add", "https://vc"), "[IPV6]:PORT"),
    (("vcenter", "add", "vc", "--thumbprint", "00:11"), "SHA-1"),
    (("vcenter", "add", "vc", "--tunnel-port", "70000"), "--tunnel-port"),
    (("vcenter", "register", "vc"), "--user"),
    (("hx", "set", "x"), "nothing to change"),
    (("user", "list", "--json"), "--help lists the options"),
    (("service", "add", "x"), "--certificate, --subject or --kerberos"),
])
def test_wrong_usage(world: World, arguments: tuple[str, ...], text: str) -> None:
    assert text in fails(world, USAGE, *arguments)


def test_words_of_other_tools(own: World) -> None:
    ctl = own.kaasd.ctl
    assert ctl.ok("cluster", "get") == ctl.ok("cluster", "ls") == ctl.ok("cluster", "list")
    assert ctl.ok("cluster", "describe", "prod-1", "-o", "json") == ctl.ok("cluster", "show", "prod-1", "-o", "json")
    for verb in ("remove", "rm"):  # `delete` is another command there
        ctl.ok("cluster", "add", "--name", "gone", "--kubernetes-version", "1.31.2", "--vsphere-cluster", HX_EAST_DC0)
        assert ctl.ok("--yes", "cluster", verb, "gone") == "removed the record of cluster gone\n"
    for verb in ("delete", "remove", "rm"):
        ctl.ok("service", "add", "gone", "--kerberos", "gone@EXAMPLE.COM")
        assert ctl.ok("--yes", "service", verb, "gone") == "removed service account gone\n"
    fails(own, UNCONFIRMED, "vcenter", "remove", own.vcenter.host)
    assert ctl.ok("help", "cluster", "list") == ctl.ok("cluster", "list", "--help")
    assert ctl.ok("help") == ctl.ok("--help")


def test_one_option_has_one_meaning(world: World) -> None:
    """The names of before are taken, and the help tells one."""
    said = fails(world, FAILED, "vcenter", "add", world.vcenter.address, "--sha256", world.vcenter.sha256)
    assert said == fails(world, FAILED, "vcenter", "add", world.vcenter.address, "--thumbprint", world.vcenter.sha256)
    for command in (("vcenter", "add"), ("vcenter", "set"), ("vcenter", "trust"), ("hx", "connect"), ("peer", "set"), ("pilot",)):
        told = world.kaasd.ctl.ok(*command, "--help")
        assert "--sha256" in told and "--ca-file" in told and "--thumbprint" not in told and "--ca " not in told
    missing = world.kaasd.ctl.run("ldap", "set", "corp", "--ca-file", "/nowhere/ca.pem")
    assert (missing.returncode, missing.stderr) == (FAILED, world.kaasd.ctl.run("ldap", "set", "corp", "--ca", "/nowhere/ca.pem").stderr)
    assert "/nowhere/ca.pem" in missing.stderr


def test_a_password_is_no_argument(world: World) -> None:
    for words in (("--password", "geheim"), ("--password=geheim",)):
        said = fails(world, USAGE, "vcenter", "register", world.vcenter.host, "--user", "x", *words)
        assert "--password-file" in said
        assert "geheim" not in said


def test_of_a_file_with_a_key_only_the_certificate_is_sent(world: World, scratch: Scratch) -> None:
    name, key = f"both-{uuid.uuid4().hex[:8]}", scratch.path / "client.key"
    key.write_text("-----BEGIN PRIVATE KEY-----\ngeheim\n-----END PRIVATE KEY-----\n")
    both = scratch.path / "both.pem"
    both.write_text(key.read_text() + world.kaasd.tls.cert_file.read_text())
    said = fails(world, FAILED, "service", "add", name, "--certificate", str(key))
    assert "holds no certificate" in said and "geheim" not in said
    assert len(world.kaasd.ctl.json("service", "add", name, "--certificate", str(both))["certificates"]) == 1
    world.kaasd.ctl.ok("service", "remove", name, "--yes")


def test_what_the_server_refuses(world: World) -> None:
    add = ("cluster", "add", "--name", "x", "--kubernetes-version")
    assert "1.31.2" in fails(world, FAILED, *add, "v1", "--vsphere-cluster", HX_EAST_DC0)
    assert "DC0/Nowhere" in fails(world, FAILED, *add, "1.31.2", "--vsphere-cluster", "DC0/Nowhere")
    assert "unregister" in fails(world, FAILED, "vcenter", "rm", world.vcenter.host, "--yes")
    assert "configured already" in fails(world, FAILED, "vcenter", "add", world.vcenter.address, "--thumbprint", world.vcenter.sha256)


def test_removing_wants_a_confirmation(own: World) -> None:
    ctl = own.kaasd.ctl
    ctl.ok("cluster", "add", "--name", "doomed", "--vsphere-cluster", HX_EAST_DC0, "--kubernetes-version", "1.31.2")
    assert "--yes" in fails(own, UNCONFIRMED, "cluster", "rm", "doomed")
    with terminal(own, "cluster", "rm", "doomed") as person:
        person.wait_for("Type yes:")
        person.type("y\n")
        assert person.end() == UNCONFIRMED
    assert ctl.json("cluster", "show", "doomed")
    with terminal(own, "cluster", "rm", "doomed") as person:
        person.wait_for("Type yes:")
        person.type("yes\n")
        assert person.end() == 0
    fails(own, NOT_FOUND, "cluster", "show", "doomed")


@pytest.mark.slow
def test_a_list_is_followed_over_its_pages(fresh_world: World) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    password = fresh_world.vcenter.admin
    fresh_world.kaasd.ctl.ok("vcenter", "register", fresh_world.vcenter.host, "--user", password.login, "--password-file", "-",
                             stdin=password.password)
    admin = fresh_world.admin
    place = {"vcenter_id": fresh_world.vcenter.instance_uuid, "moref": "domain-c7"}
    for i in range(501):
        admin.expect(201, "POST", "/v2/clusters", json={"name": f"many-{i:03}", "vsphere_clusters": [place], "kubernetes_version": "1.31.2",
                                                        "control_plane": {"desired": 1}, "workers": {"desired": 0}})
    names = [item["name"] for item in fresh_world.kaasd.ctl.json("cluster", "list")]
    assert names == [f"many-{i:03}" for i in range(501)]
    assert fresh_world.kaasd.ctl.json("cluster", "show", "many-500")["name"] == "many-500"
    assert len(fresh_world.kaasd.ctl.json("cluster", "list", "--lines", "501")) == 501
    some = fresh_world.kaasd.ctl.run("cluster", "list", "--lines", "500")
    assert "many-499" in some.stdout and "many-500" not in some.stdout
    assert some.stderr == "kaasctl: there are more than these 500; --lines NUMBER shows more\n"


# -- vCenters ---------------------------------------------------------------------------------------------------------------


def test_the_certificate_is_confirmed_by_a_person(fresh_world: World) -> None:
    vcenter, add = fresh_world.vcenter, ("vcenter", "add", fresh_world.vcenter.address)
    said = fails_with_certificate(fresh_world, *add)
    assert f"--sha256 {vcenter.sha256}" in said
    with terminal(fresh_world, *add) as person:
        person.wait_for("Type yes to trust this certificate:")
        assert vcenter.sha256 in person.screen
        person.type("no\n")
        assert person.end() == UNCONFIRMED
    assert not vcenter.control.calls()
    assert fresh_world.kaasd.ctl.json("vcenter", "list") == []
    with terminal(fresh_world, *add) as person:
        person.wait_for("Type yes to trust this certificate:")
        person.type("yes\n")
        assert person.end() == 0
        assert "added vCenter" in person.screen
    assert fresh_world.kaasd.ctl.json("vcenter", "show", vcenter.address)["trust"]["thumbprint_sha256"] == vcenter.sha256
    fresh_world.kaasd.ctl.ok("vcenter", "rm", vcenter.host, "--yes")
    fresh_world.kaasd.ctl.ok(*add, "--ca-file", str(vcenter.ca_file), "--name", "By CA")
    assert fresh_world.kaasd.ctl.json("vcenter", "show", "By CA")["trust"]["mode"] == "ca"


def fails_with_certificate(world: World, *arguments: str) -> str:
    result = world.kaasd.ctl.run(*arguments)
    assert result.returncode == UNCONFIRMED, result.stderr
    assert world.vcenter.sha256 in result.stderr
    assert "there is no terminal to ask on (nothing was sent)" in result.stderr
    return result.stderr


def test_a_wrong_thumbprint_shows_what_was_met(fresh_world: World) -> None:
    result = fresh_world.kaasd.ctl.run("vcenter", "add", fresh_world.vcenter.address, "--thumbprint", "AB" * 32, "--yes")
    assert result.returncode == FAILED
    assert fresh_world.vcenter.sha256 in result.stderr
    assert "is not the expected one" in result.stderr


def test_the_password_is_asked_without_echo(fresh_world: World) -> None:
    vcenter = fresh_world.vcenter
    add_vcenter(fresh_world.kaasd, vcenter)
    with terminal(fresh_world, "vcenter", "register", vcenter.host, "--user", vcenter.admin.login) as person:
        person.wait_for("Password of ")
        person.wait_for_silence()
        person.type(vcenter.admin.password + "\n")
        assert person.end() == 0
        assert vcenter.admin.password not in person.screen
        assert person.echoes
    assert EXTENSION_KEY in vcenter.control.extensions()
    leave = ("vcenter", "unregister", vcenter.host, "--user", vcenter.admin.login, "--password-file", "-")
    said = fresh_world.kaasd.ctl.ok(*leave, "--yes", stdin=vcenter.admin.password)
    assert EXTENSION_KEY in said
    assert EXTENSION_KEY not in vcenter.control.extensions()


def test_unregistering_wants_a_confirmation(fresh_world: World) -> None:
    """As forgetting the vCenter does; a dry run changes nothing and asks nothing."""
    fresh_world.join()
    vcenter, leave = fresh_world.vcenter, ("vcenter", "unregister", fresh_world.vcenter.host, "--user", fresh_world.vcenter.admin.login)
    assert "--yes" in fails(fresh_world, UNCONFIRMED, *leave, "--password-file", "-", stdin=vcenter.admin.password)
    with terminal(fresh_world, *leave) as person:
        person.wait_for("Type yes:")
        person.type("y\n")
        assert person.end() == UNCONFIRMED
    assert EXTENSION_KEY in vcenter.control.extensions()
    assert "remove the extension" in fresh_world.kaasd.ctl.ok(*leave, "--password-file", "-", "--dry-run", stdin=vcenter.admin.password)
    with terminal(fresh_world, *leave) as person:
        person.wait_for("Type yes:")
        person.type("yes\n")
        person.wait_for("Password of ")
        person.wait_for_silence()
        person.type(vcenter.admin.password + "\n")
        assert person.end() == 0
    assert EXTENSION_KEY not in vcenter.control.extensions()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(world: World, number: signal.Signals) -> None:
    with terminal(world, "vcenter", "register", world.vcenter.host, "--user", "x") as person:
        person.wait_for("Password of ")
        person.wait_for_silence()
        if number == signal.SIGINT:
            person.type("half a password\x03")  # as the person would
        else:
            person.signal(number)
        assert person.end() == -number
        assert person.echoes


def test_passwords_from_files(own: World, tmp_path: Path) -> None:
    host, admin, file = own.vcenter.host, own.vcenter.admin, tmp_path / "password"
    register = ("vcenter", "register", host, "--user", admin.login, "--password-file", str(file))
    assert "No such file" in fails(own, FAILED, *register)
    file.write_text(admin.password + "\r\nsecond line\n")
    file.chmod(0o644)
    assert "chmod 0600" in fails(own, FAILED, *register)
    file.chmod(0o600)
    assert "registered" in own.kaasd.ctl.ok(*register)
    file.write_text("\n")
    assert "empty" in fails(own, USAGE, *register)
    file.write_text("x" * 1025)
    assert "longer than 1024" in fails(own, USAGE, *register)
    assert "terminal" in without_terminal(own, *register[:-2])


def without_terminal(world: World, *arguments: str) -> str:
    result = subprocess.run([program("kaasctl"), "--config", world.kaasd.config, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=120, check=False, start_new_session=True)
    assert result.returncode == USAGE
    return result.stderr


def test_a_refused_vcenter_account(own: World) -> None:
    said = fails(own, REFUSED, "vcenter", "register", own.vcenter.host, "--user", own.vcenter.admin.login, "--password-file", "-",
                 stdin="wrong-one\n")
    assert "did not accept" in said
    assert "wrong-one" not in said


def test_several_vcenters(fresh_world: World, make_vcenter: Callable[..., StrictVcenter], tmp_path: Path) -> None:
    ctl, world = fresh_world.kaasd.ctl, tmp_path / "second.json"
    settings = json.loads(DEFAULT_WORLD.read_text())
    world.write_text(json.dumps({**settings, "instance_uuid": str(uuid.uuid4())}))
    second = make_vcenter("vc2", world=world)
    for vcenter, name in ((fresh_world.vcenter, "one"), (second, "tw:o")):
        added = ctl.ok("vcenter", "add", vcenter.address, "--thumbprint", vcenter.sha256, "--tunnel-port", str(vcenter.tunnel_port),
                       "--name", name)
        assert f"next: kaasctl vcenter register {name} --user USER" in added
        ctl.ok("vcenter", "register", name, "--user", vcenter.admin.login, "--password-file", "-", stdin=vcenter.admin.password)
    assert {row["address"] for row in ctl.json("vcenter", "list")} == {"127.0.0.1"}
    said = fails(fresh_world, FAILED, "vcenter", "show", "127.0.0.1").splitlines()
    assert "fits 2 vCenters" in said[0]
    assert len(said) == 3
    assert ctl.json("vcenter", "show", second.address)["id"] == second.instance_uuid
    add = ("cluster", "add", "--kubernetes-version", "1.31.2")
    assert "VCENTER:DC0/HX-East" in fails(fresh_world, FAILED, *add, "--name", "a", "--vsphere-cluster", HX_EAST_DC0)
    assert '"127.0.0.1" fits 2 vCenters' in fails(fresh_world, FAILED, *add, "--name", "a", "--vsphere-cluster", f"127.0.0.1:{HX_EAST_DC0}")
    for where in (("--vsphere-cluster", f"tw:o:{HX_EAST_DC0}"), ("--vcenter", "tw:o", "--vsphere-cluster", HX_EAST_DC0),
                  ("--vsphere-cluster", f"{second.instance_uuid}:domain-c7"), ("--vsphere-cluster", f"{second.address}:{HX_EAST_DC0}")):
        made = ctl.json(*add, "--name", "b", *where)
        assert [place["vcenter_id"] for place in made["placement"]["vsphere_clusters"]] == [second.instance_uuid]
        ctl.ok("cluster", "rm", made["id"], "--yes")
    second.control.rename("domain-c70", "HX-Only")
    until(lambda: ctl.run("cluster", "list", "--vsphere-cluster", "HX-Only").returncode == 0, "the new name")
    for path in ("DC0/HX-Only", "/DC0/host/HX-Only", "HX-Only"):  # one alone has it
        made = ctl.json(*add, "--name", "b", "--vsphere-cluster", path)
        assert [place["vcenter_id"] for place in made["placement"]["vsphere_clusters"]] == [second.instance_uuid]
        ctl.ok("cluster", "rm", made["id"], "--yes")
        granted = ctl.json("grant", "add", "admin", "--vsphere-cluster", path)
        assert granted["object_id"] == f"{second.instance_uuid}/domain-c70"
        ctl.ok("grant", "remove", granted["id"])
    check_grants_name_one_of_two(fresh_world, second)
    check_calls_name_one_of_two(fresh_world, second)


def check_grants_name_one_of_two(world: World, second: StrictVcenter) -> None:
    ctl, where = world.kaasd.ctl, ("grant", "add", "admin", "--vsphere-cluster")
    assert '"127.0.0.1" fits 2 vCenters' in fails(world, FAILED, *where, f"127.0.0.1:{HX_EAST_DC0}")
    assert ctl.json(*where, f"{second.address}:{HX_EAST_DC0}")["object_id"].startswith(second.instance_uuid)
    made = ctl.json("grant", "add", f"vc:{second.address}:VSPHERE.LOCAL\\guest", "--vsphere-cluster", f"tw:o:{HX_EAST_DC0}")
    assert made["principal_id"] == f"vc:{second.instance_uuid}:vsphere.local\\guest"


def check_calls_name_one_of_two(world: World, second: StrictVcenter) -> None:
    """The same for who calls the interface: the host alone is ambiguous, with the port it is not."""
    ctl, viewer = world.kaasd.ctl, second.users["viewer-east"]
    made = ctl.json("cluster", "add", "--kubernetes-version", "1.31.2", "--name", "of-two", "--vsphere-cluster", f"tw:o:{HX_EAST_DC0}")
    problem = world.admin.refused(409, "ambiguous", "GET", "/v2/clusters", params={"vcenter": "127.0.0.1"})
    assert "ADDRESS:PORT" in problem["remedy"]
    assert world.admin.names(vcenter=second.address) == ["of-two"]
    assert world.admin.names(vcenter=world.vcenter.address) == []
    assert [row["name"] for row in ctl.json("cluster", "list", "--vcenter", second.address)] == ["of-two"]
    assert {hx["vcenter_id"] for hx in ctl.json("hx", "list", "--vcenter", second.address)} == {second.instance_uuid}
    api = world.kaasd.api().login_password(viewer.login, viewer.password, f"vcenter:{second.address}")
    assert api.get("/v2/whoami")["vcenter_id"] == second.instance_uuid
    ctl.ok("cluster", "rm", made["id"], "--yes")


def test_hx_clusters_are_named_by_the_administrator(own: World) -> None:
    ctl = own.kaasd.ctl
    changed = ctl.json("hx", "set", "HX-West", "--name", "West 🏔", "--address", "hx-west.example.com")
    assert (changed["name"], changed["name_source"], changed["management_address"]) == ("West 🏔", "typed", "hx-west.example.com")
    changed = ctl.json("hx", "set", "West 🏔", "--name", "", "--address", "")
    assert (changed["name"], changed["name_source"], changed["management_address"]) == ("HX-West", "vcenter", None)
    assert ctl.json("vcenter", "rescan", own.vcenter.host)["hx_clusters"] == 3


# -- what happens on the way ------------------------------------------------------------------------------------------------


class StandIn:
    """An admin socket at which the test answers, in the place of kaasd: `answer` gets the body, and None ends the connection instead."""

    def __init__(self, world: World, answer: Callable[[bytes], object]) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def address_string(self) -> str:
                return "kaasctl"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                said = answer(self.rfile.read(int(self.headers["Content-Length"])))
                if said is None:
                    self.close_connection = True
                    return
                body = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        self.config = world.scratch.path / "stand-in.yaml"
        settings = yaml.safe_load(world.kaasd.config.read_text())
        settings["server"]["admin_socket"] = str(world.scratch.path / "stand-in.sock")
        self.config.write_text(yaml.safe_dump(settings))
        self.config.chmod(0o600)
        self._server = Server(settings["server"]["admin_socket"], Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        Path(str(self._server.server_address)).unlink()

    def argv(self, *words: str) -> list[str]:
        return [str(word) for word in (program("kaasctl"), "--config", self.config, *words)]

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*words), input=stdin, capture_output=True, text=True, timeout=120, check=False)


def imported(body: bytes, result: str = "created") -> dict[str, object]:
    return {"items": [{"line": at, "result": result, "id": None, "name": line.decode()} for at, line in enumerate(body.splitlines(), 1)]}


RECORDS = "\n".join(f"c-{n}" for n in range(1, 2501))


def test_a_write_without_an_answer_may_have_been_done(own: World) -> None:
    """The request was taken, then kaasd was gone: that it does not answer would say that nothing has happened."""
    parts: list[bytes] = []

    def second_is_cut(body: bytes) -> object:
        parts.append(body)
        return imported(body) if len(parts) % 2 else None

    with StandIn(own, lambda _: None) as gone:
        said = gone.run("user", "add", "anna")
        assert said.returncode == UNREACHABLE
        assert "went away before it answered: it may have been done, or not; look whether" in said.stderr
    with StandIn(own, second_is_cut) as gone:
        said = gone.run("cluster", "import", "-", stdin=RECORDS)
        assert (said.returncode, said.stdout) == (UNREACHABLE, "1000 created\n")
        assert "may have been done, or not" in said.stderr and "lines 1001 to 2000 of 2500; lines behind them were not sent" in said.stderr
        assert len(parts) == 2, "the part that may have been imported is not sent again"


def test_an_import_is_ended_by_the_person(own: World) -> None:
    """The part under way is finished, what was done is told, and the program ends by the signal."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(body: bytes) -> object:
        if b"c-1001\n" in body:
            asked.set()
            assert go_on.wait(120)
        return imported(body)

    with StandIn(own, slow) as here, Terminal(here.argv("cluster", "import", str(records_file(own)))) as person:
        person.wait_for("1000 of 2500 lines")  # the progress
        assert asked.wait(120)
        person.type("\x03")
        person.wait_for("once more ends at once")
        go_on.set()
        assert person.end() == -signal.SIGINT
        assert "2000 created" in person.screen
        assert "ended after line 2000 of 2500: 2000 created; the lines behind it were not sent" in person.screen


def test_a_second_signal_ends_an_import_at_once(own: World) -> None:
    go_on = threading.Event()

    def hanging(body: bytes) -> object:
        go_on.wait(120)
        return imported(body)

    with StandIn(own, hanging) as here, Terminal(here.argv("cluster", "import", str(records_file(own)))) as person:
        person.wait_for("0 of 2500 lines")
        person.type("\x03")
        person.wait_for("once more ends at once")
        person.type("\x03")
        assert person.end() == -signal.SIGINT
        go_on.set()


def test_progress_is_for_terminals(own: World) -> None:
    with StandIn(own, imported) as here:
        said = here.run("cluster", "import", str(records_file(own)))
        assert (said.returncode, said.stdout, said.stderr) == (0, "2500 created\n", "")
        with Terminal(here.argv("-o", "json", "cluster", "import", str(records_file(own)))) as person:
            assert person.end() == 0
            assert "2000 of 2500 lines" in person.screen


def records_file(world: World) -> Path:
    path = world.scratch.path / "records.ndjson"
    path.write_text(RECORDS)
    return path


def test_the_doctor_names_where_kaasd_listens(own: World) -> None:
    """A public address at which nobody answers, with the option that is missed most."""
    settings = yaml.safe_load(own.kaasd.config.read_text())
    config = own.scratch.path / "doctor.yaml"
    for url, listen, remedy in (
            ("https://kaas.invalid", "127.0.0.1:8443", 'is 127.0.0.1:8443, where other hosts cannot reach kaasd: set it to "*:443"'),
            ("https://kaas.invalid:8443", "*:8443", "server.public_url leads to where it listens: server.listen is *:8443")):
        settings["server"] |= {"public_url": url, "listen": listen}
        config.write_text(yaml.safe_dump(settings))
        config.chmod(0o600)
        argv = [program("kaasctl"), "--config", str(config), "-o", "json", "doctor"]
        report = json.loads(subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False).stdout)
        (found,) = [found for found in report["findings"] if found["step"] == "address"]
        assert found["status"] == "failed" and remedy in found["remedy"]


# -- from elsewhere ---------------------------------------------------------------------------------------------------------


def live_sessions(world: World) -> int:
    return world.db.query("SELECT COUNT(*) FROM kaas.sessions WHERE revoked_at_ms = 0")[0][0]


def test_over_https_with_a_sign_on(world: World) -> None:
    before = live_sessions(world)
    result = remote(world, "--user", "admin", "--password-file", "-", "-o", "json", "whoami", stdin=world.kaasd.admin_password + "\n")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["method"] == "password"
    assert live_sessions(world) == before
    viewer = world.vcenter.users["viewer-east"]
    result = remote(world, "-u", viewer.login, "--source", f"vcenter:{world.vcenter.host}", "--password-file", "-", "cluster", "list",
                    stdin=viewer.password)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["prod-1", "prod-2", "stretched"]
    result = remote(world, "-u", viewer.login, "--source", f"vcenter:{world.vcenter.host}", "--password-file", "-", "whoami",
                    stdin=viewer.password)
    assert re.search(rf"^{re.escape(world.vcenter.host)} .*vcenter_password .*{world.vcenter.instance_uuid}$", result.stdout, re.M)
    result = remote(world, "-u", viewer.login, "--source", f"vcenter:{world.vcenter.host}", "--password-file", "-", "vcenter", "list",
                    stdin=viewer.password)
    assert result.returncode == REFUSED


def test_over_https_faults(world: World, tmp_path: Path) -> None:
    result = remote(world, "--user", "admin", "--password-file", "-", "whoami", stdin="wrong\n")
    assert result.returncode == REFUSED
    assert "name or the password" in result.stderr
    assert remote(world, "whoami").returncode == USAGE
    assert remote(world, "version").returncode == 0
    other_ca = [str(program("kaasctl")), "--server", world.kaasd.url, "--ca-file", str(world.vcenter.ca_file), "version"]
    result = subprocess.run(other_ca, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == UNREACHABLE
    assert "--ca-file" in result.stderr
    missing = [*other_ca[:3], "--ca-file", str(tmp_path / "none.pem"), "version"]
    assert "none.pem" in subprocess.run(missing, capture_output=True, text=True, timeout=120, check=False).stderr


def test_a_vcenter_that_is_away_is_an_answer(fresh_world: World) -> None:
    fresh_world.join()
    fresh_world.vcenter.process.kill()
    status = fresh_world.kaasd.ctl.run("vcenter", "status")
    assert status.returncode == FAILED and not status.stderr
    assert "unreachable" in status.stdout or "does not" in status.stdout
    assert "not known" in status.stdout
    short = fresh_world.kaasd.ctl.run("vcenter", "status", "--short")
    assert short.returncode == FAILED and len(short.stdout.splitlines()) == 2
    result = fresh_world.kaasd.ctl.run("vcenter", "rescan", fresh_world.vcenter.host)
    assert result.returncode == FAILED
