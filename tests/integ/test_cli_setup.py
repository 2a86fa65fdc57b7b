"""kaasctl without a daemon: first set-up, schema, configuration, help, man pages, completion."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from world.kaasd import ONE_TIME_PASSWORD, Kaasctl, Kaasd
from world.mariadb import Mariadb
from world.places import TOP, Scratch, free_port, program

FAILED, USAGE, UNREACHABLE = 1, 2, 3
SECRET_FILES = ("master.key", "database.password", "database-owner.password")


@pytest.fixture
def etc(scratch: Scratch) -> Path:
    folder = scratch.path / "etc"
    folder.mkdir()
    return folder


@pytest.fixture
def ctl(etc: Path) -> Kaasctl:
    return Kaasctl(etc / "kaasd.yaml")


def plain(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program("kaasctl")), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False, cwd=cwd)


# -- init -------------------------------------------------------------------------------------------------------------------


def test_init_makes_everything_once(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> None:
    url, listen = "https://kaas.example.com", f"127.0.0.1:{free_port()}"
    first = ctl.ok("init", "--database-socket", str(fresh_db.socket), "--listen", listen, "--public-url", url, "--admin", "chief")
    found = ONE_TIME_PASSWORD.search(first)
    assert found
    assert "One-time password of chief: " in first
    settings = yaml.safe_load((etc / "kaasd.yaml").read_text())
    assert (settings["server"]["listen"], settings["server"]["public_url"]) == (listen, url)
    for name in (*SECRET_FILES, "kaasd.yaml"):
        assert stat.S_IMODE((etc / name).stat().st_mode) == 0o600
        assert found.group(1) not in (etc / name).read_bytes().decode(errors="replace")
    kept = {name: (etc / name).read_bytes() for name in (*SECRET_FILES, "kaasd.yaml")}
    again = ctl.ok("init", "--database-socket", str(fresh_db.socket))
    assert not ONE_TIME_PASSWORD.search(again)
    assert "there are users already" in again
    assert kept == {name: (etc / name).read_bytes() for name in kept}
    assert len(fresh_db.query("SELECT name FROM kaas.users")) == 1
    assert "valid" in ctl.ok("config", "check")
    assert "up to date" in ctl.ok("db", "status")


def test_init_for_programs(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    told = ctl.json("init", "--database-socket", str(fresh_db.socket))
    assert told["admin"] == "admin"
    assert len(told["one_time_password"]) >= 16
    assert told["config"] == str(ctl.config)


def test_init_in_the_present_folder(etc: Path, fresh_db: Mariadb) -> None:
    result = plain("-c", "kaasd.yaml", "init", "--database-socket", str(fresh_db.socket), cwd=etc)
    assert result.returncode == 0, result.stderr
    assert yaml.safe_load((etc / "kaasd.yaml").read_text())["secrets"]["master_key_file"] == str(etc / "master.key")


def test_a_wrong_option_leaves_no_configuration(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    result = ctl.run("init", "--listen", "nonsense", "--database-socket", str(fresh_db.socket))
    assert result.returncode == FAILED
    assert "server.listen" in result.stderr
    assert not ctl.config.exists()
    ctl.ok("init", "--database-socket", str(fresh_db.socket))


def test_init_goes_on_where_it_was_interrupted(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> None:
    fresh_db.stop()
    result = ctl.run("init", "--database-socket", str(fresh_db.socket))
    assert result.returncode == UNREACHABLE
    assert "master key" in result.stdout
    key = (etc / "master.key").read_bytes()
    fresh_db.start()
    assert ONE_TIME_PASSWORD.search(ctl.ok("init", "--database-socket", str(fresh_db.socket)))
    assert (etc / "master.key").read_bytes() == key


def test_files_are_given_to_the_user_of_the_service(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> None:
    assert os.geteuid() == 0, "these tests run as root"
    ctl.ok("init", "--database-socket", str(fresh_db.socket), "--service-user", "nobody")
    owners = {name: (etc / name).stat().st_uid for name in (*SECRET_FILES, "kaasd.yaml")}
    nobody = owners["kaasd.yaml"]
    assert nobody != 0
    assert owners == {"kaasd.yaml": nobody, "master.key": nobody, "database.password": nobody, "database-owner.password": 0}
    ctl.ok("db", "status")
    ctl.ok("config", "check")
    assert ctl.run("init", "--service-user", "no-such-user").returncode == USAGE


def test_the_one_time_password_signs_in(make_kaasd: Callable[..., Kaasd]) -> None:
    kaasd = make_kaasd()
    kaasd.init()
    kaasd.start()
    assert kaasd.admin().get("/v2/whoami")["role"] == "admin"


# -- schema -----------------------------------------------------------------------------------------------------------------


def test_schema_older_and_newer(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    ctl.ok("init", "--database-socket", str(fresh_db.socket))
    last = fresh_db.query("SELECT file FROM kaas.schema_migrations ORDER BY file DESC LIMIT 1")[0][0]
    assert "was up to date already" in ctl.ok("db", "migrate")
    fresh_db.query("INSERT INTO kaas.schema_migrations (file, sha256, state, started_at_ms, done_at_ms) "
                   "SELECT '9999_future.sql', sha256, state, started_at_ms, done_at_ms "
                   f"FROM kaas.schema_migrations WHERE file = '{last}'")
    for command in (("db", "status"), ("db", "migrate")):
        result = ctl.run(*command)
        assert result.returncode == FAILED
        assert "9999_future.sql" in result.stderr


def test_schema_of_an_empty_database(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    ctl.ok("init", "--database-socket", str(fresh_db.socket))
    tables = [row[0] for row in fresh_db.query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'kaas'")]
    assert tables
    fresh_db.query("DROP DATABASE kaas")
    fresh_db.query("CREATE DATABASE kaas DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_nopad_bin")
    result = ctl.run("db", "status")
    assert result.returncode == FAILED
    assert "kaasctl db migrate" in result.stderr
    said = ctl.ok("db", "migrate")
    assert said.count("applying ") == len(list((TOP / "sql").glob("0*.sql")))
    assert ctl.json("db", "status")["up_to_date"] is True


def test_a_half_applied_file_is_resolved_by_a_person(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    ctl.ok("init", "--database-socket", str(fresh_db.socket))
    last = fresh_db.query("SELECT file FROM kaas.schema_migrations ORDER BY file DESC LIMIT 1")[0][0]
    fresh_db.query(f"UPDATE kaas.schema_migrations SET state = 'started' WHERE file = '{last}'")
    result = ctl.run("db", "migrate")
    assert result.returncode == FAILED
    assert f"--done {last}" in result.stderr
    assert ctl.run("db", "migrate", "--done", last, "--redo", last).returncode == USAGE
    ctl.ok("db", "migrate", "--done", last)
    ctl.ok("db", "status")


def test_the_database_is_away(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    ctl.ok("init", "--database-socket", str(fresh_db.socket))
    fresh_db.stop()
    for command in (("db", "status"), ("db", "migrate"), ("init",)):
        result = ctl.run(*command)
        assert result.returncode == UNREACHABLE
        assert "database" in result.stderr


# -- configuration ----------------------------------------------------------------------------------------------------------


def test_without_a_configuration(ctl: Kaasctl) -> None:
    for command in (("config", "check"), ("health",), ("db", "status")):
        result = ctl.run(*command)
        assert result.returncode == FAILED
        assert str(ctl.config) in result.stderr
        assert "kaasctl init" in result.stderr


def test_every_fault_of_the_configuration_is_told(ctl: Kaasctl) -> None:
    ctl.config.write_text("server:\n  lisen: x\nlog:\n  level: loud\n")
    result = ctl.run("config", "check")
    assert result.returncode == FAILED
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"{ctl.config}:2:")
    assert "listen" in lines[0]
    assert lines[1].startswith(f"{ctl.config}:4:")


def test_a_key_that_others_may_read(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> None:
    ctl.ok("init", "--database-socket", str(fresh_db.socket))
    (etc / "master.key").chmod(0o644)
    result = ctl.run("config", "check")
    assert result.returncode == FAILED
    assert "chmod 0600" in result.stderr


def test_no_daemon(ctl: Kaasctl, etc: Path) -> None:
    ctl.config.write_text(f"server:\n  admin_socket: {etc}/admin.sock\n")
    result = ctl.run("health")
    assert result.returncode == UNREACHABLE
    assert "kaasd is not running" in result.stderr
    assert ctl.run("version").stdout.startswith("kaasctl ")


# -- help, man pages, completion --------------------------------------------------------------------------------------------


def commands() -> list[list[str]]:
    """Every command, as the help tells them: [["init"], ["db", "migrate"], ...]."""
    section = plain("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [re.findall(r"^[a-z-]+$", re.split(r" {2,}", line.strip())[0].replace(" ", "\n"), re.M) for line in section.splitlines()]


def options(text: str) -> list[str]:
    return re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", text, re.M)


def test_help_of_every_command() -> None:
    known = commands()
    assert ["vcenter", "register"] in known
    for words in known:
        result = plain(*words, "--help")
        assert result.returncode == 0
        assert result.stdout.startswith(f"Usage: kaasctl {' '.join(words)}")
    assert plain("vcenter", "-h").stdout.count("\n  ") >= 8
    assert re.fullmatch(r"kaasctl \d+\.\d+\.\d+\n", plain("--version").stdout)


def formatted(page: str) -> subprocess.CompletedProcess[str]:
    """The man page as plain text on wide paper, with all warnings."""
    return subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=200n", "-ww", str(TOP / "docs/man" / page)], capture_output=True,
                          text=True, check=True, timeout=60)


def test_the_man_page_has_every_command_and_option() -> None:
    page = formatted("kaasctl.1").stdout
    for words in commands():
        assert re.search(rf"^ +{' '.join(words)}\b", page, re.M), words
        missing = [option for option in options(plain(*words, "--help").stdout) if option not in page]
        assert not missing, (words, missing)
    assert not [option for option in options(plain("--help").stdout) if option not in page]


@pytest.mark.parametrize("page", ["kaasctl.1", "kaasd.8", "kaasd.yaml.5"])
def test_man_pages_are_sound(page: str) -> None:
    assert not formatted(page).stderr


def complete(*words: str) -> list[str]:
    script = (f'PATH="{program("kaasctl").parent}:$PATH"; . "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kaasctl; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", script, str(TOP / "etc/bash-completion/kaasctl"), "kaasctl", *words], capture_output=True,
                            text=True, check=True, timeout=60)
    assert not result.stderr
    return result.stdout.split()


def test_completion() -> None:
    assert complete("vc") == ["vcenter"]
    assert set(complete("")) == {words[0] for words in commands()}
    assert complete("vcenter", "re") == ["register", "rescan"]
    assert complete("-c", "x", "vcenter", "--yes", "unre") == ["unregister"]
    assert complete("cluster", "add", "--vs") == ["--vsphere-cluster"]
    assert complete("init", "--database-s") == ["--database-socket"]
    assert complete("cluster", "list", "--output", "j") == ["json"]
    assert complete("cluster", "list", "--state", "de") == ["degraded", "deleting"]
    assert "--config" in complete("--c")
    assert complete("session", "list", "--p") == ["--principal", "--password-file"]
    assert complete("session", "--principal", "anna", "e") == ["end"]
    assert complete("key", "rotate-") == ["rotate-master", "rotate-signing"]
    assert complete("access", "") == ["explain"]
    assert complete("doctor", "") == []


def test_every_verb_is_completed() -> None:
    verbs: dict[str, list[str]] = {}
    for group, verb in (words for words in commands() if len(words) == 2):
        verbs.setdefault(group, []).append(verb)
    assert {group: complete(group, "") for group in verbs} == verbs


def test_output_that_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([str(program("kaasctl")), "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                check=False)
    assert result.returncode == FAILED
    assert "standard output" in result.stderr


def test_json_of_the_schema_is_json(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    ctl.ok("init", "--database-socket", str(fresh_db.socket))
    assert json.loads(ctl.ok("-o", "json", "db", "migrate")) == {"applied": 0}
