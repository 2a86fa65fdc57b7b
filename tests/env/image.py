"""The image of kaasd, unpacked."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .places import WorldError
from .process import run


def require() -> None:
    """Says why there can be no image here."""
    missing = [package for package in ("umoci", "skopeo") if not shutil.which(package)]
    if os.geteuid() or missing:
        raise WorldError(f"the image needs root and {', '.join(missing) or 'what is here'}: run scripts/setup as root")


@dataclass
class Image:
    archive: Path
    bundle: Path  # of the OCI runtime specification: rootfs, config.json
    config: dict[str, Any]  # the image's own: user, entry point, labels

    @property
    def root(self) -> Path:
        return self.bundle / "rootfs"

    @property
    def version(self) -> str:
        return str(self.config["Labels"]["org.opencontainers.image.version"])


def unpack(archive: Path, folder: Path) -> Image:
    """An OCI archive into a new folder. Needs root."""
    require()
    layout = folder / "layout"
    layout.mkdir(parents=True)
    told = run(["skopeo", "inspect", "--config", f"oci-archive:{archive}"])
    index = run(["tar", "--extract", "--to-stdout", "--file", archive, "./index.json"])
    (tag,) = (one["annotations"]["org.opencontainers.image.ref.name"] for one in json.loads(index.stdout)["manifests"])
    for command in (["tar", "--extract", "--file", archive, "--directory", layout],
                    ["umoci", "unpack", "--image", f"{layout}:{tag}", folder / "bundle"]):
        done = run(command)
        if done.returncode:
            raise WorldError(f"{command[0]}: {done.stderr}")
    return Image(archive, folder / "bundle", json.loads(told.stdout)["config"])
