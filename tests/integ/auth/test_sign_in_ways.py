"""What a sign-in form is told before anybody has signed in: the ways there are, and nothing else."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from env.ad import MitWorld
from env.full import World
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.wait import until

HEADER = {"X-KaaS": "1"}
MERGE = {"Content-Type": "application/merge-patch+json", **HEADER}
NOWHERE = "ldaps://dc1.secret.example.com"


@pytest.fixture(scope="module")
def mit() -> Iterator[MitWorld]:
    with MitWorld() as world:
        yield world


@pytest.fixture(scope="module")
def kaasd(mit: MitWorld) -> Iterator[Kaasd]:
    with ExitStack() as stack:
        folder = Scratch("w")
        stack.callback(folder.remove)
        db = Mariadb(folder)
        stack.callback(db.close)
        kerberos = {"keytab": str(folder.path / "http.keytab"), "replay_cache": str(folder.path / "rcache/r")}
        options: dict[str, Any] = {"auth": {"kerberos": kerberos}, "ui": {"kerberos": "auto"}}
        made = Kaasd(folder, db.socket, options=options, env=mit.env)
        made.init()
        stack.callback(made.stop)
        made.start()
        yield made


def test_kerberos_is_offered_while_it_works(kaasd: Kaasd, mit: MitWorld) -> None:
    anybody, keytab = kaasd.api(), kaasd.scratch.path / "http.keytab"
    admin, process = kaasd.admin(), kaasd.process
    assert process
    assert anybody.get("/v2/login") == {"vcenter": False, "directories": [], "kerberos": "off"}
    line = "check=kerberos status=failed was=ok"
    until(lambda: line in process.log, "the line that there is no keytab")
    shutil.copy(mit.keytab("service"), keytab)
    until(lambda: anybody.get("/v2/login")["kerberos"] == "auto", "Kerberos to be offered")

    def health() -> dict[str, Any]:
        return next(check for check in admin.get("/v2/health")["checks"] if check["name"] == "kerberos")

    until(lambda: "check=kerberos status=ok was=failed" in process.log, "the line that the keytab can be used")
    well = health()
    keytab.write_bytes(b"no keytab")
    until(lambda: anybody.get("/v2/login")["kerberos"] == "off", "Kerberos to be offered no more")
    until(lambda: process.log.count(line) == 2, "the line that the keytab cannot be used")
    failed = health()
    assert (well["status"], failed["status"]) == ("ok", "failed") and failed["since"] > well["since"] and failed["remedy"]
    shutil.copy(mit.keytab("service"), keytab)
    keytab.chmod(0o644)
    until(lambda: health()["status"] == "warning", "a warning that others can read the keytab")
    assert "0644" in health()["detail"]
    keytab.chmod(0o600)
    until(lambda: health()["status"] == "ok", "the keytab to be well")


def test_directories_are_named_without_their_addresses(kaasd: Kaasd) -> None:
    anybody, admin = kaasd.api(), kaasd.admin()
    for name in ("lab", "corp"):
        admin.expect(201, "POST", "/v2/ldap", headers=HEADER, json={
            "name": name, "kind": "ad", "urls": [NOWHERE], "search_base": "DC=secret,DC=example", "bind_dn": "reader@SECRET.EXAMPLE",
            "bind_password": "never told", "realms": ["SECRET.EXAMPLE"]})
    until(lambda: anybody.get("/v2/login")["directories"] == ["corp", "lab"], "both directories to be offered")
    assert "secret" not in anybody.call("GET", "/v2/login").text.lower()
    admin.expect(200, "PATCH", "/v2/ldap/lab", json={"disabled": True}, headers=MERGE)
    until(lambda: anybody.get("/v2/login")["directories"] == ["corp"], "the disabled one to be offered no more")


def test_a_vcenter_is_told_of_without_its_name(world: World) -> None:
    answer = world.kaasd.api().call("GET", "/v2/login")
    assert answer.json() == {"vcenter": True, "directories": [], "kerberos": "off"}
    world.kaasd.api().refused(400, "invalid_request", "GET", "/v2/login?all=1")
