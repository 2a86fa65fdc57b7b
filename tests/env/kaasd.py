"""The daemon and its command line: configuration, first set-up, start, readiness, stop."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import pwd
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests
import yaml

from . import ready_keys
from .api import Api, client
from .certs import ServerCert, make_server_cert
from .places import TOP, Scratch, WorldError, free_port, program
from .process import READY_LIMIT_S, Process, run

USER = pwd.getpwuid(os.geteuid()).pw_name
LOOPBACK = ["127.0.0.0/8", "::1"]  # kaasd does not connect there unless told to
KEY_BITS = 2048  # of the keys that kaasd makes: fewer than by default, since making one is most of what a registration costs
ONE_TIME_PASSWORD = re.compile(r"password[^:\n]*:\s*(\S+)", re.I)


def laid_over(settings: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Settings with those of `options` in place of theirs, section by section."""
    merged = dict(settings)
    for section, values in options.items():
        merged[section] = {**settings.get(section, {}), **values} if isinstance(values, dict) else values
    return merged


class Kaasctl:
    """Runs kaasctl with the configuration of one daemon."""

    def __init__(self, config: Path, programs: Path | None = None) -> None:
        """`programs`: as of Kaasd."""
        self.config = config
        self.programs = programs

    def run(self, *arguments: str, stdin: str = "", limit_s: float = READY_LIMIT_S) -> subprocess.CompletedProcess[str]:
        kaasctl = self.programs / "kaasctl" if self.programs else program("kaasctl")
        return run([kaasctl, "--config", self.config, *arguments, *self._as_whom(arguments)], stdin=stdin, limit_s=limit_s)

    @staticmethod
    def _as_whom(arguments: Sequence[str]) -> tuple[str, ...]:
        """The daemons of the world run as ourselves, whether or not this machine has a user kaas."""
        is_about_files = "init" in arguments or "restore" in arguments or ("config" in arguments and "check" in arguments)
        return ("--service-user", USER) if is_about_files and "--service-user" not in arguments else ()

    def ok(self, *arguments: str, stdin: str = "") -> str:
        """Output of a command that must succeed."""
        result = self.run(*arguments, stdin=stdin)
        if result.returncode:
            raise WorldError(f"kaasctl {' '.join(arguments)}: status {result.returncode}: {result.stderr.strip() or result.stdout.strip()}")
        return result.stdout

    def json(self, *arguments: str, stdin: str = "") -> Any:
        return json.loads(self.ok("--output", "json", *arguments, stdin=stdin))


