"""What is wrong with the configuration is told with file, line, column and remedy; exit status 78 of sysexits.h."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import pwd
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from env.certs import make_server_cert
from env.kaasd import Kaasd
from env.places import Scratch, program
from env.process import run

BAD_CONFIG, BAD_USAGE = 78, 2


@pytest.fixture
def daemon(scratch: Scratch) -> Kaasd:
    """Configured in a sound way; nothing runs and there is no database."""
    made = Kaasd(scratch, scratch.path / "no-database.sock", options={"vcenter": None})
    made.tls = make_server_cert(made.folder / "tls", days=90)  # nothing to warn of
    key = made.folder / "master.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(32))
    return made


def add(daemon: Kaasd, text: str) -> int:
    """Appends lines to the file; hands back the number of the first."""
    before = daemon.config.read_text()
    daemon.config.write_text(f"{before}{text}")
    return before.count("\n") + 1


def start(daemon: Kaasd) -> subprocess.CompletedProcess[str]:
    """A start that is expected to fail by itself."""
    return run([program("kaasd"), "--config", daemon.config], limit_s=60)


def refused(result: subprocess.CompletedProcess[str], *parts: str) -> str:
    said = result.stderr + result.stdout
    assert result.returncode == BAD_CONFIG, said
    assert [part for part in parts if part not in said] == [], said
    return said


def test_files_as_windows_writes_them(daemon: Kaasd) -> None:
    text = daemon.config.read_text()
    daemon.config.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    result = daemon.check_config()
    assert (result.returncode, "is valid" in result.stdout, result.stderr) == (0, True, "")
    daemon.config.write_bytes(text.encode("utf-16"))
    said = daemon.check_config()
    assert said.returncode == BAD_CONFIG and "is UTF-16" in said.stderr + said.stdout and "UTF-8" in said.stderr + said.stdout


@pytest.mark.parametrize(("section", "key", "text"), [("metrics", "token_file", "t" * 32), ("database", "password_file", "secret"),
                                                      ("metrics", "token_file", "t" * 512)])
def test_secrets_as_windows_writes_them(daemon: Kaasd, section: str, key: str, text: str) -> None:
    path = daemon.folder / "secret.txt"
    path.touch(0o600)
    daemon.write_config({"vcenter": None, section: {key: str(path)}})
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    result = daemon.check_config()
    assert (result.returncode, result.stderr) == (0, "")
    path.write_bytes(f"{text}\r\n".encode("utf-16"))
    refused(daemon.check_config(), f"{section}.{key}: {path} is UTF-16", "save it as UTF-8")


def test_a_token_that_is_no_end_is_told(daemon: Kaasd) -> None:
    path = daemon.folder / "token"
    path.touch(0o600)
    path.write_text("t" * 5000)
    daemon.write_config({"vcenter": None, "metrics": {"token_file": str(path)}})
    refused(daemon.check_config(), f"metrics.token_file: {path}, the file of metrics.token_file, does not hold a token of one line")


def pasted(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(b"  %s\r\n\r\n" % line for line in path.read_bytes().splitlines()))


def test_certificates_as_people_paste_them(daemon: Kaasd) -> None:
    ca = daemon.folder / "client-ca.pem"
    ca.write_bytes(daemon.tls.ca_file.read_bytes())
    daemon.write_config({"vcenter": None, "server": {"client_ca_file": str(ca)}})
    for path in (ca, daemon.tls.cert_file, daemon.tls.key_file):
        pasted(path)
    result = daemon.check_config()
    assert (result.returncode, result.stderr) == (0, "")
    ca.write_text(ca.read_text(), encoding="utf-16")
    refused(daemon.check_config(), f"server.client_ca_file: {ca} is UTF-16")


def test_a_sound_configuration_is_confirmed(daemon: Kaasd) -> None:
    result = daemon.check_config()
    assert (result.returncode, "is valid" in result.stdout, result.stderr) == (0, True, "")


def test_the_check_of_a_configuration_leaves_no_trace(daemon: Kaasd) -> None:
    before = sorted(path.name for path in daemon.folder.rglob("*"))
    daemon.check_config()
    assert sorted(path.name for path in daemon.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "column", "wrong", "meant"),
    [
        ("sever: {listen: x}\n", 1, "sever", "server"),
        ("replica:\n  nmae: x\n", 3, "replica.nmae", "replica.name"),
        ("auth: {token_lifetim: 15m}\n", 8, "auth.token_lifetim", "auth.token_lifetime"),
        ("Vcenter: {}\n", 1, "Vcenter", "vcenter"),
    ],
)
def test_an_unknown_key_is_told_with_the_one_that_was_meant(daemon: Kaasd, text: str, column: int, wrong: str, meant: str) -> None:
    line = add(daemon, text) + text.count("\n") - 1
    refused(daemon.check_config(), f'{daemon.config}:{line}:{column}: unknown key "{wrong}"', f'did you mean "{meant}')


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("auth: {token_lifetime: soon}\n", ("auth.token_lifetime",)),
        ("auth: {token_lifetime: 2d}\n", ("auth.token_lifetime", "1h")),
        ("auth: [a]\n", ("auth",)),
        ("auth: {token_lifetime: {a: 1}}\n", ("auth.token_lifetime",)),
        ("replica: {name: [a]}\n", ("replica.name",)),
        ("auth: {rights_recheck_rate: 1.5}\n", ("auth.rights_recheck_rate", "whole number")),
        ("auth: {rights_fresh: 31s}\n", ("auth.rights_fresh", "30s")),
        ("vcenter: {extension_key: No Key}\n", ("vcenter.extension_key", "com.example.kaas")),
        ("auth: {vcenter: {view_privilege: x}}\n", ("auth.vcenter.view_privilege",)),
    ],
)
def test_a_wrong_value_is_told_with_its_place_and_what_would_be_right(daemon: Kaasd, text: str, parts: tuple[str, ...]) -> None:
    line = add(daemon, text)
    refused(daemon.check_config(), f"{daemon.config}:{line}:", *parts)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("log", "level", "loud"),
        ("server", "listen", "somewhere"),
        ("server", "listen", "127.0.0.1:99999"),
        ("server", "public_url", "http://x"),
        ("server", "connections_max", "many"),
        ("server", "threads", -1),
        ("server", "trusted_proxies", ["10.0.0.0/99"]),
        ("database", "port", 0),
        ("database", "name", "kaas; DROP"),
        ("server", "admin_socket", "/" + "x" * 120),
        ("server", "admin_socket", "relative.sock"),
        ("state_dir", "", ""),
    ],
)
def test_a_wrong_value_is_named(daemon: Kaasd, section: str, key: str, value: object) -> None:
    settings = yaml.safe_load(daemon.config.read_text())
    if key:
        settings[section][key] = value
    else:
        settings[section] = value
    daemon.config.write_text(yaml.safe_dump(settings))
    refused(daemon.check_config(), f"{section}.{key}" if key else section)


@pytest.mark.parametrize("text", ["\t- x: y\n", "a: [\n", "a: b: c\n", "&a\n", "%x\n", '"open\n'])
def test_what_is_no_yaml_is_told_with_its_place(daemon: Kaasd, text: str) -> None:
    add(daemon, text)
    assert f"{daemon.config}:" in refused(daemon.check_config())


def test_a_key_that_is_given_twice_is_told(daemon: Kaasd) -> None:
    add(daemon, "replica: {name: a}\nreplica: {name: b}\n")
    refused(daemon.check_config(), "replica")


def test_all_faults_are_told_at_once(daemon: Kaasd) -> None:
    add(daemon, "sever: 1\nauth: {token_lifetime: soon}\nreplica: {nmae: x}\n")
    refused(daemon.check_config(), "sever", "auth.token_lifetime", "replica.nmae")


def test_a_missing_configuration_is_told(tmp_path: Path) -> None:
    result = run([program("kaasd"), "--config", tmp_path / "none.yaml"])
    refused(result, str(tmp_path / "none.yaml"))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_master_key_that_others_can_read_is_refused(daemon: Kaasd, mode: int) -> None:
    key = daemon.folder / "master.key"
    key.chmod(mode)
    for result in (daemon.check_config(), start(daemon)):
        refused(result, str(key), f"chmod 0600 {key}")


def test_a_tls_key_that_others_can_read_is_refused(daemon: Kaasd) -> None:
    daemon.tls.key_file.chmod(0o644)
    for result in (daemon.check_config(), start(daemon)):
        refused(result, str(daemon.tls.key_file), f"chmod 0600 {daemon.tls.key_file}")


@pytest.mark.parametrize("which", ["master.key", "tls/server.key", "tls/server.pem"])
def test_a_missing_file_is_told_by_name(daemon: Kaasd, which: str) -> None:
    (daemon.folder / which).unlink()
    for result in (daemon.check_config(), start(daemon)):
        refused(result, str(daemon.folder / which))


def test_a_missing_password_file_of_the_database_is_told_by_name(daemon: Kaasd) -> None:
    missing = daemon.folder / "nowhere.password"
    daemon.write_config({"database": {"password_file": str(missing)}})
    for result in (daemon.check_config(), start(daemon)):
        refused(result, str(missing))


def test_a_master_key_of_a_wrong_length_is_refused(daemon: Kaasd) -> None:
    (daemon.folder / "master.key").write_bytes(os.urandom(31))
    refused(start(daemon), "31 bytes", "32")


def test_a_certificate_without_its_key_is_refused(daemon: Kaasd) -> None:
    other = make_server_cert(daemon.folder / "other")
    daemon.write_config({"server": {"tls_key": str(other.key_file)}})
    for result in (daemon.check_config(), start(daemon)):
        refused(result, "server.tls_key: the private key does not belong to its certificate")


def test_a_key_with_a_passphrase_is_refused(daemon: Kaasd) -> None:
    done = run(["openssl", "pkey", "-in", daemon.tls.key_file, "-aes128", "-passout", "pass:secret", "-out", daemon.folder / "locked.key"])
    assert done.returncode == 0, done.stderr
    daemon.write_config({"server": {"tls_key": str(daemon.folder / "locked.key")}})
    for result in (daemon.check_config(), start(daemon)):
        refused(result, "server.tls_key", "openssl pkey")


def test_a_certificate_that_is_none_is_refused(daemon: Kaasd) -> None:
    daemon.tls.cert_file.write_text("not a certificate\n")
    for result in (daemon.check_config(), start(daemon)):
        refused(result, "server.tls_certificate", "holds no PEM certificate")


def with_certificate(daemon: Kaasd, **validity: Any) -> None:
    made = make_server_cert(daemon.folder / "made", **validity)
    daemon.write_config({"server": {"tls_certificate": str(made.cert_file), "tls_key": str(made.key_file)}})


def test_an_expired_certificate_is_an_error_of_the_check_and_no_hindrance_for_a_start(daemon: Kaasd) -> None:
    with_certificate(daemon, expired=True)
    refused(daemon.check_config(), "server.tls_certificate: the certificate ", "expired at ", "systemctl reload kaasd")
    try:
        process = daemon.spawn()
        process.wait_until(lambda: "event=listening" in process.log, "listening")
        assert "server.tls_certificate: warning: the certificate " in process.log
    finally:
        daemon.stop()


def test_a_certificate_that_ends_soon_is_a_warning(daemon: Kaasd) -> None:
    with_certificate(daemon, days=29)
    result = daemon.check_config()
    assert result.returncode == 0
    assert "is valid" in result.stdout
    assert result.stderr.startswith("server.tls_certificate: warning: the certificate ")
    assert "expires at" in result.stderr


def test_the_certificate_that_kaasd_made_is_checked_as_well(daemon: Kaasd) -> None:
    daemon.write_config({"server": {"tls_certificate": "", "tls_key": ""}})
    state = daemon.folder / "state"
    state.mkdir()
    for file, name in ((daemon.tls.cert_file, "server.crt"), (make_server_cert(daemon.folder / "other").key_file, "server.key")):
        file.rename(state / name)
    refused(daemon.check_config(), "state_dir: the private key does not belong to its certificate")


@pytest.mark.parametrize(
    ("section", "key", "others"), [("database", "tls_ca_file", {"socket": "", "host": "127.0.0.1"}), ("server", "client_ca_file", {})]
)
def test_a_ca_file_without_a_certificate_is_refused(daemon: Kaasd, section: str, key: str, others: dict[str, str]) -> None:
    wrong = daemon.folder / "wrong.pem"
    daemon.write_config({section: {key: str(wrong), **others}})
    for coding, told in (("utf-8", "holds no PEM certificate"), ("utf-16", "is UTF-16, not UTF-8")):
        wrong.write_text("not a certificate\n", encoding=coding)
        refused(daemon.check_config(), f"{section}.{key}: ", told)


def test_a_database_by_tcp_needs_a_ca(daemon: Kaasd) -> None:
    daemon.write_config({"database": {"socket": "", "host": "127.0.0.1"}})
    for result in (daemon.check_config(), start(daemon)):
        refused(result, f"{daemon.config}:", "database.host needs database.tls_ca_file", "also on this machine")


def test_a_keytab_that_cannot_be_read_is_a_warning(daemon: Kaasd) -> None:
    daemon.write_config({"auth": {"kerberos": {"keytab": str(daemon.folder / "none.keytab")}}})
    result = daemon.check_config()
    assert result.returncode == 0
    assert "auth.kerberos.keytab: warning: " in result.stderr
    assert "none.keytab" in result.stderr


@pytest.mark.parametrize("name", ["*", "*.*", "hx_*.test", "https://hx.test", "10.0.0.0/33"])
def test_names_of_hx_clusters_are_host_names_or_networks(daemon: Kaasd, name: str) -> None:
    daemon.write_config({"hx": {"names": ["hx-*.test", name]}})
    refused(daemon.check_config(), "hx.names", "no host name, address or CIDR block", "hx-*.example.com")


def test_a_ca_that_signs_for_everybody_is_a_warning(daemon: Kaasd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a certificate of it could pass for an HX cluster."""
    public, own = make_server_cert(daemon.folder / "public").ca_file, make_server_cert(daemon.folder / "own").ca_file
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    for ca_file, warns in ((public, True), (own, False)):
        daemon.write_config({"hx": {"ca_file": str(ca_file)}})
        result = daemon.check_config()
        assert result.returncode == 0
        assert ("hx.ca_file: warning: it has a CA that this system trusts for all servers" in result.stderr) == warns


