"""A login that is kept for the commands that follow, and what the environment says, as on a person's own machine."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import stat
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.full import World
from env.kaasd import ONE_TIME_PASSWORD
from env.places import Scratch, program
from env.terminal import Terminal

pytestmark = pytest.mark.slow
PASSWORD, OTHER = "correct horse battery staple", "seven swans in a paper boat"
UNSET = ("XDG_CONFIG_HOME", "KAAS_SERVER", "KAAS_CA_FILE", "KAAS_USER")
FAILED, USAGE, UNREACHABLE, REFUSED = 1, 2, 3, 5


class Person:
    """Somebody with a home folder on a machine that is no server."""

    def __init__(self, world: World, name: str, home: Path) -> None:
        self.world, self.name, self.home = world, name, home
        self.url = world.kaasd.url
        self.file = home / ".config/kaas/logins.json"
        self.env = {key: value for key, value in os.environ.items() if key not in UNSET} | {"HOME": str(home)}

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        argv = [str(program("kaasctl")), *words]
        return subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=120, check=False, env=self.env | env)

    def ok(self, *words: str, stdin: str = "", **env: str) -> str:
        result = self.run(*words, stdin=stdin, **env)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def login(self, *more: str, password: str = PASSWORD) -> str:
        who = ("--ca-file", str(self.world.kaasd.tls.ca_file), "--user", self.name, "--password-file", "-")
        return self.ok("login", self.url, *who, *more, stdin=password + "\n")

    def whoami(self, *words: str, **env: str) -> str:
        return json.loads(self.ok(*words, "-o", "json", "whoami", **env))["name"]

    def kept(self) -> list[dict[str, Any]]:
        return json.loads(self.file.read_text())

    def change(self, **members: object) -> dict[str, Any]:
        """Changes members of the one login in the file; returns what it was before."""
        (before,) = self.kept()
        self.file.write_text(json.dumps([before | members]))
        return before

    def sessions(self) -> int:
        return len(self.world.kaasd.ctl.json("session", "list", "--principal", self.name))


@pytest.fixture
def person(world: World) -> Iterator[Person]:
    scratch = Scratch("home")
    name = f"login-{uuid.uuid4().hex[:8]}"
    world.kaasd.ctl.ok("user", "add", name, "--role", "admin", "--password-file", "-", "--keep-password", stdin=PASSWORD + "\n")
    yield Person(world, name, scratch.path)
    world.kaasd.ctl.run("user", "remove", name, "--yes")
    scratch.remove()


def test_a_login_is_good_for_the_commands_that_follow(person: Person) -> None:
    told = person.login()
    assert f"signed in at {person.url} as {person.name}" in told
    assert person.whoami() == person.name
    assert person.run("cluster", "list").stdout.startswith("NAME ")
    assert person.whoami("--server", person.url + "/") == person.name
    assert "kaasd   " in person.ok("version")
    assert person.sessions() == 1
    assert person.ok("logout") == f"signed out at {person.url}\n"
    assert (person.sessions(), person.file.exists()) == (0, False)
    assert person.run("whoami").returncode == FAILED
    assert person.ok("logout") == "nobody is signed in\n"


def test_what_is_kept_is_the_persons_alone_and_no_password(person: Person) -> None:
    told = person.login("-o", "json")
    (kept,) = person.kept()
    assert stat.S_IMODE(person.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(person.file.parent.stat().st_mode) == 0o700
    assert PASSWORD not in person.file.read_text()
    assert sorted(json.loads(told)) == ["server", "session_expires_at", "user"]
    for secret in (kept["token"], kept["refresh_token"]):
        assert secret not in told
    person.file.chmod(0o644)
    refused = person.run("whoami")
    assert (refused.returncode, f"chmod 0600 {person.file}" in refused.stderr) == (FAILED, True)


def test_the_password_is_asked_for(person: Person) -> None:
    argv = ["env", "-u", "XDG_CONFIG_HOME", f"HOME={person.home}", str(program("kaasctl")), "login", person.url, "--ca-file",
            str(person.world.kaasd.tls.ca_file)]
    with Terminal(argv) as terminal:
        terminal.wait_for("User: ")
        terminal.type(person.name + "\n")
        terminal.wait_for(f"Password of {person.name}")
        terminal.wait_for_silence()
        terminal.type(PASSWORD + "\n")
        terminal.wait_for("signed in at")
        assert terminal.end() == 0, terminal.screen
    assert PASSWORD not in terminal.screen
    assert person.whoami() == person.name


def test_a_token_that_ends_is_exchanged(person: Person) -> None:
    """And no other: each exchange ends what another kaasctl has in hand."""
    person.login()
    (fresh,) = person.kept()
    assert person.whoami() == person.name
    assert person.kept() == [fresh]
    before = person.change(token_ends_at_ms=0)
    assert person.whoami() == person.name
    (after,) = person.kept()
    assert after["token"] != before["token"] and after["refresh_token"] != before["refresh_token"]
    assert after["session_expires_at"] == before["session_expires_at"]
    assert person.sessions() == 1


def test_a_token_that_is_refused_is_exchanged(person: Person) -> None:
    """A clock that goes wrong here, or another kaasctl that has exchanged it just now."""
    person.login()
    parts = person.kept()[0]["token"].split(".")
    person.change(token=".".join([*parts[:2], parts[2][::-1]]))
    assert person.whoami() == person.name
    assert person.sessions() == 1


def test_several_at_once_exchange_it_once(person: Person) -> None:
    person.login()
    person.change(token_ends_at_ms=0)
    argv = [str(program("kaasctl")), "-o", "json", "whoami"]
    running = [subprocess.Popen(argv, env=person.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert json.loads(out)["name"] == person.name
    assert person.sessions() == 1
    assert person.whoami() == person.name


def test_a_login_that_has_ended_says_so(person: Person) -> None:
    person.login()
    person.world.kaasd.ctl.ok("session", "end", "--principal", person.name)
    ended = person.run("cluster", "list")
    assert ended.returncode == REFUSED
    assert ended.stderr == f"kaasctl: the login at {person.url} has ended; run: kaasctl login {person.url}\n"
    assert not person.file.exists()
    person.login()
    assert person.whoami() == person.name


def test_a_session_for_one_command_ends_with_it(person: Person) -> None:
    """Also when the time of --timeout is over."""
    who = ("--server", person.url, "--ca-file", str(person.world.kaasd.tls.ca_file), "--user", person.name, "--password-file", "-")
    person.ok(*who, "cluster", "list", stdin=PASSWORD)
    assert person.sessions() == 0
    assert person.run(*who, "--timeout", "5s", "cluster", "list", "--watch", stdin=PASSWORD).returncode == UNREACHABLE
    assert person.sessions() == 0


def test_a_token_goes_to_its_server_only(person: Person, fresh_world: World) -> None:
    person.login()
    refused = person.run("--server", fresh_world.kaasd.url, "--ca-file", str(fresh_world.kaasd.tls.ca_file), "whoami")
    assert refused.returncode == USAGE
    assert f"nobody is signed in at {fresh_world.kaasd.url}" in refused.stderr


def test_one_login_for_each_server(person: Person, fresh_world: World) -> None:
    """The last is the one that is used where none is named."""
    fresh = fresh_world.kaasd
    person.login()
    who = ("--server", fresh.url, "--ca-file", str(fresh.tls.ca_file), "--user", "admin", "--password-file", "-")
    person.ok(*who, "login", stdin=fresh.admin_password + "\n")
    assert person.whoami() == "admin"
    assert person.whoami("--server", person.url) == person.name
    assert person.whoami(KAAS_SERVER=person.url) == person.name
    assert person.ok("logout") == f"signed out at {fresh.url}\n"
    assert person.whoami() == person.name


def test_without_a_home_nobody_is_signed_in(person: Person) -> None:
    """As a service: what names the server and needs no login goes on."""
    assert "which KaaS?" in person.run("whoami", HOME="").stderr
    ca = str(person.world.kaasd.tls.ca_file)
    assert "kaasd   " in person.ok("--server", person.url, "--ca-file", ca, "version", HOME="")
    refused = person.run("login", person.url, "--ca-file", ca, "--user", person.name, "--password-file", "-", stdin=PASSWORD, HOME="")
    assert (refused.returncode, "set HOME" in refused.stderr, person.sessions()) == (FAILED, True, 0)


def test_signing_in_again_ends_the_session_before(person: Person) -> None:
    person.login()
    person.ok("login", "--password-file", "-", stdin=PASSWORD + "\n")  # server, CA and name are those of before
    assert (person.sessions(), person.whoami()) == (1, person.name)
    person.login()
    assert person.sessions() == 1


def test_logging_out_without_the_server_forgets_the_login(person: Person) -> None:
    person.login()
    (kept,) = person.kept()
    person.file.write_text(json.dumps([kept | {"server": "https://127.0.0.1:1"}]))
    told = person.run("logout")
    assert told.returncode == UNREACHABLE
    assert "the login is removed here" in told.stderr and kept["session_expires_at"] in told.stderr
    assert not person.file.exists()


def test_the_environment_is_as_the_options(person: Person, fresh_world: World) -> None:
    env = {"KAAS_SERVER": person.url, "KAAS_CA_FILE": str(person.world.kaasd.tls.ca_file), "KAAS_USER": person.name}
    assert json.loads(person.ok("--password-file", "-", "-o", "json", "whoami", stdin=PASSWORD, **env))["name"] == person.name
    other = fresh_world.kaasd
    options = ("--server", other.url, "--ca-file", str(other.tls.ca_file), "--user", "admin", "--password-file", "-")
    assert json.loads(person.ok(*options, "-o", "json", "whoami", stdin=other.admin_password, **env))["name"] == "admin"
    assert json.loads(person.ok("--config", str(other.config), "-o", "json", "whoami", **env))["source"] == "socket"
    refused = person.run("backup", str(person.home), **env)
    assert (refused.returncode, "KAAS_SERVER" in refused.stderr) == (USAGE, True)
    person.ok("login", "--password-file", "-", stdin=PASSWORD, **env)
    assert person.whoami(**env) == person.name
    assert person.run("whoami", **(env | {"KAAS_USER": "somebody"})).returncode == USAGE  # whose password nobody can be asked for


def test_a_one_time_password_must_be_replaced_first(person: Person) -> None:
    found = ONE_TIME_PASSWORD.search(person.world.kaasd.ctl.ok("user", "password", person.name))
    assert found
    who = ("--ca-file", str(person.world.kaasd.tls.ca_file), "--user", person.name, "--password-file", "-")
    refused = person.run("login", person.url, *who, stdin=found.group(1))
    assert refused.returncode == REFUSED
    assert f"kaasctl --server {person.url} --user {person.name} user password" in refused.stderr
    assert not person.file.exists()


def test_ones_own_password_is_replaced_by_a_login(person: Person) -> None:
    person.login()
    new = person.home / "new"
    new.touch(0o600)
    new.write_text(OTHER)
    old = person.home / "old"
    old.touch(0o600)
    old.write_text(PASSWORD)
    person.ok("user", "password", "--old-password-file", str(old), "--password-file", str(new))
    assert person.whoami() == person.name
    person.login(password=OTHER)
