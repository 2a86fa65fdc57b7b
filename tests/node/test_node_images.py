"""Archives of images out of programs: the same bytes from the same programs, in a form that others read."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from env.places import TOP
from env.process import run

MAKER = TOP / "scripts/lib/node_images.py"
SERVER, PAUSE = "registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/pause:3.10.2"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("kube-apiserver", "pause"):
        (folder / name).write_bytes(f"the program {name}".encode())
    return folder


def make(programs: Path, out: Path, *names: str) -> None:
    made = run([sys.executable, MAKER, "--programs", programs, "--root", "/", "--out", out, *names])
    assert made.returncode == 0, made.stderr


def content(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}  # type: ignore[union-attr]


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """What a descriptor names, which has to be what it says of it."""
    data = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert descriptor["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert descriptor["size"] == len(data)
    return data


def test_the_same_programs_give_the_same_bytes(programs: Path, tmp_path: Path) -> None:
    make(programs, tmp_path / "first", SERVER, PAUSE)
    for name in ("kube-apiserver", "pause"):
        os.utime(programs / name, (1, 1))
        (programs / name).chmod(0o700)
    make(programs, tmp_path / "second", PAUSE, SERVER)
    for name in ("kube-apiserver.tar", "pause.tar"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    (programs / "pause").write_bytes(b"another program")
    make(programs, tmp_path / "third", PAUSE)
    assert (tmp_path / "first/pause.tar").read_bytes() != (tmp_path / "third/pause.tar").read_bytes()


def test_all_in_it_is_named_by_its_digest(programs: Path, tmp_path: Path) -> None:
    make(programs, tmp_path, SERVER)
    files = content(tmp_path / "kube-apiserver.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (named,) = json.loads(files["index.json"])["manifests"]
    assert named["annotations"]["org.opencontainers.image.ref.name"] == SERVER
    manifest = json.loads(blob(files, named))
    config = json.loads(blob(files, manifest["config"]))
    assert config["config"]["Entrypoint"] == ["kube-apiserver"]
    (layer,) = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    with tarfile.open(fileobj=io.BytesIO(blob(files, layer))) as tar:
        program = tar.getmember("usr/local/bin/kube-apiserver")
        assert (program.mode, program.uid, program.gid, program.mtime) == (0o755, 0, 0, 0)
        assert tar.getmember("tmp").mode == 0o1777
    assert len(files) == 5, "nothing else is in it"


def test_others_read_it(programs: Path, tmp_path: Path) -> None:
    make(programs, tmp_path, PAUSE)
    read = run(["skopeo", "inspect", "--config", f"oci-archive:{tmp_path}/pause.tar"])
    assert read.returncode == 0, read.stderr
    assert json.loads(read.stdout)["config"] == {"User": "65535:65535", "Env": [json.loads(read.stdout)["config"]["Env"][0]],
                                                 "Entrypoint": ["/pause"]}


def test_kube_router_has_the_commands_that_it_calls(root: Path, programs: Path, tmp_path: Path) -> None:
    (programs / "kube-router").write_bytes(b"a program")
    made = run([sys.executable, MAKER, "--programs", programs, "--root", root, "--out", tmp_path, "example.com/kube-router:v1"])
    assert made.returncode == 0, made.stderr
    files = content(tmp_path / "kube-router.tar")
    (named,) = json.loads(files["index.json"])["manifests"]
    with tarfile.open(fileobj=io.BytesIO(blob(files, json.loads(blob(files, named))["layers"][0]))) as tar:
        tar.extractall(tmp_path / "image", filter="tar")
    inside = f"echo a >/tmp/a && cp /tmp/a /tmp/b && {' && '.join(f'{one} --version' for one in ('iptables', 'ip6tables-save', 'ipset'))}"
    ran = run(["chroot", tmp_path / "image", "/usr/bin/sh", "-c", f"{inside} && iptables -m set --help && ip -V"])
    assert ran.returncode == 0, ran.stderr
    assert "set match options" in ran.stdout, "with its extensions"


def test_a_program_or_a_recipe_that_is_missing_is_named(programs: Path, tmp_path: Path) -> None:
    for name, said in {"registry.k8s.io/etcd:3.6.8-0": "there is no program etcd in", "example.com/other:1": "--images FOLDER"}.items():
        made = run([sys.executable, MAKER, "--programs", programs, "--root", "/", "--out", tmp_path, name])
        assert made.returncode == 1
        assert said in made.stderr
