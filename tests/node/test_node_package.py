"""scripts/package node-image: what a site gives takes the place of what is built; what does not fit is refused before anything is made."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from env.kube.programs import kube_program
from env.places import TOP, Scratch
from env.process import run
from place import MAKE_LIMIT_S, make

PROGRAMS = ("kubelet", "kubeadm", "kubectl")


def refused(*options: str | Path) -> str:
    made = run([TOP / "scripts/package", "node-image", "--root", *options], limit_s=MAKE_LIMIT_S)
    assert made.returncode != 0, made.stdout
    return made.stderr


@pytest.fixture
def programs(scratch: Scratch) -> Path:
    folder = scratch.path / "programs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in PROGRAMS:
        (folder / name).symlink_to(kube_program(name))
    return folder


def test_what_does_not_fit_is_refused_with_the_remedy(root: Path, programs: Path) -> None:
    assert root.is_dir()
    for options, said in {("--kubernetes", "1.36"): "write it as v1.36.3",
                          ("--kubernetes", "v1.36.999"): "--programs FOLDER --images FOLDER",
                          ("--kubernetes",): "--kubernetes needs a value", ("--snapshot",): "usage: scripts/package node-image",
                          ("--kubernetes", "v1.35.4", "--programs", programs, "--images", programs): "is not of v1.35.4: v1.36.3"}.items():
        assert said in refused(*options)
    (programs / "kubectl").unlink()
    assert f"there is no program kubectl in {programs}" in refused("--programs", programs)


def test_what_is_made_is_reused(root: Path) -> None:
    before = (root / "usr/bin/kubelet").stat()
    assert make("--without-dns") == root
    after = (root / "usr/bin/kubelet").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.full("makes a second image, which takes a minute")
def test_programs_and_images_of_a_folder_are_taken(root: Path, programs: Path, scratch: Scratch) -> None:
    described = json.loads((root / "etc/kaas-node.json").read_text())
    images = scratch.path / "images"
    pause = scratch.path / "pause"
    pause.mkdir()
    compiled = run(["gcc", "-O2", "-static", "-s", "-o", pause / "pause", TOP / "etc/node/pause.c"])
    assert compiled.returncode == 0, compiled.stderr
    built = {"kubelet": "current", "kube-router": "router", "speaker": "metallb"}
    folders = [*(kube_program(name, module).parent for name, module in built.items()), pause]
    made = run([sys.executable, TOP / "scripts/lib/node_images.py", *(word for folder in folders for word in ("--programs", folder)),
                "--root", root, "--out", images, *(one["name"] for one in described["images"])])
    assert made.returncode == 0, made.stderr
    given = make("--without-dns", "--programs", programs, "--images", images)
    try:
        assert given != root
        assert json.loads((given / "etc/kaas-node.json").read_text()) == described, "other bytes came of the same programs"
    finally:
        shutil.rmtree(given.parent)
    (images / "etcd.tar").unlink()
    assert "the step 'node-root' failed" in refused("--without-dns", "--programs", programs, "--images", images)
    assert "containerd has not registry.k8s.io/etcd" in (TOP / "build/logs/node-root.log").read_text()
