"""What is laid over an image before a machine boots from it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
FAKETIME_INSIDE = "/usr/lib/guest/libfaketime.so.1"


CONTAINERD = "etc/containerd/config.toml"


def of_a_container(config: str) -> str:
    """An image's configuration of containerd, for containers in a container: whose control groups systemd does not own alone, which has no
    AppArmor, and in which nobody may say what the kernel is to spare when memory is short."""
    own = "  restrict_oom_score_adj = true\n  disable_apparmor = true\n"
    return config.replace("SystemdCgroup = true", "SystemdCgroup = false").replace("  sandbox_image =", f"{own}  sandbox_image =")


def stand_ins(source: Path, target: Path, image: Sequence[Path]) -> Path:
    """The folder `layer` as a machine of that image sees it: belongs to root, and the stand-in of VMware Tools under each of its names."""
    shutil.copytree(source, target)
    tools = target / "usr/bin/vmtoolsd"
    shutil.copy2(tools, tools.with_name("vmware-rpctool"))
    for config in (layer / CONTAINERD for layer in image):
        if config.exists():
            (target / CONTAINERD).parent.mkdir(parents=True)
            (target / CONTAINERD).write_text(of_a_container(config.read_text()))
            break
    for path in (target, *target.rglob("*")):
        os.chown(path, 0, 0)
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
    return target


def without(layer: Path, files: tuple[str, ...], clock_s: int = 0) -> Path:
    """Makes a layer that takes these files away (https://docs.kernel.org/filesystems/overlayfs.html#whiteouts-and-opaque-directories),
    and puts the clock of what cloud-init runs wrong."""
    layer.mkdir()
    for name in files:
        path = layer / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(0, 0))
    if clock_s:
        library = layer / FAKETIME_INSIDE.lstrip("/")
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(FAKETIME, library)
        config = layer / "etc/systemd/system/cloud-.service.d/clock.conf"
        config.parent.mkdir(parents=True)
        config.write_text(f"[Service]\nEnvironment=LD_PRELOAD={FAKETIME_INSIDE} FAKETIME={clock_s:+d}s FAKETIME_DONT_FAKE_MONOTONIC=1\n")
    return layer