def test_root_checks_as_the_user_of_the_service(daemon: Kaasd) -> None:
    assert os.geteuid() == 0, "these tests run as root"
    daemon.scratch.path.chmod(0o711)
    page = daemon.folder / "hidden/page"
    page.mkdir(parents=True)
    page.parent.chmod(0o700)
    daemon.write_config({"server": {"page_dir": str(page)}})
    refused(daemon.check_config("nobody"), f"cannot open {daemon.config}: Permission denied", "the user nobody must", "kaasctl init")
    daemon.config.chmod(0o644)
    said = refused(daemon.check_config("nobody"), "secrets.master_key_file", "server.tls_key", "user nobody must be able to read it")
    assert "server.tls_certificate" not in said
    assert re.search(r"server.page_dir: folder \S+: Permission denied; the user nobody must be able", said), said
    page.parent.chmod(0o711)
    for path in (daemon.folder / "master.key", daemon.tls.key_file):
        os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
    result = daemon.check_config("nobody")
    assert (result.returncode, result.stderr) == (0, "")
    assert "checked as user nobody" in result.stdout
    assert daemon.check_config("no-such-user").returncode == BAD_USAGE


def test_a_key_of_a_size_that_is_not_made_is_refused(daemon: Kaasd) -> None:
    daemon.write_config({"certificates": {"key_bits": 3000}})
    for result in (daemon.check_config(), start(daemon)):
        refused(result, 'certificates.key_bits must be "2048", "3072" or "4096"')


