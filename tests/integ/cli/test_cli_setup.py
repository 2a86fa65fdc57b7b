"""kaasctl without a daemon: first set-up, schema, configuration, help, man pages, completion."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import grp
import json
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
import yaml
from env.certs import make_server_cert
from env.kaasd import ONE_TIME_PASSWORD, USER, Kaasctl, Kaasd
from env.mariadb import Mariadb
from env.places import TOP, Scratch, free_port, program
from env.terminal import Terminal

OVF = "http://schemas.dmtf.org/ovf/environment/1"
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
    modes = {name: stat.S_IMODE((etc / name).stat().st_mode) for name in (*SECRET_FILES, "kaasd.yaml")}
    assert modes == {**dict.fromkeys(SECRET_FILES, 0o600), "kaasd.yaml": 0o640}
    for name in modes:
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


def ovf_environment(**properties: str) -> str:
    told = "".join(f"<Property oe:key={quoteattr('kaas.' + key)} oe:value={quoteattr(value)}/>" for key, value in properties.items())
    return f'<Environment xmlns="{OVF}" xmlns:oe="{OVF}" oe:id=""><PropertySection>{told}</PropertySection></Environment>'


def test_init_by_what_was_typed_where_an_appliance_was_deployed(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> None:
    socket, url, password = str(fresh_db.socket), "https://kaas.example.com:9443", 'a password with "<&> in it'
    missing = ctl.run("init", "--database-socket", socket, "--ovf-env", "-", stdin=ovf_environment(admin_password=password))
    assert missing.returncode != 0
    assert 'no usable property "kaas.public_url"' in missing.stderr
    assert not ctl.config.exists()
    done = ctl.run("init", "--database-socket", socket, "--ovf-env", "-", stdin=ovf_environment(public_url=url, admin_password=password))
    assert done.returncode == 0, done.stderr
    assert not ONE_TIME_PASSWORD.search(done.stdout)
    assert password not in done.stdout + done.stderr
    settings = yaml.safe_load((etc / "kaasd.yaml").read_text())
    assert (settings["server"]["listen"], settings["server"]["public_url"]) == ("*:9443", url)
    assert fresh_db.query("SELECT name, must_change_password FROM kaas.users") == [("admin", 1)]


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


def test_an_account_that_the_database_of_this_host_refuses_is_told_with_the_way_out(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    result = ctl.run("init", "--database-socket", str(fresh_db.socket), "--database-admin", "nobody", "--database-admin-password-file", "-",
                     stdin="x\n")
    assert result.returncode == UNREACHABLE
    for words in ("the database refused the account", "run this as root on the host of the database", "--database-admin NAME"):
        assert words in result.stderr, result.stderr


def test_init_goes_on_where_it_was_interrupted(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> None:
    fresh_db.stop()
    result = ctl.run("init", "--database-socket", str(fresh_db.socket))
    assert result.returncode == UNREACHABLE
    assert "configuration  made" in result.stdout
    kept = {name: (etc / name).read_bytes() for name in ("kaasd.yaml", "database.password", "database-owner.password")}
    fresh_db.start()
    assert ONE_TIME_PASSWORD.search(ctl.ok("init", "--database-socket", str(fresh_db.socket)))
    assert kept == {name: (etc / name).read_bytes() for name in kept}


def rights(etc: Path) -> dict[str, tuple[str, str, int]]:
    """Owner, group and mode of what `init` made."""
    found = {name: (etc / name).stat() for name in (*SECRET_FILES, "kaasd.yaml")}
    return {name: (pwd.getpwuid(st.st_uid).pw_name, grp.getgrgid(st.st_gid).gr_name, stat.S_IMODE(st.st_mode))
            for name, st in found.items()}


RIGHTS = {"kaasd.yaml": ("root", "nogroup", 0o640), "master.key": ("nobody", "nogroup", 0o600),
          "database.password": ("nobody", "nogroup", 0o600), "database-owner.password": ("root", "root", 0o600)}


@pytest.fixture
def for_nobody(ctl: Kaasctl, etc: Path, fresh_db: Mariadb) -> tuple[str, ...]:
    """`init` for another user than ourselves, who can get at the folder."""
    assert os.geteuid() == 0, "these tests run as root"
    etc.parent.chmod(0o711)
    return "init", "--database-socket", str(fresh_db.socket), "--service-user", "nobody"


def test_files_are_made_for_the_user_of_the_service(ctl: Kaasctl, etc: Path, for_nobody: tuple[str, ...]) -> None:
    ctl.ok(*for_nobody)
    assert rights(etc) == RIGHTS
    ctl.ok("db", "status")
    assert "checked as user nobody" in ctl.ok("config", "check", "--service-user", "nobody")
    assert ctl.run("init", "--service-user", "no-such-user").returncode == USAGE
    assert ctl.run("config", "check", "--service-user", "no-such-user").returncode == USAGE


def test_init_mends_owners_and_modes(ctl: Kaasctl, etc: Path, for_nobody: tuple[str, ...]) -> None:
    ctl.ok(*for_nobody)
    for name in RIGHTS:
        os.chown(etc / name, 0, 0)
    (etc / "kaasd.yaml").chmod(0o600)
    assert "the user nobody must be able to read it" in ctl.run("config", "check", "--service-user", "nobody").stderr
    said = ctl.ok(*for_nobody)
    assert re.search(r"configuration +kept .*kaasd.yaml, owner and mode mended", said)
    assert re.search(r"master key +kept .*master.key, owner and mode mended", said)
    assert rights(etc) == RIGHTS
    assert "mended" not in ctl.ok(*for_nobody)


def test_what_a_link_leads_to_is_not_given_away(ctl: Kaasctl, etc: Path, for_nobody: tuple[str, ...]) -> None:
    ctl.ok(*for_nobody)
    elsewhere, hard = etc.parent / "of-root", etc.parent / "of-root-too"
    for path, name in ((elsewhere, "kaasd.yaml"), (hard, "database.password")):
        path.write_bytes((etc / name).read_bytes())
        path.chmod(0o600)
        (etc / name).unlink()
    (etc / "kaasd.yaml").symlink_to(elsewhere)
    (etc / "database.password").hardlink_to(hard)
    ctl.run(*for_nobody)
    left = [(path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) for path in (elsewhere, hard)]
    assert left == [(0, 0, 0o600)] * 2


def test_what_would_keep_the_service_from_starting_is_told_by_init(ctl: Kaasctl, etc: Path, for_nobody: tuple[str, ...]) -> None:
    etc.chmod(0o700)
    result = ctl.run(*for_nobody)
    assert result.returncode == FAILED
    assert f"cannot open {ctl.config}: Permission denied; the user nobody must be able to read it" in result.stderr
    assert ONE_TIME_PASSWORD.search(result.stdout)


def test_no_one_time_password_is_lost_by_what_is_wrong_with_the_rest(ctl: Kaasctl, etc: Path, for_nobody: tuple[str, ...]) -> None:
    etc.chmod(0o700)
    result = ctl.run("-o", "json", *for_nobody)
    assert result.returncode == FAILED
    assert json.loads(result.stdout)["one_time_password"]


# -- where it listens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "listen"), [
    ("https://kaas.example.com:9443", "*:9443"),
    ("https://kaas.example.com:9443/", "*:9443"),
    ("https://192.0.2.7:9443", "*:9443"),
    ("https://[2001:db8::7]:9443", "*:9443"),
    ("https://localhost:9443", "127.0.0.1:9443"),
    ("https://127.0.0.1:9443", "127.0.0.1:9443"),
    ("https://[::1]:9443", "[::1]:9443"),
])
def test_where_to_listen_follows_from_the_public_address(ctl: Kaasctl, fresh_db: Mariadb, url: str, listen: str) -> None:
    said = ctl.ok("init", "--database-socket", str(fresh_db.socket), "--public-url", url)
    assert yaml.safe_load(ctl.config.read_text())["server"]["listen"] == listen
    assert f"listens on     {listen}\n" in said


def test_a_port_of_root_is_left_to_a_proxy(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    result = ctl.run("init", "--database-socket", str(fresh_db.socket), "--public-url", "https://kaas.example.com")
    assert result.returncode == 0
    assert "port 443" in result.stderr
    assert "proxy or balancer" in result.stderr
    assert yaml.safe_load(ctl.config.read_text())["server"]["listen"] == "*:8443"


def test_init_tells_what_to_set_when_there_is_no_public_address(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    said = ctl.ok("init", "--database-socket", str(fresh_db.socket))
    assert re.search(r"set server\.public_url in .*, and server\.listen \(\"\*:8443\"\) for other hosts", said)
    assert "listen" not in yaml.safe_load(ctl.config.read_text())["server"]


def init_on_terminal(ctl: Kaasctl, db: Mariadb, answer: str) -> dict[str, str]:
    with Terminal([program("kaasctl"), "--config", ctl.config, "init", "--database-socket", db.socket, "--service-user", USER]) as person:
        person.wait_for("Under which address will browsers and vCenter reach this service?")
        person.type(f"{answer}\n")
        assert person.end() == 0, person.screen
    return yaml.safe_load(ctl.config.read_text())["server"]


def test_init_asks_for_the_public_address_on_a_terminal(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    server = init_on_terminal(ctl, fresh_db, "https://kaas.example.com:9443")
    assert (server["public_url"], server["listen"]) == ("https://kaas.example.com:9443", "*:9443")


def test_an_empty_answer_leaves_the_public_address_for_later(ctl: Kaasctl, fresh_db: Mariadb) -> None:
    assert "public_url" not in init_on_terminal(ctl, fresh_db, "")


# -- the master key ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("found_instead", [None, b"another key of 32 bytes is there"])
def test_init_makes_no_master_key_beside_a_sealed_database(make_kaasd: Callable[..., Kaasd], found_instead: bytes | None) -> None:
    kaasd = make_kaasd()
    kaasd.init()
    kaasd.start()
    key_id = kaasd.ctl.json("key", "master")["keys"][0]["id"]
    kaasd.stop()
    key = kaasd.folder / "master.key"
    kept = key.read_bytes()
    key.unlink()
    if found_instead:
        key.touch(0o600)
        key.write_bytes(found_instead)
    result = kaasd.ctl.run("init", "--database-socket", str(kaasd.database_socket), "--database-admin", "root")
    assert result.returncode == FAILED
    assert f"sealed by master key {key_id}" in result.stderr
    assert str(key) in result.stderr
    assert "or a copy of it, in its place" in result.stderr and "kaasctl key forget-sealed" in result.stderr
    assert (key.read_bytes() if key.exists() else None) == found_instead
    key.touch(0o600)
    key.write_bytes(kept)
    kaasd.ctl.ok("init", "--database-socket", str(kaasd.database_socket), "--database-admin", "root")
    kaasd.start()


# -- the database on another host -------------------------------------------------------------------------------------------


class RemoteMariadb:
    """A database server with TLS on a port of loopback, and an account there that may create accounts."""

    def __init__(self, scratch: Scratch) -> None:
        self.port = free_port()
        self.tls = make_server_cert(scratch.path / "db-tls")
        self.server = Mariadb(scratch, options=(
            "--skip-networking=OFF", "--bind-address=127.0.0.1", f"--port={self.port}", f"--ssl-cert={self.tls.cert_file}",
            f"--ssl-key={self.tls.key_file}"))
        self.server.query("CREATE USER dba@'%' IDENTIFIED BY 'secret of the dba' REQUIRE SSL")
        self.server.query("GRANT ALL PRIVILEGES ON *.* TO dba@'%' WITH GRANT OPTION")

    def init(self, ctl: Kaasctl, *more: str) -> subprocess.CompletedProcess[str]:
        return ctl.run("init", "--database-host", f"127.0.0.1:{self.port}", "--database-admin", "dba",
                       "--database-admin-password-file", "-", *more, stdin="secret of the dba\n")


@pytest.fixture
def remote_db(scratch: Scratch) -> Iterator[RemoteMariadb]:
    made = RemoteMariadb(scratch)
    yield made
    made.server.close()


def test_init_with_a_database_on_another_host(ctl: Kaasctl, remote_db: RemoteMariadb) -> None:
    result = remote_db.init(ctl, "--database-ca-file", str(remote_db.tls.ca_file))
    assert result.returncode == 0, result.stderr
    database = yaml.safe_load(ctl.config.read_text())["database"]
    assert database == {"host": "127.0.0.1", "port": remote_db.port, "tls_ca_file": str(remote_db.tls.ca_file)}
    accounts = remote_db.server.query("SELECT User, Host, ssl_type FROM mysql.user WHERE User LIKE 'kaas%%' ORDER BY User")
    assert accounts == [("kaas", "%", "ANY"), ("kaas_owner", "%", "ANY")]
    assert "up to date" in ctl.ok("db", "status")


def test_kaasd_works_with_a_database_on_another_host(scratch: Scratch, remote_db: RemoteMariadb) -> None:
    kaasd = Kaasd(scratch, remote_db.server.socket, options={"database": {
        "socket": "", "host": "127.0.0.1", "port": remote_db.port, "tls_ca_file": str(remote_db.tls.ca_file)}})
    assert remote_db.init(kaasd.ctl).returncode == 0
    try:
        kaasd.start()
        assert kaasd.ctl.json("user", "list")[0]["name"] == "admin"
    finally:
        kaasd.stop()
    remote_db.server.query("ALTER USER kaas@'%' REQUIRE NONE")  # without TLS the server would take it now; kaasd must not
    kaasd.write_config({"database": {"socket": "", "host": "127.0.0.1", "port": remote_db.port,
                                     "tls_ca_file": str(make_server_cert(scratch.path / "other").ca_file)}})
    result = kaasd.ctl.run("db", "status")
    assert result.returncode != 0
    assert "certificate" in result.stderr


def test_backup_and_restore_with_a_database_on_another_host(ctl: Kaasctl, etc: Path, remote_db: RemoteMariadb, tmp_path: Path) -> None:
    """By TLS, with its CA from the backup where the host has none."""
    ca, key = etc / "db-ca.pem", tmp_path / "master.key"
    shutil.copy(remote_db.tls.ca_file, ca)
    assert remote_db.init(ctl, "--database-ca-file", str(ca)).returncode == 0
    ctl.config.write_text(f"state_dir: {tmp_path}/state\n" + ctl.config.read_text())
    shutil.copy2(etc / "master.key", key)
    path = ctl.json("backup", f"{tmp_path}/b/")["path"]
    remote_db.server.query("DROP DATABASE kaas")
    for file in etc.iterdir():
        file.unlink()
    as_dba = "--database-admin", "dba", "--database-admin-password-file", "-", "--master-key", str(key)
    before = set(Path("/tmp").glob("kaas-database-ca.*"))
    restored = ctl.run("restore", path, *as_dba, "--also", f"{tmp_path}/state", stdin="secret of the dba\n")
    assert restored.returncode == 0, restored.stderr
    assert ca.read_bytes() == remote_db.tls.ca_file.read_bytes() and set(Path("/tmp").glob("kaas-database-ca.*")) == before
    assert "up to date" in ctl.ok("db", "status")
    assert ctl.run("backup", "--verify", path, *as_dba, stdin="secret of the dba\n").returncode == 0
    ca.write_bytes(make_server_cert(tmp_path / "other").ca_file.read_bytes())
    refused = ctl.run("backup", f"{tmp_path}/b/")
    assert refused.returncode != 0 and "certificate" in refused.stderr


def test_what_keeps_us_out_of_a_database_on_another_host_is_told(ctl: Kaasctl, remote_db: RemoteMariadb) -> None:
    """An account that is not there; nobody there; no TLS, as Debian has it."""
    def refused(port: int, *words: str) -> None:
        ctl.config.unlink(missing_ok=True)
        result = ctl.run("init", "--database-host", f"127.0.0.1:{port}", "--database-ca-file", str(remote_db.tls.ca_file),
                         "--database-admin", "nobody", "--database-admin-password-file", "-", stdin="x\n")
        assert result.returncode != 0
        for word in (f"(127.0.0.1:{port})", *words):
            assert word in result.stderr, result.stderr
        assert "database.user" not in result.stderr

    refused(remote_db.port, "the database refused the account",
            "name an account that may create databases and accounts: --database-admin NAME")
    refused(free_port(), "the database cannot be reached", "check that the database server runs")
    port, beside = free_port(), Scratch("o")
    open_server = Mariadb(beside, options=("--skip-networking=OFF", "--skip-ssl", "--bind-address=127.0.0.1", f"--port={port}"))
    try:
        open_server.query("CREATE USER nobody@'%' IDENTIFIED BY 'x'")
        refused(port, "the server offers no TLS: give it a certificate (ssl_cert, ssl_key in its configuration)")
    finally:
        open_server.close()
        beside.remove()


def test_a_database_on_another_host_needs_its_ca(ctl: Kaasctl, remote_db: RemoteMariadb, tmp_path: Path) -> None:
    result = remote_db.init(ctl)
    assert result.returncode == FAILED
    assert "database.host needs database.tls_ca_file" in result.stderr
    assert not ctl.config.exists()
    assert "cannot find the file" in remote_db.init(ctl, "--database-ca-file", str(tmp_path / "none.pem")).stderr
    other = make_server_cert(tmp_path / "other").ca_file
    result = remote_db.init(ctl, "--database-ca-file", str(other))
    assert result.returncode != 0
    assert "certificate" in result.stderr


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


def test_a_machine_that_is_no_server_is_told_to_name_one() -> None:
    result = plain("cluster", "list")
    assert result.returncode == FAILED
    assert result.stderr.index("--server https://HOST:PORT --user NAME") < result.stderr.index("root runs: kaasctl init")


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
    assert complete("vcenter", "re") == ["register", "rescan", "remove-hx-credential", "remove-login-account"]
    assert complete("-c", "x", "vcenter", "--yes", "unre") == ["unregister"]
    assert complete("cluster", "add", "--vs") == ["--vsphere-cluster"]
    assert complete("init", "--database-s") == ["--database-socket"]
    assert complete("cluster", "list", "--output", "j") == ["json"]
    assert complete("cluster", "list", "--output", "n") == ["name"]
    assert complete("cluster", "list", "--state", "de") == ["degraded", "deleting"]
    assert "--config" in complete("--c")
    assert complete("session", "list", "--p") == ["--principal", "--password-file"]
    assert complete("session", "--principal", "anna", "e") == ["end"]
    assert complete("key", "rotate-") == ["rotate-master", "rotate-signing"]
    assert complete("access", "") == ["explain"]
    assert complete("restore", str(TOP / "READ")) == complete("backup", "--master-key", str(TOP / "READ")) == [str(TOP / "README.md")]
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
