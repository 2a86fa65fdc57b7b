"""kaasctl user, grant and audit."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shlex
import subprocess
import uuid
from collections.abc import Iterator

import pytest
from env.full import World
from env.kaasd import ONE_TIME_PASSWORD
from env.places import program
from env.process import run
from env.terminal import Terminal

pytestmark = pytest.mark.slow
PASSWORD, OTHER = "correct horse battery staple", "seven swans in a paper boat"


@pytest.fixture
def name(world: World) -> Iterator[str]:
    """A name for a user who goes away with the test."""
    made = f"cli-{uuid.uuid4().hex[:8]}"
    yield made
    world.kaasd.ctl.run("user", "remove", made, "--yes")


def remote(world: World, user: str, password: str, *words: str) -> subprocess.CompletedProcess[str]:
    """At the address, with a sign-on, as from another machine."""
    door = ["--server", world.kaasd.url, "--ca-file", str(world.kaasd.tls.ca_file)]
    return run([program("kaasctl"), *door, "--user", user, "--password-file", "-", *words], stdin=password + "\n")


def test_a_one_time_password_is_made_and_must_be_changed(world: World, name: str) -> None:
    ctl = world.kaasd.ctl
    found = ONE_TIME_PASSWORD.search(ctl.ok("user", "add", name, "--full-name", "Anna Ek"))
    assert found
    refused = remote(world, name, found.group(1), "cluster", "list")
    assert (refused.returncode, "user password" in refused.stderr) == (5, True)
    told = remote(world, name, found.group(1), "whoami").stdout
    assert f"kaasctl --server URL --user {name} user password" in told
    old, new = (world.scratch.path / f"{name}-{which}" for which in ("old", "new"))
    for file, text in ((old, found.group(1)), (new, OTHER)):
        file.touch(0o600)
        file.write_text(text + "\n")
    changed = remote(world, name, found.group(1), "user", "password", "--old-password-file", str(old), "--password-file", str(new))
    assert changed.returncode == 0, changed.stderr
    assert remote(world, name, OTHER, "cluster", "list").returncode == 0
    assert "user password" not in remote(world, name, OTHER, "whoami").stdout


def test_what_is_printed_can_be_typed_whatever_the_name_is(world: World) -> None:
    odd = f"it's $HOME {uuid.uuid4().hex[:6]}"
    found = ONE_TIME_PASSWORD.search(world.kaasd.ctl.ok("user", "add", odd))
    assert found
    try:
        (printed,) = (line for line in remote(world, odd, found.group(1), "whoami").stdout.splitlines() if "user password" in line)
        assert shlex.split(printed) == ["kaasctl", "--server", "URL", "--user", odd, "user", "password"]
    finally:
        world.kaasd.ctl.ok("user", "remove", odd, "--yes")


def test_the_old_password_is_asked_for_once(world: World, name: str) -> None:
    """It signs in, and it is what is replaced."""
    world.kaasd.ctl.ok("user", "add", name, "--password-file", "-", "--keep-password", stdin=PASSWORD + "\n")
    door = ["--server", world.kaasd.url, "--ca-file", str(world.kaasd.tls.ca_file), "--user", name]
    with Terminal([program("kaasctl"), *door, "user", "password"]) as terminal:
        for question, answer in ((f"Password of {name}", PASSWORD), ("New password: ", OTHER), ("New password again: ", OTHER)):
            terminal.wait_for(question)
            terminal.wait_for_silence()
            terminal.type(answer + "\n")
        terminal.wait_for("your password is changed")
        assert terminal.end() == 0, terminal.screen
    assert remote(world, name, OTHER, "whoami").returncode == 0
    assert remote(world, name, PASSWORD, "whoami").returncode == 5


def test_users_are_listed_changed_and_removed(world: World, name: str) -> None:
    ctl = world.kaasd.ctl
    made = ctl.json("user", "add", name, "--role", "provisioner", "--password-file", "-", "--keep-password", stdin=PASSWORD + "\n")
    assert (made["role"], made["must_change_password"], "one_time_password" in made) == ("provisioner", False, False)
    assert name in ctl.ok("user", "list", "--role", "provisioner")
    changed = ctl.json("user", "set", name.upper(), "--role", "user", "--full-name", "Anna", "--disable")
    assert (changed["role"], changed["full_name"], changed["disabled"]) == ("user", "Anna", True)
    assert ctl.json("user", "set", made["id"], "--full-name", "", "--enable")["full_name"] is None
    assert ONE_TIME_PASSWORD.search(ctl.ok("user", "password", name))
    ctl.ok("user", "remove", name, "--yes")
    assert ctl.run("user", "set", name, "--enable").returncode == 4


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("user", "add", "someone", "--keep-password"), 2),
        (("user", "set", "admin"), 2),
        (("user", "set", "admin", "--enable", "--disable"), 2),
        (("user", "set", "admin", "--disable"), 1),
        (("user", "password"), 2),
        (("grant", "add", "admin"), 2),
        (("grant", "add", "nobody-here", "--cluster", "prod-1"), 4),
        (("grant", "add", "admin", "--cluster", "no-such-cluster"), 4),
        (("grant", "add", "admin", "--cluster", "prod-1", "--hx-cluster", "x"), 2),
        (("audit", "list", "--lines", "0"), 2),
        (("audit", "list", "--since", "yesterday"), 1),
    ],
)
def test_wrong_words_are_told(world: World, words: tuple[str, ...], status: int) -> None:
    answer = world.kaasd.ctl.run(*words)
    assert (answer.returncode, bool(answer.stderr)) == (status, True)


def test_grants_are_given_and_taken_by_name(world: World, name: str) -> None:
    ctl = world.kaasd.ctl
    user = ctl.json("user", "add", name, "--password-file", "-", stdin=PASSWORD + "\n")
    for words, kind in ((("--cluster", "prod-1"), "cluster"), (("--vsphere-cluster", "DC0/HX-West"), "vsphere_cluster"),
                        (("--vsphere-cluster", f"{world.vcenter.instance_uuid}:DC0/C-Plain"), "vsphere_cluster")):
        made = ctl.json("grant", "add", name, *words)
        assert (made["object_kind"], made["principal_id"]) == (kind, user["principal_id"])
    assert len(ctl.json("grant", "list", "--principal", name)) == 3
    assert name in ctl.ok("grant", "list", "--cluster", "prod-1")
    assert user["principal_id"] in ctl.ok("grant", "list", "--cluster", "prod-1")
    ctl.ok("grant", "remove", name, "--vsphere-cluster", "DC0/C-Plain")
    ctl.ok("grant", "remove", ctl.json("grant", "list", "--principal", name)[0]["id"])
    assert [grant["object_name"] for grant in ctl.json("grant", "list", "--principal", name)] == ["DC0/HX-West"]


def test_a_grant_names_a_user_of_a_vcenter_by_the_vcenters_name(world: World) -> None:
    ctl = world.kaasd.ctl
    for spelled in (ctl.json("vcenter", "list")[0]["name"], world.vcenter.address):
        made = ctl.json("grant", "add", f"vc:{spelled}:VSPHERE.LOCAL\\Cli-Guest", "--cluster", "prod-2")
        ctl.ok("grant", "remove", made["id"])
        assert made["principal_id"] == f"vc:{world.vcenter.instance_uuid}:vsphere.local\\cli-guest"


def test_the_trail_is_listed_newest_first(world: World, name: str) -> None:
    ctl = world.kaasd.ctl
    user = ctl.json("user", "add", name, "--password-file", "-", stdin=PASSWORD + "\n")
    ctl.ok("user", "set", name, "--role", "provisioner")
    lines = ctl.json("audit", "list", "--object", user["id"])
    assert [line["action"] for line in lines] == ["user.change", "user.create"]
    assert len(ctl.json("audit", "list", "--lines", "1")) == 1
    assert "more than these 1;" in ctl.run("audit", "list", "--lines", "1").stderr
    assert not ctl.run("audit", "list", "--object", user["id"], "--lines", "2").stderr
    assert "user.change" in ctl.ok("audit", "list", "--object", user["id"], "--action", "user.change")
