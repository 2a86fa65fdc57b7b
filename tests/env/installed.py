"""An installation as `kaasctl init` leaves it, made once and copied for each world that is about something else."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from .kaasd import Kaasd
from .mariadb import Mariadb
from .places import CACHE, Scratch, WorldError, program
from .process import run

KEPT = ("master.key", "database.password", "database-owner.password")
PASSWORD = "admin.password"
UNUSED_S = 3 * 24 * 3600


@contextmanager
def _locked() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "installed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def installation() -> Path:
    """Its folder: data/ of the database server, and the files beside the configuration. Made anew for another kaasctl, which holds the
    whole schema, or another database server."""
    return _installation(program("kaasctl"))


@cache
def _installation(kaasctl: Path) -> Path:
    server = Path(shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin") or "/usr/sbin/mariadbd").stat()
    key = hashlib.sha256(kaasctl.read_bytes() + f"{server.st_size} {server.st_mtime_ns}".encode()).hexdigest()[:16]
    folder = CACHE / f"installed-{key}"
    with _locked():
        for old in CACHE.glob("installed-*"):
            if old.is_dir() and old != folder and time.time() - old.stat().st_mtime > UNUSED_S:
                shutil.rmtree(old)
        if not folder.exists():
            _make(folder)
        os.utime(folder)  # in use
    return folder


def _make(folder: Path) -> None:
    scratch = Scratch("init")
    db = Mariadb(scratch)
    kaasd = Kaasd(scratch, db.socket)
    kaasd.init()
    db.close()
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(db.folder / "data", new / "data")
    for name in KEPT:
        shutil.copy2(kaasd.folder / name, new)
    (new / PASSWORD).write_text(kaasd.admin_password)
    new.rename(folder)
    scratch.remove()


def installed_database(scratch: Scratch, options: tuple[str, ...] = ()) -> Mariadb:
    """A database server with the installation's schema and accounts."""
    folder = scratch.path / "db"
    folder.mkdir()
    copied = run(["cp", "-a", installation() / "data", folder])
    if copied.returncode:
        raise WorldError(f"cannot copy the installation: {copied.stderr}")
    return Mariadb(scratch, options=options)


def adopt(kaasd: Kaasd) -> None:
    """What `init` would have done for a daemon on an installed database."""
    for name in KEPT:
        shutil.copy2(installation() / name, kaasd.folder)
    kaasd.admin_password = (installation() / PASSWORD).read_text()
