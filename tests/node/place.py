"""A node image without being booted: its files, changed as a test likes, with containerd running."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from env.machine import require
from env.places import CACHE, TOP, Scratch, WorldError
from env.process import READY_LIMIT_S, Process, run

MAKE_LIMIT_S = 2400.0
ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8")
# nspawn leaves a folder in /run where that is on disk
MOUNTS = ('mkdir -p /run/systemd/nspawn && mount -t tmpfs kaas /run/systemd/nspawn && '
          'mount -t overlay kaas -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root" && shift 2 && exec "$@"')
DAEMON = "containerd >>/run/containerd.log 2>&1 & echo $! >/run/containerd.pid"


def make(*options: str | Path) -> Path:
    """The root of such an image."""
    require()
    made = run([TOP / "scripts/package", "node-image", "--root", *options], limit_s=MAKE_LIMIT_S)
    if made.returncode:
        raise WorldError(f"scripts/package node-image failed:\n{made.stdout[-3000:]}{made.stderr[-3000:]}")
    return Path(made.stdout.splitlines()[-1])


class Node:
    """A line of shell is run in it by `run`, as by its administrator."""

    def __init__(self, scratch: Scratch, root: Path, name: str = "node") -> None:
        folder = scratch.path / name
        for part in ("upper", "work", "root"):
            (folder / part).mkdir(parents=True)
        # containerd's files may not lie on an overlay; where they are in the cache, they are links
        self._kept = CACHE / f"node-test-{os.getpid()}-{name}"
        shutil.rmtree(self._kept, ignore_errors=True)
        subprocess.run(["cp", "-al", root / "var/lib/containerd", self._kept], check=True)
        for database in self._kept.rglob("*.db"):
            own = database.with_suffix(".own")
            shutil.copy(database, own)
            own.rename(database)
        self._process = Process(name, [
            "unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, "sh", root, folder,
            "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--capability=all", "--resolv-conf=off",
            "--timezone=off", "--link-journal=no", "--console=pipe", f"--machine=kaas-{name}-{os.getpid()}", f"--directory={folder}/root",
            f"--bind={self._kept}:/var/lib/containerd", "/bin/sleep", "infinity"], scratch.log, env={"SYSTEMD_SECCOMP": "0"})
        self._process.wait_until(self._leader, "a container")
        self.start_containerd()

    def _leader(self) -> str:
        try:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            return children[0] if children and Path(f"/proc/{children[0]}/comm").read_text() == "sleep\n" else ""
        except OSError:
            return ""

    def path(self, name: str) -> Path:
        """A file in there, from here."""
        return Path(f"/proc/{self._leader()}/root", name.lstrip("/"))

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return run(["nsenter", "--target", self._leader(), "--all", "env", "-i", *ENVIRONMENT, "sh", "-c", command], limit_s=READY_LIMIT_S)

    def ok(self, command: str) -> str:
        result = self.run(command)
        if result.returncode:
            raise WorldError(f"{command}: status {result.returncode}: {result.stdout[-1500:]}{result.stderr[-1500:]}")
        return result.stdout

    def check(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run(" ".join(["kaas-node-check", *options]))

    def start_containerd(self) -> None:
        self.ok(DAEMON)
        self._process.wait_until(lambda: self.run("ctr --connect-timeout 1s version").returncode == 0, "containerd",
                                 why_not=lambda: self.run("tail -n 5 /run/containerd.log").stdout)

    def stop_containerd(self) -> None:
        self.ok("kill $(cat /run/containerd.pid)")
        # nobody takes in what has ended there, so its number stays
        self._process.wait_until(lambda: self.run("readlink /proc/$(cat /run/containerd.pid)/exe").returncode != 0, "the end of containerd")

    @contextmanager
    def hidden(self, name: str) -> Iterator[None]:
        """Without a file."""
        aside = f"{name}.aside"
        self.ok(f"mv {name} {aside}")
        try:
            yield
        finally:
            self.ok(f"mv {aside} {name}")

    @contextmanager
    def off(self, unit: str) -> Iterator[None]:
        """With a service that does not start with the machine."""
        self.ok(f"systemctl disable {unit}")
        try:
            yield
        finally:
            self.ok(f"systemctl enable {unit}")

    @contextmanager
    def changed(self, name: str, *words: str, mode: int = 0o644) -> Iterator[None]:
        """With another content of a file, which may not be there: one word is the whole of it, two replace the first by the second."""
        path = self.path(name)
        made = words[0]
        if len(words) == 2:
            assert words[0] in path.read_text(), f"{name} has no {words[0]!r}"
            made = path.read_text().replace(*words)
        with ExitStack() as undo:
            if path.exists():
                undo.enter_context(self.hidden(name))
            for folder in reversed([folder for folder in path.parents if not folder.exists()]):
                folder.mkdir()
                undo.callback(folder.rmdir)
            path.write_text(made)
            undo.callback(path.unlink)
            path.chmod(mode)
            yield

    def stop(self) -> None:
        try:
            self._process.kill()
        finally:
            shutil.rmtree(self._kept, ignore_errors=True)


def told(lines: Sequence[str]) -> dict[str, str]:
    """What a check says of each point that is missing, with the remedy behind it."""
    found = {}
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        word, _, rest = line.partition(" ")
        if word == "MISSING":
            point, _, what = rest.strip().partition(" ")
            found[point] = f"{what.strip()} -- {after.strip()}"
    return found
