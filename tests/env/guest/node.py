"""The node image, as `scripts/package node-image` makes it, for machines that boot."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from pathlib import Path

from ..places import TOP, WorldError
from ..process import run
from .world import Image

MAKE_LIMIT_S = 3600.0  # the first time on a machine Kubernetes is built


def node_image(*, has_dns: bool = False) -> Image:
    """Quick once it was made. KAAS_NODE_ROOT names a root that is there already. CoreDNS takes minutes to build."""
    root = os.environ.get("KAAS_NODE_ROOT")
    if not root:
        without = () if has_dns else ("--without-dns",)
        made = run([TOP / "scripts/package", "node-image", "--root", *without], limit_s=MAKE_LIMIT_S)
        if made.returncode:
            raise WorldError(f"scripts/package node-image: status {made.returncode}: {made.stderr[-2000:]}")
        root = made.stdout.split()[-1]
    return Image((Path(root),), containerd=Path(root, "var/lib/containerd"))