@pytest.mark.parametrize(("section", "bits"), [(None, 3072), ({"key_bits": 2048}, 2048), ({"key_bits": 4096}, 4096)])
def test_the_certificate_that_kaasd_makes_has_a_key_of_the_wanted_size(daemon: Kaasd, section: dict[str, int] | None, bits: int) -> None:
    daemon.write_config({"certificates": section, "server": {"tls_certificate": "", "tls_key": ""}})
    made = daemon.folder / "state/server.crt"
    try:
        daemon.spawn().wait_until(made.exists, "a certificate of its own")
        key = x509.load_pem_x509_certificate(made.read_bytes()).public_key()
    finally:
        daemon.stop()
    assert isinstance(key, rsa.RSAPublicKey)
    assert key.key_size == bits


@pytest.mark.parametrize("words", [["--bogus"], ["extra"], ["--config"], ["--service-user", "root"]])
def test_a_wrong_usage_is_told_from_a_wrong_configuration(words: list[str]) -> None:
    result = run([program("kaasd"), *words])
    assert result.returncode == BAD_USAGE
    assert result.stderr


def test_two_daemons_on_one_port_are_told_apart(make_kaasd: Callable[..., Kaasd]) -> None:
    first, second = make_kaasd("one"), make_kaasd("two")
    first.init()
    first.start()
    (second.folder / "master.key").touch(0o600)
    (second.folder / "master.key").write_bytes((first.folder / "master.key").read_bytes())
    second.write_config({"server": {"listen": f"127.0.0.1:{first.port}"}})
    result = start(second)
    assert result.returncode not in (0, BAD_CONFIG)
    assert f"127.0.0.1:{first.port}" in result.stderr
    assert "another program uses this address" in result.stderr
    assert first.ready()


