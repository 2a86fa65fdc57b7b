"""A bare Debian of its own, booted with systemd as init (debootstrap, systemd-nspawn), on a network of its own: loopback only."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .places import CACHE, Scratch, WorldError
from .process import READY_LIMIT_S, Process, run
from .terminal import Terminal
from .wait import until

BASE = ("systemd", "systemd-sysv", "dbus")
MAKE_LIMIT_S = 900.0
UNUSED_S = 14 * 24 * 3600
NEEDS = {"debootstrap": "debootstrap", "systemd-nspawn": "systemd-container", "nsenter": "util-linux", "unshare": "util-linux"}
ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "TERM=dumb")
# nspawn leaves a folder in /run where that is on disk
OWN_RUN = 'mkdir -p /run/systemd/nspawn && mount -t tmpfs kaas /run/systemd/nspawn && exec "$@"'


def require() -> None:
    """Says why there can be no such machine here."""
    if os.geteuid() != 0:
        raise WorldError("a machine with systemd as init needs root: debootstrap and systemd-nspawn do")
    missing = {package for command, package in NEEDS.items() if not shutil.which(command)}
    if missing:
        raise WorldError(f"a machine with systemd as init needs {', '.join(sorted(missing))}: run scripts/setup")


def _mirror(release: str) -> str:
    """Where apt of this machine gets that release from."""
    told = run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]).stdout
    sites = [words[0] for words in map(str.split, told.splitlines()) if words[1:] == [release, "main"]]
    if not sites:
        raise WorldError(f"apt of this machine knows no source of Debian {release} main (apt-get indextargets)")
    return sites[0]


def bare_root(packages: Iterable[str]) -> Path:
    """The files of such a machine with these packages and what they depend on, made once."""
    names = sorted({*BASE, *packages})
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    folder = CACHE / f"root-{hashlib.sha256(' '.join([release, *names]).encode()).hexdigest()[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "root.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for old in CACHE.glob("root-*"):
            if old != folder and time.time() - old.stat().st_mtime > UNUSED_S:
                shutil.rmtree(old)
        if not folder.exists():
            _debootstrap(folder, release, names)
        os.utime(folder)  # in use
    return folder


def _debootstrap(folder: Path, release: str, names: Sequence[str]) -> None:
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    proxy = run(["apt-config", "shell", "proxy", "Acquire::http::Proxy"]).stdout.partition("'")[2].rstrip("'\n")
    made = run(["debootstrap", "--variant=minbase", f"--include={','.join(names)}", release, new, _mirror(release)],
               limit_s=MAKE_LIMIT_S, env={"http_proxy": proxy} if proxy else {})
    if made.returncode:
        log = new / "debootstrap/debootstrap.log"
        told = log.read_text()[-3000:] if log.exists() else ""
        raise WorldError(f"debootstrap failed:\n{made.stdout[-2000:]}{made.stderr[-2000:]}\n{told}")
    shutil.rmtree(new / "var/cache/apt/archives")
    new.rename(folder)


class Machine:
    """Booted when made. Its files last over `reboot`, and go with the scratch folder."""

    def __init__(self, scratch: Scratch, packages: Iterable[str], *, hosts: Mapping[str, str], binds: Sequence[str] = ()) -> None:
        """`hosts`: names and their addresses, the machine's own first; `binds`: options of systemd-nspawn for folders of ours."""
        require()
        self._scratch = scratch
        self._binds = binds
        self.root = scratch.path / "root"
        copied = run(["cp", "-a", bare_root(packages), self.root], limit_s=MAKE_LIMIT_S)
        if copied.returncode:
            raise WorldError(f"cannot copy the files of the machine: {copied.stderr}")
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{at} {name}\n" for name, at in hosts.items()))
        (self.root / "etc/hostname").write_text(f"{next(iter(hosts)).split('.')[0]}\n")
        for timer in ("apt-daily.timer", "apt-daily-upgrade.timer"):  # from six in the morning Debian's own updates hold apt's lock
            (self.root / "etc/systemd/system" / timer).symlink_to("/dev/null")
        self._boots = 0
        self._boot()

    def _boot(self) -> None:
        self._boots += 1
        self._nspawn = Process(f"machine-{self._boots}", [
            "unshare", "--mount", "--propagation", "private", "sh", "-c", OWN_RUN, "sh",
            "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--console=pipe",
            f"--machine=kaas-{os.getpid()}", f"--directory={self.root}", *self._binds, "--boot"], self._scratch.log)
        self._nspawn.wait_until(self._is_up, "a system that runs (can systemd be an init here? systemd-nspawn --boot says above)")

    def _is_up(self) -> bool:
        return bool(self._leader()) and self.run("systemctl is-system-running --wait").stdout.strip() in ("running", "degraded")

    def _leader(self) -> str:
        """Process id of its init, or ""."""
        try:
            children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split()
        except OSError:
            return ""
        return children[0] if children else ""

    def _inside(self, command: str) -> list[str]:
        return ["nsenter", "--target", self._leader(), "--all", "env", "-i", *ENVIRONMENT, "bash", "-c", command]

    def run(self, command: str, *, stdin: str = "", limit_s: float = READY_LIMIT_S) -> subprocess.CompletedProcess[str]:
        """A line of shell as root."""
        return run(self._inside(command), stdin=stdin, limit_s=limit_s)

    def run_beside(self, *command: str | Path, stdin: str = "", env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A program of ours, in the network of the machine."""
        return run(["nsenter", "--target", self._leader(), "--net", *command], stdin=stdin, env=env)

    def ok(self, command: str, *, stdin: str = "", limit_s: float = READY_LIMIT_S) -> str:
        """Output of a line that must succeed."""
        result = self.run(command, stdin=stdin, limit_s=limit_s)
        if result.returncode:
            raise WorldError(f"{command}: status {result.returncode}: {result.stdout[-1500:]}{result.stderr[-1500:]}\n{self.journal()}")
        return result.stdout

    def terminal(self, command: str) -> Terminal:
        return Terminal(self._inside(command))

    def journal(self, unit: str = "kaasd", lines: int = 30) -> str:
        return self.run(f"journalctl --boot --no-pager --lines {lines} --unit {unit}").stdout

    def reboot(self) -> None:
        self.stop()
        self._boot()

    def stop(self) -> None:
        """As by its power button."""
        self._nspawn.stop()

    def until(self, command: str, what: str) -> None:
        """Waits until the line of shell succeeds."""
        until(lambda: self.run(command).returncode == 0, what)
