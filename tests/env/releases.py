"""Programs of released versions, built from the commits that tests/releases names: each once a machine, kept in the cache."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .full import add_vcenter, register, sample_arguments
from .kaasd import LOOPBACK, Kaasd
from .mariadb import Mariadb
from .places import CACHE, TOP, Scratch, WorldError
from .process import run
from .samples import SAMPLES
from .vcenter import start_strict
from .writing import Wire

LIST = TOP / "tests/releases"
BUILD_LIMIT_S = 1800.0


def commits() -> dict[str, str]:
    """The commit of each version, the oldest first."""
    lines = LIST.read_text().splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))  # type: ignore[misc]


VERSIONS = tuple(commits())
LAST = VERSIONS[-1]  # the one before the present


@cache
def release(version: str) -> Path:
    """The folder with kaasd and kaasctl of a version. They are built the way that its users do, without the web page."""
    commit = commits()[version]
    folder = CACHE / f"release-{version}-{commit[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "releases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _build(commit, folder)
    return folder


@cache
def installed(version: str, prefix: str) -> Path:
    """The folder with what `make install DESTDIR=FOLDER` of a version puts there, as its README.md says for another machine."""
    commit = commits()[version]
    folder = CACHE / f"release-{version}-{commit[:16]}{prefix.replace('/', '-')}"
    with (CACHE / "releases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _build(commit, folder, f"--prefix={prefix}", "make -s install DESTDIR=\"$PWD/../new\"")
    return folder


PROGRAMS_ONLY = "find src -type f '(' -name kaasd -o -name kaasctl ')' -exec cp '{}' ../new ';'"


def _build(commit: str, folder: Path, configure: str = "--without-page", install: str = PROGRAMS_ONLY) -> None:
    scratch = Scratch("release")
    log = scratch.log / "build.log"
    steps = f"""
        git -C "{TOP}" archive {commit} | tar -x -C "{scratch.path}"
        cd "{scratch.path}"
        ./autogen.sh
        mkdir out new && cd out
        ../configure -q {configure} CC="ccache gcc"
        make -s -j{os.cpu_count()} all
        {install}
    """
    built = run(["bash", "-ec", f"exec >{log} 2>&1\n{steps}"], limit_s=BUILD_LIMIT_S, env={"CCACHE_BASEDIR": f"{scratch.path}"})
    if built.returncode:
        raise WorldError(f"the release of {commit} cannot be built; it must be in this clone:\n{log.read_text()[-3000:]}")
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(scratch.path / "new", new)
    new.rename(folder)
    scratch.remove()


# What releases before 0.4 do not know; they connect to vCenters on loopback without being told.
OLDER: dict[str, Any] = {"hx": None, "vcenter": None}


class Installation:
    """What people have who installed a version long ago: it runs, a vCenter is joined, the sample clusters and a user are there."""

    def __init__(self, scratch: Scratch, version: str, options: dict[str, Any] | None = None) -> None:
        self.version = version
        self.db = Mariadb(scratch)
        self.vcenter = start_strict(scratch)
        self.kaasd = Kaasd(scratch, self.db.socket, options={**OLDER, **(options or {})}, programs=release(version))
        self.kaasd.init()
        self.kaasd.start()
        add_vcenter(self.kaasd, self.vcenter)
        register(self.kaasd, self.vcenter)
        for sample in SAMPLES:  # one by one: what releases before 0.4 import names no place by its path alone
            self.kaasd.ctl.ok(*sample_arguments(sample))

    def stop(self) -> None:
        for end in (self.kaasd.stop, self.vcenter.stop, self.db.close):
            end()

    def wire(self, token: str = "", kaasd: Kaasd | None = None) -> Wire:
        """A client that knows no contract: answers of an older version are not held against that of the present one."""
        return Wire((kaasd or self.kaasd).url, str(self.kaasd.tls.ca_file), token)

    def sign_in(self, name: str, password: str, kaasd: Kaasd | None = None) -> str:
        """A token, by password."""
        answer = self.wire(kaasd=kaasd).call("POST", "/v2/login/password", json={"username": name, "password": password},
                                             headers={"X-KaaS": "1"})
        if not answer or answer.status_code != 200:
            raise WorldError(f"the sign-on of {name}: {answer.text[:1000] if answer else 'no connection'}")
        return str(answer.json()["access_token"])

    def admin(self, kaasd: Kaasd | None = None) -> str:
        return self.sign_in("admin", self.kaasd.admin_password, kaasd)


def replace(kaasd: Kaasd, version: str | None) -> None:
    """Installs another version in its place, the present one with None: ends what runs; who calls starts it. The configuration is kept, but
    for what only one of both knows."""
    kaasd.stop()
    kaasd.ctl.programs = release(version) if version else None
    settings = yaml.safe_load(kaasd.config.read_text())
    for section in OLDER:
        settings.pop(section, None)
        if not version:
            settings[section] = {"allowed_networks": [*LOOPBACK]}
    kaasd.config.write_text(yaml.safe_dump(settings))
