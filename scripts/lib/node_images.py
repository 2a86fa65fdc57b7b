"""Images of Kubernetes' own programs and of those of etc/bundles, out of the programs: node_images.py --programs FOLDER... --root ROOT
--out FOLDER NAME...

An image is an OCI archive (https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md) with one layer, which holds one
static program and nothing of a distribution; those of kube-proxy and kube-router have the commands that they call and the libraries of
these, from ROOT. Equal programs give equal bytes: times are 0, owners root, names sorted, and layers are not compressed, so that no
version of a compressor plays a part. NAMEs are those that `kubeadm config images list` prints, and those in manifests."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}  # as in Debian
NOBODY = "65535:65535"


@dataclass
class Content:
    """What is in an image: programs by their path in it, and how it is started."""
    files: dict[str, Path]
    entrypoint: list[str]
    links: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


def libraries(root: Path, program: str) -> list[str]:
    """What the loader brings for a program of ROOT, the loader itself with it, by their paths in there."""
    told = subprocess.run(["chroot", root, "ldd", program], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(/\S+)(?= \()", told)))


def placed(path: str) -> str:
    """Where a path of a merged Debian really is."""
    first, _, rest = path.lstrip("/").partition("/")
    return f"{MERGED.get(first, first)}/{rest}"


class Recipes:
    """How an image is made, by the last part of its name."""

    def __init__(self, programs: Iterable[Path], root: Path) -> None:
        self.programs = list(programs)
        self.root = root
        self.known: dict[str, Callable[[], Content]] = {
            **{name: partial(self.plain, name) for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")},
            "kube-proxy": self.proxy, "coredns": self.dns, "pause": self.pause,
            "kube-router": self.router, "controller": partial(self.plain, "controller"), "speaker": partial(self.plain, "speaker")}

    def program(self, name: str) -> Path:
        for folder in self.programs:
            if (folder / name).is_file():
                return folder / name
        sys.exit(f"node_images.py: there is no program {name} in {', '.join(map(str, self.programs))}")

    def plain(self, name: str) -> Content:
        return Content({f"usr/local/bin/{name}": self.program(name)}, [name])

    def calling(self, name: str, *commands: str) -> Content:
        """A program that calls commands of a distribution, with what their loader brings."""
        content = self.plain(name)
        for path in {*commands, *(library for command in commands for library in libraries(self.root, command))}:
            content.files[placed(path)] = self.root / placed(path)
        content.links = MERGED
        return content

    def proxy(self) -> Content:
        """With nft, by which it writes its rules in the mode `nftables`."""
        return self.calling("kube-proxy", "/usr/sbin/nft")

    def router(self) -> Content:
        """With iptables, its extensions, ipset and ip, by which it sets rules and routes; sh and cp are for the manifest's first step."""
        content = self.calling("kube-router", "/usr/sbin/xtables-nft-multi", "/usr/sbin/ipset", "/usr/bin/ip", "/usr/bin/dash",
                               "/usr/bin/cp")
        tables = content.files.pop("usr/sbin/xtables-nft-multi")
        for name in ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"):
            content.files[f"usr/sbin/{name}"] = tables
        content.files["usr/bin/sh"] = content.files.pop("usr/bin/dash")
        for extension in (self.root / "usr/lib").glob("*/xtables/lib*t_*.so"):
            content.files[str(extension.relative_to(self.root))] = extension
        content.files["etc/iproute2/rt_tables"] = self.root / "etc/iproute2/rt_tables"
        return content

    def dns(self) -> Content:
        return Content({"coredns": self.program("coredns")}, ["/coredns"])

    def pause(self) -> Content:
        return Content({"pause": self.program("pause")}, ["/pause"], user=NOBODY)


class Tar:
    """An archive whose bytes depend on names and contents alone."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        self.tar = tarfile.TarFile(fileobj=self.bytes, mode="w", format=tarfile.USTAR_FORMAT)

    def add(self, name: str, data: bytes = b"", *, mode: int = 0o644, kind: bytes = tarfile.REGTYPE, target: str = "") -> None:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.linkname, entry.size = kind, mode, target, len(data)
        self.tar.addfile(entry, io.BytesIO(data))

    def done(self) -> bytes:
        self.tar.close()
        return self.bytes.getvalue()


def layer(content: Content) -> bytes:
    tar = Tar()
    folders = {str(parent) for name in [*content.files, *content.links.values()] for parent in [Path(name), *Path(name).parents][1:-1]}
    for name in sorted(folders | set(content.links.values())):
        tar.add(name, mode=0o755, kind=tarfile.DIRTYPE)
    tar.add("tmp", mode=0o1777, kind=tarfile.DIRTYPE)
    for name, target in sorted(content.links.items()):
        tar.add(name, mode=0o777, kind=tarfile.SYMTYPE, target=target)
    for name, source in sorted(content.files.items()):
        tar.add(name, source.read_bytes(), mode=0o755)
    return tar.done()


def compact(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Archive:
    """An OCI layout in a tar."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def blob(self, kind: str, data: bytes) -> dict[str, Any]:
        """Puts it in; its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def add(self, content: Content, name: str) -> None:
        files = self.blob("layer.v1.tar", layer(content))
        config = {"Entrypoint": content.entrypoint, "Env": [f"PATH={PATH}"], **({"User": content.user} if content.user else {})}
        configured = self.blob("config.v1+json", compact({"architecture": "amd64", "os": "linux", "config": config,
                                                          "rootfs": {"type": "layers", "diff_ids": [files["digest"]]}}))
        manifest = self.blob("manifest.v1+json", compact({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                                          "config": configured, "layers": [files]}))
        # the second is what containerd reads first
        named = {"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
        self.index = compact({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                              "manifests": [{**manifest, "platform": {"architecture": "amd64", "os": "linux"}, "annotations": named}]})

    def bytes(self) -> bytes:
        tar = Tar()
        tar.add("oci-layout", compact({"imageLayoutVersion": "1.0.0"}))
        tar.add("index.json", self.index)
        for digest, data in sorted(self.blobs.items()):
            tar.add(f"blobs/sha256/{digest}", data)
        return tar.done()


def write(recipes: Recipes, name: str, out: Path) -> None:
    kind = name.rpartition("/")[2].partition(":")[0]
    if kind not in recipes.known:
        sys.exit(f"node_images.py: nobody here knows how to make {name}: give its archive (scripts/package node-image --images FOLDER)")
    archive = Archive()
    archive.add(recipes.known[kind](), name)
    (out / f"{kind}.tar").write_bytes(archive.bytes())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=Path, action="append", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    recipes = Recipes(given.programs, given.root)
    for name in given.names:
        write(recipes, name, given.out)


if __name__ == "__main__":
    main()
