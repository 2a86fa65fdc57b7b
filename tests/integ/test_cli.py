"""kaasctl against a running daemon: what it prints, what it asks, how it fails. Set-up without a daemon is test_cli_setup.py."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from world.full import EXTENSION_KEY, World, add_vcenter
from world.places import Scratch, program
from world.samples import SAMPLES
from world.terminal import Terminal
from world.vcenter import DEFAULT_WORLD, StrictVcenter
from world.wait import until

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


def test_health_version_whoami(world: World) -> None:
    assert "database" in world.kaasd.ctl.ok("health")
    version = world.kaasd.ctl.json("version")
    assert version["kaasctl"] == version["kaasd"]
    rows = sorted(row.split()[:3] for row in world.kaasd.ctl.ok("hx", "list").splitlines()[1:])
    places = [("HX-East", HX_EAST_DC0), ("HX-East", "DC1/HX-East"), ("HX-West", "DC0/HX-West")]
    assert rows == [[name, world.vcenter.host, place] for name, place in places]
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


def test_texts_of_others_cannot_act_on_the_terminal(own: World) -> None:
    evil = "\x1b[31mred\x1b[0m\u202eesrever \x9b1m"
    own.kaasd.ctl.ok("cluster", "add", "--name", "evil", "--vsphere-cluster", HX_EAST_DC0, "--kubernetes-version", "1.31.2",
                     "--description", evil)
    for command in (("cluster", "list"), ("cluster", "show", "evil"), ("-o", "json", "cluster", "show", "evil")):
        said = own.kaasd.ctl.ok(*command)
        assert not [c for c in said if c in "\x1b\u202e\x9b"]
    assert own.kaasd.ctl.json("cluster", "show", "evil")["description"] == evil
    own.kaasd.ctl.ok("cluster", "rm", "evil", "--yes")


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
    (("clustre", "list"), 'did you mean "cluster"?'),
    (("cluster",), "kaasctl cluster --help"),
    ((), "kaasctl --help"),
    (("cluster", "list", "--stat", "x"), "did you mean --state?"),
    (("cluster", "list", "-o", "xml"), "table or json"),
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


# -- vCenters ---------------------------------------------------------------------------------------------------------------


def test_the_certificate_is_confirmed_by_a_person(fresh_world: World) -> None:
    vcenter, add = fresh_world.vcenter, ("vcenter", "add", fresh_world.vcenter.address)
    said = fails_with_certificate(fresh_world, *add)
    assert f"--thumbprint {vcenter.sha256}" in said
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
    said = fresh_world.kaasd.ctl.ok("vcenter", "unregister", vcenter.host, "--user", vcenter.admin.login, "--password-file", "-",
                                    stdin=vcenter.admin.password)
    assert EXTENSION_KEY in said
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
        add_vcenter(fresh_world.kaasd, vcenter, "--name", name)
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


def test_hx_clusters_are_named_by_the_administrator(own: World) -> None:
    ctl = own.kaasd.ctl
    changed = ctl.json("hx", "set", "HX-West", "--name", "West 🏔", "--address", "hx-west.example.com")
    assert (changed["name"], changed["name_source"], changed["management_address"]) == ("West 🏔", "admin", "hx-west.example.com")
    changed = ctl.json("hx", "set", "West 🏔", "--name", "", "--address", "")
    assert (changed["name"], changed["name_source"], changed["management_address"]) == ("HX-West", "discovered", None)
    assert ctl.json("vcenter", "rescan", own.vcenter.host)["hx_clusters"] == 3


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
    said = fresh_world.kaasd.ctl.ok("vcenter", "status")
    assert "unreachable" in said or "does not" in said
    assert "not known" in said
    result = fresh_world.kaasd.ctl.run("vcenter", "rescan", fresh_world.vcenter.host)
    assert result.returncode == FAILED