def test_two_daemons_on_one_admin_socket_are_told_apart(make_kaasd: Callable[..., Kaasd]) -> None:
    first, second = make_kaasd("one"), make_kaasd("two")
    first.init()
    first.start()
    (second.folder / "master.key").touch(0o600)
    (second.folder / "master.key").write_bytes((first.folder / "master.key").read_bytes())
    second.write_config({"server": {"admin_socket": str(first.folder / "admin.sock")}})
    result = start(second)
    assert result.returncode not in (0, BAD_CONFIG)
    assert str(first.folder / "admin.sock") in result.stderr
    assert first.ctl.run("vcenter", "list").returncode == 0


def test_the_socket_of_a_daemon_that_was_killed_is_no_hindrance(make_kaasd: Callable[..., Kaasd]) -> None:
    daemon = make_kaasd()
    daemon.init()
    daemon.start()
    daemon.kill()
    daemon.start()
    assert daemon.ctl.run("vcenter", "list").returncode == 0


def test_passwords_of_the_database_as_windows_writes_them(make_kaasd: Callable[..., Kaasd]) -> None:
    daemon = make_kaasd()
    daemon.init()
    for name in ("database.password", "database-owner.password"):
        path = daemon.folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    daemon.ctl.ok("db", "migrate")
    daemon.start()
    daemon.init()  # which sets them


def test_a_wrong_password_of_the_database_is_told_when_not_ready(make_kaasd: Callable[..., Kaasd]) -> None:
    daemon = make_kaasd()
    daemon.init()
    (daemon.folder / "database.password").write_text("wrong\n")
    daemon.spawn().wait_until(lambda: "refused the account" in (told := _detail(daemon)) and "password file" in told, "reason and remedy")


def _detail(daemon: Kaasd) -> str:
    try:
        problem = daemon.api().call("GET", "/readyz").json()
    except OSError:
        return ""
    return f"{problem.get('detail', '')} {problem.get('remedy', '')}"