class Kaasd:
    """One replica with a folder of its own."""

    def __init__(self, scratch: Scratch, database_socket: Path, name: str = "kaasd", *, tls: ServerCert | None = None,
                 options: dict[str, Any] | None = None, env: dict[str, str] | None = None, port: int | None = None,
                 programs: Path | None = None) -> None:
        """`env`: more of the daemon's environment, such as KRB5_CONFIG. `port`: in place of any that is free. `programs`: folder with
        those of another version (env.releases)."""
        self.name = name
        self.env = env or {}
        self.scratch = scratch
        self.folder = scratch.path / name
        self.folder.mkdir()
        self.database_socket = database_socket
        self.port = port or free_port()
        self.tls = tls or make_server_cert(self.folder / "tls")
        self.config = self.folder / "kaasd.yaml"
        self.ctl = Kaasctl(self.config, programs)
        self.process: Process | None = None
        # A clock that is put forward ends connections that are idle; a request just on its way there would be lost.
        self._api = Api(self.url, self.tls.ca_file, shared=client(self.tls.ca_file, keeps_connections="KAAS_TEST_CLOCK" not in self.env))
        self.admin_password = ""
        self._kept: Api | None = None
        self._kept_until = 0.0
        self.write_config(options or {})

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def program(self) -> Path:
        return self.ctl.programs / "kaasd" if self.ctl.programs else program("kaasd")

    def api(self, token: str | None = None) -> Api:
        return self._api.as_token(token)

    def write_config(self, options: dict[str, Any]) -> None:
        """Settings of the world; sections of `options` are laid over them, and one that is None there is left out (its defaults)."""
        settings: dict[str, Any] = {
            "state_dir": str(self.folder / "state"),
            "server": {"listen": f"127.0.0.1:{self.port}", "public_url": self.url, "tls_certificate": str(self.tls.cert_file),
                       "tls_key": str(self.tls.key_file), "admin_socket": str(self.folder / "admin.sock"),
                       "page_dir": str(TOP / "ui-plugin/dist")},
            "database": {"socket": str(self.database_socket)},
            "secrets": {"master_key_file": str(self.folder / "master.key")},
            "vcenter": {"allowed_networks": [*LOOPBACK]},
            "hx": {"allowed_networks": [*LOOPBACK]},
            "certificates": {"key_bits": KEY_BITS},
            "log": {"level": "debug"},
        }
        sections = {name: values for name, values in laid_over(settings, options).items() if values is not None}
        self.config.write_text(yaml.safe_dump(sections))
        self.config.chmod(0o600)

    def init(self) -> None:
        """First set-up: master key, schema, accounts, first administrator, with a password that need not be changed."""
        self.admin_password = secrets.token_urlsafe(18)
        self.ctl.ok("init", "--database-socket", str(self.database_socket), "--database-admin", "root", "--admin-password-file", "-",
                    stdin=self.admin_password + "\n")

    def beside(self, name: str, *, database_socket: Path | None = None, options: dict[str, Any] | None = None,
               programs: Path | None = None) -> Kaasd:
        """Another replica of this installation, configured, not started: the same master key, account of the database, certificate and
        public address, on the same database server or, of a cluster of them, on the one with that socket. `options` are its own."""
        shared = {"secrets": {"master_key_file": str(self.folder / "master.key")},
                  "database": {"password_file": str(self.folder / "database.password")},
                  "server": {"public_url": self.url}, "replica": {"name": name}}
        return Kaasd(self.scratch, database_socket or self.database_socket, name, tls=self.tls, options=laid_over(shared, options or {}),
                     env=self.env, programs=programs)

    def check_config(self, user: str = USER) -> subprocess.CompletedProcess[str]:
        return run([program("kaasd"), "--config", self.config, "--check-config", "--service-user", user])

    def _ask_ready(self) -> requests.Response:
        return self._api.ask("GET", "/readyz", timeout=5)

    def ready(self) -> bool:
        try:
            return self._ask_ready().status_code == 200
        except requests.RequestException:
            return False

    def why_not_ready(self) -> str:
        """What it says of its readiness, in one line, or that it says nothing."""
        try:
            answer = self._ask_ready()
        except requests.RequestException as error:
            return f"/readyz does not answer ({error})"
        return f"/readyz says {answer.status_code} {answer.text.strip()}"

    def spawn(self, inside: Sequence[str] = ()) -> Process:
        """Starts the daemon without waiting for readiness; `inside` as of netns.Network."""
        keys = {} if self.ctl.programs else ready_keys.under_daemon(self.scratch, self.env.get("LD_PRELOAD", ""))
        self.process = Process(self.name, [*inside, self.program, "--config", self.config], self.scratch.log, {**self.env, **keys})
        return self.process

    def start(self) -> None:
        self.spawn().wait_until(self.ready, "readiness", why_not=self.why_not_ready)

    def stop(self) -> None:
        """A clean end: exit status 0 and no report of a sanitizer."""
        if not self.process:
            return
        process, self.process = self.process, None
        status = process.stop()
        reports = process.sanitizer_reports()
        if reports:
            raise WorldError(f"{self.name}: {reports[0]} (and {len(reports) - 1} more) in {process.log_path}\n{process.tail(60)}")
        if status:
            raise WorldError(f"{self.name} ended with status {status}:\n{process.tail()}")

    def lose_host(self) -> None:
        """Everything of this host but what our clients trust: configuration, keys, certificates, state. It is stopped."""
        ca = self.tls.ca_file.read_bytes()
        shutil.rmtree(self.folder)
        self.tls.ca_file.parent.mkdir(parents=True)
        self.tls.ca_file.write_bytes(ca)

    def kill(self) -> None:
        """As power loss would."""
        if self.process:
            self.process.kill()
            self.process = None

    def admin(self) -> Api:
        """The first administrator, in a new session."""
        return self.api().login_password("admin", self.admin_password)

    def kept_admin(self) -> Api:
        """The first administrator, in a session that is used again for half of its token's life: a sign-on by password costs many times
        what another call does. For tests that are about something else than sessions."""
        if not self._kept or time.monotonic() > self._kept_until:
            answer = self.api().post_login("password", {"username": "admin", "password": self.admin_password})
            if answer.status_code != 200:
                raise WorldError(f"{self.name}: the administrator's sign-on: {answer.status_code} {answer.text[:1000]}")
            self._kept = self.api(answer.json()["access_token"])
            self._kept_until = time.monotonic() + answer.json()["expires_in"] / 2
        return self._kept
